"""Levels in and out of a packed row, as C."""

from __future__ import annotations

from typing import Any

from lowtide.device.text import filled

__all__ = ["get_source", "put_source"]

# Levels of one, two, four and eight bits never lie across two bytes.
_ACROSS = 3


def put_source(names: dict[str, Any]) -> str:
    """Return the functions that zero a code and write a level into it."""
    across = "\n    if ((bit & 7) > 5) code[(bit >> 3) + 1] = (uint8_t)(level >> (8 - (bit & 7)));"
    return filled("put.c", **names, across=across if names["stored_bits"] == _ACROSS else "")


def get_source(bits: int) -> str:
    """Return the function that reads a level; the last one ends within the row, so no byte past it is read."""
    window = "(uint32_t)code[bit >> 3]"
    if bits == _ACROSS:
        window = "(code[bit >> 3] | ((bit & 7) > 5 ? (uint32_t)code[(bit >> 3) + 1] << 8 : 0u))"
    return filled("get.c", stored_bits=bits, window=window, mask=(1 << bits) - 1)
