"""Smooth losses in small steps, for rows that arrive in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.learners.losses import Loss
from lowtide.learners.problem import Problem

__all__ = ["MinibatchSteps"]

Array = NDArray[Any]

_BATCH = 64
_LARGEST_RATE = 0.5


class MinibatchSteps:
    """AdaGrad on |w|^2 / (2 C S) + (1/S) sum_i s_i loss_i, S the weight seen so far.

    A step moves each weight by at most the rate; 8 / sqrt(m) keeps the scores of a first step near the scale of the
    targets whatever the number of features.

    Attributes
    ----------
    parameters : ndarray (m + 1, k), weights over the intercept
    """

    def __init__(self, n_features: int, n_targets: int) -> None:
        self.parameters = np.zeros((n_features + 1, n_targets))
        self._rate = min(_LARGEST_RATE, 8.0 / np.sqrt(n_features))
        self._squares = np.full_like(self.parameters, 1e-10)
        self._weight = 0.0
        self._n_rows = 0

    def add(self, problem: Problem, loss: Loss, C: float) -> None:
        """Take one step a batch of 64 rows, in order."""
        for start in range(0, len(problem.targets), _BATCH):
            batch = problem.take(slice(start, start + _BATCH))
            total = float(batch.weights.sum())
            if total > 0.0:
                self._weight += total
                self._n_rows += len(batch.targets)
                self._step(batch, total, loss, C)

    def _step(self, batch: Problem, total: float, loss: Loss, C: float) -> None:
        coef, intercept = self.parameters[:-1], self.parameters[-1]
        # In units of an average batch: one with fewer rows, or lighter ones, moves the weights less.
        unit = _BATCH * self._weight / self._n_rows
        scores = batch.train.matmul(np.ascontiguousarray(coef)) + intercept
        _, slope = loss.value_and_gradient(scores, batch.targets, batch.weights / unit)
        gradient = np.empty_like(self.parameters)
        gradient[:-1] = batch.train.rmatmul(slope) + coef * (total / unit / (C * self._weight))
        gradient[-1] = slope.sum(axis=0) if batch.fit_intercept else 0.0
        self._squares += gradient**2
        self.parameters -= self._rate * gradient / np.sqrt(self._squares)
