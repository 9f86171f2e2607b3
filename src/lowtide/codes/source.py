"""Where codes come from, for whoever reads them block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from lowtide.codes.codes import Codes

__all__ = ["CodeSource"]


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
