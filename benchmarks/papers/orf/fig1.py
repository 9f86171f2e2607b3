"""Fig. 1: mean and variance of orthogonal features against their closed forms, far out (z = 24) in 300 dimensions."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

import lowtide as lt
from benchmarks.papers.orf.estimates import Floats, estimates
from benchmarks.papers.plotting import BLUE, RED, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main


def experiments(run: Run, dimension: int, p: int, z: float, stream: int) -> Floats:
    """Return estimates (n_repeats, s) at distance z with p frequencies."""
    repeats, s = run.settings["repeats"], run.settings["s"]
    draws = estimates(lt.kernels.Bessel(), "haar", dimension, p, np.array([z]), run.seeds(repeats * s, stream))
    return draws.reshape(repeats, s)


def judge(run: Run, scores: Floats, ratios: Floats, offsets: Floats, gaussian: float) -> None:
    """Claim what the standardized errors of the mean, (p, repeats), and the variance ratios say."""
    words = "Theorem 2: the mean is the Bessel kernel (errors of the mean in standard errors, averaged)"
    run.claim("mean", words, "0", *mean_and_error(scores), equals=0)
    words = "Theorem 2: the errors of the mean are as large as Theorem 4's variance says (mean square, standard errors)"
    run.claim("mean_square", words, "1", *mean_and_error(scores**2), equals=1)
    words = "Theorem 4: the variance over its closed form"
    run.claim("variance", words, "1", *mean_and_error(ratios), equals=1)
    words = f"the mean is not the Gaussian kernel, {gaussian:.1g} here (mean of the estimates less that)"
    run.claim("not_gaussian", words, "far above", *mean_and_error(offsets), above=0.1)


def measure(run: Run) -> Figure:
    dimension, z = run.size(300, 40), run.size(24.0, 9.0)
    counts = np.array(run.size([10, 50, 100, 150, 200, 250, 300], [4, 10, 20, 40]))
    run.settings |= {"dimension": dimension, "z": z, "p": counts.tolist(), "s": 50, "repeats": run.size(10, 8)}
    mean = float(lt.kernels.normalized_bessel(dimension, z))
    means, variances, expected = [], [], []
    for i, p in enumerate(counts):
        run.progress(f"p = {p}")
        draws = experiments(run, dimension, int(p), z, i)
        means.append(draws.mean(axis=1))
        variances.append(draws.var(axis=1))
        expected.append(float(lt.theory.orf_variance(dimension, int(p), z)))
    M, V, variance = np.array(means), np.array(variances), np.array(expected)[:, None]
    s = run.settings["s"]
    # The paper's empirical variance divides by s, so its mean is (s - 1)/s of the variance.
    ratios = V / variance * s / (s - 1)
    gaussian = float(np.exp(-(z**2) / 2))
    judge(run, (M - mean) / np.sqrt(variance / s), ratios, M - gaussian, gaussian)
    figure, (axes,) = panels(1, 2, f"Orthogonal features at z = {z:g} in {dimension} dimensions, {s} draws a point")
    parts = {"|mean - Theorem 2|": (M - mean, np.sqrt(variance / s)), "|variance - Theorem 4|": (V - variance, None)}
    for axis, (title, (error, scale)) in zip(axes, parts.items()):
        axis.plot(counts, np.abs(error), ".", color=BLUE, ms=4)
        axis.plot(counts, np.abs(error).mean(axis=1), color=BLUE, label="mean of the repeats")
        predicted = scale if scale is not None else variance * np.sqrt(2 / s)
        axis.plot(counts, predicted * np.sqrt(2 / np.pi), "--", color=RED, label="expected of sampling alone")
        axis.set(title=title, xlabel="frequencies p", yscale="log")
        axis.legend()
    return figure


STUDY = Study("orf.fig1", "ORF", "Fig. 1", "mean and variance against their closed forms", measure)

if __name__ == "__main__":
    main(STUDY)
