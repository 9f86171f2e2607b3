"""From a problem to weights: solutions, how strongly to regularize them, and what rows left out would have scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from lowtide.learners.design import Design
from lowtide.learners.losses import Loss
from lowtide.learners.problem import Problem, SummedProblem
from lowtide.learners.solvers import (
    ErrorSum,
    NormalEquations,
    Objective,
    RidgeSolution,
    Solution,
    held_out_loss,
    minimize,
    squared_error,
)

Array = NDArray[Any]

# Below this many code entries solutions are float64 throughout.
_SMALL_PROBLEM = 1 << 24
_SMALL_TOLERANCE = 1e-10
_CANDIDATES = 10.0 ** np.arange(-2.0, 3.0)
_FOLDS = 2
# A candidate need not converge to be told from a worse one: it gets this part of the iterations, to three times `tol`.
_SHORT, _ROUGH = 5, 3.0
# Beyond these the rotation of all rows costs more than the rest of a fit.
_SMALL_FEATURES, _SMALL_ENTRIES = 128, 1 << 19
_BLOCK_VALUES = 1 << 20
# Decades of alpha over the mean diagonal of the Gram matrix.
_DECADES = np.arange(-6.0, 1.5, 0.5)
# Codes are best served at about the mean diagonal itself, full features a few decades below.
_FIRST = int(np.flatnonzero(_DECADES == 0.0)[0])
# Random vectors that the leverages of ridge regression are read from: each is known to a fifth or so.
_LEVERAGE_PROBES = 64
# Random vectors that traces are read from, and conjugate gradients that are good enough for these.
_PROBES = 8
_CG_STEPS = 25
_CG_PRECISION = 1e-3
_LEAST_REST = 0.01


def product_dtype(n: int, m: int) -> type[np.floating[Any]]:
    """Return the type for sums over n x m code entries."""
    return np.float64 if n * m < _SMALL_PROBLEM else np.float32


def fit_squared(
    problem: SummedProblem, alpha: float | Literal["auto"], rng: np.random.Generator
) -> tuple[RidgeSolution, float]:
    """Return the solution and alpha of min sum_i s_i (t_i - f_i)^2 + alpha |w|^2."""
    # Rounding of float32 would add up over parts.
    equations = NormalEquations.summed(problem, product_dtype(*problem.shape) if problem.is_whole else np.float64)
    if alpha == "auto":
        rows = problem.weighted_rows()
        if loo_is_cheap(*rows.shape):
            alpha = leave_one_out_alpha(equations, rows)
        else:
            alpha = held_out_alpha(equations, rows, rng)
    return equations.solve(alpha, fit_intercept=problem.fit_intercept, problem=problem), alpha


def fit_smooth(
    problem: SummedProblem,
    loss: Loss,
    C: float | Literal["auto"],
    rng: np.random.Generator,
    *,
    start: Array | None,
    max_iter: int,
    tolerance: float,
    each_iteration: Callable[[Array], None] | None,
) -> tuple[Solution, float]:
    """Return the solution and C of min |w|^2/2 + C sum_i s_i loss_i."""
    if C == "auto":
        C, start = _choose_inverse_strength(problem.weighted_rows(), loss, rng, start, max_iter, tolerance)
    dtype = product_dtype(*problem.shape)
    goal = min(tolerance, _SMALL_TOLERANCE) if dtype is np.float64 else tolerance
    steps: dict[str, Any] = {"max_iter": max_iter, "goal": goal, "each_iteration": each_iteration}
    return minimize(Objective(problem, loss, C, dtype), start=start, tolerance=tolerance, **steps), C


def _choose_inverse_strength(
    problem: SummedProblem, loss: Loss, rng: np.random.Generator, start: Array | None, max_iter: int, tolerance: float
) -> tuple[float, Array]:
    """Cross-validate C on codes that are there already, with short fits; of many rows one half tests the other only.

    Each fit starts where the one before ended, and the folds' solutions at the chosen C are a start for the whole.
    """
    order = rng.permutation(problem.shape[0])
    folds = [np.sort(part) for part in np.array_split(order, _FOLDS)]
    used = folds if product_dtype(*problem.shape) is np.float64 else folds[:1]
    parts = [(problem.take(np.setdiff1d(order, held)), problem.take(held)) for held in used]
    steps = max(10, max_iter // _SHORT)
    last = [start] * len(parts)
    middles: dict[int, Array] = {}

    def error(i: int) -> float:
        total = 0.0
        for fold, (train, held) in enumerate(parts):
            # The same weight of the data as in the whole fit.
            objective = Objective(train, loss, _CANDIDATES[i] * _FOLDS / (_FOLDS - 1), product_dtype(*train.shape))
            found = minimize(objective, start=last[fold], max_iter=steps, tolerance=_ROUGH * tolerance)
            total += float(held.sum(held_out_loss, found.coef, found.intercept, loss).total)
            last[fold] = end = np.vstack([found.coef, found.intercept])
            middles[i] = middles.get(i, 0.0) + end / len(parts)
        return total

    best = lowest(error, len(_CANDIDATES), len(_CANDIDATES) // 2)
    return float(_CANDIDATES[best]), middles[best]


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
    gram = equations.gram.astype(np.float64) - np.outer(mean, equations.row_sum)
    values, vectors = eigh(gram, overwrite_a=True)
    alphas = _candidates(equations)
    inverse = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)
    right = vectors.T @ (equations.cross - np.outer(mean, equations.target_sum))
    coefs = right[:, None, :] * inverse[:, :, None]
    base = 1.0 / total if problem.fit_intercept else 0.0
    errors = problem.sum(_left_out_errors, vectors, mean, target_mean, inverse, coefs, base)
    return float(alphas[np.argmin(errors.total)])


def _left_out_errors(
    problem: Problem, vectors: Array, mean: Array, target_mean: Array, inverse: Array, coefs: Array, base: float
) -> ErrorSum:
    """Return the leave-one-out errors of every alpha on some of the rows.

    From eigenvectors (m, m), means, 1 / (l + alpha) (m, a), rotated weights of each alpha (m, a, k), and 1/S.
    """
    errors = np.zeros(inverse.shape[1])
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
    sums = NormalEquations.summed(held, equations.dtype.type)
    # A cosine stays with its sine.
    columns = np.flatnonzero(np.arange(m) // 2 % 2 == 0)
    scale = float(np.sqrt(m / len(columns)))
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


def _candidates(equations: NormalEquations) -> Array:
    """Return alphas around the scale of the Gram matrix."""
    scale = float(np.mean(np.diagonal(equations.gram))) or 1.0
    return scale * 10.0**_DECADES


@dataclass(frozen=True)
class _Centered:
    """A design less a mean row: one mean (m, 1), or a mean a column of the operand."""

    design: Design
    mean: Array

    def matmul(self, P: Array) -> Array:
        return self.design.matmul(np.ascontiguousarray(P)) - np.sum(self.mean * P, axis=0)

    def rmatmul(self, R: Array) -> Array:
        return self.design.rmatmul(np.ascontiguousarray(R)) - self.mean * R.sum(axis=0)


def left_out_ridge_scores(problem: Problem, solution: RidgeSolution, unit: float = 1.0) -> Array:
    """Return scores (n, k) on the side that predicts, each as if its row had been left out.

    f_i - g_i e_i / (1 - h), e_i the residual, g_i the leverage s (1/S + z_i' A^-1 x_i) of a row of weight s with the
    sides z and x, A = X'SX + alpha I of centered rows, and h the mean of s (1/S + x_i' A^-1 x_i): exact to first order
    in how much leverages differ, and generalized cross-validation where they do not. Leverages are squared lengths of
    x_i' A^-1/2 times a few random vectors of signs, so this costs one product.

    `problem` may hold some of the rows that the solution is of, and `unit` is the weight s of one.
    """
    n, m = problem.shape
    signs = _signs(m, _LEVERAGE_PROBES) / np.sqrt(_LEVERAGE_PROBES)
    half = np.ascontiguousarray(solution.factor.half_solve(signs), dtype=product_dtype(n, m))
    mean, base = solution.row_mean @ half, 1.0 / solution.weight if problem.fit_intercept else 0.0
    other, own = np.empty(n), np.zeros(_LEVERAGE_PROBES)
    start = 0
    for part in problem.blocks(_BLOCK_VALUES):
        x = z = part.train.matmul(half).astype(np.float64, copy=False) - mean
        if part.predict is not part.train:
            z = part.predict.matmul(half).astype(np.float64, copy=False) - mean
        own += part.weights @ x**2
        other[start : start + len(x)] = unit * (base + np.sum(x * z, axis=1))
        start += len(x)
    own *= unit / problem.total_weight
    # 1 - h is not trusted below two of its standard errors.
    error = float(np.std(own, ddof=1)) * np.sqrt(_LEVERAGE_PROBES)
    rest = max(1.0 - unit * base - float(own.sum()), 2.0 * error, _LEAST_REST)
    seen = problem.train.matmul(solution.coef) + solution.intercept
    scores = seen if problem.predict is problem.train else problem.predict.matmul(solution.coef) + solution.intercept
    return scores - (other / rest)[:, None] * (problem.targets - seen)


def left_out_scores(problem: Problem, loss: Loss, coef: Array, intercept: Array, C: float, share: float = 1.0) -> Array:
    """Return scores (n, k) of a smooth loss, each as if its row had been left out.

    Near its minimum the loss of a row is that of ridge regression, with the weight q = loss''/2 and the residual
    -loss'/loss'' in each column, so f_i - g e_i / (1 - h) as in `left_out_ridge_scores` holds with these; rows without
    curvature, beyond the margin of a hinge for example, keep their scores. A^-1 is applied by conjugate gradients, and
    h and g are means over all rows and columns, which a few probes give well.

    `share` is the part of the weight of the fit that `problem` holds; each row then stands for 1 / share of them.
    """
    seen = problem.train.matmul(coef) + intercept
    curvature = loss.curvature(seen, problem.targets)
    slope = loss.value_and_gradient(seen, problem.targets, np.ones(len(seen)))[1]
    residual = np.divide(-slope, curvature, out=np.zeros_like(seen), where=curvature > 0)
    scores = seen if problem.predict is problem.train else problem.predict.matmul(coef) + intercept
    return scores - _mean_shift(problem, curvature, residual, coef, C, share) * residual


def _mean_shift(problem: Problem, curvature: Array, residual: Array, coef: Array, C: float, share: float) -> float:
    """Return g / (1 - h) of rows with the curvature of a loss, means over those that have some."""
    weight = problem.weights[:, None] * (0.5 * curvature)
    total = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    mean = problem.train.rmatmul(weight) / total if problem.fit_intercept else np.zeros_like(coef)
    pull = _Centered(problem.train, mean).rmatmul(weight * residual)
    repeats = max(2, -(-_PROBES // coef.shape[1]))
    alphas, many, means = (np.tile(a, repeats) for a in (_penalty(pull, coef, share / (2.0 * C)), weight, mean))
    rows = _Centered(problem.train, means)

    def solve(right: Array) -> Array:
        return _conjugate_gradients(lambda P: rows.rmatmul(many * rows.matmul(P)) + alphas * P, right)

    traces = _traces(problem, many, means, solve, _signs(len(coef), repeats * coef.shape[1]))
    own, other = (trace.reshape(repeats, -1) for trace in traces)
    count = float(problem.weights @ np.count_nonzero(curvature, axis=1))
    # Each row stands for 1 / share of them.
    return _shift(own, other, problem.fit_intercept, max(count, 1.0) / share)


def _penalty(pull: Array, coef: Array, alpha: float) -> Array:
    """Return alpha of each column: X'S e = alpha w at the minimum, and like a larger one where L-BFGS was stopped."""
    force, size = np.linalg.norm(pull, axis=0), np.linalg.norm(coef, axis=0)
    ratio = np.divide(force, size, out=np.full_like(force, alpha), where=size > 0)
    return np.maximum(alpha, ratio)


