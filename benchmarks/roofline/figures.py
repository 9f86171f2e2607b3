"""The run as two plots: fractions of the limits, and growth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.papers.plotting import BLACK, BLUE, GRAY, GREEN, ORANGE, RED, panels, style
from benchmarks.roofline.growth import Curve
from benchmarks.roofline.op import Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FRACTIONS", "GROWTH", "draw"]

FRACTIONS, GROWTH = "roofline.fractions.svg", "roofline.growth.svg"
COLORS = {"vector": BLUE, "memory": ORANGE, "sgemm": GREEN, "tiles": GREEN, "L1": RED, "L2": RED, "popcount": GRAY}
COLORS |= {"additions": BLACK}


def draw(outcomes: Sequence[Outcome], curves: Sequence[Curve], folder: Path) -> None:
    """Write both plots to the folder; the same numbers give the same bytes."""
    with style():
        for name, figure in ((FRACTIONS, _fractions(outcomes)), (GROWTH, _growth(curves))):
            figure.savefig(folder / name, metadata={"Date": None})


def _fractions(outcomes: Sequence[Outcome]) -> Figure:
    figure, axes = panels(1, 2, "Least time that the binding limit allows, as a share of the time taken")
    figure.delaxes(axes[0, 1])
    figure.set_size_inches(7.4, 0.26 * len(outcomes) + 1.2)
    axis, places = axes[0, 0], np.arange(len(outcomes))
    axis.set_subplotspec(axes[0, 0].get_gridspec()[0, :])
    axis.barh(places, [outcome.fraction for outcome in outcomes], color=[COLORS[one.binds] for one in outcomes])
    axis.set_yticks(places, [outcome.op.name for outcome in outcomes])
    axis.invert_yaxis()
    axis.axvline(1.0, color=BLACK, linewidth=1)
    axis.grid(axis="y", visible=False)
    for place, outcome in zip(places, outcomes):
        axis.text(outcome.fraction + 0.01, place, outcome.binds, va="center", fontsize=8)
    axis.set_xlim(0, max(1.15, *(outcome.fraction + 0.15 for outcome in outcomes)))
    return figure


def _growth(curves: Sequence[Curve]) -> Figure:
    figure, axes = panels(3, 3, "Time against rows n, features in d and features out m")
    places = {("encode", "n"): (0, 0), ("encode", "m"): (0, 1), ("gram", "n"): (1, 0), ("gram", "m"): (1, 1)}
    places |= {("fit", "n"): (2, 0), ("fit", "m"): (2, 1), ("fit", "d"): (2, 2)}
    for curve in curves:
        if (curve.call, curve.variable) in places:
            _powers(axes[places[curve.call, curve.variable]], curve)
    projections = [curve for curve in curves if curve.call.startswith("projection")]
    _logarithm(axes[0, 2], projections[0])
    for curve, color in zip(projections, (BLUE, ORANGE)):
        axes[1, 2].loglog(curve.values, 1e9 * np.array(curve.seconds), "o-", color=color, label=curve.call.split()[-1])
    axes[1, 2].set(title="encode, a projection", xlabel="d", ylabel="ns")
    axes[1, 2].legend()
    _label_sizes(axes[1, 2], projections[0])
    return figure


def _powers(axis: Any, curve: Curve) -> None:
    axis.loglog(curve.values, 1e3 * np.array(curve.seconds), "o-", color=BLUE)
    axis.set(title=f"{curve.call}, {curve.fixed}", xlabel=curve.variable, ylabel="ms")
    text = f"{curve.variable}^{curve.exponent:.2f}, at the end ^{curve.last_exponent:.2f}"
    axis.text(0.95, 0.05, text, transform=axis.transAxes, ha="right")
    _label_sizes(axis, curve)


def _logarithm(axis: Any, curve: Curve) -> None:
    """Time a projection against log2 d, on plain axes: a logarithm is a straight line."""
    start, slope = curve.per_doubling
    doublings = np.log2(curve.values)
    axis.plot(doublings, 1e9 * np.array(curve.seconds), "o", color=BLUE)
    axis.plot(doublings, 1e9 * (start + slope * doublings), "-", color=GRAY)
    axis.set(title="encode, a projection, Hadamard", xlabel="log2 d", ylabel="ns")
    axis.set_ylim(bottom=0)
    axis.text(0.95, 0.05, f"{1e9 * start:.2f} + {1e9 * slope:.3f} log2 d", transform=axis.transAxes, ha="right")


def _label_sizes(axis: Any, curve: Curve) -> None:
    """Name every other measured size, and no other."""
    axis.set_xticks(curve.values[::2], [f"{size:,}" for size in curve.values[::2]])
    axis.minorticks_off()
