"""What the shift-, sinh- and cosh-Gaussian kernels share: a normal law, modulated along one direction."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_positive, fail
from lowtide.kernels.complex.masses import Masses
from lowtide.kernels.complex.ridge import RidgeLaw, cos_minus_law, cos_plus_law, sin_plus_law
from lowtide.kernels.distance import distances
from lowtide.kernels.gaussian import Gaussian
from lowtide.kernels.measure import Frequencies, MeasureBlock, MeasureKernel

__all__ = ["GaussianRidge"]

Floats = NDArray[np.float64]
# A block below this share of the total mass is left out; the positive one then keeps kappa(0) exact.
_NEGLIGIBLE = 1e-6


class GaussianRidge(MeasureKernel):
    """A kernel whose measure is a function of r.w times the normal law of bandwidth sigma."""

    bandwidth: float

    @abstractmethod
    def shift_vector(self, n_features: int) -> Floats:
        """Return r, (n_features,)."""

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
        s = self.strength(n_features)
        if negative:
            blocks.append(MeasureBlock(negative, self._ridge(n_features, cos_minus_law(s)), turn=0.5))
        if 2 * masses.imaginary >= least:
            blocks.append(MeasureBlock(2 * masses.imaginary, self._ridge(n_features, sin_plus_law(s)), turn=0.25))
        return tuple(blocks)

    def _positive_law(self, n_features: int) -> Frequencies:
        s = self.strength(n_features)
        return self._ridge(n_features, cos_plus_law(s)) if s > 0 else Gaussian(float(self.bandwidth))

    def _ridge(self, n_features: int, line: Any) -> RidgeLaw:
        r = self.shift_vector(n_features)
        length = np.linalg.norm(r)
        direction = r / length if length > 0 else np.eye(n_features)[0]
        return RidgeLaw(direction, float(self.bandwidth), line)

    def _pairs(self, X: Any, Y: Any, v: Floats) -> tuple[Floats, Floats]:
        """Return |x - y|^2 / sigma^2 and v.(x - y) of all pairs of rows."""
        Y = X if Y is None else Y
        along = np.subtract.outer(np.asarray(X @ v, dtype=np.float64), np.asarray(Y @ v, dtype=np.float64))
        return (distances(X, Y, 2.0) / self.bandwidth) ** 2, along

    def _check_vector(self, name: str) -> None:
        """Refuse a bandwidth or a vector that is not finite numbers."""
        owner = type(self).__name__
        check_positive(owner, "bandwidth", self.bandwidth)
        value = getattr(self, name)
        try:
            vector = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.array(np.nan)
        if vector.ndim > 1 or vector.size == 0 or not np.isfinite(vector).all():
            raise fail(owner, f"{name} must be a finite number or a vector of them", value)

    def _vector(self, name: str, n_features: int) -> Floats:
        """Return a number as a vector of equal entries, a vector as it is."""
        vector = np.asarray(getattr(self, name), dtype=np.float64)
        if vector.ndim and vector.shape != (n_features,):
            raise fail(type(self).__name__, f"{name} must be a number or have {n_features} entries", vector.shape)
        return np.broadcast_to(vector, (n_features,))

    def to_config(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary; a vector as a list of floats."""
        config = super().to_config()
        return {name: value if name == "type" else np.asarray(value, float).tolist() for name, value in config.items()}


def rows_of(X: ArrayLike) -> Any:
    """Return lists as arrays, and arrays and sparse matrices as they are."""
    return X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)
