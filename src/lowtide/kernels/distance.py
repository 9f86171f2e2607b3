"""Distances between rows in the l_p norm of a kernel, and the gamma that follows from them."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from lowtide._checks import check_positive, fail

__all__ = ["distances", "resolve_gamma"]

_MEDIAN_ROWS = 1000
_BLOCK_ROWS = 4096


def distances(X: Any, Y: Any, norm: float) -> NDArray[np.float64]:
    """Return |x_i - y_j|_p for every pair of rows, float64 (n_x, n_y); sparse rows and no rows are accepted.

    Examples
    --------
    >>> distances([[0.0, 0.0]], [[3.0, 4.0]], 1.0)
    array([[7.]])
    """
    if 0 in (np.shape(X)[0], np.shape(Y)[0]):
        return np.zeros((np.shape(X)[0], np.shape(Y)[0]))
    left = _float64(X)
    right = left if Y is X else _float64(Y)
    if norm == 1.0:
        return np.asarray(manhattan_distances(left, right))
    if norm == 2.0:
        return _euclidean(left, right)
    dense = [A.toarray() if sparse.issparse(A) else A for A in (left, right)]
    return np.asarray(cdist(*dense, metric="minkowski", p=norm))


def _float64(X: Any) -> Any:
    """Return rows in float64, an entry a column: scikit-learn rounds to float32, and squares repeated ones apart."""
    if not sparse.issparse(X):
        return np.asarray(X, dtype=np.float64)
    rows = X.tocsr().astype(np.float64, copy=True)
    rows.sum_duplicates()
    return rows


def _euclidean(X: Any, Y: Any) -> NDArray[np.float64]:
    """Return |x - y| from |x|^2 + |y|^2 - 2 x.y, of rows less their mean: else a common offset cancels in the sum."""
    if not sparse.issparse(X) and not sparse.issparse(Y):
        center = X.mean(axis=0)
        left = X - center
        # One object on both sides, where they are one: then the diagonal is 0 exactly.
        X, Y = left, left if Y is X else Y - center
    return np.asarray(euclidean_distances(X, Y))


def resolve_gamma(
    gamma: Any,
    X: Any,
    norm: float,
    rng: np.random.Generator,
    sample_weight: NDArray[np.float64] | None = None,
    owner: str = "RandomFeatures",
) -> float:
    """Return gamma as a number, rounded to ten digits so that the order of a sum does not move frequencies.

    "scale" is 1/(d variance) for l2 kernels and 1/(d standard deviation) for l1, over all entries of X, weighted by
    rows; "median" is 1/(2 median^2) or 1/median of the pairwise distances of at most 1000 seeded rows. Both are 1.0
    for constant data.

    Examples
    --------
    >>> X = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> resolve_gamma("scale", X, 2.0, np.random.default_rng(0))
    0.5
    """
    if isinstance(gamma, Real) and not isinstance(gamma, bool):
        return check_positive(owner, "gamma", gamma)
    if not isinstance(gamma, str) or gamma not in ("scale", "median"):
        raise fail(owner, "gamma must be 'scale', 'median' or a number above 0", gamma)
    spread = _spread(X, sample_weight) if gamma == "scale" else _median(X, norm, rng)
    weight = X.shape[1] if gamma == "scale" else (2.0 if norm == 2.0 else 1.0)
    scale = weight * (spread**2 if norm == 2.0 else spread)
    return float(f"{1.0 / scale:.10g}") if scale > 0 and math.isfinite(1.0 / scale) else 1.0


def _spread(X: Any, sample_weight: NDArray[np.float64] | None) -> float:
    """Return the standard deviation of all entries, block by block, by merging means and squares."""
    total, mean, square = 0.0, 0.0, 0.0
    for start in range(0, X.shape[0], _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS]
        rows = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
        weights = np.ones(len(rows)) if sample_weight is None else sample_weight[start : start + _BLOCK_ROWS]
        size = float(weights.sum()) * rows.shape[1]
        if size <= 0:
            continue
        block_mean = float(weights @ rows.sum(axis=1)) / size
        centered = rows - block_mean
        block_square = float(weights @ np.einsum("ij,ij->i", centered, centered))
        delta, merged = block_mean - mean, total + size
        square += block_square + delta**2 * total * size / merged
        mean, total = mean + delta * size / merged, merged
    return math.sqrt(square / total) if total > 0 else 0.0


def _median(X: Any, norm: float, rng: np.random.Generator) -> float:
    """Return the median distance between different rows of a seeded subset."""
    n = X.shape[0]
    chosen = np.sort(rng.choice(n, size=min(n, _MEDIAN_ROWS), replace=False))
    D = distances(X[chosen], X[chosen], norm)
    pairs = D[np.triu_indices(len(chosen), k=1)]
    return float(np.median(pairs)) if pairs.size else 0.0
