"""Packed rows as the ops take them, and their products: by compiled ops on the bits, or else block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.linalg import blas

from lowtide import _core
from lowtide._checks import check_integer
from lowtide.errors import CodeLayoutError

# Values decoded at a time: 16 MB of float32, enough rows for BLAS to run at full speed.
_BLOCK_VALUES = 1 << 22
# Below this many rows the look-up tables of a product cost more than they save.
_FEW_ROWS = 16
# One-bit rows from which look-ups are worth the tables of the other side, as measured: 50 at AVX-512, 90 at AVX2.
_FEW_BIT_ROWS = 64
# Weights that stay in the second-level cache, so that every row may read them anew.
_CACHED_WEIGHTS = 1 << 16
_TOP_K = "Codes.top_k"
# Limits of the compiled scans of top_k: bytes of a row for tables, levels for counts.
_TABLE_BYTES = 512
_COUNTED_LEVELS = 65535
# Scores that its way by blocks holds at a time are at most their product: 4 MB of float64.
_TOP_QUERIES = 64
_TOP_ROWS = 1 << 13
# One-bit queries that are summed with rows together, and the sums held at a time: 4 MB of float32.
_TOP_BITS = 1 << 10
_TOP_SUMS = 1 << 20
# Entries of at most 8 bytes: a single row is not to wait for its size to be worked out.
_SMALL_RESULT = _core.large_result // 8


def empty_result(shape: tuple[int, int], dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Return an array of any content, as np.empty does.

    From 32 MB on it is in pages that the next such result takes over, once nothing refers to this one any more. New
    pages are filled with zeros by the system, which takes longer than to compute features into them.

    Examples
    --------
    >>> from lowtide.codes import empty_result
    >>> first = empty_result((4096, 4096))
    >>> place = first.ctypes.data
    >>> del first
    >>> empty_result((4000, 4096)).ctypes.data == place
    True
    """
    if shape[0] * shape[1] < _SMALL_RESULT:
        return np.empty(shape, dtype)
    kind = np.dtype(dtype)
    n_bytes = shape[0] * shape[1] * kind.itemsize
    if n_bytes < _core.large_result:
        return np.empty(shape, kind)
    try:
        pages = _core.result_bytes(n_bytes)
    except MemoryError:
        raise MemoryError(
            f"A result of shape {shape} in {kind} needs {n_bytes / 2**30:.3g} GiB, which the system refused. "
            "Pass fewer rows at a time."
        ) from None
    return pages.view(kind).reshape(shape)


