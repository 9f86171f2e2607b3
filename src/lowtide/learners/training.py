"""From a problem to weights: solutions, how strongly to regularize them, and what rows left out would have scored."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from lowtide._checks import available_memory, check_memory, fail
from lowtide.learners.calibration import CalibrationRows
from lowtide.learners.design import Design
from lowtide.learners.dual import Conditioner, DualSystem, IterativeSystem, Landmarks, RowSpan, weight_sums
from lowtide.learners.losses import Loss
from lowtide.learners.problem import Problem, SummedProblem
from lowtide.learners.ridge import (
    Form,
    NormalEquations,
    RidgeSolution,
    choose_form,
    is_dual_possible,
    n_landmarks,
    product_dtype,
    random_signs,
    suitable_threads,
)
from lowtide.learners.smooth import Objective, Report, Solution, held_out_loss, minimize
from lowtide.learners.strength import choose_strength

__all__ = ["FORMS", "RidgeFit", "check_sums", "fit_smooth", "left_out_ridge_scores", "left_out_scores", "lowest"]

Array = NDArray[Any]
FORMS: tuple[Form, ...] = ("primal", "dual", "iterative")
# Losses (n,) of left-out scores (n, k) of rows, which come second.
Judge = Callable[[Array, Problem], Array]

_SMALL_TOLERANCE = 1e-10
# Below it products in float32 cannot be told from noise.
_FLOAT32_TOLERANCE = 1e-6
_CANDIDATES = 10.0 ** np.arange(-2.0, 3.0)
_FOLDS = 2
# What to expect of L-BFGS, and what it does to vectors in a step; what an entry of floats costs in a product over one
# of codes, which are less to be read.
_LBFGS_STEPS, _LBFGS_VECTORS = 60.0, 20.0
_DENSE = 4.0
# Vectors of the length of the weights that L-BFGS has at the most.
_REMEMBERED = 30
# Rows that condition a smooth loss: their eigenvectors take half a second; and products that are worth it.
_CONDITIONING_ROWS = 1024
_MANY_PRODUCTS = 1 << 27
# A candidate need not converge to be told from a worse one: it gets this part of the iterations, to three times `tol`.
_SHORT, _ROUGH = 5, 3.0
# Up to so many rows leverages are exact. As many choose how strongly to regularize: twice as many choose no better.
_EXACT_ROWS, _MOST_EXACT_ROWS = 2048, 8192
# Rows that the strength of a fit by conjugate gradients is chosen on, by their own kernel matrix.
_CHOICE_ROWS = 4096
# Random vectors that traces are read from, and conjugate gradients that are good enough for these.
_PROBES = 8
_CG_STEPS = 25
_CG_PRECISION = 1e-3
_LEAST_REST = 0.01
# Mean weights up to this, and down to one over it, may be counts of rows.
_USUAL_WEIGHT = 100.0


@dataclass(frozen=True)
class RidgeFit:
    """How least squares are to be fitted.

    Attributes
    ----------
    owner : str
        For messages.
    solver : str
        "auto" or a form.
    tolerance : float
        Error of scores relative to their size; from 1e-6 down all is float64.
    max_iter : int
        Steps of conjugate gradients.
    first : float
        The penalty that a choice starts from.
    judge : callable
        Losses of left-out scores, which the choice is made by.
    """

    owner: str
    solver: str
    tolerance: float
    max_iter: int
    first: float
    judge: Judge

    def __call__(
        self, problem: SummedProblem, alpha: float | Literal["auto"], sample: Callable[[], CalibrationRows]
    ) -> tuple[RidgeSolution, float]:
        """Return the solution and alpha of min sum_i s_i |t_i - f_i|^2 + alpha |w|^2.

        `sample` gives some of the rows, in memory, where they are needed.
        """
        is_small = self.tolerance <= _FLOAT32_TOLERANCE or product_dtype(*problem.shape) is np.float64
        kind: type[np.floating[Any]] = np.float64 if is_small else np.float32
        form = self._form(problem, kind)
        if form == "dual":
            # Few rows that are elsewhere are all in the sample.
            system = DualSystem.of(cast(Problem, problem) if problem.is_whole else sample().rows, is_small)

            def solve(alpha: float) -> RidgeSolution:
                return system.solve(alpha, exact=is_small)

        elif form == "primal":
            # Rounding of float32 would add up over parts.
            sums = NormalEquations.summed(problem, kind if problem.is_whole else np.float64)

            def solve(alpha: float) -> RidgeSolution:
                return sums.solve(alpha, fit_intercept=problem.fit_intercept, problem=problem)

        else:
            kept = sample()
            landmarks = kept.rows.take(slice(n_landmarks(problem.shape[0])))
            steps = IterativeSystem(problem, landmarks, kind, self.tolerance, self.max_iter)

            def solve(alpha: float) -> RidgeSolution:
                return self._told(steps.solve(alpha))

            if alpha == "auto":
                # Rows enough for the choice have a kernel matrix that is soon factorized, on all columns.
                few = kept.first(_CHOICE_ROWS)
                few = replace(few, places=np.arange(len(few.places)))
                return self._chosen(DualSystem.of(few.rows, exact=False).solve, solve, few)
        if alpha == "auto":
            return self._chosen(solve, solve, sample())
        return solve(alpha), alpha

    def _form(self, problem: SummedProblem, kind: type[np.floating[Any]]) -> Form:
        """Return the form that was asked for, or the cheapest."""
        if self.solver == "auto":
            return choose_form(self.owner, problem, kind, problem.n_targets + 2)
        if self.solver == "dual" and not is_dual_possible(problem):
            remedy = "Take 'iterative', or load the rows as Codes."
            raise fail(self.owner, "solver must not be 'dual' for many rows that are not in memory", "dual", remedy)
        return cast(Form, self.solver)

    def _told(self, solution: RidgeSolution) -> RidgeSolution:
        """Return the solution, and warn when it is not one yet."""
        if not solution.is_converged:
            where = f"max_iter={self.max_iter}" if solution.n_iter >= self.max_iter else "what rounding allows"
            change = "Raise max_iter, tol or the regularization."
            text = f"Conjugate gradients stopped at {where} before the error fell below tol={self.tolerance}. {change}"
            warnings.warn(text, ConvergenceWarning, stacklevel=7)  # the caller of fit, past scikit-learn's wrapper
        return solution

    def _chosen(
        self, tried: Callable[[float], RidgeSolution], solve: Callable[[float], RidgeSolution], kept: CalibrationRows
    ) -> tuple[RidgeSolution, float]:
        """Return the solution and the alpha of clearly least left-out loss; candidates may have a solver of their own.

        A row is left out with all its weight, and equal rows together: repeated ones choose as one of their weight.
        """
        few = kept.first(_EXACT_ROWS)
        judged, size = few.rows, few.rows.total_weight / float(few.counts.sum())
        # The scale of weights near 1 is left to those who count rows by them; of others it is that of the penalty too.
        first = self.first * (1.0 if _USUAL_WEIGHT > size > 1.0 / _USUAL_WEIGHT else size)
        last: list[tuple[float, RidgeSolution]] = []

        def left_out(alpha: float) -> Array:
            last[:] = [(alpha, tried(alpha))]
            return left_out_ridge_scores(judged, few.places, last[0][1], judged.weights)

        share = judged.weights * (len(judged.weights) / judged.total_weight)
        alpha = choose_strength(left_out, lambda scores: self.judge(scores, judged), share, first).strength
        return last[0][1] if tried is solve and last[0][0] == alpha else solve(alpha), alpha


def check_sums(owner: str, m: int) -> None:
    """Refuse to gather sums of m x m for which there is no room: those so far, a part's, and the factor."""
    what = f"matrices of {m:,} x {m:,} features, which rows in blocks are added to,"
    remedy = "Lower n_components, or fit on all rows at once, as Codes or a store: that needs no such matrix."
    check_memory(owner, 3.0 * 8.0 * m * m, what, remedy)


