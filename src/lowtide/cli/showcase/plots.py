"""The three plots of the page, as SVG that takes its colors from the page's style sheet."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lowtide.cli.showcase.results import FLOAT32, WIDTHS, Comparison

__all__ = ["accuracy_plot", "kernel_plot", "score_plot"]

# matplotlib knows fixed colors only. Each of these stands for a variable of the style sheet, put in its place when the
# figure is written, so that one drawing serves light and dark pages.
_INK, _MUTED, _GRID, _PAPER = "#010101", "#020202", "#030303", "#040404"
_SERIES = {FLOAT32: "#050505", 4: "#060606", 2: "#070707", 1: "#080808"}
_VARIABLES = {_INK: "ink", _MUTED: "muted", _GRID: "grid", _PAPER: "paper"} | {
    color: f"series-{bits}" for bits, color in _SERIES.items()
}
_STYLE = {
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


def accuracy_plot(comparison: Comparison) -> str:
    """Draw accuracy against bytes an item, a curve a width, the exact machine as a line."""
    with _figure("accuracy", (7.4, 4.0)) as (ax, written):
        exact = comparison.exact.accuracy
        ax.axhline(100 * exact, color=_INK, linewidth=1, linestyle=(0, (4, 3)))
        for bits in WIDTHS:
            curve = comparison.curve(bits)
            n_bytes, accuracy = [o.bytes_per_item for o in curve], [100 * o.accuracy for o in curve]
            weight = 2.4 if bits == 1 else 1.6
            ax.plot(n_bytes, accuracy, "o-", color=_SERIES[bits], linewidth=weight, markersize=4.5, label=curve[0].name)
            ax.annotate(
                curve[0].name,
                (n_bytes[0], accuracy[0]),
                xytext=(-8, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                color=_SERIES[bits],
            )
        ax.set_xscale("log", base=2)
        low, high = ax.get_xlim()
        ax.set_xlim(low / 1.7, high)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0f}%")
        ax.annotate(
            f"exact SVM {100 * exact:.1f}%", (high, 100 * exact), xytext=(0, 5), textcoords="offset points", ha="right"
        )
        ax.set_xlabel("bytes an item")
        ax.set_ylabel("test digits right")
    return written()


def kernel_plot(comparison: Comparison) -> str:
    """Draw one-bit kernel estimates against exact values, with bars of two predicted standard errors."""
    pairs = comparison.calibration
    outside = np.abs(pairs.estimate - pairs.exact) > 2 * pairs.std
    with _figure("kernel", (5.2, 4.4)) as (ax, written):
        ends = [min(pairs.exact.min(), pairs.estimate.min()), max(pairs.exact.max(), pairs.estimate.max())]
        ax.plot(ends, ends, color=_INK, linewidth=1, zorder=1)
        for chosen, color in ((~outside, _SERIES[2]), (outside, _SERIES[1])):
            ax.errorbar(
                pairs.exact[chosen],
                pairs.estimate[chosen],
                yerr=2 * pairs.std[chosen],
                fmt="o",
                markersize=2.6,
                color=color,
                elinewidth=0.9,
                zorder=2,
            )
        ax.set_xlabel("exact kernel")
        ax.set_ylabel("estimate from one-bit codes")
    return written()


def score_plot(comparison: Comparison) -> str:
    """Draw the histogram of (estimate - exact) / predicted standard error over the normal density."""
    calibration = comparison.calibration
    grid = np.linspace(calibration.edges[0], calibration.edges[-1], 201)
    with _figure("score", (5.2, 4.4)) as (ax, written):
        ax.stairs(calibration.density, calibration.edges, fill=True, color=_SERIES[2], alpha=0.45, label="measured")
        ax.plot(grid, np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi), color=_INK, linewidth=1.4, label="normal law")
        ax.set_xlim(grid[0], grid[-1])
        ax.set_xlabel("error in predicted standard errors")
        ax.set_ylabel("density")
        ax.legend(frameon=False, loc="upper right", labelcolor=_INK)
    return written()


@contextmanager
def _figure(name: str, size: tuple[float, float]) -> Iterator[tuple[Any, Callable[[], str]]]:
    """Give axes in our own style, whatever the user's settings, and a function that returns the SVG afterwards."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    text = ""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update({**_STYLE, "svg.hashsalt": name})
        figure = Figure(figsize=size, layout="constrained")
        yield figure.add_subplot(), lambda: text
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
        text = _inline(stream.getvalue(), name)


def _inline(svg: str, name: str) -> str:
    """Turn an SVG file into an element for a page: no prologue, ids of its own, the page's colors."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    for color, variable in _VARIABLES.items():
        svg = svg.replace(color, f"var(--{variable})")
    return svg.strip()