class PackedRows(NamedTuple):
    """What an op needs to know: rows (n, row bytes), levels a row, bits a stored level, book (2^bits, width).

    `scale` multiplies the decoded columns, (n_levels * width,), `row_scale` the rows, (n,); None for ones.
    """

    rows: NDArray[np.uint8]
    n_levels: int
    bits: int
    book: NDArray[np.float32]
    scale: NDArray[np.float32] | None = None
    row_scale: NDArray[np.float32] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape."""
        return self.rows.shape[0], self.n_levels * self.book.shape[1]

    @property
    def trit_value(self) -> float | None:
        """The value of a plus where levels are trits, their codebook (0, value, -value, 0); else None."""
        if self.bits != 2 or self.book.shape[1] != 1:
            return None
        zero, plus, minus, never = self.book[:, 0].tolist()
        return plus if zero == never == 0.0 and minus == -plus else None


def aligned_rows(packed: Any, width: int) -> NDArray[np.uint8]:
    """Return packed as the ops take it, contiguous and at a multiple of 8 bytes; copied only when it is not."""
    rows = np.asarray(packed)
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != width:
        raise CodeLayoutError(
            f"Packed codes must be a uint8 array of shape (n, {width}), got {rows.dtype} of shape {rows.shape}. "
            "A row takes 8 * ceil(n_levels * stored_bits(bits) / 64) bytes; use pack_levels."
        )
    rows = np.ascontiguousarray(rows)
    # Told by words of 8 bytes: to ask for the address itself takes a microsecond.
    return rows if rows.view(np.uint64).flags.aligned else rows.copy()


def check_padding(rows: NDArray[np.uint8], used_bits: int) -> None:
    """Raise when a bit past the last level is set: counting would take it for a feature."""
    used = used_bits % 64
    if used and (rows.view("<u8")[:, -1] >> np.uint64(used)).any():
        raise CodeLayoutError(
            f"Codes: bits past the {used_bits} used ones of a row must be zero, got others. Pack with pack_levels."
        )


def checked_floats(
    must: str, values: ArrayLike, *shapes: tuple[int, ...], kind: Any = np.float32, least: float = -np.inf
) -> NDArray[Any]:
    """Return finite numbers of one of some shapes, at least the least, read-only; shared when of their kind already."""
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused as such
        checked = np.asarray(values, dtype=kind).view()
    if checked.shape not in shapes or not np.all((np.abs(checked) < np.inf) & (checked >= least)):
        raise CodeLayoutError(f"Codes: {must}, got shape {checked.shape}.")
    checked.flags.writeable = False
    return checked


def row_key(key: Any) -> Any:
    """Return a key that takes rows and keeps two dimensions."""
    if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
        key = key[0]  # how scikit-learn takes rows of anything with a shape
    if isinstance(key, slice):
        return key
    if isinstance(key, tuple):
        raise CodeLayoutError("Codes are indexed by rows only, got a tuple. Decode to take columns: np.asarray(C).")
    index = np.asarray(key)
    if index.ndim == 1 and index.size == 0 and index.dtype.kind != "b":
        return index.astype(np.intp)
    if index.ndim == 0 and index.dtype.kind in "iu":
        return index.reshape(1)
    if index.ndim != 1 or index.dtype.kind not in "iub":
        raise CodeLayoutError(
            f"Codes are indexed by a slice, an integer, integers or a mask, got {index.ndim}-D of {index.dtype}."
        )
    return index


def same_array(left: NDArray[Any] | None, right: NDArray[Any] | None) -> bool:
    """Return whether two arrays are equal, or neither is there."""
    return left is right or (left is not None and right is not None and np.array_equal(left, right))


def float_dtype(owner: str, dtype: DTypeLike) -> np.dtype[Any]:
    """Return float32 or float64 for a result, or say that nothing else is possible."""
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise CodeLayoutError(f"{owner}: dtype must be float32 or float64, got {kind}. Convert the result instead.")
    return kind


def as_operand(owner: str, operand: Any, n_rows: int) -> NDArray[Any]:
    """Return a 1-D or 2-D float32 or float64 array of n_rows rows; integers become float64."""
    array = np.asarray(operand)
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    elif array.dtype == np.float16:
        array = array.astype(np.float32)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise CodeLayoutError(f"{owner}: the operand must be float32, float64 or integer, got {array.dtype}.")
    if array.ndim not in (1, 2) or array.shape[0] != n_rows:
        raise CodeLayoutError(
            f"{owner}: the operand must be 1-D or 2-D with {n_rows} rows, got shape {array.shape}. "
            "Its rows must match the codes' columns (C @ W) or rows (C.T @ R)."
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def decode(codes: PackedRows, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Return the feature values (n, n_levels * width)."""
    out = empty_result(codes.shape, dtype)
    _core.decode(codes.rows, codes.n_levels, codes.bits, codes.book, out)
    return _scaled(out, codes.row_scale, codes.scale)


def _scaled(values: NDArray[Any], rows: NDArray[Any] | None, columns: NDArray[Any] | None) -> NDArray[Any]:
    """Multiply rows and columns by their scales, in place."""
    if rows is not None:
        values *= rows[:, None]
    if columns is not None:
        values *= columns
    return values


