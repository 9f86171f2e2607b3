"""Scores of candidates over the folds, from shared sums where the loss allows it, else by fitting each."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import r2_score

from lowtide.codes import Codes
from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.machine import KernelMachine
from lowtide.learners.regressor import KernelRegressor
from lowtide.learners.search.folds import FoldScores, Split, ridge_scores

__all__ = ["evaluator"]

Array = NDArray[Any]
Evaluate = Callable[[Codes], FoldScores]


def evaluator(
    model: KernelMachine, choices: list[dict[str, Any]], y: Array, splits: list[Split], scorer: Any
) -> Evaluate:
    """Return a function of codes that scores every choice of parameters on every fold.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor, not fitted
    choices : list of dict
        Parameters of the model to try.
    y : ndarray (n,) or (n, n_targets)
    splits : list of (train rows, test rows)
    scorer : callable or None
        As scikit-learn's; None for accuracy or R^2.
    """
    alphas = _strengths(model, choices)
    if alphas is None or not _needs_decisions_only(scorer):
        return lambda codes: _fitted_scores(model, choices, codes, y, splits, scorer)
    if is_classifier(model):
        targets, score = _classification(model, y, scorer)
    else:
        targets, score = _regression(model, y, scorer)
    return lambda codes: ridge_scores(codes, targets, splits, alphas, model.fit_intercept, score)


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


def _classification(model: Any, y: Array, scorer: Any) -> tuple[Array, Callable[[Array, Array], float]]:
    """Return targets of -1 and 1, and the score of decision values on rows."""
    judge = _GivenClassifier(**model.get_params(deep=False))
    judge.classes_, index = np.unique(y, return_inverse=True)

    def accuracy(decisions: Array, rows: Array) -> float:
        best = decisions[:, 0] > 0 if decisions.shape[1] == 1 else np.argmax(decisions, axis=1)
        return float(np.mean(best == index[rows]))

    def scored(decisions: Array, rows: Array) -> float:
        return float(scorer(judge, decisions, y[rows]))

    return judge._targets(index), accuracy if scorer is None else scored


def _regression(model: Any, y: Array, scorer: Any) -> tuple[Array, Callable[[Array, Array], float]]:
    """Return targets in columns, and the score of predictions on rows."""
    judge = _GivenRegressor(**model.get_params(deep=False))
    judge._flat = y.ndim == 1

    def score(decisions: Array, rows: Array) -> float:
        if scorer is not None:
            return float(scorer(judge, decisions, y[rows]))
        return float(r2_score(y[rows], judge.predict(decisions)))

    return y.reshape(len(y), -1).astype(np.float64), score


class _GivenClassifier(KernelClassifier):
    """A classifier whose rows are decision values that are there already."""

    def _scores(self, X: Any) -> Array:
        return np.asarray(X)


class _GivenRegressor(KernelRegressor):
    """A regressor whose rows are predictions that are there already."""

    def _scores(self, X: Any) -> Array:
        return np.asarray(X)


def _fitted_scores(
    model: Any, choices: list[dict[str, Any]], codes: Codes, y: Array, splits: list[Split], scorer: Any
) -> FoldScores:
    """Fit and score every choice on every fold."""
    shape = (len(choices), len(splits))
    found = FoldScores(np.empty(shape), np.empty(shape), np.empty(shape))
    for i, (train, test) in enumerate(splits):
        for c, choice in enumerate(choices):
            start = time.perf_counter()
            fitted = clone(model).set_params(**choice).fit(codes[train], y[train])
            middle = time.perf_counter()
            rows = codes[test], y[test]
            found.test[c, i] = fitted.score(*rows) if scorer is None else scorer(fitted, *rows)
            found.fit_seconds[c, i], found.score_seconds[c, i] = middle - start, time.perf_counter() - middle
    return found
