"""Which three-level map stands for a target: exact thresholds, a scaled map, or the even map, and how well it matches.

Exact thresholds. With a = s_plus/sqrt(tau), b = s_minus/sqrt(tau) the equations are

    e^{-a^2/2} + e^{-b^2/2} = A = sqrt(2 pi tau d1),      a e^{-a^2/2} + b e^{-b^2/2} = B = 2 tau sqrt(2 pi d2)

(the sign of B is free: mirroring the thresholds flips it). In p = e^{-a^2/2} or e^{-b^2/2} they are one equation in
G(p) = p sqrt(2 ln(1/p)), the other threshold having A - p:

    both thresholds >= 0:   G(p) + G(A - p) = B,   p >= A/2 that of s_minus; decreasing, since G is concave
    s_minus <= 0 <= s_plus: G(p) - G(A - p) = B,   p that of s_plus; stationary exactly where |a b| = 1

so each is cut into pieces that are monotone, with at most one root each, and none is missed.

Scaled map alpha sigma_ter. Only the ratio r = 2 sqrt(tau d2/d1) is left to match, alpha^2 = d1/d1_ter does the rest:

    (a - r) e^{-a^2/2} = (r - b) e^{-b^2/2},    b <= r <= a,

a curve that a >= r runs through, from the sign function a = b = r on; b stays above (r - sqrt(r^2 + 4))/2. The free
parameter sets how much diagonal a unit of signal costs,

    alpha^2 d0_ter/(tau d1) = [Q(a) + Phi(b) - (Q(a) - Phi(b))^2]/(phi(a) + phi(b))^2 - 1.

Even map (d1 = 0): alpha 1[|t| > s], a = s/sqrt(tau), d2 = (alpha a phi(a)/tau)^2, d0 = alpha^2 P (1 - P), P = 2 Q(a).

Windows (rbf at large tau): d1 and d2 of Fourier features fall as e^-tau, so what a map that matches them keeps of the
kernel does too. There each feature has a window of its own, alpha 1[|t - c| <= pi/2] with normal c: half a period of
the cosine, where it is positive. Projections of two rows that differ by v ~ N(0, 2 gamma |x - y|^2) share a window as
often as it overlaps itself moved by v,

    E max(0, 1 - |v|/pi),

which is the first tooth of the triangle wave that signs of dithered cosines have, without the teeth that repeat it. A
window about a normal center is the window about 0 of rows with one more, constant column: its kernel is
`ternary_kernel` of those. Centers spread half as far as projections: where rows are, more windows are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from lowtide._checks import check_option, check_positive, fail
from lowtide.theory.activations import FourierPair, Target, resolve_target
from lowtide.theory.moments import GaussianMoments
from lowtide.theory.ternary import TernaryMap, density

_EPS = 2.0**-52
# Relative slack within which an equation counts as met at the end of a branch, where there is no sign change.
_SLACK = 64 * _EPS
# e^{-a^2/2} + e^{-1/(2 a^2)} on (0, 1] falls from 1 to its least value here, then rises to 2/sqrt(e) at 1.
_DIP = float(
    scipy.optimize.brentq(
        lambda a: -a * math.exp(-a * a / 2) + a**-3 * math.exp(-1 / (2 * a * a)), 0.3, 0.6, xtol=1e-15
    )
)
# Past r + 10 the upper level never occurs in float64.
_LONGEST = 10.0
_STEPS = 400
# Thresholds lie about the ratio; beyond this many standard deviations the moments of a level leave float64.
_LARGEST_RATIO = 27.0
# Half the width of a window: a quarter of the cosine's period.
_HALF_WIDTH = math.pi / 2
# Of the mean of moments over centers, in which they are smooth.
_CENTERS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(64)


@dataclass(frozen=True)
class TernaryMatch:
    """Hold the map that `match_moments` found, and how well it matches.

    Parameters
    ----------
    case : str
        "exact": thresholds alone match d1 and d2. "scaled": no thresholds do, alpha times a ternary map does.
        "even": d1 = 0, the map is alpha 1[|t| > s]. "windows": alpha 1[|t - c| <= pi/2], every feature with a center c
        of its own.
    map : TernaryMap
        Of windows the one about 0.
    tau : float
        What it was solved for.
    target, moments : GaussianMoments
        Those wanted and those of the map, of windows on average.
    solutions : tuple of TernaryMap
        Every exact solution, empty when there is none.
    spread : float
        Standard deviation of the centers, 0 where all features have the same thresholds.

    Examples
    --------
    >>> from lowtide.theory import match_moments
    >>> match = match_moments("rbf", tau=1.0)
    >>> match.case, round(match.diagonal_shift, 4)
    ('scaled', -0.0549)
    >>> match_moments("relu", tau=1.0).case
    'exact'
    """

    case: str
    map: TernaryMap
    tau: float
    target: GaussianMoments
    moments: GaussianMoments
    solutions: tuple[TernaryMap, ...] = ()
    spread: float = 0.0

    @property
    def entropy(self) -> float:
        """Entropy of a feature's levels in bits, over rows and centers: near 0 all rows have one and the same code."""
        below, between, above = self.map.probabilities(self.tau + self.spread**2)
        shares = (below + above, between) if self.map.low == self.map.high else (below, between, above)
        return -sum(share * math.log2(share) for share in shares if share > 0)

    @property
    def kept(self) -> float:
        """Share of the target's variance that d1 and d2 stand for: all that a map which matches them can follow.

        In Hermite polynomials of t the target has tau d1 in the first order, 2 tau^2 d2 in the second and d0 + tau d1
        in all. NaN where the target leaves d0 open.
        """
        wanted, tau = self.target, self.tau
        return (tau * wanted.d1 + 2 * tau**2 * wanted.d2) / wanted.variance(tau)

    @property
    def residuals(self) -> tuple[float, float]:
        """Relative errors of d1 and d2; absolute where the target's is 0."""
        pairs = (self.moments.d1, self.target.d1), (self.moments.d2, self.target.d2)
        d1, d2 = ((got - wanted) / (wanted or 1.0) for got, wanted in pairs)
        return d1, d2

    @property
    def diagonal_shift(self) -> float:
        """Lambda = d0 - d0_map of Corollary 1: the target's centered kernel matrix is the map's plus lambda P."""
        return self.target.d0 - self.moments.d0


