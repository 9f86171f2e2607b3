"""Show the comparison of `lowtide demo` in words, as a table in the terminal, as JSON and as one HTML page."""

from __future__ import annotations

import json
import platform
from importlib import resources
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

import lowtide
from lowtide.cli.demo_measure import WIDTHS, Comparison, Outcome
from lowtide.errors import MissingExtraError

__all__ = ["notes", "percent", "reading", "render_page", "show", "to_json"]

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


def reading(comparison: Comparison) -> list[str]:
    """Say in two sentences what one bit a feature reached and cost, and whether its error bars held."""
    return [_accuracy_sentence(comparison), _error_sentence(comparison)]


def notes(comparison: Comparison) -> list[str]:
    """Say what a reader should hold against the result."""
    return [_time_note(comparison), _size_note(comparison)]


def percent(share: float) -> str:
    """Write a share with one decimal."""
    return f"{100 * share:.1f}%"


def _accuracy_sentence(comparison: Comparison) -> str:
    one_bit, exact, float32 = comparison.one_bit, comparison.exact, comparison.same_bytes[0]
    return (
        f"One bit a feature gets {percent(one_bit.accuracy)} of the test digits right in {one_bit.bytes_per_item:.0f} "
        f"bytes an item; the exact SVM gets {percent(exact.accuracy)} ({_verdict(one_bit, exact)}), float32 features "
        f"in as many bytes {percent(float32.accuracy)}."
    )


def _verdict(outcome: Outcome, exact: Outcome) -> str:
    """Say how far the exact machine is ahead or behind, if the test rows can tell the two apart."""
    gain, error = outcome.gain_over(exact)
    if abs(gain) <= 2 * error:
        return f"too close for {exact.correct.size} rows to tell apart"
    return f"{100 * abs(gain):.1f} points {'less' if gain > 0 else 'more'}"


def _error_sentence(comparison: Comparison) -> str:
    error = comparison.one_bit.kernel_error
    assert error is not None, "the one-bit row of the table has its kernel error measured"
    return (
        f"Its kernel values are off by {error.measured:.4f} (root mean square), predicted {error.predicted:.4f}; "
        f"{percent(error.coverage)} of them lie within two predicted standard errors, where 95.4% should."
    )


def _time_note(comparison: Comparison) -> str:
    exact, one_bit = comparison.exact, comparison.one_bit
    fit = _speed(one_bit.fit_seconds, exact.fit_seconds)
    predict = _speed(one_bit.predict_seconds, exact.predict_seconds)
    return (
        f"Against the exact SVM on these {comparison.n_train} rows, one-bit codes fit {fit} and predict {predict}. "
        f"The SVM's time to fit grows at least with the square of the rows, that of codes in proportion to them."
    )


def _speed(seconds: float, reference: float) -> str:
    ratio = seconds / reference
    return f"{ratio:.1f} times slower" if ratio >= 1 else f"{1 / ratio:.1f} times faster"


def _size_note(comparison: Comparison) -> str:
    exact, one_bit = comparison.exact.bytes_per_item, comparison.one_bit.bytes_per_item
    versus = "as large as" if exact == one_bit else "larger than" if exact > one_bit else "smaller than"
    return (
        f"The SVM reads the {comparison.n_features} pixels themselves: {exact:.0f} bytes in float32, {versus} the "
        f"one-bit code. Codes save memory against float features always, against raw rows when these are long."
    )


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


def to_json(comparison: Comparison) -> str:
    """Write the numbers as one JSON object."""
    plan = comparison.plan
    content = {
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
    return json.dumps(content, indent=2)


def _fields(outcome: Outcome) -> dict[str, Any]:
    error = outcome.kernel_error
    return {
        "method": outcome.name,
        "bits": outcome.bits,
        "components": outcome.n_components,
        "bytes_per_item": outcome.bytes_per_item,
        "accuracy": outcome.accuracy,
        "fit_seconds": outcome.fit_seconds,
        "predict_seconds": outcome.predict_seconds,
        "kernel_error": error
        and {"measured": error.measured, "predicted": error.predicted, "coverage": error.coverage},
    }


def render_page(comparison: Comparison) -> str:
    """Return the page; equal comparisons give equal text. Needs the extra `report`."""
    try:
        import matplotlib  # noqa: F401
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise MissingExtraError(
            f"The page with the plots needs matplotlib and jinja2, got: {error}. "
            "Run pip install 'lowtide[report]', or leave the page out with --no-html."
        ) from error
    from lowtide.cli.demo_plots import accuracy_plot, kernel_plot, score_plot

    template = resources.files("lowtide.cli").joinpath("templates", "demo.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["percent"] = percent
    # The drawings hold numbers and our own words only; nothing of the user's is marked as safe.
    drawings = {"accuracy": accuracy_plot, "kernel": kernel_plot, "score": score_plot}
    return environment.from_string(template).render(
        comparison=comparison,
        reading=reading(comparison),
        notes=notes(comparison),
        plots={name: Markup(draw(comparison)) for name, draw in drawings.items()},
        version=lowtide.__version__,
        machine=f"{platform.machine()}, Python {platform.python_version()}",
    )
