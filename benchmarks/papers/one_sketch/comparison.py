"""The claims of Fig. 6 on any data, at equal bits and at equal projections."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.papers.one_sketch.accuracy import Data, Outcome, measure_accuracy
from benchmarks.papers.plotting import BLACK, BLUE, ORANGE, RED, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run

__all__ = ["compare", "judge_one_bit", "rows_of", "split"]

LOOKS = {"sketch": ("sketch", BLUE, "o-"), "stocq": ("StocQ", RED, "s-"), "lloyd_max": ("LM-RFF", ORANGE, "^-")}
BITS = (1, 2, 4)
NOISE = 0.005  # of accuracy: what "similar" allows beside the standard error
NEARLY = 0.01  # what "almost" allows


def rows_of(X: NDArray[Any], *, standardize: bool = False) -> NDArray[np.float32]:
    """Return rows of norm 1, of columns of variance 1 first if asked; a row of zeros stays one."""
    X = np.asarray(X, dtype=np.float64)
    if standardize:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    return (X / np.where(norm > 0, norm, 1.0)).astype(np.float32)


def split(X: NDArray[np.float32], y: NDArray[Any], gammas: tuple[float, ...]) -> Data:
    """Return the data with the paper's shares, 60% to train on and 40% to test."""
    n_train = round(0.6 * len(X))
    return Data(X, np.unique(y, return_inverse=True)[1], gammas, n_train, len(X) - n_train)


def compare(run: Run, data: dict[str, Data]) -> tuple[Figure, list[Outcome]]:
    """Measure and judge every dataset, and draw them: a row each, a column for each number of bits."""
    title = "Accuracy over the bits of a row, b a level (dashed: full features of as many projections as the sketch)"
    figure, axes = panels(len(data), len(BITS), title)
    outcomes = []
    for i, (name, each) in enumerate(data.items()):
        run.progress(f"{name}: {len(each.X)} rows, {each.X.shape[1]} columns")
        outcome = measure_accuracy(run, each, run.settings["projections"], stream=i)
        run.settings[name] = _table(outcome)
        _judge(run, name, outcome)
        _draw(axes[i], name, outcome)
        outcomes.append(outcome)
    axes[0, 0].legend(loc="lower right")
    return figure, outcomes


def judge_one_bit(run: Run, outcome: Outcome) -> None:
    """Judge what the paper says of isolet alone."""
    k = run.settings["projections"][-1]
    for key, factor, terms in (("", 1, f"k = {k} of each"), ("_more", 4, f"k = {4 * k} against {k}, bits of b = 4")):
        change = mean_and_error(outcome.at("sketch", 1, factor * k) - outcome.at("full", None, k))
        words = f"b = 1 almost has the accuracy of full features: difference, {terms}"
        run.claim(f"one_bit{key}", words, "almost 0", *change, equals=0, slack=NEARLY)


def _judge(run: Run, name: str, outcome: Outcome) -> None:
    _judge_rounding(run, name, outcome, bits=1)
    k = run.settings["projections"][-1]
    for bits, source in ((4, "paper"), (6, "corrected")):
        change = mean_and_error(outcome.at("sketch", bits, k) - outcome.at("full", None, k))
        words = f"{name}: b = {bits} is similar to full features, difference at k = {k}"
        run.claim(f"{name}_full_{bits}", words, "0", *change, equals=0, slack=NOISE, source=source)
    if not run.quick:  # differences of a point or less
        _judge_rounding(run, name, outcome, bits=2)
        _judge_known_gamma(run, name, outcome)


def _judge_rounding(run: Run, name: str, outcome: Outcome, bits: int) -> None:
    """Compare with stochastic rounding: one bit must win everywhere, two when there are many features."""
    projections = run.settings["projections"]
    for key, factor, terms in (("bits", 1, "equal bits"), ("projections", 2, "equal projections, twice the bits")):
        changes = [outcome.at("sketch", bits, k) - outcome.at("stocq", bits, factor * k) for k in projections]
        worst = min(changes if bits == 1 else changes[-1:], key=np.mean)
        where = "smallest over k" if bits == 1 else f"at k = {projections[-1]}"
        words = f"{name}, b = {bits}: accuracy of the sketch less that of StocQ at {terms}, {where}"
        run.claim(f"{name}_stocq_{key}_{bits}", words, "above 0", *mean_and_error(worst), above=0)


def _judge_known_gamma(run: Run, name: str, outcome: Outcome) -> None:
    """Compare with the quantizer that has a code for every gamma."""
    projections = run.settings["projections"]
    k = projections[-1]
    for bits in (1, 4):
        change = mean_and_error(outcome.at("lloyd_max", bits, 2 * k) - outcome.at("sketch", bits, k))
        words = f"{name}, b = {bits}: LM-RFF, made for one gamma, less the sketch at equal projections, k = {k}"
        run.claim(f"{name}_lm_projections_{bits}", words, "above 0", *change, above=0)
    changes = [outcome.at("sketch", 4, k) - outcome.at("lloyd_max", 4, k) for k in projections]
    words = f"{name}, b = 4: the sketch less LM-RFF at equal bits, mean over k"
    run.claim(f"{name}_lm_bits_4", words, "-", *mean_and_error(np.mean(changes, axis=0)), above=0, source="corrected")


def _table(outcome: Outcome) -> dict[str, Any]:
    """Mean accuracies and the gamma and C that gave them, by method and size."""
    return {
        f"{method.name}_{method.bits or 32}": {
            "sizes": outcome.sizes[method],
            "accuracy": accuracy.mean(axis=0).round(4).tolist(),
            "gamma_and_C": [list(best) for best in outcome.best[method]],
        }
        for method, accuracy in outcome.accuracy.items()
    }


def _draw(axes: Any, name: str, outcome: Outcome) -> None:
    for axis, bits in zip(axes, BITS):
        for method, accuracy in outcome.accuracy.items():
            sizes, mean = np.array(outcome.sizes[method]), accuracy.mean(axis=0)
            if method.bits is None:
                axis.plot(bits * sizes, mean, "--", color=BLACK, label="full")
            elif method.bits == bits:
                label, color, mark = LOOKS[method.name]
                error = accuracy.std(axis=0, ddof=1) / np.sqrt(len(accuracy))
                axis.errorbar(bits * sizes, mean, error, fmt=mark, color=color, ms=3, lw=1, label=label)
        axis.set(title=f"{name}, b = {bits}", xscale="log", xlabel="bits a row", ylabel="accuracy")
        ticks = bits * np.unique([size for m, sizes in outcome.sizes.items() if m.bits == bits for size in sizes])
        axis.set_xticks(ticks, [str(t) for t in ticks])
        axis.minorticks_off()
