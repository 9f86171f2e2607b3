"""What a fit is about: rows on both sides, targets and weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.learners.design import Design

__all__ = ["Problem"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Problem:
    """Rows to fit on; `predict` are the same rows on the side that predictions will use.

    Where the two sides are one, `predict` is the very object `train`. A `weight` of None stands for ones.
    """

    train: Design
    predict: Design
    targets: Array
    weight: Array | None
    fit_intercept: bool

    @property
    def weights(self) -> Array:
        """Weights, ones where none were given."""
        return np.ones(len(self.targets)) if self.weight is None else self.weight

    def take(self, rows: Array | slice) -> Problem:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        train = self.train.take(rows)
        predict = train if self.predict is self.train else self.predict.take(rows)
        return Problem(train, predict, self.targets[rows], weight, self.fit_intercept)

    def weighted_rows(self) -> Problem:
        """Return the rows whose weight is not zero."""
        if self.weight is None or np.all(self.weight > 0):
            return self
        return self.take(np.flatnonzero(self.weight))

    def blocks(self, n_values: int) -> Iterator[Problem]:
        """Yield all rows in order, at most n_values feature values at a time."""
        n, m = self.train.shape
        step = max(1, n_values // m)
        for start in range(0, n, step):
            yield self.take(slice(start, min(start + step, n)))
