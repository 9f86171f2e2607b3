"""Fig. 3: accuracy and sampling time of asymmetric embeddings against the number of frequencies."""

from __future__ import annotations

import time

import numpy as np
from matplotlib.figure import Figure

import lowtide as lt
from benchmarks.papers.ask.linear import accuracy, fit_linear
from benchmarks.papers.ask.setting import COLORS, Data, Floats, datasets, encoder, kernels
from benchmarks.papers.plotting import GRAY, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main

C = 32.0


def some_rows(data: Data, rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return at most n rows to train on and as many to test on."""
    train, test = (rng.permutation(part)[:n] for part in data.split(rng))
    return data.X[train], data.y[train], data.X[test], data.y[test]


def scores(data: Data, kind: str, factor: float, run: Run, stream: int) -> tuple[Floats, Floats]:
    """Return accuracies and their gains over the linear machine, one a trial."""
    found, gains = [], []
    d = data.X.shape[1]
    for trial, seed in enumerate(run.seeds(run.settings["trials"], stream)):
        X, y, X_test, y_test = some_rows(data, np.random.default_rng([run.seed, trial]), run.settings["rows"])
        classes = np.unique(y)
        embed = encoder(kernels(d)[kind], max(1, round(d * factor)), d, seed).embed
        found.append(accuracy(fit_linear(embed(X), y, C), embed(X_test), y_test, classes))
        gains.append(found[-1] - accuracy(fit_linear(X, y, C), X_test.astype(np.float32), y_test, classes))
    return np.array(found), np.array(gains)


def sampling_time(kernel: lt.kernels.MeasureKernel, d: int, M: int) -> float:
    """Return the seconds of drawing M frequencies of every block, the quickest of five."""
    rng, times = np.random.default_rng(0), []
    for _ in range(5):
        start = time.perf_counter()
        for block in kernel.measures(d):
            block.frequencies.sample(rng, d, M)
        times.append(time.perf_counter() - start)
    return min(times)


def measure(run: Run) -> Figure:
    factors = run.size((0.25, 0.5, 1, 2, 4), (1, 4))
    run.settings |= {"trials": run.size(5, 4), "rows": run.size(3000, 300), "C": C, "M/d": list(factors)}
    data = datasets(run)
    figure, axes = panels(2, len(data), "Accuracy above, seconds to draw the frequencies below")
    for i, (name, part) in enumerate(data.items()):
        d = part.X.shape[1]
        run.progress(f"{name}: {part.X.shape}")
        for j, kind in enumerate(kernels(d)):
            results = [scores(part, kind, f, run, 100 * i + 10 * j + k) for k, f in enumerate(factors)]
            mean, spread = ([f(found) for found, _ in results] for f in (np.mean, np.std))
            axes[0, i].errorbar(np.log2(factors), mean, spread, fmt="o-", ms=3, color=COLORS[kind], label=kind)
            axes[0, i].axhline(np.mean(results[0][0] - results[0][1]), color=GRAY, ls="--", lw=1)
            times = [sampling_time(kernels(d)[kind], d, max(1, round(d * f))) for f in factors]
            axes[1, i].plot(np.log2(factors), times, "o-", ms=3, color=COLORS[kind])
            words = f"{name}, {kind}: gain over the linear machine at the largest M"
            run.claim(f"{name}_{kind}", words, "above 0", *mean_and_error(results[-1][1]), above=0)
            words = f"{name}, {kind}: milliseconds for 10,000 frequencies of every block"
            seconds = sampling_time(kernels(d)[kind], d, 10_000)
            limit = 50 * len(kernels(d)[kind].measures(d))
            run.claim(f"{name}_{kind}_time", words, "-", 1000 * seconds, below=limit, source="corrected")
        axes[0, i].set(title=f"{name}, d = {d}")
        axes[1, i].set(xlabel="log2 M/d", yscale="log")
    axes[0, 0].legend()
    return figure


STUDY = Study("ask.fig3", "AsK-RFF", "Fig. 3", "accuracy and sampling time", measure)

if __name__ == "__main__":
    main(STUDY)
