"""Products of packed rows, by compiled ops on the bits or, where none fits, by decoding one block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import blas

from lowtide import _core
from lowtide.errors import CodeLayoutError

# Values decoded at a time: 16 MB of float32, enough rows for BLAS to run at full speed.
_BLOCK_VALUES = 1 << 22
# Below this many rows the look-up tables of a product cost more than they save.
_FEW_ROWS = 16


@dataclass(frozen=True)
class PackedRows:
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


def as_weight(owner: str, sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Return finite weights, float64 (n_rows,)."""
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,) or not np.isfinite(weight).all():
        raise CodeLayoutError(
            f"{owner}: sample_weight must be {n_rows} finite numbers, one a row, got shape {weight.shape}"
            f"{'' if np.isfinite(weight).all() else ' with values that are not finite'}."
        )
    return weight


def decode(codes: PackedRows, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Return the feature values (n, n_levels * width)."""
    out = _core.results.empty_result(codes.shape, dtype)
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
    if codes.shape[0] < _FEW_ROWS:
        return np.asarray(decode(codes, W.dtype) @ W)
    out = np.empty((codes.shape[0], W.shape[1]), dtype=W.dtype)
    if codes.bits <= 4:
        weighted = W if codes.scale is None else W * codes.scale[:, None]
        _core.code_matvec(codes.rows, codes.n_levels, codes.bits, codes.book, np.ascontiguousarray(weighted), out)
        return _scaled(out, codes.row_scale, None)
    for rows, block in decoded_blocks(codes, W.dtype):
        np.matmul(block, W, out=out[rows])
    return out


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


def gram(codes: PackedRows, weight: NDArray[np.float64] | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return D' diag(weight) D; one-bit codes and trits without weights are counted, others decoded in cache."""
    n_features = codes.shape[1]
    value = codes.trit_value
    counted = weight is None and codes.row_scale is None
    if value is not None and counted:
        out = np.empty((n_features, n_features), dtype=dtype)
        _core.trit_gram(codes.rows, codes.n_levels, value, out)
        return _scaled(out, codes.scale, codes.scale)
    if codes.bits == 1 and counted:
        out = np.empty((n_features, n_features), dtype=dtype)
        _core.code_gram(codes.rows, codes.n_levels, codes.book, out)
        return _scaled(out, codes.scale, codes.scale)
    if dtype == np.float32:
        return _float32_gram(codes, weight)
    total = np.zeros((n_features, n_features), dtype=dtype, order="F")
    for rows, block in decoded_blocks(codes, dtype):
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
    _core.panel_gram(codes.rows, codes.n_levels, codes.bits, codes.book, factors, _core.isa() == "amx", out)
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


def dot(codes: PackedRows, other: PackedRows, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return D O' of two code matrices with equally many decoded columns."""
    out = np.empty((codes.shape[0], other.shape[0]), dtype=dtype)
    counted = codes.scale is None and other.scale is None
    if counted and codes.bits == other.bits == 1 and codes.n_levels == other.n_levels:
        _core.code_dot(codes.rows, codes.book, other.rows, other.book, codes.n_levels, out)
        return _scaled(out, codes.row_scale, other.row_scale)
    values = codes.trit_value, other.trit_value
    if counted and values[0] is not None and values[1] is not None:
        _core.trit_dot(codes.rows, values[0], other.rows, values[1], codes.n_levels, out)
        return _scaled(out, codes.row_scale, other.row_scale)
    for rows, left in decoded_blocks(codes, dtype):
        for columns, right in decoded_blocks(other, dtype):
            np.matmul(left, right.T, out=out[rows, columns])
    return out
