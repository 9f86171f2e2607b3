"""Squared-loss fits of every fold and strength from one Gram matrix a fold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from lowtide.learners.problem import SummedProblem
from lowtide.learners.search.scoring import Scoring
from lowtide.learners.solvers import NormalEquations

__all__ = ["FoldScores", "Split", "ridge_scores"]

Array = NDArray[Any]
Split = tuple[Array, Array]

# Up to here sums and factors are float64. Beyond they are float32, half the time, and a score may differ from that of a
# single fit by a row in some thousand.
_EXACT_FEATURES = 512


@dataclass(frozen=True)
class FoldScores:
    """Scores and seconds of every strength (rows) on every fold (columns)."""

    test: Array
    fit_seconds: Array
    score_seconds: Array


def ridge_scores(problem: SummedProblem, splits: list[Split], alphas: Array, scoring: Scoring) -> FoldScores:
    """Cross-validate min sum_i |t_i - D_i w - b|^2 + alpha |w|^2 over alphas.

    Where the test rows of the splits are a partition, as in k-fold, each row enters one fold's sums, a training set's
    are the total less its test fold's, and D is multiplied with itself once instead of k - 1 times.

    Parameters
    ----------
    problem : SummedProblem
    splits : list of (train rows, test rows)
    alphas : ndarray (a,)
    scoring : Scoring
    """
    shape = (len(alphas), len(splits))
    found = FoldScores(np.empty(shape), np.empty(shape), np.empty(shape))
    start = time.perf_counter()
    systems = [sums.centered(fit_intercept=problem.fit_intercept) for sums in _training_sums(problem, splits)]
    shared = (time.perf_counter() - start) / found.test.size

    def solve(a: int, i: int) -> tuple[Array, Array]:
        begin = time.perf_counter()
        solution = systems[i].solve(float(alphas[a]))
        found.fit_seconds[a, i] = shared + time.perf_counter() - begin
        return solution

    solutions = _side_by_side(solve, problem.shape[1], *np.indices(shape).reshape(2, -1).tolist())
    for i, (_, test) in enumerate(splits):
        start = time.perf_counter()
        coefs, intercepts = zip(*solutions[i :: len(splits)])
        # All strengths in one product: (m, a k).
        found.test[:, i] = scoring(problem.take(test), test, np.hstack(coefs), np.stack(intercepts))
        found.score_seconds[:, i] = (time.perf_counter() - start) / len(alphas)
    return found


def _side_by_side(task: Callable[..., Any], n_features: int, *arguments: list[int]) -> list[Any]:
    """Run factorizations on as many threads as BLAS has, each with one thread of BLAS.

    Split over threads a factorization waits for them a hundred times; whole ones side by side never. Those of a few
    hundred columns are over before a thread has started.
    """
    n_threads = max((library["num_threads"] for library in _blas().info()), default=1)
    with _blas().limit(limits=1):
        if n_threads == 1 or n_features <= _EXACT_FEATURES:
            return list(map(task, *arguments))
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(task, *arguments))


@cache
def _blas() -> ThreadpoolController:
    """Return the linear algebra libraries of this process; looking for them takes some milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def _training_sums(problem: SummedProblem, splits: list[Split]) -> Iterator[NormalEquations]:
    """Yield the sums of each split's training rows."""
    m = problem.shape[1]
    dtype = np.float64 if m <= _EXACT_FEATURES else np.float32

    def sums_of(rows: Array) -> NormalEquations:
        return NormalEquations.summed(problem.take(rows), dtype)

    if not _is_partition(splits, problem.shape[0]):
        yield from (sums_of(train) for train, _ in splits)
        return
    folds = [sums_of(test) for _, test in splits]
    total = NormalEquations(m, problem.n_targets, dtype)
    for fold in folds:
        total.merge(fold)
    while folds:
        yield total.without(folds.pop(0))


def _is_partition(splits: list[Split], n: int) -> bool:
    """Whether every row is tested once, and each split trains on all the rows that it does not test."""
    tested = np.concatenate([test for _, test in splits])
    if not len(tested) == n == len(np.unique(tested)):
        return False
    return all(len(train) + len(test) == n == len(np.union1d(train, test)) for train, test in splits)
