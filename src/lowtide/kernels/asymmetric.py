"""The shift-, sinh- and cosh-Gaussian kernels: a normal law of frequencies, modulated along one direction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.kernels import ridge
from lowtide.kernels.base import Frequencies, MeasureBlock, MeasureKernel, distances
from lowtide.kernels.masses import Masses, amplitude, shift_masses, sinh_masses
from lowtide.kernels.symmetric import Gaussian

Floats = NDArray[np.float64]
# A block below this share of the total mass is left out; the positive one then keeps kappa(0) exact.
_NEGLIGIBLE = 1e-6


class GaussianRidge(MeasureKernel):
    """A kernel whose measure is a function of r.w times the normal law of bandwidth sigma."""

    bandwidth: float
    positive: ClassVar[tuple[str, ...]] = ("bandwidth",)
    lengths: ClassVar[tuple[str, ...]] = ("bandwidth",)
    # The parameter that r follows from.
    vector: ClassVar[str] = "beta"

    def check(self) -> None:
        """Refuse a bandwidth or a vector that is not finite numbers."""
        super().check()
        value = self.get_params()[self.vector]
        try:
            vector = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.array(np.nan)
        if vector.ndim > 1 or vector.size == 0 or not np.isfinite(vector).all():
            raise fail(type(self).__name__, f"{self.vector} must be a finite number or a vector of them", value)

    def shift_vector(self, n_features: int) -> Floats:
        """Return r = -sigma^2 beta, (n_features,)."""
        return -(self.bandwidth**2) * self._vector(n_features)

    @abstractmethod
    def masses(self, n_features: int) -> Masses:
        """Return the masses of the parts of the measure, in closed form."""

    def strength(self, n_features: int) -> float:
        """Return s = |r| / sigma."""
        return float(np.linalg.norm(self.shift_vector(n_features))) / float(self.bandwidth)

    def measures(self, n_features: int) -> tuple[MeasureBlock, ...]:
        """Return the positive, the negative and the imaginary block, without those of negligible mass."""
        masses = self.masses(n_features)
        least = _NEGLIGIBLE * masses.total
        negative = masses.negative if masses.negative >= least else 0.0
        blocks = [MeasureBlock(masses.positive - masses.negative + negative, self._positive_law(n_features))]
        if negative:
            blocks.append(MeasureBlock(negative, self._ridge(n_features, ridge.cos_minus_law), turn=0.5))
        if 2 * masses.imaginary >= least:
            blocks.append(MeasureBlock(2 * masses.imaginary, self._ridge(n_features, ridge.sin_plus_law), turn=0.25))
        return tuple(blocks)

    def _positive_law(self, n_features: int) -> Frequencies:
        some = self.strength(n_features) > 0
        return self._ridge(n_features, ridge.cos_plus_law) if some else Gaussian(float(self.bandwidth))

    def _ridge(self, n_features: int, line: Callable[[float], ridge.LineLaw]) -> ridge.RidgeLaw:
        """Return the law of frequencies that have a law of their own along r, which is not 0."""
        r = self.shift_vector(n_features)
        return ridge.RidgeLaw(r / np.linalg.norm(r), float(self.bandwidth), line(self.strength(n_features)))

    def _differences(self, difference: ArrayLike) -> tuple[Floats, Floats]:
        """Return |difference|^2 / sigma^2 and vector.difference, differences along the last axis."""
        delta = np.asarray(difference, dtype=np.float64)
        square = np.einsum("...i,...i->...", delta, delta) / self.bandwidth**2
        return square, delta @ self._vector(delta.shape[-1])

    def _pairs(self, X: Any, Y: Any, v: Floats) -> tuple[Floats, Floats]:
        """Return |x - y|^2 / sigma^2 and v.(x - y) of all pairs of rows."""
        X = X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)
        Y = X if Y is None else Y if hasattr(Y, "shape") else np.asarray(Y, dtype=np.float64)
        along = np.subtract.outer(np.asarray(X @ v, dtype=np.float64), np.asarray(Y @ v, dtype=np.float64))
        return (distances(X, Y, 2.0) / self.bandwidth) ** 2, along

    def _vector(self, n_features: int) -> Floats:
        """Return a number as a vector of equal entries, a vector as it is."""
        vector = np.asarray(self.get_params()[self.vector], dtype=np.float64)
        if vector.ndim and vector.shape != (n_features,):
            need = f"{self.vector} must be a number or have {n_features} entries"
            raise fail(type(self).__name__, need, vector.shape)
        return np.broadcast_to(vector, (n_features,))

    def to_config(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary; a vector as a list of floats."""
        config = super().to_config()
        return {**config, self.vector: np.asarray(config[self.vector], dtype=np.float64).tolist()}


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
    vector: ClassVar[str] = "shift"

    def shift_vector(self, n_features: int) -> Floats:
        """Return the shift, (n_features,)."""
        return self._vector(n_features)

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
        r = self.shift_vector(np.shape(X)[1])
        square, along = self._pairs(X, Y, r / self.bandwidth**2)
        return np.exp(-0.5 * np.maximum(square + 2 * along + r @ r / self.bandwidth**2, 0.0))

    def phase_measure(self, n_features: int) -> MeasureBlock:
        """Return the Gaussian's frequencies with the phase shift.w: features of x + shift against those of y."""
        r = self.shift_vector(n_features)
        return MeasureBlock(1.0, Gaussian(float(self.bandwidth)), shift=r if np.any(r) else None)


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

    def masses(self, n_features: int) -> Masses:
        """Return the masses of the parts of the measure."""
        return sinh_masses(self.strength(n_features))

    def at(self, difference: ArrayLike) -> Floats:
        """Return exp(-|difference|^2 / (2 sigma^2)) (1 + sinh(beta.difference)), differences along the last axis."""
        return _skewed(*self._differences(difference))

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        return _skewed(*self._pairs(X, Y, self._vector(np.shape(X)[1])))

    def phase_measure(self, n_features: int) -> MeasureBlock:
        """Return frequencies of the measure's modulus, each with its argument."""
        if self.strength(n_features) == 0.0:
            return MeasureBlock(1.0, Gaussian(float(self.bandwidth)))
        law = self._ridge(n_features, ridge.modulus_law)
        return MeasureBlock(law.line.mass, law, carried=ridge.CarriedPhase(law))

    def _positive_law(self, n_features: int) -> Frequencies:
        return Gaussian(float(self.bandwidth))


