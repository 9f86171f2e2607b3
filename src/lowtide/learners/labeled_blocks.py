"""Rows that come in blocks with their labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lowtide._checks import fail

__all__ = ["labeled_blocks"]

Block = tuple[Any, Any, Any]


def labeled_blocks(blocks: Iterator[Any], y: Any, sample_weight: Any, owner: str) -> Iterator[Block]:
    """Return (rows, y, sample_weight or None) of each block; refuse labels or weights that are given beside them."""
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if given is not None:
            need = f"{name} must come with the rows of each block when X is an iterator"
            raise fail(owner, need, type(given).__name__, "Let it yield (rows, y) or (rows, y, sample_weight).")
    return (_labeled(block, owner) for block in blocks)


def _labeled(block: Any, owner: str) -> Block:
    if not isinstance(block, (tuple, list)) or len(block) not in (2, 3):
        got = type(block).__name__ if not isinstance(block, (tuple, list)) else f"{len(block)} of them"
        raise fail(owner, "a block must be (rows, y) or (rows, y, sample_weight)", got)
    return block[0], block[1], block[2] if len(block) == 3 else None
