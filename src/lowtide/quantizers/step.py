"""Periodic step functions and their Fourier coefficients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["StepFunction"]


@dataclass(frozen=True)
class StepFunction:
    """A function of period one turn that is `values[i]` on [breaks[i], breaks[i+1]), the last piece wrapping around.

    Attributes
    ----------
    breaks : ndarray of float64, shape (n,)
        Ascending, in [0, 1).
    values : ndarray of float64, shape (n,)
    """

    breaks: NDArray[np.float64]
    values: NDArray[np.float64]

    def at(self, turns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function at phases in turns."""
        piece = np.searchsorted(self.breaks, turns - np.floor(turns), side="right") - 1
        return self.values[piece]

    def shifted(self, turns: float) -> Self:
        """Return t -> f(t + turns)."""
        breaks = (self.breaks - turns) % 1.0
        order = np.argsort(breaks, kind="stable")
        return type(self)(breaks[order], self.values[order])

    def __mul__(self, other: Self) -> Self:
        """Return the product, a step function on the union of the breaks."""
        breaks = np.unique(np.concatenate([self.breaks, other.breaks]))
        # Evaluated in the middle of each piece: a break that rounding has split in two cannot pick a wrong value.
        ends = np.append(breaks[1:], breaks[0] + 1.0)
        middle = (breaks + ends) / 2
        return type(self)(breaks, self.at(middle) * other.at(middle))

    def coefficients(self, n_harmonics: int) -> NDArray[np.complex128]:
        """Return F_k = int_0^1 f(u) e^{-2 pi i k u} du for k = 0 .. n_harmonics, exact, O(breaks x harmonics)."""
        ends = np.append(self.breaks[1:], self.breaks[0] + 1.0)
        jumps = self.values - np.roll(self.values, 1)
        k = np.arange(1, n_harmonics + 1)
        out = np.empty(n_harmonics + 1, dtype=np.complex128)
        out[0] = np.sum(self.values * (ends - self.breaks))
        # k = 64 q + r: exponentials of q and of r alone, and a matrix product in place of one of each k.
        coarse = np.exp(-2j * math.pi * np.outer(np.arange(0, n_harmonics + 1, 64), self.breaks))
        fine = np.exp(-2j * math.pi * np.outer(np.arange(64), self.breaks))
        out[1:] = ((coarse * jumps) @ fine.T).ravel()[1 : n_harmonics + 1] / (2j * math.pi * k)
        return out
