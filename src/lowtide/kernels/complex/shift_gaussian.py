"""The shift-Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide.kernels.complex.gaussian_ridge import GaussianRidge, rows_of
from lowtide.kernels.complex.masses import Masses, shift_masses
from lowtide.kernels.gaussian import Gaussian
from lowtide.kernels.measure import MeasureBlock

__all__ = ["ShiftGaussian"]

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class ShiftGaussian(GaussianRidge):
    """Shift-Gaussian kernel k(x, y) = exp(-|x - y + shift|^2 / (2 bandwidth^2)): y is like x when it is x moved.

    Its measure is e^{i shift.w} times the normal law of the Gaussian kernel.

    Parameters
    ----------
    shift : float or array (n_features,), default=0.5
        r; a number stands for a vector of equal entries.
    bandwidth : float, default=1.0
        sigma > 0.

    References
    ----------
    AsK-RFF (He, He, Liu and Huang), (9); masses in closed form are derived.

    Examples
    --------
    >>> kernel = ShiftGaussian(shift=[1.0, 0.0], bandwidth=2.0)
    >>> kernel.gram([[0.0, 0.0]], [[1.0, 0.0]]), kernel.gram([[1.0, 0.0]], [[0.0, 0.0]]).round(4)
    (array([[1.]]), array([[0.6065]]))
    >>> [round(block.mass, 4) for block in kernel.measures(2)]
    [0.8827, 0.0002, 0.3673]
    """

    shift: Any = 0.5
    bandwidth: float = 1.0

    def check(self) -> None:
        """Refuse a shift or a bandwidth outside its limits."""
        self._check_vector("shift")

    def shift_vector(self, n_features: int) -> Floats:
        """Return the shift, (n_features,)."""
        return self._vector("shift", n_features)

    def masses(self, n_features: int) -> Masses:
        """Return the masses of the parts of the measure."""
        return shift_masses(self.strength(n_features))

    def at(self, difference: ArrayLike) -> Floats:
        """Return exp(-|difference + shift|^2 / (2 sigma^2)), differences along the last axis."""
        delta = np.asarray(difference, dtype=np.float64)
        z = (delta + self.shift_vector(delta.shape[-1])) / self.bandwidth
        return np.asarray(np.exp(-0.5 * np.einsum("...i,...i->...", z, z)))

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        X, Y = rows_of(X), None if Y is None else rows_of(Y)
        r = self.shift_vector(X.shape[1])
        square, along = self._pairs(X, Y, r / self.bandwidth**2)
        return np.exp(-0.5 * np.maximum(square + 2 * along + r @ r / self.bandwidth**2, 0.0))

    def phase_measure(self, n_features: int) -> MeasureBlock:
        """Return the Gaussian's frequencies with the phase shift.w: features of x + shift against those of y."""
        r = self.shift_vector(n_features)
        return MeasureBlock(1.0, Gaussian(float(self.bandwidth)), shift=r if np.any(r) else None)
