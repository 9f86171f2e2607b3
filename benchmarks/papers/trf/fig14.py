"""Figs. 13 to 15: a linear SVM on ReLU features against ternary features that match them, few rows, few features.

Fig. 14 is on the paper's data, Fashion-MNIST. Figs. 13 and 15 are on embeddings of CIFAR10 and ImageNet by networks
that are not at hand: embeddings of texts, the descriptions of packages by a sentence encoder (384 columns, 27 classes),
stand in their place. As there 1024 rows, 70 to 700 features, frequencies N(0, 1) on rows of unit mean square norm about
their mean; both see the same rows. The SVM has squared hinge loss, C the best of a few on held-out rows. Seconds are
those of the processor, for the features of all rows and one solve.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import lowtide as lt
from benchmarks.papers.plotting import BLUE, RED, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main
from benchmarks.papers.trf.data import Split, fit_ternary, images, official, rows_of

Floats = NDArray[np.float64]

STRENGTHS = (0.03, 0.3, 3.0)
SPARSITY = 0.9


NAMES = {"relu": ("ReLU features, 32 bits", BLUE), "ternary": ("ternary, 1.6 bits", RED)}


def unit_rows(X: NDArray[Any]) -> Any:
    """Return what centers rows and scales them to a mean square norm of 1, both learned of X."""
    mean = X.mean(axis=0, dtype=np.float64)
    scale = 1 / np.sqrt(np.mean(np.sum((X - mean) ** 2, axis=1)))
    return lambda rows: ((rows - mean) * scale).astype(np.float32)


def make(name: str, X: NDArray[Any], m: int, seed: int) -> Any:
    """Return fitted features by name, of rows of unit length."""
    if name == "ternary":
        return fit_ternary(X, "relu", n_components=m, sparsity=SPARSITY, random_state=seed)
    options = {"projection": "iid", "bits": None, "random_state": seed}
    return lt.ActivationFeatures("relu", n_components=m, **options).fit(X)


def accuracy(Z: Any, y: NDArray[Any], Z_test: Any, y_test: NDArray[Any]) -> tuple[float, float]:
    """Return the test accuracy, C chosen on the last quarter of the training rows, and the last solve's seconds."""
    cut = 3 * len(Z) // 4
    unit = 1 / np.sqrt(np.mean(np.sum((Z - Z.mean(axis=0)) ** 2, axis=1)))
    Z, Z_test = Z * unit, Z_test * unit

    def fitted(C: float, n: int) -> LinearSVC:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the largest C needs more steps than it is worth
            return LinearSVC(C=C, max_iter=300, random_state=0).fit(Z[:n], y[:n])

    best = max(STRENGTHS, key=lambda C: fitted(C, cut).score(Z[cut:], y[cut:]))
    begin = time.process_time()
    model = fitted(best, len(Z))
    return float(model.score(Z_test, y_test)), time.process_time() - begin


def draw_plot(sizes: list[int], results: dict[str, dict[str, Floats]]) -> Figure:
    figure, axes = panels(2, len(results), "SVM on few features: accuracy and seconds")
    for column, (where, found) in zip(axes.T, results.items()):
        for axis, part in zip(column, (0, 1)):
            for name, (label, color) in NAMES.items():
                values = found[name][part]
                error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
                axis.errorbar(sizes, values.mean(axis=0), error, fmt="o-", ms=4, color=color, label=label)
            axis.set(xlabel="features m")
        column[0].set_title(where)
    axes[0, 0].set_ylabel("test accuracy")
    axes[1, 0].set_ylabel("seconds, features and solve")
    axes[0, 0].legend()
    return figure


def judge(run: Run, where: str, sizes: list[int], found: dict[str, Floats]) -> None:
    last, few = sizes[-1], sizes[0]
    steps = found["ternary"][0] - found["relu"][0]
    none = {"equals": 0, "slack": run.size(0.01, 0.06), "why": "a point counts as similar"}
    words = f"{where}: change of accuracy from ReLU to ternary features, m = {last}"
    run.claim(f"{where}_largest", words, "similar", *mean_and_error(steps[:, -1]), **none)
    if run.quick:
        return
    words = f"{where}: change of accuracy from ReLU to ternary features, m = {few}"
    run.claim(f"{where}_smallest", words, "similar", *mean_and_error(steps[:, 0]), **none)
    # 70 ReLU features of 32 bits take the bits of 1400 trits.
    words = f"{where}: accuracy of {last} trits less that of {few} ReLU features, twice their bits"
    gain = found["ternary"][0][:, -1] - found["relu"][0][:, 0]
    run.claim(f"{where}_equal_bits", words, "-", *mean_and_error(gain), above=0, source="corrected")


def datasets(run: Run) -> dict[str, Split]:
    """Return clothes and texts, or small digits in the quick form."""
    if run.quick:
        return {"digits": images(run, "mnist")}
    return {"Fashion-MNIST": images(run, "fashion_mnist"), "texts": official("embeddings_debian")}


def measure(run: Run) -> Figure:
    sizes = run.size([70, 210, 350, 700], [35, 210])
    run.settings |= {"n": run.size(1024, 400), "n_test": run.size(4000, 400), "m": sizes, "draws": 3}
    run.settings |= {"sparsity": SPARSITY, "C": list(STRENGTHS)}
    results, rows = {}, []
    for where, whole in datasets(run).items():
        run.progress(where)
        found = {name: np.empty((2, run.settings["draws"], len(sizes))) for name in NAMES}
        for draw in range(run.settings["draws"]):
            rng, seed = run.generator(10 + draw), run.seeds(draw + 1)[draw]
            X, y = rows_of(rng, whole.X, whole.y, run.settings["n"])
            X_test, y_test = rows_of(rng, whole.X_test, whole.y_test, run.settings["n_test"])
            unit = unit_rows(X)
            X, X_test = unit(X), unit(X_test)
            for i, m in enumerate(sizes):
                for name in NAMES:
                    features = make(name, X, m, seed)
                    begin = time.process_time()
                    Z, Z_test = features.transform(X), features.transform(X_test)
                    took = time.process_time() - begin
                    score, solved = accuracy(Z, y, Z_test, y_test)
                    found[name][:, draw, i] = score, took + solved
        judge(run, where, sizes, found)
        results[where] = found
        for name, (label, _) in NAMES.items():
            scores, seconds = found[name].mean(axis=1)
            rows.append([f"{where}, {label}", *(f"{a:.3f} ({s:.2g} s)" for a, s in zip(scores, seconds))])
    run.table("accuracy", ["accuracy (seconds) at m =", *map(str, sizes)], rows)
    return draw_plot(sizes, results)


STUDY = Study("trf.fig14", "TRF", "Figs. 13-15", "ternary features in place of ReLU features", measure)

if __name__ == "__main__":
    main(STUDY)
