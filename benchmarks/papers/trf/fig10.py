"""Figs. 10 and 11: SVM accuracy on a8a and ijcnn1, ternary features against RFF and orthogonal features.

As in the paper m counts features, from p to 8 p; what a feature costs in bits is told beside. The SVM has squared
hinge loss, C the best of a few on held-out rows. Sums need many terms to be normal: ijcnn1 has 22 columns, so W has no
zeros there; 90% zeros, two terms a sum, are shown beside.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import lowtide as lt
from benchmarks.datasets import load
from benchmarks.papers.asymmetric_rpf.sides import GivenFeatures
from benchmarks.papers.plotting import BLACK, BLUE, GRAY, RED, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main
from benchmarks.papers.trf.data import Mixture, Split, fit_ternary, rows_of

Floats = NDArray[np.float64]

STRENGTHS = (1.0, 10.0, 100.0)
NAMES = {
    "rff": ("RFF, 32 bits", BLACK),
    "orf": ("orthogonal, 32 bits", BLUE),
    "trf": ("ternary, 1.6 bits", RED),
    "trf sparse": ("ternary, 90% zeros", GRAY),
}


def make(name: str, X: NDArray[Any], gamma: float, m: int, seed: int) -> Any:
    """Return fitted features by name."""
    if name.startswith("trf"):
        sparsity: Any = 0.9 if name == "trf sparse" else "auto"
        return fit_ternary(X, gamma=gamma, n_components=m, sparsity=sparsity, random_state=seed)
    projection = {"rff": "iid", "orf": "orthogonal"}[name]
    options = {"projection": projection, "bits": None, "random_state": seed}
    return lt.RandomFeatures("rbf", gamma=gamma, n_components=m, **options).fit(X)


def accuracy(Z: Any, split: Split, Z_test: Any, max_iter: int) -> float:
    """Return the test accuracy, C chosen on the last fifth of the training rows."""
    cut = 4 * len(split.y) // 5

    def fitted(C: float, n: int) -> Any:
        features = GivenFeatures() if isinstance(Z, np.ndarray) else None
        model = lt.KernelClassifier(features, loss="squared_hinge", C=C, max_iter=max_iter)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the last steps change no prediction
            return model.fit(Z[:n], split.y[:n])

    best = max(STRENGTHS, key=lambda C: fitted(C, cut).score(Z[cut:], split.y[cut:]))
    return float(fitted(best, len(split.y)).score(Z_test, split.y_test))


def datasets(run: Run) -> dict[str, Split]:
    """Return the paper's two, or a mixture in the quick form."""
    if run.quick:
        X, y = Mixture(40).draw(run.generator(3), 2400)
        return {"mixture": Split(X[:1200], y[:1200], X[1200:], y[1200:])}
    found = {}
    for name in ("a8a", "ijcnn1"):
        X, X_test, y, y_test = load(name).split()
        found[name] = Split(X.astype(np.float32), y, X_test.astype(np.float32), y_test)
    return found


def accuracies(run: Run, whole: Split, sizes: list[int]) -> dict[str, Floats]:
    """Return accuracies (draws, sizes) by name."""
    n_draws = run.settings["draws"]
    found = {name: np.empty((n_draws, len(sizes))) for name in NAMES}
    for draw in range(n_draws):
        rng, seed = run.generator(10 + draw), run.seeds(draw + 1)[draw]
        X, y = rows_of(rng, whole.X, whole.y, run.settings["n"])
        split = Split(X, y, *rows_of(rng, whole.X_test, whole.y_test, run.settings["n_test"]))
        # tau = 1: Theorem 1's scale, and near scikit-learn's gamma="scale".
        gamma = 0.5 / float(np.var(X.astype(np.float64), axis=0).sum())
        for name in NAMES:
            for i, m in enumerate(sizes):
                features = make(name, X, gamma, m, seed)
                side = features.encode if name.startswith("trf") else features.transform
                found[name][draw, i] = accuracy(side(X), split, side(split.X_test), run.settings["max_iter"])
        run.progress(f"draw {draw + 1} of {n_draws}")
    return found


def judge(run: Run, where: str, sizes: list[int], found: dict[str, Floats]) -> None:
    for other in ("rff", "orf"):
        steps = (found["trf"] - found[other]).mean(axis=1)
        words = f"{where}: gain in accuracy at equal m, {NAMES[other][0]} to ternary, mean over m"
        run.claim(f"{where}_{other}", words, "higher", *mean_and_error(steps), above=0)
    if run.quick:
        return
    # A feature of 32 bits takes the bits of 20 trits: 8 p trits against p floats are well below.
    steps = found["trf"][:, -1] - found["rff"][:, 0]
    words = f"{where}: accuracy of {sizes[-1]} trits less that of {sizes[0]} RFF, which take 2.5 times their bits"
    run.claim(f"{where}_bits", words, "-", *mean_and_error(steps), above=0, source="corrected")
    steps = found["trf sparse"][:, -1] - found["trf"][:, -1]
    words = f"{where}, m = {sizes[-1]}: change of accuracy, sums of 30 terms or all columns to 90% zeros"
    run.claim(f"{where}_sparsity", words, "virtually none", *mean_and_error(steps), equals=0, slack=0.005)


def draw_plot(run: Run, results: dict[str, dict[str, Floats]]) -> Figure:
    figure, axes = panels(1, len(results), "SVM accuracy, mean and standard error over draws")
    for axis, (where, found) in zip(axes[0], results.items()):
        sizes = run.settings[f"m_{where}"]
        for name, (label, color) in NAMES.items():
            error = found[name].std(axis=0, ddof=1) / np.sqrt(len(found[name]))
            axis.errorbar(sizes, found[name].mean(axis=0), error, fmt="o-", ms=4, color=color, label=label)
        axis.set(title=where, xscale="log", xlabel="features m")
        axis.set_xticks(sizes, [str(m) for m in sizes])
        axis.minorticks_off()
    axes[0, 0].set_ylabel("test accuracy")
    axes[0, 0].legend()
    return figure


def measure(run: Run) -> Figure:
    run.settings |= {"n": run.size(5000, 500), "n_test": run.size(9000, 800), "draws": 3}
    run.settings |= {"max_iter": run.size(100, 60), "C": list(STRENGTHS), "tau": 1.0, "loss": "squared_hinge"}
    results = {}
    for where, whole in datasets(run).items():
        run.progress(where)
        sizes = [whole.X.shape[1] * times for times in run.size((1, 4, 8), (1, 4))]
        run.settings[f"m_{where}"] = sizes
        results[where] = accuracies(run, whole, sizes)
        judge(run, where, sizes, results[where])
        means = {name: np.round(values.mean(axis=0), 4).tolist() for name, values in results[where].items()}
        run.settings[f"accuracy_{where}"] = means
    return draw_plot(run, results)


STUDY = Study("trf.fig10", "TRF", "Figs. 10, 11", "SVM on a8a and ijcnn1", measure)

if __name__ == "__main__":
    main(STUDY)
