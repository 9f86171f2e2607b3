"""Least squares from m x m sums that are gathered once; what a solution in any form is, and its Cholesky factor.

All forms minimize sum_i s_i |t_i - D_i w - b|^2 + alpha |w|^2: "primal" by the sums here, "dual" by the kernel matrix
of the rows, "iterative" by conjugate gradients.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cython_blas, cython_lapack, lapack
from threadpoolctl import ThreadpoolController

from lowtide._checks import check_memory
from lowtide.learners.design import Design
from lowtide.learners.problem import Problem, SummedProblem

Array = NDArray[Any]
Form = Literal["primal", "dual", "iterative"]
FORMS: tuple[Form, ...] = ("primal", "dual", "iterative")

# A step of refinement gains the digits of float32 less those of the condition number, so mostly one is enough.
_MOST_REFINEMENTS = 6
_PRECISION = 1e-7
_ROWS_AT_ONCE = 64
# Columns of a block that one thread works on.
_BLOCK_COLUMNS = 256
# Below this many code entries solutions are float64 throughout.
_SMALL_PROBLEM = 1 << 24
# Random vectors that mean leverages are read from: to some percent of their mean for a hundred features or more.
LEVERAGE_PROBES = 16
# Rows that a thread solves for at a time, for exact ones.
_ROWS_SOLVED = 128
# Up to so many rows leverages are exact; up to the second where there are as many features. One less a leverage is not
# trusted below the last.
EXACT_ROWS, _MOST_EXACT_ROWS = 2048, 8192
LEAST_REST = 0.01
# Products that may be made of two sides for it.
_CROSS_PRODUCTS = 1 << 34
# Up to this order one thread solves about as fast as two, and much faster than two on a busy machine.
_ONE_THREAD_ORDER = 6000


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

    `leverages(rows, places, exact)` are those of some of the rows, whose places among all are known where all are in
    memory; not exact ones cost little beside the solution. `residual` (n, k) is that of all rows, where it is known.
    """

    coef: Array
    intercept: Array
    form: Form
    leverages: Callable[..., Leverages]
    n_iter: int = 1
    is_converged: bool = True
    residual: Array | None = None

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
        # Several are solved side by side.
        factor = Factor(self.gram.copy(order="F"), alpha, n_threads=1)
        if factor.alpha != alpha and self.gram.dtype == np.float32:
            factor = Factor(np.asfortranarray(self.gram, dtype=np.float64), alpha, n_threads=1)
        coef = factor.solve(self.right)
        return coef, self.target_mean - self.row_mean @ coef


