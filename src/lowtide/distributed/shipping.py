"""Fitted objects on their way to workers: as the bytes of a model file, built once in each process."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lowtide.persist import from_bytes, to_bytes

__all__ = ["Shipped"]


class Shipped:
    """An encoder or a learner that travels as its specification: a Hadamard encoder is a few kilobytes, not its W.

    Parameters
    ----------
    thing : a fitted encoder or learner
    """

    def __init__(self, thing: Any) -> None:
        self._bytes = to_bytes(thing, weights="float64" if hasattr(thing, "predict") else "float32")

    @property
    def thing(self) -> Any:
        """The object, one for all tasks of a process."""
        return _built(self._bytes)

    @property
    def nbytes(self) -> int:
        """How much travels."""
        return len(self._bytes)


@lru_cache(maxsize=8)
def _built(data: bytes) -> Any:
    return from_bytes(data)
