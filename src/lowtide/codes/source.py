"""Codes in pieces: a source that gives them block by block, and pieces that become one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from lowtide.codes.arithmetic import same_array
from lowtide.codes.codes import Codes, check_same_frequencies
from lowtide.errors import CodeLayoutError


@runtime_checkable
class CodeSource(Protocol):
    """Blocks of codes of one encoder, from memory, disk or elsewhere. `Codes` itself is one.

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
    kept = [part.norms for part in parts if part.norms is not None]
    if len(kept) not in (0, len(parts)) or len({part.is_times_norms for part in parts}) > 1:
        raise CodeLayoutError(
            "concatenate: all parts must have norms and be times them, or none of them, got both. "
            "Encode all with one store_norms."
        )
    return first.with_rows(np.concatenate([part.packed for part in parts]), np.concatenate(kept) if kept else None)
