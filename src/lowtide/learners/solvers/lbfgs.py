"""Smooth convex losses by L-BFGS, on products of the design alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize as scipy_minimize
from threadpoolctl import threadpool_limits

from lowtide.learners.design import CodedDesign, Design
from lowtide.learners.losses import Loss

__all__ = ["Objective", "Solution", "minimize"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Objective:
    """|w|^2 / (2 C S) + (1/S) sum_i s_i loss(D_i w + b, y_i), S the sum of weights; b is not penalized.

    `dtype` is the type of the two products with the design; everything else is float64.
    """

    design: Design
    targets: Array
    weight: Array
    loss: Loss
    C: float
    fit_intercept: bool
    dtype: type[np.floating[Any]] = np.float64

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the objective and its gradient at the stacked weights and intercept, ((m + 1) k,)."""
        m, k = self.design.shape[1], self.targets.shape[1]
        parameters = theta.reshape(m + 1, k)
        coef, intercept = parameters[:m], parameters[m]
        total = float(self.weight.sum())
        scores = self.design.matmul(np.ascontiguousarray(coef, dtype=self.dtype)).astype(np.float64) + intercept
        value, slope = self.loss.value_and_gradient(scores, self.targets, self.weight)
        gradient = np.empty_like(parameters)
        gradient[:m] = self.design.rmatmul(np.ascontiguousarray(slope, dtype=self.dtype))
        gradient[m] = slope.sum(axis=0) if self.fit_intercept else 0.0
        gradient /= total
        gradient[:m] += coef / (self.C * total)
        return value / total + 0.5 * float(np.vdot(coef, coef)) / (self.C * total), gradient.ravel()


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
    m, k = objective.design.shape[1], objective.targets.shape[1]
    theta = np.zeros((m + 1) * k) if start is None else start.ravel()
    goal = tolerance if goal is None else goal
    with _one_blas_thread(objective.design):
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


def _one_blas_thread(design: Design) -> AbstractContextManager[Any]:
    """Keep scipy's vector updates on one thread: too short to split, they wait for each other on busy machines.

    Packed products have threads of their own; full features are multiplied by BLAS and keep its threads.
    """
    return threadpool_limits(1, user_api="blas") if isinstance(design, CodedDesign) else nullcontext()
