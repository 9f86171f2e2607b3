"""Scores of weights on test rows: from sums over the rows where the score is one, else from decision values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lowtide.learners.class_targets import largest
from lowtide.learners.classifier import KernelClassifier
from lowtide.learners.problem import Problem, SummedProblem
from lowtide.learners.regressor import KernelRegressor
from lowtide.learners.solvers import ErrorSum

__all__ = ["Accuracy", "Determination", "Scorer", "Scoring", "judge_of"]

Array = NDArray[Any]


class Scoring(Protocol):
    """A score of candidates on test rows."""

    def __call__(self, test: SummedProblem, rows: Array, coef: Array, intercept: Array) -> Array:
        """Return the scores (a,) of candidates with weights (m, a k) and intercepts (a, k); `rows` are the tested."""


@dataclass(frozen=True)
class Accuracy:
    """The share of rows whose label is the class of the largest score; flat in the number of rows."""

    classes: Array

    def __call__(self, test: SummedProblem, rows: Array, coef: Array, intercept: Array) -> Array:
        """Return the accuracies."""
        return np.asarray(test.sum(_right, coef, intercept, self.classes).total) / len(rows)


@dataclass(frozen=True)
class Determination:
    """R^2, the mean over targets; flat in the number of rows."""

    y: Array

    def __call__(self, test: SummedProblem, rows: Array, coef: Array, intercept: Array) -> Array:
        """Return R^2 of every candidate."""
        y = self.y[rows].reshape(len(rows), -1).astype(np.float64)
        error = np.asarray(test.sum(_squares, coef, intercept).total)
        spread = np.broadcast_to(np.sum((y - y.mean(axis=0)) ** 2, axis=0), error.shape)
        # As scikit-learn has it: of targets that are all the same nothing is explained, unless they are met.
        share = np.divide(error, spread, out=(error > 0).astype(np.float64), where=spread > 0)
        return np.asarray(np.mean(1.0 - share, axis=1))


@dataclass(frozen=True)
class Scorer:
    """A scorer of scikit-learn's, given decision values in place of rows."""

    judge: Any
    scorer: Any
    y: Array

    def __call__(self, test: SummedProblem, rows: Array, coef: Array, intercept: Array) -> Array:
        """Return what the scorer gives every candidate."""
        decisions = test.scores(coef, intercept.ravel()).reshape(len(rows), *intercept.shape)
        found = [self.scorer(self.judge, decisions[:, a], self.y[rows]) for a in range(len(intercept))]
        return np.array(found, dtype=np.float64)


def judge_of(model: Any) -> Any:
    """Return a model that takes decision values for rows."""
    judge = object.__new__(_GivenClassifier if isinstance(model, KernelClassifier) else _GivenRegressor)
    judge.__dict__.update(model.__dict__)
    return judge


class _GivenClassifier(KernelClassifier):
    """A classifier whose rows are decision values that are there already."""

    def _scores(self, X: Any, only_ahead: bool = False) -> Array:
        return np.asarray(X)


class _GivenRegressor(KernelRegressor):
    """A regressor whose rows are predictions that are there already."""

    def _scores(self, X: Any, only_ahead: bool = False) -> Array:
        return np.asarray(X)


def _decisions(part: Problem, coef: Array, intercept: Array) -> Array:
    """Return decision values (a, n, k)."""
    scores = part.predict.matmul(coef).reshape(part.shape[0], *intercept.shape)
    return np.moveaxis(scores + intercept, 1, 0)


def _right(part: Problem, coef: Array, intercept: Array, classes: Array) -> ErrorSum:
    """Return how many rows each candidate gets right."""
    right = [np.count_nonzero(classes[largest(each)] == part.labels) for each in _decisions(part, coef, intercept)]
    return ErrorSum(np.array(right, dtype=np.float64))


def _squares(part: Problem, coef: Array, intercept: Array) -> ErrorSum:
    """Return the squared errors of each candidate and target, (a, k)."""
    residual = _decisions(part, coef, intercept) - part.labels.reshape(part.shape[0], -1)
    return ErrorSum(np.sum(residual**2, axis=1))
