"""The rows of a fit that are scored as if left out, and a fit with the scores of these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowtide.cancel import Later, ready
from lowtide.learners.classes import Pair
from lowtide.learners.problem import Change, Problem, Reading, SummedProblem
from lowtide.learners.ridge import RidgeSolution
from lowtide.learners.rules import Rule

Array = NDArray[Any]

# Rows that are kept to fit a curve on, and scores of theirs that it is fitted on: fewer rows of many classes.
_MOST_ROWS = 20_000
_MOST_SCORES, _LEAST_ROWS = 1 << 18, 10_000
# Sorted at once when more rows come than can be kept: so many times as many, if their keys are that small.
_NEAR = 4


@dataclass
class CalibrationRows:
    """The rows of a fit that probabilities are calibrated on, the same however rows come.

    They are those with the smallest keys, hashes of their codes, at most 20,000, so the rows of blocks, stores and
    workers are merged as sums are. Equal rows with equal labels are one of their joint weight; rows without weight are
    left out.

    Parameters
    ----------
    rows : Problem
        In memory, in the order of keys and of labels.
    keys : ndarray of uint64 (n,)
    counts : ndarray (n,)
        How many rows with weight each one stands for.
    places : ndarray (n,)
        Where each is among the rows that were looked at, if they were all in memory; else among these themselves.
    """

    rows: Problem
    keys: Array
    counts: Array
    places: Array

    @classmethod
    def of(cls, part: Problem, n_rows: int | None = None) -> CalibrationRows:
        """Return those of rows in memory, at most so many."""
        return cls._smallest(part, part.keys(), np.ones(part.shape[0]), n_rows)

    @classmethod
    def with_more(cls, rows: CalibrationRows | None, problem: SummedProblem) -> CalibrationRows:
        """Return those of rows so far, if there were any, and of a problem."""
        more = problem.sum(cls.of)
        if rows is not None:
            more.merge(rows)
        return more if rows is None and problem.is_whole else replace(more, places=np.arange(len(more.keys)))

    def relabel(self, change: Change, reading: Reading) -> CalibrationRows:
        """Return the same rows with labels that are read as targets."""
        return replace(self, rows=self.rows.relabel(change, reading))

    def merge(self, part: CalibrationRows) -> None:
        """Add those of other rows."""
        keys, counts = (np.concatenate(both) for both in ((self.keys, part.keys), (self.counts, part.counts)))
        both = self._smallest(self.rows.joined(part.rows), keys, counts)
        self.rows, self.keys, self.counts, self.places = both.rows, both.keys, both.counts, both.places

    def first(self, n_rows: int) -> CalibrationRows:
        """Return those of the smallest keys, few of them; where they are is told anew."""
        part = slice(n_rows)
        if len(self.keys) <= n_rows:
            return self
        return CalibrationRows(self.rows.take(part), self.keys[part], self.counts[part], self.places[part])

    def rest(self, n_rows: int) -> CalibrationRows:
        """Return the others than `first` does."""
        part = slice(n_rows, None)
        return CalibrationRows(self.rows.take(part), self.keys[part], self.counts[part], self.places[part])

    def for_scores(self, n_columns: int) -> tuple[Problem, float]:
        """Return the rows to fit on when each has so many scores, weighted by how many they count as; and one's weight.

        Weights count as rows, unless they are smaller than that, as shares of one are.
        """
        n_rows = max(_LEAST_ROWS, _MOST_SCORES // n_columns)
        rows = self.rows if n_rows >= len(self.keys) else self.rows.take(slice(n_rows))
        unit = min(1.0, rows.total_weight / float(self.counts[:n_rows].sum()))
        return replace(rows, weight=rows.weights / unit), unit

    @classmethod
    def _smallest(cls, rows: Problem, keys: Array, counts: Array, n_rows: int | None = None) -> CalibrationRows:
        """Return one row of each key and label, those of the smallest keys."""
        most = _MOST_ROWS if n_rows is None else n_rows
        chosen = np.flatnonzero(rows.weights > 0.0)
        if len(chosen) > _NEAR * most:
            # Keys are spread evenly, so this many are below; unless many are equal, that is enough.
            near = chosen[keys[chosen] <= np.uint64(_NEAR * most / len(chosen) * 2.0**64)]
            chosen = near if len(np.unique(keys[near])) >= most else chosen
        # Labels are positions among classes, or rows of targets.
        rank = np.unique(rows.labels[chosen], axis=0, return_inverse=True)[1].ravel()
        own = keys[chosen]
        order = np.lexsort((rank, own))
        own, rank, chosen = own[order], rank[order], chosen[order]
        is_first = np.append(True, (np.diff(own) != 0) | (np.diff(rank) != 0))[: len(own)]
        taken, group = np.flatnonzero(is_first)[:most], np.cumsum(is_first) - 1
        weight, counts = (np.bincount(group, each[chosen])[:most] for each in (rows.weights, counts))
        places = chosen[taken]
        return cls(replace(rows.take(places), weight=weight), own[taken], counts, places)


class Machine(NamedTuple):
    """Weights (m, k), an intercept (k,), and scores of some of the rows, each as if it had been left out.

    There are no such scores where the loss makes probabilities itself.
    """

    weights: Array | Later[Array]
    intercept: Array
    rows: Problem | None = None
    scores: Array | None = None

    @property
    def coef(self) -> Array:
        """The weights, waited for if they have to be."""
        return ready(self.weights)

    @classmethod
    def of_ridge(cls, solution: RidgeSolution, kept: CalibrationRows | None) -> Machine:
        """Return a closed-form solution, with left-out scores of the rows that were kept."""
        assert kept is not None
        rows, unit = kept.for_scores(len(solution.intercept))
        scores = solution.left_out(rows, kept.places[: len(rows.labels)], unit)
        return cls(solution.weights, solution.intercept, rows, scores)

    @classmethod
    def of_pairs(
        cls, machines: list[Machine], pairs: list[Pair], kept: CalibrationRows, rule: Rule, n_classes: int
    ) -> Machine:
        """Return the machines of pairs as one, a column a pair, positive for its first class as votes are counted.

        A row was not learned from by the pairs of other classes; its own pairs have kept it too, in the same order.
        Scores are those of the classes, by the rule.
        """
        coef = -np.hstack([each.coef for each in machines])
        intercept = -np.hstack([each.intercept for each in machines])
        rows, _ = kept.for_scores(n_classes)
        scores = rows.predict.matmul(np.ascontiguousarray(coef)) + intercept
        for column, (machine, pair) in enumerate(zip(machines, pairs)):
            own = np.flatnonzero(pair.of(rows.labels))
            if machine.scores is not None:
                scores[own, column] = -machine.scores[: len(own), 0]
        return cls(coef, intercept, rows, rule.class_scores(scores, np.arange(n_classes)))
