"""`lowtide demo` compares an exact kernel machine with its copies on float32 features and on 4, 2 and 1 bits."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import lowtide
from lowtide.cli.terminal import NEW_FILE, check_writable
from lowtide.errors import MissingExtraError

if TYPE_CHECKING:
    from rich.console import Console

    from lowtide.cli.demo_measure import Comparison, Outcome, Report

_FORMAT = 1  # of the JSON; grows when a field changes its meaning
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


@click.command()
@click.option("--output", type=NEW_FILE, default=Path("lowtide-demo.html"), help="Page to write, with the plots.")
@click.option(
    "--components", type=click.IntRange(64, 8192), default=2048, help="Number of random features of each method."
)
@click.option("--no-html", is_flag=True, help="Write no page.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, help="Seed of the split and of the frequencies.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON in place of the table.")
@click.pass_context
def demo(context: click.Context, output: Path, components: int, no_html: bool, seed: int, as_json: bool) -> None:
    """Compare an exact SVM with random features in float32 and in 4, 2 and 1 bits, on handwritten digits.

    It takes some ten seconds, prints a table, and writes an HTML page with plots, if the extra 'report' is installed.
    """
    from lowtide.cli.demo_measure import Plan, compare
    from lowtide.persist import write_whole

    target = None if no_html else check_writable(output, "--output")
    with progress() as report:
        comparison = compare(Plan(n_components=components, seed=seed), report)
    if as_json:
        click.echo(json.dumps(to_json(comparison), indent=2))
    else:
        show(comparison)
    if target is None:
        return
    try:
        page = render_page(comparison).encode()
    except MissingExtraError as error:
        if context.get_parameter_source("output") is not ParameterSource.DEFAULT:
            raise
        click.echo(f"No page: {error}", err=True)  # nobody asked for one
        return
    write_whole(target, [page])
    click.echo(f"Plots and details: {output}", err=True)


@contextmanager
def progress() -> Iterator[Report]:
    """Give a function that moves a bar on stderr; silent when stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:28}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("loading")
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)


def reading(comparison: Comparison) -> list[str]:
    """Say in two sentences what one bit a feature reached and cost, and whether its error bars held."""
    one_bit, exact, float32 = comparison.one_bit, comparison.exact, comparison.same_bytes[0]
    error, (gain, deviation) = one_bit.kernel_error, one_bit.gain_over(exact)
    assert error is not None, "the one-bit row of the table has its kernel error measured"
    verdict = f"{100 * abs(gain):.1f} points {'less' if gain > 0 else 'more'}"
    if abs(gain) <= 2 * deviation:
        verdict = f"too close for {exact.correct.size} rows to tell apart"
    return [
        f"One bit a feature gets {percent(one_bit.accuracy)} of the test digits right in {one_bit.bytes_per_item:.0f} "
        f"bytes an item; the exact SVM gets {percent(exact.accuracy)} ({verdict}), float32 features "
        f"in as many bytes {percent(float32.accuracy)}.",
        f"Its kernel values are off by {error['measured']:.4f} (root mean square), predicted {error['predicted']:.4f}; "
        f"{percent(error['coverage'])} of them lie within two predicted standard errors, where 95.4% should.",
    ]


def notes(comparison: Comparison) -> list[str]:
    """Say what a reader should hold against the result."""
    exact, one_bit = comparison.exact, comparison.one_bit
    fit = _speed(one_bit.fit_seconds, exact.fit_seconds)
    predict = _speed(one_bit.predict_seconds, exact.predict_seconds)
    longer = exact.bytes_per_item - one_bit.bytes_per_item
    versus = "as large as" if longer == 0 else "larger than" if longer > 0 else "smaller than"
    return [
        f"Against the exact SVM on these {comparison.n_train} rows, one-bit codes fit {fit} and predict {predict}. "
        "The SVM's time to fit grows at least with the square of the rows, that of codes in proportion to them.",
        f"The SVM reads the {comparison.n_features} pixels themselves: {exact.bytes_per_item:.0f} bytes in float32, "
        f"{versus} the one-bit code. Codes save memory against float features always, against raw rows when these are "
        "long.",
    ]


