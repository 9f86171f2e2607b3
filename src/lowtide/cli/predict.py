"""`lowtide predict` predicts the rows of a table, or of codes, with a model file, and scores them where it can."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

import lowtide as lt
from lowtide.cli.models import FittedTable, Score, load_model, score, stored_target
from lowtide.cli.terminal import Voice, bytes_in_words, check_new, column_options, counted, npy_pieces, voice_options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lowtide.learners import Decision
    from lowtide.tables import Source

    Array = NDArray[Any]
    Columns = dict[str, Array]

__all__ = ["Prediction", "Predictor", "check_can_write", "predict", "write_table"]

_CODES_AT_ONCE = 1 << 16
_DIGITS = {"prediction": ".9g"}
_FEWER_DIGITS = ".6g"

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
@column_options
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
    place = _check_output(output, force=force, several=probabilities or scores)
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
    result = {
        "model": str(model),
        "data": str(data),
        "rows": run.n_rows,
        "output": None if output is None else str(output),
        "score": found and found.to_json(),
        "columns": columns and {name: values.tolist() for name, values in columns.items()},
    }
    voice.result("predict", result)


def _check_output(output: Path | None, *, force: bool, several: bool) -> Path | None:
    """Return where predictions will be written, or refuse before any work; None is stdout."""
    if output is None:
        return None
    place = check_new(output, "--output", force=force)
    problem = check_can_write(output, several=several)
    if problem:
        raise click.BadParameter(problem, param_hint="'--output'")
    return place


@dataclass(frozen=True)
class Predictor:
    """Answer for rows of tables, and for codes, with the decision of a model file."""

    decision: Decision
    table: FittedTable
    probabilities: bool = False
    scores: bool = False

    @classmethod
    def load(cls, path: Path, *, probabilities: bool, scores: bool) -> Self:
        """Return the model of a file; only classes have probabilities and scores."""
        model, table = load_model(path)
        decision = model.decision_
        for option, wanted in (("probabilities", probabilities), ("scores", scores)):
            if wanted and (option not in decision.outputs or decision.task == "regression"):
                problem = f"needs a model that has them, got a {type(model).__name__}. Leave it out."
                raise click.BadParameter(problem, param_hint=f"'--{option}'")
        return cls(decision, table, probabilities, scores)

    def columns(self, rows: Any) -> Columns:
        """Return the prediction of rows that the encoder takes, or of codes, and what else was asked for."""
        decision, classes = self.decision, self.decision.classes
        found: Columns = {"prediction": decision.predict(rows, checked=True)}
        if self.probabilities and classes is not None:
            shares = decision.probabilities(rows, checked=True)
            found |= {f"probability_{name}": shares[:, j] for j, name in enumerate(classes)}
        if self.scores:
            values = decision.values(rows, checked=True)
            if classes is None or values.ndim == 1:
                found["score" if classes is None else f"score_{classes[1]}"] = values
            else:
                found |= {f"score_{name}": values[:, j] for j, name in enumerate(classes)}
        return found

    def no_rows(self) -> Any:
        """Return zero rows of what the decision takes."""
        import numpy as np

        encoder = self.decision.encoder
        return self.decision.template if encoder is None else np.empty((0, encoder.n_features))


def _codes_in(data: Path) -> Any:
    """Return the codes of a store or a file, None for a table."""
    if data.is_dir():
        return lt.CodeStore.open(data)
    return lt.load(data, kind=lt.Codes, mmap=True) if data.suffix == ".lowtide" else None


class Prediction:
    """Predict a table or codes block by block, and gather the true values, where there are some, on the way.

    `target` names a column or a file with the true values; None is the model's target, if the table has it.
    """

    def __init__(self, predictor: Predictor, data: Path, target: str | None, header: bool, voice: Voice) -> None:
        self._predictor, self._voice, self.n_rows = predictor, voice, 0
        self._codes = _codes_in(data)
        self._source: Source | None = None if self._codes is not None else lt.tables.open_table(data, header=header)
        self.target_name: str | None = target
        self._own_truth: Array | None = None
        self._truth: list[Array] = []
        self._said: list[Array] = []
        self._unseen: dict[str, Counter[str]] = {}
        if self._source is None:
            self._find_target_of_codes(target, data.name, header)
        else:
            self._find_target(self._source, target, header)

    def _find_target_of_codes(self, target: str | None, file: str, header: bool) -> None:
        """Settle where true values come from: a column of a store, or a file."""
        columns = getattr(self._codes, "columns", ())
        if target is None and "y" in columns:
            self.target_name = target = "y"
        if target is None:
            return
        path = lt.tables.target_file(target, columns, file)
        column = stored_target(self._codes, target) if columns else target
        if path is not None:
            self._own_truth = lt.tables.one_column(path, header=header)
        elif column in columns:
            self._own_truth = self._codes.column(column)
        else:
            known = lt.tables.listed(columns) or "it has none"
            problem = f"must name a column of {file} ({known}) or a file, got {target!r}."
            raise click.BadParameter(problem, param_hint="'--target'")

    def _find_target(self, source: Source, target: str | None, header: bool) -> None:
        """Settle where true values come from: a column of the table, or a file."""
        self._names = self._predictor.table.align(source, self._voice)
        if target is None:
            known = self._predictor.table.choice.target
            self.target_name = known if known in self._names else None
            return
        path = lt.tables.target_file(target, source.names, source.file)
        if path is not None:
            self._own_truth = lt.tables.one_column(path, header=header)
        else:
            self.target_name = lt.tables.find_column(source, target, "target")

    def parts(self) -> Iterator[Columns]:
        """Yield predictions in the order of the rows, at least once."""
        for rows, cells in self._rows():
            columns = self._predictor.columns(rows)
            self.n_rows += len(rows)
            if cells is not None:
                self._truth.append(cells)
                self._said.append(columns["prediction"])
            yield columns
        if self.n_rows == 0:
            yield self._predictor.columns(self._predictor.no_rows())
        if self._own_truth is not None and len(self._own_truth) != self.n_rows:
            raise lt.tables.TableError(
                f"{self.target_name}: needs a value a row, {self.n_rows}, got {len(self._own_truth)}."
            )
        self._speak_of_unseen()

    def _rows(self) -> Iterator[tuple[Any, Array | None]]:
        """Yield what the model takes, and the true values as the file has them."""
        if self._codes is not None:
            for codes in self._codes.blocks(_CODES_AT_ONCE):
                yield codes, self._truth_of(self.n_rows, len(codes))
            return
        assert self._source is not None
        table, names = self._predictor.table, self._names
        for block in self._source.blocks():
            renamed = block.renamed(names)
            cells = self._truth_of(self.n_rows, block.n_rows)
            if cells is None and self.target_name is not None:
                within = renamed if self.target_name in names else block
                cells = within.column(self.target_name)
            for name, texts in lt.tables.unseen_categories(table.recipe, renamed).items():
                self._unseen.setdefault(name, Counter()).update(texts)
            yield table.rows(block, names), cells

    def _truth_of(self, start: int, n_rows: int) -> Array | None:
        """Return the true values of rows from a file of their own."""
        if self._own_truth is None:
            return None
        cells = self._own_truth[start : start + n_rows]
        if len(cells) < n_rows:
            raise lt.tables.TableError(
                f"{self.target_name}: needs a value a row, got {len(self._own_truth)} for more rows."
            )
        return cells

    def _speak_of_unseen(self) -> None:
        for name, texts in self._unseen.items():
            rows = counted(texts.total(), "row")
            self._voice.note(
                f"column {name!r}: {rows} with categories that were not there at fit, {lt.tables.listed([*texts])}."
            )

    def all_columns(self) -> Columns:
        """Return all predictions at once."""
        import numpy as np

        parts = list(self.parts())
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def score(self) -> Score | None:
        """Return the score over the rows whose true value is there, None when there are none."""
        import numpy as np

        if not self._truth:
            return None
        classes = self._predictor.decision.classes
        truth, there = lt.tables.comparable(np.concatenate(self._truth), classes)
        if there.any() and not there.all():
            self._voice.note(f"{counted(int((~there).sum()), 'row')} without a true value left out of the score.")
        return score(truth[there], np.concatenate(self._said)[there], classes=classes is not None)


def write_table(path: Path | None, parts: Iterable[Columns]) -> None:
    """Write parts of a table one after the other: CSV, .npy or Parquet by the file's ending, CSV to stdout for None.

    The parts have the same columns. The file is there once it is complete; a .npy file holds the one column there is.
    """
    if path is None:
        for text in _csv_texts(parts):
            sys.stdout.write(text)
    else:
        lt.persist.write_whole(path, _FORMATS[path.suffix.lower()](parts))


def check_can_write(path: Path, *, several: bool) -> str:
    """Return what speaks against writing a table under this name, empty when nothing does; `several` columns or one."""
    ending = path.suffix.lower()
    if ending not in _FORMATS:
        return f"must end in .csv, .npy or .parquet, got {str(path)!r}."
    if ending == ".npy" and several:
        return f"must end in .csv or .parquet for several columns, got {str(path)!r}."
    if ending in (".parquet", ".pq"):
        lt.tables.import_pyarrow()
    return ""


def _csv_texts(parts: Iterable[Columns]) -> Iterator[str]:
    for i, columns in enumerate(parts):
        stream = io.StringIO(newline="")
        writer = csv.writer(stream, lineterminator="\n")
        if i == 0:
            writer.writerow(columns)
        writer.writerows(zip(*(_cells(name, values) for name, values in columns.items())))
        yield stream.getvalue()


def _cells(name: str, values: Array) -> Iterator[object]:
    """Return cells as they are written: floats with the digits that mean something."""
    if values.dtype.kind != "f":
        return iter(values.tolist())
    digits = _DIGITS.get(name, _FEWER_DIGITS)
    return (format(value, digits) for value in values.tolist())


def _csv_bytes(parts: Iterable[Columns]) -> Iterator[bytes]:
    return (text.encode() for text in _csv_texts(parts))


def _npy_bytes(parts: Iterable[Columns]) -> Iterator[bytes]:
    import numpy as np

    yield from npy_pieces(np.concatenate([next(iter(columns.values())) for columns in parts]))


def _parquet_bytes(parts: Iterable[Columns]) -> Iterator[bytes]:
    """Yield a Parquet file piece by piece; the first part gives its schema."""
    arrow, sink, writer = lt.tables.import_pyarrow(), _Sink(), None
    for columns in parts:
        arrays = {name: values.tolist() if values.dtype.kind in "UO" else values for name, values in columns.items()}
        table = arrow.table({name: arrow.array(values) for name, values in arrays.items()})
        writer = writer or arrow.parquet.ParquetWriter(sink, table.schema)
        writer.write_table(table)
        yield from sink.taken()
    if writer is not None:
        writer.close()
    yield from sink.taken()


class _Sink(io.RawIOBase):
    """A file in memory that hands out what was written to it, and counts on as a file does."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._n_bytes = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._n_bytes

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        self._n_bytes += len(data)
        return len(data)

    def taken(self) -> list[bytes]:
        """Return the pieces that were not handed out yet."""
        pieces, self._pieces = self._pieces, []
        return pieces


_FORMATS: dict[str, Callable[[Iterable[Columns]], Iterator[bytes]]] = {
    ".csv": _csv_bytes,
    ".npy": _npy_bytes,
    ".parquet": _parquet_bytes,
    ".pq": _parquet_bytes,
}
