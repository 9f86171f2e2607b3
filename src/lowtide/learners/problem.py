"""What a fit is about: rows on both sides, labels and weights; known to solvers by sums over parts of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes, CodeSource
from lowtide.learners.design import Design, design_of

Array = NDArray[Any]
Change = Callable[[Array, Array | None], tuple[Array, Array | None]]
Block = tuple[Any, Any, Any]
# Its square, times a weight and a factor of a left-out row, stays within float64 in sums over any number of rows.
_LARGEST_TARGET = 1e80

# A factor that keeps all bits of a hash: so that hashes of equal sides do not cancel.
_ODD = 0x9E3779B97F4A7C15


class Mergeable(Protocol):
    """A sum over some of the rows."""

    def merge(self, part: Any) -> None:
        """Add the sum over other rows."""


Sum = TypeVar("Sum", bound=Mergeable)


class Reading(Protocol):
    """How labels stand for targets."""

    @property
    def n_targets(self) -> int:
        """Columns of the targets."""

    def targets(self, labels: Array) -> Array:
        """Return float64 targets (n, n_targets)."""


class SummedProblem(Protocol):
    """Rows to fit on, wherever they are: in memory, on disk, on a cluster.

    Solvers see them through `sum` alone. A task is a function of a `Problem` that is in memory, a part of the rows, and
    of arguments; parts are added in a fixed order. Tasks and what they return can be pickled.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""

    @property
    def n_targets(self) -> int:
        """Columns of the targets."""

    @property
    def n_label_axes(self) -> int:
        """1 for a label a row, 2 for several."""

    @property
    def fit_intercept(self) -> bool:
        """Whether scores have an intercept."""

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""

    @property
    def is_whole(self) -> bool:
        """Whether there is one part, so that a task sees all rows."""

    @property
    def is_packed(self) -> bool:
        """Whether products run on packed bits, on threads of their own."""

    @property
    def pair_cost(self) -> float:
        """What two entries cost in a Gram or kernel matrix, in multiplications."""

    @property
    def codes(self) -> CodeSource:
        """The codes themselves, where they can be read from this process."""

    def sum(self, task: Callable[..., Sum], *arguments: Any, at_least: int = 0) -> Sum:
        """Return the sum of what the task returns for each part and these arguments.

        Parts hold `at_least` bytes of codes, if there are as many: where a sum is large, few of them should be added.
        """

    def tally(self, task: Callable[[Array, Array | None], Sum]) -> Sum:
        """Return the sum of task(labels, weight), which needs no features."""

    def relabel(self, change: Change, reading: Reading | None = None) -> SummedProblem:
        """Return the same rows with labels and weights changed, and read as targets in another way."""

    def recode(self, change: Callable[[Codes], Codes]) -> SummedProblem:
        """Return the same rows with their codes changed, to another codebook for example."""

    def scores(self, coef: Array, intercept: Array) -> Array:
        """Return D w + b of all rows on the side that predicts, in float64."""

    def take(self, rows: Array | slice) -> SummedProblem:
        """Return some of the rows, in rising order."""

    def weighted_rows(self) -> SummedProblem:
        """Return the rows whose weight is not zero."""


@runtime_checkable
class ProblemSource(Protocol):
    """Rows that come with their labels, and that know best how to be summed: those of a cluster, for example."""

    @property
    def template(self) -> Codes:
        """Codes of zero rows: codebook, width and identity."""

    @property
    def encoder(self) -> Any:
        """The fitted encoder that made the codes, or None."""

    @property
    def choice(self) -> Any:
        """The `Choice` of the encoder's settings, or None where they were given."""

    def all_labels(self) -> Array:
        """Return the labels of all rows, brought to this process."""

    def problem(self, fit_intercept: bool, **checks: Any) -> SummedProblem:
        """Return the rows with their labels; `checks` are what scikit-learn's `_check_y` takes."""


