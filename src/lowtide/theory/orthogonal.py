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
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer
from lowtide.kernels import log_normalized_bessel
from lowtide.projections import Blocks, block_sizes
from lowtide.theory.layouts import chi_covariance, layout_variance, sphere_variance

Floats = NDArray[np.float64]
# Zeros of the Bessel kernel up to which the order of the variances is followed; the first few decide.
_MOST_ZEROS = 100


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
        Same shape as `z`; relative error below 1e-11 at all distances for d up to thousands.

    References
    ----------
    ORF (Demni and Kadri), Theorem 4; the block form is derived.

    Examples
    --------
    >>> from lowtide.theory import orf_variance
    >>> float(orf_variance(5, 3, 2.0).round(6))
    0.019716
    """
    return sphere_variance(_blocks("orf_variance", dimension, n_frequencies), z)


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
    blocks = _blocks("orf_chi_variance", dimension, n_frequencies)
    return layout_variance(blocks, rff_variance(1, z), chi_covariance(blocks.dimension, z))


def _blocks(owner: str, dimension: int, n_frequencies: int) -> Blocks:
    """Return full blocks of d frequencies and one of the rest."""
    dim = check_integer(owner, "dimension", dimension, low=2)
    p = check_integer(owner, "n_frequencies", n_frequencies, low=1)
    return Blocks("fixed", dim, block_sizes(dim, p))


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
    first, second = islice(_bessel_zeros(d), 2)
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
    # In N = exp(-z^2) - 1 and W = exp(-z^2/d) - 1 the constants of (12) cancel by hand.
    narrow, wide = np.expm1(-y), np.expm1(-y / dimension)
    lower, upper = narrow - wide + narrow**2 / (2 * p), wide - narrow + wide**2 / (2 * p)
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
        the second zero of j, by 0.001 at d = 2, and close to d in many dimensions. Variance: 4.54, 5.61, 6.95, 10.5 for
        d = p = 2, 5, 8, 16, against the stated 1, 1.99, 2.83, 4.76; in many dimensions past the first zero of j, 159.87
        at d = p = 300.

    Examples
    --------
    >>> from lowtide.theory import true_ranges
    >>> [round(end, 3) for end in true_ranges(2)]
    [2.259, 5.522, 4.544]
    """
    ranges = orf_ranges(dimension)
    p = dimension if n_frequencies is None else n_frequencies
    first, second = ranges.first_zero, ranges.second_zero

    def below_the_lower(z: Floats) -> Floats:
        return _sign_of_sum([log_normalized_bessel(dimension, z), (-1.0, -(z**2) / 2)])

    def above_the_upper(z: Floats) -> Floats:
        sign, log = log_normalized_bessel(dimension, z)
        return _sign_of_sum([(1.0, -(z**2) / (2 * dimension)), (-sign, log)])

    # The first gap is positive up to the crossing, and negative at the zero (j = 0 there).
    lower = _first_sign_change(below_the_lower, 0.5 * first, 1.0000001 * first)
    upper = _first_sign_change(above_the_upper, second, 3 * second + 10)
    return lower, upper, _variance_end(_blocks("true_ranges", dimension, p), ranges.variance_order)


def _variance_end(blocks: Blocks, start: float) -> float:
    """Return the first z past `start` at which Var ORF > Var RFF.

    With P = sum_blocks size^2/p,

        p (Var RFF - Var ORF) = P j(z)^2 - (P-1) j(sqrt2 z) - j(2z)/2 - exp(-z^2) (1 - exp(-z^2)/2):

    the 1/2 of both variances is left out, so that the rest is compared to the last digit however small it is. In many
    dimensions j(z)^2 is the largest term up to next to a zero of j, in a gap that may be too narrow for a double: the
    sign at a zero is therefore taken with j(z) = 0.
    """
    P = sum(size**2 for size in blocks.sizes) / sum(blocks.sizes)

    def gap(z: Floats, zero: bool = False) -> Floats:
        signs, logs = zip(*(log_normalized_bessel(blocks.dimension, factor * z) for factor in (1, math.sqrt(2), 2)))
        square = -math.inf if zero else math.log(P) + 2 * logs[0]
        iid = -(z**2) + np.log1p(-np.exp(-(z**2)) / 2)
        pairs = math.log(P - 1) + logs[1] if P > 1 else -math.inf
        return _sign_of_sum([(1.0, square), (-signs[1], pairs), (-signs[2], logs[2] - math.log(2)), (-1.0, iid)])

    low = start
    for zero in islice(_bessel_zeros(blocks.dimension), _MOST_ZEROS):
        if zero <= low:
            continue
        if (end := _first_sign_change(gap, low, zero)) < math.inf:
            return end
        if float(gap(np.asarray(zero), zero=True)) < 0:
            return zero
        low = zero
    return math.inf


def _sign_of_sum(terms: list[tuple[ArrayLike, ArrayLike]]) -> Floats:
    """Return sum sign exp(log) over terms (sign, log), divided by the largest of its terms."""
    logs = np.stack(np.broadcast_arrays(*(log for _, log in terms)))
    top = np.max(logs, axis=0)
    return np.asarray(sum(sign * np.exp(log - top) for (sign, _), log in zip(terms, logs)))


def _first_sign_change(gap: Callable[[Floats], Floats], start: float, stop: float) -> float:
    """First root of `gap` in (start, stop), which is positive at `start`; infinity when there is none."""
    # Kernel values oscillate with periods of 2 and more.
    grid = np.linspace(start, stop, 401 + int(20 * (stop - start)))
    below = np.flatnonzero(gap(grid) < 0)
    if below.size == 0:
        return math.inf
    i = int(below[0])
    return (
        float(scipy.optimize.brentq(lambda z: float(gap(np.asarray(z))), grid[i - 1], grid[i], xtol=1e-12))
        if i > 0
        else start
    )


def _bessel_zeros(dimension: int) -> Iterator[float]:
    """Yield the positive zeros of j in dimension d, those of J_{d/2-1}, to about 1e-14 relative.

    Consecutive zeros of J_nu, nu >= 0, are more than 3.1 apart and the first lies above nu, so a scan from nu with step
    1/2 cannot step over a pair.
    """
    nu = dimension / 2 - 1
    low = max(nu, 0.5)
    while True:
        if scipy.special.jv(nu, low) * scipy.special.jv(nu, low + 0.5) < 0:
            yield float(
                scipy.optimize.brentq(lambda t: scipy.special.jv(nu, t), low, low + 0.5, xtol=1e-13, rtol=1e-15)
            )
        low += 0.5
