"""Three-level maps with a scale, for targets that no thresholds match: alpha sigma_ter, and the even map.

Scaled map: only the ratio r = 2 sqrt(tau d2/d1) is left to match, alpha^2 = d1/d1_ter does the rest. With a, b the
thresholds over sqrt(tau),

    (a - r) e^{-a^2/2} = (r - b) e^{-b^2/2},    b <= r <= a,

a curve that a >= r runs through, from the sign function a = b = r on; b stays above (r - sqrt(r^2 + 4))/2. The free
parameter sets how much diagonal a unit of signal costs,

    alpha^2 d0_ter/(tau d1) = [Q(a) + Phi(b) - (Q(a) - Phi(b))^2]/(phi(a) + phi(b))^2 - 1.

Even map (d1 = 0): alpha 1[|t| > s], a = s/sqrt(tau), d2 = (alpha a phi(a)/tau)^2, d0 = alpha^2 P (1 - P), P = 2 Q(a).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from lowtide._checks import check_positive, fail
from lowtide.theory.ternary.moments import GaussianMoments
from lowtide.theory.ternary.ternary_map import TernaryMap, density

# Past r + 10 the upper level never occurs in float64.
_LONGEST = 10.0
_STEPS = 400
# Thresholds lie about the ratio; beyond this many standard deviations the moments of a level leave float64.
_LARGEST_RATIO = 27.0


def scaled_solution(moments: GaussianMoments, tau: float) -> TernaryMap:
    """Map alpha sigma_ter with the target's d1 and d2: the d0 that equals the target's, or else the least one.

    Parameters
    ----------
    moments : GaussianMoments
        The target's, d1 above 0.
    tau : float
        Mean squared norm of the data, above 0.

    Returns
    -------
    TernaryMap
        `high` is alpha, `low` is -alpha.

    Notes
    -----
    It exists for every d1 > 0. Of two points with the target's d0 the one nearer to a sign function is taken, which
    uses both outer levels.

    References
    ----------
    Derived; (10) of TRF has no solution for random Fourier features once tau > 2/pi.

    Examples
    --------
    >>> from lowtide.theory import gaussian_moments, scaled_solution
    >>> sigma = scaled_solution(gaussian_moments("rbf", 1.0), 1.0)
    >>> print(f"{sigma.s_minus:.5f} {sigma.s_plus:.5f} {sigma.alpha:.5f}")
    0.77472 1.62995 1.51179
    """
    tau = check_positive("scaled_solution", "tau", tau)
    if not moments.d1 > 0:
        raise fail("scaled_solution", "d1 must be above 0", moments, "An even target has d1 = 0: use even_solution.")
    r = 2 * math.sqrt(tau * moments.d2 / moments.d1)
    if r > _LARGEST_RATIO:
        must = f"2 sqrt(tau d2/d1) must be at most {_LARGEST_RATIO:g} at tau = {tau:g}"
        raise fail("scaled_solution", must, r, "Scale the data down; for rbf decrease gamma.")
    # Spacing grows from the sign function on: for large r all that happens does so within 1/r of it.
    grid = r + np.append(0.0, np.geomspace(1e-6, _LONGEST, _STEPS))
    target = moments.d0 / (tau * moments.d1)
    a = _wanted(lambda a: _diagonal(a, _lower(a, r)), lambda a: _slope(a, _lower(a, r), r), grid, target)
    b = _lower(a, r)
    alpha = math.sqrt(tau * moments.d1) / (density(a) + density(b))
    return TernaryMap(math.sqrt(tau) * b, math.sqrt(tau) * a, -alpha, alpha)


def even_solution(moments: GaussianMoments, tau: float) -> TernaryMap:
    """Map alpha 1[|t| > s] with d1 = 0 and the target's d2: the d0 that equals the target's, or else the least one.

    Parameters
    ----------
    moments : GaussianMoments
        The target's, d2 above 0. A d1 above 0 is not matched.
    tau : float
        Mean squared norm of the data, above 0.

    Returns
    -------
    TernaryMap
        `low` and `high` are both alpha.

    Notes
    -----
    The least d0/(tau^2 d2) is 3.07, at s = 1.48 sqrt(tau). Smooth activations have 2 as tau goes to 0, and more as it
    grows, so a match in d0 needs tau of a few.

    References
    ----------
    Derived.

    Examples
    --------
    >>> from lowtide.theory import even_solution, gaussian_moments
    >>> sigma = even_solution(gaussian_moments("cos", 1.0), 1.0)
    >>> print(f"{sigma.s_plus:.4f} {sigma.alpha:.4f}")
    1.4821 1.5382
    """
    tau = check_positive("even_solution", "tau", tau)
    if not moments.d2 > 0:
        raise fail("even_solution", "d2 must be above 0", moments)
    target = moments.d0 / (tau**2 * moments.d2)
    a = _wanted(_even_diagonal, _even_slope, np.geomspace(1e-2, _LONGEST, _STEPS), target)
    alpha = tau * math.sqrt(moments.d2) / (a * density(a))
    return TernaryMap(-math.sqrt(tau) * a, math.sqrt(tau) * a, alpha, alpha)


def _wanted(value: Callable[[float], float], slope: Callable[[float], float], grid: np.ndarray, target: float) -> float:
    """Return the first point where the value falls to the target, or the minimum when it stays above (or is NaN)."""
    values = [value(float(a)) for a in grid]
    least = int(np.argmin(values))
    low, high = float(grid[max(least - 1, 0)]), float(grid[min(least + 1, len(grid) - 1)])
    a_least = brentq(slope, low, high, xtol=1e-15, rtol=1e-14) if slope(low) < 0 < slope(high) else float(grid[least])
    if target > value(a_least) and values[0] >= target:
        return float(brentq(lambda a: value(a) - target, float(grid[0]), a_least, xtol=1e-15, rtol=1e-14))
    return float(a_least)


def _lower(a: float, r: float) -> float:
    """Return b on the branch that holds a = b = r."""
    end = (r - math.sqrt(r * r + 4)) / 2
    wanted = (a - r) * math.exp(-(a * a - r * r) / 2)

    def excess(b: float) -> float:
        return (r - b) * math.exp(-(b * b - r * r) / 2) - wanted

    return float(brentq(excess, end, r, xtol=1e-16, rtol=1e-15)) if excess(end) > 0 > excess(r) else r


def _diagonal(a: float, b: float) -> float:
    """Return alpha^2 d0_ter/(tau d1)."""
    return _variance(a, b) / (density(a) + density(b)) ** 2 - 1


def _variance(a: float, b: float) -> float:
    """Return Q(a) + Phi(b) - (Q(a) - Phi(b))^2 without 1 - Phi."""
    above, below = float(ndtr(-a)), float(ndtr(b))
    return above * float(ndtr(a)) + below * float(ndtr(-b)) + 2 * above * below


def _slope(a: float, b: float, r: float) -> float:
    """Return the sign-carrying part of d diagonal/da along the curve."""
    above, below = float(ndtr(-a)), float(ndtr(b))
    phi_a, phi_b = density(a), density(b)
    gap, signal = above - below, phi_a + phi_b
    descent = -(1 - a * (a - r)) * phi_a / ((1 + b * (r - b)) * phi_b)  # db/da
    numerator = (-phi_a + 2 * gap * phi_a) + (phi_b + 2 * gap * phi_b) * descent
    denominator = -2 * (a * phi_a + b * phi_b * descent)
    return numerator * signal - _variance(a, b) * denominator


def _even_diagonal(a: float) -> float:
    """Return d0/(tau^2 d2) of 1[|t| > s]."""
    share = 2 * float(ndtr(-a))
    return share * (1 - share) / (a * density(a)) ** 2


def _even_slope(a: float) -> float:
    """Return the sign-carrying part of its derivative: -2 phi (1 - 2P) a - 2 P (1 - P)(1 - a^2)."""
    share = 2 * float(ndtr(-a))
    return -2 * density(a) * (1 - 2 * share) * a - 2 * share * (1 - share) * (1 - a * a)
