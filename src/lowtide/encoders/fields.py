"""Give each coordinate of rows the bits it deserves, and steps that round it with the least squared error."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import pack_levels
from lowtide.encoders.drawn.base import Arrays, fingerprint

Floats = NDArray[np.float64]

MOST_BITS = 8
# Digits that a learned number keeps: what the order of a sum moves is rounded away.
DIGITS = 9
# Rounds of Lloyd's algorithm; the error changes in the fourth digit past these.
_ROUNDS = 50
# A step of the error below this share is the last one.
_SETTLED = 1e-5
# Bins that the first levels are spread over, as the cube root of the density.
_BINS = 1 << 10
# A bit that saves less than this share of the whole error is not worth its place.
_LEAST_GAIN = 1e-9


@dataclass(frozen=True, eq=False)
class FieldSteps:
    """How coordinates become fields of a code: level of z_j = number of its borders at or below z_j.

    Attributes
    ----------
    bits : tuple of int
        b_j of each field, 1 to 8.
    borders : ndarray of float32, shape (sum of 2^b_j - 1,)
        Those of the first field in rising order, then those of the next.
    values : ndarray of float32, shape (sum of 2^b_j,)
        What levels decode to, in the same order.
    """

    bits: tuple[int, ...]
    borders: NDArray[np.float32]
    values: NDArray[np.float32]

    @cached_property
    def fields(self) -> list[NDArray[np.float32]]:
        """The borders of each field."""
        return np.split(self.borders, np.cumsum((1 << np.array(self.bits)) - 1)[:-1])

    def packed(self, Z: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the packed levels of coordinates (n, n_fields), uint8 (n, row bytes)."""
        levels = np.empty(Z.shape, dtype=np.uint8)
        for j, borders in enumerate(self.fields):
            levels[:, j] = np.searchsorted(borders, Z[:, j], side="right")
        return pack_levels(levels, self.bits)

    @cached_property
    def identity(self) -> bytes:
        """What decides a level, 16 bytes."""
        return fingerprint({"quantizer": "fields", "bits": list(self.bits)}, {"borders": self.borders})

    def arrays(self) -> Arrays:
        """Return what a file keeps."""
        bits = np.array(self.bits, dtype=np.uint8)
        return {"bits": bits, "borders": self.borders, "values": self.values}

    @classmethod
    def restore(cls, owner: str, arrays: Arrays) -> Self:
        """Return the steps of kept arrays, which may be anything."""
        bits = arrays["bits"]
        if bits.dtype != np.uint8 or bits.ndim != 1 or not len(bits) or not np.all((bits >= 1) & (bits <= MOST_BITS)):
            raise fail(owner, f"bits must be uint8 numbers from 1 to {MOST_BITS}", f"{bits.dtype} {bits.shape}")
        n_levels = 1 << bits.astype(np.intp)
        sizes = {"borders": int(np.sum(n_levels - 1)), "values": int(np.sum(n_levels))}
        for name, size in sizes.items():
            kept = arrays[name]
            if kept.dtype != np.float32 or kept.shape != (size,) or not np.isfinite(kept).all():
                raise fail(owner, f"{name} must be {size} finite float32", f"{kept.dtype} {kept.shape}")
        steps = cls(tuple(int(b) for b in bits), np.array(arrays["borders"]), np.array(arrays["values"]))
        if any(np.any(np.diff(borders) < 0) for borders in steps.fields):
            raise fail(owner, "borders must not fall within a field", "some that do")
        return steps