@dataclass(frozen=True)
class Problem:
    """Rows of this process; `predict` are the same rows on the side that predictions will use.

    Where the two sides are one, `predict` is the very object `train`. `labels` are the targets themselves unless a
    `reading` makes targets of them, part by part. A `weight` of None stands for ones.
    """

    train: Design
    predict: Design
    labels: Array
    weight: Array | None
    fit_intercept: bool
    reading: Reading | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.train.shape

    @property
    def n_targets(self) -> int:
        """Columns of the targets."""
        return int(self.labels.shape[1]) if self.reading is None else self.reading.n_targets

    @property
    def n_label_axes(self) -> int:
        """1 for a label a row, 2 for several."""
        return self.labels.ndim

    @property
    def is_whole(self) -> bool:
        """Whether there is one part, so that a task sees all rows."""
        return self.train.is_whole

    @property
    def is_packed(self) -> bool:
        """Whether products run on packed bits, on threads of their own."""
        return self.train.is_packed

    @property
    def pair_cost(self) -> float:
        """What two entries cost in a Gram or kernel matrix, in multiplications."""
        return self.train.pair_cost

    @property
    def codes(self) -> CodeSource:
        """The codes of the side that predicts."""
        return self.predict.codes

    @cached_property
    def targets(self) -> Array:
        """Targets (n, n_targets)."""
        return self.labels if self.reading is None else self.reading.targets(self.labels)

    @cached_property
    def weights(self) -> Array:
        """Weights, ones where none were given."""
        return np.ones(len(self.labels)) if self.weight is None else self.weight

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(len(self.labels)) if self.weight is None else float(self.weight.sum())

    def parts(self, at_least: int = 0) -> Iterator[Problem]:
        """Yield all rows in order, as problems in memory."""
        start, n_columns = 0, self.n_targets if self.labels.ndim > 1 or self.reading is not None else 1
        for design in self.train.parts(n_columns, at_least):
            if design is self.train:
                yield self
                return
            rows = slice(start, start + design.shape[0])
            weight = None if self.weight is None else self.weight[rows]
            yield Problem(design, design, self.labels[rows], weight, self.fit_intercept, self.reading)
            start = rows.stop

    def sum(self, task: Callable[..., Sum], *arguments: Any, at_least: int = 0) -> Sum:
        """Return the sum of what the task returns for each part, added in order."""
        parts = self.parts(at_least)
        total = task(next(parts), *arguments)
        for part in parts:
            total.merge(task(part, *arguments))
        return total

    def tally(self, task: Callable[[Array, Array | None], Sum]) -> Sum:
        """Return task(labels, weight)."""
        return task(self.labels, self.weight)

    def relabel(self, change: Change, reading: Reading | None = None) -> Problem:
        """Return the same rows with labels and weights changed, and read as targets in another way."""
        labels, weight = change(self.labels, self.weight)
        return replace(self, labels=labels, weight=weight, reading=reading)

    def recode(self, change: Callable[[Codes], Codes]) -> Problem:
        """Return the same rows with their codes changed; both sides are the codes."""
        design = self.train.recoded(change)
        return replace(self, train=design, predict=design)

    def scores(self, coef: Array, intercept: Array) -> Array:
        """Return D w + b of all rows on the side that predicts."""
        return self.predict.matmul(coef) + intercept

    def take(self, rows: Array | slice) -> Problem:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        train = self.train.take(rows)
        predict = train if self.predict is self.train else self.predict.take(rows)
        return Problem(train, predict, self.labels[rows], weight, self.fit_intercept, self.reading)

    def weighted_rows(self) -> Problem:
        """Return the rows whose weight is not zero."""
        if self.weight is None or np.all(self.weight > 0):
            return self
        return self.take(np.flatnonzero(self.weight))

    def keys(self) -> Array:
        """Return a hash of what is kept of each row, uint64 (n,)."""
        own = self.train.keys()
        # The other side may tell rows apart that have equal codes.
        return own if self.predict is self.train else own ^ (self.predict.keys() * np.uint64(_ODD))

    def joined(self, other: Problem) -> Problem:
        """Return these rows and, after them, those of another problem of the same kind, in memory."""
        train = self.train.joined(other.train)
        predict = train if self.predict is self.train else self.predict.joined(other.predict)
        labels, weight = (np.concatenate(both) for both in ((self.labels, other.labels), (self.weights, other.weights)))
        return replace(self, train=train, predict=predict, labels=labels, weight=weight)

    def blocks(self, n_values: int) -> Iterator[Problem]:
        """Yield all rows in order, at most n_values feature values at a time."""
        n, m = self.train.shape
        step = max(1, n_values // m)
        for start in range(0, n, step):
            yield self.take(slice(start, min(start + step, n)))


def source_problem(
    source: CodeSource, labels: Array, weight: Array | None, fit_intercept: bool, reading: Reading | None = None
) -> Problem:
    """Return the rows of a source with their labels.

    Parameters
    ----------
    source : CodeSource
    labels : array (n,) or (n, k)
    weight : array (n,) or None for ones
    fit_intercept : bool
    reading : Reading, optional
        How labels stand for targets; None when they are the targets.
    """
    design = design_of(source)
    return Problem(design, design, labels, weight, fit_intercept, reading)


def as_columns(values: Array, weight: Array | None) -> tuple[Array, Array | None]:
    """Return values (n,) or (n, k) as float64 columns; refuse those whose squares would overflow."""
    columns = values.reshape(len(values), -1).astype(np.float64)
    if (largest := float(np.max(np.abs(columns), initial=0.0))) > _LARGEST_TARGET:
        need, remedy = f"targets must be at most {_LARGEST_TARGET} in absolute value", "Divide y by a constant."
        raise fail("KernelRegressor", need, largest, remedy)
    return columns, weight


def labeled_blocks(blocks: Iterator[Any], y: Any, sample_weight: Any, owner: str) -> Iterator[Block]:
    """Return (rows, y, sample_weight or None) of each block; refuse labels or weights that are given beside them."""
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if given is not None:
            need = f"{name} must come with the rows of each block when X is an iterator"
            raise fail(owner, need, type(given).__name__, "Let it yield (rows, y) or (rows, y, sample_weight).")
    return (_labeled(block, owner) for block in blocks)


def _labeled(block: Any, owner: str) -> Block:
    if not isinstance(block, (tuple, list)) or len(block) not in (2, 3):
        got = type(block).__name__ if not isinstance(block, (tuple, list)) else f"{len(block)} of them"
        raise fail(owner, "a block must be (rows, y) or (rows, y, sample_weight)", got)
    return block[0], block[1], block[2] if len(block) == 3 else None
