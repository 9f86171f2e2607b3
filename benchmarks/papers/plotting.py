"""One look for all plots, without a window system."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

__all__ = ["BLACK", "BLUE", "GRAY", "GREEN", "ORANGE", "RED", "panels", "style"]

# Okabe and Ito's colors, which color-blind readers can tell apart.
BLACK, BLUE, ORANGE, GREEN, RED = "#000000", "#0072B2", "#E69F00", "#009E73", "#D55E00"
GRAY = "#666666"

_STYLE: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "font.size": 9,
    "grid.alpha": 0.3,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "lowtide",
}


def style() -> AbstractContextManager[None]:
    """Return the context in which plots are drawn and saved."""
    return mpl.rc_context(_STYLE)


def panels(rows: int, columns: int, title: str, **options: Any) -> tuple[Figure, Any]:
    """Return a figure and its axes, an array (rows, columns); options go to `Figure.subplots`."""
    figure = Figure(figsize=(3.7 * columns, 3.0 * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    figure.suptitle(title, fontsize=11)
    return figure, axes
