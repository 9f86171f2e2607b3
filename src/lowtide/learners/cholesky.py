"""Cholesky factors and eigenvectors by BLAS and LAPACK without Python's lock, in pieces that can be stopped."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack, lapack
from threadpoolctl import ThreadpoolController

from lowtide.cancel import Threads, aside, matmul, poll
from lowtide.learners.design import Design
from lowtide.learners.problem import Problem

Array = NDArray[Any]

# Columns of a block that one thread works on: fewer make more passes over the rest, more leave threads without work.
_BLOCK_COLUMNS = 384
# Rows of a block at most, and multiplications of a solve in one piece: some 10 ms of one core each.
_MOST_ROWS, _WHOLE_SOLVES = 4096, 1 << 28
# Rows that a thread solves for at a time, for exact ones.
_ROWS_SOLVED = 128
# Values that are copied between two polls.
_PIECE_VALUES = 1 << 22
# Up to this order one thread solves about as fast as two, and much faster than two on a busy machine.
_ONE_THREAD_ORDER = 6000


class Factor:
    """The Cholesky factor of gram + alpha I, in place of gram; alpha is raised where it is lost in rounding.

    In float64 an alpha below m roundings of the mean diagonal is raised to that: gram may have as large an error in
    directions that no row has, and would be inverted there. In float32 it is raised where gram became indefinite.
    """

    def __init__(self, gram: Array, alpha: float, n_threads: int | None = None) -> None:
        (self._trtri,) = lapack.get_lapack_funcs(("trtri",), (gram,))
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
        return self._solved(right, (False, True))

    def half_solve(self, right: Array) -> Array:
        """Return L'^-1 right, L L' = gram + alpha I, in float64: x' L'^-1 has the squared length x' (L L')^-1 x."""
        return self._solved(right, (True,))

    @property
    def lower(self) -> Array:
        """L itself, zero above its diagonal."""
        return self.lower_as(self._factor.dtype.type)

    def lower_as(self, dtype: type[np.floating[Any]]) -> Array:
        """Return L in a type, in C's order."""
        lower = np.zeros(self._factor.shape, dtype=dtype)
        for part in pieces(lower):
            lower[part, : part.stop] = np.tril(self._factor[part, : part.stop], part.start)
        return lower

    def lower_solve(self, right: Array) -> Array:
        """Return L^-1 right, in float64: its columns have the squared lengths x' (L L')^-1 x."""
        return self._solved(right, (False,))

    def _solved(self, right: Array, transposed: tuple[bool, ...]) -> Array:
        """Return right after solves with L, or with L' where transposed, one after the other."""
        solution = np.array(right, dtype=self._factor.dtype, order="F")
        with suitable_threads(len(self._factor)):
            for each in transposed:
                _solve_triangle(self._factor, solution, transposed=each)
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
        below = np.asfortranarray(matmul(self._factor[stop:, start:stop], corner))
        if len(below):
            solve_lower(self._factor[stop:, stop:], below)
        return np.einsum("ij,ij->j", corner, corner) + np.einsum("ij,ij->j", below, below, dtype=np.float64)


def _on_threads(task: Callable[[int], Any], starts: range) -> list[Any]:
    """Return what a task gives for each start, side by side on threads of our own; for one start none is made."""
    n_threads = min(blas_threads(), len(starts))
    with linear_algebra().limit(limits=1):
        if n_threads <= 1:
            return [task(start) for start in starts]
        with Threads(n_threads) as pool:
            return list(pool.map(task, starts))


