"""Smooth losses: minimized by L-BFGS over sums of parts, or in small steps; what rows left out would score; and C."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize as scipy_minimize

from lowtide.learners.borders import class_losses
from lowtide.learners.cholesky import linear_algebra, suitable_threads
from lowtide.learners.design import Design
from lowtide.learners.dual import Conditioner
from lowtide.learners.losses import Loss
from lowtide.learners.problem import Problem, SummedProblem
from lowtide.learners.ridge import LEAST_REST, product_dtype, random_signs
from lowtide.learners.strength import choose_strength

Array = NDArray[Any]
# Told after every iteration: it may ask for the stacked weights and intercept, ((m + 1) k,).
Report = Callable[[Callable[[], Array]], None]

# Below this sqrt(C S) weights are measured in it.
_TINY_UNIT = 1e-5
# Steps after a line search has ended, for rounding or at its goal.
_MOST_POLISHING = 30
# Of Newton's: the most directions, what may be left of the gradient, and how far away gradients are compared.
_MOST_DIRECTIONS, _NEWTON_PART, _NEAR = 50, 0.01, 1e-6
# Rows of a small step, and the longest.
_BATCH = 64
_LARGEST_RATE = 0.5
# Rows of a half that the other is judged by.
_MOST_HELD = 20_000
# A candidate need not converge to be told from a worse one: it gets this part of the iterations, to three times `tol`.
_SHORT, _ROUGH = 5, 3.0
# Random vectors that traces are read from, and conjugate gradients that are good enough for these.
_PROBES = 8
_CG_STEPS = 25
_CG_PRECISION = 1e-3


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

    It is a function of w / `unit` and b. The unit is 1, or sqrt(C S) where that is tiny: in w the penalty would then be
    1 / (C S) times as steep as the loss is in b, and in w / unit it is |w / unit|^2 / 2 however small C is.
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

    @cached_property
    def unit(self) -> float:
        """What the weights are measured in."""
        unit = math.sqrt(self.C) * math.sqrt(self.total)
        return unit if unit < _TINY_UNIT else 1.0

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the objective and its gradient at the stacked weights over unit and intercept, ((m + 1) k,)."""
        m = self.problem.shape[1]
        parameters = theta.reshape(m + 1, self.problem.n_targets)
        coef, intercept = parameters[:m] * self.unit, parameters[m]
        sums = self.problem.sum(loss_sums, np.ascontiguousarray(coef, dtype=self.dtype), intercept, self.loss)
        gradient = np.vstack([sums.coef, sums.intercept if self.problem.fit_intercept else np.zeros_like(intercept)])
        gradient /= self.total
        strength = 1.0 if self.unit < 1.0 else 1.0 / self.C / self.total
        gradient[:m] = self.unit * gradient[:m] + strength * parameters[:m]
        penalty = 0.5 * strength * float(np.vdot(parameters[:m], parameters[:m]))
        return sums.value / self.total + penalty, gradient.ravel()

    def steepness(self, gradient: Array) -> float:
        """Return the largest entry of a gradient."""
        return float(np.max(np.abs(gradient), initial=0.0))


@dataclass(frozen=True)
class Solution:
    """Weights (m, k), intercept (k,), iterations taken, and whether the gradient fell below the tolerance."""

    coef: Array
    intercept: Array
    n_iter: int
    converged: bool


