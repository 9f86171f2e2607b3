"""Solvers: least squares from sums that are gathered once, and smooth losses by L-BFGS or in small steps.

They know the rows by sums over their parts alone, and no estimator.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cython_lapack, lapack
from scipy.optimize import minimize as scipy_minimize
from threadpoolctl import threadpool_limits

from lowtide.learners.design import Design
from lowtide.learners.losses import Loss
from lowtide.learners.problem import Problem, SummedProblem

Array = NDArray[Any]

# A step of refinement gains the digits of float32 less those of the condition number, so mostly one is enough.
_MOST_REFINEMENTS = 6
# Below this sqrt(C S) weights are measured in it.
_TINY_UNIT = 1e-5
# Steps after a line search has ended, for rounding or at its goal.
_MOST_POLISHING = 30
_PRECISION = 1e-7
_ROWS_AT_ONCE = 64
_POTRF = {np.dtype(np.float32): "spotrf", np.dtype(np.float64): "dpotrf"}
# Rows of a small step, and the longest.
_BATCH = 64
_LARGEST_RATE = 0.5


@dataclass
class NormalEquations:
    """The sums that min_w sum_i s_i |t_i - D_i w - b|^2 + alpha |w|^2 depends on.

    They are D' S D (m, m), D' S T (m, k), D' s (m,), T' s (k,) and the sum of s, all float64 but for the Gram matrix:
    where that is float32, half the memory, `solve` refines against the rows.
    """

    gram: Array
    cross: Array
    row_sum: Array
    target_sum: Array
    weight: float

    @classmethod
    def of(cls, part: Problem, dtype: type[np.floating[Any]] = np.float64) -> NormalEquations:
        """Return the sums of some rows."""
        return cls.of_rows(part.train, part.targets, part.weight, dtype)

    @classmethod
    def of_rows(
        cls, design: Design, targets: Array, weight: Array | None, dtype: type[np.floating[Any]] = np.float64
    ) -> NormalEquations:
        """Return the sums of rows with targets (n, k) and weights (n,), None for ones."""
        weights = np.ones(design.shape[0]) if weight is None else weight
        right = design.rmatmul(np.column_stack([targets * weights[:, None], weights]))
        gram = design.gram(weight, dtype)
        return cls(gram, right[:, :-1], right[:, -1], targets.T @ weights, float(weights.sum()))

    @classmethod
    def summed(cls, problem: SummedProblem, dtype: type[np.floating[Any]]) -> NormalEquations:
        """Return the sums of all rows."""
        # A Gram matrix is added in a tenth of the time that half as many bytes of one-bit codes take to be counted.
        gram_bytes = problem.shape[1] ** 2 * np.dtype(dtype).itemsize
        return problem.sum(cls.of, dtype, at_least=gram_bytes // 2)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the Gram matrix."""
        return self.gram.dtype

    def merge(self, part: NormalEquations) -> None:
        """Add the sums of other rows, in place."""
        self.gram += part.gram
        self.cross += part.cross
        self.row_sum += part.row_sum
        self.target_sum += part.target_sum
        self.weight += part.weight

    def remove(self, part: NormalEquations) -> None:
        """Take away the sums of some of the rows, in place."""
        self.gram -= part.gram
        self.cross -= part.cross
        self.row_sum -= part.row_sum
        self.target_sum -= part.target_sum
        self.weight -= part.weight

    def columns(self, which: Array, scale: float) -> NormalEquations:
        """Return the sums of some of the columns, scaled."""
        gram = np.empty((len(which), len(which)), dtype=self.dtype)
        # Rows, then columns, a few rows at a time: much faster than both at once.
        for rows in range(0, len(which), _ROWS_AT_ONCE):
            part = slice(rows, rows + _ROWS_AT_ONCE)
            np.multiply(self.gram[which[part]][:, which], self.dtype.type(scale**2), out=gram[part])
        cross, row_sum = self.cross[which] * scale, self.row_sum[which] * scale
        return NormalEquations(gram, cross, row_sum, self.target_sum.copy(), self.weight)

    def widen(self, n_targets: int) -> None:
        """Make room for targets that appear later; rows so far count as zero in them."""
        new = n_targets - self.cross.shape[1]
        self.cross = np.pad(self.cross, ((0, 0), (0, new)))
        self.target_sum = np.pad(self.target_sum, (0, new))

    def solve(self, alpha: float, *, fit_intercept: bool = True, problem: SummedProblem | None = None) -> RidgeSolution:
        """Return the minimizer, by one Cholesky factorization.

        With the problem that the sums were made of, a float32 solution is refined, to about 1e-7 of its size.
        """
        system = self.centered(fit_intercept=fit_intercept)
        factor, row_mean, target_mean = Factor(system.gram, alpha), system.row_mean, system.target_mean
        coef = factor.solve(system.right)
        before = float(np.linalg.norm(coef))
        for _ in range(_MOST_REFINEMENTS if problem is not None and self.dtype == np.float32 else 0):
            pull = problem.sum(_pull, coef, target_mean - row_mean @ coef)  # type: ignore[union-attr]
            step = factor.solve(pull.total - alpha * coef)
            coef += step
            # Steps shrink by one rate: what is left is the next of them.
            size = float(np.linalg.norm(step))
            if size * size <= before * _PRECISION * float(np.linalg.norm(coef)) or 2.0 * size >= before:
                break
            before = size
        return RidgeSolution(coef, target_mean - row_mean @ coef, row_mean, factor, self.weight)

    def centered(self, *, fit_intercept: bool = True) -> CenteredSystem:
        """Return the equations of centered rows, to be solved for many alphas."""
        # Symmetric, so its transpose is a plain copy in the order that LAPACK wants.
        gram = self.gram.T.copy(order="F")
        row_mean, target_mean = np.zeros_like(self.row_sum), np.zeros_like(self.target_sum)
        if fit_intercept:
            row_mean, target_mean = self.row_sum / self.weight, self.target_sum / self.weight
            ger = blas.sger if self.dtype == np.float32 else blas.dger
            gram = ger(-1.0, row_mean.astype(self.dtype), self.row_sum.astype(self.dtype), a=gram, overwrite_a=1)
        return CenteredSystem(gram, self.cross - np.outer(row_mean, self.target_sum), row_mean, target_mean)


