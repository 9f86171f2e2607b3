"""The linear machine of the paper's classification: squared hinge, one against the rest, by Newton's method.

It has the minimum of LIBLINEAR's default solver with a bias (a column of ones), |w|^2/2 + C sum max(0, 1 - y f)^2,
and reaches it in a few Gram matrices of the rows within the margin, which is quicker for few columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GRID", "accuracy", "choose_strength", "fit_linear"]

Floats = NDArray[np.float64]
# The paper's: 2^-5 to 2^5, by five folds.
GRID = tuple(2.0**e for e in range(-5, 6))
FOLDS = 5


def fit_linear(F: NDArray[Any], y: NDArray[Any], C: float, max_iter: int = 30, start: Floats | None = None) -> Floats:
    """Return weights (columns + 1, classes) of rows F (n, columns), from those of a near C where they are given."""
    rows = np.column_stack([F, np.ones(len(F))]).astype(np.float32)
    classes = np.unique(y)
    targets = np.where(y[:, None] == classes[None, :], 1.0, -1.0)
    # Of two classes the second machine is the first with its sign turned.
    targets = targets[:, 1:] if len(classes) == 2 else targets
    if start is None:
        gram = (rows.T @ rows).astype(np.float64)
        start = np.linalg.solve(2 * C * gram + np.eye(len(gram)), 2 * C * (rows.T @ targets.astype(np.float32)))
    elif len(classes) == 2:
        start = start[:, 1:]
    found = [_newton(rows, target, C, w, max_iter) for target, w in zip(targets.T, start.T)]
    return np.stack([-found[0], found[0]] if len(classes) == 2 else found, axis=1)


def _newton(rows: NDArray[np.float32], y: Floats, C: float, w: Floats, max_iter: int) -> Floats:
    margin = y * (rows @ w.astype(np.float32))
    for _ in range(max_iter):
        inside = margin < 1
        active = rows[inside]
        hessian = 2 * C * (active.T @ active).astype(np.float64) + np.eye(len(w))
        # The minimum of the quadratic that holds while the same rows stay inside; halfway to it when they do not.
        goal = np.linalg.solve(hessian, 2 * C * (active.T @ y[inside].astype(np.float32)).astype(np.float64))
        step, far, before = goal - w, y * (rows @ goal.astype(np.float32)), _objective(w, margin, C)
        size = 1.0
        while _objective(w + size * step, (1 - size) * margin + size * far, C) > before and size > 1e-3:
            size /= 2
        w, margin = w + size * step, (1 - size) * margin + size * far
        if before - _objective(w, margin, C) < 1e-5 * before:
            break
    return w


def _objective(w: Floats, margin: NDArray[Any], C: float) -> float:
    return float(w @ w / 2 + C * np.sum(np.maximum(1 - margin, 0.0) ** 2))


def accuracy(weights: Floats, F: NDArray[Any], y: NDArray[Any], classes: NDArray[Any]) -> float:
    """Return the share of rows whose largest score is that of their class, in percent."""
    scores = F @ weights[:-1].astype(np.float32) + weights[-1]
    return float(100 * np.mean(classes[np.argmax(scores, axis=1)] == y))


def choose_strength(F: NDArray[Any], y: NDArray[Any], rng: np.random.Generator, n_rows: int) -> float:
    """Return the C of the paper's grid that does best over five folds of at most n_rows rows."""
    order = rng.permutation(len(F))[:n_rows]
    fold = np.arange(len(order)) % FOLDS
    right = np.zeros(len(GRID))
    for i in range(FOLDS):
        train, test = order[fold != i], order[fold == i]
        classes, weights = np.unique(y[train]), None
        A, B = F[train], F[test]
        if A.shape[1] > len(A):  # weights are combinations of rows, so coordinates in their span are enough
            basis = np.linalg.qr(A.T.astype(np.float64))[0].astype(np.float32)
            A, B = A @ basis, B @ basis
        for j, C in enumerate(GRID):
            weights = fit_linear(A, y[train], C, start=weights)
            right[j] += accuracy(weights, B, y[test], classes)
    return GRID[int(np.argmax(np.round(right, 6)))]
