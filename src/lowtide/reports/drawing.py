"""Draw the plots of a page as SVG that takes its colors and fonts from the page's style sheet."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import NDArray

from lowtide.reports.subject import FLOAT_BITS
from lowtide.reports.words import word

if TYPE_CHECKING:
    from lowtide.learners import ReliabilityBin
    from lowtide.reports.agreement import Agreement
    from lowtide.reports.reporting import Report

Floats = NDArray[np.float64]
Plot = Callable[[Any], None]

# matplotlib knows fixed colors only. Each of these stands for a variable of the style sheet, put in its place when the
# figure is written, so that one drawing serves light and dark pages.
INK, _MUTED, _GRID, _PAPER, ACCENT = "#010101", "#020202", "#030303", "#040404", "#0a0a0a"
_SERIES = {FLOAT_BITS: "#050505", 4: "#060606", 2: "#070707", 1: "#080808"}
_OTHER = "#090909"  # of widths that are seldom
_VARIABLES = {INK: "ink", _MUTED: "muted", _GRID: "grid", _PAPER: "paper", ACCENT: "accent", _OTHER: "series-8"} | {
    color: f"series-{bits}" for bits, color in _SERIES.items()
}
_SHARES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
_FAR = 2.0  # times what the worst curve lacks to 1
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, selectable, in the page's font
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": _MUTED,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
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


@dataclass(frozen=True)
class Series:
    """Scores of one width at several sizes: bytes an item, the scores, and their standard errors where they are known.

    `bits` settles the color; `strong` draws a thicker line.
    """

    name: str
    bits: int
    n_bytes: Sequence[float]
    scores: Sequence[float]
    errors: Sequence[float] | None = None
    strong: bool = False


def series_color(bits: int) -> str:
    """Return the color that stands for a width."""
    return _SERIES.get(bits, _OTHER)


def draw(plots: Mapping[str, tuple[float, float, Plot]]) -> dict[str, str]:
    """Return drawings by name, in our own style, whatever the user's settings.

    Parameters
    ----------
    plots : dict of (width, height, function)
        In inches; the function is given the figure. It may write numbers and words of ours alone: what it writes is
        marked as safe.
    """
    drawings = {}
    for name, (width, height, plot) in plots.items():
        with mpl.rc_context(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a layout that is too tight, say: nothing a reader could mend
            mpl.rcdefaults()
            mpl.rcParams.update({**_STYLE, "svg.hashsalt": name})
            figure, stream = Figure(figsize=(width, height), layout="constrained"), io.StringIO()
            plot(figure)
            figure.savefig(stream, format="svg", metadata={"Date": None})
        drawings[name] = _inline(stream.getvalue(), name)
    return drawings


def bytes_against_score(
    figure: Any,
    series: Sequence[Series],
    levels: Sequence[tuple[str, float]],
    *,
    word: str,
    fewest: float,
    marked: tuple[float, float] | None = None,
    row_bytes: float | None = None,
) -> None:
    """Draw scores against bytes an item, a curve a width, and machines without codes as level lines.

    The axis shows the score but is logarithmic in what is missing to 1, so that 98% and 99% are as far apart as 80% and
    90%; where all scores are near each other it is linear.

    Parameters
    ----------
    figure : matplotlib Figure
    series : sequence of Series
        The last ones are drawn above the others.
    levels : sequence of (name, score)
        One that is far below all curves is left out.
    word : str
        What a score is called.
    fewest : float
        What is drawn as missing to 1 where nothing is.
    marked : tuple of (bytes, score), optional
        The point to draw a ring around.
    row_bytes : float, optional
        Where to draw the line of rows as they are.
    """
    ax = figure.add_subplot()
    for each in series:
        missing = [max(1 - score, fewest) for score in each.scores]
        style = {"color": series_color(each.bits), "linewidth": 2.4 if each.strong else 1.6, "markersize": 5}
        if each.errors is None:
            ax.plot(each.n_bytes, missing, "o-", label=each.name, **style)
        else:
            bars = {"yerr": each.errors, "elinewidth": 0.8, "fmt": "o-"}
            ax.errorbar(each.n_bytes, missing, label=each.name, **bars, **style)
    shown = [max(1 - score, fewest) for each in series for score in each.scores]
    # A level that is far below everything would press the rest together.
    near = [(name, score) for name, score in levels if 1 - score <= _FAR * max(shown)]
    shown += [max(1 - score, fewest) for _, score in near]
    dashes = ((0, (4, 3)), (0, (1, 2.5)))
    for (name, score), dash in zip(near, dashes):
        ax.axhline(max(1 - score, fewest), color=INK, linewidth=1.2, linestyle=dash, label=name)
    if row_bytes is not None:
        ax.axvline(row_bytes, color=_MUTED, linewidth=1.0, linestyle=(0, (6, 4)), label="your row")
    if marked is not None:
        ring: dict[str, Any] = {"markersize": 14, "markerfacecolor": "none", "markeredgewidth": 1.8, "zorder": 5}
        place = [marked[0]], [max(1 - marked[1], fewest)]
        ax.plot(*place, "o", color=ACCENT, linestyle="none", label="the model", **ring)
    _score_axis(ax, min(shown), max(shown), word)
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(FixedLocator([2.0**k for k in range(24)]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    ax.set(xlabel="bytes an item")
    _legend_below(figure, 4)


def _legend_below(figure: Any, n_columns: int) -> None:
    """Put the legend where it hides nothing."""
    figure.legend(frameon=False, loc="outside lower left", ncols=n_columns, labelcolor=INK)


def _score_axis(ax: Any, least: float, most: float, word: str) -> None:
    """Make the axis of what is missing to 1 one of scores, growing upwards."""
    percent = word == "accuracy"
    ticks = [1 - share for share in _SHARES]
    if sum(least <= tick <= most for tick in ticks) >= 3:
        ax.set_yscale("log")
        ax.set_ylim(least / 1.25, most * 1.25)  # bars may reach beyond: to nothing, which has no logarithm
        ax.yaxis.set_major_locator(FixedLocator(ticks))
        ax.yaxis.set_minor_locator(NullLocator())
    else:
        ax.yaxis.set_major_locator(MaxNLocator(6))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _score(1 - value, percent)))
    ax.invert_yaxis()
    ax.set_ylabel(word)


def _score(score: float, percent: bool) -> str:
    text = f"{100 * score:.3g}%" if percent else f"{score:.3g}"
    return "0" + text[2:] if text.startswith("-0") and float(text.rstrip("%")) == 0.0 else text


def learning(
    figure: Any, n_rows: Sequence[int], held: tuple[Floats, Floats], learned: Floats | None, word: str
) -> None:
    """Draw scores against the rows that were learned from: of rows held out, with errors, and of these rows."""
    ax, percent = figure.add_subplot(), word == "accuracy"
    if learned is not None:
        line: dict[str, Any] = {"color": series_color(FLOAT_BITS), "markersize": 4, "linewidth": 1.4}
        ax.plot(n_rows, learned, "o-", label="rows it learned from", **line)
    style: dict[str, Any] = {"color": series_color(1), "markersize": 5, "linewidth": 2.2, "elinewidth": 1.0}
    ax.errorbar(n_rows, held[0], 2 * held[1], fmt="o-", label="rows held out", **style)
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(FixedLocator(list(n_rows)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _score(value, percent)))
    ax.set(xlabel="rows to learn from", ylabel=word)
    ax.set_ylim(top=min(ax.get_ylim()[1], 1.01))
    _legend_below(figure, 2)


def reliability(figure: Any, bins: Sequence[ReliabilityBin]) -> None:
    """Draw how often predictions of about one probability were right, and below how many there are of each."""
    sure, right = (np.array([getattr(each, name) for each in bins]) for name in ("probability", "frequency"))
    count = np.array([each.count for each in bins])
    top, bottom = figure.subplots(2, sharex=True, height_ratios=(4, 1))
    error = np.sqrt(np.maximum(right * (1 - right), 0.25 / (count + 1)) / count)
    low = min(float(sure.min()), float(right.min()), 0.5)
    top.plot((low, 1), (low, 1), color=INK, linewidth=1, zorder=1)
    style: dict[str, Any] = {"markersize": 4.5, "elinewidth": 1.0, "linewidth": 1.6, "color": series_color(2)}
    top.errorbar(sure, right, 2 * error, fmt="o-", **style)
    top.set(ylabel="share that was right", ylim=(max(0.0, low - 0.06), 1.03))
    bottom.bar(sure, count, width=0.035, color=series_color(2), alpha=0.6)
    bottom.set(xlabel="probability of the predicted class", ylabel="rows")
    bottom.yaxis.set_major_locator(MaxNLocator(2, integer=True))
    figure.align_ylabels()


def predicted_against_true(figure: Any, truth: Floats, predicted: Floats) -> None:
    """Draw predictions against true values, and the line on which both are equal."""
    ax = figure.add_subplot()
    ends = (float(min(truth.min(), predicted.min())), float(max(truth.max(), predicted.max())))
    ax.plot(truth, predicted, "o", color=series_color(2), markersize=3, alpha=0.45, markeredgewidth=0)
    ax.plot(ends, ends, color=INK, linewidth=1)
    ax.set(xlabel="true value", ylabel="prediction")


def residuals(figure: Any, truth: Floats, predicted: Floats) -> None:
    """Draw what predictions are off by against the predictions, and on the side how often."""
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(4, 1))
    off = truth - predicted
    left.plot(predicted, off, "o", color=series_color(2), markersize=3, alpha=0.45, markeredgewidth=0)
    left.axhline(0.0, color=INK, linewidth=1)
    left.set(xlabel="prediction", ylabel="true - prediction")
    right.hist(off, bins=30, orientation="horizontal", color=series_color(2), alpha=0.6)
    right.set(xlabel="rows")
    right.xaxis.set_major_locator(MaxNLocator(2, integer=True))


def kernel_estimates(figure: Any, pairs: Agreement) -> None:
    """Draw kernel estimates against exact values, and below the errors with bars of two standard errors."""
    error = pairs.estimate - pairs.exact
    outside = np.abs(error) > 2 * pairs.std
    top, bottom = figure.subplots(2, sharex=True, height_ratios=(3, 2))
    ends = (pairs.exact.min(), pairs.exact.max())
    top.plot(ends, ends, color=INK, linewidth=1, zorder=1)
    bottom.plot(ends, (0, 0), color=INK, linewidth=1, zorder=1)
    for ax, height in ((top, pairs.estimate), (bottom, error)):
        for chosen, color in ((~outside, _SERIES[2]), (outside, _SERIES[1])):
            bars, style = 2 * pairs.std[chosen], {"fmt": "o", "markersize": 2.8, "elinewidth": 1}
            ax.errorbar(pairs.exact[chosen], height[chosen], bars, color=color, **style)
    top.set_ylabel("estimate")
    bottom.set(xlabel="exact kernel", ylabel="estimate - exact")
    figure.align_ylabels()


def error_law(figure: Any, pairs: Agreement) -> None:
    """Draw the histogram of (estimate - exact) / predicted standard error over the normal density."""
    grid = np.linspace(pairs.edges[0], pairs.edges[-1], 201)
    ax = figure.add_subplot()
    ax.stairs(pairs.density, pairs.edges, fill=True, color=_SERIES[2], alpha=0.45, label="measured")
    ax.plot(grid, np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi), color=INK, linewidth=1.4, label="normal law")
    ax.set(xlim=(grid[0], grid[-1]), xlabel="error in predicted standard errors", ylabel="density")
    ax.legend(frameon=False, loc="upper right", labelcolor=INK)


def figures(report: Report) -> dict[str, str]:
    """Return the drawings of a report by name, as SVG; of numbers alone, so no text of the user's gets into them."""
    plots: dict[str, tuple[float, float, Plot]] = {
        "bytes": (9.4, 4.6, partial(_draw_bytes, report)),
        "learning": (4.9, 4.4, partial(_draw_learning, report)),
    }
    if report.agreement is not None:
        plots["kernel"] = (4.9, 4.9, partial(kernel_estimates, pairs=report.agreement))
        plots["law"] = (4.9, 4.9, partial(error_law, pairs=report.agreement))
    if report.evaluation.reliability:
        plots["reliability"] = (4.9, 4.4, partial(reliability, bins=report.evaluation.reliability))
    if report.predictions is not None:
        truth, predicted = report.predictions
        plots["predicted"] = (4.9, 4.4, partial(predicted_against_true, truth=truth, predicted=predicted))
        plots["residuals"] = (4.9, 4.4, partial(residuals, truth=truth, predicted=predicted))
    return draw(plots)


