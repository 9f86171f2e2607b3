"""Rows of packed levels as arithmetic takes them: what they must say of themselves, and products block by block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.linalg import blas

from lowtide import _core
from lowtide.errors import CodeLayoutError

# Values decoded at a time: 16 MB of float32, enough rows for BLAS to run at full speed.
_BLOCK_VALUES = 1 << 22
# Entries of at most 8 bytes: a single row is not to wait for its size to be worked out.
_SMALL_RESULT = _core.large_result // 8


class Rows(ABC):
    """Packed rows that decode to D (n, n_features), and products of D, of which one block at a time is there.

    A layout of levels says how rows decode; one that compiled ops know has faster products of its own.
    """

    __slots__ = ()
    rows: NDArray[np.uint8]  # (n, row bytes)
    scale: NDArray[np.float32] | None  # factors of the decoded columns, None for ones
    row_scale: NDArray[np.float32] | None  # factors of the rows, None for ones

    @property
    @abstractmethod
    def n_levels(self) -> int:
        """Levels a row."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """Bits that every level takes; 0 where levels differ in that, which no compiled op takes."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Decoded shape."""

    @abstractmethod
    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        """Write the values of some rows, without factors."""

    @abstractmethod
    def with_rows(self, rows: NDArray[np.uint8], row_scale: NDArray[np.float32] | None) -> Self:
        """Return other rows of the same layout and values."""

    def take(self, rows: Any) -> Self:
        """Return some of the rows."""
        return self.with_rows(self.rows[rows], None if self.row_scale is None else self.row_scale[rows])

    def decode(self, dtype: DTypeLike = np.float32) -> NDArray[Any]:
        """Return D, (n, n_features)."""
        out = empty_result(self.shape, dtype)
        self.fill(slice(0, len(self.rows)), out)
        return scaled(out, self.row_scale, self.scale)

    def blocks(self, dtype: DTypeLike) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield (rows, decoded values) block by block, all in one reused buffer."""
        n, n_features = self.shape
        size = max(1, min(n, _BLOCK_VALUES // n_features))
        buffer = np.empty((size, n_features), dtype=dtype)
        for begin in range(0, n, size):
            rows = slice(begin, min(n, begin + size))
            block = buffer[: rows.stop - begin]
            self.fill(rows, block)
            yield rows, scaled(block, None if self.row_scale is None else self.row_scale[rows], self.scale)

    def matmul(self, W: NDArray[Any]) -> NDArray[Any]:
        """Return D W for W (n_features, c)."""
        out = np.empty((len(self.rows), W.shape[1]), dtype=W.dtype)
        for rows, block in self.blocks(W.dtype):
            np.matmul(block, W, out=out[rows])
        return out

    def rmatmul(self, R: NDArray[Any]) -> NDArray[Any]:
        """Return D' R for R (n, c)."""
        out = np.zeros((self.shape[1], R.shape[1]), dtype=R.dtype)
        for rows, block in self.blocks(R.dtype):
            out += block.T @ R[rows]
        return out

    def gram(self, weight: NDArray[np.float64] | None, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return D' diag(weight) D."""
        update = blas.dsyrk if kind == np.float64 else blas.ssyrk
        total = np.zeros((self.shape[1],) * 2, dtype=kind, order="F")
        for rows, block in self.blocks(kind):
            for sign, part in _signed_parts(block, None if weight is None else weight[rows]):
                total = update(sign, part.T, beta=1.0, c=total, overwrite_c=1)
        return _mirrored(total.T)

    def dot(self, other: Rows, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return D O' with other rows of as many decoded columns."""
        out = empty_result((len(self.rows), len(other.rows)), kind)
        for rows, left in self.blocks(kind):
            for columns, right in other.blocks(kind):
                np.matmul(left, right.T, out=out[rows, columns])
        return out


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


def scaled(values: NDArray[Any], rows: NDArray[Any] | None, columns: NDArray[Any] | None) -> NDArray[Any]:
    """Multiply rows and columns by their scales, in place."""
    if rows is not None:
        values *= rows[:, None]
    if columns is not None:
        values *= columns
    return values


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
