"""Changes of bytes, of JSON and of arrays, each a function of a generator alone."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["changed_array", "changed_bytes", "changed_json"]

_MOST_BYTES = 1 << 16
# Lengths and counts live in these.
_WIDTHS = (1, 2, 4, 8)
_WHOLE = (0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 63) - 1, (1 << 64) - 1)
_TEXTS = (
    "",
    "x",
    "00" * 16,
    "Gaussian",
    "codes",
    "float64",
    "../../etc/passwd",
    "a\0b",
    "\ud800",
    "é" * 100,
    "NaN",
    "1",
)
_STRANGE: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 3, 8, 9, 64, 255, 1 << 31, 1 << 32, 1 << 62, 1 << 63, 1 << 64, 10**30, 10**400),
    *(0.5, -0.0, 1e-320, 1e-300, -1e300, 1e308, math.nan, math.inf, -math.inf),
    *_TEXTS,
    *([], [[[]]], [None], [0] * 1000, [[1.0, 2.0]], {}, {"": {}}, {"type": "Hadamard"}, {"type": ["Gaussian"]}),
    *({"type": "Gaussian", "bandwidth": 10**400}, {"type": "PeriodicMap", "f": [1]}, {"kind": "RandomFeatures"}),
    *(
        {"fitted": True, "frozen": True},
        {"dtype": "str", "values": ["a", "b"]},
        {"dtype": "float64", "values": [1, "x"]},
    ),
)
_NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e-320, 1e30, 3e38, 1e300, math.nan, math.inf, -math.inf)
_TYPES = ("f8", "f4", "f2", "i8", "i1", "u1")


def _span(data: bytearray, draw: Random) -> tuple[int, int]:
    """Return where a piece of some bytes begins and ends; short ones are likeliest."""
    begin = draw.randrange(len(data) + 1)
    return begin, min(len(data), begin + int(2 ** draw.uniform(0, 8)))


def changed_bytes(data: bytes, draw: Random, others: Sequence[bytes] = ()) -> bytes:
    """Return bytes that differ in one to four places: flipped, overwritten, cut, repeated, or spliced with others."""
    while True:
        found = bytearray(data)
        for _ in range(draw.choice((1, 1, 1, 2, 3, 4))):
            _change(found, draw, others)
        if found != data:
            return bytes(found[:_MOST_BYTES])


def _change(found: bytearray, draw: Random, others: Sequence[bytes]) -> None:
    way, (begin, end) = draw.randrange(10), _span(found, draw)
    if way <= 1 and found:
        found[draw.randrange(len(found))] ^= 1 << draw.randrange(8)
    elif way == 2 and found:
        found[draw.randrange(len(found))] = draw.choice((0, 1, 32, 48, 127, 128, 255, draw.randrange(256)))
    elif way == 3:
        width = draw.choice(_WIDTHS)
        found[begin : begin + width] = (draw.choice(_WHOLE) % (1 << 8 * width)).to_bytes(width, "little")
    elif way == 4:
        del found[begin:]
    elif way == 5:
        del found[begin:end]
    elif way == 6:
        found[begin:begin] = draw.randbytes(draw.randrange(1, 40))
    elif way == 7:
        found[begin:begin] = found[begin:end] * draw.choice((1, 1, 2, 50))
    elif way == 8:
        other = draw.choice(others) if others else bytes(found)
        first = draw.randrange(len(other) + 1)
        found[begin:end] = other[first : first + int(2 ** draw.uniform(0, 10))]
    else:
        found[begin:end] = bytes(end - begin)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside nested lists and objects."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, child in children for place in ((*path, key), *_places(child, (*path, key)))]


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def changed_json(text: str, draw: Random) -> Any:
    """Return the value of a JSON text with one to three of the values inside it replaced, moved, added or left out."""
    value = json.loads(text)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        places = _places(value)
        if not places:
            return deepcopy(draw.choice(_STRANGE))
        *outer, key = draw.choice(places)
        owner, way = _at(value, tuple(outer)), draw.randrange(10)
        if way == 0:
            del owner[key]
        elif way == 1 and isinstance(owner, dict):
            owner[draw.choice((*_TEXTS, "x" + str(key)))] = deepcopy(owner[key])
        elif way == 1:
            owner.insert(key, deepcopy(owner[key]))
        elif way == 2:
            owner[key] = deepcopy(_at(value, draw.choice(places)))
        elif way <= 5 and type(owner[key]) in (int, float):
            owner[key] = _near(owner[key], draw)
        else:
            owner[key] = deepcopy(draw.choice(_STRANGE))
    return value


def _near(number: float, draw: Random) -> float:
    """Return a number near another, or far from it in one of few ways."""
    if isinstance(number, int):
        return draw.choice(
            (number + 1, number - 1, -number, 2 * number, number // 2, number + 8, min(number, 1 << 64) / 1)
        )
    with np.errstate(all="ignore"):
        return float(draw.choice((-number, 2 * number, np.nextafter(number, 9e9), number * 1e200, number * 1e-200)))


def changed_array(array: NDArray[Any], draw: Random) -> NDArray[Any]:
    """Return an array of another shape or type, or of this one with other values."""
    way = draw.randrange(8)
    if way == 0:
        return array[..., : draw.randrange(array.shape[-1] + 1)] if array.ndim else array[None]
    if way == 1:
        return draw.choice((array[None], array[..., None], array.reshape(-1), array.T))
    if way == 2 and array.ndim:
        return np.concatenate([array, array], axis=draw.randrange(array.ndim))
    if way == 3:
        with np.errstate(all="ignore"):
            return array.astype(draw.choice(_TYPES))
    found = np.array(array)
    flat, size = found.reshape(-1), found.size
    some = [draw.randrange(size) for _ in range(draw.choice((1, 1, 3, 20)))] if size else []
    if way == 4 and draw.random() < 0.5:
        some = list(range(size))
    if found.dtype.kind == "f" and way <= 5:
        with np.errstate(all="ignore"):
            flat[some] = draw.choice(_NUMBERS)
    elif way <= 5:
        bounds = np.iinfo(found.dtype)
        flat[some] = draw.choice((bounds.min, bounds.max, 0, 1))
    else:
        bits = flat.view(np.uint8)
        for _ in some:
            bits[draw.randrange(len(bits))] ^= 1 << draw.randrange(8)
    return found
