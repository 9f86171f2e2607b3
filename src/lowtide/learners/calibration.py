"""Probabilities from scores: one slope, so that the largest score keeps the largest probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

__all__ = ["fit_slope", "softmax_of"]

Array = NDArray[Any]


def fit_slope(scores: Array, labels: Array, weight: Array) -> float:
    """Return s > 0 that minimizes the log loss of softmax(s scores).

    Parameters
    ----------
    scores : ndarray (n, n_classes)
    labels : ndarray of int (n,), column of the true class
    weight : ndarray (n,)
    """
    own = scores[np.arange(len(scores)), labels]

    def log_loss(log_slope: float) -> float:
        slope = np.exp(log_slope)
        return float(weight @ (logsumexp(slope * scores, axis=1) - slope * own))

    found = minimize_scalar(log_loss, bounds=(-7.0, 7.0), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def softmax_of(scores: Array) -> Array:
    """Return probabilities proportional to e^scores, rows summing to 1."""
    return np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
