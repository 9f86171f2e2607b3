"""Packed rows, and their products: by compiled ops on the bits, or block by block of what they decode to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from lowtide import _core
from lowtide.cancel import add_gram, matmul, mirrored, signed_parts
from lowtide.codes.layout import Bits, FieldPlaces, field_places, stored_bits
from lowtide.errors import CodeLayoutError

if TYPE_CHECKING:
    from lowtide.codes.codes import Codes

# Values decoded at a time: 16 MB of float32, enough rows for BLAS to run at full speed.
_BLOCK_VALUES = 1 << 22
# The same for a product that adds nothing up over blocks: what was decoded is still in cache, and BLAS has enough rows.
_NEAR_VALUES, _NEAR_ROWS = 1 << 20, 256
# Values of fields decoded at a time: what is in between stays in the second-level cache.
_DECODED = 1 << 15
# Below this many rows the look-up tables of a product cost more than they save.
_FEW_ROWS = 16
# One-bit rows from which look-ups are worth the tables of the other side, as measured: 50 at AVX-512, 90 at AVX2.
_FEW_BIT_ROWS = 64
# Weights that stay in the second-level cache, so that every row may read them anew.
_CACHED_WEIGHTS = 1 << 16
# Entries of at most 8 bytes: a single row is not to wait for its size to be worked out.
_SMALL_RESULT = _core.large_result // 8
# Bytes from which packed rows begin at a line of the cache.
_LARGE_ROWS = 1 << 12


class Rows(ABC):
    """Packed rows that decode to D (n, n_features), and products of D, of which one block at a time is there.

    A layout of levels says how rows decode; one that compiled ops know has faster products of its own.
    """

    __slots__ = ()
    rows: NDArray[np.uint8]  # (n, row bytes)
    n_levels: int
    bits: int  # that every level takes; 0 where levels differ in that, which no compiled op takes
    scale: NDArray[np.float32] | None  # factors of the decoded columns, None for ones
    row_scale: NDArray[np.float32] | None  # factors of the rows, None for ones

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

    def blocks(self, dtype: DTypeLike, *, is_near: bool = False) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield (rows, decoded values) block by block, all in one reused buffer; near ones stay in cache."""
        n, n_features = self.shape
        size = _BLOCK_VALUES // n_features
        if is_near:
            size = min(size, max(_NEAR_ROWS, _NEAR_VALUES // n_features))
        size = max(1, min(n, size))
        buffer = np.empty((size, n_features), dtype=dtype)
        for begin in range(0, n, size):
            rows = slice(begin, min(n, begin + size))
            block = buffer[: rows.stop - begin]
            self.fill(rows, block)
            yield rows, scaled(block, None if self.row_scale is None else self.row_scale[rows], self.scale)

    def matmul(self, W: NDArray[Any]) -> NDArray[Any]:
        """Return D W for W (n_features, c)."""
        out = np.empty((len(self.rows), W.shape[1]), dtype=W.dtype)
        for rows, block in self.blocks(W.dtype, is_near=True):
            matmul(block, W, out=out[rows])
        return out

    def rmatmul(self, R: NDArray[Any]) -> NDArray[Any]:
        """Return D' R for R (n, c)."""
        out = np.zeros((self.shape[1], R.shape[1]), dtype=R.dtype)
        for rows, block in self.blocks(R.dtype):
            out += matmul(block.T, R[rows])
        return out

    def gram(self, weight: NDArray[np.float64] | None, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return D' diag(weight) D."""
        total = np.zeros((self.shape[1],) * 2, dtype=kind)
        for rows, block in self.blocks(kind):
            for sign, part in signed_parts(block, None if weight is None else weight[rows]):
                add_gram(total, part, sign)
        return mirrored(total)

    def dot(self, other: Rows, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return D O' with other rows of as many decoded columns."""
        out = empty_result((len(self.rows), len(other.rows)), kind)
        for rows, left in self.blocks(kind):
            for columns, right in other.blocks(kind):
                matmul(left, right.T, out=out[rows, columns])
        return out


@dataclass(eq=False, slots=True)
class PackedRows(Rows):
    """What an op needs to know: rows (n, row bytes), levels per row, bits per stored level, book (2^bits, width).

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
    def operands(self) -> tuple[NDArray[np.uint8], int, int, NDArray[np.float32]]:
        """What ops take of the rows."""
        return self.rows, self.n_levels, self.bits, self.book

    @property
    def trit_value(self) -> float | None:
        """The value of a plus where levels are trits, their codebook (0, value, -value, 0); else None."""
        if self.bits != 2 or self.book.shape[1] != 1:
            return None
        zero, plus, minus, never = self.book[:, 0].tolist()
        return plus if zero == never == 0.0 and minus == -plus else None

    def with_rows(self, rows: NDArray[np.uint8], row_scale: NDArray[np.float32] | None) -> Self:
        """Return other rows of the same layout and values."""
        return type(self)(rows, self.n_levels, self.bits, self.book, self.scale, row_scale)

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        """Write the values of some rows, without factors."""
        _core.decode(self.rows[rows], self.n_levels, self.bits, self.book, out)

    def matmul(self, W: NDArray[Any]) -> NDArray[Any]:
        """Return D W for W (n_features, c)."""
        n = len(self.rows)
        by_rows = n < _FEW_ROWS and is_by_rows(W, n) and self.scale is None and self.row_scale is None
        if n < _FEW_ROWS and not by_rows:
            return np.asarray(self.decode(W.dtype) @ W)
        if not by_rows and self.bits > 4:
            return Rows.matmul(self, W)
        out = np.empty((n, W.shape[1]), dtype=W.dtype)
        if by_rows:
            _core.row_product(self.rows, self.n_levels, self.bits, self.book, np.ascontiguousarray(W.T), out)
            return out
        weighted = W if self.scale is None else W * self.scale[:, None]
        _core.code_matvec(self.rows, self.n_levels, self.bits, self.book, np.ascontiguousarray(weighted), out)
        return scaled(out, self.row_scale, None)

    def rmatmul(self, R: NDArray[Any]) -> NDArray[Any]:
        """Return D' R for R (n, c)."""
        if self.bits > 4:
            return Rows.rmatmul(self, R)
        out = np.zeros((self.shape[1], R.shape[1]), dtype=R.dtype)
        R = R if self.row_scale is None else R * self.row_scale[:, None]
        _core.code_rmatvec(self.rows, self.n_levels, self.bits, self.book, np.ascontiguousarray(R), out)
        return scaled(out, self.scale, None)

    def gram(self, weight: NDArray[np.float64] | None, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return D' diag(weight) D; one-bit codes and trits without weights are counted, others decoded in cache."""
        value, n_features = self.trit_value, self.shape[1]
        if weight is None and self.row_scale is None and (self.bits == 1 or value is not None):
            out = np.empty((n_features, n_features), dtype=kind)
            if value is None:
                _core.code_gram(self.rows, self.n_levels, self.book, out)
            else:
                _core.trit_gram(self.rows, self.n_levels, value, out)
            return scaled(out, self.scale, self.scale)
        return self._float32_gram(weight) if kind == np.float32 else Rows.gram(self, weight, kind)

    def _float32_gram(self, weight: NDArray[np.float64] | None) -> NDArray[np.float32]:
        """Return D' diag(weight) D in float32, where a decoded block never leaves the caches.

        A processor that multiplies tiles of bytes does so with the codebook in digits, where that is as exact; one that
        multiplies whole numbers faster than floats does so where the codebook is such numbers times a step.
        """
        if self.row_scale is not None:
            squared = self.row_scale.astype(np.float64) ** 2
            weight = squared if weight is None else weight * squared
        out = np.empty((self.shape[1],) * 2, dtype=np.float32)
        factors = None if weight is None else weight.astype(np.float32)
        fast = _core.is_fast("digit_product"), _core.is_fast("pair_product")
        _core.panel_gram(self.rows, self.n_levels, self.bits, self.book, factors, *fast, out)
        return scaled(out, self.scale, self.scale)

    def dot(self, other: Rows, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return D O' with other rows of as many decoded columns.

        One-bit codes and trits are counted. For float32 one bit is summed with more by look-ups, and others are decoded
        in cache; for float64 block by block. Of a matrix with itself the upper triangle is made and copied.
        """
        if not isinstance(other, PackedRows):
            return Rows.dot(self, other, kind)
        mine, others = self.trit_value, other.trit_value
        unscaled = self.scale is None and other.scale is None
        out = empty_result((len(self.rows), len(other.rows)), kind)
        if unscaled and self.bits == other.bits == 1 and self.n_levels == other.n_levels:
            _core.code_dot(self.rows, self.book, other.rows, other.book, self.n_levels, out)
        elif unscaled and mine is not None and others is not None:
            _core.trit_dot(self.rows, mine, other.rows, others, self.n_levels, out)
        elif unscaled and kind == np.float32 and is_summed(self, other):
            _core.bit_dot(self.rows, self.book, *other.operands, False, out)
        elif unscaled and kind == np.float32 and is_summed(other, self):
            _core.bit_dot(other.rows, other.book, *self.operands, True, out)
        elif kind == np.float32:
            weight, pairs = _joint_scale(self.scale, other.scale), _core.is_fast("pair_product")
            _core.panel_dot(*self.operands, *other.operands, weight, pairs, out)
        else:
            return Rows.dot(self, other, kind)
        return scaled(out, self.row_scale, other.row_scale)


@dataclass(eq=False, slots=True)
class FieldRows(Rows):
    """Fields of a row: `places` of their bits, and `book`, the values of all levels of the first field, then the next.

    There are few of them a row, so that products decode blocks of rows and leave the rest to BLAS.
    """

    rows: NDArray[np.uint8]
    n_levels: int
    places: FieldPlaces
    book: NDArray[np.float32]
    scale: NDArray[np.float32] | None = None
    row_scale: NDArray[np.float32] | None = None
    bits: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape."""
        return self.rows.shape[0], self.n_levels

    def with_rows(self, rows: NDArray[np.uint8], row_scale: NDArray[np.float32] | None) -> Self:
        """Return other rows of the same layout and values."""
        return type(self)(rows, self.n_levels, self.places, self.book, self.scale, row_scale)

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        """Write the values of some rows, without factors."""
        packed, size = self.rows[rows], max(1, _DECODED // self.n_levels)
        for begin in range(0, len(packed), size):
            part = slice(begin, begin + size)
            levels = self.places.levels(packed[part])
            out[part] = self.book[levels + self.places.start]


def rows_of(
    rows: NDArray[np.uint8], n_levels: int, bits: Bits, codebook: ArrayLike, scale: ArrayLike | None
) -> tuple[NDArray[np.float32], Rows]:
    """Return the codebook, checked, and rows that decode by it, of the layout that the bits say."""
    given, factors, width = np.array(codebook, dtype=float), None, 1
    if isinstance(bits, tuple):
        places = field_places(bits)
        need = f"the codebook of fields must be {places.n_values} finite numbers, a value a level, field by field"
        book = checked_floats(need, given, (places.n_values,))
    else:
        n_values = 1 << bits
        need = f"a {bits}-bit codebook must be finite with shape ({n_values},) or ({n_values}, 2)"
        book = checked_floats(need, given, (n_values,), (n_values, 2))
        width = book.size // n_values
    if scale is not None:
        need = f"scale must be {n_levels * width} finite numbers, one a decoded column"
        factors = checked_floats(need, np.array(scale, dtype=float), (n_levels * width,))
    if isinstance(bits, tuple):
        return book, FieldRows(rows, n_levels, places, book, factors)
    padded = np.zeros((1 << stored_bits(bits), width), dtype=np.float32)
    padded[: 1 << bits] = book.reshape(1 << bits, width)
    return book, PackedRows(rows, n_levels, stored_bits(bits), padded, factors)


def is_by_rows(W: NDArray[Any], n: int) -> bool:
    """Return whether n rows are multiplied with W (m, k) one by one: they are few, and each reads all of W."""
    if n >= _FEW_ROWS or not W.flags.aligned:
        return False
    return W.size <= _CACHED_WEIGHTS or (n == 1 and W.flags.f_contiguous)


def is_summed(bits: PackedRows, other: PackedRows) -> bool:
    """Return whether one-bit rows are multiplied with others in integer sums: where that is fast, and exact enough."""
    one_bit = bits.bits == 1 and bits.book.shape[1] == 1 and len(bits.rows) >= _FEW_BIT_ROWS
    return one_bit and _core.is_fast("bit_dot") and _core.weights_suffice(bits.n_levels, other.book)


def _joint_scale(one: NDArray[np.float32] | None, other: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    """Return the product of two scales of columns, where None stands for ones."""
    if one is None or other is None:
        return other if one is None else one
    return one * other


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


def empty_rows(n: int, width: int) -> NDArray[np.uint8]:
    """Return packed rows of any content, uint8 (n, width); from 4 KB on they begin at a multiple of 64 bytes.

    That is a line of the cache, and what JAX wants of memory that it shares. A few rows are not to wait for it.

    Examples
    --------
    >>> from lowtide.codes import empty_rows
    >>> empty_rows(100, 64).ctypes.data % 64
    0
    """
    size = n * width
    if size < _LARGE_ROWS:
        return np.empty((n, width), dtype=np.uint8)
    memory = np.empty(size + 63, dtype=np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + size].reshape(n, width)


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
        checked = np.require(values, kind, "A").view()  # misaligned numbers are copied
    if checked.shape not in shapes or not np.all((np.abs(checked) < np.inf) & (checked >= least)):
        raise CodeLayoutError(f"Codes: {must}, got shape {checked.shape}.")
    checked.flags.writeable = False
    return checked


def checked_beside(norms: ArrayLike | None, corrections: ArrayLike | None, n: int) -> tuple[Any, Any]:
    """Return read-only float32 norms and corrections, one per row, or None; shared when they are float32 already."""
    if norms is None:
        if corrections is not None:
            raise CodeLayoutError("Codes: corrections must come with norms, got none. Give both.")
        return None, None
    need = f"norms must be {n} finite numbers of at least 0, one a row"
    norms = checked_floats(need, norms, (n,), least=0)
    if corrections is not None:
        corrections = checked_floats(f"corrections must be {n} finite numbers, one a row", corrections, (n,))
    return norms, corrections


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


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class TransposedCodes:
    """View of `Codes` with rows and columns exchanged; made by `Codes.T`, it only multiplies: C.T @ R = D' R.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.codes import Codes, pack_levels
    >>> packed = pack_levels(np.array([[0, 1, 1], [1, 1, 0]]), bits=1)
    >>> C = Codes(packed, bits=1, n_levels=3, codebook=[-1.0, 1.0], fingerprint=bytes(16))
    >>> C.T @ np.array([10.0, 1.0])
    array([-9., 11.,  9.])
    """

    T: Codes  # the codes themselves
    rows: Rows
    __array_ufunc__ = None
    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape, (n_features, n)."""
        return self.T.shape[::-1]

    def __matmul__(self, R: Any) -> NDArray[Any]:
        """Return D' R, R (n,) or (n, c) float32 or float64; rows are added in a fixed order whatever the threads."""
        operand = as_operand("Codes.T @ R", R, self.shape[1])
        product = self.rows.rmatmul(operand if operand.ndim == 2 else operand[:, None])
        return product if operand.ndim == 2 else product[:, 0]

    def __repr__(self) -> str:
        return f"{self.T!r}.T"
