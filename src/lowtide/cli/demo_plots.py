"""Draw the three plots of the page of `lowtide demo`, as SVG that takes its colors from the page's style sheet."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from lowtide.cli.demo_measure import FLOAT32, WIDTHS, Comparison

# matplotlib knows fixed colors only. Each of these stands for a variable of the style sheet, put in its place when the
# figure is written, so that one drawing serves light and dark pages.
_INK, _MUTED, _GRID, _PAPER = "#010101", "#020202", "#030303", "#040404"
_SERIES = {FLOAT32: "#050505", 4: "#060606", 2: "#070707", 1: "#080808"}
_VARIABLES = {_INK: "ink", _MUTED: "muted", _GRID: "grid", _PAPER: "paper"} | {
    color: f"series-{bits}" for bits, color in _SERIES.items()
}
_ACCURACY_TICKS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, selectable, in the page's font
    "font.size": 11,
    "text.color": _INK,
    "axes.edgecolor": _MUTED,
    "axes.facecolor": "none",
    "axes.labelcolor": _INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "grid.color": _GRID,
    "grid.linewidth": 0.8,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
}


def draw(comparison: Comparison) -> dict[str, str]:
    """Return the drawings by name, in our own style, whatever the user's settings."""
    plots = {"accuracy": (9.4, 4.4, _accuracy), "kernel": (4.9, 4.9, _kernel), "score": (4.9, 4.9, _score)}
    drawings = {}
    for name, (width, height, plot) in plots.items():
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update({**_STYLE, "svg.hashsalt": name})
            figure, stream = Figure(figsize=(width, height), layout="constrained"), io.StringIO()
            plot(figure, comparison)
            figure.savefig(stream, format="svg", metadata={"Date": None})
        drawings[name] = _inline(stream.getvalue(), name)
    return drawings


def _accuracy(figure: Any, comparison: Comparison) -> None:
    """Draw accuracy against bytes an item, a curve a width, the exact machine as a line.

    The axis shows accuracy but is logarithmic in the mistakes, so that 98% and 99% are as far apart as 80% and 90%.
    """
    fewest = 0.5 / comparison.n_test  # a faultless method is drawn at half a mistake
    ax = figure.add_subplot()
    for bits in reversed(WIDTHS):
        curve = comparison.curve(bits)
        mistakes = [max(1 - o.accuracy, fewest) for o in curve]
        width = 2.4 if bits == 1 else 1.6
        n_bytes = [o.bytes_per_item for o in curve]
        ax.plot(n_bytes, mistakes, "o-", color=_SERIES[bits], linewidth=width, markersize=5, label=curve[0].name)
    level = max(1 - comparison.exact.accuracy, fewest)
    ax.axhline(level, color=_INK, linewidth=1.2, linestyle=(0, (4, 3)), label=comparison.exact.name)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.invert_yaxis()
    ax.xaxis.set_major_locator(FixedLocator([2.0**k for k in range(2, 20)]))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    ax.yaxis.set_major_locator(FixedLocator([1 - tick for tick in _ACCURACY_TICKS]))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * (1 - value):.3g}%")
    ax.set(xlabel="bytes an item", ylabel="accuracy")
    ax.legend(frameon=False, loc="lower right", labelcolor=_INK)


def _kernel(figure: Any, comparison: Comparison) -> None:
    """Draw one-bit kernel estimates against exact values, and below the errors with bars of two standard errors."""
    pairs = comparison.calibration
    error = pairs.estimate - pairs.exact
    outside = np.abs(error) > 2 * pairs.std
    top, bottom = figure.subplots(2, sharex=True, height_ratios=(3, 2))
    ends = (pairs.exact.min(), pairs.exact.max())
    top.plot(ends, ends, color=_INK, linewidth=1, zorder=1)
    bottom.plot(ends, (0, 0), color=_INK, linewidth=1, zorder=1)
    for ax, height in ((top, pairs.estimate), (bottom, error)):
        for chosen, color in ((~outside, _SERIES[2]), (outside, _SERIES[1])):
            bars, style = 2 * pairs.std[chosen], {"fmt": "o", "markersize": 2.8, "elinewidth": 1}
            ax.errorbar(pairs.exact[chosen], height[chosen], bars, color=color, **style)
    top.set_ylabel("estimate")
    bottom.set(xlabel="exact kernel", ylabel="estimate - exact")
    figure.align_ylabels()


def _score(figure: Any, comparison: Comparison) -> None:
    """Draw the histogram of (estimate - exact) / predicted standard error over the normal density."""
    calibration = comparison.calibration
    grid = np.linspace(calibration.edges[0], calibration.edges[-1], 201)
    ax = figure.add_subplot()
    ax.stairs(calibration.density, calibration.edges, fill=True, color=_SERIES[2], alpha=0.45, label="measured")
    ax.plot(grid, np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi), color=_INK, linewidth=1.4, label="normal law")
    ax.set(xlim=(grid[0], grid[-1]), xlabel="error in predicted standard errors", ylabel="density")
    ax.legend(frameon=False, loc="upper right", labelcolor=_INK)


def _inline(svg: str, name: str) -> str:
    """Turn an SVG file into an element for a page: no prologue, ids of its own, the page's colors."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    for color, variable in _VARIABLES.items():
        svg = svg.replace(color, f"var(--{variable})")
    return svg.strip()
