"""From a problem to weights: closed form for squared loss, L-BFGS for the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.learners.losses import Loss
from lowtide.learners.problem import Problem
from lowtide.learners.regularization import best_on_grid, held_out_alpha, leave_one_out_alpha, loo_is_cheap
from lowtide.learners.solvers import NormalEquations, Objective, RidgeSolution, Solution, minimize

__all__ = ["fit_smooth", "fit_squared", "product_dtype"]

Array = NDArray[Any]

# Below this many code entries solutions are float64 throughout.
_SMALL_PROBLEM = 1 << 24
_SMALL_TOLERANCE = 1e-10
_CANDIDATES = 10.0 ** np.arange(-2.0, 3.0)
_FOLDS = 2


def product_dtype(n: int, m: int) -> type[np.floating[Any]]:
    """Return the type for sums over n x m code entries."""
    return np.float64 if n * m < _SMALL_PROBLEM else np.float32


def fit_squared(
    problem: Problem, alpha: float | Literal["auto"], rng: np.random.Generator
) -> tuple[RidgeSolution, float]:
    """Return the solution and alpha of min sum_i s_i (t_i - f_i)^2 + alpha |w|^2."""
    n, m = problem.train.shape
    equations = NormalEquations(m, problem.targets.shape[1], product_dtype(n, m))
    equations.add(problem.train, problem.targets, problem.weight)
    if alpha == "auto":
        alpha = _choose_alpha(equations, problem.weighted_rows(), rng)
    rows = (problem.train, problem.targets, problem.weights)
    return equations.solve(alpha, fit_intercept=problem.fit_intercept, rows=rows), alpha


def _choose_alpha(equations: NormalEquations, problem: Problem, rng: np.random.Generator) -> float:
    """Leave one out where it is cheap; otherwise a held-out tenth."""
    if loo_is_cheap(*problem.train.shape):
        return leave_one_out_alpha(equations, problem)
    return held_out_alpha(equations, problem, rng)


def fit_smooth(
    problem: Problem,
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
        C = _choose_inverse_strength(problem.weighted_rows(), loss, rng, max_iter, tolerance)
    small = product_dtype(*problem.train.shape) is np.float64
    solution = minimize(
        _objective(problem, loss, C),
        start=start,
        max_iter=max_iter,
        tolerance=tolerance,
        goal=min(tolerance, _SMALL_TOLERANCE) if small else tolerance,
        each_iteration=each_iteration,
    )
    return solution, C


def _objective(problem: Problem, loss: Loss, C: float) -> Objective:
    dtype = product_dtype(*problem.train.shape)
    return Objective(problem.train, problem.targets, problem.weights, loss, C, problem.fit_intercept, dtype)


def _choose_inverse_strength(
    problem: Problem, loss: Loss, rng: np.random.Generator, max_iter: int, tolerance: float
) -> float:
    """Cross-validate C on codes that are there already, with short fits: together they cost about one full fit."""
    n = len(problem.targets)
    order = rng.permutation(n)
    folds = [np.sort(part) for part in np.array_split(order, _FOLDS)]
    parts = [(problem.take(np.setdiff1d(order, held)), problem.take(held)) for held in folds]
    steps = max(10, max_iter // len(_CANDIDATES))

    def error(C: float) -> float:
        total = 0.0
        for train, held in parts:
            # The same weight of the data as in the whole fit.
            objective = _objective(train, loss, C * _FOLDS / (_FOLDS - 1))
            found = minimize(objective, start=None, max_iter=steps, tolerance=max(tolerance, 1e-4))
            scores = held.predict.matmul(found.coef) + found.intercept
            total += loss.value_and_gradient(scores, held.targets, held.weights)[0]
        return total

    return best_on_grid(error, _CANDIDATES)
