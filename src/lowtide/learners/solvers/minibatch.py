"""Smooth losses in small steps, for rows that arrive in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.learners.design import Design
from lowtide.learners.losses import Loss

__all__ = ["MinibatchSteps"]

Array = NDArray[Any]

_BATCH = 256
_RATE = 0.5


class MinibatchSteps:
    """AdaGrad on |w|^2 / (2 C S) + (1/S) sum_i s_i loss_i, S the weight seen so far.

    Attributes
    ----------
    parameters : ndarray (m + 1, k), weights over the intercept
    """

    def __init__(self, n_features: int, n_targets: int) -> None:
        self.parameters = np.zeros((n_features + 1, n_targets))
        self._squares = np.full_like(self.parameters, 1e-10)
        self._weight = 0.0

    def add(self, design: Design, targets: Array, weight: Array, loss: Loss, C: float, fit_intercept: bool) -> None:
        """Take one step a batch of 256 rows, in order."""
        for start in range(0, len(targets), _BATCH):
            rows = np.arange(start, min(start + _BATCH, len(targets)))
            total = float(weight[rows].sum())
            if total == 0.0:
                continue
            self._weight += total
            self._step(design.take(rows), targets[rows], weight[rows] / total, loss, C, fit_intercept)

    def _step(self, batch: Design, targets: Array, weight: Array, loss: Loss, C: float, fit_intercept: bool) -> None:
        coef, intercept = self.parameters[:-1], self.parameters[-1]
        _, slope = loss.value_and_gradient(batch.matmul(np.ascontiguousarray(coef)) + intercept, targets, weight)
        gradient = np.empty_like(self.parameters)
        gradient[:-1] = batch.rmatmul(slope) + coef / (C * self._weight)
        gradient[-1] = slope.sum(axis=0) if fit_intercept else 0.0
        self._squares += gradient**2
        self.parameters -= _RATE * gradient / np.sqrt(self._squares)
