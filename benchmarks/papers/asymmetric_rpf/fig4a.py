"""Fig. 4a: how many features keep the largest error over all pairs of n points below 0.15, and what 1 bit costs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.papers.asymmetric_rpf.uniform_error import (
    ESTIMATES,
    NORMAL,
    ROUGHLY,
    VARIANCE_RATIO,
    predicted_cost,
    spread_points,
    uniform_errors,
)
from benchmarks.papers.plotting import BLUE, GRAY, GREEN, ORANGE, RED, panels
from benchmarks.papers.sampling import bootstrap_error
from benchmarks.papers.study import Run, Study, main

Floats = NDArray[np.float64]
Draws = NDArray[np.intp]

DIMENSION = 32
THRESHOLD = 0.15


class Grid:
    """Largest errors over data sizes, draws and numbers of features, with the transitions that follow from them."""

    def __init__(self, run: Run, counts: NDArray[np.intp], sizes: NDArray[np.intp], n_draws: int) -> None:
        self.counts, self.sizes, self.n_draws = counts, sizes, n_draws
        self.errors = {name: np.empty((len(counts), n_draws, len(sizes))) for name in ESTIMATES}
        self.squares = np.empty((n_draws, 2))
        for i, n in enumerate(counts):
            run.progress(f"n = {n}")
            X = spread_points(run.generator(i), n, DIMENSION)
            for j, seed in enumerate(run.seeds(n_draws, i)):
                largest, self.squares[j] = uniform_errors(X, sizes, seed)
                for name in ESTIMATES:
                    self.errors[name][i, j] = largest[name]
        self._every = np.arange(n_draws)

    def transitions(self, name: str, draws: Draws | None = None) -> Floats:
        """Return for each n the number of features at which half of the draws succeed.

        There the median error is the threshold. It falls as a power of m, so a line through the sizes around the
        threshold has less noise than the nearest two.
        """
        medians = np.median(self.errors[name][:, self._every if draws is None else draws], axis=1)
        return np.exp([self._crossing(row) for row in np.log(medians / THRESHOLD)])

    def _crossing(self, height: Floats) -> float:
        near = np.abs(height) < np.log(1.5)
        return float(np.polyfit(height[near], np.log(self.sizes[near]), 1)[1])

    def cost(self, name: str, draws: Draws | None = None) -> float:
        """Return how many more features than full against full an estimate needs, as a share, averaged over n."""
        ratios = self.transitions(name, draws) / self.transitions("full", draws)
        return float(np.exp(np.mean(np.log(ratios))) - 1)

    def bend(self, draws: Draws | None = None) -> float:
        """Return the slope of the 1-bit transition against log n, upper half of the sizes over lower half."""
        x, y, half = np.log(self.counts), self.transitions("1 bit", draws), (len(self.counts) + 1) // 2
        lower, upper = (np.polyfit(x[part], y[part], 1)[0] for part in (slice(half), slice(-half, None)))
        return float(upper / lower)

    def variance_cost(self, draws: Draws | None = None) -> float:
        """Return how much more variance one pair's 1-bit estimate has, from the largest set of points."""
        full, semi = self.squares[self._every if draws is None else draws].mean(axis=0)
        return float(semi / full - 1)


