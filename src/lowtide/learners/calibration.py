"""Probabilities from scores: one slope, so that the largest score keeps the largest probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax

__all__ = ["fit_slope", "log_softmax_of", "softmax_of"]

Array = NDArray[Any]

_LOG_SLOPES = (-7.0, 7.0)


def fit_slope(scores: Array, labels: Array, weight: Array) -> float:
    """Return s > 0 that minimizes the log loss of softmax(s scores).

    Targets keep 1/(n + 2) for a class drawn at random: n right scores say no more than that, and without it the
    slope of separated classes would have no end.

    Parameters
    ----------
    scores : ndarray (n, n_classes)
        Scores that rows have without having been learned from.
    labels : ndarray of int (n,), column of the true class
    weight : ndarray (n,)
    """
    # Weights count as rows, unless they are smaller than that, as shares of one are.
    doubt = 1.0 / (max(weight.sum(), np.count_nonzero(weight)) + 2.0)
    own = (1.0 - doubt) * scores[np.arange(len(scores)), labels] + doubt * scores.mean(axis=1)

    def derivative(log_slope: float) -> float:
        """Of a convex function of the slope, so it changes sign once."""
        expected = np.einsum("ij,ij->i", softmax(np.exp(log_slope) * scores, axis=1), scores)
        return float(weight @ (expected - own))

    low, high = _LOG_SLOPES
    if derivative(high) <= 0:
        return float(np.exp(high))
    if derivative(low) >= 0:
        return float(np.exp(low))
    return float(np.exp(brentq(derivative, low, high, xtol=1e-13)))


def softmax_of(scores: Array) -> Array:
    """Return probabilities proportional to e^scores, rows summing to 1."""
    return np.asarray(softmax(scores, axis=1))


def log_softmax_of(scores: Array) -> Array:
    """Return the logarithms of `softmax_of`, finite also where a probability is too small for a float."""
    return np.asarray(log_softmax(scores, axis=1))
