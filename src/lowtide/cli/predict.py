"""`lowtide predict` predicts the rows of a table, or of codes, with a model file, and scores them where it can."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lowtide as lt
from lowtide.cli import models
from lowtide.cli import terminal as term
from lowtide.cli.completion import target_option
from lowtide.cli.models import FittedTable
from lowtide.cli.terminal import Voice, counted, refuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lowtide.learners import Decision
    from lowtide.tables import Source

    Array = NDArray[Any]
    Columns = dict[str, Array]

_CODES_AT_ONCE = 1 << 16

# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide predict flowers.lowtide new.csv
  lowtide predict flowers.lowtide new.csv -o out.csv --probabilities
"""


@click.command(cls=term.TableCommand, epilog=_EXAMPLES)
@click.argument("model", type=term.FILE)
@click.argument("data", type=term.FILE_OR_STORE)
@click.option(
    "--output", "-o", type=term.NEW_FILE, help="File to write: .csv, .npy or .parquet.  [default: CSV to stdout]"
)
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option("--probabilities", is_flag=True, help="Add a column with the probability of each class.")
@click.option("--scores", is_flag=True, help="Add the score of each class (a single column for two classes).")
@target_option(
    "True values to score with: a column, or a file with one column.  [default: the model's target, if it is there]"
)
@term.header_option("The first line of a CSV file is a row.")
@term.encoding_option
@term.voice_options
def predict(
    model: Path,
    data: Path,
    output: Path | None,
    force: bool,
    probabilities: bool,
    scores: bool,
    target: str | None,
    header: bool,
    encoding: str | None,
    voice: Voice,
) -> None:
    """Predict the rows of DATA, a table such as 'lowtide fit' takes, or codes or a store that 'lowtide encode' wrote.

    Columns are found by name; columns that the model does not use are ignored. Missing values and unknown categories
    are handled as the model learned to, and counted. If the table has the target, the score is printed too.
    """
    place = None if output is None else check_output(output, force=force, several=probabilities or scores)
    term.check_apart({"--output": output}, [model, data, target])
    decision, table = models.load_decision(model)
    wanted = [name for name, asked in (("probabilities", probabilities), ("scores", scores)) if asked]
    for option in wanted:
        if option not in decision.outputs or decision.task == "regression":
            refuse(
                f"--{option}", f"needs a model that has them, got a {lt.persist.describe(model)['kind']}. Leave it out."
            )
    run = Prediction(decision, table, data, target, header, voice, encoding)
    columns: dict[str, list[Any]] | None = None
    with voice.hearing():
        if place is None and voice.as_json:
            parts = list(run.parts(wanted))
            columns = {name: [value for part in parts for value in part[name].tolist()] for name in parts[0]}
        else:
            write_table(place, run.parts(wanted))
    score = run.score()
    if place is not None:
        voice.say(f"{counted(run.n_rows, 'prediction')} in {output}, {term.bytes_in_words(place.stat().st_size)}")
    if score is not None:
        voice.say(f"Score: {models.score_in_words(score, f'with {run.target_name!r}')}", aside=place is None)
    content = {
        "model": str(model),
        "data": str(data),
        "rows": run.n_rows,
        "output": None if output is None else str(output),
        "score": score,
        "columns": columns,
    }
    voice.result("predict", content)


def check_output(output: Path, *, force: bool, several: bool) -> Path:
    """Return where a table of one or `several` columns will be written, or refuse before any work."""
    place = term.check_new(output, "--output", force=force)
    ending = output.suffix.lower()
    if ending not in _FORMATS:
        refuse("--output", f"must end in .csv, .npy or .parquet, got {str(output)!r}.")
    if ending == ".npy" and several:
        refuse("--output", f"must end in .csv or .parquet for several columns, got {str(output)!r}.")
    if ending in (".parquet", ".pq"):
        lt.tables.import_pyarrow()
    return place


