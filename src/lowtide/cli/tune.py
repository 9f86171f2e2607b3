"""`lowtide tune` compares codes of several kinds and sizes on a table, and says which to take for how many bytes."""

from __future__ import annotations

import io
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lowtide as lt
from lowtide._checks import missing_extra
from lowtide.cli import terminal as term
from lowtide.cli.completion import target_option
from lowtide.cli.fit import check_model_name, task_options
from lowtide.cli.lesson import read_table
from lowtide.cli.models import choice_content, chosen_settings, encoder_summary
from lowtide.cli.settings import place_beside, settings_options, write_settings
from lowtide.cli.terminal import TableOptions, Voice, bytes_in_words, counted, refuse

if TYPE_CHECKING:
    from lowtide.learners import Advice, AdvisedCode
    from lowtide.tables import Task

_MOST_ROWS, _FEWEST_ROWS = 4000, 40
_PLOTS = (".svg", ".png")
_BAR = 40
_EIGHTHS = " ▏▎▍▌▋▊▉█"

# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide tune flowers.csv --target species --budget 64B
  lowtide tune rents.csv --target rent --budget model:100kB -o rents.lowtide
  lowtide tune flowers.csv --target species --rows 500 --plot bytes.svg
"""


@click.command(cls=term.TableCommand, epilog=_EXAMPLES)
@click.argument("data", type=term.FILE_OR_STORE)
@target_option("What to learn: a column, or a file with one column.  [required]")
@term.budget_option
@click.option(
    "--rows",
    "n_rows",
    type=click.IntRange(_FEWEST_ROWS, _MOST_ROWS),
    default=_MOST_ROWS,
    help="Use at most this many rows, a quarter of them to judge; fewer are faster.",
)
@click.option(
    "--output", "-o", type=term.NEW_FILE, help="Model file to write: the recommended model, fitted on all rows."
)
@click.option("--plot", type=term.NEW_FILE, help="Plot to write, .svg or .png (needs the extra 'report').")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@task_options
@term.seed_option
@term.table_options
@settings_options
@term.voice_options
def tune(
    data: Path,
    target: str | None,
    budget: tuple[tuple[str, float], ...],
    n_rows: int,
    output: Path | None,
    plot: Path | None,
    force: bool,
    task: Task | None,
    seed: int,
    table: TableOptions,
    save_settings: bool,
    voice: Voice,
) -> None:
    """Compare codes of several kinds and sizes on the table DATA, and recommend one.

    Random, sketched, ternary and learned codes of 8 to 512 bytes per item, and the rows as they are, are tried on some
    rows and judged by others. That is about thirty models: seconds for a few hundred rows, minutes for thousands of
    rows with hundreds of columns. Recommended is the smallest code within the budget that is not clearly worse than
    the best.
    """
    if data.is_dir() or data.suffix == ".lowtide":
        refuse("DATA", f"must be a table: codes are what is compared, got {str(data)!r}.")
    outputs = _check_outputs(output, plot, save_settings, force)
    term.check_apart(outputs, [data, target])
    lesson = read_table(data, target, table, task, voice)
    advice = _advise(lesson, dict(budget), n_rows, seed, voice)
    _show(advice, voice)
    if plot is not None:
        lt.persist.write_whole(outputs["--plot"], [_drawing(advice, plot.suffix[1:].lower())])
    content: dict[str, Any] = {
        "data": {"file": lesson.file, "rows": len(lesson.target.values), "target": lesson.target_name},
        "task": advice.task,
        "budget": dict(budget) or None,
        "learned_rows": advice.n_learned,
        "held_out_rows": advice.n_held,
        "codes": advice.to_rows(),
        "recommendation": advice.recommendation,
        "plot": None if plot is None else str(plot),
        "model": None,
    }
    if output is not None:
        content["model"] = _keep(lesson, advice, output, outputs, voice)
    voice.result("tune", content)


def _check_outputs(output: Path | None, plot: Path | None, save_settings: bool, force: bool) -> dict[str, Path]:
    """Return where files will be written, by their options, or refuse before any work is done."""
    places = {}
    if output is not None:
        places["--output"] = check_model_name(output, force=force)
    if plot is not None:
        if plot.suffix.lower() not in _PLOTS:
            refuse("--plot", f"must end in .svg or .png, got {str(plot)!r}.")
        places["--plot"] = term.check_new(plot, "--plot", force=force)
        _figure()
    if save_settings:
        if output is None:
            refuse("--save-settings", "must come with --output: settings are written beside the model.")
        places["--save-settings"] = place_beside(output, force=force)
    return places


def _advise(lesson: Any, budget: dict[str, float], n_rows: int, seed: int, voice: Voice) -> Advice:
    """Return what codes of some of the rows reach."""
    import numpy as np

    values = lesson.target.values
    if len(values) < _FEWEST_ROWS:
        raise lt.tables.TableError(
            f"{lesson.file}: {_FEWEST_ROWS} rows or more are needed to compare codes, got {len(values)}. Keep rows as "
            "they are: 'lowtide fit' learns from them."
        )
    rows = np.arange(len(values))
    if len(rows) > n_rows:
        rows = np.sort(np.random.default_rng(seed).choice(rows, n_rows, replace=False))
        voice.note(f"compared on {counted(n_rows, 'row')} of {len(values):,}, drawn at random.")
    material = lesson.material(rows, rows[:0])
    voice.say(f"{material.table.columns_in_words()}\n")
    tried: list[AdvisedCode] = []
    with voice.working("comparing codes", "tried") as report, voice.hearing():

        def count(code: AdvisedCode) -> None:
            tried.append(code)
            report(len(tried))

        return lt.advise(
            material.rows,
            values[rows],
            budget or None,
            task=lesson.target.task,
            random_state=seed,
            on_trial=count,
        )


def _show(advice: Advice, voice: Voice) -> None:
    """Print the table, the plot and the recommendation; the table is drawn on a terminal."""
    text = str(advice).removesuffix(advice.recommendation).rstrip()
    if sys.stdout.isatty() and not voice.quiet and not voice.as_json:
        from rich.console import Console

        Console(highlight=False).print(_table(advice))
        text = text.splitlines()[-1]
    voice.say(f"{text}\n\n{bars(advice)}\n\n{advice.recommendation}")


def _table(advice: Advice) -> Any:
    """Return the table for a terminal: the recommended code is bold, those over the budget are dim."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for i, heading in enumerate(("encoder", "bytes\nan item", "bytes of\nthe model", "cost", _word(advice), "", "")):
        table.add_column(heading, justify="left" if i in (0, 5, 6) else "right", no_wrap=i < 6)
    for each in advice.rows:
        mark = "take this" if each.is_best else "" if each.within_budget else "over budget"
        settings = ", ".join(
            f"{name} {term.amount(value) if isinstance(value, float) else value}"
            for name, value in each.settings.items()
        )
        sizes = (f"{size:,}" for size in (each.item_bytes, each.model_bytes, each.cost))
        style = "bold" if each.is_best else "" if each.within_budget else "dim"
        table.add_row(each.encoder, *sizes, f"{each.score:.3f} ± {each.error:.3f}", mark, settings, style=style)
    return table