class Factor:
    """The Cholesky factor of gram + alpha I, in place of gram; alpha is raised where it is lost in rounding.

    In float64 an alpha below m roundings of the mean diagonal is raised to that: gram may have as large an error in
    directions that no row has, and would be inverted there. In float32 it is raised where gram became indefinite.
    """

    def __init__(self, gram: Array, alpha: float, n_threads: int | None = None) -> None:
        names = "potrs", "trtrs", "trtri"
        self._potrs, self._trtrs, self._trtri = lapack.get_lapack_funcs(names, (gram,))
        diagonal = gram.diagonal().copy()
        smallest = 8 * np.finfo(gram.dtype).eps * max(float(np.mean(diagonal)), float(np.finfo(gram.dtype).tiny))
        if gram.dtype == np.float64:
            alpha = max(alpha, len(gram) * smallest)
        for _ in range(8):
            np.fill_diagonal(gram, diagonal + gram.dtype.type(alpha))
            if factorize(gram, n_threads) == 0:
                self._factor, self.alpha = gram, alpha
                return
            # The factorization wrote over the lower triangle only.
            gram = np.asfortranarray(np.triu(gram, 1) + np.triu(gram, 1).T)
            alpha = max(10 * alpha, smallest)
        raise np.linalg.LinAlgError("the Gram matrix must be finite")

    def solve(self, right: Array) -> Array:
        """Return (gram + alpha I)^-1 right, in float64."""
        with suitable_threads(len(self._factor)):
            solution, _ = self._potrs(self._factor, right.astype(self._factor.dtype), lower=True)
        return np.asarray(solution, dtype=np.float64)

    def half_solve(self, right: Array) -> Array:
        """Return L'^-1 right, L L' = gram + alpha I, in float64: x' L'^-1 has the squared length x' (L L')^-1 x."""
        with suitable_threads(len(self._factor)):
            solution, _ = self._trtrs(self._factor, right.astype(self._factor.dtype), lower=True, trans=1)
        return np.asarray(solution, dtype=np.float64)

    @property
    def lower(self) -> Array:
        """L itself, zero above its diagonal."""
        return np.tril(self._factor)

    def lower_solve(self, right: Array) -> Array:
        """Return L^-1 right, in float64: its columns have the squared lengths x' (L L')^-1 x."""
        with suitable_threads(len(self._factor)):
            solution, _ = self._trtrs(self._factor, right.astype(self._factor.dtype), lower=True)
        return np.asarray(solution, dtype=np.float64)

    def row_products(self, rows: Problem, row_mean: Array) -> tuple[Array, Array]:
        """Return x_i' (L L')^-1 x_i and z_i' (L L')^-1 x_i of the sides of rows, less the mean row, in float64."""
        own, other, blocks = np.zeros(rows.shape[0]), np.zeros(rows.shape[0]), range(0, rows.shape[0], _ROWS_SOLVED)

        def solve(design: Design) -> Array:
            solved = np.asfortranarray((design.dense() - row_mean).T, dtype=self._factor.dtype)
            solve_lower(self._factor, solved)
            return solved

        def fill(start: int) -> None:
            part = slice(start, start + _ROWS_SOLVED)
            block = rows.take(part)
            x = z = solve(block.train)
            if block.predict is not block.train:
                z = solve(block.predict)
            own[part], other[part] = (np.einsum("ij,ij->j", x, each, dtype=np.float64) for each in (x, z))

        _on_threads(fill, blocks)
        return own, other

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of (gram + alpha I)^-1, in float64, at the cost of another factorization.

        The squared lengths of columns of L^-1: a few columns at a time, on all threads side by side.
        """
        return np.concatenate(_on_threads(self._inverse_lengths, range(0, len(self._factor), _BLOCK_COLUMNS)))

    def _inverse_lengths(self, start: int) -> Array:
        """Return squared lengths of some columns of L^-1: the inverse of a corner, and -L22^-1 L21 of that below."""
        stop = start + _BLOCK_COLUMNS
        corner, _ = self._trtri(self._factor[start:stop, start:stop], lower=True)
        corner = np.tril(corner)
        below = np.asfortranarray(self._factor[stop:, start:stop] @ corner)
        if len(below):
            solve_lower(self._factor[stop:, stop:], below)
        return np.einsum("ij,ij->j", corner, corner) + np.einsum("ij,ij->j", below, below, dtype=np.float64)


def _on_threads(task: Callable[[int], Any], starts: range) -> list[Any]:
    """Return what a task gives for each start, side by side on threads of our own; for one start none is made."""
    with linear_algebra().limit(limits=1):
        if len(starts) <= 1:
            return [task(start) for start in starts]
        with ThreadPoolExecutor(blas_threads()) as pool:
            return list(pool.map(task, starts))


def factorize(matrix: NDArray[Any], n_threads: int | None = None) -> int:
    """Write the lower Cholesky factor over the lower triangle; the upper one is not touched.

    Blocks of columns go to threads of our own, each to one thread of BLAS: the threads of BLAS wait for each other, on
    busy machines longer than the work takes. None is as many threads as BLAS may have. Returns 0, or the order of the
    first leading minor that is not positive definite.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.flags.f_contiguous:
        raise ValueError(f"matrix must be square and in Fortran's order, got shape {matrix.shape}")
    n, n_threads = len(matrix), blas_threads() if n_threads is None else n_threads
    if n_threads == 1 or n <= 4 * _BLOCK_COLUMNS:
        with linear_algebra().limit(limits=1):
            return _potrf(matrix) if n else 0
    size = _BLOCK_COLUMNS
    with linear_algebra().limit(limits=1), ThreadPoolExecutor(n_threads) as pool:
        for start in range(0, n, size):
            stop = min(n, start + size)
            failed = _potrf(matrix[start:stop, start:stop])
            if failed:
                return start + failed
            done, cuts = slice(start, stop), np.linspace(stop, n, n_threads + 1).astype(int)
            list(pool.map(partial(_divide, matrix, done), map(slice, cuts[:-1], cuts[1:])))
            blocks = (slice(begin, min(n, begin + size)) for begin in range(stop, n, size))
            list(pool.map(partial(_subtract, matrix, done), blocks))
    return 0