class Prediction:
    """Predict a table or codes block by block, and gather the true values, where there are some, on the way.

    `target` names a column or a file with the true values; None is the model's target, if the table has it.
    """

    def __init__(
        self,
        decision: Decision,
        table: FittedTable,
        data: Path,
        target: str | None,
        header: bool,
        voice: Voice,
        encoding: str | None = None,
    ) -> None:
        self._decision, self._table, self._voice, self.n_rows = decision, table, voice, 0
        self._codes: Any = None
        self._source: Source | None = None
        self._names: tuple[str, ...] = ()
        self._truth: list[Array] = []
        self._said: list[Array] = []
        self._surprises, self._encoding = lt.tables.Surprises(table.recipe), encoding
        if data.is_dir():
            self._codes = lt.CodeStore.open(data)
        elif data.suffix == ".lowtide":
            self._codes = lt.persist.open_codes(data)
        else:
            self._source = models.open_source(data, header, encoding, voice)
            self._names = table.align(self._source, voice)
        self.target_name, self._own_truth = self._find_target(data.name, target, header)

    def _find_target(self, file: str, target: str | None, header: bool) -> tuple[str | None, Array | None]:
        """Return what the true values are called, and those of all rows where they do not come with these."""
        source, codes = self._source, self._codes
        columns = getattr(codes, "columns", ()) if source is None else source.names
        if target is None and source is not None:
            known = self._table.choice.target
            return (known if known in self._names else None), None
        if target is None and "y" not in columns:
            return None, None
        name = target or "y"
        aside = lt.tables.target_in_file(name, columns, file, header=header, encoding=self._encoding)
        if aside is not None:
            return name, aside
        if source is not None:
            return lt.tables.find_column(source, name, "target"), None
        column = models.stored_target(codes, name) if columns else name
        if column not in columns:
            has = lt.tables.listed(columns) or "it has none"
            refuse("--target", f"must name a column of {file} ({has}) or a file, got {name!r}.")
        return name, codes.column(column)

    def parts(self, wanted: list[str]) -> Iterator[Columns]:
        """Yield predictions, and what else is wanted, in the order of the rows, at least once."""
        import numpy as np

        decision = self._decision
        for rows, cells in self.pairs():
            columns = _answers(decision, rows, wanted)
            if cells is not None:
                self._truth.append(cells)
                self._said.append(columns["prediction"])
            yield columns
        if self.n_rows == 0:
            encoder = decision.encoder
            nothing = decision.template if encoder is None else np.empty((0, encoder.n_features))
            yield _answers(decision, nothing, wanted)

    def pairs(self) -> Iterator[tuple[Any, Array | None]]:
        """Yield what the model takes, with the true values where there are some, in the order of the rows."""
        own = self._own_truth
        for rows, in_table in self._rows():
            end = self.n_rows + len(rows)
            if own is not None and len(own) < end:
                raise lt.tables.TableError(f"{self.target_name}: needs a value a row, got {len(own)} for more rows.")
            cells = in_table if own is None else own[self.n_rows : end]
            self.n_rows = end
            yield rows, cells
        if own is not None and len(own) != self.n_rows:
            raise lt.tables.TableError(f"{self.target_name}: needs a value a row, {self.n_rows}, got {len(own)}.")
        for note in self._surprises.notes():
            self._voice.note(note)

    def _rows(self) -> Iterator[tuple[Any, Array | None]]:
        """Yield what the model takes, and the true values that a table has."""
        if self._source is None:
            for codes in self._codes.blocks(_CODES_AT_ONCE):
                yield codes, None
            return
        for block in self._source.blocks():
            renamed, cells = block.renamed(self._names), None
            if self.target_name is not None and self._own_truth is None:
                within = renamed if self.target_name in self._names else block
                cells = within.column(self.target_name)
            rows = self._table.rows(block, self._names)
            self._surprises.add(renamed)
            yield rows, cells

    def score(self) -> dict[str, Any] | None:
        """Return the score over the rows whose true value is there, None when there are none."""
        import numpy as np

        if not self._truth:
            return None
        classes = self._decision.classes
        truth, there = lt.tables.comparable(np.concatenate(self._truth), classes)
        if there.any() and not there.all():
            self._voice.note(f"{counted(int((~there).sum()), 'row')} without a true value left out of the score.")
        return models.score(truth[there], np.concatenate(self._said)[there], classes=classes is not None)