class Column:
    """The distribution of one coordinate: its least squared error at each number of bits, and the levels that have it.

    The levels of a bit more are found when they are asked for, and kept.
    """

    def __init__(self, values: Floats, weight: Floats) -> None:
        order = np.argsort(values, kind="stable")
        self.x, w = values[order], weight[order]
        self.mass, self.sums = (np.concatenate([[0.0], np.cumsum(v)]) for v in (w, w * self.x))
        self.square = float(np.sum(w * self.x**2))
        self._found: dict[int, Floats] = {}

    def levels(self, bits: int) -> Floats:
        """Return the values of 2^bits levels, rising; some are equal where there are fewer distinct numbers."""
        if bits not in self._found:
            self._found[bits] = self._lloyd(1 << bits)
        return self._found[bits]

    def error(self, bits: int) -> float:
        """Return the mean squared error of the coordinate, rounded to the mean of its level."""
        mass, sums = self._cells(self.levels(bits))
        kept = np.divide(sums**2, mass, out=np.zeros_like(mass), where=mass > 0)
        return max(0.0, float((self.square - kept.sum()) / self.mass[-1]))

    def _cells(self, levels: Floats) -> tuple[Floats, Floats]:
        """Return the weight of each level, and the weighted sum of its numbers."""
        places = np.searchsorted(self.x, (levels[1:] + levels[:-1]) / 2, side="left")
        return (np.diff(total[np.concatenate([[0], places, [len(self.x)]])]) for total in (self.mass, self.sums))  # type: ignore[return-value]

    def _lloyd(self, n: int) -> Floats:
        """Return n levels that round the numbers best: each the mean of what is nearest to it."""
        distinct = self.x[np.concatenate([[True], np.diff(self.x) > 0])]
        if len(distinct) <= n:
            return np.concatenate([distinct, np.full(n - len(distinct), distinct[-1])])
        levels = self._first_levels(n)
        last = np.inf
        for _ in range(_ROUNDS):
            mass, sums = self._cells(levels)
            levels = np.sort(np.divide(sums, mass, out=levels.copy(), where=mass > 0))
            error = self.square - float(np.sum(np.divide(sums**2, mass, out=np.zeros_like(mass), where=mass > 0)))
            if last - error <= _SETTLED * abs(error):
                break
            last = error
        return levels

    def _first_levels(self, n: int) -> Floats:
        """Return levels as dense as the cube root of the numbers' density, which many fine levels tend to."""
        edges = np.linspace(self.x[0], self.x[-1], _BINS + 1)
        density = np.diff(self.mass[np.searchsorted(self.x, edges[1:-1]).astype(np.intp)], prepend=0.0)
        density = np.append(density, self.mass[-1] - density.sum())
        grown = np.concatenate([[0.0], np.cumsum(np.cbrt(np.maximum(density, 0.0)))])
        return np.interp((np.arange(n) + 0.5) / n * grown[-1], grown, edges)


class Columns:
    """The distributions of coordinates Z (n, q), each looked at when it is asked for."""

    def __init__(self, Z: Floats, weight: Floats) -> None:
        self._Z, self._weight = Z, weight
        self._found: dict[int, Column] = {}

    def __getitem__(self, j: int) -> Column:
        if j not in self._found:
            self._found[j] = Column(self._Z[:, j], self._weight)
        return self._found[j]


def learned_steps(Z: Floats, weight: Floats, whole: float, n_bits: int) -> tuple[FieldSteps, NDArray[np.intp], float]:
    """Return steps of the coordinates Z (n, q) that deserve bits, which those are, and the mean square that is lost.

    `whole` is the mean square of all that could have been measured, the coordinates among it.
    """
    power = weight @ Z**2
    columns = Columns(Z, weight)
    bits = allocate(columns, power, n_bits)
    if not any(bits):  # rows that are all equal: a code must be something
        bits[0] = 1
    fields = [j for j, own in enumerate(bits) if own]
    left = float(np.sum([columns[j].error(bits[j]) for j in fields]))
    steps = steps_of([columns[j] for j in fields], [bits[j] for j in fields])
    return steps, np.array(fields), max(0.0, whole - float(power[fields].sum()) + left)


def allocate(columns: Columns, variances: Floats, n_bits: int) -> list[int]:
    """Return the bits of each coordinate, 0 to 8, n_bits at most: each bit goes where it saves most squared error.

    That is reverse water-filling with the errors of real quantizers in place of 2^(-2b): coordinates of less variance
    than the error level get none.
    """
    bits, errors = [0] * len(variances), list(map(float, variances))
    # A bit never saves more than all the error there is; how much it does is looked at when it comes first.
    waiting = [(-error, j, False) for j, error in enumerate(errors)]
    heapq.heapify(waiting)
    least, left = _LEAST_GAIN * float(np.sum(variances)), n_bits
    while waiting and left:
        gain, j, known = heapq.heappop(waiting)
        if -gain <= least:
            break
        if not known:
            heapq.heappush(waiting, (columns[j].error(bits[j] + 1) - errors[j], j, True))
            continue
        bits[j], left, errors[j] = bits[j] + 1, left - 1, errors[j] + gain
        if bits[j] < MOST_BITS:
            heapq.heappush(waiting, (-errors[j], j, False))
    return bits


def steps_of(columns: list[Column], bits: list[int]) -> FieldSteps:
    """Return the steps of coordinates that have bits, one field each."""
    borders: list[Any] = []
    values: list[Any] = []
    for column, own in zip(columns, bits):
        levels = rounded(column.levels(own))
        between = (levels[1:] + levels[:-1]) / 2
        # Levels that no number has come last: they begin where the last real one does.
        real = int(np.sum(np.diff(levels) > 0))
        between[real:] = between[real - 1] if real else levels[0]
        borders.append(rounded(between))
        values.append(levels)
    floats = (np.concatenate(part).astype(np.float32) for part in (borders, values))
    return FieldSteps(tuple(bits), *floats)


def rounded(values: Floats) -> Floats:
    """Return numbers with the digits that do not depend on the order of sums, relative to the largest."""
    largest = float(np.max(np.abs(values), initial=0.0))
    unit = 2.0 ** math.ceil(math.log2(largest)) if largest else 1.0
    return np.asarray(np.round(values / unit, DIGITS) * unit)