def decoded_blocks(codes: PackedRows, dtype: DTypeLike) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield (rows, decoded values) block by block, all in one reused buffer."""
    n, n_features = codes.shape
    size = max(1, min(n, _BLOCK_VALUES // n_features))
    buffer = np.empty((size, n_features), dtype=dtype)
    for begin in range(0, n, size):
        rows = slice(begin, min(n, begin + size))
        block = buffer[: rows.stop - begin]
        _core.decode(codes.rows[rows], codes.n_levels, codes.bits, codes.book, block)
        yield rows, _scaled(block, None if codes.row_scale is None else codes.row_scale[rows], codes.scale)


def matmul(codes: PackedRows, W: NDArray[Any]) -> NDArray[Any]:
    """Return D W for W (n_features, c)."""
    n = len(codes.rows)
    by_rows = n < _FEW_ROWS and is_by_rows(W, n) and codes.scale is None and codes.row_scale is None
    if n < _FEW_ROWS and not by_rows:
        return np.asarray(decode(codes, W.dtype) @ W)
    out = np.empty((n, W.shape[1]), dtype=W.dtype)
    if by_rows:
        _core.row_product(codes.rows, codes.n_levels, codes.bits, codes.book, np.ascontiguousarray(W.T), out)
        return out
    if codes.bits <= 4:
        weighted = W if codes.scale is None else W * codes.scale[:, None]
        _core.code_matvec(codes.rows, codes.n_levels, codes.bits, codes.book, np.ascontiguousarray(weighted), out)
        return _scaled(out, codes.row_scale, None)
    for rows, block in decoded_blocks(codes, W.dtype):
        np.matmul(block, W, out=out[rows])
    return out


def is_by_rows(W: NDArray[Any], n: int) -> bool:
    """Return whether n rows are multiplied with W (m, k) one by one: they are few, and each reads all of W."""
    if n >= _FEW_ROWS or not W.flags.aligned:
        return False
    return W.size <= _CACHED_WEIGHTS or (n == 1 and W.flags.f_contiguous)


def rmatmul(codes: PackedRows, R: NDArray[Any]) -> NDArray[Any]:
    """Return D' R for R (n, c)."""
    out = np.zeros((codes.shape[1], R.shape[1]), dtype=R.dtype)
    if codes.bits <= 4:
        R = R if codes.row_scale is None else R * codes.row_scale[:, None]
        _core.code_rmatvec(codes.rows, codes.n_levels, codes.bits, codes.book, np.ascontiguousarray(R), out)
        return _scaled(out, codes.scale, None)
    for rows, block in decoded_blocks(codes, R.dtype):
        out += block.T @ R[rows]
    return out


def gram(codes: PackedRows, sample_weight: ArrayLike | None, dtype: DTypeLike) -> NDArray[Any]:
    """Return D' diag(weight) D; one-bit codes and trits without weights are counted, others decoded in cache."""
    kind, weight, (n, n_features) = float_dtype("Codes.gram", dtype), None, codes.shape
    if sample_weight is not None:
        weight = checked_floats(f"sample_weight must be {n} finite numbers, one a row", sample_weight, (n,), kind=float)
    value = codes.trit_value
    if weight is None and codes.row_scale is None and (codes.bits == 1 or value is not None):
        out = np.empty((n_features, n_features), dtype=kind)
        if value is None:
            _core.code_gram(codes.rows, codes.n_levels, codes.book, out)
        else:
            _core.trit_gram(codes.rows, codes.n_levels, value, out)
        return _scaled(out, codes.scale, codes.scale)
    if kind == np.float32:
        return _float32_gram(codes, weight)
    total = np.zeros((n_features, n_features), dtype=kind, order="F")
    for rows, block in decoded_blocks(codes, kind):
        for sign, part in _signed_parts(block, None if weight is None else weight[rows]):
            total = blas.dsyrk(sign, part.T, beta=1.0, c=total, overwrite_c=1)
    return _mirrored(total.T)


def _float32_gram(codes: PackedRows, weight: NDArray[np.float64] | None) -> NDArray[np.float32]:
    """Return D' diag(weight) D in float32, where a decoded block never leaves the caches.

    A processor that multiplies tiles of bytes does so with the codebook in digits, where that is as exact.
    """
    if codes.row_scale is not None:
        squared = codes.row_scale.astype(np.float64) ** 2
        weight = squared if weight is None else weight * squared
    out = np.empty((codes.shape[1],) * 2, dtype=np.float32)
    factors = None if weight is None else weight.astype(np.float32)
    digits = _core.is_fast("digit_product")
    _core.panel_gram(codes.rows, codes.n_levels, codes.bits, codes.book, factors, digits, out)
    return _scaled(out, codes.scale, codes.scale)


def _signed_parts(block: NDArray[Any], weight: NDArray[np.float64] | None) -> Iterator[tuple[float, NDArray[Any]]]:
    """Yield (sign, rows scaled by sqrt|weight|): a rank-k update takes one sign only."""
    if weight is None:
        yield 1.0, block
        return
    root = np.sqrt(np.abs(weight)).astype(block.dtype)
    for sign, chosen in ((1.0, weight > 0), (-1.0, weight < 0)):
        if chosen.all():
            block *= root[:, None]
            yield sign, block
        elif chosen.any():
            yield sign, block[chosen] * root[chosen, None]


