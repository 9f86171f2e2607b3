"""`lowtide fit`: a table to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowtide.cli.terminal import (
    EncoderOptions,
    TableOptions,
    Voice,
    WordOrNumber,
    encoder_options,
    table_options,
    voice_options,
)

if TYPE_CHECKING:
    from lowtide.cli.recipe import Task

__all__ = ["fit"]


# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide fit flowers.csv --target species -o flowers.lowtide --validate 0.2
  lowtide fit rents.csv --target rent --one-hot city -o rents.lowtide
  lowtide fit X.npy --target y.npy -o model.lowtide --bits 2
  lowtide fit codes.zarr -o model.lowtide --validate 0.1
"""


@click.command(short_help="Learn from a table and write a model file.", epilog=_EXAMPLES)
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("--target", metavar="COLUMN", help="What to learn: a column, or a file with one column.  [store: y]")
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path), help="Model file to write.")
@click.option("--force", is_flag=True, help="Replace the model file if it is there.")
@click.option(
    "--classification",
    "task",
    flag_value="classification",
    help="Learn classes.  [default: for text, truth values and few whole numbers]",
)
@click.option("--regression", "task", flag_value="regression", help="Learn numbers.  [default: for other numbers]")
@click.option(
    "--loss",
    type=click.Choice(["squared", "logistic", "squared_hinge"]),
    help="Loss of a classifier.  [default: squared]",
)
@click.option(
    "--C",
    "C",
    type=WordOrNumber("auto"),
    default="auto",
    show_default=True,
    help="Inverse regularization; auto chooses it on rows left out.",
)
@click.option(
    "--validate",
    "share",
    type=click.FloatRange(0.0, 1.0, max_open=True),
    default=0.0,
    metavar="SHARE",
    help="Hold out this share of the rows, 0.1 say, and report the score on them.",
)
@encoder_options
@table_options
@voice_options
@click.pass_context
def fit(
    context: click.Context,
    data: Path,
    target: str | None,
    output: Path,
    force: bool,
    task: Task | None,
    loss: str | None,
    C: Any,
    share: float,
    encoder: EncoderOptions,
    table: TableOptions,
    voice: Voice,
) -> None:
    """Learn from the table DATA (.csv, .tsv, .npy, .parquet), or from a store of codes, and write a model file.

    Every column but the target is a feature. The model file keeps the columns, their scale and their categories, so
    that 'lowtide predict' takes tables as they are. A store (.zarr) is read block by block, in memory that does not
    grow with its rows; its features are those it was encoded with.
    """
    from lowtide.cli.models import make_encoder, make_learner
    from lowtide.cli.training import StoreTraining, Training, check_output, check_store_options

    place = check_output(output, force=force)
    training: Any
    if data.is_dir():
        check_store_options(context)
        training = StoreTraining.read(data, target or "y", task)
    elif target is None:
        raise click.MissingParameter(param_hint="'--target'", param_type="option")
    else:
        training = Training.read(data, target, table, task, voice)
    training.hold_out(share, encoder.seed)
    learner = make_learner(
        training.encoder if data.is_dir() else make_encoder(encoder, len(training.train)),
        training.target.task,
        loss=loss,
        C=C,
        seed=encoder.seed,
        verbose=voice.shows_progress,
    )
    outcome = training.run(learner, standardize=table.scale, voice=voice)
    outcome.save(place)
    voice.say(outcome.summary(output))
    voice.result("fit", outcome.to_json(output))
