"""`lowtide report` writes a page about a model and a table: how good it is, what it costs, what speaks against it."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lowtide as lt
from lowtide.cli import models
from lowtide.cli import terminal as term
from lowtide.cli.completion import target_option
from lowtide.cli.demo import progress
from lowtide.cli.predict import Prediction
from lowtide.cli.terminal import Voice, counted, refuse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lowtide.cli.models import FittedTable
    from lowtide.learners import Decision
    from lowtide.tables import Source

    Array = NDArray[Any]

# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide report flowers.lowtide flowers.csv
  lowtide report flowers.lowtide new.csv --unseen -o new.html
  lowtide report flowers.lowtide flowers.csv --json --no-html
"""


@click.command(cls=term.TableCommand, epilog=_EXAMPLES)
@click.argument("model", type=term.FILE)
@click.argument("data", type=term.FILE)
@click.option("--output", "-o", type=term.NEW_FILE, help="Page to write.  [default: the model's name with .html]")
@click.option("--force", is_flag=True, help="Replace the page if it exists.")
@click.option("--no-html", is_flag=True, help="Write no page.")
@target_option("The true values: a column, or a file with one column.  [default: the model's target]")
@click.option(
    "--rows", type=click.IntRange(40, 1_000_000), default=20_000, help="Use at most this many rows, drawn at random."
)
@click.option("--unseen", is_flag=True, help="The model has never seen these rows: score its own answers on them.")
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, help="Seed of the split and of everything random."
)
@term.header_option("The first line of a CSV file is a row.")
@term.encoding_option
@term.voice_options
def report(
    model: Path,
    data: Path,
    output: Path | None,
    force: bool,
    no_html: bool,
    target: str | None,
    rows: int,
    unseen: bool,
    seed: int,
    header: bool,
    encoding: str | None,
    voice: Voice,
) -> None:
    """Measure MODEL on the table DATA, and write an HTML page about it that you can show to others.

    The model is fitted again on three quarters of the rows and judged by the last quarter, so it does not matter
    whether it has seen them. About twenty-five models are fitted: about a minute of processor time for 20,000 rows.
    The page is one file without scripts or links. It names columns and classes, but shows no row.
    """
    from lowtide import reports

    page = output or model.with_suffix(".html")
    place = None if no_html else term.check_new(page, "--output", force=force)
    term.check_apart({} if no_html else {"--output": page}, [model, data, target])
    if data.suffix == ".lowtide":
        refuse("DATA", f"must be a table: a report needs the rows themselves, got {str(data)!r}.")
    if place is not None:
        reports.check_extra(", or leave the page out with --no-html")
    learner, table = models.load_model(model)
    reports.checked_model(learner)
    run = Prediction(learner.decision_, table, data, target, header, voice, encoding)
    if run.target_name is None:
        known = table.choice.target
        has = "The model names no target" if known is None else f"{data.name} has no column {known!r}, its target"
        refuse("--target", f"must name the column with the true values, or a file of them. {has}.")
    kept, n_absent = read_sample(run, learner.decision_, reports.most_rows(rows, table.recipe.n_features), seed, voice)
    source = lt.tables.open_table(data, header=header, encoding=encoding)
    subject = reports.Subject(
        model=learner.with_recipe(None),
        rows=kept.rows,
        truth=_as_classes(kept.truth, learner.decision_.classes),
        columns=reports.describe_columns(table.recipe, _cells(table, source, rows)),
        n_given=run.n_rows - n_absent,
        n_unanswered=n_absent,
        row_bytes=learner.decision_.row_bytes,
        model_bytes=model.stat().st_size,
        title=data.name,
        target=run.target_name,
    )
    with nullcontext() if voice.quiet else progress() as tell:
        found = reports.report_on(reports.checked_subject(subject), unseen=unseen, seed=seed, progress=tell)
    if place is not None:
        found.save(place)
    voice.say(str(found))
    if place is not None:
        voice.say(f"\nPlots and details: {page}, {term.bytes_in_words(place.stat().st_size)}")
    content = {"model": str(model), "data": str(data), "output": None if place is None else str(page)}
    voice.result("report", {**content, "report": found.to_json()})


def read_sample(run: Prediction, decision: Decision, most: int, seed: int, voice: Voice) -> tuple[Sample, int]:
    """Read the rows that have a true value, at most so many drawn alike, and count those that have none."""
    import numpy as np

    kept, n_absent, classes = Sample(most, seed), 0, decision.classes
    with voice.working("reading") as tell:
        for rows, cells in run.pairs():
            assert cells is not None, "there is a target"
            truth, there = lt.tables.comparable(cells, classes)
            if truth.dtype.kind == "f":
                there &= np.isfinite(truth)  # a text among classes that are numbers
            n_absent += int((~there).sum())
            kept.add(rows[there], truth[there])
            tell(run.n_rows)
    if n_absent:
        voice.note(f"{counted(n_absent, 'row')} without a true value left out.")
    if kept.n_rows == 0:
        raise lt.tables.TableError(f"{run.target_name!r} must have true values to score with, got none.")
    return kept, n_absent


def _as_classes(truth: Array, classes: Array | None) -> Array:
    """Return whole numbers, which were read as any others, as the integers that a model has for classes."""
    is_whole = classes is not None and classes.dtype.kind in "iu" and bool((truth == truth.round()).all())
    return truth.astype("int64") if is_whole else truth


def _cells(table: FittedTable, source: Source, rows: int) -> list[Array]:
    """Return the raw columns that a model needs, of the first rows of a table."""
    import numpy as np

    names, _ = lt.tables.align(table.recipe, source, table.choice)  # its notes have been said
    parts: list[list[Array]] = [[] for _ in table.recipe.columns]
    n_rows = 0
    for block in source.blocks():
        renamed = block.renamed(names)
        for part, name in zip(parts, table.recipe.columns):
            part.append(renamed.column(name)[: rows - n_rows])
        n_rows += block.n_rows
        if n_rows >= rows:
            break
    return [np.concatenate(part) for part in parts]


class Sample:
    """Rows drawn alike from all that came, at most so many, in their order."""

    def __init__(self, most: int, seed: int) -> None:
        import numpy as np

        self._most, self._draw, self.n_rows = most, np.random.default_rng(seed), 0
        self._parts: list[tuple[Array, Array, NDArray[np.float64]]] = []

    def add(self, rows: Array, truth: Array) -> None:
        """Take in more rows; when there are twice too many, those of the largest numbers drawn go."""
        self._parts.append((rows, truth, self._draw.random(len(truth))))
        self.n_rows += len(truth)
        if sum(len(part[1]) for part in self._parts) > 2 * self._most:
            self._join()

    def _join(self) -> tuple[Array, Array, NDArray[np.float64]]:
        import numpy as np

        rows, truth, order = (np.concatenate(pieces) for pieces in zip(*self._parts))
        if len(truth) > self._most:
            kept = np.sort(np.argpartition(order, self._most)[: self._most])
            rows, truth, order = rows[kept], truth[kept], order[kept]
        self._parts = [(rows, truth, order)]
        return self._parts[0]

    @property
    def rows(self) -> Array:
        """The rows that were kept."""
        return self._join()[0]

    @property
    def truth(self) -> Array:
        """Their true values."""
        return self._join()[1]
