"""Fig. 1: total masses fitted on ten rows of one-dimensional data, against the exact ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import quad

import lowtide as lt
from benchmarks.papers.ask.setting import Floats, kernels
from benchmarks.papers.plotting import BLUE, GREEN, RED, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main

PARTS = {"positive": BLUE, "negative": GREEN, "imaginary": RED}


def fitted(
    kernel: lt.kernels.MeasureKernel, X: Floats, M: int, rng: np.random.Generator, printed: bool = False
) -> Floats:
    """Return the three masses of (12) from M frequencies a block, with its sign corrected or as it is printed."""
    grams = {name: np.zeros((len(X), len(X))) for name in PARTS}
    names = {0.0: "positive", 0.5: "negative", 0.25: "imaginary"}
    for block in kernel.measures(1):
        wave = np.exp(1j * X @ block.frequencies.sample(rng, 1, M))
        mean = wave @ wave.conj().T / M
        grams[names[block.turn]] = mean.imag if block.turn == 0.25 else mean.real
    at_zero = float(kernel.at(np.zeros(1)))
    masses = lt.kernels.fit_masses(kernel.gram(X), **grams, value_at_zero=at_zero, printed=printed)
    return np.array([masses.positive, masses.negative, masses.imaginary])


def by_quadrature(kernel: lt.kernels.MeasureKernel) -> float:
    """Return the total mass by numerical integration of |Re mu| and |Im mu| over the line."""
    r, sigma = float(kernel.shift_vector(1)[0]), float(kernel.bandwidth)
    amplitude = np.exp((r / sigma) ** 2 / 2)
    name = type(kernel).__name__
    real = {"ShiftGaussian": lambda t: abs(np.cos(t)), "SinhGaussian": lambda t: 1.0}
    scale = {"ShiftGaussian": 1.0, "SinhGaussian": 1.0, "CoshGaussian": amplitude}[name]
    skew = amplitude if name == "SinhGaussian" else scale

    def density(u: float) -> float:
        part = scale * real.get(name, lambda t: abs(np.cos(t)))(r * u / sigma) + skew * abs(np.sin(r * u / sigma))
        return float(part * np.exp(-u * u / 2) / np.sqrt(2 * np.pi))

    kinks = np.unique(np.concatenate([[-10, 10], np.arange(-40, 41) * np.pi / 2 / abs(r / sigma)]))
    kinks = kinks[np.abs(kinks) <= 10]
    return sum(quad(density, a, b, epsabs=1e-13)[0] for a, b in pairwise(kinks))


def measure(run: Run) -> Figure:
    trials = run.size(40, 16)
    exponents = run.size(range(1, 11), range(3, 11))
    run.settings |= {"rows": 10, "trials": trials, "log2 M": list(exponents)}
    rng = run.generator()
    points = rng.standard_normal((2000, 1))
    figure, axes = panels(1, 3, "Masses fitted on ten rows (lines: exact)")
    for axis, (name, kernel) in zip(axes[0], kernels(1).items()):
        exact = kernel.masses(1)
        truth = np.array([exact.positive, exact.negative, exact.imaginary])
        found = np.array(
            [
                [fitted(kernel, points[rng.choice(2000, 10, replace=False)], 2**e, rng) for e in exponents]
                for _ in range(trials)
            ]
        )
        for i, (part, color) in enumerate(PARTS.items()):
            axis.axhline(truth[i], color=color, lw=1)
            spread = found[:, :, i].std(axis=0)
            axis.errorbar(exponents, found[:, :, i].mean(axis=0), spread, fmt="o", ms=3, color=color, label=part)
        axis.set(title=f"{name}-Gaussian", xlabel="log2 M/d")
        ratio = found[:, -1, 2] / truth[2]
        words = f"{name}: the fitted imaginary mass stabilizes around the exact one, ratio at the largest M"
        why = "'around' in the paper; ten rows leave a fit of 1024 frequencies that much off"
        run.claim(f"{name}_mass", words, "about 1", *mean_and_error(ratio), equals=1, slack=0.02, why=why)
        # Of the error, not of the deviation alone: with few frequencies a fit shrinks to 0 and does not spread either.
        error = np.sqrt(np.mean((found - truth) ** 2, axis=0)).sum(axis=1)
        shrink = error[-1] / error[0]
        words = f"{name}: the root mean square error of the masses falls as M grows, last over first"
        run.claim(f"{name}_spread", words, "below 1", float(shrink), below=1)
        printed = [fitted(kernel, points[:10], 2**10, rng, printed=True)[2] / truth[2] for _ in range(trials)]
        words = f"{name}: the same ratio with the sign of (12) as printed"
        if_not = "With that sign the best mass is minus the exact one, so the best that is not negative is 0."
        why = "'around' in the paper"
        error = mean_and_error(printed)
        run.claim(f"{name}_printed", words, "about 1", *error, equals=1, slack=0.05, why=why, if_not=if_not)
        words = f"{name}: the total mass in closed form over the numerical integral, in units of 1e-9 from 1"
        gap = abs(exact.total / by_quadrature(kernel) - 1) * 1e9
        run.claim(f"{name}_closed", words, "no analytical integral", gap, below=1, source="corrected")
    axes[0, 0].legend()
    return figure


STUDY = Study("ask.fig1", "AsK-RFF", "Fig. 1", "masses fitted and exact", measure)

if __name__ == "__main__":
    main(STUDY)
