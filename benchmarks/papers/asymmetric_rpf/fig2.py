"""Fig. 2: the square wave as the least significant bit of a plain quantizer, its smoothness on average, its kernel.

Left: the wave, and how far it moves within 0.35 of each t (the integrand of Proposition 6). Right: the Gaussian kernel
and what two sides of one bit make of it, almost linear near the origin (16).
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.papers.plotting import BLACK, BLUE, GREEN, RED, panels
from benchmarks.papers.sampling import coefficient, mean_and_error
from benchmarks.papers.study import Run, Study, main

Floats = NDArray[np.float64]

DIMENSION = 5
RADIUS = 0.35  # the figure's delta
SLOPE = 2 * np.sqrt(2) / np.pi**1.5
KERNEL = lt.kernels.Gaussian()


def wave(t: Floats) -> Floats:
    """Return q(t), the sign of the cosine."""
    return np.where(np.cos(t) >= 0, 1.0, -1.0)


def least_significant_bit(t: Floats) -> Floats:
    """Return the last bit of the integer that a uniform quantizer of step pi makes of t + pi/2, as -1 or 1."""
    return 1.0 - 2.0 * (np.floor((t + np.pi / 2) / np.pi).astype(np.int64) % 2)


def farthest_move(t: Floats, radius: float) -> Floats:
    """Return sup over |r| <= radius of |q(t + r) - q(t)|: 2 within that distance of a jump, else 0."""
    to_jump = np.abs((t - np.pi / 2 + np.pi / 2) % np.pi - np.pi / 2)
    return np.where(to_jump <= radius, 2.0, 0.0)


def encoder(m: int, seed: int) -> lt.RandomFeatures:
    """Return an encoder of one bit a dithered cosine."""
    options = {"projection": "iid", "feature_map": "cosine", "bits": 1}
    return lt.RandomFeatures(KERNEL, n_components=m, random_state=seed, **options).fit(np.zeros((1, DIMENSION)))


def judge_wave(run: Run) -> None:
    """Claim what the left half shows; nothing here is sampled but the rows."""
    enc, X = encoder(256, run.seed), run.generator().standard_normal((run.size(2000, 200), DIMENSION))
    phases = X.astype(np.float32) @ enc.random_weights_ + enc.random_offset_
    bits = np.sign(np.asarray(enc.encode(X)))
    clear = np.abs(np.cos(phases)) > 1e-4  # float32 projections: a phase nearer to a jump may fall on either side
    words = "codes that are not the least significant bit of a uniform quantizer of step pi, of the projections"
    run.claim("last_bit", words, "0", np.sum((bits != least_significant_bit(phases)) & clear), equals=0)
    step = 2 * np.pi / 2**14
    t = (np.arange(2**14) + 0.5) * step
    k = np.arange(-15, 16)
    gap = np.abs([np.mean(wave(t) * np.exp(-1j * i * t)) for i in k] - lt.theory.universal_Qk(k)).max()
    words = "the Fourier coefficients are (8): largest difference from quadrature, k = -15 to 15"
    rounding = {"slack": 1e-5, "why": "a quadrature over 16,384 phases"}
    run.claim("coefficients", words, "0", gap, equals=0, **rounding)
    radii = step * np.round(np.append(np.linspace(0.05, np.pi, 60), RADIUS) / step)  # jumps lie on this grid
    slopes = np.array([farthest_move(t, radius).mean() / radius for radius in radii])
    words = "the mean Lipschitz constant is 4/pi (36): the largest mean move within delta over delta"
    run.claim("lipschitz", words, "1.2732", slopes.max(), equals=4 / np.pi, **rounding)
    run.claim(
        "lipschitz_figure",
        f"the same at the figure's delta = {RADIUS}",
        "1.2732",
        slopes[-1],
        equals=4 / np.pi,
        **rounding,
    )


def judge_kernel(run: Run, distance: Floats) -> Floats:
    """Claim what the right half shows, and return the mean of the simulated estimates."""
    points = np.zeros((len(distance), DIMENSION))
    points[:, 0] = distance
    draws = np.array([one_draw(points, run.settings["m"], seed) for seed in run.seeds(run.settings["draws"])])
    kernel, distorted = KERNEL.radial(distance, DIMENSION), lt.theory.kappa_qq(KERNEL, distance, DIMENSION)
    share = mean_and_error(coefficient(draws - kernel, distorted - kernel))
    words = "two sides of one bit have the distorted kernel kappa_qq as their mean (1), not the Gaussian (0)"
    run.claim("distorted", words, "1", *share, equals=1)
    fine = np.linspace(0.05, 4, 400)
    excess = lt.theory.kappa_qq(KERNEL, fine, DIMENSION) - KERNEL.radial(fine, DIMENSION)
    words = "kappa_qq is narrower than the Gaussian kernel: largest excess over it, to four bandwidths"
    run.claim("narrower", words, "below 0", excess.max(), below=0)
    near = np.linspace(0.01, 0.5, 50)
    linear = np.abs(lt.theory.kappa_qq(KERNEL, near, DIMENSION) - (1 - SLOPE * near)).max()
    words = "almost linear close to the origin: largest distance from the line of corrected slope, to half a bandwidth"
    run.claim("linear", words, "almost 0", linear, below=1e-8, source="corrected")
    return np.asarray(draws.mean(axis=0))


def one_draw(points: Floats, m: int, seed: int) -> Floats:
    """Return estimates of the kernel of codes against codes, normalized, between the first point and each."""
    codes = np.asarray(encoder(m, seed).encode(points), dtype=np.float64)
    return np.asarray(codes @ codes[0] / (np.pi**2 / 8))  # codes decode to pi^2/8 at x = y


def measure(run: Run) -> Figure:
    run.settings |= {"dimension": DIMENSION, "delta": RADIUS, "m": 1000, "draws": run.size(200, 40)}
    judge_wave(run)
    distance = np.linspace(0, 4, 41)
    simulated = judge_kernel(run, distance)
    figure, (axes,) = panels(1, 2, "The square wave, and the kernel of two one-bit sides")
    t = np.linspace(-np.pi, 3 * np.pi, 2001)
    axes[0].plot(t, wave(t), color=BLACK, label="q(t)")
    axes[0].plot(t, farthest_move(t, RADIUS), "--", color=GREEN, label=f"farthest move within {RADIUS}")
    axes[0].set(xlabel="t", title="the last bit of a uniform quantizer")
    fine = np.linspace(0, 4, 400)
    axes[1].plot(fine, KERNEL.radial(fine, DIMENSION), color=BLACK, label="Gaussian kernel")
    axes[1].plot(fine, lt.theory.kappa_qq(KERNEL, fine, DIMENSION), "--", color=RED, label="kappa_qq")
    axes[1].plot(fine, 1 - SLOPE * fine, ":", color=BLUE, label="corrected line of (16)")
    axes[1].plot(distance, simulated, ".", color=RED, label="simulated")
    axes[1].set(xlabel="distance in bandwidths", ylim=(-0.1, 1.05), title="one bit on both sides")
    for axis in axes:
        axis.legend()
    return figure


STUDY = Study("asymmetric_rpf.fig2", "Asymmetric RPF", "Fig. 2", "the square wave and its kernel", measure)

if __name__ == "__main__":
    main(STUDY)
