"""The claims of Fig. 6 on any data, at equal bits and at equal projections.

What the paper says of many features (more than 2^10 for two bits, a "moderate number" for four) is judged at each k
from 1024 on, or at the largest where a dataset has fewer.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import lowtide as lt
from benchmarks.papers.one_sketch.accuracy import METHODS, Data, Method, Outcome, measure_accuracy
from benchmarks.papers.one_sketch.products import sklearn_gamma
from benchmarks.papers.plotting import BLACK, BLUE, ORANGE, RED, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run

__all__ = ["compare", "judge_one_bit", "rows_of", "split"]

LOOKS = {"sketch": ("sketch", BLUE, "o-"), "stocq": ("StocQ", RED, "s-"), "lloyd_max": ("LM-RFF", ORANGE, "^-")}
BITS = (1, 2, 4)
NOISE = 0.005  # of accuracy: what "similar" allows beside the standard error
NEARLY = 0.01  # what "almost" allows
SIMILAR = "half a point of accuracy is what 'similar' means"
MANY = 1024  # projections, from where on the paper speaks of many


def rows_of(X: NDArray[Any], *, standardize: bool = False) -> NDArray[np.float32]:
    """Return rows of norm 1, of columns of variance 1 first if asked; a row of zeros stays one."""
    X = np.asarray(X, dtype=np.float64)
    if standardize:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    return (X / np.where(norm > 0, norm, 1.0)).astype(np.float32)


def split(
    X: NDArray[np.float32],
    y: NDArray[Any],
    gammas: tuple[float, ...],
    projections: list[int],
    n_rows: tuple[int, int] | None = None,
    methods: tuple[Method, ...] = METHODS,
) -> Data:
    """Return the data, with so many rows to train on and to test; the paper's shares, 60% and 40%, unless told."""
    n_train, n_test = n_rows or (round(0.6 * len(X)), len(X) - round(0.6 * len(X)))
    return Data(X, np.unique(y, return_inverse=True)[1], gammas, projections, n_train, n_test, methods)


def compare(run: Run, data: dict[str, Data]) -> tuple[Figure, list[Outcome]]:
    """Measure and judge every dataset, and draw them: a row each, a column for each number of bits."""
    title = "Accuracy over the bits of a row, b a level (dashed: full features of as many projections as the sketch)"
    figure, axes = panels(len(data), len(BITS), title)
    outcomes = []
    for i, (name, each) in enumerate(data.items()):
        run.progress(f"{name}: {len(each.X)} rows, {each.X.shape[1]} columns")
        outcome = measure_accuracy(run, each, stream=i)
        run.settings[name] = {"train": each.n_train, "test": each.n_test, **_table(outcome)}
        _judge(run, name, outcome, each.projections)
        _draw(axes[i], name, outcome)
        outcomes.append(outcome)
    axes[0, 0].legend(loc="lower right")
    _tabulate(run, data, outcomes)
    return figure, outcomes


