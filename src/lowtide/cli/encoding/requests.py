"""What may be asked of `lowtide encode`."""

from __future__ import annotations

from pathlib import Path

import click

from lowtide.cli.whole_file import check_new

__all__ = ["check_options", "check_output", "is_store_name"]

# What says how a table is read, or how the command speaks, goes with --model too.
_WITH_A_MODEL = ("data", "output", "model", "force", "header", "as_json", "quiet", "target")


def is_store_name(path: Path) -> bool:
    """Whether a name is that of a code store."""
    return path.suffix.lower() == ".zarr"


def check_output(output: Path, *, force: bool) -> Path:
    """Return where codes will be written, or refuse before any work."""
    place = check_new(output, "--output", force=force)
    if output.suffix.lower() not in (".lowtide", ".npy"):
        problem = (
            f"must end in .lowtide, in .zarr for a store, or in .npy for the packed bytes alone, got {str(output)!r}."
        )
        raise click.BadParameter(problem, param_hint="'--output'")
    return place


def check_options(context: click.Context, model: Path | None, bits: int | None) -> None:
    """Refuse no bits, and options that --model would silently ignore."""
    if model is None:
        if bits is None:
            raise click.BadParameter("must be 1 to 8 for codes, got 'none'.", param_hint="'--bits'")
        return
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in _WITH_A_MODEL
        and context.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        problem = f"must come without {' and '.join(given)}: the model has its own. Leave one of them out."
        raise click.BadParameter(problem, param_hint="'--model'")
