"""How strong the regularization should be, found on the side that predictions will use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from lowtide.learners.problem import Problem
from lowtide.learners.solvers import NormalEquations

__all__ = ["best_on_grid", "held_out_alpha", "leave_one_out_alpha", "loo_is_cheap"]

Array = NDArray[Any]

# Beyond these the rotation of all rows costs more than the rest of a fit.
_SMALL_FEATURES, _SMALL_ENTRIES = 128, 1 << 19
_BLOCK_VALUES = 1 << 20
# Decades of alpha over the mean diagonal of the Gram matrix.
_DECADES = np.arange(-6.0, 1.5, 0.5)


def loo_is_cheap(n: int, m: int) -> bool:
    """Whether an eigendecomposition and one pass of rotated rows cost little beside the rest."""
    return m <= _SMALL_FEATURES and n * m <= _SMALL_ENTRIES


def leave_one_out_alpha(equations: NormalEquations, problem: Problem) -> float:
    """Return the alpha of least leave-one-out squared error, exact, from one eigendecomposition.

    With rows x and targets centered, z the row on the side that predicts less the same mean, G = V L V':
    row i left out changes its score by -g_i e_i / (1 - h_i), e_i its residual,
    g_i = s_i (1/S + sum_k (z_i . v_k) (x_i . v_k) / (l_k + alpha)) and h_i the same with x in place of z.
    Rotated rows exist a block at a time.
    """
    total = equations.weight
    mean, target_mean = equations.row_sum / total, equations.target_sum / total
    if not problem.fit_intercept:
        mean, target_mean = np.zeros_like(mean), np.zeros_like(target_mean)
    gram = np.asarray(equations.gram, dtype=np.float64) - np.outer(mean, equations.row_sum)
    values, vectors = eigh(gram, overwrite_a=True)
    alphas = _candidates(equations)
    inverse = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)
    right = vectors.T @ (equations.cross - np.outer(mean, equations.target_sum))
    coefs = right[:, None, :] * inverse[:, :, None]
    base = 1.0 / total if problem.fit_intercept else 0.0
    errors = np.zeros(len(alphas))
    for part in problem.blocks(_BLOCK_VALUES):
        weight, targets = part.weights, part.targets - target_mean
        x = part.train.matmul(vectors) - mean @ vectors
        own = other = weight[:, None] * (base + x**2 @ inverse)
        residual = left_out = targets[:, None, :] - np.tensordot(x, coefs, 1)
        if part.predict is not part.train:
            z = part.predict.matmul(vectors) - mean @ vectors
            other = weight[:, None] * (base + (z * x) @ inverse)
            left_out = targets[:, None, :] - np.tensordot(z, coefs, 1)
        left_out = left_out + (other / np.maximum(1.0 - own, 1e-10))[:, :, None] * residual
        errors += weight @ np.sum(left_out**2, axis=2)
    return float(alphas[np.argmin(errors)])


def held_out_alpha(equations: NormalEquations, problem: Problem, rng: np.random.Generator) -> float:
    """Return the alpha of least squared error on a held-out tenth, read from the side that predicts.

    The tenth is taken out of the sums and put back, so each candidate costs one factorization and no second Gram
    matrix exists; candidates are tried downhill from the middle of the grid, three to six of them.
    """
    n = len(problem.targets)
    alphas = _candidates(equations)[::2]
    if n < 2:
        return float(alphas[len(alphas) // 2])
    held = problem.take(np.sort(rng.choice(n, size=max(1, n // 10), replace=False)))
    equations.remove(held.train, held.targets, held.weight)
    if not equations.weight > 0:
        equations.add(held.train, held.targets, held.weight)
        return float(alphas[len(alphas) // 2])

    def error(alpha: float) -> float:
        found = equations.solve(alpha, fit_intercept=problem.fit_intercept)
        residual = held.targets - held.predict.matmul(found.coef) - found.intercept
        return float(held.weights @ np.sum(residual**2, axis=1))

    best = best_on_grid(error, alphas)
    equations.add(held.train, held.targets, held.weight)
    return best


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
