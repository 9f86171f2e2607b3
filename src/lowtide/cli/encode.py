"""`lowtide encode`: a table to packed codes."""

from __future__ import annotations

from pathlib import Path

import click

from lowtide.cli.terminal import (
    EncoderOptions,
    TableOptions,
    Voice,
    encoder_options,
    table_options,
    voice_options,
)

__all__ = ["encode"]


# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide encode new.csv --model flowers.lowtide -o new.lowtide
  lowtide encode images.npy -o images.lowtide --bits 2 --save-encoder encoder.lowtide
"""


@click.command(short_help="Turn the rows of a table into packed codes.", epilog=_EXAMPLES)
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    help="File to write: codes (.lowtide), or their packed bytes alone (.npy).",
)
@click.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Encode as this model or encoder does; the options of features and columns are then its own.",
)
@click.option(
    "--save-encoder", type=click.Path(path_type=Path), help="Write the new encoder too, to encode more rows with."
)
@click.option("--force", is_flag=True, help="Replace files that are there.")
@encoder_options
@table_options
@voice_options
@click.pass_context
def encode(
    context: click.Context,
    data: Path,
    output: Path,
    model: Path | None,
    save_encoder: Path | None,
    force: bool,
    encoder: EncoderOptions,
    table: TableOptions,
    voice: Voice,
) -> None:
    """Encode the rows of DATA (.csv, .tsv, .npy, .parquet) into a few bits a feature.

    With --model the codes are those that the model reads: 'lowtide predict' takes them in place of the table. Without,
    a new encoder is made of the table.
    """
    from lowtide.cli.encoding import Encoding, check_options, check_output
    from lowtide.cli.whole_file import check_new

    place = check_output(output, force=force)
    kept = None if save_encoder is None else check_new(save_encoder, "--save-encoder", force=force)
    check_options(context, model, encoder.bits)
    encoding = Encoding.of_model(model) if model else Encoding.of_table(data, table, encoder, voice)
    codes = encoding.run(data, header=table.header, voice=voice)
    encoding.write(codes, place, kept)
    voice.say(encoding.summary(codes, output, save_encoder))
    voice.result("encode", encoding.to_json(codes, output, save_encoder))
