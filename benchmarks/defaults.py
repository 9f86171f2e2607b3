"""`python -m benchmarks.defaults`: what a default model is worth, against the defaults of scikit-learn.

A cell is a dataset: columns are standardized by the training rows for both sides, and other rows are tested on. Small
datasets are split 20 times, seven rows of ten to train on; of large ones 3,000 rows are trained on, in five splits. A
classifier is met when it is not below `SVC()` by more than half a point of accuracy or one standard error of the
difference over splits; all must be, and the mean over cells above zero. A regressor is met when its R^2 is not below
that of `SVR()` and of `KernelRidge(kernel="rbf")` by more than one standard error. The exit code is 1 when that does
not hold.

`--large` compares on 20,000 rows with `RBFSampler(n_components=4096)` and a linear model whose strength is tuned:
accuracy at least as good, in less time. `--cost` tells how long the choice takes: the fit with everything left to the
data over the fit at the settings that were chosen, without a metric, with one, and with frequencies to prune.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import lowtide as lt
from benchmarks.datasets import load

__all__ = ["Cell", "compare", "main", "summarize"]

Array = NDArray[Any]
Rows = tuple[Array, Array, Array, Array]

_CLASSES = (
    "letter", "isolet", "spambase", "cod_rna", "ijcnn1", "mnist", "fashion_mnist", "covtype", "embeddings_debian",
    "ionosphere", "wine", "breast_cancer",
)  # fmt: skip
_VALUES = ("kin8nm", "wine_quality", "king_county_houses", "diabetes")
_BUNDLED = {"wine": load_wine, "breast_cancer": load_breast_cancer, "diabetes": load_diabetes}
# Points of accuracy that may be lost in any cell.
_ALLOWED = 0.5
_TRAINED, _TESTED, _LARGE = 3000, 4000, 20_000
# Below so many rows a dataset is split as a whole, and more often.
_SMALL, _SHARE = 2000, 0.7
_SPLITS, _SMALL_SPLITS = 5, 20
# A choice may take so many times the fit at the chosen settings, or so many seconds if that is more.
_MOST_COST, _MOST_WITH_METRIC, _SECONDS = 3.0, 6.0, 1.0


@dataclass(frozen=True)
class Cell:
    """Scores of the splits of one dataset, from 0 to 1, with the seconds of the fits.

    Attributes
    ----------
    name : str
    ours : ndarray (splits,)
    peers : dict of str to ndarray (splits,)
    seconds, peer_seconds : float, median over splits
    allowed : float
        Points that may be lost.
    chosen : str
        What was chosen in the first split.
    """

    name: str
    ours: Array
    peers: dict[str, Array]
    seconds: float
    peer_seconds: float
    allowed: float
    chosen: str = ""

    @property
    def differences(self) -> dict[str, tuple[float, float]]:
        """Mean points that are gained over each peer, and the standard error of that over splits."""
        found = {}
        for peer, scores in self.peers.items():
            gains = 100.0 * (self.ours - scores)
            error = float(np.std(gains, ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else 0.0
            found[peer] = float(gains.mean()), error
        return found

    @property
    def is_met(self) -> bool:
        """Whether no peer is better by more than is allowed."""
        return all(gain >= -max(self.allowed, error) for gain, error in self.differences.values())

    def __str__(self) -> str:
        """Return a line of the table."""
        differences = ", ".join(f"{gain:+.2f} ({error:.2f})" for gain, error in self.differences.values())
        peers = ", ".join(f"{100 * scores.mean():.2f}" for scores in self.peers.values())
        times = f"{self.seconds:.2f} | {self.peer_seconds:.2f}"
        met = "yes" if self.is_met else "NO"
        cells = (self.name, f"{100 * self.ours.mean():.2f}", peers, differences, times, met, self.chosen)
        return f"| {' | '.join(cells)} |"


def _rows(name: str) -> tuple[Array, Array]:
    if name in _BUNDLED:
        X, y = _BUNDLED[name](return_X_y=True)
        return np.asarray(X), np.asarray(y)
    data = load(name)
    return data.X, data.y


def _splits(X: Array, y: Array, n_train: int, n_splits: int) -> Iterator[Rows]:
    """Yield standardized rows to train and to test on, and their labels."""
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = order[:n_train], order[n_train : n_train + _TESTED]
        scaler = StandardScaler().fit(X[train].astype(np.float64))
        rows, others = (scaler.transform(X[part].astype(np.float64)) for part in (train, test))
        yield rows, others, y[train], y[test]


def compare(
    name: str,
    X: Array,
    y: Array,
    ours: Callable[[int], Any],
    peers: dict[str, Callable[[], Any]],
    allowed: float,
    n_train: int | None = None,
    n_splits: int | None = None,
) -> Cell:
    """Return a cell; `ours` takes a seed."""
    is_small = len(X) < _SMALL
    rows = n_train or (int(_SHARE * len(X)) if is_small else min(_TRAINED, len(X) - len(X) // 4))
    splits = n_splits or (_SMALL_SPLITS if is_small else _SPLITS)
    scores: dict[str, list[float]] = {"": [], **{peer: [] for peer in peers}}
    seconds: dict[str, list[float]] = {"": [], **{peer: [] for peer in peers}}
    chosen = ""
    for seed, (train, test, labels, truth) in enumerate(_splits(X, y, rows, splits)):
        for peer, make in {"": lambda seed=seed: ours(seed), **peers}.items():
            start = time.perf_counter()
            model = make().fit(train, labels)
            seconds[peer].append(time.perf_counter() - start)
            scores[peer].append(float(model.score(test, truth)))
            if not peer and not chosen:
                chosen = ", ".join(f"{key} {_short(value)}" for key, value in model.choice_.settings.items())
    medians = {peer: float(np.median(each)) for peer, each in seconds.items()}
    own = np.array(scores.pop(""))
    others = {peer: np.array(each) for peer, each in scores.items()}
    return Cell(name, own, others, medians.pop(""), max(medians.values()), allowed, chosen)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def summarize(cells: list[Cell]) -> tuple[str, bool]:
    """Return what the cells say together, and whether all that is asked for holds."""
    gains = [min(gain for gain, _ in cell.differences.values()) for cell in cells]
    n_met, mean = sum(cell.is_met for cell in cells), float(np.mean(gains))
    worst = cells[int(np.argmin(gains))]
    holds = n_met == len(cells) and mean > 0.0
    return (
        f"{n_met} of {len(cells)} met; mean difference to the best peer {mean:+.2f} points, worst {min(gains):+.2f} "
        f"({worst.name}). {'Holds.' if holds else 'Does NOT hold.'}",
        holds,
    )


def _tuned() -> Any:
    return make_pipeline(
        RBFSampler(gamma="scale", n_components=4096, random_state=0), RidgeClassifierCV(alphas=10.0 ** np.arange(-2, 4))
    )


def _cost(name: str) -> tuple[str, bool]:
    """Return how long the choice takes, and whether that is within its limit."""
    X, y = _rows(name)
    kind = lt.KernelRegressor if name in _VALUES else lt.KernelClassifier
    train, _, labels, _ = next(_splits(X, y, min(_TRAINED, int(_SHARE * len(X))), 1))
    lines, holds = [], True
    # A limit on the code lets frequencies be pruned too.
    asked = (({"metric": None}, _MOST_COST), ({}, _MOST_WITH_METRIC), ({"budget": 64}, _MOST_WITH_METRIC))
    for settings, most in asked:
        whole, plain = [], []
        for _ in range(3):
            start = time.perf_counter()
            model = kind(**settings, random_state=0).fit(train, labels)
            whole.append(time.perf_counter() - start)
            fixed = {key: value for key, value in model.choice_.settings.items() if key not in ("metric", "prune")}
            again = kind(features=model.features_, **{k: v for k, v in fixed.items() if k in ("C", "alpha", "loss")})
            start = time.perf_counter()
            again.fit(train, labels)
            plain.append(time.perf_counter() - start)
        ratio = min(whole) / min(plain)
        holds &= ratio <= most or min(whole) <= _SECONDS
        given = ", ".join(f"{key}={value}" for key, value in settings.items()) or "nothing given"
        lines.append(f"{given} {min(whole):.2f} s, {ratio:.1f} times")
    return f"{name}: " + "; ".join(lines), holds


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; return 0 when what is asked for holds, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=[*_CLASSES, *_VALUES])
    parser.add_argument("--splits", type=int, help="in place of 5 or 20")
    parser.add_argument("--rows", type=int, help="to train on, in place of 3,000 or seven of ten")
    parser.add_argument("--large", action="store_true", help="20,000 rows against RBFSampler and a tuned linear model")
    parser.add_argument("--cost", action="store_true", help="how long the choice takes")
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=UserWarning)
    if options.cost:
        found = [_cost(name) for name in options.datasets]
        print(*(text for text, _ in found), sep="\n")
        return 0 if all(holds for _, holds in found) else 1
    print("| data | ours | peers | difference (error) | seconds | of the slowest peer | met | chosen |")
    print("| --- " * 8 + "|", flush=True)
    cells: dict[str, list[Cell]] = {"classes": [], "values": []}
    for name in options.datasets:
        X, y = _rows(name)
        how: dict[str, Any] = {"n_train": options.rows, "n_splits": options.splits}
        if name in _VALUES:
            peers = {"SVR": SVR, "KernelRidge": lambda: KernelRidge(kernel="rbf")}
            cell = compare(name, X, y, lambda seed: lt.KernelRegressor(random_state=seed), peers, 0.0, **how)
        elif options.large:
            if len(X) < _LARGE + _TESTED // 4:
                continue
            how["n_train"] = options.rows or _LARGE
            peers = {"RBFSampler, tuned": _tuned}
            cell = compare(name, X, y, lambda seed: lt.KernelClassifier(random_state=seed), peers, 0.0, **how)
        else:
            cell = compare(
                name, X, y, lambda seed: lt.KernelClassifier(random_state=seed), {"SVC": SVC}, _ALLOWED, **how
            )
        cells["values" if name in _VALUES else "classes"].append(cell)
        print(cell, flush=True)
    holds = True
    for each in filter(None, cells.values()):
        text, one = summarize(each)
        print(text)
        holds &= one
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
