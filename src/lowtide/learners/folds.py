"""Scores of candidates over folds: from shared sums where the loss allows it, else by fitting each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import Tags, get_tags

from lowtide.cancel import Threads
from lowtide.codes import Codes
from lowtide.learners.cholesky import blas_threads, linear_algebra
from lowtide.learners.classes import ClassIndex, check_classes
from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.decision import Decision
from lowtide.learners.losses import LOSSES
from lowtide.learners.problem import Problem, SummedProblem, as_columns
from lowtide.learners.regressor import KernelRegressor
from lowtide.learners.ridge import ErrorSum, NormalEquations
from lowtide.learners.rules import ArgMax, Rule, Values

Array = NDArray[Any]
Split = tuple[Array, Array]
# Scores, seconds of the fit and seconds of scoring, of every choice on every fold: (3, n_choices, n_folds).
Evaluate = Callable[[SummedProblem, Codes], Array]
# Scores (a,) of candidates with weights (m, a k) and intercepts (a, k) on test rows, whose positions come second.
Scoring = Callable[[SummedProblem, Array, Array, Array], Array]

# Up to here sums and factors are float64. Beyond they are float32, half the time, and a score may differ from that of a
# single fit by a row in some thousand.
_EXACT_FEATURES = 512


@dataclass(frozen=True)
class GivenProblem:
    """A problem that is there already, for a model to fit on."""

    template: Codes
    given: Any
    encoder: Any = None
    choice: Any = None

    def all_labels(self) -> Array:
        """Return the labels of all rows."""
        return np.asarray(self.given.labels)

    def problem(self, fit_intercept: bool, **checks: Any) -> SummedProblem:
        """Return the problem with or without intercept; its labels have been checked."""
        return replace(self.given, fit_intercept=fit_intercept)


def evaluator(model: Any, choices: list[dict[str, Any]], y: Array, splits: list[Split], scorer: Any) -> Evaluate:
    """Return a function of a problem, and of the template of its codes, that scores every choice on every fold.

    `choices` are parameters of the model to try, y the labels of the problem; scorer None is accuracy or R^2.
    """
    alphas = _strengths(model, choices)
    if alphas is None or not _needs_decisions_only(scorer):
        return lambda problem, template: _fitted_scores(model, choices, problem, template, y, splits, scorer)
    classes = np.unique(y) if is_classifier(model) else None
    if classes is not None:
        check_classes("KernelClassifier", classes)

    def evaluate(problem: SummedProblem, template: Codes) -> Array:
        given = GivenProblem(template, problem).problem(model.fit_intercept)
        if classes is not None:
            targets = LOSSES.resolve(model.loss).targets(len(classes))
            given = given.relabel(ClassIndex(classes), targets)
            scoring: Scoring = _accuracy(np.arange(len(classes)), ArgMax())
        else:
            given, scoring = given.relabel(as_columns), _determination(y)
        if scorer is not None:
            # Only its rule is asked: the scores come from the candidates.
            none = np.zeros((template.shape[1], given.n_targets)), np.zeros(given.n_targets)
            rule = Values(y.ndim == 1) if classes is None else ArgMax()
            scoring = _by_scorer(model, Decision(None, template, "codes", *none, rule, classes), scorer, y)
        return ridge_scores(given, splits, alphas, scoring)

    return evaluate


def _strengths(model: Any, choices: list[dict[str, Any]]) -> Array | None:
    """Return alpha of each choice when they differ in nothing else and the loss is squared, else None."""
    name = "C" if isinstance(model, KernelClassifier) else "alpha"
    if type(model) not in (KernelClassifier, KernelRegressor) or any(set(choice) - {name} for choice in choices):
        return None
    if name == "C":
        is_given = model.loss != "auto" and model.multi_class == "ovr"
        is_ridge = is_given and LOSSES.resolve(model.loss).has_normal_equations
        if model.class_weight is not None or not is_ridge:
            return None
    values = [choice.get(name, getattr(model, name)) for choice in choices]
    if any(isinstance(value, str) for value in values):
        return None
    for value in values:
        clone(model).set_params(**{name: value})._check_parameters()
    strengths = np.asarray(values, dtype=np.float64)
    return 0.5 / strengths if name == "C" else strengths


def _needs_decisions_only(scorer: Any) -> bool:
    """Whether predictions or decision values are all that a scorer asks for; of another's own nobody knows."""
    methods = "predict" if scorer is None else getattr(scorer, "_response_method", None)
    first = methods[0] if isinstance(methods, (tuple, list)) and methods else methods
    return first in ("predict", "decision_function")


