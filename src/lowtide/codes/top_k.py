"""The rows with the best products: packed rows are scanned by compiled ops, or multiplied block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import check_integer
from lowtide.codes.arithmetic import PackedRows, Rows, is_summed
from lowtide.errors import CodeLayoutError

if TYPE_CHECKING:
    from lowtide.codes.codes import Codes

_TOP_K = "Codes.top_k"
_ENDLESS = (
    "Codes.top_k: norms over corrections, and squares of norms, must be finite numbers in float32, got others. Encode "
    "the rows again."
)
# Limits of the compiled scans: bytes of a row for tables, levels for counts.
_TABLE_BYTES = 1024
_COUNTED_LEVELS = 65535
# Scores that the way by blocks in float64 holds at a time are at most their product: 4 MB.
_TOP_QUERIES = 64
_TOP_ROWS = 1 << 13
# Queries that share a first pass over bounds, one-bit ones and others, and the bounds held at a time: 4 MB of float32.
_TOP_BITS, _TOP_FLOATS = 1 << 10, 1 << 8
_TOP_BOUNDS = 1 << 20
# Rows of the first pass whose k-th best is looked for.
_TOP_FIRST = 1 << 11
# Rows that are fewer than this part of all are copied before they are scanned.
_FEW_OF_ALL = 4
# Values of pairs that are decoded at a time: a part that stays in cache.
_PAIR_VALUES = 1 << 18


@dataclass(frozen=True)
class RowTerms:
    """What belongs to each row beside its code: score = factor times product + offset, of the rows that are allowed.

    `lengths`, norms, corrections and a number, stand for factors norm / correction and offsets number * norm^2, which
    the op makes of them as it goes.
    """

    factors: NDArray[np.float32] | None = None
    offsets: NDArray[np.float32] | None = None
    allowed: NDArray[np.bool_] | None = None
    lengths: tuple[NDArray[np.float32], NDArray[np.float32], float] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether scores are products."""
        return self.factors is None and self.offsets is None and self.lengths is None

    def take(self, rows: Any) -> RowTerms:
        """Return the terms of some rows, all of them allowed."""
        factors, offsets = (None if part is None else part[rows] for part in (self.factors, self.offsets))
        if self.lengths is None:
            return RowTerms(factors, offsets)
        norms, corrections, square = self.lengths
        return RowTerms(factors, offsets, lengths=(norms[rows], corrections[rows], square))

    def divided(self) -> RowTerms:
        """Return the same with factors and offsets in place of lengths."""
        if self.lengths is None:
            return self
        factors, offsets = factors_of(*self.lengths)
        if not (np.isfinite(factors).all() and np.isfinite(offsets).all()):
            raise CodeLayoutError(_ENDLESS)
        return RowTerms(factors, offsets, self.allowed)

    def scored(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of products (n, q)."""
        if self.factors is not None:
            products = products * self.factors[:, None]
        return products if self.offsets is None else products + self.offsets[:, None]

    def for_op(self, row_scale: NDArray[np.float32] | None, n: int) -> tuple[Any, Any, Any, Any]:
        """Return factors, with those that rows have by themselves, offsets, mask and lengths, as the op takes them."""
        if row_scale is not None and self.lengths is not None:
            return self.divided().for_op(row_scale, n)
        if self.factors is None and self.offsets is None and row_scale is None:
            return None, None, self.allowed, self.lengths
        factors = np.ones(n, np.float32) if row_scale is None else row_scale
        factors = factors if self.factors is None else factors * self.factors
        offsets = np.zeros(n, np.float32) if self.offsets is None else self.offsets
        return np.ascontiguousarray(factors), np.ascontiguousarray(offsets), self.allowed, None


def factors_of(
    norms: NDArray[np.float32], corrections: NDArray[np.float32], square: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return norms over corrections, 0 where these are not positive, and norms^2 times a number, float32 (n,)."""
    with np.errstate(over="ignore"):
        factors = np.divide(norms, corrections, out=np.zeros_like(norms), where=corrections > 0)
        return factors, np.zeros_like(norms) if square == 0 else norms * norms * np.float32(square)


@contextmanager
def _finite_lengths() -> Iterator[None]:
    """Turn what the op says of norms and corrections into an error of ours."""
    try:
        yield
    except ValueError as error:
        raise CodeLayoutError(_ENDLESS if "norms over" in str(error) else f"{_TOP_K}: {error}") from error


def top_k(
    codes: Rows, query: Any, k: int, terms: RowTerms, *, largest: bool
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return (indices, scores), each (q, k), of the rows with the best scores; query is Rows or an array.

    Of fewer than k rows that are allowed there are as many columns.
    """
    n = len(codes.rows)
    if n == 0:
        raise CodeLayoutError(f"{_TOP_K}: the codes must have rows to choose from, got none. Encode some first.")
    k = check_integer(_TOP_K, "k", k, 1, n, "There are no more rows than that: lower k.")
    coded = isinstance(query, Rows)
    query = query if coded else _as_queries(query, codes.shape[1])
    n_queries = len(query.rows if coded else query)
    if terms.allowed is not None:
        count = int(np.count_nonzero(terms.allowed))
        if count < min(n, max(1, n // _FEW_OF_ALL)) or not _has_op(codes):
            chosen = np.flatnonzero(terms.allowed)
            if count == 0:
                return np.empty((n_queries, 0), np.int64), np.empty((n_queries, 0), np.float32)
            found, scores = top_k(codes.take(chosen), query, min(k, count), terms.take(chosen), largest=largest)
            return chosen[found], scores
        k = min(k, count)
    terms = terms if _has_op(codes) else terms.divided()
    indices, scores = np.empty((n_queries, k), dtype=np.int64), np.empty((n_queries, k), dtype=np.float32)
    if isinstance(codes, PackedRows) and isinstance(query, PackedRows) and terms.is_plain:
        if _is_counted(codes, query):
            places = (codes.rows, codes.book, query.rows, query.book, codes.n_levels)
            _core.code_top_k(*places, bool(largest), indices, scores, terms.allowed)
            return indices, scores
        if codes.bits > 1 and terms.allowed is None and _is_bounded(codes, query):
            for first in range(0, n_queries, _TOP_BITS):
                part = slice(first, first + _TOP_BITS)
                _fill_by_sums(codes, query.take(part), largest, indices[part], scores[part])
            return indices, scores
    for some, Q in query.blocks(np.float64) if coded else ((slice(None), query),):
        _fill(codes, Q, terms, largest, indices[some], scores[some])
    return indices, scores


def _has_op(codes: Rows) -> bool:
    """Whether rows are scanned by the op: packed in 1, 2 or 4 bits, and not too wide."""
    is_narrow = codes.bits in (1, 2, 4) and codes.n_levels * codes.bits <= 8 * _TABLE_BYTES
    return is_narrow and isinstance(codes, PackedRows)


def _fill(
    codes: Rows,
    Q: NDArray[np.float64],
    terms: RowTerms,
    largest: bool,
    indices: NDArray[np.int64],
    scores: NDArray[np.float32],
) -> None:
    """Set the best rows for float queries: by byte tables where the op takes the rows, else by products of blocks."""
    if _has_op(codes) and isinstance(codes, PackedRows):
        # Factors of columns are as well on the queries.
        Q = Q if codes.scale is None else Q * codes.scale
        beside = terms.for_op(codes.row_scale, len(codes.rows))
        places = (codes.rows, codes.n_levels, codes.bits, codes.book, Q, bool(largest))
        with _finite_lengths():
            _core.code_top_k(*places, indices, scores, *beside)
        return
    slack = _float32_slack(codes, Q, terms)
    if slack is not None:
        for first in range(0, len(Q), _TOP_FLOATS):
            part = slice(first, first + _TOP_FLOATS)
            _fill_by_floats(codes, Q[part], terms, largest, slack[part], indices[part], scores[part])
        return
    sign = np.float32(1 if largest else -1)
    for first in range(0, len(Q), _TOP_QUERIES):
        some = np.ascontiguousarray(Q[first : first + _TOP_QUERIES].T)
        best = [(np.empty(0, np.int64), np.empty(0, np.float32))] * some.shape[1]
        for begin in range(0, len(codes.rows), _TOP_ROWS):
            rows = slice(begin, begin + _TOP_ROWS)
            with np.errstate(over="ignore"):  # a sum past float32's range is infinite
                products = terms.take(rows).scored(codes.take(rows).matmul(some)).astype(np.float32)
            products *= sign
            best = [_merged(*kept, begin, products[:, q], scores.shape[1]) for q, kept in enumerate(best)]
        for q, (found, values) in enumerate(best):
            indices[first + q], scores[first + q] = found, sign * values + np.float32(0)


@dataclass(frozen=True)
class RowCells:
    """Rows in cells, each one after the other: their names, and where each cell starts and the last one ends."""

    names: NDArray[np.int64]
    starts: NDArray[np.int64]

    def top_k(
        self, codes: Codes, read: NDArray[np.int32], query: Any, k: int, *, where: Any = None, square: float = 0.0
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return (names, scores), each (q, k), of the best rows in the cells read (q, m) by each query.

        As `Codes.top_k` with `square`. Where there are fewer rows than k the last names are -1.

        Parameters
        ----------
        codes : Codes
            With the rows in the order of their cells.
        read : array of int (q, m)
            Numbers of cells, nearest first, each once.
        query : array (q, n_features)
        k : int
        where : mask (n,) or array of names, optional
        square : float, default=0
        """
        rows = check_in_cells(codes)
        Q, allowed = _as_queries(query, rows.shape[1]), None if where is None else row_mask(where, len(rows.rows))
        indices, scores = np.empty((len(Q), k), dtype=np.int64), np.empty((len(Q), k), dtype=np.float32)
        places = (rows.rows, rows.n_levels, rows.bits, rows.book, Q, True, indices, scores)
        with _finite_lengths():
            of_cells = (self.names, self.starts, np.ascontiguousarray(read, np.int32), allowed)
            _core.code_top_k(*places, lengths_of(codes, square), *of_cells)
        return indices, scores


def check_in_cells(codes: Codes) -> PackedRows:
    """Return the rows of codes that can be searched in cells; others are refused."""
    rows = codes._rows
    if not _has_op(rows) or not isinstance(rows, PackedRows):
        raise CodeLayoutError(
            f"{_TOP_K}: rows in cells must be of 1, 2 or 4 bits and at most {_TABLE_BYTES} bytes, got {rows.bits} bits "
            f"and {rows.rows.shape[1]} bytes. Search all codes, without a partition."
        )
    lengths_of(codes, 0.0)
    return rows


def lengths_of(codes: Codes, square: float) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Return what `RowTerms` keeps of codes with norms and corrections."""
    if codes.norms is None or codes.corrections is None:
        raise CodeLayoutError(
            "Codes.top_k: codes must have norms and corrections for square, got codes without. Keep them with the "
            "codes: messages leave them out, files and stores do not."
        )
    return np.ascontiguousarray(codes.norms), np.ascontiguousarray(codes.corrections), square


def row_mask(where: Any, n: int) -> NDArray[np.bool_]:
    """Return which rows are allowed, of a mask or of row numbers."""
    given = np.asarray(where)
    if given.dtype == bool and given.shape == (n,):
        return np.ascontiguousarray(given)
    if given.dtype.kind in "iu" and given.ndim == 1 and (given.size == 0 or (given.min() >= 0 and given.max() < n)):
        mask = np.zeros(n, dtype=bool)
        mask[given] = True
        return mask
    if given.size == 0 and given.ndim == 1:
        return np.zeros(n, dtype=bool)
    raise CodeLayoutError(
        f"{_TOP_K}: where must be a mask with an entry a row, {n}, or numbers of rows from 0 to {n - 1}, got "
        f"{given.dtype} of shape {given.shape}. For the numbers of rows in a mask: np.flatnonzero(mask)."
    )


def _is_bounded(codes: PackedRows, query: PackedRows) -> bool:
    """Whether one-bit queries rule rows out by integer sums: without factors, and within float32's range."""
    scales = (codes.scale, codes.row_scale, query.scale, query.row_scale)
    if any(scale is not None for scale in scales) or not is_summed(query, codes):
        return False
    return _largest_product(codes, query) < float(np.finfo(np.float32).max)


def _largest_product(codes: PackedRows, query: PackedRows) -> float:
    """Return a bound on the product of any two rows."""
    return codes.shape[1] * float(np.abs(codes.book).max()) * float(np.abs(query.book).max())


def _fill_by_sums(
    codes: PackedRows, query: PackedRows, largest: bool, indices: NDArray[np.int64], scores: NDArray[np.float32]
) -> None:
    """Set the best rows for one-bit queries: only what integer sums leave within their error is scored in float64."""
    n_queries, sign = len(query.rows), np.float32(1 if largest else -1)

    def sums(some: slice) -> NDArray[np.float32]:
        block = codes.take(some)
        out = np.empty((n_queries, len(block.rows)), np.float32)
        _core.bit_dot(query.rows, query.book, *block.operands, False, out)
        out *= sign
        return out

    def exact(owner: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.float32]:
        products = _pair_products(lambda some: query.take(some).decode(np.float64), owner, codes, rows)
        return sign * products.astype(np.float32)

    # Sums are off by at most 2^-21 of the largest product, and by their rounding; twice that, and the scores' own.
    slack = np.full(n_queries, _largest_product(codes, query) * 2.0**-19)
    _fill_by_bounds(len(codes.rows), sums, exact, slack, sign, indices, scores)


def _float32_slack(codes: Rows, Q: NDArray[np.float64], terms: RowTerms) -> NDArray[np.float64] | None:
    """Return how far two scores of each query in float32 may be apart that are equal; None where they may overflow.

    A sum of f products, in any order and with factors that were rounded, is within (f + 4) 2^-24 of the sum of their
    sizes; factor, offset and the limit that scores are compared with add a few roundings more.
    """
    if not isinstance(codes, PackedRows):
        return None
    sizes = np.resize(np.abs(codes.book).max(axis=0).astype(np.float64), codes.shape[1])
    sizes = sizes if codes.scale is None else sizes * np.abs(codes.scale)
    of_rows = 1.0 if codes.row_scale is None else float(np.abs(codes.row_scale).max())
    factor = of_rows if terms.factors is None else of_rows * float(np.abs(terms.factors).max())
    offset = 0.0 if terms.offsets is None else float(np.abs(terms.offsets).max())
    largest = factor * (np.abs(Q) @ sizes)
    if max(of_rows, factor) * np.max(np.abs(Q) @ sizes, initial=0.0) + offset > np.finfo(np.float32).max / 4:
        return None
    return np.asarray(2.0**-23 * (codes.shape[1] + 16) * largest + 2.0**-20 * offset + 1e-30)


def _fill_by_floats(
    codes: Rows,
    Q: NDArray[np.float64],
    terms: RowTerms,
    largest: bool,
    slack: NDArray[np.float64],
    indices: NDArray[np.int64],
    scores: NDArray[np.float32],
) -> None:
    """Set the best rows for float queries: only what products in float32 leave within their error is scored again."""
    sign, weights = np.float32(1 if largest else -1), np.ascontiguousarray(Q.T, dtype=np.float32)

    def products(some: slice) -> NDArray[np.float32]:
        own = terms.take(some)
        out = codes.take(some).matmul(weights)
        if own.factors is not None:
            out *= own.factors[:, None]
        if own.offsets is not None:
            out += own.offsets[:, None]
        return out.T if largest else np.negative(out, out=out).T

    def exact(owner: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.float32]:
        values = _pair_products(Q.__getitem__, owner, codes, rows)
        return sign * terms.take(rows).scored(values[:, None])[:, 0].astype(np.float32)

    _fill_by_bounds(len(codes.rows), products, exact, slack, sign, indices, scores)


def _fill_by_bounds(
    n: int,
    first_pass: Callable[[slice], NDArray[np.float32]],
    exact: Callable[[NDArray[np.intp], NDArray[np.intp]], NDArray[np.float32]],
    slack: NDArray[np.float64],
    sign: np.float32,
    indices: NDArray[np.int64],
    scores: NDArray[np.float32],
) -> None:
    """Set the best of n rows from scores (q, rows) of a first pass; those within the slack of the k-th are made exact.

    Scores of both are such that larger is better; `exact` gives those of pairs (query, row).
    """
    n_queries, k = scores.shape
    owner, found, values = np.empty(0, np.intp), np.empty(0, np.int64), np.empty(0, np.float32)
    begin, most = 0, max(k, _TOP_BOUNDS // n_queries)
    while begin < n:
        # Few at first, since the k-th best of a block must be looked for; then the best so far rule most rows out.
        end = min(n, begin + min(most, max(k, begin, _TOP_FIRST)))
        bounds = first_pass(slice(begin, end))
        worst = values[k - 1 :: k] if begin else np.partition(bounds, -k, axis=1)[:, -k]
        queries, rows = _places(bounds >= (worst - slack).astype(np.float32)[:, None])
        owner = np.concatenate([owner, queries])
        found = np.concatenate([found, begin + rows])
        values = np.concatenate([values, exact(queries, begin + rows)])
        # By query, then best first, equal scores by lower index; every query has at least k of them.
        order = np.lexsort((found, -values, owner))
        starts = np.searchsorted(owner[order], np.arange(n_queries))
        order = order[(starts[:, None] + np.arange(k)).ravel()]
        owner, found, values = owner[order], found[order], values[order]
        begin = end
    indices[...], scores[...] = found.reshape(n_queries, k), (sign * values + np.float32(0)).reshape(n_queries, k)


def _places(hits: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places that hold, (queries, rows); in the order of memory, which is the fastest to search."""
    if hits.flags.c_contiguous:
        queries, rows = np.divmod(np.flatnonzero(hits), hits.shape[1])
    else:
        rows, queries = np.divmod(np.flatnonzero(hits.T), hits.shape[0])
    return queries, rows


def _pair_products(
    left: Callable[[NDArray[np.intp]], NDArray[np.float64]],
    rows: NDArray[np.intp],
    right: Rows,
    others: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return the products of row rows[p] of the left, which are looked up, with row others[p] of the right."""
    products = np.empty(len(rows))
    size = max(1, _PAIR_VALUES // right.shape[1])
    for begin in range(0, len(rows), size):
        pairs = slice(begin, begin + size)
        products[pairs] = np.einsum("pf,pf->p", left(rows[pairs]), right.take(others[pairs]).decode(np.float64))
    return products


def _as_queries(query: Any, n_features: int) -> NDArray[np.float64]:
    """Return queries as float64 (q, n_features), each number one that float32 can hold."""
    array = np.asarray(query)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise CodeLayoutError(
            f"{_TOP_K}: query must be Codes, float32, float64 or integers, got an array of {array.dtype}."
        )
    if array.ndim != 2 or array.shape[1] != n_features:
        raise CodeLayoutError(
            f"{_TOP_K}: query must be Codes or an array of shape (q, {n_features}), a query a row, got shape "
            f"{array.shape}. One query q is q[None, :]."
        )
    Q = np.ascontiguousarray(array, dtype=np.float64)
    if not (np.abs(Q) <= np.finfo(np.float32).max).all():
        raise CodeLayoutError(f"{_TOP_K}: query must be finite and within float32's range, got NaN or larger numbers.")
    return Q


def _is_counted(codes: PackedRows, query: PackedRows) -> bool:
    """Whether the product of two one-bit rows depends on the number of equal bits alone."""
    scales = (codes.scale, codes.row_scale, query.scale, query.row_scale)
    one_bit = codes.bits == query.bits == 1 and codes.book.shape == query.book.shape
    if not one_bit or any(scale is not None for scale in scales):
        return False
    worth = codes.book.astype(np.float64) @ query.book.astype(np.float64).T
    return codes.n_levels <= _COUNTED_LEVELS and worth[0, 0] == worth[1, 1] and worth[0, 1] == worth[1, 0]


def _merged(
    indices: NDArray[np.int64], scores: NDArray[np.float32], begin: int, block: NDArray[np.float32], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the best k of those kept so far, in order, and of a block of later rows; equal scores by lower index."""
    late = np.arange(len(block)) if len(scores) < k else np.flatnonzero(block > scores[-1])
    scores = np.concatenate([scores, block[late]])
    indices = np.concatenate([indices, begin + late])
    if len(scores) > k:
        near = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
        scores, indices = scores[near], indices[near]
    order = np.argsort(-scores, kind="stable")[:k]
    return indices[order], scores[order]
