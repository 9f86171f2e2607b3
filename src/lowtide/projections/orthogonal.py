"""Orthogonal directions with the kernel's lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowtide.kernels import Frequencies
from lowtide.projections.base import Blocks, Projection, block_sizes
from lowtide.projections.dense import DenseProjection
from lowtide.projections.haar import haar_columns
from lowtide.projections.kept import kept_array

__all__ = ["Orthogonal"]


@dataclass(eq=False, repr=False)
class Orthogonal(Projection):
    """Orthogonal directions in blocks of d, each with an independent length of the kernel's law (chi for the Gaussian).

    Unbiased for every Gaussian mixture, with less variance than independent frequencies for near points.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> W = Orthogonal().draw(Gaussian(), 4, 4, np.random.default_rng(0)).weights()
    >>> gram = W.T @ W
    >>> bool(np.abs(gram - np.diag(np.diag(gram))).max() < 1e-5)
    True
    """

    laws: ClassVar[frozenset[str]] = frozenset({"gaussian_mixture"})

    def _draw(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, rng: np.random.Generator
    ) -> DenseProjection:
        directions, sizes = haar_columns(rng, n_features, n_frequencies)
        lengths = kernel.length_quantile(rng.random(n_frequencies), n_features)
        return DenseProjection.of(directions * lengths, Blocks("free", n_features, sizes))

    def _restore(self, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]) -> DenseProjection:
        matrix = kept_array("Orthogonal", arrays, "matrix", (n_features, n_frequencies))
        return DenseProjection(matrix, Blocks("free", n_features, block_sizes(n_features, n_frequencies)))
