"""The Matern kernels of any order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, gammaln, kve

from lowtide._checks import check_positive, fail
from lowtide.kernels.base import Kernel
from lowtide.kernels.gaussian import Gaussian
from lowtide.kernels.measure import FrequencyLaw

__all__ = ["Matern"]

# Beyond this order K_nu overflows at distances where the kernel still differs from 1.
_LARGEST_ORDER = 80.0
# Phases of longer frequencies, in units of 1/length_scale, are beyond float32, where they would all be 0 and bias the
# kernel (by 3% at nu = 0.1). Cutting them there moves it only at distances below 1e-5 length_scale.
_LONGEST = 1e5
_SMALLEST = 1e-300
# Every Matern kernel is 0 in double precision at this argument.
_FAR = 1e4


@dataclass(eq=False, repr=False)
class Matern(Kernel):
    """Matern kernel 2^(1-nu)/Gamma(nu) a^nu K_nu(a), a = sqrt(2 nu) |x - y|_2 / length_scale.

    Its frequencies are multivariate t with 2 nu degrees of freedom: a normal vector over length_scale, times
    sqrt(2 nu / chi^2_{2 nu}), one scalar a frequency.

    Parameters
    ----------
    length_scale : float, default=1.0
        ell > 0; by name and gamma, ell = 1 / sqrt(2 gamma).
    nu : float, default=1.5
        Smoothness, 0 < nu <= 80; beyond that use `Gaussian`, the limit.

    Examples
    --------
    >>> Matern(nu=0.5).radial([0.0, 1.0], n_features=2).round(4)
    array([1.    , 0.3679])
    """

    length_scale: float = 1.0
    nu: float = 1.5
    law: ClassVar[FrequencyLaw] = "gaussian_mixture"

    def check(self) -> None:
        """Refuse a length scale or an order outside its limits."""
        check_positive("Matern", "length_scale", self.length_scale)
        check_positive("Matern", "nu", self.nu)
        if self.nu > _LARGEST_ORDER:
            raise fail("Matern", f"nu must be at most {_LARGEST_ORDER:g}", self.nu, "Use Gaussian, its limit.")

    def radial(self, distance: ArrayLike, n_features: int) -> NDArray[np.float64]:
        """Return the Matern function of distance / length_scale."""
        r = np.asarray(distance, dtype=np.float64) / self.length_scale
        a = np.minimum(math.sqrt(2.0 * self.nu) * r, _FAR)
        if self.nu == 0.5:
            return np.exp(-a)
        if self.nu == 1.5:
            return (1.0 + a) * np.exp(-a)
        if self.nu == 2.5:
            return (1.0 + a + a * a / 3.0) * np.exp(-a)
        return self._general(a)

    def _general(self, a: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate any order in logarithms; where K_nu overflows, its expansion at 0 has 1e-16 of error."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            scaled = kve(self.nu, a)
            log_k = np.log(scaled) - a
            value = np.exp((1.0 - self.nu) * math.log(2.0) - gammaln(self.nu) + self.nu * np.log(a) + log_k)
        near = 1.0 - a * a / (4.0 * (self.nu - 1.0)) if self.nu > 1.0 else np.ones_like(a)
        return np.where(np.isinf(scaled), near, np.minimum(value, 1.0))

    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> NDArray[np.float64]:
        """Draw multivariate t frequencies, shape (n_features, size)."""
        squared = 2.0 * self.nu / np.maximum(rng.chisquare(2.0 * self.nu, size), _SMALLEST)
        normal = rng.standard_normal((n_features, size))
        mixing = np.minimum(np.sqrt(squared), _LONGEST / np.linalg.norm(normal, axis=0))
        return normal * mixing / self.length_scale

    def length_quantile(self, q: ArrayLike, dimension: int) -> NDArray[np.float64]:
        """Return quantiles of sqrt(2 nu chi^2_D / chi^2_{2 nu}) / length_scale, through the beta law of the ratio."""
        # The complement of the ratio: of heavy tails, the ratio itself is 1 to double precision.
        y = betaincinv(self.nu, dimension / 2, 1.0 - np.asarray(q, dtype=np.float64))
        squared = 2.0 * self.nu * (1.0 - y) / np.maximum(y, _SMALLEST)
        return np.minimum(np.sqrt(squared), _LONGEST) / self.length_scale

    def _mean_mixing(self) -> float:
        """Return E sqrt(2 nu / chi^2_{2 nu}), infinite up to nu = 1/2."""
        if self.nu <= 0.5:
            return math.inf
        return math.sqrt(self.nu) * math.exp(gammaln(self.nu - 0.5) - gammaln(self.nu))

    def mean_frequency_norm(self, n_features: int) -> float:
        """Return E|omega|, infinite for nu <= 1/2."""
        return self._mean_mixing() * Gaussian(self.length_scale).mean_frequency_norm(n_features)

    def second_moment(self, n_features: int) -> float:
        """Return d nu / ((nu - 1) length_scale^2), infinite for nu <= 1."""
        return n_features * self.nu / ((self.nu - 1.0) * self.length_scale**2) if self.nu > 1.0 else math.inf

    def density(self, W: ArrayLike) -> NDArray[np.float64]:
        """Return the multivariate t density at rows of W."""
        z = np.asarray(W, dtype=np.float64) * self.length_scale
        d, freedom = z.shape[-1], 2.0 * self.nu
        log_scale = gammaln((freedom + d) / 2) - gammaln(self.nu) - d / 2 * math.log(freedom * math.pi)
        tail = np.log1p(np.sum(z * z, axis=-1) / freedom) * (freedom + d) / 2
        return np.asarray(self.length_scale**d * np.exp(log_scale - tail))

    def mean_projection(self, n_features: int) -> float:
        """Return E|omega . u|, infinite for nu <= 1/2."""
        return self._mean_mixing() * Gaussian(self.length_scale).mean_projection(n_features)

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """Return the kernel of order 1.5 with length_scale = 1 / sqrt(2 gamma)."""
        return cls(length_scale=1.0 / math.sqrt(2.0 * gamma))
