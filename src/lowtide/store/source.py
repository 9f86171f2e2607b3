"""Rows of codes by number, from a store or into one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, fail
from lowtide.codes import Codes, concatenate
from lowtide.errors import CodeLayoutError

__all__ = ["CodedRows", "StoredRows", "coded_rows"]


class StoredRows(ABC):
    """Codes that are read when they are asked for: what `Codes` offers of rows, without their arithmetic."""

    _template: Codes

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def _block(self, begin: int, end: int) -> Codes:
        """Return rows [begin, end), which are there."""

    @abstractmethod
    def _take(self, index: NDArray[np.intp]) -> Codes:
        """Return rows by number, which are there."""

    @abstractmethod
    def column(self, name: str) -> NDArray[Any]:
        """Return a column, array (n_rows,)."""

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape, (n_rows, n_features)."""
        return self.n_rows, self._template.shape[1]

    @property
    def bits(self) -> int:
        """Bits a level of the quantizer."""
        return self._template.bits

    @property
    def n_levels(self) -> int:
        """Levels stored a row."""
        return self._template.n_levels

    @property
    def codebook(self) -> NDArray[np.float32]:
        """Value of each level."""
        return self._template.codebook

    @property
    def scale(self) -> NDArray[np.float32] | None:
        """Factors of the decoded columns, or None for ones."""
        return self._template.scale

    @property
    def fingerprint(self) -> bytes:
        """Which encoder made the codes, 16 bytes."""
        return self._template.fingerprint

    @property
    def nbytes(self) -> int:
        """Packed bytes of all rows."""
        return self.n_rows * int(self._template.packed.shape[1])

    @property
    def y(self) -> NDArray[Any]:
        """The column "y"."""
        return self.column("y")

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, `size` at a time, the last ones fewer.

        Parameters
        ----------
        size : int
            A block within one chunk stays in the file; others are copied together.
        """
        size = check_integer("blocks", "size", size, 1)
        for begin in range(0, self.n_rows, size):
            yield self._block(begin, min(begin + size, self.n_rows))

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, key: Any) -> Codes:
        """Return the rows of a slice, integer, integer array or mask as Codes."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # how scikit-learn takes rows of anything with a shape
        if isinstance(key, slice):
            begin, end, step = key.indices(self.n_rows)
            return self._block(begin, max(begin, end)) if step == 1 else self._take(np.arange(begin, end, step))
        return self._take(_row_numbers(key, self.n_rows))


def _row_numbers(key: Any, n_rows: int) -> NDArray[np.intp]:
    """Return which rows a key means, from 0 to n_rows - 1."""
    index = np.asarray(key)
    if index.ndim == 1 and index.size == 0 and index.dtype.kind == "f":
        index = index.astype(np.intp)  # an empty list
    if index.ndim > 1 or index.dtype.kind not in "iub":
        raise CodeLayoutError(
            f"Stored codes are indexed by a slice, an integer, integers or a mask, got {index.ndim}-D of {index.dtype}."
        )
    if index.dtype.kind == "b":
        if index.shape != (n_rows,):
            raise CodeLayoutError(f"A mask must have an entry a row, {n_rows}, got shape {index.shape}.")
        return np.flatnonzero(index)
    numbers = index.reshape(-1).astype(np.intp)
    if len(numbers) and not -n_rows <= int(numbers.min()) <= int(numbers.max()) < n_rows:
        raise IndexError(f"rows must be from {-n_rows} to {n_rows - 1}, got {numbers.min()} to {numbers.max()}")
    return np.where(numbers < 0, numbers + n_rows, numbers)


class CodedRows(Protocol):
    """Rows on their way into a store."""

    @property
    def n_rows(self) -> int:
        """How many."""

    def codes(self, begin: int, end: int) -> Codes:
        """Return some of them, coded."""


def coded_rows(X: Any, encoder: Any, template: Codes) -> CodedRows:
    """Return what can be appended to codes like the template: codes, or rows that the encoder will encode."""
    if isinstance(X, (Codes, StoredRows)):
        return _Coded(X, template)
    if encoder is None:
        must = "rows must come as Codes, since the store was made without an encoder"
        raise fail("CodeStore", must, type(X).__name__, "Encode them first.")
    return _Raw(encoder, encoder._rows(X))


class _Coded:
    def __init__(self, source: Codes | StoredRows, template: Codes) -> None:
        concatenate([template, source[:0]])  # one encoder, codebook, scale, and norms or none
        self._source, self.n_rows = source, source.n_rows

    def codes(self, begin: int, end: int) -> Codes:
        return self._source[begin:end]


class _Raw:
    def __init__(self, encoder: Any, rows: Any) -> None:
        self._encoder, self._rows, self.n_rows = encoder, rows, int(rows.shape[0])

    def codes(self, begin: int, end: int) -> Codes:
        codes: Codes = self._encoder._encode(self._rows[begin:end])
        return codes