def _draw_bytes(report: Report, figure: Any) -> None:
    own = report.own_trial
    series = []
    widths = sorted({each.bits or 0 for each in report.codes}, reverse=True)
    for bits in sorted(widths, key=lambda width: width == own.bits):  # the model's last, above the others
        curve = sorted((each for each in report.codes if each.bits == bits), key=lambda each: each.n_bytes)
        values = ([each.n_bytes for each in curve], [each.score for each in curve], [each.error for each in curve])
        series.append(Series(curve[0].name, bits, *values, strong=bits == own.bits))
    bytes_against_score(
        figure,
        series,
        [(report.exact.name, report.exact.score), (report.constant.name, report.constant.score)],
        word=word(report),
        fewest=0.5 / len(own.losses),  # a faultless method is drawn at half a mistake
        marked=(own.n_bytes, own.score),
        row_bytes=report.row_bytes,
    )


def _draw_learning(report: Report, figure: Any) -> None:
    points = report.learning
    held = np.array([each.score for each in points]), np.array([each.error for each in points])
    learned = np.array([each.learned_score for each in points])
    learning(figure, [each.n_rows for each in points], held, learned, word(report))


def _inline(svg: str, name: str) -> str:
    """Turn an SVG file into an element for a page: no prologue, ids of its own, the page's colors."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    for color, variable in _VARIABLES.items():
        svg = svg.replace(color, f"var(--{variable})")
    return svg.strip()