def _mirrored(lower: NDArray[Any]) -> NDArray[Any]:
    """Copy the lower triangle of a square array over its upper one, tile by tile, in place."""
    size = 512
    for j in range(0, lower.shape[0], size):
        corner = lower[j : j + size, j : j + size]
        corner[...] = np.tril(corner) + np.tril(corner, -1).T
        lower[j : j + size, j + size :] = lower[j + size :, j : j + size].T
    return lower


def dot(codes: PackedRows, other: PackedRows, dtype: DTypeLike) -> NDArray[Any]:
    """Return D O' of two code matrices with equally many decoded columns.

    One-bit codes and trits are counted. For float32 one bit is summed with more by look-ups, and others are decoded in
    cache; for float64 block by block. Of a matrix with itself the upper triangle is made and copied.
    """
    out = empty_result((len(codes.rows), len(other.rows)), float_dtype("Codes.dot", dtype))
    mine, others = codes.trit_value, other.trit_value
    unscaled = codes.scale is None and other.scale is None
    if unscaled and codes.bits == other.bits == 1 and codes.n_levels == other.n_levels:
        _core.code_dot(codes.rows, codes.book, other.rows, other.book, codes.n_levels, out)
    elif unscaled and mine is not None and others is not None:
        _core.trit_dot(codes.rows, mine, other.rows, others, codes.n_levels, out)
    elif unscaled and out.dtype == np.float32 and _is_summed(codes, other):
        _core.bit_dot(codes.rows, codes.book, *other[:4], False, out)
    elif unscaled and out.dtype == np.float32 and _is_summed(other, codes):
        _core.bit_dot(other.rows, other.book, *codes[:4], True, out)
    elif out.dtype == np.float32:
        sides = (*codes[:4], *other[:4])
        _core.panel_dot(*sides, _joint_scale(codes.scale, other.scale), out)
    else:
        for rows, left in decoded_blocks(codes, out.dtype):
            for columns, right in decoded_blocks(other, out.dtype):
                np.matmul(left, right.T, out=out[rows, columns])
        return out
    return _scaled(out, codes.row_scale, other.row_scale)


def _is_summed(bits: PackedRows, other: PackedRows) -> bool:
    """Whether one-bit rows are multiplied with others in integer sums: where that is fast, and as exact as float32."""
    one_bit = bits.bits == 1 and bits.book.shape[1] == 1 and len(bits.rows) >= _FEW_BIT_ROWS
    return one_bit and _core.is_fast("bit_dot") and _core.weights_suffice(bits.n_levels, other.book)


