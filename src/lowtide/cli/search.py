"""`lowtide search` finds the best rows of vector codes, in a store or a file, for each row of a table of queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import lowtide as lt
from lowtide.cli import models
from lowtide.cli import terminal as term
from lowtide.cli.models import FittedTable
from lowtide.cli.predict import check_output, write_table
from lowtide.cli.terminal import Voice, counted, refuse
from lowtide.errors import FileFormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_RESCORE = 4

# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide search db.zarr queries.npy -k 10
  lowtide search db.zarr queries.npy --where language=en --ids y -o found.csv --std
  lowtide search db.zarr queries.npy --finer embeddings.npy --rescore 4 -o rows.npy
  lowtide search codes.lowtide queries.csv --model encoder.lowtide --radius 0.8
"""


@click.command(cls=term.TableCommand, epilog=_EXAMPLES)
@click.argument("database", type=term.FILE_OR_STORE)
@click.argument("queries", type=term.FILE)
@click.option("--k", "-k", type=click.IntRange(1), default=10, help="Rows for each query, best first.")
@click.option(
    "--radius",
    type=float,
    help="Find all rows of at least this score (l2: at most), not the best k.",
)
@click.option(
    "--where",
    metavar="FILE|COLUMN=VALUE",
    help="Choose among these rows alone: a mask or row numbers (.npy), or a value of a column of the store.",
)
@click.option(
    "--finer",
    type=term.FILE_OR_STORE,
    help="The same rows in more bits (a store or codes), or as they are (a table), to score the best again by.",
)
@click.option(
    "--rescore",
    type=click.IntRange(1),
    help="Score this many times k rows again.  [default: 4 with --finer]",
)
@click.option("--ids", metavar="COLUMN", help="Name rows by this column of the store in place of their numbers.")
@click.option("--std", is_flag=True, help="Add the standard error of each score.")
@click.option("--model", type=term.FILE, help="The encoder of a file of codes; a store has its own.")
@click.option(
    "--output",
    "-o",
    type=term.NEW_FILE,
    help="File to write: .csv, .parquet, or .npy for row numbers alone, one line per query.  [default: CSV to stdout]",
)
@click.option("--force", is_flag=True, help="Replace the output if it is there.")
@term.header_option("The first line of a CSV file is a row.")
@term.encoding_option
@term.voice_options
def search(
    database: Path,
    queries: Path,
    k: int,
    radius: float | None,
    where: str | None,
    finer: Path | None,
    rescore: int | None,
    ids: str | None,
    std: bool,
    model: Path | None,
    output: Path | None,
    force: bool,
    header: bool,
    encoding: str | None,
    voice: Voice,
) -> None:
    """Search DATABASE, vector codes of 'lowtide encode --metric', for the best rows for each row of QUERIES.

    Queries are a table with the columns that the codes were made of. Every code is scored, in blocks: a store may be
    larger than memory. Scores are those of the metric the codes were made for.
    """
    place = None if output is None else check_output(output, force=force, several=std)
    term.check_apart({"--output": output}, [database, queries, finer, model, where])
    _check_options(radius, finer, rescore, output, is_std=std)
    found_in = _open(database, model)
    rows = found_in.read(queries, header, encoding, voice)
    options: dict[str, Any] = {
        "where": None if where is None else _allowed(where, found_in.codes),
        "ids": None if ids is None else found_in.codes.column(_column(found_in.codes, ids, "--ids")),
    }
    with voice.working(f"searching {database}"):
        if radius is not None:
            found = found_in.encoder.within(found_in.codes, rows, radius, **options)
        else:
            again = None if finer is None else _finer(finer, found_in, header, encoding, voice)
            options |= {"rescore": None if finer is None else rescore or _RESCORE, "finer": again, "return_std": std}
            whole = found_in.encoder.top_k(found_in.codes, rows, k, **options)
            if place is not None and place.suffix.lower() == ".npy":
                write_table(place, [{"row": whole.indices}])
            found = [type(whole)(*(part if part is None else part[i] for part in whole)) for i in range(len(rows))]
    columns = _columns(found)
    shown = None
    if place is None and voice.as_json:
        shown = {name: values.tolist() for name, values in columns.items()}
    elif place is None or place.suffix.lower() != ".npy":
        write_table(place, [columns])
    if place is not None:
        written = f"{output}, {term.bytes_in_words(place.stat().st_size)}"
        voice.say(f"{counted(len(columns['row']), 'row')} for {len(rows):,} queries in {written}")
    content = {
        "database": str(database),
        "queries": len(rows),
        "rows": found_in.codes.n_rows,
        "metric": found_in.encoder.drawn_.metric,
        "output": None if output is None else str(output),
        "columns": shown,
    }
    voice.result("search", content)


