"""Mean and variance of the sin/cos estimate over orthogonal frequencies, and where the inequalities of ORF hold.

One block of p <= d orthogonal frequencies in R^d has variance (v + (p-1) c)/p: v the variance of one frequency,
c the covariance of two. p > d takes independent blocks of d and one of the rest:

    Var = (1/p^2) sum_blocks size (v + (size-1) c).

All distances z are in units of the frequencies: |x-y| for unit rows, |x-y|/sigma for the Gaussian.

Proposition 3: exp(-z^2/2) <= j(z) <= exp(-z^2/(2d)) for z in [0, max(b_d, c_d)].
Proposition 6: Var ORF <= Var RFF for z in [0, max(alpha_d, beta_d)], the two kernels at different widths.
Both hold; both ranges are conservative, and the true ends are found numerically here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import jv

from lowtide._checks import check_integer
from lowtide.kernels import normalized_bessel
from lowtide.projections import Blocks, block_sizes
from lowtide.theory.layouts import chi_covariance, layout_variance

Floats = NDArray[np.float64]


def rff_variance(n_frequencies: int, z: ArrayLike) -> Floats:
    """Return the variance of the sin/cos estimate of exp(-z^2/2) over iid Gaussian frequencies: (1 - exp(-z^2))^2/(2p).

    Parameters
    ----------
    n_frequencies : int
        Number of frequencies p (two features each).
    z : array-like of float
        Distances divided by the bandwidth.

    Returns
    -------
    ndarray of float64
        Same shape as `z`; relative error a few roundings.

    References
    ----------
    ORF (Demni and Kadri), Theorem 1, with the exponent corrected to -z^2.

    Examples
    --------
    >>> from lowtide.theory import rff_variance
    >>> float(rff_variance(10, 0.5).round(8))
    0.00244645
    """
    p = check_integer("rff_variance", "n_frequencies", n_frequencies, low=1)
    return np.asarray(np.expm1(-np.square(np.asarray(z, dtype=np.float64))) ** 2 / (2 * p))


def orf_variance(dimension: int, n_frequencies: int, z: ArrayLike) -> Floats:
    """Return the variance of the sin/cos estimate over unit-norm orthogonal frequencies (mean: the Bessel kernel).

    For p <= d it is (1/p)[(1 + j(2z))/2 + (p-1) j(sqrt2 z) - p j(z)^2]; for p > d the blocks are independent.

    Parameters
    ----------
    dimension : int
        d, at least 2.
    n_frequencies : int
        Number of frequencies p, at least 1; may exceed d.
    z : array-like of float
        Distances |x - y|.

    Returns
    -------
    ndarray of float64
        Same shape as `z`; never negative; absolute error about 1e-15.

    References
    ----------
    ORF (Demni and Kadri), Theorem 4; the block form is derived.

    Examples
    --------
    >>> from lowtide.theory import orf_variance
    >>> float(orf_variance(5, 3, 2.0).round(6))
    0.019716
    """
    dim = check_integer("orf_variance", "dimension", dimension, low=2)
    z = np.asarray(z, dtype=np.float64)
    single = (1 + normalized_bessel(dim, 2 * z)) / 2 - normalized_bessel(dim, z) ** 2
    covariance = normalized_bessel(dim, np.sqrt(2.0) * z) - normalized_bessel(dim, z) ** 2
    return _over_blocks("orf_variance", single, covariance, dim, n_frequencies)


def orf_chi_variance(dimension: int, n_frequencies: int, z: ArrayLike) -> Floats:
    """Return the variance of the sin/cos estimate of exp(-z^2/2) over orthogonal frequencies with chi lengths.

    For p <= d it is (1 - exp(-z^2))^2/(2p) + ((p-1)/p) [1F1(d; d/2; -z^2/2) - exp(-z^2)]: unbiased, and below
    the iid variance except far out, where the two agree to a percent.

    Parameters
    ----------
    dimension : int
        Dimension d of a block, at least 2.
    n_frequencies : int
        Number of frequencies p, at least 1; may exceed d.
    z : array-like of float
        Distances divided by the bandwidth.

    Returns
    -------
    ndarray of float64
        Same shape as `z`; never negative.

    References
    ----------
    Derived; the SO variant of ORF (Demni and Kadri), Section 2.

    Examples
    --------
    >>> from lowtide.theory import orf_chi_variance
    >>> float(orf_chi_variance(4, 4, 1.0).round(6))
    0.020441
    """
    dim = check_integer("orf_chi_variance", "dimension", dimension, low=2)
    return _over_blocks("orf_chi_variance", rff_variance(1, z), chi_covariance(dim, z), dim, n_frequencies)


def _over_blocks(owner: str, single: Floats, covariance: Floats, dim: int, n_frequencies: int) -> Floats:
    """Return the variance over full blocks of d frequencies and one of the rest."""
    p = check_integer(owner, "n_frequencies", n_frequencies, low=1)
    return layout_variance(Blocks("fixed", dim, block_sizes(dim, p)), single, covariance)


class OrfRanges(NamedTuple):
    """What `orf_ranges` returns."""

    b: float
    c: float | None
    alpha: float
    beta: float
    first_zero: float
    second_zero: float
    kernel_bounds: float
    variance_bounds: float
    variance_order: float


def orf_ranges(dimension: int) -> OrfRanges:
    """Return the constants of Propositions 3 and 6 for one dimension.

    Parameters
    ----------
    dimension : int
        d, at least 2.

    Returns
    -------
    b : float
        2^(1/4) d^(3/4) sqrt(1 - 4/(2 sqrt2 d^(3/2) - d)).
    c : float or None
        sqrt(d^2/4 - 1) sqrt(1 - 8/(d^2 - 2d - 4)); None below d = 5, where it is not real. Above b from d = 33.
    alpha, beta : float
        (d/2)^(3/4) and sqrt(d^2/4 - 1)/2.
    first_zero, second_zero : float
        First zeros of the Bessel kernel: the lower bound of Proposition 3 holds to just below the first (d >= 5),
        the upper at least to the second.
    kernel_bounds, variance_bounds : float
        Ends of the range of Proposition 3, max(b, c), and of the variance bounds (12), which also use j at 2z: half.
    variance_order : float
        End of the range of Proposition 6, max(alpha, beta).

    References
    ----------
    ORF (Demni and Kadri), Propositions 3 and 6; c_d = f_d(sqrt(d^2/4 - 1)).

    Examples
    --------
    >>> from lowtide.theory import orf_ranges
    >>> ranges = orf_ranges(16)
    >>> round(ranges.kernel_bounds, 4), round(ranges.variance_order, 4), orf_ranges(4).c is None
    (9.3976, 4.7568, True)
    """
    d = check_integer("orf_ranges", "dimension", dimension, low=2)
    first, second = _bessel_zeros(d, 2)
    half = math.sqrt(d * d / 4 - 1)
    b = 2**0.25 * d**0.75 * math.sqrt(1 - 4 / (2 * math.sqrt(2) * d**1.5 - d))
    c = half * math.sqrt(1 - 8 / (d * d - 2 * d - 4)) if d >= 5 else None
    alpha, beta, end = (d / 2) ** 0.75, half / 2, b if c is None else max(b, c)
    return OrfRanges(b, c, alpha, beta, first, second, end, end / 2, max(alpha, beta))


def kernel_bounds(dimension: int, z: ArrayLike) -> tuple[Floats, Floats]:
    """Return Proposition 3's bounds of the Bessel kernel: (exp(-z^2/2), exp(-z^2/(2d))).

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
    y = np.square(np.asarray(z, dtype=np.float64))
    end = orf_ranges(dimension).kernel_bounds
    return _up_to(end, y, np.exp(-y / 2)), _up_to(end, y, np.exp(-y / (2 * dimension)))


