"""Symmetric alpha-stable frequencies: kernels of the l_alpha norm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gamma

from lowtide._checks import check_interval, check_positive
from lowtide.kernels.base import Kernel
from lowtide.kernels.measure import FrequencyLaw

__all__ = ["Stable"]

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class Stable(Kernel):
    """Kernel exp(-(|x - y|_alpha / scale)^alpha): Laplace at alpha = 1, Gaussian of bandwidth scale/sqrt 2 at 2.

    Each frequency coordinate is symmetric alpha-stable.

    Parameters
    ----------
    scale : float, default=1.0
        Length at which the kernel has fallen to 1/e.
    alpha : float, default=1.5
        Stability index, 1 <= alpha <= 2.

    Examples
    --------
    >>> Stable(alpha=2.0).radial(1.0, n_features=4).round(4)
    np.float64(0.3679)
    """

    scale: float = 1.0
    alpha: float = 1.5
    law: ClassVar[FrequencyLaw] = "independent"

    @property
    def norm(self) -> float:
        """The l_alpha norm."""
        return float(self.alpha)

    def check(self) -> None:
        """Refuse a scale or an index outside its limits."""
        check_positive("Stable", "scale", self.scale)
        check_interval("Stable", "alpha", self.alpha, 1.0, 2.0, "Below 1 the kernel has no norm to be a function of.")

    def radial(self, distance: ArrayLike, n_features: int) -> NDArray[np.float64]:
        """Return exp(-(distance / scale)^alpha)."""
        return np.exp(-((np.asarray(distance, dtype=np.float64) / self.scale) ** self.alpha))

    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> NDArray[np.float64]:
        """Draw stable coordinates by the method of Chambers, Mallows and Stuck, shape (n_features, size)."""
        angle = rng.uniform(-math.pi / 2, math.pi / 2, (n_features, size))
        exponential = rng.standard_exponential((n_features, size))
        index = self.alpha
        value = np.sin(index * angle) / np.cos(angle) ** (1.0 / index)
        value *= (np.cos((1.0 - index) * angle) / exponential) ** ((1.0 - index) / index)
        return value / self.scale

    def mean_frequency_norm(self, n_features: int) -> float:
        """Return E|omega|_2 by quadrature, infinite at alpha = 1.

        E sqrt(S) = (4 pi)^-1/2 int_0^inf (1 - E e^{-tS}) t^-3/2 dt with S = |omega|^2, and E e^{-t omega_i^2} is the
        kernel of one coordinate averaged over a normal difference of variance 2t.
        """
        if self.alpha == 1.0:
            return math.inf
        # With t = e^v the integrand falls as e^{-v/2} to the right; to the left of -70 it is a power to 1e-15.
        start = -70.0
        v, weight = _panels(np.linspace(start, 80.0, 76))
        log_one = np.log1p(-_one_minus_kernel(np.exp(0.5 * v) * math.sqrt(2.0), self.alpha))
        middle = float(-np.expm1(n_features * log_one) * np.exp(-0.5 * v) @ weight)
        moment = 2.0**self.alpha * gamma((self.alpha + 1.0) / 2.0) / math.sqrt(math.pi)
        rate = (self.alpha - 1.0) / 2.0
        left = n_features * moment * math.exp(rate * start) / rate
        return (left + middle) / (math.sqrt(4.0 * math.pi) * self.scale)

    def second_moment(self, n_features: int) -> float:
        """Return 2 d / scale^2 at alpha = 2, infinity below."""
        return 2.0 * n_features / self.scale**2 if self.alpha == 2.0 else math.inf

    def mean_projection(self, n_features: int) -> float:
        """Return d^(1/alpha - 1/2) (2/pi) Gamma(1 - 1/alpha) / scale, infinite at alpha = 1."""
        if self.alpha == 1.0:
            return math.inf
        spread = n_features ** (1.0 / self.alpha - 0.5)
        return float(spread * (2.0 / math.pi) * gamma(1.0 - 1.0 / self.alpha) / self.scale)


def _one_minus_kernel(scaled: Floats, alpha: float) -> Floats:
    """Return E[1 - exp(-(scaled |g|)^alpha)] over a standard normal g, stable for small arguments."""
    normal, weight = _panels(np.concatenate([[0.0], 10.0 * np.exp2(np.arange(-40.0, 1.0))]))
    mass = weight * np.exp(-0.5 * normal**2) * math.sqrt(2.0 / math.pi)
    loss = -np.expm1(-(np.outer(scaled, normal) ** alpha)) @ mass
    return np.asarray(np.minimum(loss, 1.0 - 1e-16))


def _panels(edges: Floats) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights, 16 between each two edges."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1.0 + nodes)).ravel(), (half * weights).ravel()