@dataclass(frozen=True)
class CenteredSystem:
    """(gram + alpha I) w = right of centered rows; safe to solve from several threads."""

    gram: Array
    right: Array
    row_mean: Array
    target_mean: Array

    def solve(self, alpha: float) -> tuple[Array, Array]:
        """Return weights (m, k) and intercepts (k,): in the type of gram, or float64 where that cannot hold alpha."""
        factor = Factor(self.gram.copy(order="F"), alpha)
        if factor.alpha != alpha and self.gram.dtype == np.float32:
            factor = Factor(np.asfortranarray(self.gram, dtype=np.float64), alpha)
        coef = factor.solve(self.right)
        return coef, self.target_mean - self.row_mean @ coef


class Factor:
    """The Cholesky factor of gram + alpha I, in place of gram; alpha is raised where it is lost in rounding.

    In float64 an alpha below m roundings of the mean diagonal is raised to that: gram may have as large an error in
    directions that no row has, and would be inverted there. In float32 it is raised where gram became indefinite.
    """

    def __init__(self, gram: Array, alpha: float) -> None:
        self._potrs, self._trtrs = lapack.get_lapack_funcs(("potrs", "trtrs"), (gram,))
        diagonal = gram.diagonal().copy()
        smallest = 8 * np.finfo(gram.dtype).eps * max(float(np.mean(diagonal)), float(np.finfo(gram.dtype).tiny))
        if gram.dtype == np.float64:
            alpha = max(alpha, len(gram) * smallest)
        for _ in range(8):
            np.fill_diagonal(gram, diagonal + gram.dtype.type(alpha))
            if factorize(gram) == 0:
                self._factor, self.alpha = gram, alpha
                return
            # The factorization wrote over the lower triangle only.
            gram = np.asfortranarray(np.triu(gram, 1) + np.triu(gram, 1).T)
            alpha = max(10 * alpha, smallest)
        raise np.linalg.LinAlgError("the Gram matrix must be finite")

    def solve(self, right: Array) -> Array:
        """Return (gram + alpha I)^-1 right, in float64."""
        solution, _ = self._potrs(self._factor, right.astype(self._factor.dtype), lower=True)
        return np.asarray(solution, dtype=np.float64)

    def half_solve(self, right: Array) -> Array:
        """Return L'^-1 right, L L' = gram + alpha I, in float64: x' L'^-1 has the squared length x' (L L')^-1 x."""
        solution, _ = self._trtrs(self._factor, right.astype(self._factor.dtype), lower=True, trans=1)
        return np.asarray(solution, dtype=np.float64)


@dataclass(frozen=True)
class RidgeSolution:
    """Weights (m, k) and intercept (k,) in float64; the mean row, zeros without intercept; the factor; all weight."""

    coef: Array
    intercept: Array
    row_mean: Array
    factor: Factor
    weight: float


