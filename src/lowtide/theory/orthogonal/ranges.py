"""Where the inequalities of ORF hold: the ranges that Propositions 3 and 6 state, and the ones that are true.

Proposition 3: exp(-z^2/2) <= j(z) <= exp(-z^2/(2d)) for z in [0, max(b_d, c_d)].
Proposition 6: Var ORF <= Var RFF for z in [0, max(alpha_d, beta_d)], the two kernels at different widths.
Both hold; both ranges are conservative, and the true ends are found numerically here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from lowtide._checks import check_integer
from lowtide.kernels import normalized_bessel
from lowtide.theory.orthogonal.bessel import bessel_zeros
from lowtide.theory.orthogonal.variance import orf_variance, rff_variance

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OrfRanges:
    """Constants of Propositions 3 and 6 in one dimension.

    Parameters
    ----------
    b : float
        2^(1/4) d^(3/4) sqrt(1 - 4/(2 sqrt2 d^(3/2) - d)).
    c : float or None
        sqrt(d^2/4 - 1) sqrt(1 - 8/(d^2 - 2d - 4)); None below d = 5, where it is not real. Above b from d = 33.
    alpha : float
        (d/2)^(3/4).
    beta : float
        sqrt(d^2/4 - 1)/2.
    first_zero, second_zero : float
        First zeros of the Bessel kernel: the lower bound of Proposition 3 holds to just below the first (d >= 5),
        the upper at least to the second.

    Examples
    --------
    >>> from lowtide.theory import orf_ranges
    >>> orf_ranges(4).c is None
    True
    """

    b: float
    c: float | None
    alpha: float
    beta: float
    first_zero: float
    second_zero: float

    @property
    def kernel_bounds(self) -> float:
        """End of the range of Proposition 3: max(b, c)."""
        return self.b if self.c is None else max(self.b, self.c)

    @property
    def variance_bounds(self) -> float:
        """Safe end for the variance bounds (12), which also use j at 2z: half of Proposition 3's."""
        return self.kernel_bounds / 2

    @property
    def variance_order(self) -> float:
        """End of the range of Proposition 6: max(alpha, beta)."""
        return max(self.alpha, self.beta)


def orf_ranges(dimension: int) -> OrfRanges:
    """Constants of Propositions 3 and 6 for one dimension.

    Parameters
    ----------
    dimension : int
        d, at least 2.

    Returns
    -------
    OrfRanges
        b, c, alpha, beta and the first two zeros of the Bessel kernel.

    References
    ----------
    ORF (Demni and Kadri), Propositions 3 and 6; c_d = f_d(sqrt(d^2/4 - 1)).

    Examples
    --------
    >>> from lowtide.theory import orf_ranges
    >>> ranges = orf_ranges(16)
    >>> round(ranges.kernel_bounds, 4), round(ranges.variance_order, 4)
    (9.3976, 4.7568)
    """
    d = check_integer("orf_ranges", "dimension", dimension, low=2)
    first, second = bessel_zeros(d, 2)
    half = math.sqrt(d * d / 4 - 1)
    return OrfRanges(
        b=2**0.25 * d**0.75 * math.sqrt(1 - 4 / (2 * math.sqrt(2) * d**1.5 - d)),
        c=half * math.sqrt(1 - 8 / (d * d - 2 * d - 4)) if d >= 5 else None,
        alpha=(d / 2) ** 0.75,
        beta=half / 2,
        first_zero=float(first),
        second_zero=float(second),
    )


def kernel_bounds(dimension: int, z: ArrayLike) -> tuple[Floats, Floats]:
    """Proposition 3's bounds of the Bessel kernel: (exp(-z^2/2), exp(-z^2/(2d))).

    Parameters
    ----------
    dimension : int
        d, at least 2.
    z : array-like of float
        Distances; the bounds hold up to ``orf_ranges(dimension).kernel_bounds``.

    Returns
    -------
    lower, upper : ndarray of float64
        NaN where z is past the range in which the proposition holds.

    Examples
    --------
    >>> from lowtide.theory import kernel_bounds
    >>> lower, upper = kernel_bounds(16, [1.0, 50.0])
    >>> lower.round(3).tolist(), upper.round(3).tolist()
    ([0.607, nan], [0.969, nan])
    """
    z = np.abs(np.asarray(z, dtype=np.float64))
    valid = z <= orf_ranges(dimension).kernel_bounds
    lower = np.where(valid, np.exp(-(z**2) / 2), np.nan)
    upper = np.where(valid, np.exp(-(z**2) / (2 * dimension)), np.nan)
    return lower, upper


