"""Symmetric alpha-stable frequencies: kernels of the l_alpha norm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gamma

from lowtide._checks import check_interval, check_positive
from lowtide.kernels.base import FrequencyLaw, Kernel

__all__ = ["Stable"]


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
        nodes, weights = np.polynomial.legendre.leggauss(400)
        normal = 5.0 * (nodes + 1.0)
        mass = 10.0 * weights * np.exp(-0.5 * normal**2) / math.sqrt(2.0 * math.pi)
        # Substituting t = e^v: the integrand falls as e^{-v/2} to the right and as e^{v(alpha-1)/2} to the left.
        left, right = -80.0 / (self.alpha - 1.0), 80.0
        v = np.linspace(left, right, 20001)
        scaled = np.exp(0.5 * v) * math.sqrt(2.0) / self.scale
        log_one = np.log1p(-_one_minus_kernel(scaled, normal, mass, self.alpha))
        tail = -np.expm1(n_features * log_one) * np.exp(-0.5 * v)
        return float(np.trapezoid(tail, v) / math.sqrt(4.0 * math.pi))

    def mean_projection(self, n_features: int) -> float:
        """Return d^(1/alpha - 1/2) (2/pi) Gamma(1 - 1/alpha) / scale, infinite at alpha = 1."""
        if self.alpha == 1.0:
            return math.inf
        spread = n_features ** (1.0 / self.alpha - 0.5)
        return float(spread * (2.0 / math.pi) * gamma(1.0 - 1.0 / self.alpha) / self.scale)


def _one_minus_kernel(
    scaled: NDArray[np.float64], normal: NDArray[np.float64], mass: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Return E[1 - exp(-(scaled |g|)^alpha)] over a standard normal g, stable for small arguments."""
    loss = np.concatenate([-np.expm1(-(np.outer(part, normal) ** alpha)) @ mass for part in np.array_split(scaled, 40)])
    return np.asarray(np.minimum(loss, 1.0 - 1e-16))