def _speed(seconds: float, reference: float) -> str:
    ratio = seconds / reference
    return f"{ratio:.1f} times slower" if ratio >= 1 else f"{1 / ratio:.1f} times faster"


def percent(share: float) -> str:
    """Write a share with one decimal."""
    return f"{100 * share:.1f}%"


def show(comparison: Comparison, console: Console | None = None) -> None:
    """Print the table, the two sentences that read it, and what speaks against it."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table

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
    console = console or Console(highlight=False)
    console.print(table)
    console.print()
    for style, texts in (("", reading(comparison)), ("dim", notes(comparison))):
        for text in texts:
            console.print(Padding(text, (0, 0, 1, 0)), style=style)


def _cells(outcome: Outcome) -> tuple[str, ...]:
    error = outcome.kernel_error
    return (
        outcome.name,
        f"{outcome.n_components}",
        f"{outcome.bytes_per_item:.0f}",
        percent(outcome.accuracy),
        f"{1000 * outcome.fit_seconds:.1f}",
        f"{1000 * outcome.predict_seconds:.1f}",
        f"{error['measured']:.4f}" if error else "0",
        f"{error['predicted']:.4f}" if error else "",
    )


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return the numbers as plain values."""
    from lowtide.cli.demo_measure import WIDTHS

    plan = comparison.plan
    return {
        "format": _FORMAT,
        "lowtide": lowtide.__version__,
        "data": {
            "name": "digits",
            "train_rows": comparison.n_train,
            "test_rows": comparison.n_test,
            "features": comparison.n_features,
        },
        "plan": {"components": plan.n_components, "seed": plan.seed, "draws": plan.n_draws, "alpha": plan.alpha},
        "gamma": comparison.gamma,
        "exact": _fields(comparison.exact),
        "same_components": [_fields(outcome) for outcome in comparison.same_components],
        "same_bytes": [_fields(outcome) for outcome in comparison.same_bytes],
        "curves": [_fields(outcome) for bits in WIDTHS for outcome in comparison.curve(bits)],
        "reading": reading(comparison),
        "notes": notes(comparison),
        "seconds": comparison.seconds,
    }


def _fields(outcome: Outcome) -> dict[str, Any]:
    return {
        "method": outcome.name,
        "bits": outcome.bits,
        "components": outcome.n_components,
        "bytes_per_item": outcome.bytes_per_item,
        "accuracy": outcome.accuracy,
        "fit_seconds": outcome.fit_seconds,
        "predict_seconds": outcome.predict_seconds,
        "kernel_error": outcome.kernel_error,
    }


def render_page(comparison: Comparison) -> str:
    """Return the page; equal comparisons give equal text. Needs the extra `report`."""
    from lowtide import reports

    remedy = ", or leave the page out with --no-html"
    reports.check_extra(remedy)
    return reports.render(
        "lowtide.cli",
        "demo.html.j2",
        _drawings(comparison),
        remedy,
        comparison=comparison,
        reading=reading(comparison),
        notes=notes(comparison),
        machine=f"{platform.machine()}, Python {platform.python_version()}",
    )


def _drawings(comparison: Comparison) -> dict[str, str]:
    """Return the three plots of the page, as SVG."""
    from lowtide.cli.demo_measure import WIDTHS
    from lowtide.reports import drawing

    series = []
    for bits in reversed(WIDTHS):
        curve = comparison.curve(bits)
        n_bytes, scores = [o.bytes_per_item for o in curve], [o.accuracy for o in curve]
        series.append(drawing.Series(curve[0].name, bits, n_bytes, scores, strong=bits == 1))
    accuracy = partial(
        drawing.bytes_against_score,
        series=series,
        levels=[(comparison.exact.name, comparison.exact.accuracy)],
        word="accuracy",
        fewest=0.5 / comparison.n_test,  # a faultless method is drawn at half a mistake
    )
    pairs = {"pairs": comparison.agreement}
    return drawing.draw(
        {
            "accuracy": (9.4, 4.4, accuracy),
            "kernel": (4.9, 4.9, partial(drawing.kernel_estimates, **pairs)),
            "score": (4.9, 4.9, partial(drawing.error_law, **pairs)),
        }
    )