def _fitted_scores(
    model: Any,
    choices: list[dict[str, Any]],
    problem: SummedProblem,
    template: Codes,
    y: Array,
    splits: list[Split],
    scorer: Any,
) -> Array:
    """Fit and score every choice on every fold."""
    found = np.empty((3, len(choices), len(splits)))
    for i, (train, test) in enumerate(splits):
        seen, unseen = GivenProblem(template, problem.take(train)), problem.take(test)
        for c, choice in enumerate(choices):
            start = time.perf_counter()
            fitted = clone(model).set_params(**choice).fit(seen)
            middle = time.perf_counter()
            score = _score(fitted, unseen, test, y, scorer)
            found[:, c, i] = score, middle - start, time.perf_counter() - middle
    return found


def _score(fitted: Any, test: SummedProblem, rows: Array, y: Array, scorer: Any) -> float:
    """Return the score of a fitted model; a scorer that says nothing of what it wants gets the rows themselves."""
    if scorer is not None and getattr(scorer, "_response_method", None) is None:
        return float(scorer(fitted, test.codes, y[rows]))
    default = _accuracy(fitted.classes_, fitted.decision_.rule) if is_classifier(fitted) else _determination(y)
    scoring = default if scorer is None else _by_scorer(fitted, fitted.decision_, scorer, y)
    return float(scoring(test, rows, fitted.decision_.weights, fitted.intercept_[None])[0])


def ridge_scores(problem: SummedProblem, splits: list[Split], alphas: Array, scoring: Scoring) -> Array:
    """Cross-validate min sum_i |t_i - D_i w - b|^2 + alpha |w|^2 over alphas.

    Where the test rows of the splits are a partition, as in k-fold, each row enters one fold's sums, a training set's
    are the total less its test fold's, and D is multiplied with itself once instead of k - 1 times.
    """
    shape = (len(alphas), len(splits))
    test_scores, fit_seconds, score_seconds = found = np.empty((3, *shape))
    start = time.perf_counter()
    systems = [sums.centered(fit_intercept=problem.fit_intercept) for sums in _training_sums(problem, splits)]
    shared = (time.perf_counter() - start) / test_scores.size

    def solve(a: int, i: int) -> tuple[Array, Array]:
        begin = time.perf_counter()
        solution = systems[i].solve(float(alphas[a]))
        fit_seconds[a, i] = shared + time.perf_counter() - begin
        return solution

    solutions = _side_by_side(solve, problem.shape[1], *np.indices(shape).reshape(2, -1).tolist())
    for i, (_, test) in enumerate(splits):
        start = time.perf_counter()
        coefs, intercepts = zip(*solutions[i :: len(splits)])
        # All strengths in one product: (m, a k).
        test_scores[:, i] = scoring(problem.take(test), test, np.hstack(coefs), np.stack(intercepts))
        score_seconds[:, i] = (time.perf_counter() - start) / len(alphas)
    return found


def _side_by_side(task: Callable[..., Any], n_features: int, *arguments: list[int]) -> list[Any]:
    """Run factorizations on as many threads as BLAS has, each with one thread of BLAS.

    Split over threads a factorization waits for them a hundred times; whole ones side by side never. Those of a few
    hundred columns are over before a thread has started.
    """
    n_threads = blas_threads()
    with linear_algebra().limit(limits=1):
        if n_threads == 1 or n_features <= _EXACT_FEATURES:
            return list(map(task, *arguments))
        with Threads(n_threads) as pool:
            return list(pool.map(task, *arguments))