def _answers(decision: Decision, rows: Any, wanted: list[str]) -> Columns:
    """Return the prediction of rows that the encoder takes, or of codes, and the probabilities and scores if wanted."""
    classes = decision.classes
    found: Columns = {"prediction": decision.predict(rows, checked=True)}
    if "probabilities" in wanted and classes is not None:
        shares = decision.probabilities(rows, checked=True)
        found |= {f"probability_{name}": shares[:, j] for j, name in enumerate(classes)}
    if "scores" in wanted:
        values = decision.values(rows, checked=True)
        if classes is None or values.ndim == 1:
            found["score" if classes is None else f"score_{classes[1]}"] = values
        else:
            found |= {f"score_{name}": values[:, j] for j, name in enumerate(classes)}
    return found


def write_table(path: Path | None, parts: Iterable[Columns]) -> None:
    """Write parts of a table one after the other: CSV, .npy or Parquet by the file's ending, CSV to stdout for None.

    The parts have the same columns. The file is there once it is complete; a .npy file holds the one column there is.
    """
    if path is None:
        for text in _csv_texts(parts):
            sys.stdout.write(text)
    else:
        lt.persist.write_whole(path, _FORMATS[path.suffix.lower()](parts))


def _csv_texts(parts: Iterable[Columns]) -> Iterator[str]:
    """Yield a CSV file piece by piece; floats have the digits that mean something."""
    for i, columns in enumerate(parts):
        stream = io.StringIO(newline="")
        writer = csv.writer(stream, lineterminator="\n")
        if i == 0:
            writer.writerow(columns)
        cells = []
        for name, values in columns.items():
            digits = ".9g" if name == "prediction" else ".6g"
            is_float = values.dtype.kind == "f"
            cells.append([format(value, digits) for value in values.tolist()] if is_float else values.tolist())
        writer.writerows(zip(*cells))
        yield stream.getvalue()


def _npy_bytes(parts: Iterable[Columns]) -> Iterator[bytes]:
    import numpy as np

    yield from term.npy_pieces(np.concatenate([next(iter(columns.values())) for columns in parts]))


def _parquet_bytes(parts: Iterable[Columns]) -> Iterator[bytes]:
    """Yield a Parquet file piece by piece; the first part gives its schema."""
    arrow, sink, writer = lt.tables.import_pyarrow(), _Sink(), None
    for columns in parts:
        arrays = {name: values.tolist() if values.dtype.kind in "UO" else values for name, values in columns.items()}
        table = arrow.table({name: arrow.array(values) for name, values in arrays.items()})
        writer = writer or arrow.parquet.ParquetWriter(sink, table.schema)
        writer.write_table(table)
        yield sink.taken()
    if writer is not None:
        writer.close()
    yield sink.taken()


class _Sink(io.BytesIO):
    """A file in memory that hands out what was written to it, and counts on as a file does."""

    _n_taken = 0

    def tell(self) -> int:
        return self._n_taken + super().tell()

    def taken(self) -> bytes:
        """Return what was not handed out yet."""
        piece = self.getvalue()
        self._n_taken += len(piece)
        self.seek(0)
        self.truncate()
        return piece


_FORMATS: dict[str, Callable[[Iterable[Columns]], Iterator[bytes]]] = {
    ".csv": lambda parts: map(str.encode, _csv_texts(parts)),
    ".npy": _npy_bytes,
    ".parquet": _parquet_bytes,
    ".pq": _parquet_bytes,
}
