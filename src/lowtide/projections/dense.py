"""Frequencies that are kept as a matrix: independent, orthogonal, or orthogonal and of one length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import ParameterError
from lowtide.kernels import Frequencies
from lowtide.projections.base import Blocks, Projection, block_sizes, check_values, kept_array

_PANEL = 16


@dataclass(frozen=True)
class DenseProjection:
    """W as float32, in turns: 4 n_features n_frequencies bytes, and as much again in panels once rows are projected."""

    matrix: NDArray[np.float32]
    blocks: Blocks

    @classmethod
    def of(cls, frequencies: NDArray[np.float64], blocks: Blocks) -> DenseProjection:
        """Return the projection of angular frequencies in columns."""
        return cls(np.ascontiguousarray(frequencies / (2 * math.pi), dtype=np.float32), blocks)

    @classmethod
    def kept(cls, owner: str, arrays: dict[str, NDArray[Any]], n_features: int, n_frequencies: int) -> DenseProjection:
        """Return independent frequencies whose `arrays()` were kept; refuse a matrix of another shape."""
        matrix = kept_array(owner, arrays, "matrix", (n_features, n_frequencies))
        return cls(matrix, Blocks("iid", n_features, (1,) * n_frequencies))

    @property
    def n_features(self) -> int:
        """Input columns."""
        return int(self.matrix.shape[0])

    @property
    def n_frequencies(self) -> int:
        """Columns of W."""
        return int(self.matrix.shape[1])

    @property
    def scale(self) -> NDArray[np.float32]:
        """Ones: the matrix is in turns already."""
        return np.ones(self.n_frequencies, dtype=np.float32)

    @property
    def row_cost(self) -> int:
        """A multiplication and an addition an entry of W."""
        return 2 * self.matrix.size

    @cached_property
    def layout(self) -> NDArray[np.float32]:
        """W in panels of 16 columns, (n_panels, n_features, 16), the last filled up with zeros; made once."""
        d, p = self.matrix.shape
        n_panels = -(-p // _PANEL)
        filled = np.zeros((d, n_panels * _PANEL), dtype=np.float32)
        filled[:, :p] = self.matrix
        return np.ascontiguousarray(filled.reshape(d, n_panels, _PANEL).transpose(1, 0, 2))

    @property
    def rounding(self) -> float:
        """Relative error of sums of d products: measured, it grows with the square root of d."""
        return (1.0 + 0.3 * math.sqrt(self.n_features)) * 2.0**-24

    def check_range(self, X: NDArray[np.float32]) -> None:
        """Refuse rows with a projection that leaves float32."""
        with np.errstate(over="ignore", invalid="ignore"):
            # No value is larger than the norm of all, and nearly always that is too small to overflow. What is not
            # finite compares as false.
            if 2.0 * math.sqrt(np.vdot(X, X)) < self._largest_safe or not np.isfinite(X).all():
                return
            overflows = not np.isfinite(X @ self.matrix).all()
        if overflows:
            raise ParameterError(
                f"Rows must stay within float32 when projected, got values up to {np.abs(X).max():.3g}. "
                "Scale the columns first."
            )

    @cached_property
    def _largest_safe(self) -> float:
        """Size of values whose sum over any column of W stays within float32."""
        column = float(np.abs(self.matrix).sum(axis=0, dtype=np.float64).max())
        return float(np.finfo(np.float32).max) / max(column, 1.0)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the matrix."""
        return {"matrix": self.matrix}

    def weights(self) -> NDArray[np.float32]:
        """Return the angular frequencies."""
        return self.matrix * np.float32(2 * math.pi)

    def pull_back(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return values W', a plain product."""
        check_values("DenseProjection", values, self.n_frequencies)
        return np.asarray(values @ self.matrix.T) * np.float32(2 * math.pi)


@dataclass(eq=False, repr=False)
class Iid(Projection):
    """Independent draws of the kernel's law: fits every kernel, costs d multiplications a frequency.

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
        """Sample the kernel's law."""
        blocks = Blocks("iid", n_features, (1,) * n_frequencies)
        return DenseProjection.of(kernel.sample(rng, n_features, n_frequencies), blocks)

    def from_arrays(self, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]) -> DenseProjection:
        """Return the kept matrix."""
        return DenseProjection.kept("Iid", arrays, n_features, n_frequencies)


class HaarLayout(Projection):
    """Columns of independent Haar matrices side by side, times lengths of the kernel's law: drawn, or its only one."""

    lengths: ClassVar[Literal["free", "fixed"]]

    def lay_out(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, rng: np.random.Generator
    ) -> DenseProjection:
        """Draw Haar matrices side by side, and a length a column."""
        sizes = block_sizes(n_features, n_frequencies)
        directions = np.hstack([_haar(rng, n_features, size) for size in sizes])
        quantiles = rng.random(n_frequencies) if self.lengths == "free" else np.full(n_frequencies, 0.5)
        lengths = kernel.length_quantile(quantiles, n_features)
        return DenseProjection.of(directions * lengths, Blocks(self.lengths, n_features, sizes))

    def from_arrays(self, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]) -> DenseProjection:
        """Return the kept matrix."""
        matrix = kept_array(type(self).__name__, arrays, "matrix", (n_features, n_frequencies))
        return DenseProjection(matrix, Blocks(self.lengths, n_features, block_sizes(n_features, n_frequencies)))


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
    """Return the first columns of a Haar matrix: QR is unbiased only with the signs of R's diagonal moved into Q."""
    Q, R = np.linalg.qr(rng.standard_normal((dimension, n_columns)))
    return np.asarray(Q * np.where(np.diag(R) < 0, -1.0, 1.0))
