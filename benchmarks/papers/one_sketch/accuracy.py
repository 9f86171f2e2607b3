"""Accuracy of linear machines on sketches, stochastic rounding, Lloyd-Max and full features of the same rows.

A sketch of k projections stores k levels and reads 2k columns from them. Stochastic rounding (StocQ) and Lloyd-Max
(LM-RFF) store one level a column, two a frequency (cosine and sine), and have a code of their own for every gamma. With
b bits a level:

    equal bits:         k levels of theirs (k/2 frequencies, k columns) against k projections of the sketch
    equal projections:  2k levels of theirs (k frequencies, 2k columns), which cost twice the bits of the sketch

The paper sets k projections against 2k features of StocQ. Smaller sizes are the first columns of the largest, so the
products of rows with rows are summed once, column by column, and read at every size. The machine is least squares on
these products; the paper's has hinge loss.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

import lowtide as lt
from benchmarks.papers.one_sketch.products import sklearn_gamma
from benchmarks.papers.study import Run

__all__ = ["METHODS", "OF_THE_FIGURE", "Data", "Method", "Outcome", "measure_accuracy"]

Floats = NDArray[np.float64]
Features = NDArray[np.float32]

STRENGTHS = (0.1, 1.0, 10.0, 100.0)  # C, for rows of features of norm 1


@dataclass(frozen=True)
class Method:
    """How rows become columns; `columns` is how many a level or projection counted on the axis gives."""

    name: str
    bits: int | None
    columns: int

    @property
    def one_gamma(self) -> bool:
        """Whether gamma changes nothing: of one bit the cosines are constant, and the sines differ by a factor."""
        return self.name == "sketch" and self.bits == 1

    def features(self, X: Features, gamma: float, n_columns: int, seed: int) -> Features:
        """Return cosines and sines, or what is left of them, each column at most 1."""
        if self.name == "sketch":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", lt.errors.BiasWarning)  # part of what is measured
                k = n_columns // self.columns
                encoder = lt.Sketch(
                    k, bits=self.bits, projection="iid", gamma=sklearn_gamma(gamma), random_state=seed
                ).fit(X)
                decoded = np.asarray(encoder.encode(X)) * np.float32(np.sqrt(k))
            return decoded[:, 1::2] / np.abs(decoded[0, 1]) if self.one_gamma else decoded
        encoder = lt.RandomFeatures(
            gamma=sklearn_gamma(gamma),
            n_components=n_columns,
            projection="iid",
            bits=self.bits,
            quantizer="stochastic" if self.name == "stocq" else "lloyd_max",
            random_state=seed,
        ).fit(X)
        decoded = encoder.transform(X) if self.bits is None else np.asarray(encoder.encode(X))
        return decoded * np.float32(np.sqrt(n_columns / 2))


METHODS = (
    Method("sketch", 1, columns=1),
    *[Method("sketch", bits, columns=2) for bits in (2, 4, 6)],
    *[Method("stocq", bits, columns=1) for bits in (1, 2)],
    *[Method("lloyd_max", bits, columns=1) for bits in (1, 4)],
    Method("full", None, columns=2),
)
# Those of the paper's figure, and six bits; LM-RFF is from another one.
OF_THE_FIGURE = tuple(method for method in METHODS if method.name != "lloyd_max")


@dataclass(frozen=True)
class Data:
    """Rows of norm 1 in float32, and labels 0, 1, ..."""

    X: Features
    y: NDArray[np.intp]
    gammas: tuple[float, ...]  # the paper's
    projections: list[int]  # of the sketch and of full features, ascending
    n_train: int
    n_test: int
    methods: tuple[Method, ...] = METHODS


@dataclass
class Outcome:
    """Accuracies (draws, sizes) by method, at its best gamma and C for each size; sizes as k or as levels."""

    accuracy: dict[Method, Floats] = field(default_factory=dict)
    sizes: dict[Method, list[int]] = field(default_factory=dict)
    best: dict[Method, list[tuple[float, float]]] = field(default_factory=dict)

    def at(self, name: str, bits: int | None, size: int) -> Floats:
        """Return accuracies over the draws."""
        method = self._method(name, bits)
        return self.accuracy[method][:, self.sizes[method].index(size)]

    def gammas(self, name: str, bits: int | None) -> list[float]:
        """Return the best gamma, the paper's, at each size."""
        return [gamma for gamma, _ in self.best[self._method(name, bits)]]

    def has(self, name: str) -> bool:
        """Return whether a method was measured."""
        return any(method.name == name for method in self.accuracy)

    def _method(self, name: str, bits: int | None) -> Method:
        return next(m for m in self.accuracy if (m.name, m.bits) == (name, bits))


def measure_accuracy(run: Run, data: Data, stream: int) -> Outcome:
    """Return accuracies over random splits; k of the sketch and full features as given, levels up to twice that."""
    outcome = Outcome()
    seeds = run.seeds(run.settings["draws"], stream)
    for method in data.methods:
        sizes = _sizes(method, data.projections)
        gammas = data.gammas[:1] if method.one_gamma else data.gammas
        scores = np.array([_scores(data, method, sizes, gammas, seed) for seed in seeds])
        flat = scores.reshape(*scores.shape[:2], -1)
        choice = flat.mean(axis=0).argmax(axis=1)
        outcome.accuracy[method] = flat[:, np.arange(len(sizes)), choice]
        outcome.sizes[method] = sizes
        outcome.best[method] = [(gammas[c // len(STRENGTHS)], STRENGTHS[c % len(STRENGTHS)]) for c in choice]
    return outcome


def _sizes(method: Method, projections: list[int]) -> list[int]:
    """Return k; levels of k and 2k for those who store one a column."""
    if method.name in ("sketch", "full"):
        return projections
    return sorted({*projections, *(2 * k for k in projections)})


def _scores(data: Data, method: Method, sizes: list[int], gammas: tuple[float, ...], seed: int) -> Floats:
    """Return accuracies (sizes, gammas, C) of one split and one draw of the frequencies."""
    rows = np.random.default_rng(seed).permutation(len(data.X))[: data.n_train + data.n_test]
    X, y = data.X[rows], data.y[rows]
    columns = [method.columns * size for size in sizes]
    out = []
    for gamma in gammas:
        F = method.features(X, gamma, columns[-1], seed)
        out.append(_ridge(F, y, data.n_train, columns))
    return np.stack(out, axis=1)


def _ridge(F: Features, y: NDArray[np.intp], n_train: int, columns: list[int]) -> Floats:
    """Return accuracies (columns, C) of least squares on +-1, one class against the rest, on the first columns.

    Solved over rows: their products with the training rows grow by the columns that a size has more than the last.
    """
    targets = np.where(y[:n_train, None] == np.arange(y.max() + 1), 1.0, -1.0).astype(np.float32)
    center = targets.mean(axis=0)
    products = np.zeros((len(F), n_train), dtype=np.float32)
    out = np.empty((len(columns), len(STRENGTHS)))
    for i, (start, m) in enumerate(zip([0, *columns], columns)):
        part = F[:, start:m] - F[:n_train, start:m].mean(axis=0)
        products += part @ part[:n_train].T
        for j, C in enumerate(STRENGTHS):
            # Columns at most 1 in size are sqrt(m/2) times those of rows of norm 1.
            ridge = products[:n_train].copy()
            ridge[np.diag_indices(n_train)] += m / (4 * C)
            weights = cho_solve(cho_factor(ridge, lower=True, overwrite_a=True), targets - center)
            guess = np.argmax(products[n_train:] @ weights + center, axis=1)
            out[i, j] = np.mean(guess == y[n_train:])
    return out
