"""Normal equations of classes that need not be known in advance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.learners.design import Design
from lowtide.learners.solvers import NormalEquations

__all__ = ["ClassSums"]

Array = NDArray[Any]


class ClassSums:
    """Gram matrix and the sum of rows of every class: all that one-against-rest least squares depends on.

    A target of -1 and 1 is twice the indicator of a class less one, so its sums follow from those of the indicators.
    """

    def __init__(self, n_features: int, dtype: type[np.floating[Any]] = np.float64) -> None:
        self.classes: list[Any] = []
        self.sums = NormalEquations(n_features, 0, dtype)

    def expect(self, classes: Array) -> None:
        """Make room for classes that were not there yet."""
        self.classes += [label for label in classes.tolist() if label not in self.classes]
        self.sums.widen(len(self.classes))

    def add(self, design: Design, labels: Array, weight: Array | None) -> None:
        """Add rows with their labels."""
        self.expect(np.unique(labels))
        indicator = (labels[:, None] == np.array(self.classes, dtype=labels.dtype)).astype(np.float64)
        self.sums.add(design, indicator, weight)

    def problem(self) -> tuple[Array, NormalEquations]:
        """Return the classes in order, and the equations of their targets; one column for two classes."""
        classes = np.array(self.classes)
        order = np.argsort(classes)
        chosen = order[1:] if len(order) == 2 else order
        sums, equations = self.sums, NormalEquations(len(self.sums.row_sum), len(chosen), self.sums.dtype)
        equations.gram, equations.row_sum, equations.weight = sums.gram, sums.row_sum, sums.weight
        equations.cross = 2.0 * sums.cross[:, chosen] - sums.row_sum[:, None]
        equations.target_sum = 2.0 * sums.target_sum[chosen] - sums.weight
        return classes[order], equations
