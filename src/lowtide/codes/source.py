"""Codes in pieces: a source that gives them block by block, rows that stay elsewhere, and pieces that become one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer
from lowtide.codes.codes import Codes
from lowtide.codes.layout import check_same_frequencies, same_array
from lowtide.errors import CodeLayoutError


@runtime_checkable
class CodeSource(Protocol):
    """Anything that yields blocks of codes of one encoder, from memory, disk or elsewhere; `Codes` itself is one.

    Blocks come in row order, cover every row once, share codebook and fingerprint, and may be asked for again.

    Notes
    -----
    Where a source has them, learners also use `column(name)`, an array with a value a row, and `encoder`, the fitted
    encoder of the codes; slices `source[a:b]`, as `Codes`, let a cluster read ranges of it.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.codes import Codes
    >>> C = Codes(np.zeros((5, 8), np.uint8), bits=1, n_levels=9, codebook=[-1, 1], fingerprint=bytes(16))
    >>> isinstance(C, CodeSource), [len(block) for block in C.blocks(2)]
    (True, [2, 2, 1])
    """

    @property
    def n_rows(self) -> int:
        """Rows in all blocks together."""

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape, (n_rows, n_features)."""

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, at most `size` of them at a time."""


class StoredRows(ABC):
    """Codes in a file or a store, which are read when they are asked for: rows and slices, but no arithmetic.

    Attributes
    ----------
    template : Codes
        Zero rows: bits, codebook and identity of all rows.
    bits, n_levels, codebook, fingerprint, side, scale : as in `Codes`
    """

    def use_template(self, template: Codes) -> None:
        """Take the bits, codebook and identity of all rows from codes of zero rows.

        Parameters
        ----------
        template : Codes
        """
        self.template = template
        self.bits, self.n_levels, self.codebook = template.bits, template.n_levels, template.codebook
        self.fingerprint, self.side, self.scale = template.fingerprint, template.side, template.scale

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def rows_between(self, begin: int, end: int) -> Codes:
        """Return rows [begin, end), which must be there.

        Parameters
        ----------
        begin, end : int
        """

    @abstractmethod
    def rows_at(self, index: NDArray[np.intp]) -> Codes:
        """Return rows by number, in any order, each of which must be there.

        Parameters
        ----------
        index : array of int (k,)
        """

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape, (n_rows, n_features)."""
        return self.n_rows, self.template.shape[1]

    @property
    def nbytes(self) -> int:
        """Packed bytes of all rows, and those of norms and corrections."""
        beside = (self.template.norms, self.template.corrections)
        of_row = self.template.packed.shape[1] + sum(part.itemsize for part in beside if part is not None)
        return self.n_rows * int(of_row)

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, `size` at a time, the last ones fewer.

        Parameters
        ----------
        size : int
            Rows are read when a block is asked for, and belong to it: nothing that happens to a file changes them.
        """
        size = check_integer("blocks", "size", size, 1)
        for begin in range(0, self.n_rows, size):
            yield self.rows_between(begin, min(begin + size, self.n_rows))

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, key: Any) -> Codes:
        """Return the rows of a slice, integer, integer array or mask as Codes."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # how scikit-learn takes rows of anything with a shape
        if isinstance(key, slice):
            begin, end, step = key.indices(self.n_rows)
            return self.rows_between(begin, max(begin, end)) if step == 1 else self.rows_at(np.arange(begin, end, step))
        return self.rows_at(_row_numbers(key, self.n_rows))


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


def concatenate(parts: Sequence[Codes]) -> Codes:
    """Return the rows of all parts in order, still packed.

    Parameters
    ----------
    parts : sequence of Codes
        At least one; all of the same frequencies and side (equal `fingerprint` and `side`), width and codebook, with
        norms or all without.

    Returns
    -------
    Codes

    Notes
    -----
    Copies the packed bytes once; nothing is decoded.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.codes import Codes
    >>> C = Codes(np.zeros((2, 8), np.uint8), bits=1, n_levels=9, codebook=[-1, 1], fingerprint=bytes(16))
    >>> concatenate([C, C[:1]]).shape
    (3, 9)
    """
    parts = list(parts)
    if not parts or not all(isinstance(part, Codes) for part in parts):
        kinds = sorted({type(part).__name__ for part in parts}) or "an empty sequence"
        raise CodeLayoutError(f"concatenate: give one or more Codes, got {kinds}.")
    first = parts[0]
    for part in parts[1:]:
        check_same_frequencies("concatenate", first, part)
        if part.side != first.side:
            raise CodeLayoutError(
                f"concatenate: all parts must have levels of one side, got sides {first.side.hex()} and "
                f"{part.side.hex()}. Encode all with one quantizer."
            )
        same_book = part.bits == first.bits and np.array_equal(part.codebook, first.codebook)
        if not same_book or not same_array(part.scale, first.scale):
            raise CodeLayoutError(
                "concatenate: all parts must have one codebook, got different ones. "
                "Bring them to one first: part.with_codebook(book)."
            )
    if len({(part.norms is None, part.corrections is None, part.is_times_norms) for part in parts}) > 1:
        raise CodeLayoutError(
            "concatenate: all parts must have norms and be times them, or none of them, and corrections likewise, got "
            "both. Encode all with one encoder."
        )
    lists: tuple[list[Any], ...] = ([part.norms for part in parts], [part.corrections for part in parts])
    beside = [None if kept[0] is None else np.concatenate(kept) for kept in lists]
    return first.with_rows(np.concatenate([part.packed for part in parts]), *beside)
