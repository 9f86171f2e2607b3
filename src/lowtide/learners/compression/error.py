"""How far compression moves decision values: what is measured, and what one draw of frequencies predicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.encoders import RandomFeatures
from lowtide.learners.design import CodedDesign, Design, FullDesign

__all__ = ["DecisionReport", "dense_blocks", "draw_variance", "layout_ratio"]

Array = NDArray[Any]

_BLOCK_VALUES = 1 << 21


@dataclass(frozen=True, repr=False)
class DecisionReport:
    """How far decision values moved, in their own units; printing it gives a short table.

    Attributes
    ----------
    n_rows : int
        Rows that were measured.
    rows : str
        Which rows: "support rows" or "given rows".
    moved, largest : float
        Root mean square and largest difference to the exact decision values.
    predicted : float
        Root mean square standard error, from the spread of the terms of single frequencies.
    bias : float
        Root mean square difference of the expectation to the exact values: 0 unless both sides are coded.
    spread : float
        Standard deviation of the exact decision values over the rows.
    unchanged : float or None
        Part of the predicted classes that stayed; None for regression.
    nbytes, exact_nbytes : int
        Size of the model: encoder and weights, and before, support rows and coefficients.
    """

    n_rows: int
    rows: str
    moved: float
    largest: float
    predicted: float
    bias: float
    spread: float
    unchanged: float | None
    nbytes: int
    exact_nbytes: int

    def __repr__(self) -> str:
        share = f", {self.moved / self.spread:.1%} of their spread" if self.spread > 0 else ""
        lines = [
            f"Decision values on {self.n_rows} {self.rows}",
            f"  moved      {self.moved:.3g} rms{share}; {self.largest:.3g} at most",
            f"  predicted  {self.predicted:.3g} standard error" + (f", {self.bias:.3g} bias" if self.bias else ""),
        ]
        if self.unchanged is not None:
            lines.append(f"  unchanged  {self.unchanged:.1%} of the predictions")
        lines.append(f"  size       {_size(self.nbytes)}, exact model {_size(self.exact_nbytes)}")
        return "\n".join(lines)


def draw_variance(D: Array, W: Array, features: RandomFeatures) -> Array:
    """Return the variance of D W over draws of independent frequencies, (n, k), estimated from this one draw.

    A value is sum_j T_j over p frequencies, T_j a function of frequency j alone, so p/(p-1) sum_j (T_j - mean)^2 is
    unbiased, however correlated the kernel values within the sum are.
    """
    p = features.projection_.n_frequencies
    squares, totals = _sums(D, W, features.feature_map_.width)
    return p / (p - 1) * np.maximum(squares - totals**2 / p, 0.0) if p > 1 else np.full(totals.shape, np.inf)


def layout_ratio(D: Array, W: Array, features: RandomFeatures) -> tuple[float, float]:
    """Return the variance of the sum of all whole blocks, from the blocks and as if frequencies were independent.

    Both are summed over D's rows and W's columns. Orthogonal frequencies of a block depend on each other, blocks do
    not: with B blocks of size s, B/(B-1) sum_b (T_b - mean)^2 is unbiased. (1, 1) where there are no two of them.
    """
    blocks, width = features.projection_.blocks, features.feature_map_.width
    size = max(blocks.sizes)
    starts = [start for start, n in zip(np.cumsum((0, *blocks.sizes)), blocks.sizes) if n == size]
    if blocks.lengths == "iid" or size == 1 or len(starts) < 2:
        return 1.0, 1.0
    columns = [slice(width * start, width * (start + size)) for start in starts]
    sums = np.stack([D[:, part] @ W[part] for part in columns])
    whole = np.concatenate([np.arange(*part.indices(D.shape[1])) for part in columns])
    p = size * len(starts)
    squares, totals = _sums(D[:, whole], W[whole], width)
    between = len(starts) * sums.var(axis=0, ddof=1)
    independent = p / (p - 1) * np.maximum(squares - totals**2 / p, 0.0)
    return float(between.sum()), float(independent.sum())


def _sums(D: Array, W: Array, width: int) -> tuple[Array, Array]:
    """Return sum_j T_j^2 and sum_j T_j, each (n, k), T_j the part of frequency j with its one or two components."""
    totals = D @ W
    if width == 1:
        return (D * D) @ (W * W), totals
    if D.shape[1] % 2:  # the last sine was dropped
        D, W = np.pad(D, ((0, 0), (0, 1))), np.pad(W, ((0, 1), (0, 0)))
    cos, sin, u, v = D[:, ::2], D[:, 1::2], W[::2], W[1::2]
    return (cos * cos) @ (u * u) + (sin * sin) @ (v * v) + 2.0 * (cos * sin) @ (u * v), totals


def dense_blocks(design: Design) -> Iterator[tuple[slice, Array]]:
    """Yield slices of rows and their features in float64."""
    if isinstance(design, FullDesign):
        yield from ((part, Z.astype(np.float64)) for part, Z in design.blocks())
    elif isinstance(design, CodedDesign):
        start, size = 0, max(1, _BLOCK_VALUES // design.shape[1])
        for block in design.codes.blocks(size):
            yield slice(start, start + len(block)), np.asarray(block, dtype=np.float64)
            start += len(block)


def _size(nbytes: int) -> str:
    return f"{nbytes / 1e6:.2f} MB" if nbytes >= 1e6 else f"{nbytes / 1e3:.1f} kB"
