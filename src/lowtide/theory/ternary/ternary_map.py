"""Maps of three levels, and their Gaussian moments."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from lowtide._checks import check_positive, fail
from lowtide.theory.ternary.moments import GaussianMoments


def density(x: float) -> float:
    """Return the standard normal density."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class TernaryMap:
    """sigma(t) = high for t > s_plus, low for t < s_minus, 0 between.

    Parameters
    ----------
    s_minus, s_plus : float
        Thresholds, s_minus <= s_plus; either may be infinite, and then its level never occurs.
    low, high : float, default -1 and 1
        The two values: -alpha and alpha, or alpha twice for the even map alpha 1[|t| > s].

    References
    ----------
    TRF (Tiomoko Ali, Liao and Couillet), (5).

    Examples
    --------
    >>> from lowtide.theory import TernaryMap
    >>> sigma = TernaryMap(-0.3, 0.8)
    >>> sigma([-1.0, 0.0, 0.8, 1.0]).tolist()
    [-1.0, 0.0, 0.0, 1.0]
    >>> round(sigma.moments(tau=1.3).d1, 6)
    0.373981
    """

    s_minus: float
    s_plus: float
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Refuse thresholds in the wrong order and values that are not numbers."""
        if not self.s_minus <= self.s_plus:
            raise fail("TernaryMap", "s_minus must be at most s_plus", (self.s_minus, self.s_plus))
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise fail("TernaryMap", "low and high must be finite", (self.low, self.high))

    @property
    def alpha(self) -> float:
        """The scale: the value of the upper level."""
        return self.high

    def __call__(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return the level's value for each entry."""
        values = np.asarray(t, dtype=np.float64)
        return np.where(values > self.s_plus, self.high, np.where(values < self.s_minus, self.low, 0.0))

    def probabilities(self, tau: float) -> tuple[float, float, float]:
        """Return how often low, 0 and high occur at t ~ N(0, tau); they tell whether the features still vary."""
        root = math.sqrt(check_positive("TernaryMap", "tau", tau))
        below, above = float(ndtr(self.s_minus / root)), float(ndtr(-self.s_plus / root))
        return below, max(0.0, 1.0 - below - above), above

    def moments(self, tau: float) -> GaussianMoments:
        """Return d0, d1, d2, with a = s_plus/sqrt(tau), b = s_minus/sqrt(tau).

        E sigma' sqrt(tau) = high phi(a) - low phi(b) and E sigma'' tau = high a phi(a) - low b phi(b).
        """
        below, _, above = self.probabilities(tau)
        a, b = self.s_plus / math.sqrt(tau), self.s_minus / math.sqrt(tau)
        first = self.high * density(a) - self.low * density(b)
        second = self.high * _first_moment(a) - self.low * _first_moment(b)
        # Complements by ndtr, not 1 - p: a level that nearly always occurs keeps its variance.
        variance = self.high**2 * above * float(ndtr(a)) + self.low**2 * below * float(ndtr(-b))
        variance -= 2 * self.high * self.low * above * below
        return GaussianMoments(variance - first**2, first**2 / tau, second**2 / (4 * tau**2))


def _first_moment(x: float) -> float:
    """Return x phi(x), 0 at infinity."""
    return x * density(x) if math.isfinite(x) else 0.0