def match_moments(target: Target, tau: float, *, method: str = "auto", diagonal: str = "target") -> TernaryMatch:
    """Return a three-level map whose kernel is that of the target, for data with mean squared norm tau.

    Parameters
    ----------
    target : str, Activation, callable or (float, float)
        As in `resolve_target`.
    tau : float
        Mean of |x|^2 over the centered data, above 0; for "rbf" times 2 gamma.
    method : str, default "auto"
        "auto" takes exact thresholds when there are any, the scaled map when not, the even map when d1 = 0; "exact",
        "scaled" and "even" take that one. A scaled map alpha sigma_ter exists for every d1 > 0; the even map
        alpha 1[|t| > s] needs d2 > 0 and leaves d1 unmatched. "windows", for "rbf" alone, follows the kernel and not
        its moments.
    diagonal : str, default "target"
        Which of the maps that match d1 and d2: "target" takes the d0 nearest to the target's, "least" the least d0. A
        smaller d0 is less noise for the same signal, and what is missing a learner's regularization can add.

    Returns
    -------
    TernaryMatch
        Case, map, residuals.

    Notes
    -----
    Of several exact solutions the one whose d0 is nearest to the target's (the least one when that is open), of equal
    ones the lowest: 1[t > 0] is matched by itself. Takes a few milliseconds.

    References
    ----------
    TRF (Tiomoko Ali, Liao and Couillet), Corollary 1; scaled and even maps are derived, since (10) has no solution for
    random Fourier features once tau > 2/pi.

    Examples
    --------
    >>> from lowtide.theory import match_moments
    >>> sigma = match_moments("rbf", tau=0.5).map
    >>> print(f"{sigma.s_minus:.4f} {sigma.s_plus:.4f}")
    0.3096 0.8667
    >>> sigma = match_moments("rbf", tau=1.0, method="scaled").map
    >>> print(f"{sigma.s_minus:.5f} {sigma.s_plus:.5f} {sigma.alpha:.5f}")
    0.77472 1.62995 1.51179
    >>> far = match_moments("rbf", tau=8.0), match_moments("rbf", tau=8.0, method="windows")
    >>> print(" ".join(f"{match.kept:.3f} {match.entropy:.2f}" for match in far))
    0.013 0.03 0.013 0.96
    """
    tau = check_positive("match_moments", "tau", tau)
    check_option("match_moments", "method", method, ("auto", "exact", "scaled", "even", "windows"))
    check_option("match_moments", "diagonal", diagonal, ("target", "least"))
    wanted = resolve_target(target).moments(tau)
    if method == "windows":
        if not isinstance(resolve_target(target), FourierPair):
            raise fail("match_moments", "method='windows' is for target='rbf'", target, "Take method='auto'.")
        return _windows(wanted, tau)
    if not (wanted.d1 > 0 or wanted.d2 > 0):
        remedy = "The kernel has no signal left: for rbf decrease gamma."
        raise fail("match_moments", f"the target must have d1 or d2 above 0 at tau = {tau:g}", wanted, remedy)
    solutions = ternary_solutions(wanted, tau)
    fitting = "even" if wanted.d1 == 0 else "exact" if solutions else "scaled"
    case = fitting if method == "auto" else method
    if case == "exact" and not solutions:
        remedy = "Use method='scaled', or scale the data down."
        raise fail("match_moments", f"thresholds must exist for method='exact' at tau = {tau:g}", wanted, remedy)
    aim = wanted if diagonal == "target" else replace(wanted, d0=math.nan)
    if case == "exact":  # the solution nearest in d0, the last one of equals
        d0 = 0.0 if math.isnan(aim.d0) else aim.d0
        chosen = min(reversed(solutions), key=lambda sigma: round(abs(sigma.moments(tau).d0 - d0), 12))
    else:
        chosen = _scaled_map(aim, tau) if case == "scaled" else _even_map(aim, tau)
    return TernaryMatch(case, chosen, tau, wanted, chosen.moments(tau), solutions)


