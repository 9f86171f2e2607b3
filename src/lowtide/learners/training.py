"""From a problem to weights: closed form for squared loss, L-BFGS for the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.learners.losses import Loss
from lowtide.learners.problem import SummedProblem
from lowtide.learners.regularization import held_out_alpha, leave_one_out_alpha, loo_is_cheap, lowest
from lowtide.learners.solvers import NormalEquations, Objective, RidgeSolution, Solution, held_out_loss, minimize

__all__ = ["fit_smooth", "fit_squared", "product_dtype"]

Array = NDArray[Any]

# Below this many code entries solutions are float64 throughout.
_SMALL_PROBLEM = 1 << 24
_SMALL_TOLERANCE = 1e-10
_CANDIDATES = 10.0 ** np.arange(-2.0, 3.0)
_FOLDS = 2
# A candidate need not converge to be told from a worse one: it gets this part of the iterations, to three times `tol`.
_SHORT, _ROUGH = 5, 3.0


def product_dtype(n: int, m: int) -> type[np.floating[Any]]:
    """Return the type for sums over n x m code entries."""
    return np.float64 if n * m < _SMALL_PROBLEM else np.float32


def fit_squared(
    problem: SummedProblem, alpha: float | Literal["auto"], rng: np.random.Generator
) -> tuple[RidgeSolution, float]:
    """Return the solution and alpha of min sum_i s_i (t_i - f_i)^2 + alpha |w|^2."""
    # Rounding of float32 would add up over parts.
    equations = NormalEquations.summed(problem, product_dtype(*problem.shape) if problem.is_whole else np.float64)
    if alpha == "auto":
        alpha = _choose_alpha(equations, problem.weighted_rows(), rng)
    return equations.solve(alpha, fit_intercept=problem.fit_intercept, problem=problem), alpha


def _choose_alpha(equations: NormalEquations, problem: SummedProblem, rng: np.random.Generator) -> float:
    """Leave one out where it is cheap; otherwise a held-out tenth."""
    if loo_is_cheap(*problem.shape):
        return leave_one_out_alpha(equations, problem)
    return held_out_alpha(equations, problem, rng)


def fit_smooth(
    problem: SummedProblem,
    loss: Loss,
    C: float | Literal["auto"],
    rng: np.random.Generator,
    *,
    start: Array | None,
    max_iter: int,
    tolerance: float,
    each_iteration: Callable[[Array], None] | None,
) -> tuple[Solution, float]:
    """Return the solution and C of min |w|^2/2 + C sum_i s_i loss_i."""
    if C == "auto":
        C, start = _choose_inverse_strength(problem.weighted_rows(), loss, rng, start, max_iter, tolerance)
    solution = minimize(
        _objective(problem, loss, C),
        start=start,
        max_iter=max_iter,
        tolerance=tolerance,
        goal=min(tolerance, _SMALL_TOLERANCE) if _is_small(problem) else tolerance,
        each_iteration=each_iteration,
    )
    return solution, C


def _is_small(problem: SummedProblem) -> bool:
    return product_dtype(*problem.shape) is np.float64


def _objective(problem: SummedProblem, loss: Loss, C: float) -> Objective:
    dtype = product_dtype(*problem.shape)
    return Objective(problem, loss, C, dtype)


def _choose_inverse_strength(
    problem: SummedProblem, loss: Loss, rng: np.random.Generator, start: Array | None, max_iter: int, tolerance: float
) -> tuple[float, Array]:
    """Cross-validate C on codes that are there already, with short fits; of many rows one half tests the other only.

    Each fit starts where the one before ended, and the folds' solutions at the chosen C are a start for the whole.
    """
    order = rng.permutation(problem.shape[0])
    folds = [np.sort(part) for part in np.array_split(order, _FOLDS)]
    used = folds if _is_small(problem) else folds[:1]
    parts = [(problem.take(np.setdiff1d(order, held)), problem.take(held)) for held in used]
    steps = max(10, max_iter // _SHORT)
    last = [start] * len(parts)
    middles: dict[int, Array] = {}

    def error(i: int) -> float:
        total = 0.0
        for fold, (train, held) in enumerate(parts):
            # The same weight of the data as in the whole fit.
            objective = _objective(train, loss, _CANDIDATES[i] * _FOLDS / (_FOLDS - 1))
            found = minimize(objective, start=last[fold], max_iter=steps, tolerance=_ROUGH * tolerance)
            total += float(held.sum(held_out_loss, found.coef, found.intercept, loss).total)
            last[fold] = end = np.vstack([found.coef, found.intercept])
            middles[i] = middles.get(i, 0.0) + end / len(parts)
        return total

    best = lowest(error, len(_CANDIDATES), len(_CANDIDATES) // 2)
    return float(_CANDIDATES[best]), middles[best]
