"""Distances between rows in the l_p norm of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

__all__ = ["distances"]


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
