"""From a problem to weights: solutions, how strongly to regularize them, and what rows left out would have scored."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from lowtide._checks import available_memory, check_memory, fail
from lowtide.learners.calibration import CalibrationRows
from lowtide.learners.cholesky import suitable_threads
from lowtide.learners.design import Design, FullDesign
from lowtide.learners.dual import (
    Conditioner,
    DualSystem,
    IterativeSystem,
    Landmarks,
    RowSpan,
    dense_design,
    weight_sums,
)
from lowtide.learners.hinge import FIRST_WIDTH, NewtonSteps
from lowtide.learners.losses import Hinge, Loss, RoundedHinge
from lowtide.learners.problem import Problem, SummedProblem
from lowtide.learners.ridge import (
    FORMS,
    Form,
    NormalEquations,
    RidgeSolution,
    product_dtype,
)
from lowtide.learners.smooth import Objective, Report, Solution, choose_inverse_strength, minimize
from lowtide.learners.strength import Walk, choose_strength, is_usual_weight

__all__ = ["FORMS", "RidgeFit", "fit_smooth"]

Array = NDArray[Any]
# Losses (n, q) of left-out scores (n, k) of rows, which come second; the first decides.
Judge = Callable[[Array, Problem], Array]
# Solutions by their alpha, and rows that judge them.
Candidates = tuple[Callable[[float], RidgeSolution], CalibrationRows]

_SMALL_TOLERANCE = 1e-10
# The relative duality gap of small problems. First steps of a hinge, with their tolerance; the error of scores that a
# step on a corner may have, over its width; and the order of a matrix that is always solved in float64.
_SMALL_GAP = 1e-8
_FIRST_STEPS, _FIRST_TOLERANCE = 60, 1e-3
_PART_OF_WIDTH, _SMALL_ORDER = 0.01, 8192
# Rows of a preconditioner: more make fewer steps, and a matrix of them that is longer in the making.
_LEAST_LANDMARKS, _MOST_LANDMARKS = 2048, 8192
# Steps of conjugate gradients to expect; each passes over all codes twice.
_EXPECTED_STEPS = 40
# Below it products in float32 cannot be told from noise.
_FLOAT32_TOLERANCE = 1e-6
# What to expect of L-BFGS, and what it does to vectors in a step; what an entry of floats costs in a product over one
# of codes, which are less to be read.
_LBFGS_STEPS, _LBFGS_VECTORS = 60.0, 20.0
_DENSE = 4.0
# Vectors of the length of the weights that L-BFGS has at the most.
_REMEMBERED = 30
# Rows that condition a smooth loss: their eigenvectors take half a second; and products that are worth it.
_CONDITIONING_ROWS = 1024
_MANY_PRODUCTS = 1 << 27
# Rows that choose how strongly to regularize, by exact leverages: twice as many choose no better. Of more rows than
# that a dual is tried on these alone.
_JUDGED_ROWS = 2048
# From here on the strength is chosen on half of the columns.
_MANY_COLUMNS = 4096


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
    is_quiet : bool
        Whether nothing is said of steps that ended too soon.
    """

    owner: str
    solver: str
    tolerance: float
    max_iter: int
    first: float
    judge: Judge
    is_quiet: bool = False

    def __call__(
        self, problem: SummedProblem, alpha: float | Literal["auto"], sample: Callable[[], CalibrationRows]
    ) -> tuple[RidgeSolution, float, Walk | None]:
        """Return the solution and alpha of min sum_i s_i |t_i - f_i|^2 + alpha |w|^2, and how alpha was chosen.

        `sample` gives some of the rows, in memory, where they are needed.
        """
        is_small = self.tolerance <= _FLOAT32_TOLERANCE or product_dtype(*problem.shape) is np.float64
        kind: type[np.floating[Any]] = np.float64 if is_small else np.float32
        form = self._form(problem, kind)
        tried: Candidates | None = None
        solve: Callable[[float], RidgeSolution]
        if form == "dual":
            # Few rows that are elsewhere are all in the sample.
            system = DualSystem.of(cast(Problem, problem) if problem.is_whole else sample().rows, is_small)
            solve = partial(system.solve, exact=is_small)
        elif form == "primal":
            # Rounding of float32 would add up over parts.
            sums = NormalEquations.summed(problem, kind if problem.is_whole else np.float64)
            solve = partial(sums.solve, fit_intercept=problem.fit_intercept, problem=problem)
            if alpha == "auto" and problem.shape[1] >= _MANY_COLUMNS:
                tried = _on_half_of_the_columns(sums, sample().first(_JUDGED_ROWS))
        else:
            landmarks = sample().rows.take(slice(n_landmarks(problem.shape[0])))
            steps = IterativeSystem(problem, landmarks, kind, self.tolerance, self.max_iter)
            solve = steps.solve
        if alpha != "auto":
            return self._told(solve(alpha)), alpha, None
        few = sample().first(_JUDGED_ROWS)
        if form != "primal" and len(sample().keys) > _JUDGED_ROWS:
            # Rows enough for the choice have a kernel matrix that is soon factorized, on all columns.
            few = replace(few, places=np.arange(len(few.places)))
            tried = DualSystem.of(few.rows, exact=False).solve, few
        return self._chosen(tried or (solve, few), solve)

    def _form(self, problem: SummedProblem, kind: type[np.floating[Any]]) -> Form:
        """Return the form that was asked for, or the cheapest."""
        if self.solver == "dual" and not is_dual_possible(problem):
            remedy = "Take 'iterative', or load the rows as Codes."
            raise fail(self.owner, "solver must not be 'dual' for many rows that are not in memory", "dual", remedy)
        allowed = FORMS if self.solver == "auto" else (cast(Form, self.solver),)
        return choose_form(self.owner, problem, kind, problem.n_targets + 2, allowed)

    def _told(self, solution: RidgeSolution) -> RidgeSolution:
        """Return the solution, and warn when it is not one yet."""
        if not solution.is_converged and not self.is_quiet:
            where = f"max_iter={self.max_iter}" if solution.n_iter >= self.max_iter else "what rounding allows"
            change = "Raise max_iter, tol or the regularization."
            text = f"Conjugate gradients stopped at {where} before the error fell below tol={self.tolerance}. {change}"
            warnings.warn(text, ConvergenceWarning, stacklevel=6)  # the caller of fit, past scikit-learn's wrapper
        return solution

    def _chosen(
        self, tried: Candidates, solve: Callable[[float], RidgeSolution]
    ) -> tuple[RidgeSolution, float, Walk | None]:
        """Return the solution and the alpha of clearly least left-out loss; candidates may have a solver of their own.

        A row is left out with all its weight, and equal rows together: repeated ones choose as one of their weight.
        """
        candidate, few = tried
        judged, size = few.rows, few.rows.total_weight / float(few.counts.sum())
        # The scale of weights near 1 is left to those who count rows by them; of others it is that of the penalty too.
        first = self.first * (1.0 if is_usual_weight(size) else size)
        last: list[tuple[float, RidgeSolution]] = []

        def left_out(alpha: float) -> Array:
            last.clear()  # before there is another factor
            last.append((alpha, candidate(alpha)))
            return last[0][1].left_out(judged, few.places, judged.weights, exact=True)

        def judge(scores: Array) -> Array:
            with suitable_threads(1):
                return self.judge(scores, judged)

        share = judged.weights * (len(judged.weights) / judged.total_weight)
        walk = choose_strength(left_out, judge, share, first)
        is_last = candidate is solve and last[0][0] == walk.chosen
        return last[0][1] if is_last else self._told(solve(walk.chosen)), walk.chosen, walk


