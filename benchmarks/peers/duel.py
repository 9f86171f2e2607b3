"""One row: two ways to the same end, timed in turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

__all__ = ["Duel", "Outcome", "run"]

ENOUGH_SECONDS, MOST_REPEATS = 10.0, 30


@dataclass(frozen=True)
class Duel:
    """Two callables on the same data.

    Attributes
    ----------
    name, lowtide, peer : str
        The row and what stands on each side, in words.
    build : callable
        Makes the data and returns (run lowtide, run the peer).
    must : float, optional
        Ratio peer time / lowtide time that the project promises; None where it only reports.
    goal : float, optional
        Ratio that it is after.
    repeats : int
        Times each side is run at least, alternating; short ones are run more often, but never those that run once.
    warm : bool
        Whether each side is run once before.
    needs : str, optional
        Module of the peer that may not be there; the row is then skipped.
    """

    name: str
    lowtide: str
    peer: str
    build: Callable[[], tuple[Callable[[], object], Callable[[], object]]]
    must: float | None = None
    goal: float | None = None
    repeats: int = 5
    warm: bool = True
    needs: str | None = None

    @property
    def missing(self) -> str | None:
        """Name of the module that the row needs and this environment does not have."""
        return self.needs if self.needs is not None and find_spec(self.needs) is None else None


@dataclass(frozen=True)
class Outcome:
    """Best times in seconds, their ratio, and the range of ratios over the repeats."""

    name: str
    lowtide: str
    peer: str
    must: float | None
    goal: float | None
    lowtide_seconds: float
    peer_seconds: float
    lowest_ratio: float
    highest_ratio: float

    @property
    def ratio(self) -> float:
        """Best against best."""
        return self.peer_seconds / self.lowtide_seconds

    @property
    def met(self) -> bool:
        """Whether the promise was kept."""
        return self.must is None or self.ratio >= self.must


def run(duel: Duel) -> Outcome:
    """Warm both sides up, then time them in turn: what disturbs one disturbs the other."""
    ours, theirs = duel.build()
    if duel.warm:
        ours(), theirs()
    times: list[tuple[float, float]] = []
    while len(times) < duel.repeats or _is_short(times):
        times.append((_seconds(ours), _seconds(theirs)))
    mine, peers = zip(*times)
    ratios = [peer / own for own, peer in times]
    about = (duel.name, duel.lowtide, duel.peer, duel.must, duel.goal)
    return Outcome(*about, min(mine), min(peers), min(ratios), max(ratios))


def _is_short(times: list[tuple[float, float]]) -> bool:
    """Whether more runs cost little: the best of a few short ones is that of a moment when the machine was busy."""
    return 1 < len(times) < MOST_REPEATS and sum(map(sum, times)) < ENOUGH_SECONDS


def _seconds(side: Callable[[], object]) -> float:
    start = time.perf_counter()
    side()
    return time.perf_counter() - start
