"""How strong the regularization should be, found on the side that predictions will use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from lowtide.learners.problem import Problem, SummedProblem
from lowtide.learners.solvers import ErrorSum, NormalEquations, squared_error

__all__ = ["held_out_alpha", "leave_one_out_alpha", "loo_is_cheap", "lowest"]

Array = NDArray[Any]

# Beyond these the rotation of all rows costs more than the rest of a fit.
_SMALL_FEATURES, _SMALL_ENTRIES = 128, 1 << 19
_BLOCK_VALUES = 1 << 20
# Decades of alpha over the mean diagonal of the Gram matrix.
_DECADES = np.arange(-6.0, 1.5, 0.5)
# Codes are best served at about the mean diagonal itself, full features a few decades below.
_FIRST = int(np.flatnonzero(_DECADES == 0.0)[0])


def loo_is_cheap(n: int, m: int) -> bool:
    """Whether an eigendecomposition and one pass of rotated rows cost little beside the rest."""
    return m <= _SMALL_FEATURES and n * m <= _SMALL_ENTRIES


def leave_one_out_alpha(equations: NormalEquations, problem: SummedProblem) -> float:
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
    rotation = _Rotation(vectors, mean, target_mean, inverse, coefs, 1.0 / total if problem.fit_intercept else 0.0)
    return float(alphas[np.argmin(problem.sum(_left_out_errors, rotation).total)])


@dataclass(frozen=True)
class _Rotation:
    """Eigenvectors (m, m), means, 1 / (l + alpha) (m, a), rotated weights of each alpha (m, a, k), and 1/S."""

    vectors: Array
    mean: Array
    target_mean: Array
    inverse: Array
    coefs: Array
    base: float


def _left_out_errors(problem: Problem, to: _Rotation) -> ErrorSum:
    """Return the leave-one-out errors of every alpha on some of the rows."""
    errors = np.zeros(to.inverse.shape[1])
    for part in problem.blocks(_BLOCK_VALUES):
        weight, targets = part.weights, part.targets - to.target_mean
        x = part.train.matmul(to.vectors) - to.mean @ to.vectors
        own = other = weight[:, None] * (to.base + x**2 @ to.inverse)
        residual = left_out = targets[:, None, :] - np.tensordot(x, to.coefs, 1)
        if part.predict is not part.train:
            z = part.predict.matmul(to.vectors) - to.mean @ to.vectors
            other = weight[:, None] * (to.base + (z * x) @ to.inverse)
            left_out = targets[:, None, :] - np.tensordot(z, to.coefs, 1)
        left_out = left_out + (other / np.maximum(1.0 - own, 1e-10))[:, :, None] * residual
        errors += weight @ np.sum(left_out**2, axis=2)
    return ErrorSum(errors)


def held_out_alpha(equations: NormalEquations, problem: SummedProblem, rng: np.random.Generator) -> float:
    """Return the alpha of least squared error on a held-out tenth, read from the side that predicts.

    The sums of the tenth are subtracted, and candidates are tried on every second pair of columns, scaled by sqrt 2:
    the same kernel from half as many features, so alpha means the same and a factorization costs an eighth. Decades
    are walked downhill, then the half decades beside the best are tried: five to ten candidates, about as much as one
    factorization of all columns at the most.
    """
    n, m = problem.shape
    alphas = _candidates(equations)
    held = problem.take(np.sort(rng.choice(n, size=max(1, n // 10), replace=False)))
    sums = NormalEquations.summed(held, equations.dtype)
    columns, scale = _half_of_the_columns(m)
    rest = equations.columns(columns, scale)
    rest.remove(sums.columns(columns, scale))
    if n < 2 or not rest.weight > 0:
        return float(alphas[_FIRST])
    system = rest.centered(fit_intercept=problem.fit_intercept)

    def error(i: int) -> float:
        found, intercept = system.solve(float(alphas[i]))
        coef = np.zeros((m, found.shape[1]))
        coef[columns] = scale * found
        return float(held.sum(squared_error, coef, intercept).total)

    return float(alphas[lowest(error, len(alphas), _FIRST, strides=(-2, -1))])


def lowest(error: Callable[[int], float], size: int, start: int, strides: tuple[int, ...] = (1,)) -> int:
    """Return where an error with one valley is least among 0..size-1, walking downhill from `start`.

    Strides are walked one after the other, each from where the one before came to rest, first in its own direction.
    """
    known: dict[int, float] = {}

    def at(i: int) -> float:
        if not 0 <= i < size:
            return np.inf
        if i not in known:
            known[i] = error(i)
        return known[i]

    i = start
    for stride in strides:
        step = stride if at(i + stride) < at(i) else -stride
        while at(i + step) < at(i):
            i += step
    return i


def _half_of_the_columns(m: int) -> tuple[Array, float]:
    """Return every second pair of columns (a cosine stays with its sine), and the scale that makes up for the rest."""
    columns = np.flatnonzero(np.arange(m) // 2 % 2 == 0)
    return columns, float(np.sqrt(m / len(columns)))


def _candidates(equations: NormalEquations) -> Array:
    """Return alphas around the scale of the Gram matrix."""
    scale = float(np.mean(np.diagonal(np.asarray(equations.gram)))) or 1.0
    return scale * 10.0**_DECADES
