"""How times grow with rows, features in and features out: encoding, Grams and fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

import lowtide as lt
from benchmarks.roofline.encoding import rows
from benchmarks.roofline.timing import best_times, progress

__all__ = ["Curve", "measure_growth"]

PROJECTIONS = 4_000_000  # of one point of the curves of time a projection
Point = tuple[Callable[[], object], float]


@dataclass(frozen=True)
class Curve:
    """Times of one call along one variable.

    Attributes
    ----------
    call, variable, fixed : str
        What is called, along what, and what is held.
    values, seconds : tuple of float
        Sizes, and the time of each: of the call, or of one projection of it.
    """

    call: str
    variable: str
    fixed: str
    values: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def exponent(self) -> float:
        """Power of the size with which the time grows, by least squares on logarithms."""
        return float(np.polyfit(np.log(self.values), np.log(self.seconds), 1)[0])

    @property
    def last_exponent(self) -> float:
        """The same from the last two sizes, where what does not grow weighs least."""
        return float(np.diff(np.log(self.seconds[-2:]))[0] / np.diff(np.log(self.values[-2:]))[0])

    @property
    def per_doubling(self) -> tuple[float, float]:
        """Seconds (a, b) of the line a + b log2(size), by least squares."""
        slope, start = np.polyfit(np.log2(self.values), self.seconds, 1)
        return float(start), float(slope)


def measure_growth(shrink: int = 1, rounds: int = 6) -> list[Curve]:
    """Measure every curve; `shrink` divides sizes, for a quick look."""
    curves = []
    for call, variable, fixed, values, build in _plans(shrink):
        progress(f"{call} along {variable}")
        points = {str(value): build(value) for value in values}
        best = best_times({name: run for name, (run, _) in points.items()}, rounds)
        seconds = tuple(best[name] / share for name, (_, share) in points.items())
        curves.append(Curve(call, variable, fixed, tuple(values), seconds))
    return curves


def _plans(shrink: int) -> Iterator[tuple[str, str, str, list[int], Callable[[int], Point]]]:
    """Yield call, variable, what is fixed, sizes, and how a point is built."""
    small = 1 if shrink == 1 else 4

    def doubled(first: int, count: int) -> list[int]:
        return [first // small << i for i in range(count if small == 1 else 2)]

    n, d, m = (size // small for size in (2_048, 784, 4_096))
    yield "encode", "n", f"d = {d}, m = {m}", doubled(1_024, 6), lambda n: _encode(n, d, m)
    yield "encode", "m", f"n = {n}, d = {d}", doubled(1_024, 6), lambda m: _encode(n, d, m)
    many = PROJECTIONS // shrink
    yield "projection, Hadamard", "d", "whole blocks", doubled(256, 7), partial(_projection, "hadamard", many)
    yield "projection, iid", "d", "m = 4096", doubled(256, 4), partial(_projection, "iid", many // 4)
    yield "gram", "n", f"m = {m // 2}", doubled(4_096, 4), lambda n: _gram(n, m // 2)
    yield "gram", "m", f"n = {4 * n}", doubled(512, 4), lambda m: _gram(4 * n, m)
    yield "fit", "n", f"d = 64, m = {m // 4}", doubled(4_096, 5), lambda n: _fit(n, 64, m // 4)
    yield "fit", "m", f"n = {4 * n}, d = 64", doubled(256, 5), lambda m: _fit(4 * n, 64, m)
    yield "fit", "d", f"n = {2 * n}, m = {m // 4}", doubled(256, 5), lambda d: _fit(2 * n, d, m // 4)


def _encode(n: int, d: int, m: int) -> Point:
    X = rows(n, d)
    return partial(lt.RandomFeatures(gamma=1.0 / d, n_components=m, random_state=0).fit(X[:100]).encode, X), 1.0


def _projection(layout: str, projections: int, d: int) -> Point:
    """Rows for a fixed number of projections; a Hadamard block is used whole, which is what its cost is for."""
    frequencies = max(2_048, d) if layout == "hadamard" else 2_048
    n = max(64, projections // frequencies)
    X = rows(n, d)
    encoder = lt.RandomFeatures(gamma=1.0 / d, n_components=2 * frequencies, projection=layout, random_state=0)
    return partial(encoder.fit(X[:64]).encode, X), float(n * frequencies)


def _gram(n: int, m: int) -> Point:
    X = rows(n, 64)
    return lt.RandomFeatures(gamma=1 / 64, n_components=m, random_state=0).fit(X[:100]).encode(X).gram, 1.0


def _fit(n: int, d: int, m: int) -> Point:
    """Ten classes that depend on the rows, so that there is something to learn."""
    X = rows(n, d)
    y = np.argmax(X[:, :10], axis=1)
    return partial(
        lt.KernelClassifier(gamma=1.0 / d, n_components=m, loss="squared", C=1.0, metric=None, random_state=0).fit, X, y
    ), 1.0