def _potrf(corner: NDArray[Any]) -> int:
    """Factorize a block in place; return 0 or the order of the first minor that is not positive definite."""
    info = ctypes.c_int(0)
    _call("potrf", corner.dtype, b"L", len(corner), corner, info)
    return info.value


def _divide(matrix: NDArray[Any], done: slice, own: slice) -> None:
    """Write rows L'^-1 over rows beside a corner that holds L."""
    rows = matrix[own, done]
    if len(rows):
        _call("trsm", matrix.dtype, b"R", b"L", b"T", b"N", *rows.shape, 1.0, matrix[done, done], rows)


def _subtract(matrix: NDArray[Any], done: slice, own: slice) -> None:
    """Take what columns that are done account for from others, on and below the diagonal."""
    beside, below = matrix[own, done], matrix[own.stop :, done]
    _call("syrk", matrix.dtype, b"L", b"N", *beside.shape, -1.0, beside, 1.0, matrix[own, own])
    if len(below):
        sizes = len(below), *beside.shape
        _call("gemm", matrix.dtype, b"N", b"T", *sizes, -1.0, below, beside, 1.0, matrix[own.stop :, own])


def solve_lower(lower: NDArray[Any], right: NDArray[Any]) -> None:
    """Write L^-1 right over right; both in Fortran's order, L may be a corner of another. Several run side by side."""
    _call("trsm", right.dtype, b"L", b"L", b"N", b"N", *right.shape, 1.0, lower, right)


def _call(name: str, dtype: np.dtype[Any], *arguments: Any) -> None:
    """Call a routine of BLAS or LAPACK without Python's lock; matrices in Fortran's order bring their strides along.

    scipy's own wrappers hold the lock, but the routines that it offers to Cython are plain pointers.
    """
    prefix, real = ("s", ctypes.c_float) if dtype == np.float32 else ("d", ctypes.c_double)
    kinds = {bytes: ctypes.c_char, int: ctypes.c_int, float: real}
    kept: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            kept += [argument.ctypes.data, ctypes.c_int(max(1, argument.strides[1] // argument.itemsize))]
        else:
            kept.append(kinds[type(argument)](argument) if type(argument) in kinds else argument)
    pointers = [each if isinstance(each, int) else ctypes.byref(each) for each in kept]
    _routine(prefix + name, len(pointers))(*pointers)


@cache
def _routine(name: str, n_pointers: int) -> Callable[..., None]:
    """Return a routine of BLAS or LAPACK, whose arguments are all pointers."""
    capsule = {**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__}[name]
    read_name = ctypes.pythonapi.PyCapsule_GetName
    read_name.restype, read_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    read_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    read_pointer.restype, read_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = read_pointer(capsule, read_name(capsule))
    return ctypes.CFUNCTYPE(None, *n_pointers * [ctypes.c_void_p])(address)


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


@contextmanager
def suitable_threads(order: int) -> Iterator[None]:
    """Let BLAS use one thread for matrices up to some order: a second one gains little, and waits where others work."""
    with linear_algebra().limit(limits=1) if order <= _ONE_THREAD_ORDER else nullcontext():
        yield


def blas_threads() -> int:
    """Return how many threads linear algebra may use here and now."""
    return max((int(library["num_threads"]) for library in linear_algebra().info()), default=1)


@cache
def linear_algebra() -> ThreadpoolController:
    """Return the linear algebra libraries of this process; looking for them takes some milliseconds."""
    return ThreadpoolController().select(user_api="blas")
