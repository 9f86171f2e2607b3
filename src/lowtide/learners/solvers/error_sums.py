"""Errors of given weights, summed over the rows, on the side that predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.learners.losses import Loss
from lowtide.learners.problem import Problem

__all__ = ["ErrorSum", "held_out_loss", "squared_error"]

Array = NDArray[Any]


@dataclass
class ErrorSum:
    """Weighted errors over some rows: one number, or one a candidate."""

    total: Array | float

    def merge(self, part: ErrorSum) -> None:
        """Add those of other rows."""
        self.total += part.total


def squared_error(part: Problem, coef: Array, intercept: Array) -> ErrorSum:
    """Return sum_i s_i |t_i - f_i|^2."""
    residual = part.targets - part.predict.matmul(coef) - intercept
    return ErrorSum(float(part.weights @ np.sum(residual**2, axis=1)))


def held_out_loss(part: Problem, coef: Array, intercept: Array, loss: Loss) -> ErrorSum:
    """Return sum_i s_i loss_i."""
    scores = part.predict.matmul(coef) + intercept
    return ErrorSum(loss.value_and_gradient(scores, part.targets, part.weights)[0])
