"""Cells of the table: a dataset at a number of bytes an item, with the accuracies of all methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.value.method import Method, Split

__all__ = ["Cell", "Contest", "Score", "measure", "summarize", "table", "table_of_methods"]

Array = NDArray[Any]
_KILO = 1024.0


@dataclass(frozen=True)
class Score:
    """A method in a cell: its accuracy in each split, and what it takes on average.

    Attributes
    ----------
    name, side : str
    accuracy : ndarray (n_splits,)
    item_bytes, model_bytes : float
    """

    name: str
    side: str
    accuracy: Array
    item_bytes: float
    model_bytes: float

    @property
    def mean(self) -> float:
        """Mean accuracy."""
        return float(self.accuracy.mean())


@dataclass(frozen=True)
class Contest:
    """The best of lowtide's methods and the best of the peers'; None where no peer is small enough."""

    ours: Score
    theirs: Score | None

    @property
    def difference(self) -> float:
        """Points of accuracy that lowtide is ahead."""
        return float("nan") if self.theirs is None else 100.0 * (self.ours.mean - self.theirs.mean)

    @property
    def error(self) -> float:
        """Standard error of the paired difference, in points; unknown of one split."""
        if self.theirs is None or len(self.ours.accuracy) < 2:
            return float("nan")
        paired = 100.0 * (self.ours.accuracy - self.theirs.accuracy)
        return float(paired.std(ddof=1) / np.sqrt(len(paired)))

    @property
    def is_won(self) -> bool:
        """Whether lowtide is at or above the best peer. A cell without a peer is nobody's."""
        return self.theirs is not None and self.difference >= 0.0


@dataclass(frozen=True)
class Cell:
    """All methods on one dataset at one number of bytes an item."""

    data: str
    n_bytes: int
    scores: tuple[Score, ...]

    def of(self, side: str) -> tuple[Score, ...]:
        """Return the scores of a side."""
        return tuple(score for score in self.scores if score.side == side)

    @property
    def cap(self) -> float:
        """Bytes of the smallest of lowtide's models."""
        return min(score.model_bytes for score in self.of("lowtide"))

    def contest(self, most_model_bytes: float = np.inf) -> Contest:
        """Return the best of either side, by mean accuracy over the splits, among models of so many bytes."""
        ours, theirs = (
            max((s for s in self.of(side) if s.model_bytes <= most_model_bytes), key=lambda s: s.mean, default=None)
            for side in ("lowtide", "peer")
        )
        if ours is None:
            raise ValueError(f"most_model_bytes must be at least {self.cap:.0f}, got {most_model_bytes:.0f}.")
        return Contest(ours, theirs)


def measure(data: str, splits: Sequence[Split], n_bytes: int, methods: Iterable[Method]) -> Cell:
    """Return the cell of all methods that have a form of such size; an answer that is larger is an error."""
    scores = []
    for method in methods:
        answers = [method.answer(split, n_bytes) for split in splits]
        given = [answer for answer in answers if answer is not None]
        if len(given) < len(splits):
            continue
        if max(answer.item_bytes for answer in given) > n_bytes:
            raise AssertionError(f"{method.name} must keep at most {n_bytes} bytes of a row, got {given}")
        accuracy = [float(np.mean(answer.predictions == split.truth)) for answer, split in zip(given, splits)]
        item_bytes, model_bytes = np.mean([(answer.item_bytes, answer.model_bytes) for answer in given], axis=0)
        scores.append(Score(method.name, method.side, np.array(accuracy), float(item_bytes), float(model_bytes)))
    return Cell(data, n_bytes, tuple(scores))


def table(cells: Sequence[Cell], is_capped: bool) -> str:
    """Return the Markdown table of best against best; capped: among models no larger than lowtide's smallest."""
    lines = [
        "| data | bytes an item | model at most | lowtide | accuracy | best peer | accuracy | difference | error | |",
        "| --- " * 10 + "|",
    ]
    for cell in cells:
        contest = cell.contest(cell.cap if is_capped else np.inf)
        theirs = contest.theirs
        lines.append(
            f"| {cell.data} | {cell.n_bytes} | {f'{cell.cap / _KILO:.1f} KiB' if is_capped else 'any'} | "
            f"{contest.ours.name} | {_percent(contest.ours)} | {'none fits' if theirs is None else theirs.name} | "
            f"{_percent(theirs)} | {_points(contest.difference, '+.2f')} | {_points(contest.error, '.2f')} | "
            f"{'' if contest.is_won or theirs is None else 'LOST'} |"
        )
    return "\n".join(lines)


def table_of_methods(cells: Sequence[Cell]) -> str:
    """Return the Markdown table of every method: accuracy, and the model's size, in each cell."""
    names = list(dict.fromkeys((score.side, score.name) for cell in cells for score in cell.scores))
    lines = [
        "| side | method | " + " | ".join(f"{cell.data} {cell.n_bytes}" for cell in cells) + " |",
        "| --- " * (2 + len(cells)) + "|",
    ]
    for side, name in names:
        found = [next((s for s in cell.scores if (s.side, s.name) == (side, name)), None) for cell in cells]
        entries = ["" if s is None else f"{_percent(s)} ({s.model_bytes / _KILO:.0f} KiB)" for s in found]
        lines.append(f"| {side} | {name} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def summarize(cells: Sequence[Cell], is_capped: bool) -> tuple[str, bool]:
    """Return a sentence with the count of cells won and each loss, and whether most were won."""
    contests = [cell.contest(cell.cap if is_capped else np.inf) for cell in cells]
    met = [(cell, contest) for cell, contest in zip(cells, contests) if contest.theirs is not None]
    n_won = sum(contest.is_won for _, contest in met)
    losses = [f"{cell.data} {cell.n_bytes} ({c.difference:+.2f})" for cell, c in met if not c.is_won]
    text = f"lowtide is at or above the best peer in {n_won} of {len(met)} cells."
    if len(met) < len(cells):
        text += f" In {len(cells) - len(met)} more no peer is as small."
    if losses:
        text += f" Lost: {', '.join(losses)}."
    return text, 2 * n_won > len(met) or not met


def _percent(score: Score | None) -> str:
    return "" if score is None else f"{100.0 * score.mean:.2f}"


def _points(value: float, form: str) -> str:
    return "" if np.isnan(value) else format(value, form)