@dataclass(frozen=True)
class SmoothFit:
    """A fit of a smooth loss: the solution, C, its form, and the span of the rows where it was made there."""

    solution: Solution
    C: float
    form: Form
    span: RowSpan | None = None
    inner: Array | None = None

    def view(self, rows: Problem, places: Array) -> tuple[Problem, Array]:
        """Return rows at these places, and weights, on the columns that the fit was made on."""
        if self.span is None or self.inner is None:
            return rows, self.solution.coef
        return self.span.view(rows, places), self.inner


def fit_smooth(
    problem: SummedProblem,
    loss: Loss,
    C: float | Literal["auto"],
    rng: np.random.Generator,
    sample: Callable[[], CalibrationRows],
    *,
    solver: str,
    start: Array | None,
    each_iteration: Report | None,
    **limits: Any,
) -> SmoothFit:
    """Return the solution of min |w|^2/2 + C sum_i s_i loss_i by L-BFGS; `limits` are max_iter and tolerance.

    Few rows of many features are fitted in the space that they span, by as many columns as there are rows. Where both
    are many and the loss is steep, `sample` gives rows that make steps fewer.
    """
    dtype = product_dtype(*problem.shape)
    if _is_span_cheaper(problem, solver):
        return _fit_in_span(cast(Problem, problem), loss, C, rng, dtype, start, each_iteration, limits)
    if C == "auto":
        C, start = _choose_inverse_strength(problem.weighted_rows(), loss, rng, start, **limits)
    conditioner = None
    if solver == "iterative" or (solver == "auto" and _is_steep(problem, loss, C)):
        conditioner = _conditioner(problem, loss, C, sample())
    solution = _minimized(problem, loss, C, dtype, start, each_iteration, conditioner=conditioner, **limits)
    return SmoothFit(solution, C, "primal" if conditioner is None else "iterative")


