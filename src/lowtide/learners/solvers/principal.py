"""Principal axes of a design, by its products alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

if TYPE_CHECKING:
    from lowtide.learners.design import Design

__all__ = ["PrincipalAxes", "principal_axes"]

Array = NDArray[Any]
Product = Callable[[Array], Array]

# A matrix of the shorter side up to this size costs 2 MB: then all its eigenvectors at once are faster and exact.
_SMALL = 512
# Below this share of the squared features there is only rounding of the products.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PrincipalAxes:
    """Top eigenvectors of the centered D'D, largest first.

    Parameters
    ----------
    axes : float64 array (m, k)
        Orthonormal columns, zero where nothing varies; the entry of largest size is positive.
    values : float64 array (k,)
        Eigenvalues: sums over rows of the squared projections.
    mean : float64 array (m,)
    total : float
        Sum of all eigenvalues.
    """

    axes: Array
    values: Array
    mean: Array
    total: float


def principal_axes(design: Design, n_axes: int, start: Array, tol: float) -> PrincipalAxes:
    """Return the top eigenvectors of D'PD, P = I - 11'/n, from products with D and D' in float64.

    Lanczos on the shorter side of D: about two to six products a wanted axis. Neither D nor its longer Gram matrix is
    ever formed.

    Parameters
    ----------
    design : Design
        n rows, m features.
    n_axes : int
        From 1 to min(n, m).
    start : array (min(n, m),)
        Where Lanczos starts.
    tol : float
        Relative accuracy of the eigenvalues, 0 for machine precision.
    """
    n, m = design.shape
    mean = np.sum([part.rmatmul(np.ones((part.shape[0], 1)))[:, 0] for part in design.parts()], axis=0) / n
    squares = design.squares()
    noise = _ROUNDING * float(squares.sum())
    total = float(np.sum(squares - n * mean**2))
    if total <= noise:  # rows that are all the same have no axes
        return PrincipalAxes(np.zeros((m, n_axes)), np.zeros(n_axes), mean, 0.0)
    gram_of_columns = m <= n
    product = _columns_product(design, mean) if gram_of_columns else _rows_product(design, mean)
    values, vectors = _top(product, min(n, m), n_axes, start, tol)
    values = np.where(values > noise, values, 0.0)
    axes = vectors if gram_of_columns else _axes_of_rows(design, vectors, values)
    axes = np.where(values > 0, axes, 0.0)
    largest = axes[np.argmax(np.abs(axes), axis=0), np.arange(n_axes)]
    return PrincipalAxes(axes * np.where(largest < 0, -1.0, 1.0), values, mean, total)


def _columns_product(design: Design, mean: Array) -> Product:
    """Return V -> D'P D V, summed over the parts of D: D V as a whole is never there."""

    def product(V: Array) -> Array:
        total = np.zeros_like(V)
        for part in design.parts(V.shape[1]):
            total += part.rmatmul(part.matmul(V) - mean @ V)
        return total

    return product


def _rows_product(design: Design, mean: Array) -> Product:
    """Return R -> P D D'P R."""

    def product(R: Array) -> Array:
        W = design.rmatmul(R - R.mean(axis=0))
        return design.matmul(W) - mean @ W

    return product


def _axes_of_rows(design: Design, vectors: Array, values: Array) -> Array:
    """Return D'P u / sqrt(value): eigenvectors of the columns' side."""
    axes = design.rmatmul(vectors - vectors.mean(axis=0))
    return axes / np.sqrt(np.where(values > 0, values, 1.0))


def _top(product: Product, size: int, k: int, start: Array, tol: float) -> tuple[Array, Array]:
    """Return the k largest eigenvalues, descending, and their vectors."""
    if size <= _SMALL or 2 * k >= size:
        matrix = product(np.eye(size))
        values, vectors = eigh((matrix + matrix.T) / 2, subset_by_index=(size - k, size - 1))
    else:
        operator = LinearOperator((size, size), matvec=lambda v: product(v.reshape(-1, 1))[:, 0], dtype=np.float64)
        values, vectors = eigsh(operator, k=k, which="LA", v0=start, tol=tol)
    return values[::-1], vectors[:, ::-1]
