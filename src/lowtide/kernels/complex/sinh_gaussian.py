"""The sinh-Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide.kernels.complex.gaussian_ridge import GaussianRidge, rows_of
from lowtide.kernels.complex.masses import Masses, sinh_masses
from lowtide.kernels.complex.ridge import CarriedPhase, modulus_law
from lowtide.kernels.gaussian import Gaussian
from lowtide.kernels.measure import Frequencies, MeasureBlock

__all__ = ["SinhGaussian"]

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class SinhGaussian(GaussianRidge):
    """Kernel exp(-|x - y|^2 / (2 bandwidth^2)) (1 + sinh(beta.(x - y))): a Gaussian and a skew part.

    Its real measure is the normal law alone, which orthogonal layouts can carry.

    Parameters
    ----------
    beta : float or array (n_features,), default=0.5
        A number stands for a vector of equal entries.
    bandwidth : float, default=1.0
        sigma > 0; s = bandwidth |beta| must be at most 12.

    References
    ----------
    AsK-RFF (He, He, Liu and Huang), (10); masses in closed form are derived.

    Examples
    --------
    >>> float(SinhGaussian(beta=[0.5, 0.3], bandwidth=2.0).at([-0.8, 0.1]).round(6))
    0.573
    """

    beta: Any = 0.5
    bandwidth: float = 1.0

    def check(self) -> None:
        """Refuse a beta or a bandwidth outside its limits."""
        self._check_vector("beta")

    def shift_vector(self, n_features: int) -> Floats:
        """Return -sigma^2 beta, (n_features,): the imaginary measure is A sin of it times w."""
        return -(self.bandwidth**2) * self._vector("beta", n_features)

    def masses(self, n_features: int) -> Masses:
        """Return the masses of the parts of the measure."""
        return sinh_masses(self.strength(n_features))

    def at(self, difference: ArrayLike) -> Floats:
        """Return exp(-|difference|^2 / (2 sigma^2)) (1 + sinh(beta.difference)), differences along the last axis."""
        delta = np.asarray(difference, dtype=np.float64)
        square = np.einsum("...i,...i->...", delta, delta) / self.bandwidth**2
        return _skewed(square, delta @ self._vector("beta", delta.shape[-1]))

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        X, Y = rows_of(X), None if Y is None else rows_of(Y)
        return _skewed(*self._pairs(X, Y, self._vector("beta", X.shape[1])))

    def phase_measure(self, n_features: int) -> MeasureBlock:
        """Return frequencies of the measure's modulus, each with its argument."""
        s = self.strength(n_features)
        if s == 0.0:
            return MeasureBlock(1.0, Gaussian(float(self.bandwidth)))
        line = modulus_law(s)
        return CarriedPhase(line.mass, self._ridge(n_features, line))

    def _positive_law(self, n_features: int) -> Frequencies:
        return Gaussian(float(self.bandwidth))


def _skewed(square: Floats, along: Floats) -> Floats:
    """Return g (1 + sinh a) from exponents, so that far points do not overflow."""
    half = -0.5 * square
    return np.asarray(np.exp(half) + 0.5 * (np.exp(half + along) - np.exp(half - along)))