def judge(run: Run, grid: Grid) -> None:
    def with_error(statistic: Callable[[Draws | None], float]) -> tuple[float, float]:
        n_resamples = run.size(200, 40)
        return statistic(None), bootstrap_error(statistic, grid.n_draws, run.generator(5000), n_resamples)

    ordered = with_error(lambda draws: grid.cost("1 bit", draws))
    words = "more features that 1 bit against full needs for the same success over all ordered pairs, mean over n"
    run.claim("cost", words, "about 33%", *ordered, equals=0.33, slack=0.03, why=ROUGHLY)
    predicted = float(np.exp(np.mean(np.log([1 + predicted_cost(n) for n in grid.counts]))) - 1)
    words = "the same, against Gaussian errors of variance pi^2/8 with two estimates a pair"
    derived = {"slack": 0.01, "why": NORMAL, "source": "corrected"}
    run.claim("cost_predicted", words, f"{predicted:.3f}", *ordered, equals=predicted, **derived)
    once = with_error(lambda draws: grid.cost("1 bit, pairs once", draws))
    words = "the same when each pair is taken once, as full against full has it: the variance alone, pi^2/8 - 1"
    target = VARIANCE_RATIO - 1
    run.claim("cost_once", words, f"{target:.3f}", *once, equals=target, **derived)
    words = "more variance of one pair's estimate as the kernel goes to 0: pi^2/8 - 1"
    run.claim("variance", words, f"{target:.3f}", *with_error(grid.variance_cost), equals=target, source="corrected")
    words = "more features that codes against codes need for their own expected kernel"
    codes = with_error(lambda draws: grid.cost("codes", draws))
    run.claim("cost_codes", words, "0", *codes, equals=0, **derived)
    words = "features at 50% success grow as log n (slope against log n, upper half of the range over lower half)"
    why = "growth as log n is the first term; a power of n through the ends would bend by 0.8"
    run.claim("log_n", words, "1", *with_error(grid.bend), equals=1, slack=0.05, why=why)
    gap = with_error(lambda draws: grid.cost("1 bit - full", draws))
    words = "the two estimates come close to each other sooner than to the kernel (features needed, less those of full)"
    run.claim("proximity", words, "fewer", *gap, below=0)


def measure(run: Run) -> Figure:
    counts = np.unique(np.geomspace(10, run.size(500, 120), run.size(21, 4)).round().astype(int))
    sizes = np.unique(np.geomspace(20, run.size(1500, 1200), run.size(40, 20)).round().astype(int))
    n_draws = run.size(100, 40)
    run.settings |= {"dimension": DIMENSION, "threshold": THRESHOLD, "bandwidth": 0.25, "spread": 10, "draws": n_draws}
    run.settings |= {"n": counts.tolist(), "m": sizes.tolist()}
    grid = Grid(run, counts, sizes, n_draws)
    judge(run, grid)
    figure, (axes,) = panels(1, 2, "Features for an error below 0.15 over all pairs of n points")
    success = np.mean(grid.errors["1 bit"] <= THRESHOLD, axis=1)
    axes[0].pcolormesh(counts, sizes, success.T, cmap="gray", vmin=0, vmax=1, shading="nearest", rasterized=True)
    styles = {"1 bit": (RED, "-"), "full": (ORANGE, "--"), "codes": (GREEN, ":"), "1 bit - full": (BLUE, "-")}
    for name, (color, line) in styles.items():
        axes[0].plot(counts, grid.transitions(name), line, color=color, label=name)
    axes[0].set(
        xscale="log", ylim=(20, 1400), xlabel="points n", ylabel="features m", title="success of 1 bit; 50% lines"
    )
    axes[0].legend(loc="upper left")
    for name, color in {"1 bit": RED, "1 bit, pairs once": BLUE, "codes": GREEN}.items():
        cost = grid.transitions(name) / grid.transitions("full") - 1
        axes[1].plot(counts, 100 * cost, ".", color=color, label=name)
    axes[1].plot(counts, [100 * predicted_cost(n) for n in counts], color=RED, lw=1, label="predicted")
    axes[1].axhline(100 * (VARIANCE_RATIO - 1), color=BLUE, lw=1)
    axes[1].axhline(33, color=GRAY, ls="--", lw=1, label="paper, about 33%")
    axes[1].set(
        xscale="log", ylim=(-5, 62), xlabel="points n", ylabel="% more features than full", title="what 1 bit costs"
    )
    axes[1].legend(loc="upper right", ncols=2)
    return figure


STUDY = Study("asymmetric_rpf.fig4a", "Asymmetric RPF", "Fig. 4a", "success over (n, m), the cost of 1 bit", measure)

if __name__ == "__main__":
    main(STUDY)