def bars(advice: Advice) -> str:
    """Return one line per size, with the best score of that size as a bar that begins at the least score of all."""
    best: dict[int, AdvisedCode] = {}
    for each in advice.rows:
        if each.item_bytes not in best or each.score > best[each.item_bytes].score:
            best[each.item_bytes] = each
    scores = [each.score for each in advice.rows]
    low, high = math.floor(20 * min(scores)) / 20, max(scores)
    drawn, width = _can_draw(), max(len(f"{size:,}") for size in best)
    lines = [f"Best {_word(advice)} by bytes an item; bars begin at {low:.2f}:"]
    for size, each in sorted(best.items()):
        bar = _bar((each.score - low) / (high - low) if high > low else 1.0, drawn)
        mark = "  take this" if each.is_best else ""
        lines.append(f"{size:>{width},}  {each.encoder:8}{bar:{_BAR}}  {each.score:.3f}{mark}")
    return "\n".join(lines)


def _bar(share: float, drawn: bool) -> str:
    eighths = round(8 * _BAR * share)
    if not drawn:
        return "#" * (eighths // 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _can_draw() -> bool:
    """Whether standard output takes block characters."""
    try:
        _EIGHTHS.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _word(advice: Advice) -> str:
    return "accuracy" if advice.task == "classification" else "R^2"


def _keep(lesson: Any, advice: Advice, output: Path, outputs: dict[str, Path], voice: Voice) -> dict[str, Any]:
    """Fit what is recommended on all rows and write it."""
    import numpy as np

    rows = np.arange(len(lesson.target.values))
    material = lesson.material(rows, rows[:0])
    advice.model.set_params(verbose=int(voice.shows_progress))
    with voice.hearing():
        material.teach(advice.model, lesson.target.values)
    advice.model.verbose = 0
    best = advice.best
    score = f"{_word(advice)} {best.score:.3f} ± {best.error:.3f} on {counted(advice.n_held, 'row')} held out by tune"
    metadata = {**material.table.to_metadata(with_recipe=False), "score": score}
    lt.save(advice.model.with_recipe(material.table.recipe), outputs["--output"], metadata=metadata)
    if "--save-settings" in outputs:
        write_settings(outputs["--save-settings"], chosen_settings(advice.model))
    n_bytes = output.stat().st_size
    takes = "takes rows as they are" if advice.keeps_rows else encoder_summary(advice.model.features_)
    voice.say(f"\n{output}, {bytes_in_words(n_bytes)}: {takes}; fitted on {counted(len(rows), 'row')}")
    return {"file": str(output), "bytes": n_bytes, "choice": choice_content(advice.model)}


def _figure() -> Any:
    """Return matplotlib's figure, which an extra brings."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra(f"--plot needs {error.name}, which is not installed", "report") from error
    return Figure(figsize=(8.0, 4.8), layout="constrained")


def _drawing(advice: Advice, ending: str) -> bytes:
    """Return a plot of score against bytes, a line an encoder, as SVG or PNG."""
    figure, stream = _figure(), io.BytesIO()
    axes = figure.subplots()
    for name in dict.fromkeys(each.encoder for each in advice.rows):
        some = sorted((each for each in advice.rows if each.encoder == name), key=lambda each: each.item_bytes)
        sizes, scores, errors = zip(*((each.item_bytes, each.score, each.error) for each in some))
        axes.errorbar(
            sizes, scores, errors, marker="o", capsize=3, linestyle="none" if name == "rows" else "-", label=name
        )
    best = advice.best
    axes.plot([best.item_bytes], [best.score], "*", color="black", markersize=16, label="recommended", zorder=5)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted({each.item_bytes for each in advice.rows}), labels=None)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set_xlabel("bytes an item")
    axes.set_ylabel(f"{_word(advice)} on {advice.n_held} rows held out")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(stream, format=ending, metadata={"Date": None} if ending == "svg" else None)
    return stream.getvalue()
