"""Fig. 14: a linear SVM on ReLU features against ternary features that match them, few rows, few features.

The paper's data are Fashion-MNIST; here MNIST. As there 1024 rows, 70 to 700 features, frequencies N(0, 1) on rows of
unit mean square norm; both see the same rows. The SVM has squared hinge loss, C the best of a few on held-out rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.papers.plotting import BLUE, RED, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main
from benchmarks.papers.trf.data import digits, fit_ternary, rows_of

Floats = NDArray[np.float64]

STRENGTHS = (0.01, 0.1, 1.0, 10.0)
SPARSITY = 0.9


def relu_features(rng: np.random.Generator, X: NDArray[Any], m: int) -> Any:
    """Return the map of rows to max(w.x, 0)/sqrt(m), centered and scaled by the training rows X as ternary ones are."""
    mean = X.mean(axis=0, dtype=np.float64)
    scale = 1 / np.sqrt(np.mean(np.sum((X - mean) ** 2, axis=1)))
    W = rng.standard_normal((X.shape[1], m)) * scale / np.sqrt(m)
    return lambda rows: np.maximum((rows - mean) @ W, 0)


def ternary_features(seed: int, X: NDArray[Any], m: int) -> Any:
    """Return the map of rows to trits that match ReLU, as floats."""
    mean = X.mean(axis=0, dtype=np.float64)
    scale = 1 / np.sqrt(np.mean(np.sum((X - mean) ** 2, axis=1)))
    encoder = fit_ternary(X * scale, "relu", n_components=m, sparsity=SPARSITY, random_state=seed)
    return lambda rows: encoder.transform(rows * scale)


def accuracy(Z: Any, y: NDArray[Any], Z_test: Any, y_test: NDArray[Any]) -> float:
    """Return the test accuracy, C chosen on the last quarter of the training rows."""
    cut = 3 * len(Z) // 4
    unit = 1 / np.sqrt(np.mean(np.sum((Z - Z.mean(axis=0)) ** 2, axis=1)))
    Z, Z_test = Z * unit, Z_test * unit

    def fitted(C: float, n: int) -> LinearSVC:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the largest C needs more steps than it is worth
            return LinearSVC(C=C, max_iter=300, random_state=0).fit(Z[:n], y[:n])

    best = max(STRENGTHS, key=lambda C: fitted(C, cut).score(Z[cut:], y[cut:]))
    return float(fitted(best, len(Z)).score(Z_test, y_test))


def draw_plot(sizes: list[int], found: dict[str, Floats]) -> Figure:
    figure, axes = panels(1, 1, "SVM on few features")
    names = {"relu": ("ReLU features, 32 bits", BLUE), "ternary": ("ternary, 1.6 bits", RED)}
    for name, (label, color) in names.items():
        error = found[name].std(axis=0, ddof=1) / np.sqrt(len(found[name]))
        axes[0, 0].errorbar(sizes, found[name].mean(axis=0), error, fmt="o-", ms=4, color=color, label=label)
    axes[0, 0].set(xlabel="features m", ylabel="test accuracy")
    axes[0, 0].legend()
    return figure


def judge(run: Run, sizes: list[int], found: dict[str, Floats]) -> None:
    last = sizes[-1]
    steps = found["ternary"] - found["relu"]
    slack = run.size(0.01, 0.06)
    words = f"change of accuracy from ReLU to ternary features, m = {last}"
    run.claim("largest", words, "similar", *mean_and_error(steps[:, -1]), equals=0, slack=slack)
    if run.quick:
        return
    words = f"change of accuracy from ReLU to ternary features, m = {sizes[0]}"
    run.claim("smallest", words, "similar", *mean_and_error(steps[:, 0]), equals=0, slack=slack)
    # 70 ReLU features of 32 bits take the bits of 1400 trits.
    words = f"accuracy of {last} trits less that of {sizes[0]} ReLU features, twice their bits"
    gain = found["ternary"][:, -1] - found["relu"][:, 0]
    run.claim("equal_bits", words, "-", *mean_and_error(gain), above=0, source="corrected")


def measure(run: Run) -> Figure:
    whole = digits(run)
    sizes = run.size([70, 210, 350, 490, 700], [35, 210])
    run.settings |= {"n": run.size(1024, 400), "n_test": run.size(4000, 400), "m": sizes, "draws": run.size(4, 3)}
    run.settings |= {"sparsity": SPARSITY, "C": list(STRENGTHS)}
    found = {name: np.empty((run.settings["draws"], len(sizes))) for name in ("relu", "ternary")}
    for draw in range(run.settings["draws"]):
        rng, seed = run.generator(10 + draw), run.seeds(draw + 1)[draw]
        X, y = rows_of(rng, whole.X, whole.y, run.settings["n"])
        X_test, y_test = rows_of(rng, whole.X_test, whole.y_test, run.settings["n_test"])
        for i, m in enumerate(sizes):
            maps = {"relu": relu_features(rng, X, m), "ternary": ternary_features(seed, X, m)}
            for name, feature_map in maps.items():
                found[name][draw, i] = accuracy(feature_map(X), y, feature_map(X_test), y_test)
    judge(run, sizes, found)
    run.settings["accuracy"] = {name: np.round(values.mean(axis=0), 4).tolist() for name, values in found.items()}
    return draw_plot(sizes, found)


STUDY = Study("trf.fig14", "TRF", "Fig. 14", "ternary features in place of ReLU features", measure)

if __name__ == "__main__":
    main(STUDY)