def judge_one_bit(run: Run, data: Data, outcome: Outcome) -> None:
    """Judge what the paper says of isolet alone: at equal projections for each k, and at the bits of b = 4."""
    pairs = [(k, k, f"k = {k} of each") for k in _many(data.projections)]
    k = data.projections[-1]
    pairs.append((k, k // 4, f"k = {k} against {k // 4}, bits of b = 4"))
    for first, second, terms in pairs:
        change = mean_and_error(outcome.at("sketch", 1, first) - outcome.at("full", None, second))
        words = f"b = 1 almost has the accuracy of full features: difference, {terms}"
        gap = [100 * np.mean(outcome.at("full", None, k) - outcome.at("sketch", 1, k)) for k in data.projections]
        gaps = ", ".join(f"{each:.1f}" for each in gap)
        listed = ", ".join(map(str, data.projections))
        if_not = f"One bit needs more projections: it is {gaps} points short at k = {listed}."
        key = f"one_bit_{first}" if first == second else "one_bit_more"
        why = "a point of accuracy is what 'almost' means"
        run.claim(key, words, "almost 0", *change, equals=0, slack=NEARLY, why=why, if_not=if_not)


def _many(projections: list[int]) -> list[int]:
    """Return the k at which claims about many features are judged."""
    return [k for k in projections if k >= MANY] or projections[-1:]


def _judge(run: Run, name: str, outcome: Outcome, projections: list[int]) -> None:
    _judge_rounding(run, name, outcome, projections, bits=1)
    for bits, k in itertools.product((4, 6), _many(projections)):
        change, fine = (outcome.at("sketch", b, k) - outcome.at("full", None, k) for b in (bits, 6))
        words = f"{name}: b = {bits} is similar to full features, difference at k = {k}"
        narrow = max(outcome.gammas("full", None))
        bias = lt.theory.sketch_bias(bits, sklearn_gamma(narrow))
        if_not = (
            f"Full features are best at gamma = {narrow:g}, where the kernel of {bits} bits is up to {bias:.3f} off; "
            f"with six bits, the same projections and gammas, the difference is {100 * np.mean(fine):.1f} points."
        )
        run.claim(
            f"{name}_full_{bits}_{k}",
            words,
            "0",
            *mean_and_error(change),
            equals=0,
            slack=NOISE,
            why=SIMILAR,
            if_not=if_not,
            source="paper" if bits == 4 else "corrected",
        )
    if not run.quick:  # differences of a point or less
        _judge_rounding(run, name, outcome, projections, bits=2)
        if outcome.has("lloyd_max"):
            _judge_known_gamma(run, name, outcome, projections)


def _judge_rounding(run: Run, name: str, outcome: Outcome, projections: list[int], bits: int) -> None:
    """Compare with stochastic rounding: one bit must win everywhere, two at every k that counts as many."""
    for key, factor, terms in (("bits", 1, "equal bits"), ("projections", 2, "equal projections, twice the bits")):
        changes = {k: outcome.at("sketch", bits, k) - outcome.at("stocq", bits, factor * k) for k in projections}
        judged = [min(projections, key=lambda k: np.mean(changes[k]))] if bits == 1 else _many(projections)
        for k in judged:
            where = f"smallest over k, at {k}" if bits == 1 else f"at k = {k}"
            words = f"{name}, b = {bits}: accuracy of the sketch less that of StocQ at {terms}, {where}"
            even = 100 * np.mean(outcome.at("sketch", bits, k) - outcome.at("stocq", bits, k))
            if_not = f"StocQ has twice the bits here; at equal bits the difference is {even:.1f} points."
            if key == "bits":
                rest = ", ".join(f"{100 * np.mean(change):.1f}" for change in changes.values())
                listed = ", ".join(map(str, projections))
                if_not = f"The gain is that of few projections: {rest} points at k = {listed}."
            suffix = "" if bits == 1 else f"_{k}"
            number = mean_and_error(changes[k])
            run.claim(f"{name}_stocq_{key}_{bits}{suffix}", words, "above 0", *number, above=0, if_not=if_not)


def _judge_known_gamma(run: Run, name: str, outcome: Outcome, projections: list[int]) -> None:
    """Compare with the quantizer that has a code for every gamma."""
    k = projections[-1]
    for bits in (1, 4):
        change = mean_and_error(outcome.at("lloyd_max", bits, 2 * k) - outcome.at("sketch", bits, k))
        full = 100 * np.mean(outcome.at("full", None, k) - outcome.at("sketch", bits, k))
        words = f"{name}, b = {bits}: LM-RFF, made for one gamma, less the sketch at equal projections, k = {k}"
        gain = f"LM-RFF gains {100 * change[0]:.1f} of the {full:.1f} points that full features are above the sketch"
        if_not = f"{gain}, less than two errors."
        run.claim(f"{name}_lm_projections_{bits}", words, "above 0", *change, above=0, if_not=if_not)
    changes = [outcome.at("sketch", 4, k) - outcome.at("lloyd_max", 4, k) for k in projections]
    words = f"{name}, b = 4: the sketch less LM-RFF at equal bits, mean over k"
    each = ", ".join(f"{100 * np.mean(change):.1f}" for change in changes)
    if_not = f"The gain is that of few projections: {each} points at k = {', '.join(map(str, projections))}."
    number = mean_and_error(np.mean(changes, axis=0))
    run.claim(f"{name}_lm_bits_4", words, "-", *number, above=0, if_not=if_not, source="corrected")


# What the table of accuracies lists: method, bits, and levels for each of k projections.
LISTED = {
    "full features": ("full", None, 1),
    **{f"sketch, b = {bits}": ("sketch", bits, 1) for bits in (6, 4, 2, 1)},
    **{f"LM-RFF, b = {bits}, equal bits": ("lloyd_max", bits, 1) for bits in (4, 1)},
    **{f"StocQ, b = {bits}, equal bits": ("stocq", bits, 1) for bits in (2, 1)},
    **{f"StocQ, b = {bits}, equal projections": ("stocq", bits, 2) for bits in (2, 1)},
}


def _tabulate(run: Run, data: dict[str, Data], outcomes: list[Outcome]) -> None:
    """Keep the mean accuracies at the largest k of each dataset, in percent."""
    largest = [each.projections[-1] for each in data.values()]
    rows = []
    for name, (method, bits, factor) in LISTED.items():
        rows.append([name])
        for outcome, k in zip(outcomes, largest):
            found = 100 * np.mean(outcome.at(method, bits, factor * k)) if outcome.has(method) else None
            rows[-1].append("" if found is None else f"{found:.1f}")
    run.table("accuracy", ["accuracy, %", *[f"{name}, k = {k}" for name, k in zip(data, largest)]], rows)


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
