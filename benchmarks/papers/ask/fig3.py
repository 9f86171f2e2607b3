"""Fig. 3: accuracy and sampling time of asymmetric embeddings against the number of frequencies.

Masses are fitted as Algorithm 2 does, C is chosen by five folds over the whole grid, in the first trial of each kernel
and M. At most 2000 rows to train on and as many to test, 10,000 for two classes, and five trials, where the paper has
all rows and ten.
"""

from __future__ import annotations

import time

import numpy as np
from matplotlib.figure import Figure

import lowtide as lt
from benchmarks.papers.ask.linear import accuracy, choose_strength, fit_linear
from benchmarks.papers.ask.setting import COLORS, Data, Floats, datasets, encoder, kernels
from benchmarks.papers.plotting import GRAY, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main


def some_rows(data: Data, rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return at most n rows to train on and as many to test on, five times as many of two classes."""
    most = n if len(np.unique(data.y)) > 2 else 5 * n  # machines of two classes take little time
    train, test = (rng.permutation(part)[:most] for part in data.split(rng))
    return data.X[train], data.y[train], data.X[test], data.y[test]


def linear_scores(data: Data, run: Run) -> Floats:
    """Return accuracies of the machine on the rows themselves, one a trial."""
    found, C = [], None
    for trial in range(run.settings["trials"]):
        rng = np.random.default_rng([run.seed, trial])
        X, y, X_test, y_test = some_rows(data, rng, run.settings["rows"])
        C = C or choose_strength(X.astype(np.float32), y, rng, run.settings["rows to choose C"])
        found.append(accuracy(fit_linear(X, y, C), X_test.astype(np.float32), y_test, np.unique(y)))
    return np.array(found)


def scores(data: Data, kind: str, factor: float, run: Run, stream: int) -> Floats:
    """Return accuracies, one a trial."""
    found, C = [], None
    d = data.X.shape[1]
    for trial, seed in enumerate(run.seeds(run.settings["trials"], stream)):
        rng = np.random.default_rng([run.seed, trial])
        X, y, X_test, y_test = some_rows(data, rng, run.settings["rows"])
        embed = encoder(kernels(d)[kind], max(1, round(d * factor)), d, seed, rows=X).embed
        F = embed(X)
        C = C or choose_strength(F, y, rng, run.settings["rows to choose C"])
        found.append(accuracy(fit_linear(F, y, C), embed(X_test), y_test, np.unique(y)))
    run.settings.setdefault("C", {})[f"{stream}"] = C
    return np.array(found)


def sampling_time(kernel: lt.kernels.MeasureKernel, d: int, M: int) -> float:
    """Return the processor's seconds for M frequencies of every block, the quickest of five."""
    rng, times = np.random.default_rng(0), []
    for _ in range(5):
        start = time.process_time()
        for block in kernel.measures(d):
            block.frequencies.sample(rng, d, M)
        times.append(time.process_time() - start)
    return min(times)


def measure(run: Run) -> Figure:
    factors = run.size((0.5, 1, 2, 4), (1, 4))
    run.settings |= {"trials": run.size(5, 4), "rows": run.size(2000, 300), "M/d": list(factors)}
    run.settings |= {"rows to choose C": run.size(600, 150)}
    data = datasets(run)
    figure, axes = panels(2, len(data), "Accuracy above, seconds to draw the frequencies below")
    rows = []
    for i, (name, part) in enumerate(data.items()):
        d = part.X.shape[1]
        linear = linear_scores(part, run)
        axes[0, i].axhline(linear.mean(), color=GRAY, ls="--", lw=1)
        rows.append([f"{name}, linear", *("" for _ in factors[1:]), f"{linear.mean():.1f}", ""])
        for j, (kind, kernel) in enumerate(kernels(d).items()):
            run.progress(f"{name}, {kind}: {part.X.shape}")
            found = np.array([scores(part, kind, f, run, 100 * i + 10 * j + k) for k, f in enumerate(factors)])
            means, spread = found.mean(axis=1), found.std(axis=1)
            axes[0, i].errorbar(np.log2(factors), means, spread, fmt="o-", ms=3, color=COLORS[kind], label=kind)
            times = [sampling_time(kernel, d, max(1, round(d * f))) for f in factors]
            axes[1, i].plot(np.log2(factors), times, "o-", ms=3, color=COLORS[kind])
            milliseconds = 1000 * sampling_time(kernel, d, 10_000)
            rows.append([f"{name}, {kind}", *(f"{value:.1f}" for value in means), f"{milliseconds:.0f}"])
            for key, k in (("d", factors.index(1)), ("most", len(factors) - 1)):
                words = f"{name}, {kind}: gain over the linear machine at M = {factors[k]} d"
                gain = mean_and_error(found[k] - linear)
                run.claim(f"{name}_{kind}_{key}", words, "above 0", *gain, above=0)
            words = f"{name}, {kind}: milliseconds for 10,000 frequencies of every block"
            limit = 50 * len(kernel.measures(d))
            run.claim(f"{name}_{kind}_time", words, "-", milliseconds, below=limit, source="corrected")
        axes[0, i].set(title=f"{name}, d = {d}")
        axes[1, i].set(xlabel="log2 M/d", yscale="log")
    run.table("accuracy", ["test accuracy, %", *(f"M = {f} d" for f in factors), "ms for 10,000"], rows)
    axes[0, 0].legend()
    return figure


STUDY = Study("ask.fig3", "AsK-RFF", "Fig. 3", "accuracy and sampling time", measure)

if __name__ == "__main__":
    main(STUDY)