def _fit_in_span(
    problem: Problem,
    loss: Loss,
    C: float | Literal["auto"],
    rng: np.random.Generator,
    dtype: type[np.floating[Any]],
    start: Array | None,
    each_iteration: Report | None,
    limits: dict[str, Any],
) -> SmoothFit:
    """Return the solution on the columns of the span, and its weights on those of the features."""
    span = RowSpan.of(problem, dtype)
    n_inner, k = span.problem.shape[1], problem.n_targets

    def outer(theta: Array) -> Array:
        inner = theta.reshape(n_inner + 1, k)
        return np.vstack([span.coef(inner[:-1]), inner[-1]]).ravel()

    def report(current: Callable[[], Array]) -> None:
        if each_iteration is not None:
            each_iteration(lambda: outer(current()))

    first = None if start is None else np.vstack([span.inner(start[:-1]), start[-1]])
    # Products with a few thousand rows wait longer for a second thread than it saves them.
    with suitable_threads(n_inner):
        if C == "auto":
            C, first = _choose_inverse_strength(span.problem, loss, rng, first, **limits)
        found = _minimized(span.problem, loss, C, dtype, first, report, **limits)
    return SmoothFit(replace(found, coef=span.coef(found.coef)), C, "dual", span, found.coef)


def _is_steep(problem: SummedProblem, loss: Loss, C: float) -> bool:
    """Whether the loss curves so much more than the penalty that fewer steps are worth some landmarks."""
    n, m = problem.shape
    return C * _curvature(loss, problem.n_targets) >= 1.0 and n * m * problem.n_targets >= _MANY_PRODUCTS


def _curvature(loss: Loss, k: int) -> float:
    """Return the mean curvature of a loss before anything is learned, and not less than that of a logistic one."""
    targets = np.ones((1, 1)) if k == 1 else np.eye(k) if loss.is_multinomial else 2.0 * np.eye(k) - 1.0
    return max(float(loss.curvature(np.zeros_like(targets), targets).mean()), 0.25)


def _conditioner(problem: SummedProblem, loss: Loss, C: float, kept: CalibrationRows) -> Conditioner:
    """Return what makes the objective of about the same curvature in all directions, from some rows."""
    some = kept.rows.take(slice(_CONDITIONING_ROWS))
    sums = problem.sum(weight_sums)
    mean = sums.row_sum / sums.weight if problem.fit_intercept else np.zeros_like(sums.row_sum)
    # Near its minimum the objective has the matrix (c X'SX + I / C) / S for a loss of curvature c.
    curvature = _curvature(loss, problem.n_targets)
    landmarks = Landmarks(some, mean, sums.weight, 1.0 / (C * curvature), np.float32)
    return Conditioner(landmarks, curvature / sums.weight)


def _is_span_cheaper(problem: SummedProblem, solver: str) -> bool:
    """Whether a fit in the span of the rows costs less, or is asked for, and memory allows it."""
    (n, m), k = problem.shape, problem.n_targets
    if solver == "primal" or not problem.is_whole or (solver == "auto" and n >= m):
        return False
    available = available_memory()
    if solver == "auto" and available is not None and 24.0 * n * n > available:
        return False
    span = 0.5 * problem.pair_cost * m * n * n + n**3 / 3.0 + 2.0 * _LBFGS_STEPS * _DENSE * float(n) * n * k
    return solver == "dual" or span < 2.0 * _LBFGS_STEPS * float(m) * k * (n + _LBFGS_VECTORS)


