"""Least squares from m x m sums that are gathered once; what a solution in any form is.

All forms minimize sum_i s_i |t_i - D_i w - b|^2 + alpha |w|^2: "primal" by the sums here, "dual" by the kernel matrix
of the rows, "iterative" by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from lowtide._checks import check_memory
from lowtide.cancel import Later, ready
from lowtide.learners.cholesky import Factor, pieces, suitable_threads, symmetric_copy
from lowtide.learners.design import Design
from lowtide.learners.problem import Problem, SummedProblem

Array = NDArray[Any]
Form = Literal["primal", "dual", "iterative"]
FORMS: tuple[Form, ...] = ("primal", "dual", "iterative")

# A step of refinement gains the digits of float32 less those of the condition number, so mostly one is enough.
_MOST_REFINEMENTS = 6
_PRECISION = 1e-7
_ROWS_AT_ONCE = 64
# Below this many code entries solutions are float64 throughout.
_SMALL_PROBLEM = 1 << 24
# Random vectors that mean leverages are read from: to some percent of their mean for a hundred features or more.
LEVERAGE_PROBES = 16
# Up to so many rows leverages are exact; up to the second where there are as many features. One less a leverage is not
# trusted below the last.
EXACT_ROWS, _MOST_EXACT_ROWS = 2048, 8192
LEAST_REST = 0.01
# Products that may be made of two sides for it.
_CROSS_PRODUCTS = 1 << 34


class Leverages(NamedTuple):
    """Per unit of weight, how much a row's target moves its own score: on the side that learns, on that which predicts.

    Each is (n,), or (1,) where only their mean is known; `doubt` is the standard error of the mean of `own`.
    """

    own: Array
    other: Array
    doubt: float

    @classmethod
    def mean(cls, base: float, own: Array, other: Array) -> Leverages:
        """Return the means of estimates from independent probes, to each of which `base` is added."""
        doubt = float(np.std(own, ddof=1)) / np.sqrt(len(own))
        return cls(np.array([base + float(own.mean())]), np.array([base + float(other.mean())]), doubt)


@dataclass(frozen=True)
class RidgeSolution:
    """Weights (m, k) and intercept (k,) in float64, how they were found, and what rows have done to them.

    The weights of many columns may still be in the making when all else is known already.
    `leverages(rows, places, exact)` are those of some of the rows, whose places among all are known where all are in
    memory; not exact ones cost little beside the solution. `residual` (n, k) is that of all rows, where it is known.
    """

    weights: Array | Later[Array]
    intercept: Array
    form: Form
    leverages: Callable[..., Leverages]
    n_iter: int = 1
    is_converged: bool = True
    residual: Array | None = None

    @property
    def coef(self) -> Array:
        """The weights, waited for if they have to be."""
        return ready(self.weights)

    def left_out(self, rows: Problem, places: Array, unit: float | Array = 1.0, exact: bool | None = None) -> Array:
        """Return scores (n, k) on the side that predicts, each as if its row had been left out.

        f_i - g_i e_i / (1 - h_i), e_i the residual, h_i and g_i the leverages s (1/S + x_i' A^-1 x_i) and
        s (1/S + z_i' A^-1 x_i) of a row of weight s with the sides x and z, A = X'SX + alpha I of centered rows. They
        are exact for few rows, and for more where there are features enough to nearly pass through them. Else only
        their means are taken, which is generalized cross-validation.

        `rows` may be some of those that the solution is of, at these places among them, and `unit` is the weight s of
        one, or of each. `exact` overrules what is few.
        """
        if exact is None:
            n, m = rows.shape
            exact = n <= max(EXACT_ROWS, min(m, _MOST_EXACT_ROWS))
            # The kernel matrix of two sides is what exact ones take in the dual.
            exact = exact and (rows.predict is rows.train or n * n * m <= _CROSS_PRODUCTS)
        own, other, doubt = self.leverages(rows, places, exact)
        # 1 - h is not trusted below two of its standard errors.
        rest = np.maximum(1.0 - unit * own, np.maximum(2.0 * unit * doubt, LEAST_REST))
        if self.residual is not None:
            residual = self.residual[places]
        else:
            residual = rows.targets - rows.train.matmul(self.coef) - self.intercept
        scores = rows.targets - residual
        if rows.predict is not rows.train:
            scores = rows.predict.matmul(self.coef) + self.intercept
        return np.asarray(scores - (unit * other / rest)[:, None] * residual)


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
        found = cls.right_sides(design, targets, weight)
        found.gram = design.gram(weight, dtype)
        return found

    @classmethod
    def right_sides(cls, design: Design, targets: Array, weight: Array | None) -> NormalEquations:
        """Return the sums of rows without their Gram matrix, whose place has no entries."""
        weights = np.ones(design.shape[0]) if weight is None else weight
        right = design.rmatmul(np.column_stack([targets * weights[:, None], weights]))
        return cls(np.empty((0, 0)), right[:, :-1], right[:, -1], targets.T @ weights, float(weights.sum()))

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
        leverages = partial(_sum_leverages, factor=factor, row_mean=row_mean, weight=self.weight)
        return RidgeSolution(coef, target_mean - row_mean @ coef, "primal", leverages)

    def centered(self, *, fit_intercept: bool = True) -> CenteredSystem:
        """Return the equations of centered rows, to be solved for many alphas."""
        gram = symmetric_copy(self.gram)
        row_mean, target_mean = np.zeros_like(self.row_sum), np.zeros_like(self.target_sum)
        if fit_intercept:
            row_mean, target_mean = self.row_sum / self.weight, self.target_sum / self.weight
            ger = blas.sger if self.dtype == np.float32 else blas.dger
            left, right = row_mean.astype(self.dtype), self.row_sum.astype(self.dtype)
            with suitable_threads(len(gram)):
                for part in pieces(gram):
                    ger(-1.0, left, right[part], a=gram[:, part], overwrite_a=1)
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
        # Several are solved side by side.
        factor = Factor(symmetric_copy(self.gram.T), alpha, n_threads=1)
        if factor.alpha != alpha and self.gram.dtype == np.float32:
            factor = Factor(symmetric_copy(self.gram.T, np.float64), alpha, n_threads=1)
        coef = factor.solve(self.right)
        return coef, self.target_mean - self.row_mean @ coef


@dataclass
class ErrorSum:
    """Weighted errors over some rows: one number, or one a candidate."""

    total: Array | float

    def merge(self, part: ErrorSum) -> None:
        """Add those of other rows."""
        self.total += part.total


def check_sums(owner: str, m: int) -> None:
    """Refuse to gather sums of m x m for which there is no room: those so far, a part's, and the factor."""
    what = f"matrices of {m:,} x {m:,} features, which rows in blocks are added to,"
    remedy = "Lower n_components, or fit on all rows at once, as Codes or a store: that needs no such matrix."
    check_memory(owner, 3.0 * 8.0 * m * m, what, remedy)


def _pull(part: Problem, coef: Array, intercept: Array) -> ErrorSum:
    """Return D' S (T - D w - b)."""
    residual = part.targets - part.train.matmul(coef) - intercept
    return ErrorSum(part.train.rmatmul(residual * part.weights[:, None]))


def _sum_leverages(
    rows: Problem, places: Array, exact: bool, *, factor: Factor, row_mean: Array, weight: float
) -> Leverages:
    """Return leverages 1/S + z_i' A^-1 x_i, A the factor's matrix of centered rows.

    They are products of x_i' A^-1/2 and z_i' A^-1/2; for their mean these are multiplied with a few vectors of signs.
    """
    base = 1.0 / weight if rows.fit_intercept else 0.0
    if exact:
        own, other = factor.row_products(rows, row_mean)
        return Leverages(base + own, base + other, 0.0)
    half = factor.half_solve(random_signs(len(row_mean), LEVERAGE_PROBES))
    half = np.ascontiguousarray(half, dtype=product_dtype(*rows.shape))
    x = z = rows.train.matmul(half).astype(np.float64, copy=False) - row_mean @ half
    if rows.predict is not rows.train:
        z = rows.predict.matmul(half).astype(np.float64, copy=False) - row_mean @ half
    return Leverages.mean(base, *(rows.weights @ (x * side) / rows.total_weight for side in (x, z)))


def product_dtype(n: int, m: int) -> type[np.floating[Any]]:
    """Return the type for sums over n x m code entries."""
    return np.float64 if n * m < _SMALL_PROBLEM else np.float32


def random_signs(n: int, k: int) -> Array:
    """Return signs (n, k) that depend on nothing else: weights and repeated rows get the same ones."""
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(n, k))