def _check_options(
    radius: float | None, finer: Path | None, rescore: int | None, output: Path | None, *, is_std: bool
) -> None:
    """Refuse options that do not go together."""
    if rescore is not None and finer is None:
        refuse("--rescore", "must come with --finer, what to score the best again by.")
    if radius is None:
        return
    beside = {"--finer": finer is not None, "--std": is_std}
    context = click.get_current_context()
    beside["--k"] = context.get_parameter_source("k") is click.core.ParameterSource.COMMANDLINE
    given = [option for option, is_given in beside.items() if is_given]
    if given:
        refuse("--radius", f"must come without {' and '.join(given)}: it gives all rows up to a score.")
    if output is not None and output.suffix.lower() == ".npy":
        refuse("--output", f"must end in .csv or .parquet with --radius, got {str(output)!r}.")


class _Database(NamedTuple):
    """Codes that are searched, with their encoder and the table that they were made of."""

    codes: Any
    encoder: lt.VectorCodes
    table: FittedTable

    def read(self, data: Path, header: bool, encoding: str | None, voice: Voice) -> Array:
        """Return all rows of a table as the encoder takes them."""
        import numpy as np

        source = models.open_source(data, header, encoding, voice)
        names = self.table.align(source, voice)
        with voice.working(f"reading {source.file}"):
            parts = [self.table.rows(block, names) for block in source.blocks()]
        return np.concatenate(parts) if parts else np.empty((0, self.encoder.drawn_.n_features))


def _open(database: Path, model: Path | None) -> _Database:
    """Return the codes of a store or a file, and the encoder that made them."""
    if database.is_dir():
        if model is not None:
            refuse("--model", "must be left out: a store has its encoder.")
        codes: Any = lt.CodeStore.open(database)
        encoder, metadata = codes.encoder, codes.metadata
        table = None if encoder is None else FittedTable.of(encoder, metadata)
    else:
        codes = lt.persist.open_codes(database)
        if model is None:
            refuse("--model", f"must name the encoder of the codes in {str(database)!r}: a file does not have it.")
        encoder, table = models.load_encoder(model)
    if not isinstance(encoder, lt.VectorCodes) or table is None:
        got = "no encoder" if encoder is None else f"codes of {type(encoder).__name__}"
        raise FileFormatError(
            f"{str(database)!r} must hold vector codes to be searched, got {got}. 'lowtide encode --metric cosine' "
            "makes them."
        )
    return _Database(codes, encoder, table)


def _column(codes: Any, name: str, option: str) -> str:
    """Return what a store calls a column that it has beside the codes."""
    columns = getattr(codes, "columns", ())
    stored = models.stored_target(codes, name) if columns else name
    if stored not in columns:
        has = lt.tables.listed(columns) or "there are none"
        refuse(option, f"must name a column beside the codes ({has}), got {name!r}.")
    return stored


def _allowed(where: str, codes: Any) -> Array:
    """Return the rows to choose from: a mask or numbers of a file, or where a column has a value."""
    import numpy as np

    name, is_column, value = where.partition("=")
    if not is_column or Path(where).exists():
        try:
            return np.asarray(np.load(where, allow_pickle=False))
        except (OSError, ValueError) as error:
            must = "must be COLUMN=VALUE, or a .npy file with a mask or row numbers"
            refuse("--where", f"{must}, got {where!r}: {error}.")
    allowed: Array = codes.matching(_column(codes, name, "--where"), value)
    return allowed


def _finer(path: Path, database: _Database, header: bool, encoding: str | None, voice: Voice) -> Any:
    """Return what the best rows are scored again by: codes of a store or a file, or the rows of a table."""
    if path.is_dir():
        return lt.CodeStore.open(path)
    if path.suffix.lower() == ".lowtide":
        return lt.persist.open_codes(path)
    return database.read(path, header, encoding, voice)


def _columns(found: list[Any]) -> dict[str, Array]:
    """Return what was found as columns: the number of the query, the row, its score, and the error where there is."""
    import numpy as np

    n_found = [len(one.indices) for one in found]
    columns = {"query": np.repeat(np.arange(len(found)), n_found)}
    for name, parts in zip(("row", "score", "std"), zip(*found)):
        if parts[0] is not None:
            columns[name] = np.concatenate(parts)
    return columns