def _minimized(
    problem: SummedProblem,
    loss: Loss,
    C: float,
    dtype: type[np.floating[Any]],
    start: Array | None,
    each_iteration: Report | None,
    *,
    max_iter: int,
    tolerance: float,
    conditioner: Conditioner | None = None,
) -> Solution:
    """Return the solution by L-BFGS."""
    n_weights = (problem.shape[1] + 1) * problem.n_targets
    remedy = "Lower n_components, or take loss='squared'."
    check_memory(
        "KernelClassifier",
        8.0 * _REMEMBERED * n_weights,
        f"the steps that L-BFGS remembers, of {n_weights:,} weights,",
        remedy,
    )
    goal = min(tolerance, _SMALL_TOLERANCE) if dtype is np.float64 else tolerance
    steps: dict[str, Any] = {"max_iter": max_iter, "goal": goal, "each_iteration": each_iteration}
    objective = Objective(problem, loss, C, dtype)
    return minimize(objective, start=start, tolerance=tolerance, conditioner=conditioner, **steps)


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


@dataclass(frozen=True)
class _Centered:
    """A design less a mean row: one mean (m, 1), or a mean a column of the operand; float32 will do for traces."""

    design: Design
    mean: Array

    def matmul(self, P: Array) -> Array:
        dtype = product_dtype(*self.design.shape)
        return self.design.matmul(np.ascontiguousarray(P, dtype=dtype)) - np.sum(self.mean * P, axis=0)

    def rmatmul(self, R: Array) -> Array:
        dtype = product_dtype(*self.design.shape)
        return self.design.rmatmul(np.ascontiguousarray(R, dtype=dtype)) - self.mean * R.sum(axis=0)


def left_out_ridge_scores(problem: Problem, places: Array, solution: RidgeSolution, unit: float | Array = 1.0) -> Array:
    """Return scores (n, k) on the side that predicts, each as if its row had been left out.

    f_i - g_i e_i / (1 - h_i), e_i the residual, h_i and g_i the leverages s (1/S + x_i' A^-1 x_i) and
    s (1/S + z_i' A^-1 x_i) of a row of weight s with the sides x and z, A = X'SX + alpha I of centered rows. They are
    exact for few rows, and for more where there are features enough to nearly pass through them. Else only their means
    are taken, which is generalized cross-validation.

    `problem` may hold some of the rows that the solution is of, at these places among them, and `unit` is the weight s
    of one, or of each.
    """
    exact = len(places) <= max(_EXACT_ROWS, min(problem.shape[1], _MOST_EXACT_ROWS))
    own, other, doubt = solution.leverages(problem, places, exact)
    # 1 - h is not trusted below two of its standard errors.
    rest = np.maximum(1.0 - unit * own, np.maximum(2.0 * unit * doubt, _LEAST_REST))
    seen = problem.train.matmul(solution.coef) + solution.intercept
    scores = seen if problem.predict is problem.train else problem.predict.matmul(solution.coef) + solution.intercept
    return scores - (unit * other / rest)[:, None] * (problem.targets - seen)


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

    traces = _traces(problem, np.sqrt(many) * random_signs(len(many), many.shape[1]), means, solve)
    own, other = (trace.reshape(repeats, -1) for trace in traces)
    count = float(problem.weights @ np.count_nonzero(curvature, axis=1))
    # Each row stands for 1 / share of them.
    return _shift(own, other, problem.fit_intercept, max(count, 1.0) / share)


def _penalty(pull: Array, coef: Array, alpha: float) -> Array:
    """Return alpha of each column: X'S e = alpha w at the minimum, and like a larger one where L-BFGS was stopped."""
    force, size = np.linalg.norm(pull, axis=0), np.linalg.norm(coef, axis=0)
    ratio = np.divide(force, size, out=np.full_like(force, alpha), where=size > 0)
    return np.maximum(alpha, ratio)


def _traces(problem: Problem, probes: Array, mean: Array, solve: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Return estimates of tr A^-1 X'SX, and of tr A^-1 X'SZ with the predicting side Z, one a column of probes.

    Probes are S^1/2 times signs: e' S^1/2 X A^-1 X' S^1/2 e is the first trace on average.
    """
    train = _Centered(problem.train, mean)
    solved = solve(train.rmatmul(probes))
    own = np.sum(probes * train.matmul(solved), axis=0)
    if problem.predict is problem.train:
        return own, own
    return own, np.sum(probes * _Centered(problem.predict, mean).matmul(solved), axis=0)


def _shift(own: Array, other: Array, fit_intercept: bool, count: float) -> float:
    """Return g / (1 - h) from traces (repeats, columns); 1 - h is not trusted below two of its standard errors."""
    base = own.shape[1] if fit_intercept else 0
    h, g = ((base + float(trace.mean(axis=0).sum())) / count for trace in (own, other))
    error = float(np.sqrt(np.sum(np.var(own, axis=0, ddof=1)) / len(own))) / count
    return g / max(1.0 - h, 2.0 * error, _LEAST_REST)


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
