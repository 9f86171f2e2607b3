"""Scores of candidates over the folds, from shared sums where the loss allows it, else by fitting each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from lowtide.codes import Codes
from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.machine import KernelMachine
from lowtide.learners.problem import SummedProblem
from lowtide.learners.regressor import KernelRegressor, as_columns
from lowtide.learners.search.folds import FoldScores, Split, ridge_scores
from lowtide.learners.search.scoring import Accuracy, Determination, Scorer, Scoring, judge_of

__all__ = ["GivenProblem", "evaluator"]

Array = NDArray[Any]
Evaluate = Callable[[SummedProblem, Codes], FoldScores]


@dataclass(frozen=True)
class GivenProblem:
    """A problem that is there already, for a model to fit on."""

    no_codes: Codes
    given: Any
    encoder: Any = None

    def all_labels(self) -> Array:
        """Return the labels of all rows."""
        return np.asarray(self.given.labels)

    def problem(self, fit_intercept: bool, **checks: Any) -> SummedProblem:
        """Return the problem with or without intercept; its labels have been checked."""
        return replace(self.given, fit_intercept=fit_intercept)


def evaluator(
    model: KernelMachine, choices: list[dict[str, Any]], y: Array, splits: list[Split], scorer: Any
) -> Evaluate:
    """Return a function of a problem, and of zero rows of its codes, that scores every choice on every fold.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor, not fitted
    choices : list of dict
        Parameters of the model to try.
    y : ndarray (n,) or (n, n_targets), the labels of the problem
    splits : list of (train rows, test rows)
    scorer : callable or None
        As scikit-learn's; None for accuracy or R^2.
    """
    alphas = _strengths(model, choices)
    if alphas is None or not _needs_decisions_only(scorer):
        return lambda problem, no_codes: _fitted_scores(model, choices, problem, no_codes, y, splits, scorer)
    ridge: Any = clone(model)
    ridge._flat = y.ndim == 1
    if is_classifier(model):
        ridge.classes_ = np.unique(y)
        ridge._check_classes()

    def evaluate(problem: SummedProblem, no_codes: Codes) -> FoldScores:
        given = GivenProblem(no_codes, problem).problem(ridge.fit_intercept)
        scoring: Scoring = Determination(y)
        if is_classifier(model):
            given, scoring = ridge._with_targets(given, None), Accuracy(np.arange(len(ridge.classes_)))
        else:
            given = given.relabel(as_columns)
        return ridge_scores(given, splits, alphas, scoring if scorer is None else Scorer(judge_of(ridge), scorer, y))

    return evaluate


def _strengths(model: Any, choices: list[dict[str, Any]]) -> Array | None:
    """Return alpha of each choice when they differ in nothing else and the loss is squared, else None."""
    name = "C" if isinstance(model, KernelClassifier) else "alpha"
    if type(model) not in (KernelClassifier, KernelRegressor) or any(set(choice) - {name} for choice in choices):
        return None
    if getattr(model, "loss", "squared") != "squared" or getattr(model, "class_weight", None) is not None:
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
    if scorer is None:
        return True
    methods = getattr(scorer, "_response_method", None)
    first = methods[0] if isinstance(methods, (tuple, list)) and methods else methods
    return first in ("predict", "decision_function")


def _fitted_scores(
    model: Any,
    choices: list[dict[str, Any]],
    problem: SummedProblem,
    no_codes: Codes,
    y: Array,
    splits: list[Split],
    scorer: Any,
) -> FoldScores:
    """Fit and score every choice on every fold."""
    shape = (len(choices), len(splits))
    found = FoldScores(np.empty(shape), np.empty(shape), np.empty(shape))
    for i, (train, test) in enumerate(splits):
        seen, unseen = GivenProblem(no_codes, problem.take(train)), problem.take(test)
        for c, choice in enumerate(choices):
            start = time.perf_counter()
            fitted = clone(model).set_params(**choice).fit(seen)
            middle = time.perf_counter()
            found.test[c, i] = _score(fitted, unseen, test, y, scorer)
            found.fit_seconds[c, i], found.score_seconds[c, i] = middle - start, time.perf_counter() - middle
    return found


def _score(fitted: Any, test: SummedProblem, rows: Array, y: Array, scorer: Any) -> float:
    """Return the score of a fitted model; a scorer that says nothing of what it wants gets the rows themselves."""
    if scorer is not None and getattr(scorer, "_response_method", None) is None:
        return float(scorer(fitted, test.codes, y[rows]))
    default = Accuracy(fitted.classes_) if is_classifier(fitted) else Determination(y)
    scoring: Scoring = default if scorer is None else Scorer(judge_of(fitted), scorer, y)
    return float(scoring(test, rows, fitted._weights, fitted.intercept_[None])[0])
