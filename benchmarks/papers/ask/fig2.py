"""Fig. 2: relative error of the kernel matrix against the number of frequencies, with what the closed forms predict."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

import lowtide as lt
from benchmarks.papers.ask.setting import COLORS, Floats, datasets, encoder, kernels
from benchmarks.papers.plotting import GRAY, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main


def relative_errors(
    kernel: lt.kernels.MeasureKernel, X: Floats, counts: list[int], seeds: list[int], form: str
) -> Floats:
    """Return |K - estimate|_F / |K|_F for every seed and number of frequencies, (seeds, counts)."""
    K = kernel.gram(X)
    norm, d = float(np.linalg.norm(K)), X.shape[1]
    return np.array(
        [
            [np.linalg.norm(encoder(kernel, M, d, seed, form).kernel_estimate(X) - K) / norm for M in counts]
            for seed in seeds
        ]
    )


def predicted_error(kernel: lt.kernels.MeasureKernel, X: Floats, form: str) -> float:
    """Return the root of the summed variance of one frequency a block, over |K|_F."""
    chunks = np.array_split(X, max(1, len(X) // 50))
    total = sum(float(lt.theory.measure_variance(kernel, part[:, None] - X, form).sum()) for part in chunks)
    return float(np.sqrt(total) / np.linalg.norm(kernel.gram(X)))


def measure(run: Run) -> Figure:
    n, trials = run.size(1000, 100), run.size(10, 10)
    exponents = list(run.size(range(1, 8), range(1, 6)))
    run.settings |= {"rows": n, "trials": trials, "log2 M/d": exponents}
    data = datasets(run)
    figure, axes = panels(1, len(data), "Relative error of the kernel matrix (dashed: closed form; gray: phase form)")
    slopes, ratios = [], []
    for i, (axis, (name, part)) in enumerate(zip(axes[0], data.items())):
        X = part.X[run.generator(i).choice(len(part.X), min(n, len(part.X)), replace=False)]
        d = X.shape[1]
        run.progress(f"{name}: {len(X)} rows, {d} columns")
        counts = [d * 2**e for e in exponents]
        for j, (kind, kernel) in enumerate(kernels(d).items()):
            seeds = run.seeds(trials, 10 * i + j)
            errors = relative_errors(kernel, X, counts, seeds, "blocks")
            predicted = predicted_error(kernel, X, "blocks") / np.sqrt(counts)
            axis.errorbar(
                exponents, errors.mean(axis=0), errors.std(axis=0), fmt="o", ms=3, color=COLORS[kind], label=kind
            )
            axis.plot(exponents, predicted, "--", lw=1, color=COLORS[kind])
            slopes += [np.polyfit(np.log2(counts), np.log2(row), 1)[0] for row in errors]
            ratios += list(np.mean(errors**2 / predicted**2, axis=1))
            _compare_forms(run, f"{name} {kind}", kernel, X, len(kernel.measures(d)))
        axis.plot(exponents, predicted_error(kernels(d)["shift"], X, "phase") / np.sqrt(counts), lw=1, color=GRAY)
        axis.set(title=f"{name}, d = {d}", xlabel="log2 M/d", yscale="log")
    words = "the error decreases as M grows: slope of its logarithm, all datasets and kernels"
    run.claim("slope", words, "decreases", *mean_and_error(slopes), equals=-0.5, slack=0.02, source="corrected")
    words = "the squared error is the closed-form variance: ratio, all datasets, kernels and M"
    run.claim("variance", words, "-", *mean_and_error(ratios), equals=1, source="corrected")
    axes[0, 0].legend()
    return figure


def _compare_forms(run: Run, name: str, kernel: lt.kernels.MeasureKernel, X: Floats, n_blocks: int) -> None:
    """Note the squared error of the phase form over that of the blocks at equally many columns, in closed form."""
    blocks, phase = (predicted_error(kernel, X, form) ** 2 for form in ("blocks", "phase"))
    run.settings.setdefault("phase over blocks at equal columns", {})[name] = round(phase / (n_blocks * blocks), 3)


STUDY = Study("ask.fig2", "AsK-RFF", "Fig. 2", "error of the kernel matrix", measure)

if __name__ == "__main__":
    main(STUDY)
