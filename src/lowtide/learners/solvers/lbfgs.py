"""Smooth convex losses by L-BFGS, on products of the design alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize as scipy_minimize

from lowtide.learners.design import Design
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
    each_iteration: Callable[[Array], None] | None = None,
) -> Solution:
    """Return the minimizer; stops when no entry of the gradient exceeds the tolerance, or after max_iter steps."""
    m, k = objective.design.shape[1], objective.targets.shape[1]
    theta = np.zeros((m + 1) * k) if start is None else start.ravel()
    result = scipy_minimize(
        objective.value_and_gradient,
        theta,
        jac=True,
        method="L-BFGS-B",
        callback=each_iteration,
        options={"maxiter": max_iter, "gtol": tolerance, "ftol": 64 * np.finfo(float).eps * tolerance, "maxls": 50},
    )
    parameters = result.x.reshape(m + 1, k)
    largest = float(np.max(np.abs(result.jac))) if result.jac.size else 0.0
    # A line search that cannot improve any more has reached what floating point can tell apart.
    done = result.status == 0 or (result.status == 2 and largest <= max(tolerance, 1e-6))
    return Solution(parameters[:m].copy(), parameters[m].copy(), max(1, int(result.nit)), done)
