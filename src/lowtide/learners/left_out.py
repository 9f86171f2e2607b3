"""Scores that rows would have had without having been learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.learners.design import Design
from lowtide.learners.problem import Problem
from lowtide.learners.solvers import RidgeSolution

__all__ = ["left_out_hinge_scores", "left_out_ridge_scores"]

Array = NDArray[Any]

_PROBES = 8
_CG_STEPS = 25
_CG_PRECISION = 1e-3
# A row keeps at least this part of its residual: beyond it the estimate of the rest is noise.
_SMALLEST_REST = 0.02


@dataclass(frozen=True)
class _Centered:
    """A design less a mean row: one mean (m, 1), or a mean a column of the operand."""

    design: Design
    mean: Array

    def matmul(self, P: Array) -> Array:
        return self.design.matmul(np.ascontiguousarray(P)) - np.sum(self.mean * P, axis=0)

    def rmatmul(self, R: Array) -> Array:
        return self.design.rmatmul(np.ascontiguousarray(R)) - self.mean * R.sum(axis=0)


def left_out_ridge_scores(problem: Problem, solution: RidgeSolution) -> Array:
    """Return scores (n, k) on the side that predicts, each as if its row had been left out.

    Generalized cross-validation: f_i - g e_i / (1 - h), e_i the residual, h the mean leverage of a row,
    (1 + tr A^-1 X'SX) / S with A = X'SX + alpha I of centered rows, g the same with the predicting side in place of
    one X. Traces are read from eight random vectors of signs, so this costs a few products.
    """
    weight = problem.weights[:, None]
    traces = _Traces(problem, weight, solution.row_mean[:, None], solution.factor.solve)
    signs = _signs(problem.train.shape[1], _PROBES)
    own, other = (np.mean(trace) for trace in traces.read(signs))
    seen = problem.train.matmul(solution.coef) + solution.intercept
    scores = seen if problem.predict is problem.train else problem.predict.matmul(solution.coef) + solution.intercept
    return scores - _shift(problem, weight, own, other) * (problem.targets - seen)


def left_out_hinge_scores(problem: Problem, coef: Array, intercept: Array, C: float) -> Array:
    """Return scores (n, k) of the squared hinge, each as if its row had been left out.

    Each column is a ridge problem of the rows within its margin, so the formula of `left_out_ridge_scores` holds with
    these rows alone; rows outside the margin keep their scores. A^-1 is applied by conjugate gradients.
    """
    seen = problem.train.matmul(coef) + intercept
    residual = problem.targets - seen
    inside = residual * problem.targets > 0
    weight = problem.weights[:, None] * inside
    total = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    mean = problem.train.rmatmul(weight) / total if problem.fit_intercept else np.zeros_like(coef)
    rows = _Centered(problem.train, mean)

    def solve(right: Array) -> Array:
        return _conjugate_gradients(lambda P: rows.rmatmul(weight * rows.matmul(P)) + P / (2.0 * C), right)

    traces = _Traces(problem, weight, mean, solve)
    repeats = max(1, _PROBES // (2 * coef.shape[1]))
    drawn = _signs(*coef.shape, repeats)
    own, other = np.mean([traces.read(signs) for signs in drawn], axis=0)
    scores = seen if problem.predict is problem.train else problem.predict.matmul(coef) + intercept
    return scores - _shift(problem, weight, own, other) * np.where(inside, residual, 0.0)


@dataclass(frozen=True)
class _Traces:
    """Reads tr A^-1 X'SX, and tr A^-1 Z'SX with the predicting side Z, from vectors of signs (m, k)."""

    problem: Problem
    weight: Array
    mean: Array
    solve: Callable[[Array], Array]

    def read(self, signs: Array) -> tuple[Array, Array]:
        problem = self.problem
        train = _Centered(problem.train, self.mean)
        weighted = self.weight * train.matmul(signs)
        own = np.sum(signs * self.solve(train.rmatmul(weighted)), axis=0)
        if problem.predict is problem.train:
            return own, own
        predict = _Centered(problem.predict, self.mean)
        return own, np.sum(signs * self.solve(predict.rmatmul(weighted)), axis=0)


def _shift(problem: Problem, weight: Array, own: Any, other: Any) -> Any:
    """Return g / (1 - h) of traces; weights count as rows unless they are smaller than that, as shares of one are."""
    rows = np.maximum(np.maximum(weight.sum(axis=0), np.count_nonzero(weight, axis=0)), 1.0)
    intercept = 1.0 if problem.fit_intercept else 0.0
    return (intercept + other) / rows / np.maximum(1.0 - (intercept + own) / rows, _SMALLEST_REST)


def _signs(*shape: int) -> Array:
    """Return signs that depend on the shape alone: (m, k), or several of them (repeats, m, k)."""
    m, k, *repeats = shape
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(*repeats, m, k))


def _conjugate_gradients(product: Callable[[Array], Array], right: Array) -> Array:
    """Return an approximate solution of every column, good for a trace."""
    solution, residual = np.zeros_like(right), right.copy()
    direction, square = residual.copy(), np.sum(residual**2, axis=0)
    enough = _CG_PRECISION**2 * square
    for _ in range(_CG_STEPS):
        if np.all(square <= enough):
            break
        image = product(direction)
        curvature = np.sum(direction * image, axis=0)
        step = np.divide(square, curvature, out=np.zeros_like(square), where=curvature > 0)
        solution += step * direction
        residual -= step * image
        previous, square = square, np.sum(residual**2, axis=0)
        direction = residual + np.divide(square, previous, out=np.zeros_like(square), where=previous > 0) * direction
    return solution
