"""`lowtide inspect`: what is in a file."""

from __future__ import annotations

from pathlib import Path

import click

from lowtide.cli.terminal import Voice, voice_options

__all__ = ["inspect"]


@click.command(short_help="Say what is in a model, a code file or a store.")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@voice_options
def inspect(file: Path, voice: Voice) -> None:
    """Say what is in a model, encoder or code FILE, or a store, how large its parts are, and how exact its kernel is.

    A file's checksum is verified on the way; 'lowtide verify' does that for a store.
    """
    from lowtide.cli.inspection import Inspection, StoreInspection

    found = StoreInspection.of(file) if file.is_dir() else Inspection.of(file)
    voice.say(found.report())
    voice.result("inspect", found.to_json())
