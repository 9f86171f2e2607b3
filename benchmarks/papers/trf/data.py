"""The data of the studies, and their features: a mixture of two Gaussians, digits, clothes, trees and texts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.datasets import load
from benchmarks.papers.study import Run

__all__ = [
    "Mixture", "Split", "covertype", "digits", "draw_split", "fit_nystroem", "fit_ternary", "images", "official",
    "rows_of", "seven_or_nine",
]  # fmt: skip

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """Training and test rows with their labels."""

    X: NDArray[Any]
    y: NDArray[Any]
    X_test: NDArray[Any]
    y_test: NDArray[Any]


@dataclass(frozen=True)
class Mixture:
    """Two classes x = mu_a/sqrt(p) + N(0, C_a/p), mu_a = 4 e_a, C_a = (1 + 4 (a - 1)/sqrt(p)) I, a = 1, 2."""

    p: int

    @property
    def means(self) -> Floats:
        """Class means in the units of the rows, (2, p)."""
        return 4 * np.eye(2, self.p) / np.sqrt(self.p)

    @property
    def scales(self) -> Floats:
        """Variance of a coordinate times p, by class."""
        return np.array([1.0, 1 + 4 / np.sqrt(self.p)])

    @property
    def covariances(self) -> Floats:
        """Class covariances in the units of the rows, (2, p, p)."""
        return self.scales[:, None, None] * np.eye(self.p) / self.p

    @property
    def tau(self) -> float:
        """Mean of |z|^2."""
        return float(self.scales.mean())

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Floats, NDArray[np.intp]]:
        """Return rows and classes 0, 1, as many of each."""
        labels = rng.permutation(np.arange(n) % 2)
        noise = rng.standard_normal((n, self.p)) * np.sqrt(self.scales / self.p)[labels, None]
        return self.means[labels] + noise, labels


def images(run: Run, name: str) -> Split:
    """Return "mnist" or "fashion_mnist", pixels as they are; in the quick form the small digits of scikit-learn."""
    if run.quick:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        X = X.astype(np.uint8)
        return Split(X[:1200], y[:1200], X[1200:], y[1200:])
    X, X_test, y, y_test = load(name).split()
    return Split(X.astype(np.uint8), y, X_test.astype(np.uint8), y_test)


def digits(run: Run) -> Split:
    """Return all digits, pixels as they are."""
    return images(run, "mnist")


def official(name: str) -> Split:
    """Return a dataset with a split of its own, in float32."""
    X, X_test, y, y_test = load(name).split()
    return Split(X.astype(np.float32), y, X_test.astype(np.float32), y_test)


def covertype(seed: int) -> Split:
    """Return Cov-Type with two classes, the second against the rest, columns standardized, cut in halves at random."""
    data = load("covtype")
    order = np.random.default_rng(seed).permutation(len(data.X))
    first, second = np.array_split(order, 2)
    mean, spread = data.X[first].mean(axis=0), data.X[first].std(axis=0)
    spread[spread == 0] = 1.0  # one kind of soil occurs three times in all
    X, X_test = (((data.X[part] - mean) / spread).astype(np.float32) for part in (first, second))
    return Split(X, (data.y[first] == 2).astype(int), X_test, (data.y[second] == 2).astype(int))


def seven_or_nine(whole: Split) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Return every 7 and 9, with classes 0 and 1."""
    X, y = np.concatenate([whole.X, whole.X_test]), np.concatenate([whole.y, whole.y_test])
    kept = np.isin(y, (7, 9))
    return X[kept], (y[kept] == 9).astype(np.intp)


def rows_of(rng: np.random.Generator, X: NDArray[Any], y: NDArray[Any], n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return n rows without repetition."""
    rows = rng.permutation(len(X))[:n]
    return X[rows], y[rows]


def draw_split(rng: np.random.Generator, X: NDArray[Any], y: NDArray[Any], n: int, n_test: int) -> Split:
    """Return n training and n_test test rows."""
    X, y = rows_of(rng, X, y, n + n_test)
    return Split(X[:n], y[:n], X[n:], y[n:])


def fit_ternary(X: NDArray[Any], target: str = "rbf", **parameters: Any) -> lt.TernaryFeatures:
    """Return fitted ternary features; that some sums have few terms is what a study is to show.

    The diagonal is the target's as far as there is a map with it, as in the paper.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lt.errors.LayoutWarning)
        return lt.TernaryFeatures(target, **{"diagonal": "target", **parameters}).fit(X)


def fit_nystroem(X: NDArray[Any], gamma: float, m: int, seed: int) -> Any:
    """Return the Nystroem map of m landmarks, drawn from the rows."""
    from sklearn.kernel_approximation import Nystroem

    return Nystroem(gamma=gamma, n_components=m, random_state=seed).fit(X)
