"""The best rows for each query: counted or looked up on the packed bits, else by blocks of products."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import check_integer
from lowtide.codes.arithmetic import PackedRows, decoded_blocks, matmul
from lowtide.errors import CodeLayoutError

__all__ = ["top_k"]

_OWNER = "Codes.top_k"
# Limits of the compiled scans: bytes of a row for tables, levels for counts.
_TABLE_BYTES = 512
_COUNTED_LEVELS = 65535
# Scores that the way by blocks holds at a time are at most their product: 4 MB of float64.
_BLOCK_QUERIES = 64
_BLOCK_ROWS = 1 << 13


def top_k(codes: PackedRows, query: Any, k: int, *, largest: bool) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return (indices, scores), each (q, k), of the rows with the best products; query is PackedRows or an array."""
    k = _checked_k(k, codes.shape[0])
    if not isinstance(query, PackedRows):
        return _of_arrays(codes, _as_queries(query, codes.shape[1]), k, largest)
    indices, scores = _empty(query.shape[0], k)
    if _is_counted(codes, query):
        _core.code_top_k(codes.rows, codes.book, query.rows, query.book, codes.n_levels, bool(largest), indices, scores)
        return indices, scores
    for some, Q in decoded_blocks(query, np.float64):
        indices[some], scores[some] = _of_arrays(codes, Q, k, largest)
    return indices, scores


def _of_arrays(
    codes: PackedRows, Q: NDArray[np.float64], k: int, largest: bool
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the best rows for float queries: by byte tables where the op takes the rows, else by blocks."""
    if codes.scale is not None:
        # Factors of columns are as well on the queries.
        Q, codes = Q * codes.scale, replace(codes, scale=None)
    if codes.row_scale is None and codes.bits in (1, 2, 4) and codes.n_levels * codes.bits <= 8 * _TABLE_BYTES:
        indices, scores = _empty(len(Q), k)
        _core.code_top_k(codes.rows, codes.n_levels, codes.bits, codes.book, Q, bool(largest), indices, scores)
        return indices, scores
    return _by_blocks(codes, Q, k, largest)


def _empty(n_queries: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    return np.empty((n_queries, k), dtype=np.int64), np.empty((n_queries, k), dtype=np.float32)


def _checked_k(k: Any, n_rows: int) -> int:
    """Return k when that many rows can be had."""
    if n_rows == 0:
        raise CodeLayoutError(f"{_OWNER}: the codes must have rows to choose from, got none. Encode some first.")
    return check_integer(_OWNER, "k", k, 1, n_rows, "There are no more rows than that: lower k.")


def _as_queries(query: Any, n_features: int) -> NDArray[np.float64]:
    """Return queries as float64 (q, n_features), each number one that float32 can hold."""
    array = np.asarray(query)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise CodeLayoutError(
            f"{_OWNER}: query must be Codes, float32, float64 or integers, got an array of {array.dtype}."
        )
    if array.ndim != 2 or array.shape[1] != n_features:
        raise CodeLayoutError(
            f"{_OWNER}: query must be Codes or an array of shape (q, {n_features}), a query a row, got shape "
            f"{array.shape}. One query q is q[None, :]."
        )
    Q = np.ascontiguousarray(array, dtype=np.float64)
    if not (np.abs(Q) <= np.finfo(np.float32).max).all():
        raise CodeLayoutError(f"{_OWNER}: query must be finite and within float32's range, got NaN or larger numbers.")
    return Q


def _is_counted(codes: PackedRows, query: PackedRows) -> bool:
    """Whether the product of two one-bit rows depends on the number of equal bits alone."""
    scales = (codes.scale, codes.row_scale, query.scale, query.row_scale)
    if codes.bits != 1 or query.bits != 1 or any(scale is not None for scale in scales):
        return False
    if codes.book.shape != query.book.shape:
        return False
    worth = codes.book.astype(np.float64) @ query.book.astype(np.float64).T
    return codes.n_levels <= _COUNTED_LEVELS and worth[0, 0] == worth[1, 1] and worth[0, 1] == worth[1, 0]


def _by_blocks(
    codes: PackedRows, Q: NDArray[np.float64], k: int, largest: bool
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Multiply block by block in float64 and keep the best of each query so far."""
    indices, scores = _empty(len(Q), k)
    sign = np.float32(1 if largest else -1)
    for first in range(0, len(Q), _BLOCK_QUERIES):
        some = np.ascontiguousarray(Q[first : first + _BLOCK_QUERIES].T)
        best = [(np.empty(0, np.int64), np.empty(0, np.float32))] * some.shape[1]
        for begin in range(0, codes.shape[0], _BLOCK_ROWS):
            rows = slice(begin, begin + _BLOCK_ROWS)
            row_scale = None if codes.row_scale is None else codes.row_scale[rows]
            block = replace(codes, rows=codes.rows[rows], row_scale=row_scale)
            with np.errstate(over="ignore"):  # a sum past float32's range is infinite
                products = matmul(block, some).astype(np.float32)
            products *= sign
            best = [_merged(*kept, begin, products[:, q], k) for q, kept in enumerate(best)]
        for q, (found, values) in enumerate(best):
            indices[first + q], scores[first + q] = found, sign * values + np.float32(0)
    return indices, scores


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
