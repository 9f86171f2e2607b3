"""Sources of codes: telling them from rows, reading them, and views of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.codes import Codes, CodeSource

__all__ = ["RecodedSource", "SelectedSource", "column_of", "first_codes", "is_source", "read_blocks"]

# Enough rows for products to run at full speed, and little enough to be read into memory that is used again.
_BLOCK_BYTES = 1 << 24
# Float64 values that may be made of a block's rows, a column a class: 128 MB.
_BLOCK_NUMBERS = 1 << 24


def is_source(X: Any) -> bool:
    """Whether X is a source of codes, `Codes` itself or any other; rows of features are none."""
    # An array is what comes most often, and a protocol takes long to be ruled out.
    return not isinstance(X, np.ndarray) and isinstance(X, CodeSource)


def column_of(source: CodeSource, values: Any, default: str | None = None) -> Any:
    """Return values a row as they are, or the column of the source that a text, or the default for None, names."""
    name = default if values is None else values
    if not isinstance(name, str) or not hasattr(source, "column"):
        return values
    return source.column(name)


def first_codes(source: CodeSource) -> Codes:
    """Return zero rows of a source that has rows, or of Codes: codebook, width and fingerprint."""
    return source[:0] if isinstance(source, Codes) else next(iter(source.blocks(1)))[:0]


def read_blocks(source: CodeSource, n_columns: int = 1, at_least: int = 0) -> Iterator[Codes]:
    """Yield the rows of a source in order, as much at a time as a process can easily hold; Codes come as they are.

    Parameters
    ----------
    source : CodeSource
    n_columns : int, default=1
        Numbers that will be made of each row.
    at_least : int, default=0
        Bytes that a block should have, if there are as many.
    """
    if isinstance(source, Codes):
        yield source
    elif source.n_rows:
        row_bytes = first_codes(source).packed.shape[1]
        size = min(max(_BLOCK_BYTES, at_least) // row_bytes, _BLOCK_NUMBERS // n_columns)
        yield from source.blocks(max(1, size))


@dataclass(frozen=True)
class RecodedSource:
    """A source whose blocks are changed as they are read: to another codebook, for example."""

    source: CodeSource
    change: Callable[[Codes], Codes]

    @property
    def n_rows(self) -> int:
        """Rows in all blocks together."""
        return self.source.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape."""
        return self.n_rows, self.change(first_codes(self.source)).shape[1]

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, at most `size` of them at a time."""
        return map(self.change, self.source.blocks(size))


@dataclass(frozen=True)
class SelectedSource:
    """The chosen rows of a source, a mask (n_rows,)."""

    source: CodeSource
    chosen: NDArray[np.bool_]

    @property
    def n_rows(self) -> int:
        """Rows in all blocks together."""
        return int(np.count_nonzero(self.chosen))

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape."""
        return self.n_rows, self.source.shape[1]

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, at most `size` of them at a time."""
        start = 0
        for block in self.source.blocks(size):
            chosen = self.chosen[start : start + len(block)]
            start += len(block)
            if chosen.any():
                yield block if chosen.all() else block[chosen]
