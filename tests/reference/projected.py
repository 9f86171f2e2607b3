"""Projected values of rows in float32, in the one order of operations that every level follows."""

import numpy as np
from reference.hadamard import block


def panel_product(X, panels):
    """X W, columns of W in panels, by fused multiply-adds from the first feature to the last."""
    W = panels.transpose(1, 0, 2).reshape(panels.shape[1], -1).astype(np.float64)
    total = np.zeros((len(X), W.shape[1]), np.float32)
    for x, w in zip(X.T.astype(np.float64), W, strict=True):
        total = (np.multiply.outer(x, w) + total).astype(np.float32)
    return total


def projected(X, layout, n_frequencies):
    """The first n_frequencies outputs of all blocks or panels, or X itself where there is no layout.

    Blocks may come with factors of the columns and with places of the outputs.
    """
    if layout is None:
        return X
    if isinstance(layout, tuple):
        blocks, factors, places = layout
        every = projected(X if factors is None else X * factors, blocks, None)
        return every[:, :n_frequencies] if places is None else every[:, places]
    if layout.shape[2] == 16:
        return panel_product(X, layout)[:, :n_frequencies]
    return np.concatenate([block(X, drawn) for drawn in layout], axis=1)[:, :n_frequencies]
