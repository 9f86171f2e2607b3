"""Levels of normalized projections, in float32, one rounding an operation."""

import numpy as np
from reference.projected import projected

F = np.float32


def norms(X):
    """Lengths of rows: squares in float64, added in 16 lanes that are then folded in half."""
    X = np.asarray(X, dtype=np.float64)
    n, d = X.shape
    squares = np.zeros((n, -(-d // 16) * 16))
    squares[:, :d] = X * X
    lanes = np.zeros((n, 16))
    for start in range(0, squares.shape[1], 16):
        lanes = lanes + squares[:, start : start + 16]
    for width in (8, 4, 2, 1):
        lanes = lanes[:, :width] + lanes[:, width : 2 * width]
    return np.sqrt(lanes[:, 0]).astype(F)


def normalized(X, signs, scale, lengths):
    """Projections of rows divided by their lengths; a length too short to divide by counts as zero."""
    long = lengths >= np.finfo(F).tiny
    factor = np.where(long, F(1) / np.where(long, lengths, F(1)), F(0))
    return projected(X, signs, len(scale)) * factor[:, None] * scale


def levels(u, borders):
    """The level of each projection: borders reached by its size, mirrored where it is negative."""
    half = len(borders) + 1
    with np.errstate(invalid="ignore"):
        reached = (np.abs(u)[..., None] >= borders).sum(axis=-1)
        return np.where(u < 0, half - 1 - reached, half + reached).astype(np.uint8)
