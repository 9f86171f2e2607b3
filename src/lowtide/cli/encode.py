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
  lowtide encode big.parquet -o codes.zarr --target label
"""


@click.command(short_help="Turn the rows of a table into packed codes.", epilog=_EXAMPLES)
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    help="What to write: codes (.lowtide), a store for any number of rows (.zarr), or packed bytes alone (.npy).",
)
@click.option("--target", metavar="COLUMN", help="Keep this column beside the codes of a store, to learn from.")
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
    target: str | None,
    model: Path | None,
    save_encoder: Path | None,
    force: bool,
    encoder: EncoderOptions,
    table: TableOptions,
    voice: Voice,
) -> None:
    """Encode the rows of DATA (.csv, .tsv, .npy, .parquet) into a few bits a feature.

    With --model the codes are those that the model reads: 'lowtide predict' takes them in place of the table. Without,
    a new encoder is made of the table. A store is written shard by shard: a command that was killed goes on where it
    stopped when it is given again.
    """
    from lowtide.cli.encoding import Encoding, StoreEncoding, check_options, check_output, is_store_name
    from lowtide.cli.whole_file import check_new

    if is_store_name(output):
        check_options(context, model, encoder.bits)
        if save_encoder is not None:
            raise click.BadParameter("must be left out: a store has its encoder.", param_hint="'--save-encoder'")
        stored = StoreEncoding(data, output, target, model, encoder, table, voice)
        with stored.open(force=force) as store:
            stored.run(store)
        voice.say(stored.summary(store))
        voice.result("encode", stored.to_json(store))
        return
    if target is not None:
        raise click.BadParameter("must go with a store, --output codes.zarr.", param_hint="'--target'")
    place = check_output(output, force=force)
    kept = None if save_encoder is None else check_new(save_encoder, "--save-encoder", force=force)
    check_options(context, model, encoder.bits)
    encoding = Encoding.of_model(model) if model else Encoding.of_table(data, table, encoder, voice)
    codes = encoding.run(data, header=table.header, voice=voice)
    encoding.write(codes, place, kept)
    voice.say(encoding.summary(codes, output, save_encoder))
    voice.result("encode", encoding.to_json(codes, output, save_encoder))