def _traces(
    problem: Problem, weight: Array, mean: Array, solve: Callable[[Array], Array], signs: Array
) -> tuple[Array, Array]:
    """Return estimates of tr A^-1 X'SX, and of tr A^-1 Z'SX with the predicting side Z, one a column of signs."""
    train = _Centered(problem.train, mean)
    weighted = weight * train.matmul(signs)
    own = np.sum(signs * solve(train.rmatmul(weighted)), axis=0)
    if problem.predict is problem.train:
        return own, own
    return own, np.sum(signs * solve(_Centered(problem.predict, mean).rmatmul(weighted)), axis=0)


def _shift(own: Array, other: Array, fit_intercept: bool, count: float) -> float:
    """Return g / (1 - h) from traces (repeats, columns); 1 - h is not trusted below two of its standard errors."""
    base = own.shape[1] if fit_intercept else 0
    h, g = ((base + float(trace.mean(axis=0).sum())) / count for trace in (own, other))
    error = float(np.sqrt(np.sum(np.var(own, axis=0, ddof=1)) / len(own))) / count
    return g / max(1.0 - h, 2.0 * error, _LEAST_REST)


def _signs(m: int, k: int) -> Array:
    """Return signs (m, k) that depend on nothing else: weights and repeated rows get the same ones."""
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(m, k))


def _conjugate_gradients(product: Callable[[Array], Array], right: Array) -> Array:
    """Return an approximate solution of every column, good for a trace."""
    solution, residual = np.zeros_like(right), right.copy()
    direction, square = residual.copy(), np.sum(residual**2, axis=0)
    enough = _CG_PRECISION**2 * square
    for _ in range(_CG_STEPS):
        if np.all(square <= enough):
            break
        image = product(direction)
        curvature = np.sum(direction * image, axis=0)
        step = np.divide(square, curvature, out=np.zeros_like(square), where=curvature > 0)
        solution += step * direction
        residual -= step * image
        previous, square = square, np.sum(residual**2, axis=0)
        direction = residual + np.divide(square, previous, out=np.zeros_like(square), where=previous > 0) * direction
    return solution