def _on_half_of_the_columns(sums: NormalEquations, few: CalibrationRows) -> Candidates:
    """Return candidates on every second pair of columns, scaled by sqrt 2, and rows on the same.

    The same kernel from half as many features, so alpha means the same, and a factorization costs an eighth.
    """
    # A cosine stays with its sine.
    columns = np.flatnonzero(np.arange(len(sums.row_sum)) // 2 % 2 == 0)
    scale = float(np.sqrt(len(sums.row_sum) / len(columns)))

    def part(design: Design) -> FullDesign:
        return dense_design(np.ascontiguousarray(design.dense()[:, columns]) * np.float32(scale))

    train = predict = part(few.rows.train)
    if few.rows.predict is not few.rows.train:
        predict = part(few.rows.predict)
    half = sums.columns(columns, scale)
    rows = replace(few, rows=replace(few.rows, train=train, predict=predict))
    return partial(half.solve, fit_intercept=few.rows.fit_intercept), rows


@dataclass(frozen=True)
class SmoothFit:
    """A fit of a smooth loss: the solution, C, its form, and the span of the rows where it was made there.

    `steps` and `measure` name, for messages, how it was found and what is to fall below the tolerance.
    """

    solution: Solution
    C: float
    form: Form
    steps: str = "L-BFGS"
    measure: str = "the gradient"
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
    if isinstance(loss, Hinge):
        return _fit_hinge(problem, C, rng, solver, start, each_iteration, **limits)
    if solver == "dual" and not problem.is_whole:
        remedy = "Take 'iterative', or load the rows as Codes."
        raise fail("KernelClassifier", "solver must not be 'dual' for rows that are not in memory", "dual", remedy)
    if _is_span_cheaper(problem, solver):
        return _fit_in_span(cast(Problem, problem), loss, C, rng, dtype, start, each_iteration, limits)
    if C == "auto":
        C, start = choose_inverse_strength(problem.weighted_rows(), loss, rng, start, **limits)
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
            C, first = choose_inverse_strength(span.problem, loss, rng, first, **limits)
        found = _minimized(span.problem, loss, C, dtype, first, report, **limits)
    return SmoothFit(replace(found, coef=span.coef(found.coef)), C, "dual", span=span, inner=found.coef)


def _fit_hinge(
    problem: SummedProblem,
    C: float | Literal["auto"],
    rng: np.random.Generator,
    solver: str,
    start: Array | None,
    each_iteration: Report | None,
    *,
    max_iter: int,
    tolerance: float,
) -> SmoothFit:
    """Return the solution of the hinge: some steps of L-BFGS on a wide corner, then Newton's to a relative gap.

    A step's least squares take any form, of the rows in the corner alone.
    """
    dtype, rounded = product_dtype(*problem.shape), RoundedHinge(FIRST_WIDTH)
    is_small = dtype is np.float64
    if C == "auto":
        C, start = choose_inverse_strength(problem.weighted_rows(), rounded, rng, start, max_iter, _FIRST_TOLERANCE)
    first = minimize(
        Objective(problem, rounded, C, dtype),
        start=start,
        max_iter=min(max_iter, _FIRST_STEPS),
        tolerance=_FIRST_TOLERANCE,
        each_iteration=each_iteration,
    )
    fit, forms = RidgeFit("KernelClassifier", solver, tolerance, max_iter, 1.0, lambda scores, _: scores, True), []

    def ridge(rows: Problem, alpha: float) -> RidgeSolution:
        # An error of a score is one of its slope, times one over the width. A small matrix is soon solved in float64.
        most = _FLOAT32_TOLERANCE if min(rows.shape) <= _SMALL_ORDER else _FIRST_TOLERANCE
        needed = float(np.clip(_PART_OF_WIDTH * C * alpha, _SMALL_TOLERANCE, most))
        found, *_ = replace(fit, tolerance=needed)(rows, alpha, lambda: CalibrationRows.of(rows))
        forms.append(found.form)
        return found

    newton = NewtonSteps(problem, C, ridge, min(tolerance, _SMALL_GAP) if is_small else tolerance, is_small)
    stacked = np.vstack([first.coef, first.intercept])
    solution, gap = newton.solve(stacked, max_iter - first.n_iter, each_iteration)
    solution = replace(solution, n_iter=first.n_iter + solution.n_iter, converged=bool(np.all(gap <= tolerance)))
    form: Form = forms[-1] if forms else "primal"
    return SmoothFit(solution, C, form, "Newton's method", "the relative duality gap")


def _is_steep(problem: SummedProblem, loss: Loss, C: float) -> bool:
    """Whether the loss curves as a square does, and so much more than the penalty, that landmarks save time.

    A logistic loss takes a quarter of the steps less, and no less time.
    """
    (n, m), curvature = problem.shape, _curvature(loss, problem.n_targets)
    return curvature >= 1.0 and C * curvature >= 1.0 and n * m * problem.n_targets >= _MANY_PRODUCTS


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
    # Small fits are soon done either way, and on features weights act as repeated rows do, step by step.
    too_small = n >= m or product_dtype(n, m) is np.float64
    if solver in ("primal", "iterative") or not problem.is_whole or (solver == "auto" and too_small):
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


def choose_form(
    owner: str,
    problem: SummedProblem,
    dtype: type[np.floating[Any]],
    n_columns: int,
    allowed: tuple[Form, ...] = FORMS,
) -> Form:
    """Return the form of least cost among those that are allowed and that memory allows, for columns of weights.

    Costs count multiplications with additions, at the speed of a product of matrices: a pair of entries of a Gram or
    kernel matrix costs `pair_cost`, an entry of the codes a column in a product with weights costs 1. They are the same
    on every machine, so that the choice is. Needs are bytes beside the codes at the peak, with C="auto".
    """
    (n, m), pair = problem.shape, problem.pair_cost
    landmarks, size = n_landmarks(n), np.dtype(dtype).itemsize
    product = float(n) * m * n_columns
    costs: dict[Form, float] = {
        "primal": 0.5 * pair * n * m * m + m**3 / 6.0,
        "dual": 0.5 * pair * m * n * n + n**3 / 6.0 + product,
        "iterative": _EXPECTED_STEPS * 2.0 * product + 0.5 * pair * m * landmarks**2 + landmarks**3 / 6.0,
    }
    needs: dict[Form, float] = {
        # Sums and a factor; a part's sums and the factor in float64 where there are parts.
        "primal": 3.0 * m * m * (size if problem.is_whole else 8.0),
        "dual": n * n * (8.0 + 2.0 * size) + 24.0 * m * n_columns,
        "iterative": 2.0 * landmarks**2 * size + 8.0 * n_columns * (8.0 * m + 3.0 * n),
    }
    possible = [form for form in allowed if form != "dual" or is_dual_possible(problem)]
    available = available_memory()
    fitting = [form for form in possible if available is None or needs[form] <= available]
    if not fitting:
        least = min(possible, key=needs.__getitem__)
        what = f"matrices of the {least} form for {n:,} rows by {m:,} features"
        check_memory(owner, needs[least], what, "Lower n_components, or fit fewer rows.")
        return least
    return min(fitting, key=costs.__getitem__)


def is_dual_possible(problem: SummedProblem) -> bool:
    """Whether all rows are in memory, or few enough to be brought there."""
    return problem.is_whole or problem.shape[0] <= _MOST_LANDMARKS


def n_landmarks(n: int) -> int:
    """Return how many rows precondition conjugate gradients: all of a few, or else an eighth, within limits."""
    return min(n, max(_LEAST_LANDMARKS, n // 8), _MOST_LANDMARKS)
