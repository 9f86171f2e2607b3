"""Fig. 3: the Gaussian and the Laplace kernel seen through three estimators.

Pairs of points at distances 0 to 5 in five dimensions; full against full, 1 bit against full, 1 bit against 1 bit. The
paper draws the frequencies once; here they are drawn many times, so that a mean and a share inside a band have errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.papers.plotting import BLUE, GRAY, GREEN, RED, panels
from benchmarks.papers.sampling import bootstrap_error, coefficient, mean_and_error
from benchmarks.papers.study import Run, Study, main

Floats = NDArray[np.float64]

DIMENSION = 5
FARTHEST = 5.0
SIDES = {
    "full, full": ("full", "full"),
    "1 bit, full": ("codes", "full"),
    "1 bit, 1 bit": ("codes", "codes"),
}
SLOPE = 2 * np.sqrt(2) / np.pi**1.5


@dataclass(frozen=True)
class View:
    """One kernel through one pair of sides: expected curve, standard error and estimates over distance."""

    kernel: Floats  # (n,)
    mean: Floats  # (n,)
    std: Floats  # (n,)
    estimates: Floats  # (n_draws, n)

    @property
    def coverage(self) -> Floats:
        """Share of the pairs inside two predicted standard errors, per draw."""
        return np.asarray(np.mean(np.abs(self.estimates - self.mean) <= 2 * self.std, axis=1))


def encoder(kernel: lt.kernels.Kernel, n_components: int, seed: int) -> lt.RandomFeatures:
    options = {"projection": "iid", "feature_map": "cosine", "bits": 1}
    return lt.RandomFeatures(kernel, n_components=n_components, random_state=seed, **options).fit(
        np.zeros((1, DIMENSION))
    )


def pairs(rng: np.random.Generator, norm: float, n: int) -> tuple[Floats, Floats, Floats]:
    """Return x, y and |x - y|, which grows evenly from 0 to 5."""
    X, U = rng.standard_normal((2, n, DIMENSION))
    distance = np.linspace(0, FARTHEST, n)
    steps = U / np.linalg.norm(U, ord=norm, axis=1, keepdims=True) * distance[:, None]
    return X, X + steps, distance


def look(run: Run, kernel: lt.kernels.Kernel, n_components: int, stream: int) -> tuple[Floats, dict[str, View]]:
    """Return the distances and the three views of a kernel."""
    X, Y, distance = pairs(run.generator(stream), kernel.norm, run.settings["n_pairs"])
    seeds = run.seeds(run.settings["n_draws"], stream)
    estimates = {name: np.empty((len(seeds), len(X))) for name in SIDES}
    for i, seed in enumerate(seeds):
        enc = encoder(kernel, n_components, seed)
        left = {"full": enc.transform(X), "codes": np.asarray(enc.encode(X))}
        right = {"full": enc.transform(Y), "codes": np.asarray(enc.encode(Y))}
        for name, (a, b) in SIDES.items():
            estimates[name][i] = np.einsum("ij,ij->i", left[a], right[b])
    # Only the distance matters to mean and standard error: points on a line give them without all pairs.
    enc, origin, line = encoder(kernel, n_components, 0), np.zeros((1, DIMENSION)), np.zeros((len(X), DIMENSION))
    line[:, 0] = distance
    views = {}
    for name, sides in SIDES.items():
        scale = float(enc.expected_kernel(origin, sides=sides)[0, 0])
        mean = enc.expected_kernel(origin, line, sides=sides, normalize=True)[0]
        std = enc.kernel_estimate(origin, line, sides=sides, normalize=True, return_std=True)[1][0]
        views[name] = View(kernel.radial(distance, DIMENSION), mean, std, estimates[name] / scale)
    return distance, views


def judge_means(run: Run, name: str, distance: Floats, views: dict[str, View], scale: float) -> None:
    semi, coded = views["1 bit, full"], views["1 bit, 1 bit"]
    distortion = coded.mean - coded.kernel
    share = mean_and_error(coefficient(semi.estimates - semi.kernel, distortion))
    words = f"{name}: 1 bit against full has the kernel itself as mean (share of the 1-bit distortion in it)"
    run.claim(f"unbiased_{name}", words, "0", *share, equals=0)
    share = mean_and_error(coefficient(coded.estimates - coded.kernel, distortion))
    words = f"{name}: 1 bit against 1 bit follows the distorted kernel kappa_qq (share of the distortion in it)"
    run.claim(f"distorted_{name}", words, "1", *share, equals=1)
    errors = {side: np.mean((views[side].estimates - views[side].mean) ** 2, axis=1) for side in SIDES}

    def ratio(draws: NDArray[np.intp]) -> float:
        return float(np.sqrt(errors["1 bit, full"][draws].mean() / errors["full, full"][draws].mean()))

    n_draws = len(semi.estimates)
    error = bootstrap_error(ratio, n_draws, run.generator(7))
    words = f"{name}: rms error of 1 bit against full over that of full against full; the most it can be is pi/sqrt(8)"
    run.claim(f"rms_{name}", words, "hard to see", ratio(np.arange(n_draws)), error, below=np.pi / np.sqrt(8))
    if name == "gaussian":
        judge_wave(run, distance / scale, coded)


def judge_wave(run: Run, s: Floats, coded: View) -> None:
    """Hold the two printed forms of the expected kernel of codes against codes, and the corrected ones, to the data."""
    printed = (1 + coded.mean) / 2  # the mean over frequencies of |1 - t/pi|
    share = mean_and_error(coefficient(coded.estimates - coded.mean, printed - coded.mean))
    words = "gaussian: codes against codes follow the triangle wave max(1 - t/pi, t/pi - 1) (1: that; 0: 1 - 2|t|/pi)"
    if_not = (
        "Its mean over the frequencies is (1 + kappa_qq)/2 and never negative; the estimates follow kappa_qq itself."
    )
    run.claim("printed_wave", words, "1", *share, equals=1, if_not=if_not)
    near = s <= 0.35
    slope = mean_and_error((1 - coded.estimates[:, near]) @ s[near] / (s[near] @ s[near]))
    words = "gaussian: slope of kappa_qq at small distance, in units of the bandwidth"
    if_not = "The printed slope is that of the printed wave, half of the true one; the next row is the true one."
    printed_slope = {"equals": SLOPE / 2, "if_not": if_not}
    run.claim("slope_printed", words + ", (16) as printed", f"{SLOPE / 2:.4f}", *slope, **printed_slope)
    run.claim("slope", words + ", corrected", f"{SLOPE:.4f}", *slope, equals=SLOPE, source="corrected")


def draw(figure_axes: NDArray[np.object_], name: str, distance: Floats, views: dict[str, View]) -> None:
    thin = slice(None, None, len(distance) // 100)
    s = distance[thin]
    for axis, (sides, view) in zip(figure_axes, views.items()):
        mean, band = view.mean[thin], 2 * view.std[thin]
        axis.fill_between(s, mean - band, mean + band, color=GREEN, alpha=0.3, lw=0)
        axis.plot(distance, view.estimates[0], ".", color=GRAY, ms=1.2, rasterized=True, label="estimate")
        axis.plot(s, view.kernel[thin], color=RED, label="kernel")
        if sides == "1 bit, 1 bit":
            axis.plot(s, mean, color=BLUE, label="expected")
            axis.plot(s, (1 + mean) / 2, "--", color=BLUE, lw=1, label="as printed")
        axis.set(title=f"{name}: {sides}", xlabel="distance", ylim=(-0.35, 1.25))
        axis.legend(loc="upper right")


def measure(run: Run) -> Figure:
    run.settings |= {"dimension": DIMENSION, "n_pairs": run.size(2000, 200), "n_draws": run.size(200, 100)}
    run.settings |= {"bandwidth": 1.5, "n_components": {"gaussian": 200, "laplace": run.size(2000, 400)}}
    kernels = {"gaussian": lt.kernels.Gaussian(1.5), "laplace": lt.kernels.Laplace(1.5)}
    figure, axes = panels(2, 3, "Kernels through three estimators: one draw, with the predicted band of two errors")
    coverage: dict[str, list[Floats]] = {sides: [] for sides in SIDES}
    for row, (name, kernel) in enumerate(kernels.items()):
        run.progress(f"{name} kernel")
        distance, views = look(run, kernel, run.settings["n_components"][name], row)
        judge_means(run, name, distance, views, scale=1.5)
        draw(axes[row], name, distance, views)
        for sides, view in views.items():
            coverage[sides].append(view.coverage)
    for sides, shares in coverage.items():
        words = f"{sides}: share of the pairs inside two predicted standard errors"
        key = "coverage_" + sides.replace(", ", "_").replace(" ", "")
        normal = {"equals": 0.9545, "slack": 0.003, "why": "sums of a few hundred bounded terms are only nearly normal"}
        run.claim(key, words, "0.9545", *mean_and_error(np.mean(shares, axis=0)), source="corrected", **normal)
    return figure


STUDY = Study("asymmetric_rpf.fig3", "Asymmetric RPF", "Fig. 3", "kernels seen through three estimators", measure)

if __name__ == "__main__":
    main(STUDY)
