"""A problem whose rows are on the workers of a cluster, which send sums over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes, CodeSource, concatenate
from lowtide.distributed.cluster import merged
from lowtide.learners import Problem, source_problem

__all__ = ["RemoteProblem"]

Array = NDArray[Any]
# Bytes above which one more hop through the cluster costs less than sending or adding them all in one place.
_LARGE = 1 << 21
# Dask is typed in parts only.
Client = Any
Future = Any


@dataclass(frozen=True)
class _Extent:
    """What is known here of a part: rows, features, axes of its labels, columns of its targets, and its weight."""

    shape: tuple[int, int]
    n_label_axes: int
    n_targets: int
    weight: float
    is_weighted: bool


@dataclass(frozen=True)
class RemoteProblem:
    """Parts of the rows as futures of `Problem`, in row order; sums are made where the rows are.

    Every task is a function of what can be made again, so a worker that dies costs its parts' time and nothing else.
    """

    client: Client
    parts: tuple[Future, ...]
    fit_intercept: bool
    is_whole: bool = False
    is_packed: bool = True

    @cached_property
    def _extents(self) -> list[_Extent]:
        return list(self.client.gather(self._each(_extent)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return sum(self._sizes), self._extents[0].shape[1]

    @property
    def _sizes(self) -> list[int]:
        return [extent.shape[0] for extent in self._extents]

    @property
    def n_targets(self) -> int:
        """Columns of the targets."""
        return self._extents[0].n_targets

    @property
    def n_label_axes(self) -> int:
        """1 for a label a row, 2 for several."""
        return self._extents[0].n_label_axes

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(sum(extent.weight for extent in self._extents))

    @property
    def codes(self) -> CodeSource:
        """Raise: the rows are not here."""
        remedy = "Use one of scikit-learn's scorers by name."
        raise fail("distributed", "scoring must ask for decision values or predictions on a cluster", "rows", remedy)

    def sum(self, task: Callable[..., Any], *arguments: Any, at_least: int = 0) -> Any:
        """Return the sum of what the task returns for each part, added on the workers."""
        sums = self._each(_sum, task, self._shared(arguments), at_least)
        return merged(self.client, sums, large=at_least > _LARGE)

    def tally(self, task: Callable[..., Any]) -> Any:
        """Return the sum of task(labels, weight)."""
        return merged(self.client, self._each(Problem.tally, task))

    def relabel(self, change: Callable[..., Any], reading: Any = None) -> RemoteProblem:
        """Return the same rows with labels and weights changed on the workers."""
        return self._with(self._each(Problem.relabel, change, reading))

    def recode(self, change: Callable[[Codes], Codes]) -> RemoteProblem:
        """Return the same rows with their codes changed on the workers, nothing copied."""
        return self._with(self._each(Problem.recode, change))

    def scores(self, coef: Array, intercept: Array) -> Array:
        """Return D w + b of all rows, brought here."""
        return np.concatenate(self.client.gather(self._each(_scores, self._shared((coef, intercept)))))

    def take(self, rows: Array | slice) -> RemoteProblem:
        """Return some of the rows, in rising order, each part's on its worker."""
        return self._with(self._taken(rows, Problem.take))

    def weighted_rows(self) -> RemoteProblem:
        """Return the rows whose weight is not zero."""
        if not any(extent.is_weighted for extent in self._extents):
            return self
        return self._with(self._each(Problem.weighted_rows))

    def sample(self, n_rows: int) -> Problem:
        """Return at most n_rows rows, evenly spaced, brought here."""
        step = -(-self.shape[0] // n_rows)
        found: list[Problem] = self.client.gather(self._taken(slice(None, None, step), _gathered))
        weight = None
        if any(part.weight is not None for part in found):
            weight = np.concatenate([part.weights for part in found])
        codes = concatenate([cast(Codes, part.codes) for part in found])
        labels = np.concatenate([part.labels for part in found])
        return source_problem(codes, labels, weight, self.fit_intercept, found[0].reading)

    def _each(self, task: Callable[..., Any], *arguments: Any) -> list[Future]:
        """Submit task(part, *arguments) for every part."""
        repeated = ([argument] * len(self.parts) for argument in arguments)
        return list(self.client.map(task, self.parts, *repeated, pure=False))

    def _shared(self, arguments: tuple[Any, ...]) -> Any:
        """Return arguments for every part: with each task if that is little, else as one object on the cluster.

        Either way the scheduler has them, so they are not lost with a worker.
        """
        n_bytes = sum(argument.nbytes for argument in arguments if isinstance(argument, np.ndarray))
        if n_bytes * len(self.parts) <= _LARGE:
            return arguments
        return self.client.submit(_given, *arguments, pure=False)

    def _taken(self, rows: Array | slice, task: Callable[..., Any]) -> list[Future]:
        """Submit task(part, rows of the part) for every part."""
        sizes = self._sizes
        borders = np.cumsum([0, *sizes])
        positions = np.arange(borders[-1])[rows] if isinstance(rows, slice) else np.asarray(rows)
        cuts = np.searchsorted(positions, borders)
        return [
            self.client.submit(task, part, positions[low:high] - first, pure=False)
            for part, first, low, high in zip(self.parts, borders, cuts, cuts[1:])
        ]

    def _with(self, parts: list[Future]) -> RemoteProblem:
        return replace(self, parts=tuple(parts))


def _extent(part: Problem) -> _Extent:
    n_targets = part.n_targets if part.reading is not None or part.labels.ndim > 1 else 1
    return _Extent(part.shape, part.n_label_axes, n_targets, part.total_weight, part.weight is not None)


def _given(*arguments: Any) -> tuple[Any, ...]:
    return arguments


def _sum(part: Problem, task: Callable[..., Any], arguments: tuple[Any, ...], at_least: int) -> Any:
    return part.sum(task, *arguments, at_least=at_least)


def _scores(part: Problem, arguments: tuple[Any, ...]) -> Array:
    return part.scores(*arguments)


def _gathered(part: Problem, rows: Array) -> Problem:
    found = part.take(rows)
    design = found.train.gathered()
    return replace(found, train=design, predict=design)
