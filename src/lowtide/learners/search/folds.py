"""Squared-loss fits of every fold and strength from one Gram matrix a fold."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.codes import Codes
from lowtide.learners.design import CodedDesign
from lowtide.learners.solvers import NormalEquations
from lowtide.learners.training import product_dtype

__all__ = ["FoldScores", "Split", "ridge_scores"]

Array = NDArray[Any]
Split = tuple[Array, Array]


@dataclass(frozen=True)
class FoldScores:
    """Scores and seconds of every strength (rows) on every fold (columns)."""

    test: Array
    fit_seconds: Array
    score_seconds: Array


def ridge_scores(
    codes: Codes,
    targets: Array,
    splits: list[Split],
    alphas: Array,
    fit_intercept: bool,
    score: Callable[[Array, Array], float],
) -> FoldScores:
    """Cross-validate min sum_i |t_i - D_i w - b|^2 + alpha |w|^2 over alphas.

    Where the test rows of the splits are a partition, as in k-fold, each row enters one fold's sums, a training set's
    are the total less its test fold's, and D is multiplied with itself once instead of k - 1 times.

    Parameters
    ----------
    codes : Codes (n, m)
    targets : ndarray (n, k)
    splits : list of (train rows, test rows)
    alphas : ndarray (a,)
    fit_intercept : bool
    score : callable
        Of decision values (n_test, k) and test rows.
    """
    shape = (len(alphas), len(splits))
    found = FoldScores(np.empty(shape), np.empty(shape), np.empty(shape))
    sums = _training_sums(codes, targets, splits)
    for i, (_, test) in enumerate(splits):
        start = time.perf_counter()
        coefs, intercepts = sums(i).solve_path(alphas, fit_intercept=fit_intercept)
        found.fit_seconds[:, i] = (time.perf_counter() - start) / len(alphas)
        start = time.perf_counter()
        # All strengths in one product: (m, a k).
        flat = np.ascontiguousarray(coefs.transpose(1, 0, 2)).reshape(coefs.shape[1], -1)
        decisions = (codes[test] @ flat).reshape(len(test), len(alphas), -1)
        for a, intercept in enumerate(intercepts):
            found.test[a, i] = score(decisions[:, a] + intercept, test)
        found.score_seconds[:, i] = (time.perf_counter() - start) / len(alphas)
    return found


def _training_sums(codes: Codes, targets: Array, splits: list[Split]) -> Callable[[int], NormalEquations]:
    """Return a function that gives the sums of one split's training rows."""
    dtype = product_dtype(*codes.shape)

    def sums_of(rows: Array) -> NormalEquations:
        sums = NormalEquations(codes.shape[1], targets.shape[1], dtype)
        sums.add(CodedDesign(codes[rows]), targets[rows], None)
        return sums

    if not _is_partition(splits, len(targets)):
        return lambda i: sums_of(splits[i][0])
    folds = [sums_of(test) for _, test in splits]
    total = NormalEquations(codes.shape[1], targets.shape[1], dtype)
    for fold in folds:
        total.merge(fold)
    return lambda i: total.without(folds[i])


def _is_partition(splits: list[Split], n: int) -> bool:
    """Whether every row is tested once, and each split trains on all the rows that it does not test."""
    tested = np.concatenate([test for _, test in splits])
    return len(tested) == n == len(np.unique(tested)) and all(len(train) + len(test) == n for train, test in splits)
