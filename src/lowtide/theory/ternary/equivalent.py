"""The centered kernel matrix of a Gaussian mixture from three moments of the activation (Theorem 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.theory.ternary.moments import GaussianMoments

Floats = NDArray[np.float64]


def kernel_equivalent(
    X: ArrayLike, labels: ArrayLike, *, moments: GaussianMoments, means: ArrayLike, covariances: ArrayLike
) -> Floats:
    """Matrix that the centered kernel matrix of a Gaussian mixture approaches, whatever the law of the frequencies.

        K ~ P [d1 X X' + d2 (u u' + 2 J T J') + d0 I] P,     u_i = |x_i - mean_a|^2,   T_ab = tr(C_a C_b)

    for rows x_i of class a, class indicators J and P = I - 11'/n. It is Theorem 1's d2 V A V' in the units of the rows:
    what t and the means of |z|^2 add to u is the same for every row, and P removes it.

    Parameters
    ----------
    X : array-like of float (n, p)
        Rows x_i ~ N(mean_a, C_a), scaled so that |x|^2 is about tau, of order 1.
    labels : array-like of int (n,)
        Class of each row, 0 to K - 1.
    moments : GaussianMoments
        Of the activation, at tau = tr C averaged over the rows.
    means : array-like of float (K, p)
        Class means, in the units of X.
    covariances : array-like of float (K, p, p)
        Class covariances, in the units of X squared.

    Returns
    -------
    ndarray of float64 (n, n)
        The norm of the difference to the centered kernel matrix goes to 0 as n and p grow together.

    Notes
    -----
    O(n^2 p). Holds for class means of norm O(p^-1/2), traces of C_a that differ by O(p^-1/2).

    References
    ----------
    TRF (Tiomoko Ali, Liao and Couillet), Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.theory import center_kernel, gaussian_moments, kernel_equivalent
    >>> rng = np.random.default_rng(0)
    >>> p = n = 200
    >>> X = rng.standard_normal((n, p)) / np.sqrt(p)
    >>> K = center_kernel(np.exp(-((X[:, None] - X) ** 2).sum(-1) / 2))
    >>> near = kernel_equivalent(X, np.zeros(n, int), moments=gaussian_moments("rbf", 1.0), means=np.zeros((1, p)),
    ...                          covariances=np.eye(p)[None] / p)
    >>> bool(np.linalg.norm(K - near, 2) < 0.1 * np.linalg.norm(K, 2))
    True
    """
    rows, classes, centers, spread = _checked(X, labels, means, covariances)
    lengths = ((rows - centers[classes]) ** 2).sum(axis=1)
    overlap = np.einsum("aij,bij->ab", spread, spread)
    K = moments.d1 * (rows @ rows.T)
    K += moments.d2 * (np.outer(lengths, lengths) + 2 * overlap[np.ix_(classes, classes)])
    K[np.diag_indices_from(K)] += moments.d0
    return center_kernel(K)


def center_kernel(K: ArrayLike) -> Floats:
    """Return P K P, P = I - 11'/n: the kernel of features with their mean subtracted.

    Parameters
    ----------
    K : array-like of float (n, n)
        A kernel matrix.

    Returns
    -------
    ndarray of float64 (n, n)
        Rows and columns sum to 0.

    Examples
    --------
    >>> from lowtide.theory import center_kernel
    >>> center_kernel([[2.0, 0.0], [0.0, 2.0]]).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    matrix = np.asarray(K, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise fail("center_kernel", "K must be a square matrix", matrix.shape)
    return np.asarray(matrix - matrix.mean(axis=0) - matrix.mean(axis=1, keepdims=True) + matrix.mean())


def _checked(X: ArrayLike, labels: ArrayLike, means: ArrayLike, covariances: ArrayLike) -> tuple[Any, ...]:
    """Return the four arrays after checking that their shapes agree."""
    rows, centers, spread = (np.asarray(array, dtype=np.float64) for array in (X, means, covariances))
    classes = np.asarray(labels)
    if rows.ndim != 2 or classes.shape != rows.shape[:1] or classes.dtype.kind not in "iu":
        raise fail("kernel_equivalent", "X must be (n, p) and labels n integers", (rows.shape, classes.shape))
    n_classes, p = len(centers), rows.shape[1]
    if centers.shape != (n_classes, p) or spread.shape != (n_classes, p, p):
        shapes = centers.shape, spread.shape
        raise fail("kernel_equivalent", f"means must be (K, {p}) and covariances (K, {p}, {p})", shapes)
    if classes.size and not 0 <= classes.min() <= classes.max() < n_classes:
        raise fail("kernel_equivalent", f"labels must be 0 to {n_classes - 1}", (classes.min(), classes.max()))
    return rows, classes, centers, spread
