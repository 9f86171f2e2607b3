"""Rows whose levels take bits of their own: fields of 1 to 8 bits back to back, each with a codebook of its own."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide.codes.arithmetic import PackedRows
from lowtide.codes.layout import Bits, FieldPlaces, field_places, stored_bits
from lowtide.codes.rows import Rows, checked_floats

# Values decoded at a time: what is in between stays in the second-level cache.
_DECODED = 1 << 15


class _Fields(NamedTuple):
    rows: NDArray[np.uint8]
    places: FieldPlaces
    book: NDArray[np.float32]
    scale: NDArray[np.float32] | None = None
    row_scale: NDArray[np.float32] | None = None


class FieldRows(_Fields, Rows):
    """Fields of a row: `places` of their bits, and `book`, the values of all levels of the first field, then the next.

    There are few of them a row, so that products decode blocks of rows and leave the rest to BLAS.
    """

    __slots__ = ()

    @property
    def n_levels(self) -> int:
        """Fields a row."""
        return len(self.places.byte)

    @property
    def bits(self) -> int:
        """None that every level takes: 0."""
        return 0

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape."""
        return self.rows.shape[0], self.n_levels

    def with_rows(self, rows: NDArray[np.uint8], row_scale: NDArray[np.float32] | None) -> Self:
        """Return other rows of the same layout and values."""
        return type(self)(rows, self.places, self.book, self.scale, row_scale)

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
        return book, FieldRows(rows, places, book, factors)
    padded = np.zeros((1 << stored_bits(bits), width), dtype=np.float32)
    padded[: 1 << bits] = book.reshape(1 << bits, width)
    return book, PackedRows(rows, n_levels, stored_bits(bits), padded, factors)
