"""The Gaussian (RBF) kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv, gammaln

from lowtide._checks import check_positive
from lowtide.kernels.base import Kernel
from lowtide.kernels.measure import FrequencyLaw

__all__ = ["Gaussian"]


@dataclass(eq=False, repr=False)
class Gaussian(Kernel):
    """Gaussian kernel exp(-|x - y|_2^2 / (2 bandwidth^2)); frequencies N(0, bandwidth^-2 I).

    Parameters
    ----------
    bandwidth : float, default=1.0
        sigma > 0; scikit-learn's gamma is 1 / (2 sigma^2).

    Examples
    --------
    >>> Gaussian(bandwidth=2.0).radial(2.0, n_features=3).round(4)
    np.float64(0.6065)
    """

    bandwidth: float = 1.0
    law: ClassVar[FrequencyLaw] = "gaussian_mixture"

    def check(self) -> None:
        """Refuse a bandwidth that is not a positive number."""
        check_positive("Gaussian", "bandwidth", self.bandwidth)

    def radial(self, distance: ArrayLike, n_features: int) -> NDArray[np.float64]:
        """Return exp(-distance^2 / (2 bandwidth^2))."""
        z = np.asarray(distance, dtype=np.float64) / self.bandwidth
        return np.exp(-0.5 * z * z)

    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> NDArray[np.float64]:
        """Draw normal frequencies, shape (n_features, size)."""
        return rng.standard_normal((n_features, size)) / self.bandwidth

    def length_quantile(self, q: ArrayLike, dimension: int) -> NDArray[np.float64]:
        """Return quantiles of a chi variable with `dimension` degrees of freedom over the bandwidth."""
        return np.sqrt(2.0 * gammaincinv(dimension / 2, np.asarray(q, dtype=np.float64))) / self.bandwidth

    def mean_frequency_norm(self, n_features: int) -> float:
        """Return sqrt(2) Gamma((d+1)/2) / (sigma Gamma(d/2))."""
        return math.sqrt(2.0) * math.exp(gammaln((n_features + 1) / 2) - gammaln(n_features / 2)) / self.bandwidth

    def second_moment(self, n_features: int) -> float:
        """Return d / sigma^2."""
        return n_features / self.bandwidth**2

    def density(self, W: ArrayLike) -> NDArray[np.float64]:
        """Return the normal density at rows of W."""
        z = np.asarray(W, dtype=np.float64) * self.bandwidth
        scale = (self.bandwidth / math.sqrt(2 * math.pi)) ** z.shape[-1]
        return np.asarray(scale * np.exp(-0.5 * np.sum(z * z, axis=-1)))

    def mean_projection(self, n_features: int) -> float:
        """Return sqrt(2/pi) / sigma."""
        return math.sqrt(2.0 / math.pi) / self.bandwidth

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """Return the kernel exp(-gamma |x - y|^2)."""
        return cls(bandwidth=1.0 / math.sqrt(2.0 * gamma))
