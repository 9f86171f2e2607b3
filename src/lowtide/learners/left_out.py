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

_PROBES = 16
_CG_STEPS = 25
_CG_PRECISION = 1e-3
_LEAST_REST = 0.01


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
    one X. Traces are read from random vectors of signs, so this costs a few products.
    """
    signs = _signs(problem.train.shape[1], _PROBES)
    weight = problem.weights[:, None]
    traces = _traces(problem, weight, solution.row_mean[:, None], solution.factor.solve, signs)
    own, other = (trace[:, None] for trace in traces)
    seen = problem.train.matmul(solution.coef) + solution.intercept
    scores = seen if problem.predict is problem.train else problem.predict.matmul(solution.coef) + solution.intercept
    return scores - _shift(own, other, problem.fit_intercept, _count(weight)) * (problem.targets - seen)


def left_out_hinge_scores(problem: Problem, coef: Array, intercept: Array, C: float, share: float = 1.0) -> Array:
    """Return scores (n, k) of the squared hinge, each as if its row had been left out.

    Each column is a ridge problem of the rows within its margin, so the formula of `left_out_ridge_scores` holds with
    these rows alone; rows outside the margin keep their scores. A^-1 is applied by conjugate gradients, and h and g
    are means over all columns, which a few probes give well.

    Parameters
    ----------
    problem, coef, intercept, C
    share : float, default=1.0
        The part of the rows of the fit that `problem` holds; each then stands for 1 / share of them.
    """
    seen = problem.train.matmul(coef) + intercept
    residual = problem.targets - seen
    inside = residual * problem.targets > 0
    weight = problem.weights[:, None] * inside
    total = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    mean = problem.train.rmatmul(weight) / total if problem.fit_intercept else np.zeros_like(coef)
    pull = _Centered(problem.train, mean).rmatmul(weight * residual)
    repeats = max(2, -(-_PROBES // coef.shape[1]))
    alpha, many, means = (np.tile(a, repeats) for a in (_penalty(pull, coef, share / (2.0 * C)), weight, mean))
    rows = _Centered(problem.train, means)

    def solve(right: Array) -> Array:
        return _conjugate_gradients(lambda P: rows.rmatmul(many * rows.matmul(P)) + alpha * P, right)

    traces = _traces(problem, many, means, solve, _signs(len(coef), repeats * coef.shape[1]))
    own, other = (trace.reshape(repeats, -1) for trace in traces)
    scores = seen if problem.predict is problem.train else problem.predict.matmul(coef) + intercept
    shift = _shift(own, other, problem.fit_intercept, _count(weight) / share)
    return scores - shift * np.where(inside, residual, 0.0)


def _penalty(pull: Array, coef: Array, alpha: float) -> Array:
    """Return alpha of each column: X'S e = alpha w at the minimum, and like a larger one where L-BFGS was stopped."""
    force, size = np.linalg.norm(pull, axis=0), np.linalg.norm(coef, axis=0)
    ratio = np.divide(force, size, out=np.full_like(force, alpha), where=size > 0)
    return np.maximum(alpha, ratio)


def _traces(
    problem: Problem, weight: Array, mean: Array, solve: Callable[[Array], Array], signs: Array
) -> tuple[Array, Array]:
    """Return estimates of tr A^-1 X'SX, and of tr A^-1 Z'SX with the predicting side Z, one a column of signs."""
    train = _Centered(problem.train, mean)
    weighted = weight * train.matmul(signs)
    own = np.sum(signs * solve(train.rmatmul(weighted)), axis=0)
    if problem.predict is problem.train:
        return own, own
    return own, np.sum(signs * solve(_Centered(problem.predict, mean).rmatmul(weighted)), axis=0)


def _count(weight: Array) -> float:
    """Return how many rows weights stand for: their sum, unless they are smaller than that, as shares of one are."""
    return float(max(weight.sum(), np.count_nonzero(weight), 1.0))


def _shift(own: Array, other: Array, fit_intercept: bool, count: float) -> float:
    """Return g / (1 - h) from traces (repeats, columns); 1 - h is not trusted below two of its standard errors."""
    base = own.shape[1] if fit_intercept else 0
    h, g = ((base + float(trace.mean(axis=0).sum())) / count for trace in (own, other))
    error = float(np.sqrt(np.sum(np.var(own, axis=0, ddof=1)) / len(own))) / count
    return g / max(1.0 - h, 2.0 * error, _LEAST_REST)


def _signs(m: int, k: int) -> Array:
    """Return signs (m, k) that depend on nothing else: weights and repeated rows get the same ones."""
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(m, k))


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