def factorize(matrix: NDArray[Any]) -> int:
    """Write the lower Cholesky factor over the lower triangle; the upper one is not touched.

    Several run side by side: scipy's own wrappers hold Python's lock, but the routines that it offers to Cython are
    plain pointers, and ctypes calls those without it. Returns 0, or the order of the first leading minor that is not
    positive definite.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.flags.f_contiguous:
        raise ValueError(f"matrix must be square and in Fortran's order, got shape {matrix.shape}")
    order, info = ctypes.c_int(len(matrix)), ctypes.c_int(0)
    side = ctypes.c_char(b"L")
    stride = ctypes.c_int(max(1, len(matrix)))
    pointers = (ctypes.byref(side), ctypes.byref(order), matrix.ctypes.data, ctypes.byref(stride), ctypes.byref(info))
    _routine(_POTRF[matrix.dtype])(*pointers)
    return info.value


@cache
def _routine(name: str) -> Callable[..., None]:
    """Return a routine of LAPACK whose arguments are all pointers."""
    capsule = cython_lapack.__pyx_capi__[name]
    read_name = ctypes.pythonapi.PyCapsule_GetName
    read_name.restype, read_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    read_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    read_pointer.restype, read_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = read_pointer(capsule, read_name(capsule))
    return ctypes.CFUNCTYPE(None, *5 * [ctypes.c_void_p])(address)


@dataclass
class ErrorSum:
    """Weighted errors over some rows: one number, or one a candidate."""

    total: Array | float

    def merge(self, part: ErrorSum) -> None:
        """Add those of other rows."""
        self.total += part.total


def _pull(part: Problem, coef: Array, intercept: Array) -> ErrorSum:
    """Return D' S (T - D w - b)."""
    residual = part.targets - part.train.matmul(coef) - intercept
    return ErrorSum(part.train.rmatmul(residual * part.weights[:, None]))


def squared_error(part: Problem, coef: Array, intercept: Array) -> ErrorSum:
    """Return sum_i s_i |t_i - f_i|^2."""
    residual = part.targets - part.predict.matmul(coef) - intercept
    return ErrorSum(float(part.weights @ np.sum(residual**2, axis=1)))


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
    units = np.r_[np.full(m * k, objective.unit), np.ones(k)]
    theta = np.zeros((m + 1) * k) if start is None else start.ravel() / units
    goal = tolerance if goal is None else goal
    # Vector updates of scipy are too short to split: threads wait for each other on busy machines. Packed products have
    # threads of their own; full features are multiplied by BLAS and keep its threads.
    with threadpool_limits(1, user_api="blas") if objective.problem.is_packed else nullcontext():
        result = scipy_minimize(
            objective.value_and_gradient,
            theta,
            jac=True,
            method="L-BFGS-B",
            callback=None if each_iteration is None else lambda intermediate: each_iteration(intermediate * units),
            options={"maxiter": max_iter, "gtol": goal, "ftol": 64 * np.finfo(float).eps * goal, "maxls": 50},
        )
    theta, gradient = result.x, result.jac
    if result.status != 1 and result.nit < max_iter:
        theta, gradient = _polished(objective, theta, gradient, result.hess_inv, goal)
    parameters = (theta * units).reshape(m + 1, k)
    converged = bool(np.max(np.abs(gradient), initial=0.0) <= tolerance)
    return Solution(parameters[:m].copy(), parameters[m].copy(), max(1, int(result.nit)), converged)


def _polished(
    objective: Objective, theta: Array, gradient: Array, inverse_hessian: Any, goal: float
) -> tuple[Array, Array]:
    """Return a point where the gradient is smaller, and that gradient: quasi-Newton steps that look at nothing else.

    Near the minimum values differ by less than their rounding long before gradients do, and a line search ends there.
    """
    size = float(np.max(np.abs(gradient), initial=0.0))
    for _ in range(_MOST_POLISHING):
        if size <= goal:
            break
        moved = theta - inverse_hessian @ gradient
        _, found = objective.value_and_gradient(moved)
        if not np.max(np.abs(found)) < 0.9 * size:
            break
        theta, gradient, size = moved, found, float(np.max(np.abs(found)))
    return theta, gradient


def held_out_loss(part: Problem, coef: Array, intercept: Array, loss: Loss) -> ErrorSum:
    """Return sum_i s_i loss_i."""
    scores = part.predict.matmul(coef) + intercept
    return ErrorSum(loss.value_and_gradient(scores, part.targets, part.weights)[0])


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