def _joint_scale(one: NDArray[np.float32] | None, other: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    """Return the product of two scales of columns, where None stands for ones."""
    if one is None or other is None:
        return other if one is None else one
    return one * other


def top_k(codes: PackedRows, query: Any, k: int, *, largest: bool) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return (indices, scores), each (q, k), of the rows with the best products; query is PackedRows or an array."""
    n = len(codes.rows)
    if n == 0:
        raise CodeLayoutError(f"{_TOP_K}: the codes must have rows to choose from, got none. Encode some first.")
    k = check_integer(_TOP_K, "k", k, 1, n, "There are no more rows than that: lower k.")
    coded = isinstance(query, PackedRows)
    query = query if coded else _as_queries(query, codes.shape[1])
    n_queries = len(query.rows if coded else query)
    indices, scores = np.empty((n_queries, k), dtype=np.int64), np.empty((n_queries, k), dtype=np.float32)
    if not coded:
        _fill(codes, query, largest, indices, scores)
    elif _is_counted(codes, query):
        _core.code_top_k(codes.rows, codes.book, query.rows, query.book, codes.n_levels, bool(largest), indices, scores)
    elif codes.bits > 1 and _is_bounded(codes, query):
        for first in range(0, n_queries, _TOP_BITS):
            part = slice(first, first + _TOP_BITS)
            _fill_by_sums(codes, query._replace(rows=query.rows[part]), largest, indices[part], scores[part])
    else:
        for some, Q in decoded_blocks(query, np.float64):
            _fill(codes, Q, largest, indices[some], scores[some])
    return indices, scores


def _fill(
    codes: PackedRows, Q: NDArray[np.float64], largest: bool, indices: NDArray[np.int64], scores: NDArray[np.float32]
) -> None:
    """Set the best rows for float queries: by byte tables where the op takes the rows, else by blocks in float64."""
    if codes.scale is not None:
        # Factors of columns are as well on the queries.
        Q, codes = Q * codes.scale, codes._replace(scale=None)
    if codes.row_scale is None and codes.bits in (1, 2, 4) and codes.n_levels * codes.bits <= 8 * _TABLE_BYTES:
        _core.code_top_k(codes.rows, codes.n_levels, codes.bits, codes.book, Q, bool(largest), indices, scores)
        return
    sign = np.float32(1 if largest else -1)
    for first in range(0, len(Q), _TOP_QUERIES):
        some = np.ascontiguousarray(Q[first : first + _TOP_QUERIES].T)
        best = [(np.empty(0, np.int64), np.empty(0, np.float32))] * some.shape[1]
        for begin in range(0, len(codes.rows), _TOP_ROWS):
            rows = slice(begin, begin + _TOP_ROWS)
            row_scale = None if codes.row_scale is None else codes.row_scale[rows]
            block = codes._replace(rows=codes.rows[rows], row_scale=row_scale)
            with np.errstate(over="ignore"):  # a sum past float32's range is infinite
                products = matmul(block, some).astype(np.float32)
            products *= sign
            best = [_merged(*kept, begin, products[:, q], scores.shape[1]) for q, kept in enumerate(best)]
        for q, (found, values) in enumerate(best):
            indices[first + q], scores[first + q] = found, sign * values + np.float32(0)


def _is_bounded(codes: PackedRows, query: PackedRows) -> bool:
    """Whether one-bit queries rule rows out by integer sums: without factors, and within float32's range."""
    scales = (codes.scale, codes.row_scale, query.scale, query.row_scale)
    if any(scale is not None for scale in scales) or not _is_summed(query, codes):
        return False
    return _largest_product(codes, query) < float(np.finfo(np.float32).max)


def _largest_product(codes: PackedRows, query: PackedRows) -> float:
    """Return a bound on the product of any two rows."""
    return codes.shape[1] * float(np.abs(codes.book).max()) * float(np.abs(query.book).max())


def _fill_by_sums(
    codes: PackedRows, query: PackedRows, largest: bool, indices: NDArray[np.int64], scores: NDArray[np.float32]
) -> None:
    """Set the best rows for one-bit queries: only what integer sums leave within their error is scored in float64."""
    n, n_queries, k = len(codes.rows), len(query.rows), scores.shape[1]
    sign = np.float32(1 if largest else -1)
    # Sums are off by at most 2^-21 of the largest product, and by their rounding; twice that, and the scores' own.
    slack = _largest_product(codes, query) * 2.0**-19
    owner, found, values = np.empty(0, np.intp), np.empty(0, np.int64), np.empty(0, np.float32)
    size = max(k, _TOP_SUMS // n_queries)
    for begin in range(0, n, size):
        block = codes._replace(rows=codes.rows[begin : begin + size])
        sums = np.empty((n_queries, len(block.rows)), np.float32)
        _core.bit_dot(query.rows, query.book, *block[:4], False, sums)
        sums *= sign
        worst = values[k - 1 :: k] if begin else np.partition(sums, -k, axis=1)[:, -k]
        late = np.nonzero(sums >= (worst - slack).astype(np.float32)[:, None])
        owner = np.concatenate([owner, late[0]])
        found = np.concatenate([found, begin + late[1]])
        values = np.concatenate([values, sign * _pair_products(query, late[0], block, late[1])])
        # By query, then best first, equal scores by lower index; every query has at least k of them.
        order = np.lexsort((found, -values, owner))
        starts = np.searchsorted(owner[order], np.arange(n_queries))
        order = order[(starts[:, None] + np.arange(k)).ravel()]
        owner, found, values = owner[order], found[order], values[order]
    indices[...], scores[...] = found.reshape(n_queries, k), (sign * values + np.float32(0)).reshape(n_queries, k)


def _pair_products(
    left: PackedRows, rows: NDArray[np.intp], right: PackedRows, others: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Return the products of row rows[p] of the left with row others[p] of the right, in float64 and rounded once."""
    products = np.empty(len(rows), np.float32)
    size = max(1, _BLOCK_VALUES // 16 // left.shape[1])  # a part that stays in cache
    for begin in range(0, len(rows), size):
        pairs = slice(begin, begin + size)
        one = decode(left._replace(rows=left.rows[rows[pairs]]), np.float64)
        other = decode(right._replace(rows=right.rows[others[pairs]]), np.float64)
        products[pairs] = np.einsum("pf,pf->p", one, other)
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
