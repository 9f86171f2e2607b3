"""Normal equations of classes that need not be known in advance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.learners.design import Design
from lowtide.learners.solvers import NormalEquations

__all__ = ["ClassSums"]

Array = NDArray[Any]


class ClassSums:
    """Gram matrix and the sum of rows of every class: all that one-against-rest least squares depends on.

    A target of -1 and 1 is twice the indicator of a class less one, so its sums follow from those of the indicators.
    """

    def __init__(self, n_features: int, classes: Array) -> None:
        self.classes = np.unique(classes)
        self.sums = NormalEquations(n_features, len(self.classes))

    def add(self, design: Design, labels: Array, weight: Array | None) -> None:
        """Add rows with their labels; classes that were not there yet get a column each."""
        known, index = np.unique(labels, return_inverse=True)
        self.classes = np.concatenate([self.classes, np.setdiff1d(known, self.classes)])
        self.sums.widen(len(self.classes))
        column = np.array([np.flatnonzero(self.classes == label)[0] for label in known], dtype=np.intp)
        indicator = np.zeros((len(labels), len(self.classes)))
        indicator[np.arange(len(labels)), column[index]] = 1.0
        self.sums.add(design, indicator, weight)

    def problem(self) -> tuple[Array, NormalEquations]:
        """Return the classes in order, and the equations of their targets; one column for two classes."""
        if self.sums.weight <= 0.0:
            raise fail("KernelClassifier", "class_weight must leave some weight to the rows", self.sums.weight)
        order = np.argsort(self.classes)
        chosen = order[1:] if len(order) == 2 else order
        sums, equations = self.sums, NormalEquations(len(self.sums.row_sum), len(chosen), self.sums.dtype)
        equations.gram, equations.row_sum, equations.weight = sums.gram, sums.row_sum, sums.weight
        equations.cross = 2.0 * sums.cross[:, chosen] - sums.row_sum[:, None]
        equations.target_sum = 2.0 * sums.target_sum[chosen] - sums.weight
        return self.classes[order], equations