@dataclass
class Conditioned:
    """An objective as a function of P^1/2 w and of b + mean row . w, in which L-BFGS needs fewer steps.

    `steepest` is the largest entry of its gradient in w and b themselves, where it was last asked for.
    """

    objective: Objective
    conditioner: Conditioner
    steepest: float = math.inf

    def outer(self, theta: Array) -> Array:
        """Return stacked weights over unit and intercept, ((m + 1) k,), as the objective takes them."""
        inner = self._columns(theta)
        coef = self.conditioner.halved(inner[:-1])
        return np.vstack([coef / self.objective.unit, inner[-1] - self.conditioner.row_mean @ coef]).ravel()

    def inner(self, theta: Array) -> Array:
        """Return the variables of what the objective takes."""
        outer = self._columns(theta)
        coef = outer[:-1] * self.objective.unit
        return np.vstack([self.conditioner.doubled(coef), outer[-1] + self.conditioner.row_mean @ coef]).ravel()

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the objective and its gradient in these variables."""
        value, slope = self.objective.value_and_gradient(self.outer(theta))
        self.steepest = self.objective.steepness(slope)
        gradient = self._columns(slope)
        coef = gradient[:-1] / self.objective.unit - np.outer(self.conditioner.row_mean, gradient[-1])
        return value, np.vstack([self.conditioner.halved(coef), gradient[-1]]).ravel()

    def steepness(self, gradient: Array) -> float:
        """Return the largest entry that a gradient in these variables has in w and b themselves."""
        inner = self._columns(gradient)
        coef = self.conditioner.doubled(inner[:-1]) + np.outer(self.conditioner.row_mean, inner[-1])
        return self.objective.steepness(np.vstack([coef * self.objective.unit, inner[-1]]))

    def _columns(self, theta: Array) -> Array:
        return theta.reshape(-1, self.objective.problem.n_targets)


def minimize(
    objective: Objective,
    *,
    start: Array | None,
    max_iter: int,
    tolerance: float,
    goal: float | None = None,
    each_iteration: Report | None = None,
    conditioner: Conditioner | None = None,
) -> Solution:
    """Return the minimizer: it has converged when no entry of the gradient exceeds the tolerance.

    With a goal below the tolerance it goes on to the goal, as far as max_iter steps and rounding allow.
    `each_iteration` stops it by raising StopIteration. A conditioner makes steps fewer.
    """
    m, k = objective.problem.shape[1], objective.problem.n_targets
    units = np.r_[np.full(m * k, objective.unit), np.ones(k)]
    theta = np.zeros((m + 1) * k) if start is None else start.ravel() / units
    goal = tolerance if goal is None else goal
    inner = None if conditioner is None else Conditioned(objective, conditioner)

    def after(now: Array) -> None:
        if each_iteration is not None:
            each_iteration(lambda: (now if inner is None else inner.outer(now)) * units)
        if inner is not None and inner.steepest <= goal:
            raise StopIteration

    # Vector updates of scipy are too short to split: threads wait for each other on busy machines. Packed products have
    # threads of their own; full features are multiplied by BLAS and keep its threads.
    with linear_algebra().limit(limits=1) if objective.problem.is_packed else nullcontext():
        result = scipy_minimize(
            (objective if inner is None else inner).value_and_gradient,
            theta if inner is None else inner.inner(theta),
            jac=True,
            method="L-BFGS-B",
            callback=after,
            options={
                "maxiter": max_iter,
                "gtol": goal if inner is None else 0.0,
                "ftol": 64 * np.finfo(float).eps * goal,
                "maxls": 50,
            },
        )
    function, theta, gradient = objective if inner is None else inner, result.x, result.jac
    is_open = result.status != 1 and result.nit < max_iter
    if is_open:
        theta, gradient = _polished(function, theta, gradient, lambda _, slope: result.hess_inv @ slope, goal)
    steepest, theta = function.steepness(gradient), theta if inner is None else inner.outer(theta)
    # Newton's steps are for accurate gradients: those in w itself, of products in float64.
    if is_open and steepest > goal and objective.dtype is np.float64:
        _, gradient = objective.value_and_gradient(theta)
        theta, gradient = _polished(objective, theta, gradient, partial(_newton_step, objective), goal)
        steepest = objective.steepness(gradient)
    parameters = (theta * units).reshape(m + 1, k)
    n_iter = max(1, int(result.nit))
    return Solution(parameters[:m].copy(), parameters[m].copy(), n_iter, steepest <= tolerance)


def _polished(
    function: Objective | Conditioned,
    theta: Array,
    gradient: Array,
    step: Callable[[Array, Array], Array],
    goal: float,
) -> tuple[Array, Array]:
    """Return a point where the gradient is smaller, and that gradient, by steps that look at nothing else.

    Near the minimum values differ by less than their rounding long before gradients do, and a line search ends there.
    """
    size = function.steepness(gradient)
    for _ in range(_MOST_POLISHING):
        if size <= goal:
            break
        moved = theta - step(theta, gradient)
        _, found = function.value_and_gradient(moved)
        if not function.steepness(found) < 0.9 * size:
            break
        theta, gradient, size = moved, found, function.steepness(found)
    return theta, gradient


def _newton_step(function: Objective, theta: Array, gradient: Array) -> Array:
    """Return H^-1 g by conjugate gradients, to a hundredth; H p is the difference of two gradients near by."""
    step, residual = np.zeros_like(gradient), gradient.copy()
    direction, square = residual.copy(), float(residual @ residual)
    enough = _NEWTON_PART**2 * square
    for _ in range(_MOST_DIRECTIONS):
        if square <= enough:
            break
        small = _NEAR / float(np.max(np.abs(direction)))
        ahead, behind = (function.value_and_gradient(theta + sign * small * direction)[1] for sign in (1.0, -1.0))
        curved = (ahead - behind) / (2.0 * small)
        curvature = float(direction @ curved)
        if curvature <= 0.0:
            break
        length = square / curvature
        step += length * direction
        residual -= length * curved
        last, square = square, float(residual @ residual)
        direction = residual + (square / last) * direction
    return step


class MinibatchSteps:
    """AdaGrad on |w|^2 / (2 C S) + (1/S) sum_i s_i loss_i, S the weight seen so far; `parameters` (m + 1, k) end in b.

    A step moves each weight by at most the rate; 8 / sqrt(m) keeps the scores of a first step near the scale of the
    targets whatever the number of features.
    """

    def __init__(self, n_features: int, n_targets: int) -> None:
        self.parameters = np.zeros((n_features + 1, n_targets))
        self._rate = min(_LARGEST_RATE, 8.0 / np.sqrt(n_features))
        self._squares = np.full_like(self.parameters, 1e-10)
        self._weight = 0.0
        self._n_rows = 0

    def add(self, problem: Problem, loss: Loss, C: float) -> None:
        """Take one step a batch of 64 rows, in order."""
        for start in range(0, len(problem.targets), _BATCH):
            batch = problem.take(slice(start, start + _BATCH))
            total = float(batch.weights.sum())
            if total > 0.0:
                self._weight += total
                self._n_rows += len(batch.targets)
                self._step(batch, total, loss, C)

    def _step(self, batch: Problem, total: float, loss: Loss, C: float) -> None:
        coef, intercept = self.parameters[:-1], self.parameters[-1]
        # In units of an average batch: one with fewer rows, or lighter ones, moves the weights less.
        unit = _BATCH * self._weight / self._n_rows
        scores = batch.train.matmul(np.ascontiguousarray(coef)) + intercept
        _, slope = loss.value_and_gradient(scores, batch.targets, batch.weights / unit)
        gradient = np.empty_like(self.parameters)
        gradient[:-1] = batch.train.rmatmul(slope) + coef * (total / unit / (C * self._weight))
        gradient[-1] = slope.sum(axis=0) if batch.fit_intercept else 0.0
        self._squares += gradient**2
        self.parameters -= self._rate * gradient / np.sqrt(self._squares)


def left_out_scores(problem: Problem, loss: Loss, coef: Array, intercept: Array, C: float, share: float = 1.0) -> Array:
    """Return scores (n, k) of a smooth loss, each as if its row had been left out.

    Near its minimum the loss of a row is that of ridge regression, with the weight q = loss''/2 and the residual
    -loss'/loss'' in each column, so f_i - g e_i / (1 - h) as in `RidgeSolution.left_out` holds with these; rows without
    curvature, beyond the margin of a hinge for example, keep their scores. A^-1 is applied by conjugate gradients, and
    h and g are means over all rows and columns, which a few probes give well.

    `share` is the part of the weight of the fit that `problem` holds; each row then stands for 1 / share of them.
    """
    seen = problem.train.matmul(coef) + intercept
    curvature, residual = loss.as_squares(seen, problem.targets)
    scores = seen if problem.predict is problem.train else problem.predict.matmul(coef) + intercept
    return scores - _mean_shift(problem, curvature, residual, coef, C, share) * residual


@dataclass(frozen=True)
class _Centered:
    """A design less a mean row: one mean (m, 1), or a mean a column of the operand; float32 will do for traces."""

    design: Design
    mean: Array

    def matmul(self, P: Array) -> Array:
        dtype = product_dtype(*self.design.shape)
        return self.design.matmul(np.ascontiguousarray(P, dtype=dtype)) - np.sum(self.mean * P, axis=0)

    def rmatmul(self, R: Array) -> Array:
        dtype = product_dtype(*self.design.shape)
        return self.design.rmatmul(np.ascontiguousarray(R, dtype=dtype)) - self.mean * R.sum(axis=0)


def _mean_shift(problem: Problem, curvature: Array, residual: Array, coef: Array, C: float, share: float) -> float:
    """Return g / (1 - h) of rows with the curvature of a loss, means over those that have some."""
    weight = problem.weights[:, None] * (0.5 * curvature)
    total = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    mean = problem.train.rmatmul(weight) / total if problem.fit_intercept else np.zeros_like(coef)
    pull = _Centered(problem.train, mean).rmatmul(weight * residual)
    repeats = max(2, -(-_PROBES // coef.shape[1]))
    alphas, many, means = (np.tile(a, repeats) for a in (_penalty(pull, coef, share / (2.0 * C)), weight, mean))
    rows = _Centered(problem.train, means)

    def solve(right: Array) -> Array:
        return _conjugate_gradients(lambda P: rows.rmatmul(many * rows.matmul(P)) + alphas * P, right)

    traces = _traces(problem, np.sqrt(many) * random_signs(len(many), many.shape[1]), means, solve)
    own, other = (trace.reshape(repeats, -1) for trace in traces)
    count = float(problem.weights @ np.count_nonzero(curvature, axis=1))
    # Each row stands for 1 / share of them.
    return _shift(own, other, problem.fit_intercept, max(count, 1.0) / share)


def _penalty(pull: Array, coef: Array, alpha: float) -> Array:
    """Return alpha of each column: X'S e = alpha w at the minimum, and like a larger one where L-BFGS was stopped."""
    force, size = np.linalg.norm(pull, axis=0), np.linalg.norm(coef, axis=0)
    ratio = np.divide(force, size, out=np.full_like(force, alpha), where=size > 0)
    return np.maximum(alpha, ratio)


