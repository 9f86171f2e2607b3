"""The cosh-Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide.kernels.complex.gaussian_ridge import GaussianRidge, rows_of
from lowtide.kernels.complex.masses import Masses, amplitude, shift_masses
from lowtide.kernels.gaussian import Gaussian
from lowtide.kernels.measure import MeasureBlock

__all__ = ["CoshGaussian"]

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class CoshGaussian(GaussianRidge):
    """Kernel exp(-|x - y|^2 / (2 bandwidth^2)) exp(beta.(x - y)), which its authors call cosh-Gaussian.

    It is exp(s^2/2), s = bandwidth |beta|, times the shift-Gaussian kernel of shift -bandwidth^2 beta.

    Parameters
    ----------
    beta : float or array (n_features,), default=0.5
        A number stands for a vector of equal entries.
    bandwidth : float, default=1.0
        sigma > 0; s must be at most 12.

    References
    ----------
    AsK-RFF (He, He, Liu and Huang), (11); masses in closed form are derived.

    Examples
    --------
    >>> float(CoshGaussian(beta=[0.5, 0.3], bandwidth=2.0).at([-0.8, 0.1]).round(6))
    0.636832
    """

    beta: Any = 0.5
    bandwidth: float = 1.0

    def check(self) -> None:
        """Refuse a beta or a bandwidth outside its limits."""
        self._check_vector("beta")

    def shift_vector(self, n_features: int) -> Floats:
        """Return -sigma^2 beta, (n_features,)."""
        return -(self.bandwidth**2) * self._vector("beta", n_features)

    def masses(self, n_features: int) -> Masses:
        """Return the masses of the parts of the measure."""
        s = self.strength(n_features)
        scale, one = amplitude(s), shift_masses(s)
        # The difference of the real masses is k(0) = 1 to the last digit.
        return Masses(1.0 + scale * one.negative, scale * one.negative, scale * one.imaginary)

    def at(self, difference: ArrayLike) -> Floats:
        """Return exp(-|difference|^2 / (2 sigma^2) + beta.difference), differences along the last axis."""
        delta = np.asarray(difference, dtype=np.float64)
        square = np.einsum("...i,...i->...", delta, delta) / self.bandwidth**2
        return np.asarray(np.exp(-0.5 * square + delta @ self._vector("beta", delta.shape[-1])))

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        X, Y = rows_of(X), None if Y is None else rows_of(Y)
        square, along = self._pairs(X, Y, self._vector("beta", X.shape[1]))
        return np.exp(-0.5 * square + along)

    def phase_measure(self, n_features: int) -> MeasureBlock:
        """Return the Gaussian's frequencies with mass e^{s^2/2} and the phase -sigma^2 beta.w."""
        r = self.shift_vector(n_features)
        mass = amplitude(self.strength(n_features))
        return MeasureBlock(mass, Gaussian(float(self.bandwidth)), shift=r if np.any(r) else None)
