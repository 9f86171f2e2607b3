"""Which three-level map stands for a target: the choice among exact, scaled and even, and how well it matches."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from lowtide._checks import check_option, check_positive, fail
from lowtide.theory.ternary.moments import GaussianMoments
from lowtide.theory.ternary.scaled import even_solution, scaled_solution
from lowtide.theory.ternary.targets import Target, resolve_target
from lowtide.theory.ternary.ternary_map import TernaryMap
from lowtide.theory.ternary.thresholds import ternary_solutions


@dataclass(frozen=True)
class TernaryMatch:
    """What `match_moments` found.

    Parameters
    ----------
    case : str
        "exact": thresholds alone match d1 and d2. "scaled": no thresholds do, alpha times a ternary map does.
        "even": d1 = 0, the map is alpha 1[|t| > s].
    map : TernaryMap
        The map.
    tau : float
        What it was solved for.
    target, moments : GaussianMoments
        Those wanted and those of the map.
    solutions : tuple of TernaryMap
        Every exact solution, empty when there is none.

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
    """Three-level map whose kernel is that of the target, for data with mean squared norm tau.

    Parameters
    ----------
    target : str, Activation, callable or (float, float)
        As in `resolve_target`.
    tau : float
        Mean of |x|^2 over the centered data, above 0; for "rbf" times 2 gamma.
    method : str, default "auto"
        "auto" takes exact thresholds when there are any, the scaled map when not, the even map when d1 = 0; "exact",
        "scaled" and "even" take that one.
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
    TRF (Tiomoko Ali, Liao and Couillet), Corollary 1; scaled and even maps are derived.

    Examples
    --------
    >>> from lowtide.theory import match_moments
    >>> sigma = match_moments("rbf", tau=0.5).map
    >>> print(f"{sigma.s_minus:.4f} {sigma.s_plus:.4f}")
    0.3096 0.8667
    """
    tau = check_positive("match_moments", "tau", tau)
    check_option("match_moments", "method", method, ("auto", "exact", "scaled", "even"))
    check_option("match_moments", "diagonal", diagonal, ("target", "least"))
    wanted = resolve_target(target).moments(tau)
    if not (wanted.d1 > 0 or wanted.d2 > 0):
        remedy = "The kernel has no signal left: for rbf decrease gamma."
        raise fail("match_moments", f"the target must have d1 or d2 above 0 at tau = {tau:g}", wanted, remedy)
    solutions = ternary_solutions(wanted, tau)
    case = method if method != "auto" else _case(wanted, solutions)
    if case == "exact" and not solutions:
        remedy = "Use method='scaled', or scale the data down."
        raise fail("match_moments", f"thresholds must exist for method='exact' at tau = {tau:g}", wanted, remedy)
    aim = wanted if diagonal == "target" else replace(wanted, d0=math.nan)
    chosen = {
        "exact": lambda: _nearest(solutions, aim, tau),
        "scaled": lambda: scaled_solution(aim, tau),
        "even": lambda: even_solution(aim, tau),
    }[case]()
    return TernaryMatch(case, chosen, tau, wanted, chosen.moments(tau), solutions)


def tau_limit(target: Target) -> float:
    """Largest tau up to which thresholds alone match the target: (pi tau/2) d1 <= exp(-4 tau d2/d1).

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
    if first is None:
        return math.inf
    if first == 0:
        return 0.0
    return float(brentq(excess, grid[first - 1], grid[first], xtol=1e-15, rtol=1e-14))


def _case(wanted: GaussianMoments, solutions: tuple[TernaryMap, ...]) -> str:
    """Return which map "auto" takes."""
    if wanted.d1 == 0:
        return "even"
    return "exact" if solutions else "scaled"


def _nearest(solutions: tuple[TernaryMap, ...], wanted: GaussianMoments, tau: float) -> TernaryMap:
    """Return the solution nearest in d0, the last one of equals."""
    aim = 0.0 if math.isnan(wanted.d0) else wanted.d0
    return min(reversed(solutions), key=lambda sigma: round(abs(sigma.moments(tau).d0 - aim), 12))