def _skewed(square: Floats, along: Floats) -> Floats:
    """Return g (1 + sinh a) from exponents, so that far points do not overflow."""
    half = -0.5 * square
    return np.asarray(np.exp(half) + 0.5 * (np.exp(half + along) - np.exp(half - along)))


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

    def masses(self, n_features: int) -> Masses:
        """Return the masses of the parts of the measure."""
        s = self.strength(n_features)
        scale, one = amplitude(s), shift_masses(s)
        # The difference of the real masses is k(0) = 1 to the last digit.
        return Masses(1.0 + scale * one.negative, scale * one.negative, scale * one.imaginary)

    def at(self, difference: ArrayLike) -> Floats:
        """Return exp(-|difference|^2 / (2 sigma^2) + beta.difference), differences along the last axis."""
        square, along = self._differences(difference)
        return np.asarray(np.exp(-0.5 * square + along))

    def gram(self, X: Any, Y: Any = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        square, along = self._pairs(X, Y, self._vector(np.shape(X)[1]))
        return np.exp(-0.5 * square + along)

    def phase_measure(self, n_features: int) -> MeasureBlock:
        """Return the Gaussian's frequencies with mass e^{s^2/2} and the phase -sigma^2 beta.w."""
        r = self.shift_vector(n_features)
        mass = amplitude(self.strength(n_features))
        return MeasureBlock(mass, Gaussian(float(self.bandwidth)), shift=r if np.any(r) else None)
