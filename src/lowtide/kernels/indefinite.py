"""Symmetric kernels that need not be positive: signed sums, and what is left of a kernel without its direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.kernels.asymmetric import ShiftGaussian
from lowtide.kernels.base import Kernel, MeasureBlock, MeasureKernel
from lowtide.kernels.symmetric import Gaussian
from lowtide.spec import registry_of

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class SignedMeasureKernel(MeasureKernel):
    """Kernel sum_i weight_i kappa_i(x - y) with weights of either sign: symmetric, not positive definite in general.

    Its signed measure has one block a term, so each keeps a law that orthogonal layouts can carry.

    Parameters
    ----------
    terms : sequence of (weight, Kernel), default=None
        Weights that are not 0; None stands for the delta-Gaussian exp(-|x-y|^2/2) - exp(-|x-y|^2/200).

    Examples
    --------
    >>> kernel = SignedMeasureKernel.delta_gaussian(bandwidths=(1.0, 10.0), weights=(1.0, 0.5))
    >>> kernel.at([0.0, 0.0]).item(), [(block.mass, block.turn) for block in kernel.measures(2)]
    (0.5, [(1.0, 0.0), (0.5, 0.5)])
    """

    terms: Any = None

    @classmethod
    def delta_gaussian(cls, bandwidths: tuple[float, float], weights: tuple[float, float] = (1.0, 1.0)) -> Self:
        """Return the difference of two Gaussians, weights[0] times the first less weights[1] times the second."""
        return cls(((weights[0], Gaussian(bandwidths[0])), (-weights[1], Gaussian(bandwidths[1]))))

    def check(self) -> None:
        """Refuse terms that are not pairs of a number and a kernel."""
        self._pairs()

    def _pairs(self) -> list[tuple[float, Kernel]]:
        """Return the terms; configurations of kernels, as a file has them, become kernels."""
        if self.terms is None:
            return [(1.0, Gaussian(1.0)), (-1.0, Gaussian(10.0))]
        try:
            given = [(float(weight), kernel) for weight, kernel in self.terms]
        except (TypeError, ValueError):
            given = []
        known = registry_of(Kernel).of(Kernel)
        pairs = [(weight, known.from_config(k) if isinstance(k, dict) else k) for weight, k in given]
        if not pairs or not all(w and np.isfinite(w) and isinstance(kernel, Kernel) for w, kernel in pairs):
            need = "terms must be pairs of a finite weight that is not 0 and a Kernel"
            raise fail("SignedMeasureKernel", need, self.terms)
        return pairs

    def to_config(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary, terms as pairs of a weight and a configuration."""
        terms = [[weight, kernel.to_config()] for weight, kernel in self._pairs()]
        return {"type": "SignedMeasureKernel", "terms": terms}

    def at(self, difference: ArrayLike) -> Floats:
        """Return kappa of differences x - y along the last axis."""
        return np.asarray(sum(weight * kernel.at(difference) for weight, kernel in self._pairs()))

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        return np.asarray(sum(weight * kernel.gram(X, Y) for weight, kernel in self._pairs()))

    def measures(self, n_features: int) -> tuple[MeasureBlock, ...]:
        """Return a block a term, of half a turn where the weight is negative."""
        return tuple(MeasureBlock(abs(w), kernel, turn=0.0 if w > 0 else 0.5) for w, kernel in self._pairs())


@dataclass(eq=False, repr=False)
class SymmetricPart(MeasureKernel):
    """Kernel (k(x, y) + k(y, x)) / 2 of another kernel: its real measure alone, indefinite in general.

    What an asymmetric kernel is compared with: the same blocks without the imaginary one.

    Parameters
    ----------
    kernel : MeasureKernel, default=None
        One in closed form. None stands for `ShiftGaussian()`.

    Examples
    --------
    >>> part = SymmetricPart(ShiftGaussian(shift=1.0))
    >>> part.at([[0.5], [-0.5]]).round(4)
    array([0.6036, 0.6036])
    >>> [block.turn for block in part.measures(1)]
    [0.0, 0.5]
    """

    kernel: Any = None

    def check(self) -> None:
        """Refuse what is not a kernel."""
        self._whole()

    def _whole(self) -> MeasureKernel:
        """Return the kernel; a configuration, as a file has it, becomes one."""
        given = ShiftGaussian() if self.kernel is None else self.kernel
        # A file cannot nest one symmetric part in another without end: it is the same kernel.
        nested = isinstance(given, dict) and given.get("type") == "SymmetricPart"
        whole = registry_of(MeasureKernel).from_config(given) if isinstance(given, dict) and not nested else given
        if not isinstance(whole, MeasureKernel) or not whole.closed_form:
            raise fail("SymmetricPart", "kernel must be a MeasureKernel in closed form", self.kernel)
        return whole

    def to_config(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary with that of the kernel within."""
        return {"type": "SymmetricPart", "kernel": self._whole().to_config()}

    def at(self, difference: ArrayLike) -> Floats:
        """Return (kappa(difference) + kappa(-difference)) / 2, differences along the last axis."""
        delta = np.asarray(difference, dtype=np.float64)
        return np.asarray((self._whole().at(delta) + self._whole().at(-delta)) / 2)

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        K = self._whole().gram(X, Y)
        back = K.T if Y is None else self._whole().gram(Y, X).T
        return np.asarray((K + back) / 2)

    def measures(self, n_features: int) -> tuple[MeasureBlock, ...]:
        """Return the blocks of the real measure."""
        return tuple(block for block in self._whole().measures(n_features) if not block.is_skew)
