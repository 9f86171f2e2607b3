"""Classes of a learner: their weights, targets and pairs, and sums over the rows of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from lowtide._checks import fail
from lowtide.learners.design import Design
from lowtide.learners.problem import Reading, SummedProblem
from lowtide.learners.ridge import NormalEquations, check_sums

Array = NDArray[Any]

# Factors whose products with the weights of rows stay far within float64.
_CLASS_WEIGHTS = (1e-80, 1e80)


@dataclass
class ClassCounts:
    """The classes there are, in order, and the weight of each."""

    classes: Array
    totals: Array

    @classmethod
    def of(cls, labels: Array, weight: Array | None) -> ClassCounts:
        """Return the classes of some rows, and their weights."""
        check_classification_targets(labels)
        classes, index = np.unique(labels, return_inverse=True)
        return cls(classes, np.bincount(index, weight, minlength=len(classes)).astype(np.float64))

    def merge(self, part: ClassCounts) -> None:
        """Add the classes of other rows."""
        both = np.concatenate([self.classes, part.classes]), np.concatenate([self.totals, part.totals])
        self.classes, index = np.unique(both[0], return_inverse=True)
        self.totals = np.bincount(index, both[1], minlength=len(self.classes))


@dataclass(frozen=True)
class ClassIndex:
    """From labels to positions among the classes, in as few bytes as these need; `factor` multiplies the weights."""

    classes: Array
    factor: Array | None = None

    def __call__(self, labels: Array, weight: Array | None) -> tuple[Array, Array | None]:
        """Return positions (n,) and weights."""
        last = len(self.classes) - 1
        index = np.searchsorted(self.classes, labels).clip(0, last).astype(np.min_scalar_type(last))
        if not np.array_equal(self.classes[index], labels):
            unknown = np.setdiff1d(labels, self.classes).tolist()
            raise fail("KernelClassifier", f"y must hold the classes {self.classes.tolist()}", unknown)
        if self.factor is None:
            return index, weight
        return index, self.factor[index] if weight is None else weight * self.factor[index]


@dataclass(frozen=True)
class ClassTargets:
    """From positions to -1 and 1, a column a class against the rest, or to one-hot rows for the multinomial loss."""

    n_classes: int
    one_hot: bool

    @property
    def n_targets(self) -> int:
        """One column for two classes, else one per class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def targets(self, labels: Array) -> Array:
        """Return float64 targets (n, n_targets)."""
        if self.n_classes == 2:
            return np.where(labels == 1, 1.0, -1.0)[:, None]
        columns = np.zeros((len(labels), self.n_classes))
        columns[np.arange(len(labels)), labels] = 1.0
        return columns if self.one_hot else 2.0 * columns - 1.0


class ClassSums:
    """Gram matrix and the sum of rows of every class: all that one-against-rest least squares depends on.

    A target of -1 and 1 is twice the indicator of a class less one, so its sums follow from those of the indicators.
    """

    def __init__(self, classes: Array) -> None:
        self.classes = classes
        self.sums: NormalEquations | None = None

    def add(self, design: Design, labels: Array, weight: Array | None) -> None:
        """Add rows with their labels; classes that were not there yet get a column each."""
        check_sums("KernelClassifier", design.shape[1])
        self.classes = np.concatenate([self.classes, np.setdiff1d(labels, self.classes)])
        part = NormalEquations.of_rows(design, (labels[:, None] == self.classes).astype(np.float64), weight)
        if self.sums is None:
            self.sums = part
        else:
            self.sums.widen(len(self.classes))
            self.sums.merge(part)

    def check(self) -> None:
        """Refuse rows that have no weight in all."""
        if self.sums is None or self.sums.weight <= 0.0:
            raise fail("KernelClassifier", "class_weight must leave some weight to the rows", 0.0)

    def equations(self) -> tuple[Array, NormalEquations]:
        """Return the classes in order, and the equations of their targets; one column for two classes."""
        self.check()
        sums = self.sums
        assert sums is not None
        order = np.argsort(self.classes)
        chosen = order[1:] if len(order) == 2 else order
        cross = 2.0 * sums.cross[:, chosen] - sums.row_sum[:, None]
        return self.classes[order], replace(sums, cross=cross, target_sum=2.0 * sums.target_sum[chosen] - sums.weight)


@dataclass(frozen=True)
class Pair:
    """Rows of two classes, of positions first and second among all: the second is the positive one of the two."""

    first: int
    second: int

    def __call__(self, labels: Array, weight: Array | None) -> tuple[Array, Array | None]:
        """Return 0 and 1, and weights that are zero for rows of other classes."""
        own = self.of(labels).astype(np.float64)
        return (labels == self.second).astype(np.uint8), own if weight is None else own * weight

    def of(self, labels: Array) -> Array:
        """Whether rows are of one of the two, a mask (n,)."""
        return np.asarray((labels == self.first) | (labels == self.second))

    def rows(self, problem: SummedProblem, reading: Reading) -> SummedProblem:
        """Return the rows of the two classes that have weight."""
        return problem.relabel(self).weighted_rows().relabel(_without_ones, reading)


def class_pairs(n_classes: int) -> list[Pair]:
    """Return all pairs of positions, in libsvm's order."""
    return [Pair(first, second) for first, second in combinations(range(n_classes), 2)]


def _without_ones(labels: Array, weight: Array | None) -> tuple[Array, Array | None]:
    """Return no weights where all of them are one: products with bits are then counted."""
    return labels, None if weight is not None and np.all(weight == 1.0) else weight


def check_classes(owner: str, classes: Array) -> None:
    """Refuse labels that are all the same."""
    if len(classes) < 2:
        raise fail(owner, "y must have at least two classes", f"one class, {classes.tolist()}")


def class_weights(
    class_weight: Any, classes: Array, totals: Array | None, *, more: bool = False, owner: str = "KernelClassifier"
) -> Array | None:
    """Return the factor of each class (k,), None for ones; "balanced" gives every class the same total weight.

    A class that a dict does not name has 1, and with `more` it may name classes that have not come yet. `totals` (k,)
    are the weights of the classes, None when more rows may come and nothing can be balanced.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        unknown = set(class_weight) - set(classes.tolist())
        if unknown and not more:
            got = sorted(unknown, key=str)
            raise fail(owner, f"class_weight must name classes of y, {classes.tolist()}", got)
        for weight in class_weight.values():
            if not isinstance(weight, Real) or not 0.0 <= float(weight) < math.inf:
                raise fail(owner, "each class_weight must be a finite number of at least 0", weight)
            if weight and not _CLASS_WEIGHTS[0] <= float(weight) <= _CLASS_WEIGHTS[1]:
                need = f"each class_weight must be 0 or from {_CLASS_WEIGHTS[0]} to {_CLASS_WEIGHTS[1]}"
                raise fail(owner, need, weight, "Divide them by the largest, and multiply C by it.")
        factor = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
        if totals is not None and not np.any(factor * totals > 0):
            raise fail(owner, "class_weight must leave some weight to the rows", class_weight)
        return factor
    if class_weight == "balanced" and totals is not None:
        return np.asarray(totals.sum() / (len(classes) * np.maximum(totals, np.finfo(float).tiny)))
    allowed = "a dict or None when rows come in blocks" if totals is None else "a dict, 'balanced' or None"
    raise fail(owner, f"class_weight must be {allowed}", class_weight)
