"""`lowtide inspect`: what is in a file."""

from __future__ import annotations

from pathlib import Path

import click

from lowtide.cli.terminal import Voice, voice_options

__all__ = ["inspect"]


@click.command(short_help="Say what is in a model or code file.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@voice_options
def inspect(file: Path, voice: Voice) -> None:
    """Say what is in a model, encoder or code FILE, how large its parts are, and how exact its kernel is.

    The file's checksum is verified on the way.
    """
    from lowtide.cli.inspection import Inspection

    found = Inspection.of(file)
    voice.say(found.report())
    voice.result("inspect", found.to_json())
