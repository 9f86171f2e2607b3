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
    if norm == 2.0:
        return np.asarray(euclidean_distances(X, Y), dtype=np.float64)
    if norm == 1.0:
        return np.asarray(manhattan_distances(X, Y), dtype=np.float64)
    dense = [A.toarray() if sparse.issparse(A) else np.asarray(A, dtype=np.float64) for A in (X, Y)]
    return np.asarray(cdist(*dense, metric="minkowski", p=norm), dtype=np.float64)
