"""Every pair of thresholds whose ternary map has the given d1 and d2.

With a = s_plus/sqrt(tau), b = s_minus/sqrt(tau) the equations are

    e^{-a^2/2} + e^{-b^2/2} = A = sqrt(2 pi tau d1),      a e^{-a^2/2} + b e^{-b^2/2} = B = 2 tau sqrt(2 pi d2)

(the sign of B is free: mirroring the thresholds flips it). In p = e^{-a^2/2} or e^{-b^2/2} they are one equation in
G(p) = p sqrt(2 ln(1/p)), the other threshold having A - p:

    both thresholds >= 0:   G(p) + G(A - p) = B,   p >= A/2 that of s_minus; decreasing, since G is concave
    s_minus <= 0 <= s_plus: G(p) - G(A - p) = B,   p that of s_plus; stationary exactly where |a b| = 1

so each is cut into pieces that are monotone, with at most one root each, and none is missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq

from lowtide._checks import check_positive
from lowtide.theory.ternary.moments import GaussianMoments
from lowtide.theory.ternary.ternary_map import TernaryMap

_EPS = 2.0**-52
# Relative slack within which an equation counts as met at the end of a branch, where there is no sign change.
_SLACK = 64 * _EPS
# e^{-a^2/2} + e^{-1/(2 a^2)} on (0, 1] falls from 1 to its least value here, then rises to 2/sqrt(e) at 1.
_DIP = float(brentq(lambda a: -a * math.exp(-a * a / 2) + a**-3 * math.exp(-1 / (2 * a * a)), 0.3, 0.6, xtol=1e-15))


def equation_constants(moments: GaussianMoments, tau: float) -> tuple[float, float, float]:
    """Return A, B and the largest B that has a solution (NaN for A > 2).

    Parameters
    ----------
    moments : GaussianMoments
        The target's; d0 plays no part.
    tau : float
        Mean squared norm of the data, above 0.

    Returns
    -------
    A, B, B_max : float
        Thresholds exist if and only if B <= B_max = A sqrt(2 ln(2/A)).

    Examples
    --------
    >>> from lowtide.theory import equation_constants, gaussian_moments
    >>> [round(value, 4) for value in equation_constants(gaussian_moments("relu", 1.0), 1.0)]
    [1.2533, 1.0, 1.2117]
    """
    tau = check_positive("equation_constants", "tau", tau)
    total = math.sqrt(2 * math.pi * tau * moments.d1)
    first = 2 * tau * math.sqrt(2 * math.pi * moments.d2)
    for end in (1.0, 2.0):  # a step and a sign have roots at the very end of their branch
        if abs(total - end) < _SLACK:
            total = end
    if total > 2:
        return total, first, math.nan
    return total, first, total * math.sqrt(2 * math.log(2 / total)) if total > 0 else 0.0


def ternary_solutions(moments: GaussianMoments, tau: float) -> tuple[TernaryMap, ...]:
    """All thresholds with the target's d1 and d2, E sigma'' >= 0, in decreasing order of s_minus.

    Parameters
    ----------
    moments : GaussianMoments
        The target's.
    tau : float
        Mean squared norm of the data, above 0.

    Returns
    -------
    tuple of TernaryMap
        None, one or three of them; every other solution mirrors one, (s_minus, s_plus) to (-s_plus, -s_minus), and
        has the same kernel.

    Notes
    -----
    They exist if and only if (pi tau/2) d1 <= exp(-4 tau d2/d1).

    References
    ----------
    TRF (Tiomoko Ali, Liao and Couillet), (10), with exponents -s^2/(2 tau) and the factor 1/4 of d2.

    Examples
    --------
    >>> from lowtide.theory import gaussian_moments, ternary_solutions
    >>> for sigma in ternary_solutions(gaussian_moments("sin", 0.3), 0.3):
    ...     print(f"{sigma.s_minus:.4f} {sigma.s_plus:.4f}")
    -0.3416 0.7846
    -0.5619 0.5619
    -0.7846 0.3416
    """
    total, first, largest = equation_constants(moments, tau)
    if total == 0 or math.isnan(largest) or first > largest * (1 + _SLACK):
        return ()
    root = math.sqrt(tau)
    if first >= largest * (1 - _SLACK):  # both thresholds meet: a sign function
        pairs = [(_magnitude(total / 2),) * 2]
    else:
        pairs = _same_sign(total, first) + _opposite_signs(total, first)
        pairs = [_polished(b, a, total, first) for b, a in pairs]
    distinct: list[tuple[float, float]] = []
    for b, a in sorted(pairs, reverse=True):
        if not any(math.isclose(b, other, rel_tol=1e-9, abs_tol=1e-9) for other, _ in distinct):
            distinct.append((b, a))
    return tuple(TernaryMap(root * b, root * a) for b, a in distinct)


def _same_sign(total: float, first: float) -> list[tuple[float, float]]:
    """Return (b, a) with 0 <= b <= a."""
    roots = _roots(lambda p: _weighted(p) + _weighted(total - p) - first, [total / 2, min(1.0, total)], first)
    return [(_magnitude(p), _magnitude(total - p)) for p in roots]


def _opposite_signs(total: float, first: float) -> list[tuple[float, float]]:
    """Return (b, a) with b <= 0 <= a."""
    ends = [max(0.0, total - 1), min(1.0, total)]
    inner = [p for p in _stationary(total) if ends[0] < p < ends[1]]
    roots = _roots(lambda p: _weighted(p) - _weighted(total - p) - first, sorted([*ends, *inner]), first)
    if first == 0:  # the symmetric root to the last digit
        roots = [total / 2, *(p for p in roots if not math.isclose(p, total / 2, rel_tol=1e-9))]
    return [(-_magnitude(total - p), _magnitude(p)) for p in roots]


def _stationary(total: float) -> list[float]:
    """Return the p with a |b| = 1, where G(p) - G(total - p) turns: e^{-a^2/2} + e^{-1/(2 a^2)} = total."""

    def excess(a: float) -> float:
        return math.exp(-a * a / 2) + math.exp(-1 / (2 * a * a)) - total

    found = []
    for low, high in ((1e-9, _DIP), (_DIP, 1.0)):
        if excess(low) * excess(high) < 0:
            a = brentq(excess, low, high, xtol=1e-15)
            found += [math.exp(-a * a / 2), math.exp(-1 / (2 * a * a))]
    return found


def _roots(function: Callable[[float], float], pieces: list[float], scale: float) -> list[float]:
    """Return the root of each monotone piece; one that an end meets within rounding counts."""
    slack = _SLACK * max(scale, 1.0)
    values = [function(p) for p in pieces]
    found = [p for p, value in zip(pieces, values, strict=True) if abs(value) <= slack]
    for i in range(len(pieces) - 1):
        low, high = values[i], values[i + 1]
        if low * high < 0 and abs(low) > slack and abs(high) > slack:
            found.append(float(brentq(function, pieces[i], pieces[i + 1], xtol=1e-300, rtol=4 * _EPS)))
    return found


def _polished(b: float, a: float, total: float, first: float) -> tuple[float, float]:
    """Return the thresholds after Newton steps on both equations: p alone loses half its digits near p = 1."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return b, a
    for _ in range(3):
        p, q = math.exp(-a * a / 2), math.exp(-b * b / 2)
        f, g = p + q - total, a * p + b * q - first
        determinant = p * q * (b * (1 - a * a) - a * (1 - b * b))
        if abs(determinant) < 1e-6 * p * q:  # nearly a double root: Newton would not improve it
            return b, a
        step = ((1 - b * b) * q * f + b * q * g) / determinant, ((1 - a * a) * p * f + a * p * g) / determinant
        a, b = a - step[0], b + step[1]
    return b, a


def _weighted(p: float) -> float:
    """Return p sqrt(2 ln(1/p)), 0 at 0."""
    return p * _magnitude(p) if p > 0 else 0.0


def _magnitude(p: float) -> float:
    """Return the x >= 0 with e^{-x^2/2} = p; infinite for p = 0."""
    return math.sqrt(max(0.0, -2 * math.log(p))) if p > 0 else math.inf