def symmetric_product(matrix: Array, right: Array) -> Array:
    """Return a symmetric matrix in C's order times columns (n, k), a strip of the matrix on each thread."""
    strip = max(_BLOCK_COLUMNS, -(-len(matrix) // blas_threads()))
    parts = _on_threads(lambda start: matmul(matrix[start : start + strip], right), range(0, len(matrix), strip))
    return np.vstack(parts) if parts else np.zeros_like(right)


def pieces(matrix: Array) -> Iterator[slice]:
    """Yield slices over the side of a large matrix, a few megabytes each, between which work can be stopped."""
    n, step = matrix.shape[0], max(1, _PIECE_VALUES // max(1, matrix.shape[1]))
    for start in range(0, n, step):
        poll()
        yield slice(start, min(n, start + step))


def symmetric_copy(matrix: Array, dtype: type[np.floating[Any]] | None = None) -> Array:
    """Return a copy of a symmetric matrix in C's order in the order that LAPACK wants: its transpose."""
    copy = np.empty(matrix.shape, dtype=matrix.dtype if dtype is None else dtype)
    for part in pieces(copy):
        copy[part] = matrix[part]
    return copy.T


def factorize(matrix: NDArray[Any], n_threads: int | None = None) -> int:
    """Write the lower Cholesky factor over the lower triangle; the upper one is not touched.

    Blocks of columns go to threads of our own, each to one thread of BLAS: the threads of BLAS wait for each other, on
    busy machines longer than the work takes. None is as many threads as BLAS may have. Returns 0, or the order of the
    first leading minor that is not positive definite.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.flags.f_contiguous:
        raise ValueError(f"matrix must be square and in Fortran's order, got shape {matrix.shape}")
    n, n_threads = len(matrix), blas_threads() if n_threads is None else n_threads
    if n <= (3 if n_threads > 1 else 5) * _BLOCK_COLUMNS:
        with linear_algebra().limit(limits=1):
            return _potrf(matrix) if n else 0
    size = _BLOCK_COLUMNS
    with linear_algebra().limit(limits=1), Threads(n_threads) as pool:
        each = pool.map if n_threads > 1 else map
        for start in range(0, n, size):
            stop = min(n, start + size)
            failed = _potrf(matrix[start:stop, start:stop])
            if failed:
                return start + failed
            done, n_cuts = slice(start, stop), max(n_threads, (n - stop) // _MOST_ROWS)
            cuts = np.linspace(stop, n, n_cuts + 1).astype(int)
            list(each(partial(_divide, matrix, done), map(slice, cuts[:-1], cuts[1:])))
            blocks = (slice(begin, min(n, begin + size)) for begin in range(stop, n, size))
            list(each(partial(_subtract, matrix, done), blocks))
    return 0


def _potrf(corner: NDArray[Any]) -> int:
    """Factorize a block in place; return 0 or the order of the first minor that is not positive definite."""
    info = ctypes.c_int(0)
    _call("potrf", corner.dtype, b"L", len(corner), corner, info)
    return info.value


def _divide(matrix: NDArray[Any], done: slice, own: slice) -> None:
    """Write rows L'^-1 over rows beside a corner that holds L."""
    rows = matrix[own, done]
    poll()
    if len(rows):
        _call("trsm", matrix.dtype, b"R", b"L", b"T", b"N", *rows.shape, 1.0, matrix[done, done], rows)


def _subtract(matrix: NDArray[Any], done: slice, own: slice) -> None:
    """Take what columns that are done account for from others, on and below the diagonal."""
    poll()
    beside = matrix[own, done]
    _call("syrk", matrix.dtype, b"L", b"N", *beside.shape, -1.0, beside, 1.0, matrix[own, own])
    for first in range(own.stop, len(matrix), _MOST_ROWS):
        poll()
        below = matrix[first : first + _MOST_ROWS, done]
        sizes, to = (len(below), *beside.shape), matrix[first : first + _MOST_ROWS, own]
        _call("gemm", matrix.dtype, b"N", b"T", *sizes, -1.0, below, beside, 1.0, to)


def solve_lower(lower: NDArray[Any], right: NDArray[Any]) -> None:
    """Write L^-1 right over right; both in Fortran's order, L may be a corner of another. Several run side by side."""
    _solve_triangle(lower, right, transposed=False)


def _solve_triangle(lower: NDArray[Any], right: NDArray[Any], *, transposed: bool) -> None:
    """Write L^-1 right or L'^-1 right over right: large ones by blocks of L, between which work can be stopped."""
    n, k = right.shape
    size = n if n * n * k <= _WHOLE_SOLVES else _BLOCK_COLUMNS
    starts = range(0, n, max(1, size))
    for start in reversed(starts) if transposed else starts:
        poll()
        block = slice(start, min(n, start + size))
        found, kind = right[block], b"T" if transposed else b"N"
        _call("trsm", right.dtype, b"L", b"L", kind, b"N", *found.shape, 1.0, lower[block, block], found)
        others = range(0, start, _MOST_ROWS) if transposed else range(block.stop, n, _MOST_ROWS)
        for first in others:
            poll()
            rest = slice(first, min(start if transposed else n, first + _MOST_ROWS))
            part = lower[block, rest] if transposed else lower[rest, block]
            sizes = rest.stop - rest.start, k, block.stop - block.start
            _call("gemm", right.dtype, kind, b"N", *sizes, -1.0, part, found, 1.0, right[rest])


def eigenvectors(matrix: NDArray[np.float64], n_largest: int | None = None) -> tuple[Array, Array]:
    """Return the eigenvalues of a symmetric matrix, rising, and its eigenvectors by column; the matrix is used up.

    All, or those of the largest values. In one piece, on a thread of its own: a caller that is stopped leaves it to its
    end.
    """
    n, info, found = len(matrix), ctypes.c_int(0), ctypes.c_int(0)
    count = n if n_largest is None else n_largest
    values, vectors = np.zeros(n), np.zeros((n, count), order="F")
    support, sizes = np.zeros(2 * max(1, n), dtype=np.intc), (np.zeros(1), np.zeros(1, dtype=np.intc))
    # The first call only says how much room the second takes.
    for work, integers in (sizes, (None, None)):
        n_work, n_integers = -1, -1
        if work is None or integers is None:
            n_work, n_integers = int(sizes[0][0]), int(sizes[1][0])
            work, integers = np.zeros(n_work), np.zeros(n_integers, dtype=np.intc)
        views = [np.ctypeslib.as_ctypes(each) for each in (values, support, work, integers)]
        bounds, wanted = (0.0, 0.0, n - count + 1, n, 0.0), b"A" if count == n else b"I"
        aside(
            _call, "syevr", matrix.dtype, b"V", wanted, b"L", n, matrix, *bounds, found, views[0], vectors, views[1],
            views[2], n_work, views[3], n_integers, info,
        )  # fmt: skip
    if info.value != 0:
        raise np.linalg.LinAlgError("the matrix must be finite")
    return values[:count], vectors


def lu_factors(matrix: NDArray[np.float64]) -> tuple[Array, Array, int]:
    """Return L and U in one matrix, pivots, and 0 or the order of a pivot that is zero; as `eigenvectors`, aside."""
    factors, info = np.array(matrix, order="F"), ctypes.c_int(0)
    pivots = np.zeros(len(factors), dtype=np.intc)
    aside(_call, "getrf", factors.dtype, *factors.shape, factors, np.ctypeslib.as_ctypes(pivots), info)
    return factors, pivots - 1, info.value


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
