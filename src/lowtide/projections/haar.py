"""Haar-distributed orthogonal directions of one length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowtide.kernels import Frequencies
from lowtide.projections.base import Blocks, Projection, block_sizes
from lowtide.projections.dense import DenseProjection
from lowtide.projections.kept import kept_array

__all__ = ["Haar", "haar_columns"]


@dataclass(eq=False, repr=False)
class Haar(Projection):
    """Orthogonal directions in blocks of d, all of the length 1/scale of the Bessel kernel.

    References
    ----------
    Demni and Kadri, Orthogonal random features: explicit forms and sharp inequalities.

    Examples
    --------
    >>> from lowtide.kernels import Bessel
    >>> W = Haar().draw(Bessel(scale=0.5), 3, 6, np.random.default_rng(0)).weights()
    >>> np.linalg.norm(W, axis=0).round(3)
    array([2., 2., 2., 2., 2., 2.], dtype=float32)
    """

    laws: ClassVar[frozenset[str]] = frozenset({"sphere"})

    def _draw(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, rng: np.random.Generator
    ) -> DenseProjection:
        directions, sizes = haar_columns(rng, n_features, n_frequencies)
        lengths = kernel.length_quantile(np.full(n_frequencies, 0.5), n_features)
        return DenseProjection.of(directions * lengths, Blocks("fixed", n_features, sizes))

    def _restore(self, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]) -> DenseProjection:
        matrix = kept_array("Haar", arrays, "matrix", (n_features, n_frequencies))
        return DenseProjection(matrix, Blocks("fixed", n_features, block_sizes(n_features, n_frequencies)))


def haar_columns(
    rng: np.random.Generator, dimension: int, n_columns: int
) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Return columns of independent Haar matrices side by side, and how many each gave."""
    sizes = block_sizes(dimension, n_columns)
    return np.hstack([_haar(rng, dimension, size) for size in sizes]), sizes


def _haar(rng: np.random.Generator, dimension: int, n_columns: int) -> NDArray[np.float64]:
    """Return the first columns of a Haar matrix: QR is unbiased only with the signs of R's diagonal moved into Q."""
    Q, R = np.linalg.qr(rng.standard_normal((dimension, n_columns)))
    return np.asarray(Q * np.where(np.diag(R) < 0, -1.0, 1.0))
