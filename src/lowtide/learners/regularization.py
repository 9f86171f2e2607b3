"""How strong the regularization should be, found on the side that predictions will use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from lowtide.learners.design import Design
from lowtide.learners.solvers import NormalEquations

__all__ = ["best_on_grid", "held_out_alpha", "leave_one_out_alpha", "loo_is_cheap"]

Array = NDArray[Any]

_SMALL_FEATURES, _SMALL_ENTRIES = 1024, 1 << 24
# Decades of alpha over the mean diagonal of the Gram matrix.
_DECADES = np.arange(-6.0, 1.5, 0.5)


def loo_is_cheap(n: int, m: int) -> bool:
    """Whether an eigendecomposition and one pass of decoded rows cost little beside the rest."""
    return m <= _SMALL_FEATURES and n * m <= _SMALL_ENTRIES


def leave_one_out_alpha(equations: NormalEquations, design: Design, targets: Array, weight: Array) -> float:
    """Return the alpha of least leave-one-out squared error, exact, from one eigendecomposition.

    With rows and targets centered, G = V L V', the residual of row i left out is e_i / (1 - h_i),
    h_i = s_i (1/S + sum_k (x_i . v_k)^2 / (l_k + alpha)).
    """
    row_mean, target_mean = equations.row_sum / equations.weight, equations.target_sum / equations.weight
    gram = np.asarray(equations.gram, dtype=np.float64) - np.outer(row_mean, equations.row_sum)
    values, vectors = eigh(gram, overwrite_a=True)
    values = np.maximum(values, 0.0)
    rotated = design.matmul(vectors) - row_mean @ vectors
    right = vectors.T @ (equations.cross - np.outer(row_mean, equations.target_sum))
    centered = targets - target_mean
    alphas = _candidates(equations)

    def error(alpha: float) -> float:
        residual = centered - rotated @ (right / (values + alpha)[:, None])
        leverage = weight * (1.0 / equations.weight + (rotated**2) @ (1.0 / (values + alpha)))
        left_out = residual / np.maximum(1.0 - leverage, 1e-10)[:, None]
        return float(weight @ np.sum(left_out**2, axis=1))

    return float(alphas[np.argmin([error(alpha) for alpha in alphas])])


def held_out_alpha(
    equations: NormalEquations,
    train: Design,
    predict: Design,
    targets: Array,
    weight: Array,
    rng: np.random.Generator,
    fit_intercept: bool,
) -> float:
    """Return the alpha of least squared error on a held-out tenth, read from the side that predicts.

    The tenth is taken out of the Gram matrix again, so each candidate costs one factorization; they are tried
    outward from the middle of the grid, downhill, five or six of them.
    """
    n = len(targets)
    held = np.sort(rng.choice(n, size=max(1, n // 10), replace=False))
    part = NormalEquations(train.shape[1], targets.shape[1], equations.dtype)
    part.add(train.take(held), targets[held], weight[held])
    rest, seen = equations.without(part), predict.take(held)

    def error(alpha: float) -> float:
        coef, intercept = rest.solve(alpha, fit_intercept=fit_intercept)
        residual = targets[held] - seen.matmul(coef) - intercept
        return float(weight[held] @ np.sum(residual**2, axis=1))

    return best_on_grid(error, _candidates(equations)[::2])


def best_on_grid(error: Callable[[float], float], grid: Array) -> float:
    """Return the grid point of least error of a function with one valley, going downhill from the middle."""
    known: dict[int, float] = {}

    def at(i: int) -> float:
        if i not in known:
            known[i] = error(float(grid[i]))
        return known[i]

    i = len(grid) // 2
    step = -1 if at(i - 1) < at(i) else 1
    while 0 <= i + step < len(grid) and at(i + step) < at(i):
        i += step
    return float(grid[i])


def _candidates(equations: NormalEquations) -> Array:
    """Return alphas around the scale of the Gram matrix."""
    scale = float(np.mean(np.diagonal(np.asarray(equations.gram)))) or 1.0
    return scale * 10.0**_DECADES
