"""The comparison as a table in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from lowtide.cli.showcase.measure import Report
from lowtide.cli.showcase.reading import notes, percent, reading
from lowtide.cli.showcase.results import Comparison, Outcome

__all__ = ["progress", "show"]

# Two lines each, so that the table fits in 80 columns.
_HEADINGS = (
    "\nfeatures",
    "bytes\nan item",
    "\naccuracy",
    "fit\nms",
    "predict\nms",
    "kernel\nerror",
    "error\npredicted",
)


@contextmanager
def progress() -> Iterator[Report]:
    """Give a function that moves a bar on stderr; silent when stderr is not a terminal."""
    columns = (TextColumn("{task.description:28}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("loading")
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)


def show(comparison: Comparison, console: Console | None = None) -> None:
    """Print the table, the two sentences that read it, and what speaks against it."""
    console = console or Console(highlight=False)
    console.print(_table(comparison))
    console.print()
    for sentence in reading(comparison):
        console.print(Padding(sentence, (0, 0, 1, 0)))
    for note in notes(comparison):
        console.print(Padding(note, (0, 0, 1, 0)), style="dim")


def _table(comparison: Comparison) -> Table:
    title = (
        f"Digits: {comparison.n_train} rows to learn from, {comparison.n_test} to test; "
        f"kernel exp(-{comparison.gamma:.3g} |x - y|²)"
    )
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, show_edge=False)
    table.padding = (0, 1, 0, 0)
    table.add_column("\nmethod", no_wrap=True)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(*_cells(comparison.exact))
    for label, outcomes in (("same features", comparison.same_components), ("same bytes", comparison.same_bytes)):
        table.add_section()
        table.add_row(label, style="dim")
        for outcome in outcomes:
            table.add_row(*_cells(outcome), style="bold" if outcome.bits == 1 else "")
    return table


def _cells(outcome: Outcome) -> tuple[str, ...]:
    error = outcome.kernel_error
    return (
        outcome.name,
        f"{outcome.n_components}",
        f"{outcome.bytes_per_item:.0f}",
        percent(outcome.accuracy),
        f"{1000 * outcome.fit_seconds:.1f}",
        f"{1000 * outcome.predict_seconds:.1f}",
        f"{error.measured:.4f}" if error else "0",
        f"{error.predicted:.4f}" if error else "",
    )