def _windows(wanted: GaussianMoments, tau: float) -> TernaryMatch:
    """Return windows with centers half as far apart as projections are, and a kernel of 1 at x = y."""
    spread = math.sqrt(tau) / 2
    _, inside, _ = TernaryMap(-_HALF_WIDTH, _HALF_WIDTH).probabilities(tau + spread**2)
    window = TernaryMap(-_HALF_WIDTH, _HALF_WIDTH, 0.0, 0.0, 1 / math.sqrt(inside))
    each = [window.moved(spread * float(center)).moments(tau) for center in _CENTERS]
    mean = (np.array([[one.d0, one.d1, one.d2] for one in each]).T @ _WEIGHTS / _WEIGHTS.sum()).tolist()
    return TernaryMatch("windows", window, tau, wanted, GaussianMoments(*mean), spread=spread)


def tau_limit(target: Target) -> float:
    """Return the largest tau up to which thresholds alone match the target: (pi tau/2) d1 <= exp(-4 tau d2/d1).

    Parameters
    ----------
    target : str, Activation, callable or (float, float)
        As in `resolve_target`.

    Returns
    -------
    float
        0 for even targets, infinity when thresholds exist for every tau.

    References
    ----------
    Derived. Random Fourier features: 2/pi; ReLU: (8/pi) exp(-2/pi).

    Examples
    --------
    >>> from lowtide.theory import tau_limit
    >>> round(tau_limit("rbf"), 6), round(tau_limit("relu"), 6), tau_limit("sin"), tau_limit("cos")
    (0.63662, 1.347286, inf, 0.0)
    """
    activation = resolve_target(target)

    def excess(tau: float) -> float:
        moments = activation.moments(tau)
        if moments.d1 == 0:
            return math.inf
        return math.log(math.pi * tau / 2 * moments.d1) + 4 * tau * moments.d2 / moments.d1

    grid = [float(tau) for tau in np.geomspace(1e-4, 1e2, 121)]
    # A sign function has excess 0 at every tau; rounding must not end its range.
    first = next((i for i, tau in enumerate(grid) if excess(tau) > 1e-9), None)
    if not first:
        return math.inf if first is None else 0.0
    return float(scipy.optimize.brentq(excess, grid[first - 1], grid[first], xtol=1e-15, rtol=1e-14))


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
    """Return all thresholds with the target's d1 and d2, E sigma'' >= 0, in decreasing order of s_minus.

    Parameters
    ----------
    moments : GaussianMoments
        The target's.
    tau : float
        Mean squared norm of the data, above 0.

    Returns
    -------
    tuple of TernaryMap
        One or three of them if and only if (pi tau/2) d1 <= exp(-4 tau d2/d1), else none; every other solution mirrors
        one, (s_minus, s_plus) to (-s_plus, -s_minus), and has the same kernel.

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
        pairs = [_polished(b, a, total, first) for b, a in _pairs(total, first)]
    distinct: list[tuple[float, float]] = []
    for b, a in sorted(pairs, reverse=True):
        if not any(math.isclose(b, other, rel_tol=1e-9, abs_tol=1e-9) for other, _ in distinct):
            distinct.append((b, a))
    return tuple(TernaryMap(root * b, root * a) for b, a in distinct)


def _pairs(total: float, first: float) -> list[tuple[float, float]]:
    """Return every (b, a): those with 0 <= b <= a, then those with b <= 0 <= a."""
    low, high = max(0.0, total - 1), min(1.0, total)
    same = _roots(lambda p: _weighted(p) + _weighted(total - p) - first, [total / 2, high], first)
    pieces = sorted([low, high, *(p for p in _stationary(total) if low < p < high)])
    opposite = _roots(lambda p: _weighted(p) - _weighted(total - p) - first, pieces, first)
    if first == 0:  # the symmetric root to the last digit
        opposite = [total / 2, *(p for p in opposite if not math.isclose(p, total / 2, rel_tol=1e-9))]
    found = [(_magnitude(p), _magnitude(total - p)) for p in same]
    return found + [(-_magnitude(total - p), _magnitude(p)) for p in opposite]


def _stationary(total: float) -> list[float]:
    """Return the p with a |b| = 1, where G(p) - G(total - p) turns: e^{-a^2/2} + e^{-1/(2 a^2)} = total."""

    def excess(a: float) -> float:
        return math.exp(-a * a / 2) + math.exp(-1 / (2 * a * a)) - total

    found = []
    for low, high in ((1e-9, _DIP), (_DIP, 1.0)):
        if excess(low) * excess(high) < 0:
            a = scipy.optimize.brentq(excess, low, high, xtol=1e-15)
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
            found.append(float(scipy.optimize.brentq(function, pieces[i], pieces[i + 1], xtol=1e-300, rtol=4 * _EPS)))
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


def _scaled_map(moments: GaussianMoments, tau: float) -> TernaryMap:
    """Return alpha sigma_ter with the target's d1 and d2: the d0 that equals the target's, or else the least one.

    It exists for every d1 > 0. Of two points with the target's d0 the one nearer to a sign function is taken, which
    uses both outer levels.
    """
    if not moments.d1 > 0:
        remedy = "An even target has d1 = 0: use method='even'."
        raise fail("match_moments", "d1 must be above 0 for method='scaled'", moments, remedy)
    r = 2 * math.sqrt(tau * moments.d2 / moments.d1)
    if r > _LARGEST_RATIO:
        must = f"2 sqrt(tau d2/d1) must be at most {_LARGEST_RATIO:g} at tau = {tau:g}"
        raise fail("match_moments", must, r, "Scale the data down; for rbf decrease gamma.")
    # Spacing grows from the sign function on: for large r all that happens does so within 1/r of it.
    grid = r + np.append(0.0, np.geomspace(1e-6, _LONGEST, _STEPS))
    target = moments.d0 / (tau * moments.d1)
    a = _wanted(lambda a: _diagonal(a, _lower(a, r)), lambda a: _slope(a, _lower(a, r), r), grid, target)
    b = _lower(a, r)
    alpha = math.sqrt(tau * moments.d1) / (density(a) + density(b))
    return TernaryMap(math.sqrt(tau) * b, math.sqrt(tau) * a, -alpha, alpha)


def _even_map(moments: GaussianMoments, tau: float) -> TernaryMap:
    """Return alpha 1[|t| > s] with d1 = 0 and the target's d2: the d0 that equals the target's, or else the least one.

    The least d0/(tau^2 d2) is 3.07, at s = 1.48 sqrt(tau). Smooth activations have 2 as tau goes to 0, and more as it
    grows, so a match in d0 needs tau of a few. A d1 above 0 is not matched.
    """
    if not moments.d2 > 0:
        raise fail("match_moments", "d2 must be above 0 for method='even'", moments)
    target = moments.d0 / (tau**2 * moments.d2)
    a = _wanted(_even_diagonal, _even_slope, np.geomspace(1e-2, _LONGEST, _STEPS), target)
    alpha = tau * math.sqrt(moments.d2) / (a * density(a))
    return TernaryMap(-math.sqrt(tau) * a, math.sqrt(tau) * a, alpha, alpha)


def _wanted(value: Callable[[float], float], slope: Callable[[float], float], grid: np.ndarray, target: float) -> float:
    """Return the first point where the value falls to the target, or the minimum when it stays above (or is NaN)."""
    values = [value(float(a)) for a in grid]
    least = int(np.argmin(values))
    low, high = float(grid[max(least - 1, 0)]), float(grid[min(least + 1, len(grid) - 1)])
    a_least = (
        scipy.optimize.brentq(slope, low, high, xtol=1e-15, rtol=1e-14)
        if slope(low) < 0 < slope(high)
        else float(grid[least])
    )
    if target > value(a_least) and values[0] >= target:
        return float(
            scipy.optimize.brentq(lambda a: value(a) - target, float(grid[0]), a_least, xtol=1e-15, rtol=1e-14)
        )
    return float(a_least)


def _lower(a: float, r: float) -> float:
    """Return b on the branch that holds a = b = r."""
    end = (r - math.sqrt(r * r + 4)) / 2
    wanted = (a - r) * math.exp(-(a * a - r * r) / 2)

    def excess(b: float) -> float:
        return (r - b) * math.exp(-(b * b - r * r) / 2) - wanted

    return float(scipy.optimize.brentq(excess, end, r, xtol=1e-16, rtol=1e-15)) if excess(end) > 0 > excess(r) else r


def _diagonal(a: float, b: float) -> float:
    """Return alpha^2 d0_ter/(tau d1)."""
    return _variance(a, b) / (density(a) + density(b)) ** 2 - 1


def _variance(a: float, b: float) -> float:
    """Return Q(a) + Phi(b) - (Q(a) - Phi(b))^2 without 1 - Phi."""
    above, below = float(scipy.special.ndtr(-a)), float(scipy.special.ndtr(b))
    return above * float(scipy.special.ndtr(a)) + below * float(scipy.special.ndtr(-b)) + 2 * above * below


def _slope(a: float, b: float, r: float) -> float:
    """Return the sign-carrying part of d diagonal/da along the curve."""
    above, below = float(scipy.special.ndtr(-a)), float(scipy.special.ndtr(b))
    phi_a, phi_b = density(a), density(b)
    gap, signal = above - below, phi_a + phi_b
    descent = -(1 - a * (a - r)) * phi_a / ((1 + b * (r - b)) * phi_b)  # db/da
    numerator = (-phi_a + 2 * gap * phi_a) + (phi_b + 2 * gap * phi_b) * descent
    denominator = -2 * (a * phi_a + b * phi_b * descent)
    return numerator * signal - _variance(a, b) * denominator


def _even_diagonal(a: float) -> float:
    """Return d0/(tau^2 d2) of 1[|t| > s]."""
    share = 2 * float(scipy.special.ndtr(-a))
    return share * (1 - share) / (a * density(a)) ** 2


def _even_slope(a: float) -> float:
    """Return the sign-carrying part of its derivative: -2 phi (1 - 2P) a - 2 P (1 - P)(1 - a^2)."""
    share = 2 * float(scipy.special.ndtr(-a))
    return -2 * density(a) * (1 - 2 * share) * a - 2 * share * (1 - share) * (1 - a * a)