def _training_sums(problem: SummedProblem, splits: list[Split]) -> Iterator[NormalEquations]:
    """Yield the sums of each split's training rows."""
    dtype = np.float64 if problem.shape[1] <= _EXACT_FEATURES else np.float32

    def sums_of(rows: Array) -> NormalEquations:
        return NormalEquations.summed(problem.take(rows), dtype)

    if not _is_partition(splits, problem.shape[0]):
        yield from (sums_of(train) for train, _ in splits)
        return
    folds = [sums_of(test) for _, test in splits]
    total = deepcopy(folds[0])
    for fold in folds[1:]:
        total.merge(fold)
    while folds:
        rest = deepcopy(total)
        rest.remove(folds.pop(0))
        yield rest


def _is_partition(splits: list[Split], n: int) -> bool:
    """Whether every row is tested once, and each split trains on all the rows that it does not test."""
    tested = np.concatenate([test for _, test in splits])
    if not len(tested) == n == len(np.unique(tested)):
        return False
    return all(len(train) + len(test) == n == len(np.union1d(train, test)) for train, test in splits)


def _accuracy(classes: Array, rule: Rule) -> Scoring:
    """Return the share of rows whose label is the class that a rule predicts; flat in the number of rows."""

    def score(test: SummedProblem, rows: Array, coef: Array, intercept: Array) -> Array:
        return np.asarray(test.sum(_right, coef, intercept, classes, rule).total) / len(rows)

    return score


def _determination(y: Array) -> Scoring:
    """Return R^2, the mean over targets; flat in the number of rows."""

    def score(test: SummedProblem, rows: Array, coef: Array, intercept: Array) -> Array:
        values = y[rows].reshape(len(rows), -1).astype(np.float64)
        error = np.asarray(test.sum(_squares, coef, intercept).total)
        spread = np.broadcast_to(np.sum((values - values.mean(axis=0)) ** 2, axis=0), error.shape)
        # As scikit-learn has it: of targets that are all the same nothing is explained, unless they are met.
        share = np.divide(error, spread, out=(error > 0).astype(np.float64), where=spread > 0)
        return np.asarray(np.mean(1.0 - share, axis=1))

    return score


def _by_scorer(model: Any, decision: Decision, scorer: Any, y: Array) -> Scoring:
    """Return a scorer of scikit-learn's, which is given decision values in place of rows."""
    judge = _Judge(model, decision)

    def score(test: SummedProblem, rows: Array, coef: Array, intercept: Array) -> Array:
        decisions = test.scores(coef, intercept.ravel()).reshape(len(rows), *intercept.shape)
        return np.array([scorer(judge, decisions[:, a], y[rows]) for a in range(len(intercept))], dtype=np.float64)

    return score


class _Judge(BaseEstimator):
    """A fitted model to scikit-learn's scorers, that takes scores of rows for the rows."""

    def __init__(self, model: Any, decision: Decision) -> None:
        self.model = model
        self.decision = decision

    def predict(self, scores: Array) -> Array:
        return self.decision.answer("predictions", scores)

    def decision_function(self, scores: Array) -> Array:
        return self.decision.answer("scores", scores)

    def predict_proba(self, scores: Array) -> Array:
        return self.decision.answer("probabilities", scores)

    @property
    def classes_(self) -> Array | None:
        return self.decision.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self.model)


def _decisions(part: Problem, coef: Array, intercept: Array) -> Array:
    """Return decision values (a, n, k)."""
    scores = part.predict.matmul(coef).reshape(part.shape[0], *intercept.shape)
    return np.moveaxis(scores + intercept, 1, 0)


def _right(part: Problem, coef: Array, intercept: Array, classes: Array, rule: Rule) -> ErrorSum:
    """Return how many rows each candidate gets right."""
    guesses = (rule.predictions(each, classes) for each in _decisions(part, coef, intercept))
    right = [np.count_nonzero(each == part.labels) for each in guesses]
    return ErrorSum(np.array(right, dtype=np.float64))


def _squares(part: Problem, coef: Array, intercept: Array) -> ErrorSum:
    """Return the squared errors of each candidate and target, (a, k)."""
    residual = _decisions(part, coef, intercept) - part.labels.reshape(part.shape[0], -1)
    return ErrorSum(np.sum(residual**2, axis=1))