def variance_bounds(dimension: int, n_frequencies: int, z: ArrayLike) -> tuple[Floats, Floats]:
    """Bounds (12) of the ORF variance that follow from Proposition 3, on the range where they hold.

    With p frequencies: [(1 + e^(-2z^2))/2 + (p-1) e^(-z^2)]/p - e^(-z^2/d) from below and
    [(1 + e^(-2z^2/d))/2 + (p-1) e^(-z^2/d)]/p - e^(-z^2) from above.

    Parameters
    ----------
    dimension : int
        d, at least 2.
    n_frequencies : int
        Number of frequencies p, from 1 to d.
    z : array-like of float
        Distances. The paper states max(b_d, c_d) as range; (12) uses j(2z), so half of that is what holds.

    Returns
    -------
    lower, upper : ndarray of float64
        NaN past the range.

    Examples
    --------
    >>> from lowtide.theory import orf_variance, variance_bounds
    >>> lower, upper = variance_bounds(5, 5, 0.5)
    >>> bool(lower <= orf_variance(5, 5, 0.5) <= upper)
    True
    """
    p = check_integer("variance_bounds", "n_frequencies", n_frequencies, low=1, high=dimension)
    y = np.square(np.asarray(z, dtype=np.float64))
    valid = np.sqrt(y) <= orf_ranges(dimension).variance_bounds
    narrow, wide = np.exp(-y), np.exp(-y / dimension)
    lower = ((1 + narrow**2) / 2 + (p - 1) * narrow) / p - wide
    upper = ((1 + wide**2) / 2 + (p - 1) * wide) / p - narrow
    return np.where(valid, lower, np.nan), np.where(valid, upper, np.nan)


def true_lower_range(dimension: int) -> float:
    """First z at which j(z) falls below exp(-z^2/2): where Proposition 3's lower bound really ends.

    2.259, 3.117, 3.829, 4.493 for d = 2..5, then the first zero of j to four digits.

    Parameters
    ----------
    dimension : int
        d, at least 2.

    Returns
    -------
    float
        To 1e-10.

    Examples
    --------
    >>> from lowtide.theory import true_lower_range
    >>> round(true_lower_range(2), 3)
    2.259
    """
    zero = orf_ranges(dimension).first_zero
    # The gap is positive up to the crossing, and negative at the zero (j = 0 there).
    return _first_sign_change(
        lambda z: normalized_bessel(dimension, z) - np.exp(-(z**2) / 2), 0.5 * zero, 1.0000001 * zero
    )


def true_upper_range(dimension: int) -> float:
    """First z at which j(z) rises above exp(-z^2/(2d)): where Proposition 3's upper bound really ends.

    Parameters
    ----------
    dimension : int
        d, at least 2.

    Returns
    -------
    float
        To 1e-10; beyond the second zero of j, by 0.001 at d = 2 and by 40 at d = 100. Infinity when the bound is
        below 1e-280 there, which happens from about d = 5000 on.

    Examples
    --------
    >>> from lowtide.theory import orf_ranges, true_upper_range
    >>> true_upper_range(8) > orf_ranges(8).second_zero
    True
    """
    second = orf_ranges(dimension).second_zero
    if second**2 / (2 * dimension) > 640:
        return math.inf
    return _first_sign_change(
        lambda z: np.exp(-(z**2) / (2 * dimension)) - normalized_bessel(dimension, z), second, 3 * second + 10
    )


def true_variance_range(dimension: int, n_frequencies: int) -> float:
    """First z at which Var ORF exceeds Var RFF with the same p: where Proposition 6 really ends.

    4.54, 5.61, 6.95, 10.5 for d = p = 2, 5, 8, 16, against the stated 1, 1.99, 2.83, 4.76.

    Parameters
    ----------
    dimension : int
        d, at least 2.
    n_frequencies : int
        Number of frequencies p.

    Returns
    -------
    float
        To 1e-10; infinity when up to 40 and the third zero of j no excess can be told from rounding (d = 300).

    Examples
    --------
    >>> from lowtide.theory import true_variance_range
    >>> round(true_variance_range(16, 16), 1)
    10.5
    """
    p = check_integer("true_variance_range", "n_frequencies", n_frequencies, low=1)
    start = orf_ranges(dimension).variance_order
    stop = max(40.0, float(bessel_zeros(dimension, 3)[-1]))
    return _first_sign_change(lambda z: rff_variance(p, z) - orf_variance(dimension, p, z), start, stop)


def _first_sign_change(gap: Callable[[Floats], Floats], start: float, stop: float) -> float:
    """First root of `gap` in (start, stop), which is positive at `start`; infinity when there is none."""
    grid = np.linspace(start, stop, 4001)
    below = np.flatnonzero(gap(grid) < 0)
    if below.size == 0:
        return math.inf
    i = int(below[0])
    return float(brentq(lambda z: float(gap(np.asarray(z))), grid[i - 1], grid[i], xtol=1e-12))
