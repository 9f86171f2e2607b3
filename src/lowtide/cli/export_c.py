"""`lowtide export-c` writes a model as C for the smallest device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lowtide as lt
from lowtide.cli.models import FittedTable, encoder_of, load_encoder
from lowtide.cli.terminal import FILE, Voice, bytes_in_words, check_apart, refuse, sheet, voice_options

if TYPE_CHECKING:
    from lowtide.device import DeviceCode


# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide export-c digits.lowtide -o firmware
  lowtide export-c digits.lowtide -o firmware --weights int6 --check test.csv
"""


@click.command("export-c", epilog=_EXAMPLES)
@click.argument("model", type=FILE)
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the header and the source; created if it does not exist.",
)
@click.option("--name", help="Prefix of every function, and name of the files.  [default: that of MODEL]")
@click.option(
    "--weights",
    type=click.Choice(["int8", "int6", "int4", "float16", "none"]),
    default="int8",
    help="Type of the stored weights; none exports the encoder alone.",
)
@click.option(
    "--input",
    type=click.Choice(["float32", "int16", "uint8", "float64"]),
    help="Type of a row's numbers.  [default: float32; int16 for ternary features; float64 for columns of a table]",
)
@click.option(
    "--favor",
    type=click.Choice(["flash", "time"]),
    default="flash",
    help="Save flash (random numbers are drawn again, weights are compressed), or save time.",
)
@click.option("--check", type=FILE, help="Table on which to count how often the C decides like the model.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
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
    """Write MODEL as C99 for a small device: a header and a source that encode a row and decide, without any library.

    The C makes the same bits as 'lowtide encode'. The header says how much flash and RAM it takes.
    """
    prefix = lt.device.name_from(model.stem) if name is None else name
    for file in (f"{prefix}.h", f"{prefix}.c"):
        check_apart({"--output": output / file}, [model, check])
    _, table = load_encoder(model)
    thing = lt.load(model)
    decides = weights != "none" and hasattr(thing, "decision_")
    if check is not None and not decides:
        refuse("--check", "needs a model and weights for its decision.")
    if thing is encoder_of(thing) and not table.recipe.is_identity:
        voice.note(
            f"columns are taken {table.how} by the encoder: rows on the device must be what the table's recipe makes "
            "of them, which 'lowtide inspect --json' shows. Use --no-scale for rows as they are."
        )
    made = lt.device.export_c(
        thing,
        name=prefix,
        weights=weights if decides else None,  # type: ignore[arg-type]
        input=input,  # type: ignore[arg-type]
        favor=favor,  # type: ignore[arg-type]
        rows=None if check is None else _rows(check, table, voice),
    )
    header, source = _written(made, output, force=force)
    voice.say(_summary(made, weights, f"{header} and {source}"))
    sizes = {"flash_bytes": made.flash_bytes, "tables": made.tables, "code_bytes": made.code_bytes}
    exactness = {"ram_bytes": made.ram_bytes, "error": made.error, "agreement": made.agreement}
    names = {"header": str(header), "source": str(source), "name": made.name, "weights": weights if decides else None}
    voice.result("export-c", {**names, **sizes, **exactness})


def _written(made: DeviceCode, folder: Path, *, force: bool) -> tuple[Path, Path]:
    """Write both files; those that are there already are replaced only with `force`."""
    there = [path for path in (folder / f"{made.name}.h", folder / f"{made.name}.c") if path.exists()]
    if there and not force:
        refuse("--output", f"must not hold {str(there[0])!r} yet. Add --force to replace it.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse("--output", f"must be a folder that can be made, got: {error.strerror}.")
    return made.write(folder)


def _summary(made: DeviceCode, weights: str, written: str) -> str:
    """Say what was written and what it takes."""
    tables = ", ".join(f"{name} {bytes_in_words(size)}" for name, size in made.tables.items())
    agreement = "" if made.agreement is None else f"; {made.agreement:.2%} of the classes are the model's"
    rounding = "" if made.error is None else f"weights in {weights} move scores by about {made.error:.2g}"
    return sheet(
        [
            ("written", written),
            ("flash", f"{bytes_in_words(made.flash_bytes)}: code {bytes_in_words(made.code_bytes)}, {tables}"),
            ("RAM", f"{bytes_in_words(made.ram_bytes)} besides the row"),
            ("decision", rounding + agreement),
        ]
    )


def _rows(path: Path, table: FittedTable, voice: Voice) -> Any:
    """Return the columns of a table that the model takes, as its recipe takes them."""
    import numpy as np

    source, recipe = lt.tables.open_table(path, header=True), table.recipe
    names = table.align(source, voice)
    columns: dict[str, list[Any]] = {name: [] for name in recipe.columns}
    for block in source.blocks():
        renamed = block.renamed(names)
        numbers, cells = lt.tables.block_cells(recipe, renamed)
        taken = {**cells, **dict(zip(recipe.numeric, numbers.T))}
        for name, parts in columns.items():
            parts.append(taken[name] if name in taken else renamed.column(name))
    whole = {name: np.concatenate(parts) for name, parts in columns.items()}
    return whole if recipe.by_cell else np.column_stack(list(whole.values()))