def _traces(problem: Problem, probes: Array, mean: Array, solve: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Return estimates of tr A^-1 X'SX, and of tr A^-1 X'SZ with the predicting side Z, one per column of probes.

    Probes are S^1/2 times signs: e' S^1/2 X A^-1 X' S^1/2 e is the first trace on average.
    """
    train = _Centered(problem.train, mean)
    solved = solve(train.rmatmul(probes))
    own = np.sum(probes * train.matmul(solved), axis=0)
    if problem.predict is problem.train:
        return own, own
    return own, np.sum(probes * _Centered(problem.predict, mean).matmul(solved), axis=0)


def _shift(own: Array, other: Array, fit_intercept: bool, count: float) -> float:
    """Return g / (1 - h) from traces (repeats, columns); 1 - h is not trusted below two of its standard errors."""
    base = own.shape[1] if fit_intercept else 0
    h, g = ((base + float(trace.mean(axis=0).sum())) / count for trace in (own, other))
    error = float(np.sqrt(np.sum(np.var(own, axis=0, ddof=1)) / len(own))) / count
    return g / max(1.0 - h, 2.0 * error, LEAST_REST)


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


@dataclass
class _Scored:
    """Scores of some rows with their labels and weights."""

    scores: Array
    labels: Array
    weights: Array

    @classmethod
    def of(cls, part: Problem, coef: Array, intercept: Array) -> _Scored:
        """Return those of rows in memory, on the side that predicts."""
        return cls(part.predict.matmul(coef) + intercept, part.labels, part.weights)

    def merge(self, part: _Scored) -> None:
        """Add other rows."""
        for name in ("scores", "labels", "weights"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(part, name)]))


def choose_inverse_strength(
    problem: SummedProblem, loss: Loss, rng: np.random.Generator, start: Array | None, max_iter: int, tolerance: float
) -> tuple[float, Array]:
    """Return the C of clearly least loss of left-out halves, and weights to start from; of many rows of one half only.

    Fits are short. Each starts where the one before ended, and the halves' solutions at the chosen C, or the last that
    was tried, are a start for the whole.
    """
    order = rng.permutation(problem.shape[0])
    halves = [np.sort(part) for part in np.array_split(order, 2)]
    used = halves if product_dtype(*problem.shape) is np.float64 else halves[:1]
    parts = [(problem.take(np.setdiff1d(order, held)), problem.take(_some(held, rng))) for held in used]
    steps = max(10, max_iter // _SHORT)
    last = [start] * len(parts)
    found: dict[float, Array] = {}
    seen: list[_Scored] = []

    def left_out(penalty: float) -> Array:
        seen.clear()
        for half, (train, held) in enumerate(parts):
            # The same weight of the data as in the whole fit.
            objective = Objective(train, loss, 2.0 / penalty, product_dtype(*train.shape))
            fitted = minimize(objective, start=last[half], max_iter=steps, tolerance=_ROUGH * tolerance)
            last[half] = np.vstack([fitted.coef, fitted.intercept])
            seen.append(held.sum(_Scored.of, fitted.coef, fitted.intercept))
        found[penalty] = np.mean(np.array(last), axis=0)
        return np.concatenate([each.scores for each in seen])

    def judge(scores: Array) -> Array:
        labels, weights = (np.concatenate([getattr(each, name) for each in seen]) for name in ("labels", "weights"))
        with suitable_threads(1):
            return class_losses(scores, labels, weights)

    first = left_out(1.0)  # which also tells who is judged
    weights = np.concatenate([each.weights for each in seen])
    share = weights * (len(weights) / weights.sum())
    chosen = choose_strength(lambda penalty: first if penalty == 1.0 else left_out(penalty), judge, share, 1.0).chosen
    return 1.0 / chosen, found[chosen]


def _some(rows: Array, rng: np.random.Generator) -> Array:
    """Return rows in order, at most as many as a choice needs."""
    return rows if len(rows) <= _MOST_HELD else np.sort(rng.choice(rows, _MOST_HELD, replace=False))
