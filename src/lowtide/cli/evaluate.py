"""`lowtide evaluate` says how good a model is on a table, or on codes, whose true values are known."""

from __future__ import annotations

from pathlib import Path

import click

import lowtide as lt
from lowtide.cli import models
from lowtide.cli import terminal as term
from lowtide.cli.completion import target_option
from lowtide.cli.predict import Prediction
from lowtide.cli.terminal import Voice, counted, refuse

# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide evaluate flowers.lowtide new.csv
  lowtide evaluate flowers.lowtide codes.zarr --json
"""


@click.command(cls=term.TableCommand, epilog=_EXAMPLES)
@click.argument("model", type=term.FILE)
@click.argument("data", type=term.FILE_OR_STORE)
@target_option("The true values: a column, or a file with one column.  [default: the model's target; store: y]")
@term.header_option("The first line of a CSV file is a row.")
@term.encoding_option
@term.voice_options
def evaluate(model: Path, data: Path, target: str | None, header: bool, encoding: str | None, voice: Voice) -> None:
    """Score MODEL on the rows of DATA, a table such as 'lowtide fit' takes, or codes that 'lowtide encode' wrote.

    For classes: accuracy with its standard error, which classes are taken for each other, precision and recall per
    class, and how far the probabilities can be trusted. For numbers: R², errors, and quantiles of the residuals. Use
    rows that the model was not fitted on. The table is read block by block, whatever its size.
    """
    term.check_apart({"DATA": None}, [model, data, target])
    learner, table = models.load_model(model)
    decision = learner.decision_
    run = Prediction(decision, table, data, target, header, voice, encoding)
    if run.target_name is None:
        refuse("--target", _no_target(data, table.choice.target))
    tally, n_absent = lt.learners.Tally(decision), 0
    with voice.working(f"evaluating {data.name}") as report, voice.hearing():
        for rows, cells in run.pairs():
            assert cells is not None, "there is a target"
            truth, there = lt.tables.comparable(cells, decision.classes)
            n_absent += int((~there).sum())
            tally.add(*((rows, truth) if there.all() else (rows[there], truth[there])))
            report(run.n_rows)
    if tally.n_rows == 0:
        got = "no rows" if run.n_rows == 0 else f"none in {counted(run.n_rows, 'row')}"
        what = "true values" if decision.task == "classification" else "numbers"
        raise lt.tables.TableError(f"{data.name}: {run.target_name!r} must have {what} to score with, got {got}.")
    if n_absent:
        voice.note(f"{counted(n_absent, 'row')} without a true value left out of the score.")
    found = tally.evaluation()
    known = lt.tables.listed(found.classes or ())
    if found.n_unknown == found.n_rows:
        need = f"must have classes that the model knows, {known}"
        raise lt.tables.TableError(f"{data.name}: {run.target_name!r} {need}, got none. Is it the right target?")
    if found.n_unknown:
        voice.note(f"{counted(found.n_unknown, 'row')} of classes that the model does not know ({known} are known).")
    voice.say(f"{model.name} on {data.name}, {run.target_name!r}\n\n{found}")
    content = {"model": str(model), "data": str(data), "target": run.target_name}
    voice.result("evaluate", {**content, **found.to_config()})


def _no_target(data: Path, known: str | None) -> str:
    """Say that true values are missing, and where they might be."""
    if data.is_dir() or data.suffix == ".lowtide":
        return f"must name a file with the true values: {data.name} has codes alone."
    has = "The model names no target" if known is None else f"{data.name} has no column {known!r}, the model's target"
    return f"must name the column with the true values, or a file of them. {has}."
