"""`lowtide export-c`: a model as C for the smallest device."""

from __future__ import annotations

from pathlib import Path

import click

from lowtide.cli.terminal import Voice, voice_options

__all__ = ["export_c"]


# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide export-c digits.lowtide -o firmware
  lowtide export-c digits.lowtide -o firmware --weights int6 --check test.csv
"""


@click.command("export-c", short_help="Write a model as C for a small device.", epilog=_EXAMPLES)
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the header and the source; made if it is not there.",
)
@click.option("--name", help="Prefix of every function, and name of the files.  [default: that of MODEL]")
@click.option(
    "--weights",
    type=click.Choice(["int8", "int6", "int4", "float16", "none"]),
    default="int8",
    show_default=True,
    help="How the weights of the decision are kept; none for the encoder alone.",
)
@click.option(
    "--input",
    type=click.Choice(["float32", "int16", "uint8"]),
    help="Type of a row's numbers.  [default: float32; int16 for ternary features]",
)
@click.option(
    "--favor",
    type=click.Choice(["flash", "time"]),
    default="flash",
    show_default=True,
    help="Draw again what a seed gives and keep weights coded, or keep all of it ready.",
)
@click.option(
    "--check",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Table whose rows are decided with the rounded weights and by the model itself.",
)
@click.option("--force", is_flag=True, help="Replace files that are there.")
@voice_options
def export_c(
    model: Path,
    output: Path,
    name: str | None,
    weights: str,
    input: str | None,
    favor: str,
    check: Path | None,
    force: bool,
    voice: Voice,
) -> None:
    """Write the encoder of MODEL, and its decision, as one C99 header and one source without heap, libm or a library.

    A code is equal bit by bit to that of 'lowtide encode'. Flash and RAM are said in the header.
    """
    from lowtide.cli.devices import Export

    exported = Export.of(model, name=name, weights=weights, input=input, favor=favor, check=check, voice=voice)
    written = exported.write(output, force=force)
    voice.say(exported.summary(written))
    voice.result("export-c", exported.to_json(written))
