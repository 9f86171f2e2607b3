"""`lowtide predict`: a model file and a table to predictions."""

from __future__ import annotations

from pathlib import Path

import click

from lowtide.cli.terminal import Voice, bytes_in_words, counted, voice_options

__all__ = ["predict"]


# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide predict flowers.lowtide new.csv
  lowtide predict flowers.lowtide new.csv -o out.csv --probabilities
"""


@click.command(short_help="Predict the rows of a table with a model file.", epilog=_EXAMPLES)
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="File to write: .csv, .npy or .parquet.  [default: CSV to stdout]",
)
@click.option("--force", is_flag=True, help="Replace the output if it is there.")
@click.option("--probabilities", is_flag=True, help="Add a column with the probability of each class.")
@click.option("--scores", is_flag=True, help="Add the score of each class, one column for two classes.")
@click.option(
    "--target",
    metavar="COLUMN",
    help="True values to score with: a column, or a file with one column.  [default: the model's target, if there]",
)
@click.option(
    "--no-header", "header", is_flag=True, flag_value=False, default=True, help="The first line of a CSV file is a row."
)
@voice_options
def predict(
    model: Path,
    data: Path,
    output: Path | None,
    force: bool,
    probabilities: bool,
    scores: bool,
    target: str | None,
    header: bool,
    voice: Voice,
) -> None:
    """Predict the rows of DATA (.csv, .tsv, .npy, .parquet, or codes or a store of 'lowtide encode') with a model file.

    Columns are found by name; those the model does not know are left out. Where the table has the target, the score is
    printed too.
    """
    from lowtide.cli.prediction import Prediction, Predictor, check_output
    from lowtide.cli.tables import write_table

    place = check_output(output, force=force, several=probabilities or scores)
    predictor = Predictor.load(model, probabilities=probabilities, scores=scores)
    run = Prediction(predictor, data, target, header, voice)
    columns = None
    with voice.hearing():
        if place is None and voice.as_json:
            columns = run.all_columns()
        else:
            write_table(place, run.parts())
    found = run.score()
    if place is not None:
        size = bytes_in_words(place.stat().st_size)
        voice.say(f"{counted(run.n_rows, 'prediction')} in {output}, {size}")
    if found is not None:
        voice.say(f"Score: {found.sentence(f'with {run.target_name!r}')}", aside=place is None)
    voice.result("predict", run.to_json(model, data, output, found, columns))
