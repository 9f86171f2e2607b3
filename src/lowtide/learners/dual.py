"""Least squares by the kernel matrix K = D D' of coded rows: of all rows, alone; of some, to speed conjugate gradients.

Neither needs a matrix of m x m: the number of components is bound by the codes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.cancel import Later, matmul
from lowtide.learners.cholesky import Factor, eigenvectors, pieces, suitable_threads, symmetric_copy, symmetric_product
from lowtide.learners.design import Design, FullDesign
from lowtide.learners.problem import Problem, SummedProblem
from lowtide.learners.ridge import (
    EXACT_ROWS,
    LEVERAGE_PROBES,
    ErrorSum,
    Leverages,
    NormalEquations,
    RidgeSolution,
    random_signs,
)

Array = NDArray[Any]
Kind = type[np.floating[Any]]

# What is left of an error after a refinement, relative to the solution, and how often one is made.
_PRECISION = 1e-10
_MOST_REFINEMENTS = 10
# Random vectors that the leverages of many rows are read from.
_DIAGONAL_PROBES = 64
# Columns of weights that are made at a time where there may be as many as rows.
_AT_ONCE = 8
# Columns beside the targets whose solutions tell the mean leverage.
_TRACE_PROBES = 2
# The part of the mean diagonal that is noise of a row's own, for quantization, and not shared with other rows.
_NOISE = 0.2
# Of the tolerance: what is measured is the error of scores over the rows, and a single row may have ten times as much.
_SAFETY = 0.1
# Steps without a better solution after which rounding is what is left.
_PATIENCE = 20
_RESTARTS = 4
# Entries of the codes times columns of weights whose product takes some ten milliseconds.
_LONG_PRODUCT = 1 << 29


@dataclass
class DualSystem:
    """(K + alpha S^-1) a = t - b, sum_i a_i = 0, w = D' a, for any alpha.

    What is kept is S^1/2 K S^1/2, which is well scaled whatever the weights are: in float64, or in float32 where only
    that is cheap, and solutions are then refined against the rows. Rows without weight are left out.
    """

    rows: Problem
    places: Array
    kernel: Array
    crossed: tuple[Design, Array] | None = None

    @classmethod
    def of(cls, problem: Problem, exact: bool) -> DualSystem:
        """Return the system of rows in memory; `exact` asks for float64 where counting does not give it anyway."""
        places, rows = _weighted(problem)
        kind = np.float64 if exact or rows.pair_cost < 1.0 else np.float32
        kernel = rows.train.kernel(rows.train, kind)
        if rows.weight is not None:
            root = np.sqrt(rows.weight).astype(kind)
            for part in pieces(kernel):
                kernel[part] *= root
                kernel[part] *= root[part, None]
        return cls(rows, places, kernel)

    @cached_property
    def root(self) -> Array:
        """Square roots of the weights."""
        return np.sqrt(self.rows.weights)

    def solve(self, alpha: float, *, exact: bool = False) -> RidgeSolution:
        """Return the minimizer from one Cholesky factorization; `exact` has it in float64 from the beginning."""
        right = self.root[:, None] * self.rows.targets
        if self.rows.fit_intercept:
            right = np.column_stack([right, self.root])
        found, factor = self._solved(alpha, right, np.float64 if exact else np.float32)
        intercept, pull = np.zeros(self.rows.n_targets), np.zeros(len(right))
        if self.rows.fit_intercept:
            found, ones = found[:, :-1], found[:, -1]
            # S^-1/2 (A^-1)_ii S^-1/2 of the system with its border is the diagonal of the inverse less pull^2.
            pull = ones / np.sqrt(self.root @ ones)
            intercept = (self.root @ found) / (self.root @ ones)
            found = found - np.outer(ones, intercept)
        # As many digits as float32 has are what a solution of large problems is refined to.
        pulled = np.ascontiguousarray(self.root[:, None] * found, dtype=np.float64 if exact else np.float32)
        # Beside what is asked of the rows meanwhile, where that is worth a thread.
        is_long = float(pulled.size) * self.rows.shape[1] > _LONG_PRODUCT
        coef = Later(self._weights, pulled) if is_long else self._weights(pulled)
        leverages = partial(self._leverages, factor=factor, pull=pull)
        # t - D w - b = alpha S^-1 a; rows without weight are not asked for.
        residual = np.zeros((int(self.places[-1]) + 1 if len(self.places) else 0, found.shape[1]))
        residual[self.places] = factor.alpha * found / self.root[:, None]
        return RidgeSolution(coef, intercept, "dual", leverages, residual=residual)

    def _weights(self, pulled: Array) -> Array:
        """Return D' of a vector a row, in float64."""
        return self.rows.train.rmatmul(pulled).astype(np.float64, copy=False)

    def _solved(self, alpha: float, right: Array, kind: Kind) -> tuple[Array, Factor]:
        """Return (K + alpha I)^-1 right, and the factor: a float32 one is refined, and replaced where that fails."""
        factor = Factor(symmetric_copy(self.kernel, kind), alpha)
        found = factor.solve(right)
        if kind == np.float64:
            if self.kernel.dtype == np.float64:
                return found, factor
        elif factor.alpha != alpha:
            return self._solved(alpha, right, np.float64)
        before = float(np.linalg.norm(found))
        for _ in range(_MOST_REFINEMENTS):
            step = factor.solve(right - self._image(found) - factor.alpha * found)
            found += step
            size = float(np.linalg.norm(step))
            if size * size <= before * _PRECISION * float(np.linalg.norm(found)):
                return found, factor
            if 2.0 * size >= before:
                break
            before = size
        return (found, factor) if kind == np.float64 else self._solved(alpha, right, np.float64)

    def _image(self, found: Array) -> Array:
        """Return S^1/2 K S^1/2 found, in float64."""
        if self.kernel.dtype == np.float64:
            return symmetric_product(self.kernel, found)
        pulled = self.rows.train.rmatmul(np.ascontiguousarray(self.root[:, None] * found))
        return self.root[:, None] * self.rows.train.matmul(pulled)

    def _along(self, rows: Problem) -> Array:
        """Return products of rows on the side that predicts with all on the side that learns, made once."""
        if self.crossed is None or self.crossed[0] is not rows.predict:
            self.crossed = (rows.predict, rows.predict.kernel(self.rows.train, np.float64))
        return self.crossed[1]

    def _leverages(self, rows: Problem, places: Array, exact: bool, *, factor: Factor, pull: Array) -> Leverages:
        """Return leverages of rows at these places: s_i l_i = 1 - alpha (A^-1)_ii on the side that learns.

        On the side that predicts they are the diagonal of Z X' A^-1, and what the intercept adds.
        """
        weights, n, same = self.rows.weights, len(pull), rows.predict is rows.train
        pulled = pull * float(self.root @ pull) / max(float(self.root @ pull) ** 2, np.finfo(float).tiny)
        at = np.searchsorted(self.places, places)
        if same:
            diagonal = factor.inverse_diagonal() if len(at) <= EXACT_ROWS else _probed_diagonal(factor, n)
            own = ((1.0 - factor.alpha * (diagonal - pull**2)) / weights)[at]
            return Leverages(own, own, 0.0)
        if exact:
            own = ((1.0 - factor.alpha * (factor.inverse_diagonal() - pull**2)) / weights)[at]
            moved = self.root[:, None] * (factor.solve(np.eye(n)[:, at]) - np.outer(pull, pull[at]))
            other = np.einsum("ij,ji->i", self._along(rows), moved)
            return Leverages(own, (other + pulled[at]) / self.root[at], 0.0)
        signs, total = random_signs(n, LEVERAGE_PROBES), float(weights.sum())
        moved = factor.solve(signs) - np.outer(pull, pull @ signs)
        own = (n - factor.alpha * np.sum(signs * moved, axis=0)) / total
        image = np.empty_like(moved)
        for first in range(0, LEVERAGE_PROBES, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            coef = self.rows.train.rmatmul(np.ascontiguousarray(self.root[:, None] * moved[:, some]))
            image[:, some] = self.rows.predict.matmul(coef)
        other = ((self.root[:, None] * signs * image).sum(axis=0) + float(pulled @ self.root)) / total
        return Leverages.mean(0.0, own, other)


def _probed_diagonal(factor: Factor, n: int) -> Array:
    """Return an estimate of the diagonal of the inverse, to a sixth of each entry; one over it is right on average."""
    half = factor.half_solve(random_signs(n, _DIAGONAL_PROBES))
    return np.asarray(np.sum(half**2, axis=1) / (_DIAGONAL_PROBES - 2))


@dataclass(frozen=True)
class RowSpan:
    """Rows in coordinates of the space that they span: n columns in place of m, for losses of any kind.

    With K = L L' the rows are D = L Q, Q of orthonormal rows. Scores D w are L v with v = Q w of the same length, and
    what is orthogonal to all rows only adds to |w|: w = Q' v = D' L'^-1 v.
    """

    problem: Problem
    rows: Problem
    places: Array
    factor: Factor

    @classmethod
    def of(cls, problem: Problem, dtype: Kind) -> RowSpan:
        """Return the span of rows in memory that have weight, in coordinates of a type."""
        places, rows = _weighted(problem)
        factor = Factor(rows.train.kernel(rows.train, np.float64).T, 0.0)
        train = predict = dense_design(factor.lower_as(dtype))
        if rows.predict is not rows.train:
            along = rows.train.kernel(rows.predict, np.float64)
            predict = dense_design(np.ascontiguousarray(factor.lower_solve(along).T, dtype=dtype))
        return cls(replace(rows, train=train, predict=predict), rows, places, factor)

    def view(self, rows: Problem, places: Array) -> Problem:
        """Return rows at these places in the coordinates of the span."""
        own = self.problem.take(np.searchsorted(self.places, places))
        return replace(rows, train=own.train, predict=own.predict)

    def coef(self, inner: Array) -> Array:
        """Return weights (m, k) of weights (n, k) in the span."""
        return self.rows.train.rmatmul(np.ascontiguousarray(self.factor.half_solve(inner)))

    def inner(self, coef: Array) -> Array:
        """Return weights (n, k) in the span that score rows as weights (m, k) do."""
        return self.factor.lower_solve(self.rows.train.matmul(np.ascontiguousarray(coef)))


def _weighted(problem: Problem) -> tuple[Array, Problem]:
    """Return the places of rows whose weight is not zero, and these rows."""
    places = np.arange(problem.shape[0]) if problem.weight is None else np.flatnonzero(problem.weight)
    return places, problem.take(places) if len(places) < problem.shape[0] else problem


def dense_design(matrix: Array) -> FullDesign:
    """Return floats as rows to fit on."""
    return FullDesign(np.asarray, matrix, matrix.shape[1])


class Landmarks:
    """Some centered rows X, by their kernel matrix: for powers of P = c (shift I + X' S X), c S the weight of all rows.

    A row of some stands for c others and has noise of its own that they do not share: the shift is raised by that, so
    that P is not too large where it lies. With all rows there is none, and P is the matrix of least squares itself.
    """

    def __init__(self, rows: Problem, row_mean: Array, weight: float, alpha: float, kind: Kind) -> None:
        self.row_mean, self._design, self._kind = row_mean, rows.train, kind
        self._root = np.sqrt(rows.weights)[:, None]
        self.share = rows.total_weight / weight
        kernel = rows.train.kernel(rows.train, kind)
        along = rows.train.matmul(np.ascontiguousarray(row_mean[:, None]))
        kernel -= along.astype(kind)
        kernel -= (along.T - row_mean @ row_mean).astype(kind)
        kernel *= self._root.astype(kind)
        kernel *= self._root.T.astype(kind)
        noise = _NOISE * float(np.mean(np.diagonal(kernel))) if self.share < 1.0 - 1e-9 else 0.0
        self.kernel, self.shift = kernel, alpha * self.share + noise

    def less(self, columns: Array, middle: Callable[[Array], Array]) -> Array:
        """Return V - X' S^1/2 f(S^1/2 X V) of columns V (m, k), where f is a product with a function of the matrix."""
        inner = self._design.matmul(np.ascontiguousarray(columns, dtype=self._kind)) - self.row_mean @ columns
        inner = self._root * middle(self._root * inner)
        pulled = self._design.rmatmul(np.ascontiguousarray(inner, dtype=self._kind))
        return np.asarray(columns - pulled + np.outer(self.row_mean, inner.sum(axis=0)))


class Preconditioner:
    """P^-1 of landmarks, from a Cholesky factor."""

    def __init__(self, landmarks: Landmarks) -> None:
        self._landmarks = landmarks
        self._factor = Factor(np.asfortranarray(landmarks.kernel.T), landmarks.shift)

    def apply(self, right: Array) -> Array:
        """Return P^-1 right of columns (m, k)."""
        return self._landmarks.less(right, self._factor.solve) * (self._landmarks.share / self._factor.alpha)


class Conditioner:
    """(scale P)^1/2 of landmarks, from their eigenvectors: in (scale P)^1/2 w a loss curves alike in all directions."""

    def __init__(self, landmarks: Landmarks, scale: float) -> None:
        self._landmarks = landmarks
        with suitable_threads(len(landmarks.kernel)):
            values, vectors = eigenvectors(symmetric_copy(landmarks.kernel, np.float64))
        self._vectors = vectors.astype(landmarks.kernel.dtype)
        self._values = np.maximum(values, np.finfo(float).eps * max(float(values[-1]), 1.0))
        self.row_mean, self._size = landmarks.row_mean, float(np.sqrt(scale * landmarks.shift / landmarks.share))

    def halved(self, columns: Array) -> Array:
        """Return (scale P)^-1/2 of columns (m, k)."""
        ratio = np.sqrt(self._landmarks.shift / (self._landmarks.shift + self._values))
        return self._applied(columns, (1.0 - ratio) / self._values) / self._size

    def doubled(self, columns: Array) -> Array:
        """Return (scale P)^1/2 of columns (m, k)."""
        ratio = np.sqrt((self._landmarks.shift + self._values) / self._landmarks.shift)
        return self._applied(columns, (1.0 - ratio) / self._values) * self._size

    def _applied(self, columns: Array, factors: Array) -> Array:
        def middle(inner: Array) -> Array:
            turned = matmul(self._vectors.T, inner.astype(self._vectors.dtype))
            return matmul(self._vectors, factors[:, None].astype(turned.dtype) * turned)

        return self._landmarks.less(columns, middle)


@dataclass(frozen=True)
class IterativeSystem:
    """(X' S X + alpha I) w = X' S t of centered rows, by conjugate gradients on products with the codes.

    `some` are rows in memory for the preconditioner, with weights; `kind` is the type of the products.
    """

    problem: SummedProblem
    some: Problem
    kind: Kind
    tolerance: float
    max_iter: int

    @cached_property
    def _sums(self) -> NormalEquations:
        return self.problem.sum(_right_sides)

    def solve(self, alpha: float) -> RidgeSolution:
        """Return the minimizer: the error of its scores is below a tenth of the tolerance of their own size."""
        sums, m = self._sums, self.problem.shape[1]
        row_mean, target_mean = np.zeros(m), np.zeros(self.problem.n_targets)
        if self.problem.fit_intercept:
            row_mean, target_mean = sums.row_sum / sums.weight, sums.target_sum / sums.weight
        right = sums.cross - np.outer(row_mean, sums.target_sum)
        signs = random_signs(m, _TRACE_PROBES)
        preconditioner = Preconditioner(Landmarks(self.some, row_mean, sums.weight, alpha, self.kind))

        def product(columns: Array, kind: Kind) -> Array:
            wanted = np.ascontiguousarray(columns, dtype=kind)
            total = np.asarray(self.problem.sum(_normal_product, wanted, row_mean @ columns).total)
            return total[:-1] - np.outer(row_mean, total[-1]) + alpha * columns

        both = np.column_stack([right, signs])
        found, n_iter, converged = self._descend(product, preconditioner, both, right.shape[1])
        coef, solved = found[:, : right.shape[1]], found[:, right.shape[1] :]
        probed: dict[str, Any] = {"signs": signs, "solved": solved, "mean": row_mean, "weight": sums.weight}
        leverages = partial(_trace_leverages, alpha=alpha, **probed)
        intercept = target_mean - row_mean @ coef
        return RidgeSolution(coef, intercept, "iterative", leverages, n_iter, converged)

    def _descend(
        self, product: Any, preconditioner: Preconditioner, right: Array, n_targets: int
    ) -> tuple[Array, int, bool]:
        """Return solutions of all columns, steps taken, and whether the first n_targets are what was asked for.

        r' P^-1 r is about the squared error of the scores over all rows. Products in float32 let the residual drift
        from what it stands for; it is made anew in float64 at the end, and steps go on from there if need be.
        """
        found, residual, n_iter = np.zeros_like(right), right.copy(), 0
        goal = np.zeros(0)
        for _ in range(_RESTARTS):
            pushed = preconditioner.apply(residual)
            direction, size = pushed.copy(), np.sum(residual * pushed, axis=0)
            goal = goal if len(goal) else (_SAFETY * self.tolerance) ** 2 * size[:n_targets]
            if np.all(size[:n_targets] <= 4.0 * goal):
                return found, max(1, n_iter), True
            lowest, since = np.inf, 0
            while n_iter < self.max_iter and since < _PATIENCE and np.any(size[:n_targets] > goal):
                image = product(direction, self.kind)
                along = np.sum(direction * image, axis=0)
                step = np.divide(size, along, out=np.zeros_like(size), where=along > 0.0)
                found += step * direction
                residual -= step * image
                pushed = preconditioner.apply(residual)
                previous, size = size, np.sum(residual * pushed, axis=0)
                direction *= np.divide(size, previous, out=np.zeros_like(size), where=previous > 0.0)
                direction += pushed
                n_iter += 1
                worst = float(np.max(size[:n_targets] / np.maximum(goal, np.finfo(float).tiny)))
                lowest, since = (worst, 0) if worst < lowest else (lowest, since + 1)
            residual = right - product(found, np.float64)
            if n_iter >= self.max_iter:
                break
        size = np.sum(residual * preconditioner.apply(residual), axis=0)
        return found, max(1, n_iter), bool(np.all(size[:n_targets] <= 100.0 * goal))


def _right_sides(part: Problem) -> NormalEquations:
    """Return D' S T and the other sums that need no Gram matrix."""
    return NormalEquations.right_sides(part.train, part.targets, part.weight)


def weight_sums(part: Problem) -> NormalEquations:
    """Return D' s and the sum of s, and no targets."""
    return NormalEquations.right_sides(part.train, np.zeros((part.shape[0], 0)), part.weight)


def _normal_product(part: Problem, columns: Array, offset: Array) -> ErrorSum:
    """Return D' S (D V - offset), and below it the sums of S (D V - offset), in float64."""
    scores = part.train.matmul(columns).astype(np.float64, copy=False) - offset
    if part.weight is not None:
        scores *= part.weight[:, None]
    pulled = part.train.rmatmul(np.ascontiguousarray(scores, dtype=columns.dtype))
    return ErrorSum(np.vstack([pulled.astype(np.float64, copy=False), scores.sum(axis=0)]))


def _trace_leverages(
    rows: Problem, places: Array, exact: bool, *, signs: Array, solved: Array, mean: Array, alpha: float, weight: float
) -> Leverages:
    """Return mean leverages from e and A^-1 e of a few vectors e of signs, whatever is asked for.

    tr A^-1 X'SX = m - alpha tr A^-1, and the trace of an inverse is the mean of e' A^-1 e.
    """
    own = other = (len(mean) - alpha * np.sum(signs * solved, axis=0)) / weight
    if rows.predict is not rows.train:
        x = rows.train.matmul(np.ascontiguousarray(solved)) - mean @ solved
        z = rows.predict.matmul(np.ascontiguousarray(signs)) - mean @ signs
        other = rows.weights @ (x * z) / rows.total_weight
    return Leverages.mean(1.0 / weight if rows.fit_intercept else 0.0, own, other)