def variance_bounds(dimension: int, n_frequencies: int, z: ArrayLike) -> tuple[Floats, Floats]:
    """Return the bounds (12) of the ORF variance that follow from Proposition 3, on the range where they hold.

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
    end = orf_ranges(dimension).variance_bounds
    narrow, wide = np.exp(-y), np.exp(-y / dimension)
    lower = ((1 + narrow**2) / 2 + (p - 1) * narrow) / p - wide
    upper = ((1 + wide**2) / 2 + (p - 1) * wide) / p - narrow
    return _up_to(end, y, lower), _up_to(end, y, upper)


def _up_to(end: float, square: Floats, bound: Floats) -> Floats:
    """Return a bound where the distance, given squared, is within the range, NaN elsewhere."""
    return np.where(np.sqrt(square) <= end, bound, np.nan)


def true_ranges(dimension: int, n_frequencies: int | None = None) -> tuple[float, float, float]:
    """Return where the lower and the upper bound of Proposition 3 and the order of Proposition 6 really end.

    They are the first z at which j(z) < exp(-z^2/2), at which j(z) > exp(-z^2/(2d)), and at which Var ORF > Var RFF.

    Parameters
    ----------
    dimension : int
        d, at least 2.
    n_frequencies : int, optional
        Number of frequencies p of both variances; d when omitted.

    Returns
    -------
    lower, upper, variance : float
        To 1e-10. Lower: 2.259, 3.117, 3.829, 4.493 for d = 2..5, then the first zero of j to four digits. Upper: beyond
        the second zero of j, by 0.001 at d = 2 and by 40 at d = 100; infinity when the bound is below 1e-280 there,
        which happens from about d = 5000 on. Variance: 4.54, 5.61, 6.95, 10.5 for d = p = 2, 5, 8, 16, against the
        stated 1, 1.99, 2.83, 4.76; infinity when up to 40 and the third zero of j no excess can be told from rounding
        (d = 300).

    Examples
    --------
    >>> from lowtide.theory import true_ranges
    >>> [round(end, 3) for end in true_ranges(2)]
    [2.259, 5.522, 4.544]
    """
    ranges = orf_ranges(dimension)
    p = check_integer("true_ranges", "n_frequencies", dimension if n_frequencies is None else n_frequencies, low=1)
    first, second = ranges.first_zero, ranges.second_zero
    # The first gap is positive up to the crossing, and negative at the zero (j = 0 there).
    lower = _first_sign_change(
        lambda z: normalized_bessel(dimension, z) - np.exp(-(z**2) / 2), 0.5 * first, 1.0000001 * first
    )
    upper = math.inf
    if second**2 / (2 * dimension) <= 640:
        upper = _first_sign_change(
            lambda z: np.exp(-(z**2) / (2 * dimension)) - normalized_bessel(dimension, z), second, 3 * second + 10
        )
    stop = max(40.0, _bessel_zeros(dimension, 3)[-1])
    variance = _first_sign_change(
        lambda z: rff_variance(p, z) - orf_variance(dimension, p, z), ranges.variance_order, stop
    )
    return lower, upper, variance


def _first_sign_change(gap: Callable[[Floats], Floats], start: float, stop: float) -> float:
    """First root of `gap` in (start, stop), which is positive at `start`; infinity when there is none."""
    grid = np.linspace(start, stop, 4001)
    below = np.flatnonzero(gap(grid) < 0)
    if below.size == 0:
        return math.inf
    i = int(below[0])
    return float(brentq(lambda z: float(gap(np.asarray(z))), grid[i - 1], grid[i], xtol=1e-12))


def _bessel_zeros(dimension: int, count: int) -> list[float]:
    """Return the first positive zeros of j in dimension d, those of J_{d/2-1}, to about 1e-14 relative.

    Consecutive zeros of J_nu, nu >= 0, are more than 3.1 apart and the first lies above nu, so a scan from nu with step
    1/2 cannot step over a pair.
    """
    nu = dimension / 2 - 1
    zeros: list[float] = []
    low = max(nu, 0.5)
    while len(zeros) < count:
        if jv(nu, low) * jv(nu, low + 0.5) < 0:
            zeros.append(float(brentq(lambda t: jv(nu, t), low, low + 0.5, xtol=1e-13, rtol=1e-15)))
        low += 0.5
    return zeros
