"""Figs. 1 and 4: accuracy at equal memory, ternary features against rounded Fourier features and Nystroem's map.

The paper counts a trit as one bit; here it takes 1.6, five to a byte, and every comparison is made at equal true bits.
"1 bit" in quotes gives ternary features as many components as one-bit codes have. Cov-Type is the paper's; in place of
Census, which could not be found, stand digits and a8a. Of the paper's 418,000 rows 3000 are drawn to train on. Squared
loss, C chosen by left-out error, in place of logistic regression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.papers.asymmetric_rpf.sides import GivenFeatures
from benchmarks.papers.plotting import BLACK, BLUE, GRAY, GREEN, ORANGE, RED, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main
from benchmarks.papers.trf.data import Split, covertype, digits, fit_nystroem, fit_ternary, official, rows_of

Floats = NDArray[np.float64]

BITS_A_TRIT = 1.6
ONE_BIT = (
    "With as many components trits are level or ahead (the line that counts them as one bit), but each takes 1.6 times "
    "the bits of a sign."
)
NAMES = {
    "trf": "ternary, 1.6 bits",
    "trf as printed": 'ternary, "1 bit"',
    "lp1": "RFF rounded to 1 bit",
    "lp8": "RFF rounded to 8 bits",
    "lm1": "RFF, Lloyd-Max 1 bit",
    "nystroem": "Nystroem, 32 bits",
}
COLORS = dict(zip(NAMES, (RED, GRAY, BLUE, ORANGE, GREEN, BLACK)))
LINES = dict(zip(NAMES, ("o-", "o:", "s-", "^-", "d--", "v:")))


def fourier(quantizer: str, bits: int) -> Callable[..., Any]:
    """Return what makes Fourier features with a rounded side, as many components as the bits allow."""

    def make(X: NDArray[Any], gamma: float, budget: int, seed: int) -> Any:
        options = {"quantizer": quantizer, "bits": bits, "projection": "iid", "random_state": seed}
        return lt.RandomFeatures("rbf", gamma=gamma, n_components=budget // bits, **options).fit(X)

    return make


def ternary(bits: float) -> Callable[..., Any]:
    """Return what makes ternary features, a trit counted as so many bits."""

    def make(X: NDArray[Any], gamma: float, budget: int, seed: int) -> Any:
        m = int(budget / bits)
        return fit_ternary(X, gamma=gamma, n_components=m, sparsity="auto", random_state=seed)

    return make


def nystroem(X: NDArray[Any], gamma: float, budget: int, seed: int) -> Any:
    """Return Nystroem's map of as many landmarks as 32 bits each allow."""
    return fit_nystroem(X, gamma, budget // 32, seed)


MAKERS = {
    "trf": ternary(BITS_A_TRIT),
    "trf as printed": ternary(1.0),
    "lp1": fourier("stochastic", 1),
    "lp8": fourier("stochastic", 8),
    "lm1": fourier("lloyd_max", 1),
    "nystroem": nystroem,
}


def datasets(run: Run) -> dict[str, Split]:
    """Return the datasets; in the quick form digits that need no download."""
    if run.quick:
        return {"digits": digits(run)}
    return {"Cov-Type": covertype(run.seed), "MNIST": digits(run), "a8a": official("a8a")}


def accuracies(run: Run, whole: Split, budgets: list[int]) -> dict[str, Floats]:
    """Return accuracies (draws, budgets) by name; every draw has rows and frequencies of its own."""
    n, n_test, n_draws = run.settings["n"], run.settings["n_test"], run.settings["draws"]
    found = {name: np.empty((n_draws, len(budgets))) for name in NAMES}
    for draw in range(n_draws):
        rng, seed = run.generator(10 + draw), run.seeds(draw + 1)[draw]
        X, y = rows_of(rng, whole.X, whole.y, n)
        X_test, y_test = rows_of(rng, whole.X_test, whole.y_test, n_test)
        # tau = 1, the unit norm of the paper's setting, on every dataset.
        gamma = 0.5 / float(np.var(X.astype(np.float64), axis=0).sum())
        for name, make in MAKERS.items():
            for i, budget in enumerate(budgets):
                encoder = make(X, gamma, budget, seed)
                coded = isinstance(encoder, lt.encoders.Encoder)
                side = encoder.encode if coded else encoder.transform
                features = None if coded else GivenFeatures()
                model = lt.KernelClassifier(
                    features, loss="squared", C="auto", multi_class="ovr", random_state=seed
                ).fit(side(X), y)
                found[name][draw, i] = model.score(side(X_test), y_test)
    return found


def judge(run: Run, where: str, found: dict[str, Floats]) -> None:
    """Claim the mean gain over all budgets of ternary features over each of the others."""

    def gain(key: str, other: str, words: str, ours: str = "trf", **relation: Any) -> None:
        steps = (found[ours] - found[other]).mean(axis=1)
        words = f"{where}: gain in accuracy at equal bits, {words}"
        run.claim(f"{where}_{key}", words, relation.pop("paper"), *mean_and_error(steps), **relation)

    gain("lp1", "lp1", "1-bit rounded RFF to ternary", paper="better", above=0)
    gain("lp8", "lp8", "8-bit rounded RFF to ternary", paper="better", above=0)
    gain("nystroem", "nystroem", "Nystroem of 32 bits to ternary", paper="better", above=0)
    if not run.quick:
        words = "1-bit rounded RFF to ternary, a trit counted as one bit"
        gain("as_printed", "lp1", words, ours="trf as printed", paper="better", above=0)
        words = "1-bit Lloyd-Max RFF to ternary"
        gain("lm1", "lm1", words, paper="-", above=0, source="corrected", if_not=ONE_BIT)


def draw_plot(results: dict[str, dict[str, Floats]], budgets: list[int]) -> Figure:
    figure, axes = panels(1, len(results), "Accuracy at equal memory, mean and standard error over draws")
    for axis, (where, found) in zip(axes[0], results.items()):
        for name, label in NAMES.items():
            error = found[name].std(axis=0, ddof=1) / np.sqrt(len(found[name]))
            axis.errorbar(
                budgets, found[name].mean(axis=0), error, fmt=LINES[name], ms=4, color=COLORS[name], label=label
            )
        axis.set(title=where, xscale="log", xlabel="bits a row")
        axis.set_xticks(budgets, [str(b) for b in budgets])
        axis.minorticks_off()
    axes[0, 0].set_ylabel("test accuracy")
    axes[0, 0].legend()
    return figure


def measure(run: Run) -> Figure:
    budgets = run.size([256, 512, 1024, 2048], [256, 512])
    run.settings |= {"n": run.size(3000, 300), "n_test": run.size(4000, 300), "draws": 3}
    run.settings |= {"bits": budgets, "tau": 1.0, "bits_a_trit": BITS_A_TRIT, "loss": "squared"}
    results = {}
    for where, whole in datasets(run).items():
        run.progress(where)
        results[where] = accuracies(run, whole, budgets)
        judge(run, where, results[where])
    header = [f"accuracy at {' / '.join(map(str, budgets))} bits a row", *results]
    cells = {name: [found[name].mean(axis=0) for found in results.values()] for name in NAMES}
    rows = [[NAMES[name], *(" / ".join(f"{v:.3f}" for v in cell) for cell in row)] for name, row in cells.items()]
    run.table("accuracy", header, rows)
    return draw_plot(results, budgets)


STUDY = Study("trf.fig1", "TRF", "Figs. 1, 4", "accuracy at equal memory", measure)

if __name__ == "__main__":
    main(STUDY)
