"""Run the comparison: real digits, an exact SVM, and ridge classifiers on random features of each width."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from lowtide.cli.showcase.kernel_error import PairErrors
from lowtide.cli.showcase.results import FLOAT32, WIDTHS, Comparison, Outcome, Plan, fitting_components
from lowtide.cli.showcase.ridge import fit_ridge, predict_class
from lowtide.encoders import RandomFeatures

__all__ = ["compare"]

Report = Callable[[int, int, str], None]
_FEWEST_BYTES = 16  # where the curves of accuracy against bytes begin
_FEWEST_COMPONENTS = 4


@dataclass(frozen=True)
class _Data:
    train: NDArray[np.float64]
    train_labels: NDArray[np.int_]
    test: NDArray[np.float64]
    test_labels: NDArray[np.int_]


def compare(plan: Plan, report: Report = lambda done, total, what: None) -> Comparison:
    """Measure every method of the demo.

    Parameters
    ----------
    plan : Plan
    report : callable (done, total, what), optional
        Called before each step.

    Returns
    -------
    Comparison

    Notes
    -----
    On one thread: libsvm has no more, and those of BLAS wait for each other for seconds when the machine is busy.
    """
    with threadpool_limits(limits=1):
        return _compare(plan, report)


def _compare(plan: Plan, report: Report) -> Comparison:
    start = time.perf_counter()
    data = _load(plan.seed)
    settings = list(_settings(plan.n_components))
    report(0, len(settings) + 1, "exact SVM")
    gamma = _warm_up(data)
    exact = _run_exact(data, plan.n_draws)
    outcomes, calibration = [], None
    for done, (bits, n_components, in_table) in enumerate(settings, start=1):
        report(done, len(settings) + 1, f"{n_components} features, {bits}-bit")
        pairs = PairErrors() if in_table else None
        outcomes.append(_run_features(data, bits, n_components, plan, pairs))
        if pairs is not None and (bits, n_components) == (1, plan.n_components):
            calibration = pairs.calibration(plan.seed)
    assert calibration is not None, "the settings hold one-bit features at the planned size"
    return Comparison(
        plan=plan,
        n_train=len(data.train),
        n_test=len(data.test),
        n_features=data.train.shape[1],
        gamma=gamma,
        exact=exact,
        outcomes=tuple(outcomes),
        calibration=calibration,
        seconds=time.perf_counter() - start,
    )


def _load(seed: int) -> _Data:
    X, y = load_digits(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
    return _Data(train, train_labels, test, test_labels)


def _settings(n_components: int) -> Iterator[tuple[int, int, bool]]:
    """Yield (bits, components, whether it is in the table): the rows of the table, and halvings for the curves."""
    budget = -(-n_components // 64) * 8  # bytes of a one-bit code: whole words of 8 bytes
    for bits in WIDTHS:
        table = {n_components} if bits == 1 else {n_components, fitting_components(budget, bits)}
        fewest = max(_FEWEST_COMPONENTS, fitting_components(_FEWEST_BYTES, bits))
        halvings = {n_components >> k for k in range(16) if n_components >> k >= fewest}
        for size in sorted(table | halvings, reverse=True):
            yield bits, size, size in table


def _warm_up(data: _Data) -> float:
    """Start thread pools and load libraries before anything is timed; return the gamma that all methods use."""
    SVC().fit(data.train[:50], data.train_labels[:50])
    encoder = RandomFeatures("rbf", gamma="scale", n_components=64, random_state=0).fit(data.train)
    for features in (encoder.encode(data.train[:50]), encoder.transform(data.train[:50])):
        predict_class(features, fit_ridge(features, data.train_labels[:50], 1.0))
    assert encoder.gamma_ is not None
    return encoder.gamma_


def _run_exact(data: _Data, n_repeats: int) -> Outcome:
    """Fit scikit-learn's SVM; its items are the pixels, counted as float32."""
    machine = SVC(kernel="rbf", gamma="scale")
    fits = [_timed(lambda: machine.fit(data.train, data.train_labels))[0] for _ in range(n_repeats)]
    predictions = [_timed(lambda: machine.predict(data.test)) for _ in range(n_repeats)]
    n_features = data.train.shape[1]
    correct = (predictions[0][1] == data.test_labels).astype(np.float64)
    return Outcome(None, n_features, 4.0 * n_features, correct, min(fits), min(seconds for seconds, _ in predictions))


def _run_features(data: _Data, bits: int, n_components: int, plan: Plan, pairs: PairErrors | None) -> Outcome:
    """Fit and test one width at one number of components, on each draw of the frequencies."""
    trials = []
    for draw in range(plan.n_draws):
        encoder = RandomFeatures(
            "rbf",
            gamma="scale",
            n_components=n_components,
            bits=None if bits == FLOAT32 else bits,
            random_state=plan.seed * plan.n_draws + draw,
        )
        trials.append(_try(encoder, data, plan.alpha))
        if pairs is not None:
            pairs.add(encoder, data.test)
    return Outcome(
        bits=bits,
        n_components=n_components,
        bytes_per_item=trials[0].bytes_per_item,
        correct=np.mean([trial.correct for trial in trials], axis=0),
        fit_seconds=min(trial.fit_seconds for trial in trials),
        predict_seconds=min(trial.predict_seconds for trial in trials),
        kernel_error=None if pairs is None else pairs.summary(),
    )


@dataclass(frozen=True)
class _Trial:
    bytes_per_item: float
    fit_seconds: float
    predict_seconds: float
    correct: NDArray[np.bool_]


def _try(encoder: RandomFeatures, data: _Data, alpha: float) -> _Trial:
    """Fit encoder and ridge on the side that is tested, and classify the test rows."""
    side: Callable[[Any], Any] = encoder.transform if encoder.bits is None else encoder.encode

    def fit() -> NDArray[np.float64]:
        encoder.fit(data.train)
        return fit_ridge(side(data.train), data.train_labels, alpha)

    fit_seconds, weights = _timed(fit)
    predict_seconds, labels = _timed(lambda: predict_class(side(data.test), weights))
    return _Trial(side(data.test[:1]).nbytes, fit_seconds, predict_seconds, labels == data.test_labels)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value
