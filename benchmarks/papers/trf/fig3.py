"""Figs. 3 and 5 to 9: ridge regression over the regularization, ternary features of five sparsities against RFF.

Ridge in its dual form with an intercept, that is with the centered kernel matrix, on classes -1 and 1. As in the paper
m counts projections: RFF have a cosine and a sine of each, ternary features one trit. Rows of the digits are pixels;
gamma is set so that tau is 1.348, which is what the paper's d0 = 0.39 means. Time is that of the whole: features,
kernel matrices and solutions for all strengths, on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.papers.plotting import BLACK, BLUE, GRAY, GREEN, ORANGE, RED, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main
from benchmarks.papers.trf.data import Mixture, Split, digits, draw_split, fit_ternary, seven_or_nine

Floats = NDArray[np.float64]

SPARSITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
TAU_DIGITS = 1.348
STRENGTHS = np.logspace(-4, 3, 15)
BLOCK = 8192
NAMES = {"exact": "exact kernel", "rff": "RFF", **{f"trf {eps}": f"ternary, {eps:.0%} zeros" for eps in SPARSITIES}}
COLORS = dict(zip(NAMES, (BLACK, ORANGE, GREEN, GRAY, BLUE, "#CC79A7", RED)))
TWO_MOMENTS = (
    "It is the kernel of the map, not the draws: ridge on its exact kernel has 10 to 15% more error than on the "
    "Gaussian one; the rows' variance lies in few directions, where two moments do not make the kernel."
)
WHERE = {"mixture": "mixture", "digits": "7 against 9"}


def ridge_errors(K: Floats, K_test: Floats, split: Split) -> Floats:
    """Return the test mean squared error for each strength, from kernels (n, n) and (n_test, n)."""
    y, y_test = 2.0 * split.y - 1, 2.0 * split.y_test - 1
    columns = K.mean(axis=0)
    values, vectors = np.linalg.eigh(lt.theory.center_kernel(K))
    rows = (K_test - K_test.mean(axis=1, keepdims=True) - columns + columns.mean()) @ vectors
    target = vectors.T @ (y - y.mean())
    scores = [rows @ (target / (np.maximum(values, 0) + strength)) + y.mean() for strength in STRENGTHS]
    return np.array([np.mean((score - y_test) ** 2) for score in scores])


def exact_kernel(X: Floats, Y: Floats, gamma: float) -> Floats:
    return lt.kernels.Gaussian.from_gamma(gamma).radial(lt.kernels.distances(X, Y, 2.0), X.shape[1])


def of_blocks(make: Callable[[int, int], Any], split: Split, m: int, seed: int) -> tuple[Floats, Floats, float]:
    """Return the kernels of m projections, some thousand at a time, and the seconds that features and kernels took."""
    K, K_test, seconds = np.zeros((len(split.X),) * 2), np.zeros((len(split.X_test), len(split.X))), 0.0
    for start in range(0, m, BLOCK):
        size = min(BLOCK, m - start)
        encoder = make(size, seed + start)
        method = encoder.transform if encoder.__class__ is lt.RandomFeatures else encoder.encode
        begin = time.perf_counter()
        train, test = method(split.X), method(split.X_test)
        transposed = isinstance(train, np.ndarray)
        K += (size / m) * (train @ train.T if transposed else train.dot(train))
        K_test += (size / m) * (test @ train.T if transposed else test.dot(train))
        seconds += time.perf_counter() - begin
    return K, K_test, seconds


def encoders(split: Split, gamma: float) -> dict[str, Callable[[int, int], Any]]:
    """Return what makes a fitted encoder of so many projections from a seed, by name."""

    def rff(size: int, seed: int) -> Any:
        options = {"projection": "iid", "bits": None, "random_state": seed}
        return lt.RandomFeatures("rbf", gamma=gamma, n_components=2 * size, **options).fit(split.X)

    def ternary(eps: float) -> Callable[[int, int], Any]:
        return lambda size, seed: fit_ternary(split.X, gamma=gamma, n_components=size, sparsity=eps, random_state=seed)

    return {"rff": rff, **{f"trf {eps}": ternary(eps) for eps in SPARSITIES}}


class Curves:
    """Errors (draws, strengths) and seconds (draws,) by name and m, on one dataset."""

    def __init__(self, run: Run, where: str, sizes: list[int], source: Callable[[np.random.Generator], Split]) -> None:
        self.where, self.sizes = where, sizes
        self.errors: dict[tuple[str, int], list[Floats]] = {}
        self.seconds: dict[tuple[str, int], list[float]] = {}
        for draw in range(run.settings["draws"]):
            split, seed = source(run.generator(10 + draw)), run.seeds(draw + 1)[draw]
            gamma = self.gamma(split)
            for name, make in encoders(split, gamma).items():
                for m in sizes:
                    K, K_test, seconds = of_blocks(make, split, m, seed)
                    begin = time.perf_counter()
                    self.errors.setdefault((name, m), []).append(ridge_errors(K, K_test, split))
                    self.seconds.setdefault((name, m), []).append(seconds + time.perf_counter() - begin)
            X, X_test = split.X.astype(np.float64), split.X_test.astype(np.float64)
            kernels = exact_kernel(X, X, gamma), exact_kernel(X_test, X, gamma)
            self.errors.setdefault(("exact", 0), []).append(ridge_errors(*kernels, split))

    def gamma(self, split: Split) -> float:
        """Return 1/2 for the mixture, as in the paper, and what gives tau for pixels."""
        if self.where == "mixture":
            return 0.5
        return TAU_DIGITS / 2 / float(np.var(split.X.astype(np.float64), axis=0).sum())

    def best(self, name: str, m: int) -> Floats:
        """Return the least error over the strengths, by draw."""
        return np.min(self.errors[name, 0 if name == "exact" else m], axis=1)

    def change(self, start: str, end: str, m: int) -> tuple[float, float]:
        """Return the mean change of the least error from one kind of features to another."""
        return mean_and_error(self.best(end, m) - self.best(start, m))


def judge(run: Run, curves: Curves) -> None:
    small, large, sparsest = curves.sizes[0], curves.sizes[-1], f"trf {SPARSITIES[-1]}"
    where = WHERE[curves.where]
    words = f"{where}, m = {large}: change of the least error, 10% to 90% zeros"
    none = {"equals": 0, "slack": run.size(0.05 * float(np.mean(curves.best("rff", large))), 0.03)}
    none |= {"why": run.size("5% of the error counts as virtually none", "the quick form is small")}
    none |= {"if_not": TWO_MOMENTS}
    dense = f"trf {SPARSITIES[0]}"
    run.claim(f"{curves.where}_sparsity", words, "virtually none", *curves.change(dense, sparsest, large), **none)
    words = f"{where}, m = {large}: change of the least error, RFF to ternary with 90% zeros"
    run.claim(f"{curves.where}_rff", words, "virtually none", *curves.change("rff", sparsest, large), **none)
    gaps = [curves.best(sparsest, m) - curves.best("rff", m) for m in (small, large)]
    words = f"{where}: gap of ternary to RFF at m = {large} less that at m = {small}"
    run.claim(f"{curves.where}_gap", words, "falls with m", *mean_and_error(gaps[1] - gaps[0]), below=0)
    if not run.quick:
        ratios = np.log(curves.seconds[sparsest, large]) - np.log(curves.seconds["rff", large])
        ratio, error = mean_and_error(ratios)
        words = f"{where}, m = {large}: seconds of the whole with 90% zeros over those of RFF"
        run.claim(f"{curves.where}_time", words, "below 1", np.exp(ratio), np.exp(ratio) * error, below=1)


def draw_plot(every: list[Curves]) -> Figure:
    columns = max(len(curves.sizes) for curves in every)
    figure, axes = panels(len(every), columns, "Ridge regression: test error over the regularization", sharey="row")
    for row, curves in zip(axes, every):
        for axis, m in zip(row, curves.sizes):
            for name, label in NAMES.items():
                errors = np.array(curves.errors[name, 0 if name == "exact" else m])
                spread = errors.std(axis=0, ddof=1)
                axis.plot(STRENGTHS, errors.mean(axis=0), color=COLORS[name], label=label)
                axis.fill_between(
                    STRENGTHS, errors.mean(axis=0) - spread, errors.mean(axis=0) + spread, color=COLORS[name], alpha=0.1
                )
            axis.set(title=f"{WHERE[curves.where]}, m = {m}", xscale="log", xlabel="regularization", ylim=(0, 1.1))
        row[0].set_ylabel("test mean squared error")
    axes[0, 0].legend()
    return figure


def measure(run: Run) -> Figure:
    run.settings |= {"p": run.size(512, 64), "n": run.size(1024, 160), "n_test": run.size(512, 160)}
    run.settings |= {"draws": 3, "tau_digits": TAU_DIGITS, "strengths": STRENGTHS.tolist()}
    n, n_test, mixture = run.settings["n"], run.settings["n_test"], Mixture(run.settings["p"])
    pixels = seven_or_nine(digits(run))

    def from_mixture(rng: np.random.Generator) -> Split:
        return draw_split(rng, *mixture.draw(rng, n + n_test), n, n_test)

    def from_digits(rng: np.random.Generator) -> Split:
        return draw_split(rng, *pixels, n, n_test)

    run.progress("mixture")
    every = [Curves(run, "mixture", run.size([512, 10_000], [64, 1024]), from_mixture)]
    run.progress("digits")
    every.append(Curves(run, "digits", run.size([512, 50_000], [64, 1024]), from_digits))
    for curves in every:
        judge(run, curves)
    rows = []
    for curves in every:
        for m in curves.sizes:
            cells = [
                f"{np.mean(curves.best(name, m)):.3f}"
                + ("" if name == "exact" else f" ({np.median(curves.seconds[name, m]):.2g} s)")
                for name in NAMES
            ]
            rows.append([f"{WHERE[curves.where]}, m = {m:,}", *cells])
    run.table("errors", ["least test error (seconds of the whole)", *NAMES.values()], rows)
    return draw_plot(every)


STUDY = Study("trf.fig3", "TRF", "Figs. 3, 5-9", "ridge regression on sparse ternary features", measure)

if __name__ == "__main__":
    main(STUDY)
