"""Smooth convex losses by L-BFGS, on sums over the rows alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize as scipy_minimize
from threadpoolctl import threadpool_limits

from lowtide.learners.losses import Loss
from lowtide.learners.problem import Problem, SummedProblem

__all__ = ["LossSums", "Objective", "Solution", "loss_sums", "minimize"]

Array = NDArray[Any]


@dataclass
class LossSums:
    """sum_i s_i loss_i over some rows, and its gradient in weights (m, k) and intercept (k,)."""

    value: float
    coef: Array
    intercept: Array

    def merge(self, part: LossSums) -> None:
        """Add the sums of other rows."""
        self.value += part.value
        self.coef += part.coef
        self.intercept += part.intercept


def loss_sums(part: Problem, coef: Array, intercept: Array, loss: Loss) -> LossSums:
    """Return the loss of some rows with its gradient; both products with the rows are in the type of coef."""
    scores = part.train.matmul(coef).astype(np.float64, copy=False) + intercept
    value, slope = loss.value_and_gradient(scores, part.targets, part.weights)
    gradient = part.train.rmatmul(np.ascontiguousarray(slope, dtype=coef.dtype))
    return LossSums(value, gradient.astype(np.float64, copy=False), slope.sum(axis=0))


@dataclass(frozen=True)
class Objective:
    """|w|^2 / (2 C S) + (1/S) sum_i s_i loss(D_i w + b, y_i), S the sum of weights; b is not penalized.

    `dtype` is the type of the two products with the design; everything else is float64.
    """

    problem: SummedProblem
    loss: Loss
    C: float
    dtype: type[np.floating[Any]] = np.float64

    @cached_property
    def total(self) -> float:
        """The sum of weights."""
        return self.problem.total_weight

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the objective and its gradient at the stacked weights and intercept, ((m + 1) k,)."""
        m = self.problem.shape[1]
        parameters = theta.reshape(m + 1, self.problem.n_targets)
        coef, intercept = parameters[:m], parameters[m]
        sums = self.problem.sum(loss_sums, np.ascontiguousarray(coef, dtype=self.dtype), intercept, self.loss)
        gradient = np.empty_like(parameters)
        gradient[:m] = sums.coef
        gradient[m] = sums.intercept if self.problem.fit_intercept else 0.0
        gradient /= self.total
        gradient[:m] += coef / (self.C * self.total)
        penalty = 0.5 * float(np.vdot(coef, coef)) / (self.C * self.total)
        return sums.value / self.total + penalty, gradient.ravel()


@dataclass(frozen=True)
class Solution:
    """Weights (m, k), intercept (k,), iterations taken, and whether the gradient fell below the tolerance."""

    coef: Array
    intercept: Array
    n_iter: int
    converged: bool


def minimize(
    objective: Objective,
    *,
    start: Array | None,
    max_iter: int,
    tolerance: float,
    goal: float | None = None,
    each_iteration: Callable[[Array], None] | None = None,
) -> Solution:
    """Return the minimizer: it has converged when no entry of the gradient exceeds the tolerance.

    With a goal below the tolerance it goes on to the goal, as far as max_iter steps and rounding allow.
    `each_iteration` stops it by raising StopIteration.
    """
    m, k = objective.problem.shape[1], objective.problem.n_targets
    theta = np.zeros((m + 1) * k) if start is None else start.ravel()
    goal = tolerance if goal is None else goal
    with _one_blas_thread(objective.problem):
        result = scipy_minimize(
            objective.value_and_gradient,
            theta,
            jac=True,
            method="L-BFGS-B",
            callback=each_iteration,
            options={"maxiter": max_iter, "gtol": goal, "ftol": 64 * np.finfo(float).eps * goal, "maxls": 50},
        )
    parameters = result.x.reshape(m + 1, k)
    converged = bool(np.max(np.abs(result.jac), initial=0.0) <= tolerance)
    return Solution(parameters[:m].copy(), parameters[m].copy(), max(1, int(result.nit)), converged)


def _one_blas_thread(problem: SummedProblem) -> AbstractContextManager[Any]:
    """Keep scipy's vector updates on one thread: too short to split, they wait for each other on busy machines.

    Packed products have threads of their own; full features are multiplied by BLAS and keep its threads.
    """
    return threadpool_limits(1, user_api="blas") if problem.is_packed else nullcontext()
