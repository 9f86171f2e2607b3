"""Classes as targets, wherever the labels are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from lowtide._checks import fail

__all__ = ["ClassCounts", "ClassIndex", "ClassTargets", "largest"]

Array = NDArray[Any]


@dataclass
class ClassCounts:
    """The classes there are, in order, and the weight of each."""

    classes: Array
    totals: Array

    @classmethod
    def of(cls, labels: Array, weight: Array | None) -> ClassCounts:
        """Return those of some rows."""
        check_classification_targets(labels)
        classes, index = np.unique(labels, return_inverse=True)
        return cls(classes, np.bincount(index, weight, minlength=len(classes)).astype(np.float64))

    def merge(self, part: ClassCounts) -> None:
        """Add those of other rows."""
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
    """From positions to -1 and 1, a column a one-against-rest problem, or to one-hot rows for the multinomial loss."""

    n_classes: int
    one_hot: bool

    @property
    def n_targets(self) -> int:
        """One column for two classes, else one a class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def targets(self, labels: Array) -> Array:
        """Return float64 targets (n, n_targets)."""
        if self.n_classes == 2:
            return np.where(labels == 1, 1.0, -1.0)[:, None]
        columns = np.zeros((len(labels), self.n_classes))
        columns[np.arange(len(labels)), labels] = 1.0
        return columns if self.one_hot else 2.0 * columns - 1.0


def largest(scores: Array) -> Array:
    """Return the position of the class that scores (n, 1 or n_classes) stand for, (n,)."""
    return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else np.argmax(scores, axis=1)
