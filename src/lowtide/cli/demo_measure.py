"""Measure what `lowtide demo` shows: an exact SVM against ridge classifiers on random features of each width."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from lowtide.codes import Codes
from lowtide.encoders import RandomFeatures
from lowtide.reports import FLOAT_BITS, Agreement, agree, estimate_pairs, kernel_error, paired_difference

Report = Callable[[int, int, str], None]

WIDTHS = (FLOAT_BITS, 4, 2, 1)  # bits a feature, from the full side to the smallest code
_FEWEST_BYTES = 16  # where the curves of accuracy against bytes begin
_FEWEST_COMPONENTS = 4


@dataclass(frozen=True)
class Plan:
    """What to run: features, the seed of split and frequencies, how often frequencies are drawn, the ridge."""

    n_components: int = 2048
    seed: int = 0
    n_draws: int = 3
    alpha: float = 0.1


@dataclass(frozen=True)
class Outcome:
    """One classifier.

    Attributes
    ----------
    bits : int or None
        Bits a feature, `FLOAT_BITS` for float features, None for the exact kernel.
    n_components : int
        Features; the pixels themselves for the exact kernel.
    bytes_per_item : float
        What a row takes in memory in the form that the classifier reads.
    correct : ndarray of float64, shape (n_test,)
        For each test row, the share of draws in which its class was right.
    fit_seconds, predict_seconds : float
        From raw rows, encoding included; the best of all draws.
    kernel_error : dict of float, or None
        As `kernel_error` returns it; None where it was not measured or is zero by definition.
    """

    bits: int | None
    n_components: int
    bytes_per_item: float
    correct: NDArray[np.float64]
    fit_seconds: float
    predict_seconds: float
    kernel_error: dict[str, float] | None = None

    @property
    def accuracy(self) -> float:
        """Share of test rows with the right class, averaged over draws."""
        return float(self.correct.mean())

    @property
    def name(self) -> str:
        """Say the width in words."""
        names = {None: "exact SVM", FLOAT_BITS: "float32", 1: "1 bit"}
        return names.get(self.bits, f"{self.bits} bits")

    def gain_over(self, other: Outcome) -> tuple[float, float]:
        """Return the mean difference of accuracy, row by row, and its standard error over the test rows."""
        return paired_difference(1.0 - self.correct, 1.0 - other.correct)


@dataclass(frozen=True)
class Comparison:
    """Everything the demo measured: the exact machine, and each width at each number of components."""

    plan: Plan
    n_train: int
    n_test: int
    n_features: int
    gamma: float
    exact: Outcome
    outcomes: tuple[Outcome, ...]
    agreement: Agreement
    seconds: float

    def at(self, bits: int, n_components: int) -> Outcome:
        """Return the outcome of a width at a number of components."""
        return next(o for o in self.outcomes if (o.bits, o.n_components) == (bits, n_components))

    def curve(self, bits: int) -> tuple[Outcome, ...]:
        """Return the outcomes of a width, from the fewest components to the most."""
        return tuple(sorted((o for o in self.outcomes if o.bits == bits), key=lambda o: o.n_components))

    @property
    def one_bit(self) -> Outcome:
        """The one-bit classifier at the planned number of components."""
        return self.at(1, self.plan.n_components)

    @property
    def same_components(self) -> tuple[Outcome, ...]:
        """Each width at the planned number of components."""
        return tuple(self.at(bits, self.plan.n_components) for bits in WIDTHS)

    @property
    def same_bytes(self) -> tuple[Outcome, ...]:
        """Each width at as many components as fit in the bytes of the one-bit code."""
        budget = int(self.one_bit.bytes_per_item)
        return (*(self.at(bits, fitting_components(budget, bits)) for bits in WIDTHS[:-1]), self.one_bit)


def fitting_components(n_bytes: int, bits: int) -> int:
    """Return how many features of a width fit in a number of bytes."""
    return n_bytes * 8 // bits


class _Data(NamedTuple):
    train: NDArray[np.float64]
    test: NDArray[np.float64]
    train_labels: NDArray[np.int_]
    test_labels: NDArray[np.int_]


@threadpool_limits.wrap(limits=1)  # type: ignore[untyped-decorator]
def compare(plan: Plan, report: Report = lambda done, total, what: None) -> Comparison:
    """Measure every method of the demo; `report` is told of each step before it.

    On one thread: libsvm has no more, and those of BLAS wait for each other for seconds when the machine is busy.
    """
    start = time.perf_counter()
    data = _load(plan.seed)
    settings = list(_settings(plan.n_components))
    report(0, len(settings) + 1, "exact SVM")
    gamma = _warm_up(data)
    exact = _run_exact(data, plan.n_draws)
    outcomes, agreement = [], None
    for done, (bits, n_components, in_table) in enumerate(settings, start=1):
        report(done, len(settings) + 1, f"{n_components} features, {bits}-bit")
        outcome, pairs = _run_features(data, bits, n_components, plan, with_pairs=in_table)
        outcomes.append(outcome)
        if (bits, n_components) == (1, plan.n_components):
            agreement = agree(pairs, plan.seed)
    assert agreement is not None, "the settings hold one-bit features at the planned size"
    return Comparison(
        plan=plan,
        n_train=len(data.train),
        n_test=len(data.test),
        n_features=data.train.shape[1],
        gamma=gamma,
        exact=exact,
        outcomes=tuple(outcomes),
        agreement=agreement,
        seconds=time.perf_counter() - start,
    )


def _load(seed: int) -> _Data:
    X, y = load_digits(return_X_y=True)
    return _Data(*train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed))


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


def _run_features(
    data: _Data, bits: int, n_components: int, plan: Plan, *, with_pairs: bool
) -> tuple[Outcome, list[NDArray[np.float64]]]:
    """Fit and test one width at one number of components, on each draw of the frequencies."""
    trials, pairs = [], []
    for draw in range(plan.n_draws):
        encoder = RandomFeatures(
            "rbf",
            gamma="scale",
            n_components=n_components,
            bits=None if bits == FLOAT_BITS else bits,
            random_state=plan.seed * plan.n_draws + draw,
        )
        trials.append(_try(encoder, data, plan.alpha))
        if with_pairs:
            pairs.append(estimate_pairs(encoder, data.test))
    outcome = replace(
        trials[0],
        bits=bits,
        correct=np.mean([trial.correct for trial in trials], axis=0),
        fit_seconds=min(trial.fit_seconds for trial in trials),
        predict_seconds=min(trial.predict_seconds for trial in trials),
        kernel_error=kernel_error(pairs) if with_pairs else None,
    )
    return outcome, pairs


def _try(encoder: RandomFeatures, data: _Data, alpha: float) -> Outcome:
    """Fit encoder and ridge on the side that is tested, and classify the test rows."""
    side: Callable[[Any], Any] = encoder.transform if encoder.bits is None else encoder.encode

    def fit() -> NDArray[np.float64]:
        encoder.fit(data.train)
        return fit_ridge(side(data.train), data.train_labels, alpha)

    fit_seconds, weights = _timed(fit)
    predict_seconds, labels = _timed(lambda: predict_class(side(data.test), weights))
    n_bytes, correct = side(data.test[:1]).nbytes, (labels == data.test_labels).astype(np.float64)
    return Outcome(encoder.bits, encoder.n_components, n_bytes, correct, fit_seconds, predict_seconds)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value


def fit_ridge(features: Any, labels: NDArray[np.int_], alpha: float) -> NDArray[np.float64]:
    """Return the w that minimizes |F w - Y|^2 + alpha |w|^2, Y = +1 in the column of a row's class and -1 elsewhere.

    F = `features` is a float array or `Codes` of shape (n, m); codes stay packed: F'F and F'Y come from their bits.
    Time O(n m^2 + m^3).
    """
    targets = np.where(labels[:, None] == np.arange(labels.max() + 1), np.float32(1), np.float32(-1))
    gram = features.gram() if isinstance(features, Codes) else features.T @ features
    gram = np.asarray(gram, dtype=np.float64)
    gram[np.diag_indices_from(gram)] += alpha
    right = np.asarray(features.T @ targets, dtype=np.float64)
    solution: NDArray[np.float64] = cho_solve(cho_factor(gram, overwrite_a=True), right)
    return solution


def predict_class(features: Any, weights: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the class of the largest score of each row."""
    scores = features @ weights.astype(np.float32)
    return np.argmax(scores, axis=1)
