"""Least squares by the normal equations: all that packed codes are asked for is a Gram matrix and two products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from lowtide.codes import Codes

__all__ = ["fit_ridge", "predict_class"]


def fit_ridge(features: Any, labels: NDArray[np.int_], alpha: float) -> NDArray[np.float64]:
    """Return the w that minimizes |F w - Y|^2 + alpha |w|^2, Y = +1 in the column of a row's class and -1 elsewhere.

    F = `features` is a float array or `Codes` of shape (n, m); codes stay packed: F'F and F'Y come from their bits.
    Time O(n m^2 + m^3).
    """
    targets = np.where(labels[:, None] == np.arange(labels.max() + 1), np.float32(1), np.float32(-1))
    gram = features.gram() if isinstance(features, Codes) else features.T @ features
    gram = np.asarray(gram, dtype=np.float64)
    gram[np.diag_indices_from(gram)] += alpha
    right = np.asarray(features.T @ targets, dtype=np.float64)
    solution: NDArray[np.float64] = cho_solve(cho_factor(gram, overwrite_a=True), right)
    return solution


def predict_class(features: Any, weights: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the class of the largest score of each row."""
    scores = features @ weights.astype(np.float32)
    return np.argmax(scores, axis=1)
