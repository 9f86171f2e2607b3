"""The Bessel kernel: what unit-length orthogonal random features converge to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from lowtide._checks import check_positive
from lowtide.kernels.base import Kernel
from lowtide.kernels.measure import FrequencyLaw
from lowtide.kernels.sphere import normalized_bessel

__all__ = ["Bessel"]


@dataclass(eq=False, repr=False)
class Bessel(Kernel):
    """Kernel j_d(|x - y|_2 / scale); frequencies uniform on the sphere of radius 1/scale in the input's dimension.

    Parameters
    ----------
    scale : float, default=1.0
        With scale = sigma / sqrt(d) the kernel approaches the Gaussian of bandwidth sigma as d grows.

    Examples
    --------
    >>> Bessel().radial(1.0, n_features=3).round(6), round(math.sin(1.0), 6)
    (np.float64(0.841471), 0.841471)
    """

    scale: float = 1.0
    law: ClassVar[FrequencyLaw] = "sphere"

    def check(self) -> None:
        """Refuse a scale that is not a positive number."""
        check_positive("Bessel", "scale", self.scale)

    def radial(self, distance: ArrayLike, n_features: int) -> NDArray[np.float64]:
        """Return the normalized Bessel function of distance / scale in n_features dimensions."""
        return normalized_bessel(n_features, np.asarray(distance, dtype=np.float64) / self.scale)

    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> NDArray[np.float64]:
        """Draw independent points of the sphere, shape (n_features, size)."""
        directions = rng.standard_normal((n_features, size))
        return directions / (np.linalg.norm(directions, axis=0) * self.scale)

    def length_quantile(self, q: ArrayLike, dimension: int) -> NDArray[np.float64]:
        """Return 1/scale: every frequency has this length."""
        return np.full(np.shape(q), 1.0 / self.scale)

    def mean_frequency_norm(self, n_features: int) -> float:
        """Return 1/scale."""
        return 1.0 / self.scale

    def second_moment(self, n_features: int) -> float:
        """Return 1/scale^2."""
        return 1.0 / self.scale**2

    def mean_projection(self, n_features: int) -> float:
        """Return E|u_1| / scale for u uniform on the unit sphere: Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2))."""
        ratio = math.exp(gammaln(n_features / 2) - gammaln((n_features + 1) / 2))
        return ratio / (math.sqrt(math.pi) * self.scale)
