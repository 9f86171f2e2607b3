"""Frequencies that are kept as a matrix: independent, orthogonal, or orthogonal and of one length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.cancel import matmul
from lowtide.kernels import Frequencies
from lowtide.projections.base import Blocks, DenseProjection, Projection, block_sizes, kept_array, kept_places

# Frequencies that are drawn at a time: then a frequency does not depend on how many follow it.
_AT_ONCE = 256
# Columns of a Haar matrix that are made orthogonal at a time, for the same reason.
_PANEL = 64


@dataclass(eq=False, repr=False)
class Iid(Projection):
    """Independent frequencies: works with every kernel, and takes d multiplications per frequency.

    Examples
    --------
    >>> from lowtide.kernels import Laplace
    >>> Iid().draw(Laplace(), 3, 8, np.random.default_rng(0)).weights().shape
    (3, 8)
    """

    laws: ClassVar[frozenset[str]] = frozenset({"gaussian_mixture", "sphere", "independent", "joint"})

    def lay_out(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, rng: np.random.Generator
    ) -> DenseProjection:
        """Sample the kernel's law, always in whole groups."""
        groups = [kernel.sample(rng, n_features, _AT_ONCE) for _ in range(0, n_frequencies, _AT_ONCE)]
        frequencies = np.hstack(groups)[:, :n_frequencies]
        return DenseProjection.of(frequencies, self.blocks_of(n_features, n_frequencies))

    def from_arrays(self, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]) -> DenseProjection:
        """Return the kept matrix."""
        return DenseProjection.kept("Iid", arrays, n_features, n_frequencies)


class HaarLayout(Projection):
    """Columns of independent Haar matrices side by side, times lengths of the kernel's law: drawn, or its only one."""

    lengths: ClassVar[Literal["free", "fixed"]]

    def lay_out(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, rng: np.random.Generator
    ) -> DenseProjection:
        """Draw Haar matrices side by side, and a length a column, each from a stream of its own."""
        for_directions, for_lengths = rng.spawn(2)
        blocks = self.blocks_of(n_features, n_frequencies)
        directions = np.hstack([_haar(for_directions, n_features, size) for size in blocks.sizes])
        quantiles = for_lengths.random(n_frequencies) if self.lengths == "free" else np.full(n_frequencies, 0.5)
        lengths = kernel.length_quantile(quantiles, n_features)
        return DenseProjection.of(directions * lengths, blocks)

    def from_arrays(self, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]) -> DenseProjection:
        """Return the kept matrix."""
        owner = type(self).__name__
        matrix = kept_array(owner, arrays, "matrix", (n_features, n_frequencies))
        places = kept_places(owner, arrays, n_frequencies)
        return DenseProjection(matrix, self.blocks_of(n_features, n_frequencies, places), places)

    def blocks_of(self, n_features: int, n_frequencies: int, places: NDArray[np.int64] | None = None) -> Blocks:
        """Return blocks of the input's dimension."""
        return Blocks(self.lengths, n_features, block_sizes(n_features, n_frequencies, places))


@dataclass(eq=False, repr=False)
class Orthogonal(HaarLayout):
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
    lengths: ClassVar[Literal["free", "fixed"]] = "free"


@dataclass(eq=False, repr=False)
class Haar(HaarLayout):
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
    lengths: ClassVar[Literal["free", "fixed"]] = "fixed"


def _haar(rng: np.random.Generator, dimension: int, n_columns: int) -> NDArray[np.float64]:
    """Return the first columns of a Haar matrix, which do not depend on how many are asked for.

    Normal columns, orthogonal to those before them and then among themselves, a panel at a time. Once is not enough: a
    projection leaves rounding errors, which the next removes. QR is unbiased only with the signs of R's diagonal moved
    into Q.
    """
    Q = np.empty((dimension, 0))
    while Q.shape[1] < n_columns:
        panel = rng.standard_normal((min(_PANEL, dimension - Q.shape[1]), dimension)).T
        for _ in range(2):
            panel = panel - matmul(Q, matmul(Q.T, panel))
        own, R = np.linalg.qr(panel)
        Q = np.hstack([Q, own * np.where(np.diag(R) < 0, -1.0, 1.0)])
    return Q[:, :n_columns]
