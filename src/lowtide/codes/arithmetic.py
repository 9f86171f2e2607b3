"""Rows whose levels all take equally many bits, and their products by compiled ops on the packed bits."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide.codes.rows import Rows, empty_result, scaled

# Below this many rows the look-up tables of a product cost more than they save.
_FEW_ROWS = 16
# One-bit rows from which look-ups are worth the tables of the other side, as measured: 50 at AVX-512, 90 at AVX2.
_FEW_BIT_ROWS = 64
# Weights that stay in the second-level cache, so that every row may read them anew.
_CACHED_WEIGHTS = 1 << 16


class _Packed(NamedTuple):
    rows: NDArray[np.uint8]
    n_levels: int
    bits: int
    book: NDArray[np.float32]
    scale: NDArray[np.float32] | None = None
    row_scale: NDArray[np.float32] | None = None


class PackedRows(_Packed, Rows):
    """What an op needs to know: rows (n, row bytes), levels a row, bits a stored level, book (2^bits, width).

    `scale` multiplies the decoded columns, (n_levels * width,), `row_scale` the rows, (n,); None for ones.
    """

    __slots__ = ()

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

    def with_rows(self, rows: NDArray[np.uint8], row_scale: NDArray[np.float32] | None) -> Self:
        """Return other rows of the same layout and values."""
        # Not `_replace`: a row that is predicted alone would feel it.
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
            return super().matmul(W)
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
            return super().rmatmul(R)
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
        return self._float32_gram(weight) if kind == np.float32 else super().gram(weight, kind)

    def _float32_gram(self, weight: NDArray[np.float64] | None) -> NDArray[np.float32]:
        """Return D' diag(weight) D in float32, where a decoded block never leaves the caches.

        A processor that multiplies tiles of bytes does so with the codebook in digits, where that is as exact.
        """
        if self.row_scale is not None:
            squared = self.row_scale.astype(np.float64) ** 2
            weight = squared if weight is None else weight * squared
        out = np.empty((self.shape[1],) * 2, dtype=np.float32)
        factors = None if weight is None else weight.astype(np.float32)
        digits = _core.is_fast("digit_product")
        _core.panel_gram(self.rows, self.n_levels, self.bits, self.book, factors, digits, out)
        return scaled(out, self.scale, self.scale)

    def dot(self, other: Rows, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return D O' with other rows of as many decoded columns.

        One-bit codes and trits are counted. For float32 one bit is summed with more by look-ups, and others are decoded
        in cache; for float64 block by block. Of a matrix with itself the upper triangle is made and copied.
        """
        if not isinstance(other, PackedRows):
            return super().dot(other, kind)
        mine, others = self.trit_value, other.trit_value
        unscaled = self.scale is None and other.scale is None
        out = empty_result((len(self.rows), len(other.rows)), kind)
        if unscaled and self.bits == other.bits == 1 and self.n_levels == other.n_levels:
            _core.code_dot(self.rows, self.book, other.rows, other.book, self.n_levels, out)
        elif unscaled and mine is not None and others is not None:
            _core.trit_dot(self.rows, mine, other.rows, others, self.n_levels, out)
        elif unscaled and kind == np.float32 and is_summed(self, other):
            _core.bit_dot(self.rows, self.book, *other[:4], False, out)
        elif unscaled and kind == np.float32 and is_summed(other, self):
            _core.bit_dot(other.rows, other.book, *self[:4], True, out)
        elif kind == np.float32:
            _core.panel_dot(*self[:4], *other[:4], _joint_scale(self.scale, other.scale), out)
        else:
            return super().dot(other, kind)
        return scaled(out, self.row_scale, other.row_scale)


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
