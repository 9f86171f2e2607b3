"""An op with what it must move and do, and what of the machine that takes at least."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["MEMORY", "Op", "Outcome", "together"]

MEMORY = "memory"


@dataclass(frozen=True)
class Op:
    """One call and its work.

    Attributes
    ----------
    name, size, element, counted : str
        The call, its size, what an element is, and how bytes and operations were counted, in words.
    elements : float
        How many there are.
    read, written : float
        Bytes that must come from memory, and that go to the new result.
    work : dict
        Amounts by name of the limit; what different limits bind goes on at the same time.
    run : callable
        Does it.
    pages : str
        Limit of the pages that the result is in: "fresh", or "write" where it takes over those of the last one.
    """

    name: str
    size: str
    element: str
    counted: str
    elements: float
    read: float
    written: float
    work: Mapping[str, float]
    run: Callable[[], object]
    pages: str = "fresh"

    def least_seconds(self, rates: Mapping[str, float]) -> dict[str, float]:
        """Return the time that each limit asks for; what is read and what is written take turns on the memory."""
        seconds = {name: amount / rates[name] for name, amount in self.work.items()}
        return seconds | {MEMORY: self.read / rates["read"] + self.written / rates[self.pages]}


@dataclass(frozen=True)
class Outcome:
    """An op as measured beside the limits."""

    op: Op
    seconds: float
    rates: Mapping[str, float]

    @property
    def binds(self) -> str:
        """Name of the limit that asks for the longest time."""
        least = self.op.least_seconds(self.rates)
        return max(least, key=lambda name: least[name])

    @property
    def fraction(self) -> float:
        """Least time that the machine allows against the time that was taken."""
        return max(self.op.least_seconds(self.rates).values()) / self.seconds

    @property
    def amount(self) -> float:
        """What the binding limit counts: bytes if that is the memory."""
        return self.op.read + self.op.written if self.binds == MEMORY else self.op.work[self.binds]


def together(*works: Mapping[str, float], times: float = 1.0) -> dict[str, float]:
    """Return the sum of several works, each taken `times` times."""
    names = {name: None for work in works for name in work}
    return {name: times * sum(work.get(name, 0.0) for work in works) for name in names}
