"""Least squares from sums that are gathered once, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from lowtide.learners.design import Design
from lowtide.learners.problem import Problem, SummedProblem
from lowtide.learners.solvers.cholesky import factorize

__all__ = ["CenteredSystem", "Factor", "NormalEquations", "RidgeSolution"]

Array = NDArray[Any]

# A step of refinement gains the digits of float32 less those of the condition number, so mostly one is enough.
_MOST_REFINEMENTS = 6
_PRECISION = 1e-7
_ROWS_AT_ONCE = 64


class NormalEquations:
    """The sums that min_w sum_i s_i |t_i - D_i w - b|^2 + alpha |w|^2 depends on.

    Parameters
    ----------
    n_features, n_targets : int
    dtype : {float64, float32}
        Of the Gram matrix. float32 halves the memory; `solve` then refines against the rows.

    Attributes
    ----------
    gram : ndarray (m, m), D' S D
    cross : ndarray of float64 (m, k), D' S T
    row_sum : ndarray of float64 (m,), D' s
    target_sum : ndarray of float64 (k,), T' s
    weight : float, the sum of s
    """

    def __init__(self, n_features: int, n_targets: int, dtype: type[np.floating[Any]] = np.float64) -> None:
        self.dtype = dtype
        self.gram: Array | None = None
        self.cross = np.zeros((n_features, n_targets))
        self.row_sum = np.zeros(n_features)
        self.target_sum = np.zeros(n_targets)
        self.weight = 0.0

    @classmethod
    def of(cls, part: Problem, dtype: type[np.floating[Any]]) -> NormalEquations:
        """Return the sums of some rows."""
        sums = cls(part.shape[1], part.n_targets, dtype)
        sums.add(part.train, part.targets, part.weight)
        return sums

    @classmethod
    def summed(cls, problem: SummedProblem, dtype: type[np.floating[Any]]) -> NormalEquations:
        """Return the sums of all rows."""
        # A Gram matrix is added in a tenth of the time that half as many bytes of one-bit codes take to be counted.
        gram_bytes = problem.shape[1] ** 2 * np.dtype(dtype).itemsize
        return problem.sum(cls.of, dtype, at_least=gram_bytes // 2)

    def add(self, design: Design, targets: Array, weight: Array | None) -> None:
        """Add rows: targets (n, k), weights (n,) or None for ones."""
        block = design.gram(weight, self.dtype)
        if self.gram is None:
            self.gram = block
        else:
            self.gram += block
        weights = np.ones(design.shape[0]) if weight is None else weight
        right = design.rmatmul(np.column_stack([targets * weights[:, None], weights]))
        self.cross += right[:, :-1]
        self.row_sum += right[:, -1]
        self.target_sum += targets.T @ weights
        self.weight += float(weights.sum())

    def merge(self, part: NormalEquations) -> None:
        """Add the sums of other rows."""
        self.gram = _gram(part).copy() if self.gram is None else np.add(self.gram, _gram(part), out=self.gram)
        self.cross += part.cross
        self.row_sum += part.row_sum
        self.target_sum += part.target_sum
        self.weight += part.weight

    def without(self, part: NormalEquations) -> NormalEquations:
        """Return the sums less those of some of the rows, which stay as they are."""
        rest = NormalEquations(*self.cross.shape, self.dtype)
        rest.gram = _gram(self) - _gram(part)
        rest.cross, rest.row_sum = self.cross - part.cross, self.row_sum - part.row_sum
        rest.target_sum, rest.weight = self.target_sum - part.target_sum, self.weight - part.weight
        return rest

    def remove(self, part: NormalEquations) -> None:
        """Take away the sums of some of the rows."""
        np.subtract(_gram(self), _gram(part), out=self.gram)
        self.cross -= part.cross
        self.row_sum -= part.row_sum
        self.target_sum -= part.target_sum
        self.weight -= part.weight

    def columns(self, which: Array, scale: float) -> NormalEquations:
        """Return the sums of some of the columns, scaled."""
        some = NormalEquations(len(which), self.cross.shape[1], self.dtype)
        some.gram = np.empty((len(which), len(which)), dtype=self.dtype)
        # Rows, then columns, a few rows at a time: much faster than both at once.
        for rows in range(0, len(which), _ROWS_AT_ONCE):
            part = slice(rows, rows + _ROWS_AT_ONCE)
            np.multiply(_gram(self)[which[part]][:, which], self.dtype(scale**2), out=some.gram[part])
        some.cross, some.row_sum = self.cross[which] * scale, self.row_sum[which] * scale
        some.target_sum, some.weight = self.target_sum.copy(), self.weight
        return some

    def widen(self, n_targets: int) -> None:
        """Make room for targets that appear later; rows so far count as zero in them."""
        new = n_targets - self.cross.shape[1]
        self.cross = np.pad(self.cross, ((0, 0), (0, new)))
        self.target_sum = np.pad(self.target_sum, (0, new))

    def solve(self, alpha: float, *, fit_intercept: bool = True, problem: SummedProblem | None = None) -> RidgeSolution:
        """Return the minimizer, by one Cholesky factorization.

        Parameters
        ----------
        alpha : float
        fit_intercept : bool, default=True
        problem : SummedProblem, optional
            What the sums were made of; with it a float32 solution is refined, to about 1e-7 of its size.
        """
        factor, row_mean = self._factorize(alpha, fit_intercept)
        target_mean = self.target_sum / self.weight if fit_intercept else np.zeros_like(self.target_sum)
        coef = factor.solve(self.cross - np.outer(row_mean, self.target_sum))
        before = float(np.linalg.norm(coef))
        for _ in range(_MOST_REFINEMENTS if problem is not None and self.dtype == np.float32 else 0):
            pull = problem.sum(_Pull.of, coef, target_mean - row_mean @ coef)  # type: ignore[union-attr]
            step = factor.solve(pull.total - alpha * coef)
            coef += step
            # Steps shrink by one rate: what is left is the next of them.
            size = float(np.linalg.norm(step))
            if size * size <= before * _PRECISION * float(np.linalg.norm(coef)) or 2.0 * size >= before:
                break
            before = size
        return RidgeSolution(coef, target_mean - row_mean @ coef, row_mean, factor)

    def centered(self, *, fit_intercept: bool = True) -> CenteredSystem:
        """Return the equations of centered rows, to be solved for many alphas."""
        gram, row_mean = self._centered(fit_intercept)
        target_mean = self.target_sum / self.weight if fit_intercept else np.zeros_like(self.target_sum)
        return CenteredSystem(gram, self.cross - np.outer(row_mean, self.target_sum), row_mean, target_mean)

    def _factorize(self, alpha: float, fit_intercept: bool) -> tuple[Factor, Array]:
        """Factorize the Gram matrix of centered rows plus alpha I."""
        gram, row_mean = self._centered(fit_intercept)
        return Factor(gram, alpha), row_mean

    def _centered(self, fit_intercept: bool) -> tuple[Array, Array]:
        """Return a Gram matrix of centered rows, in LAPACK's order and the caller's own, and the mean row."""
        # Symmetric, so its transpose is a plain copy in the order that LAPACK wants.
        gram = _gram(self).T.copy(order="F")
        row_mean = self.row_sum / self.weight if fit_intercept else np.zeros_like(self.row_sum)
        if fit_intercept:
            ger = blas.sger if self.dtype == np.float32 else blas.dger
            gram = ger(-1.0, row_mean.astype(self.dtype), self.row_sum.astype(self.dtype), a=gram, overwrite_a=1)
        return gram, row_mean


@dataclass
class _Pull:
    """D' S (T - D w - b) of some rows."""

    total: Array

    @classmethod
    def of(cls, part: Problem, coef: Array, intercept: Array) -> _Pull:
        residual = part.targets - part.train.matmul(coef) - intercept
        return cls(part.train.rmatmul(residual * part.weights[:, None]))

    def merge(self, part: _Pull) -> None:
        self.total += part.total


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
    """The Cholesky factor of gram + alpha I, in place of gram; alpha is raised where rounding made it indefinite."""

    def __init__(self, gram: Array, alpha: float) -> None:
        (self._potrs,) = lapack.get_lapack_funcs(("potrs",), (gram,))
        diagonal = gram.diagonal().copy()
        smallest = 8 * np.finfo(gram.dtype).eps * max(float(np.mean(diagonal)), float(np.finfo(gram.dtype).tiny))
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


@dataclass(frozen=True)
class RidgeSolution:
    """Weights (m, k) and intercept (k,) in float64, the mean row (zeros without intercept), and the factor."""

    coef: Array
    intercept: Array
    row_mean: Array
    factor: Factor


def _gram(equations: NormalEquations) -> Array:
    if equations.gram is None:
        raise ValueError("no rows have been added")
    return equations.gram
