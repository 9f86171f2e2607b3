"""Fig. 3: what one bit loses. The expected kernel of a 1-bit sketch swings for ever as the bandwidth falls."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

import lowtide as lt
from benchmarks.papers.one_sketch.products import Floats, rows_at, sketch_products, sketches, sklearn_gamma
from benchmarks.papers.plotting import BLACK, BLUE, RED, panels
from benchmarks.papers.study import Run, Study, main

# The figure has rho = -1 only; the text says that the others behave likewise.
CORRELATIONS = np.array([-1.0, 0.0, 0.5])
NAMES = ("opposite", "orthogonal", "half")
ROUNDING = 1e-5  # of float32 sums of as many terms as there are projections


def exact(gamma: Floats) -> Floats:
    """Return the Gaussian kernel, (correlations, gammas)."""
    return np.exp(-(gamma**2) * (1 - CORRELATIONS[:, None]))


def judge(run: Run, gamma: Floats, mean: Floats, error: Floats) -> None:
    """Judge the measured means, (correlations, gammas), with their standard errors."""
    printed = np.cos(0.7979 * gamma) ** 2 - np.sin(0.7979 * gamma) ** 2
    words = "the mean at rho = -1 is cos^2(0.7979 gamma) - sin^2(0.7979 gamma): largest difference, gamma to 5"
    why = "0.7979 is printed to four digits: at gamma = 5 the cosine may be off by 2 x 5 x 0.00002"
    run.claim("opposite_mean", words, "0", np.max(np.abs(mean[0] - printed)), equals=0, slack=2e-4, why=why)
    gap = np.abs(mean - exact(gamma))
    words = "it is reasonable with gamma <= 1: largest distance from the kernel at rho = -1"
    run.claim("reasonable", words, "reasonable", np.max(gap[0, gamma <= 1]), below=0.2)
    words = "with larger gamma it is wild: largest distance at rho = -1, gamma 1 to 5"
    run.claim("wild", words, "wild", np.max(gap[0, gamma > 1]), above=0.9)
    for i in (1, 2):
        j = int(np.argmax(gap[i]))
        words = f"similar instability holds for other rho: the same at rho = {CORRELATIONS[i]:g}, gamma to 5"
        run.claim(f"wild_{NAMES[i]}", words, "similar", gap[i, j], error[i, j], above=0.9)
    closed = np.array([lt.theory.sketch_kernel_one_bit(sklearn_gamma(g), CORRELATIONS) for g in gamma]).T
    noise = np.maximum(error[1:], ROUNDING)
    scores = (mean[1:] - closed[1:]) / noise
    words = "the closed form for any rho, cos^2 a + sin^2 a (2/pi) arcsin(rho): largest error in standard errors"
    run.claim("closed_form", words, "-", np.max(np.abs(scores)), below=4.5, source="corrected")


def judge_claim_1(run: Run) -> None:
    """Judge Claim 1: another value of the sign is another gamma, so all one-bit quantizers are one."""
    X, c = rows_at(CORRELATIONS), float(lt.quantizers.normal_steps(1).values[1])
    sign, lloyd = (lt.Sketch(512, bits=1, quantizer=name, random_state=0).fit(X) for name in ("sign", "lloyd_max"))
    pairs = [
        (sketch_products(sign, sign.encode(X), c * gamma), sketch_products(lloyd, lloyd.encode(X), gamma))
        for gamma in (0.5, 1.0, 3.0)
    ]
    words = "Claim 1: sign read as +-1 at 0.7979 gamma is Lloyd-Max at gamma: largest difference of products"
    largest = max(float(np.max(np.abs(a - b))) for a, b in pairs)
    run.claim("claim_1", words, "0", largest, equals=0, slack=ROUNDING, why="features are float32")


def measure(run: Run) -> Figure:
    gamma = np.linspace(0.1, 5, 50)
    run.settings |= {"projections": run.size(100_000, 20_000), "gamma": [0.1, 5, 50], "rho": CORRELATIONS.tolist()}
    sketch, codes = sketches(rows_at(CORRELATIONS), 1, run.settings["projections"], run.seeds(1)[0])
    samples = [sketch_products(sketch, codes, g) for g in gamma]
    mean = np.array([sample.mean(axis=1) for sample in samples]).T
    error = np.array([sample.std(axis=1) / np.sqrt(sample.shape[1]) for sample in samples]).T
    judge(run, gamma, mean, error)
    judge_claim_1(run)
    figure, (axes,) = panels(1, 3, "Expected kernel of one bit, over the paper's gamma", sharey=True)
    for i, axis in enumerate(axes):
        axis.plot(gamma, exact(gamma)[i], color=RED, label="Gaussian kernel")
        curve = [float(lt.theory.sketch_kernel_one_bit(sklearn_gamma(g), CORRELATIONS[i])) for g in gamma]
        axis.plot(gamma, curve, color=BLUE, label="1 bit, closed form")
        axis.plot(gamma, mean[i], ".", color=BLACK, ms=4, label=f"1 bit, {run.settings['projections']:,} projections")
        axis.set(title=f"rho = {CORRELATIONS[i]:g}", xlabel="gamma = 1/bandwidth")
    axes[0].set_ylabel("kernel")
    axes[1].legend(loc="lower left")
    return figure


STUDY = Study("one_sketch.fig3", "One-Sketch", "Fig. 3", "what one bit loses as gamma grows", measure)

if __name__ == "__main__":
    main(STUDY)
