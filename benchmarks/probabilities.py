"""`python -m benchmarks.probabilities`: how well the probabilities of classifiers hold on rows never seen.

Beside those of `KernelClassifier` stand those of scikit-learn's `CalibratedClassifierCV` around the same model, with a
sigmoid of scores from five folds; those of the best single slope; and what it costs on the test rows that the most
probable class is the predicted one. The last two are chosen with the labels of the test rows, as nobody could.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

import lowtide as lt
from benchmarks.datasets import load

__all__ = ["Comparison", "compare", "main", "price_of_predictions", "report"]

Array = NDArray[Any]
_DATASETS = ("backdoor", "ijcnn1", "campaign", "letter")
# Half a row in the isotonic probabilities of a thousand, so that none is 0 or 1.
_LEAST = 5e-4


@dataclass(frozen=True)
class Comparison:
    """Log losses of one split.

    Attributes
    ----------
    own, sigmoid, slope : of the model, of `CalibratedClassifierCV`, of the best single slope
    price : the least that a rising curve can have if it keeps predictions, over the least if it need not; 1 for more
        than two classes, where it is not computed
    rate, mean : share of the last class in the test rows, and its mean probability
    """

    own: float
    sigmoid: float
    slope: float
    price: float
    rate: float
    mean: float


def compare(X: Array, y: Array, n_train: int, seed: int, **settings: Any) -> Comparison:
    """Return the comparison on a random split; what is not trained on is tested on."""
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:n_train], order[n_train:]
    model = lt.KernelClassifier(random_state=seed, **settings).fit(X[train], y[train])
    peer = CalibratedClassifierCV(lt.KernelClassifier(random_state=seed, **settings), ensemble=False, cv=5)
    P, scores = model.predict_proba(X[test]), model.decision_.scores(X[test])
    if not np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X[test])):
        raise AssertionError("the most probable class must be the predicted one")
    is_last = y[test] == model.classes_[-1]
    return Comparison(
        own=log_loss(y[test], P, labels=model.classes_),
        sigmoid=log_loss(y[test], peer.fit(X[train], y[train]).predict_proba(X[test]), labels=model.classes_),
        slope=_best_slope(scores, np.searchsorted(model.classes_, y[test])),
        price=price_of_predictions(scores[:, 0], is_last) if scores.shape[1] == 1 else 1.0,
        rate=float(is_last.mean()),
        mean=float(P[:, -1].mean()),
    )


def _best_slope(scores: Array, index: Array) -> float:
    """Return the log loss of softmax(s scores) at its best s."""
    columns = scores if scores.shape[1] > 1 else np.hstack([np.zeros_like(scores), scores])
    classes = np.arange(columns.shape[1])

    def loss(log_slope: float) -> float:
        return float(log_loss(index, softmax(np.exp(log_slope) * columns, axis=1), labels=classes))

    return float(minimize_scalar(loss, bounds=(-3.0, 6.0), method="bounded").fun)


def price_of_predictions(scores: Array, labels: Array) -> float:
    """Return the least log loss of rising curves on one side of a half on each side of 0, over that of all."""
    free = IsotonicRegression(y_min=_LEAST, y_max=1.0 - _LEAST).fit(scores, labels).predict(scores)
    kept = np.where(scores > 0.0, np.maximum(free, 0.5), np.minimum(free, 0.5))
    return float(log_loss(labels, kept) / log_loss(labels, free))


def report(name: str, splits: list[Comparison], loss: str, n_components: int) -> str:
    """Return a line of the table: means over splits, and the worst ratio."""
    own, sigmoid, slope, price, rate, mean = np.array([list(vars(split).values()) for split in splits]).T
    ratio, against_slope = own / sigmoid, own / slope
    return (
        f"| {name} | {loss} | {n_components} | {own.mean():.4f} | {sigmoid.mean():.4f} | {ratio.mean():.3f} | "
        f"{ratio.max():.3f} | {against_slope.mean():.3f} | {price.mean():.3f} | {rate.mean():.4f} | {mean.mean():.4f} |"
    )


def _lines(options: argparse.Namespace) -> Iterator[str]:
    yield (
        "| data | loss | components | log loss | sigmoid, 5 folds | ratio | worst | to best slope | price | "
        "base rate | mean probability |"
    )
    yield "| --- " * 11 + "|"
    for loss in options.losses:
        for n_components in options.components:
            for name in options.data:
                data = load(name)
                rows = np.random.default_rng(0).permutation(len(data.X))[: options.train + options.test]
                X, y = data.X[np.sort(rows)].astype(np.float32), data.y[np.sort(rows)]
                n_train = len(X) * options.train // (options.train + options.test)
                settings = {"loss": loss, "n_components": n_components, "gamma": "scale", "C": 1.0, "metric": None}
                splits = [compare(X, y, n_train, seed, **settings) for seed in range(options.splits)]
                yield report(name, splits, loss, n_components)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.probabilities", description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(_DATASETS))
    parser.add_argument("--losses", nargs="+", default=["squared", "squared_hinge"])
    parser.add_argument("--components", nargs="+", type=int, default=[1024, 2048])
    parser.add_argument("--train", type=int, default=20_000, help="rows; of smaller data two thirds")
    parser.add_argument("--test", type=int, default=10_000, help="rows; of smaller data a third")
    parser.add_argument("--splits", type=int, default=3)
    for line in _lines(parser.parse_args(arguments)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
