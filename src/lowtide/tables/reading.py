"""Tables in files: CSV, .npy and Parquet, read block by block."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import MissingExtraError
from lowtide.tables.cells import (
    MISSING,
    TableError,
    as_numbers,
    is_number,
    listed,
    number_of,
    options_for,
    shown,
    text_of,
)

__all__ = [
    "Block",
    "CsvFile",
    "NpyFile",
    "ParquetFile",
    "Purpose",
    "Source",
    "import_pyarrow",
    "is_table_name",
    "number_matrix",
    "open_table",
]

Floats = NDArray[np.float64]
# Columns are chosen now, by options of the command line ("choose") or by parameters ("fit"); or the model says which
# columns it needs ("reuse").
Purpose = Literal["choose", "fit", "reuse"]

# Cells of a block: of text, which Python holds one by one, and of numbers.
_TEXT_CELLS, _NUMBER_CELLS = 1 << 18, 1 << 21
_DELIMITERS = ",;\t"


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a table.

    Attributes
    ----------
    file : str
        The table's name, for messages.
    names : tuple of str
    columns : sequence of ndarray (n_rows,)
        Numbers or booleans as such; anything else as objects: texts, None where there is nothing.
    first_row : int
        Number of the first row, counted from 1.
    lines : sequence of int or None
        The line of the file in which each row begins, where rows have one.
    """

    file: str
    names: tuple[str, ...]
    columns: Sequence[NDArray[Any]]
    first_row: int
    lines: Sequence[int] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0])

    def column(self, name: str) -> NDArray[Any]:
        """Return the values of a column as the file has them."""
        return self.columns[self.names.index(name)]

    def texts(self, name: str) -> NDArray[Any]:
        """Return the values of a column as texts, empty where there is nothing."""
        return np.array([text_of(value) for value in self.column(name).tolist()], dtype=object)

    def where(self, i: int) -> str:
        """Say which row of the file row i is."""
        row = f"row {self.first_row + i}"
        return row if self.lines is None else f"{row} (line {self.lines[i]})"

    def after(self, n_rows: int) -> Block:
        """Return the rows past the first ones."""
        lines = None if self.lines is None else self.lines[n_rows:]
        columns = [column[n_rows:] for column in self.columns]
        return Block(self.file, self.names, columns, self.first_row + n_rows, lines)

    def renamed(self, names: Sequence[str]) -> Block:
        """Return the same rows under other names of the columns."""
        return Block(self.file, tuple(names), self.columns, self.first_row, self.lines)


class Source(Protocol):
    """A table in a file: the names of its columns, and its rows in blocks, as often as wanted.

    Attributes
    ----------
    file : str
        The table's name, for messages.
    names : tuple of str
    named : bool
        Whether the file has names of columns; otherwise they are called 0, 1, 2, ...
    unnamed : int
        Columns that a header leaves without a name; they are passed over.
    """

    file: str
    names: tuple[str, ...]
    named: bool
    unnamed: int

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order."""


class CsvFile:
    """A text table. The delimiter, one of comma, semicolon and tab, is the one that the first line has most of.

    Parameters
    ----------
    path : Path
    header : bool, default=True
        Whether the first line names the columns.
    """

    def __init__(self, path: Path, header: bool = True) -> None:
        self._path, self.file, self.named = path, path.name, header
        with self._open() as stream:
            line = next((line for line in self._lines(stream) if line.strip()), "")
            self._delimiter = max(_DELIMITERS, key=line.count)
            stream.seek(0)
            first, _ = next(self._rows(stream), ([], 0))
        if not first:
            raise TableError(f"{self.file}: a table must have a header and rows, got an empty file.")
        self._width = len(first)
        names = [cell.strip() for cell in first] if header else [str(i) for i in range(len(first))]
        if header:
            self._check_header(names)
        self._kept = [j for j, name in enumerate(names) if name]
        self.names = tuple(names[j] for j in self._kept)
        self.unnamed = self._width - len(self._kept)

    def _check_header(self, names: list[str]) -> None:
        twice = [name for name, count in Counter(names).items() if name and count > 1]
        if twice:
            raise TableError(
                f"{self.file}: column names must differ, got {listed(twice)} more than once. Rename one in the first "
                "line."
            )
        # Names that count the columns are what a data frame writes when it has no others.
        counted = any(names == [str(i) for i in range(start, start + len(names))] for start in (0, 1))
        if all(is_number(name) for name in names) and not counted:
            raise TableError(
                f"{self.file}: the first line must name the columns, got numbers, {listed(names, most=3)}. Add a line "
                "of names, or pass --no-header; the columns are then called 0, 1, 2, ..."
            )

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order, some megabytes of text at a time."""
        size = max(1, _TEXT_CELLS // self._width)
        n_rows = 0
        with self._open() as stream:
            numbered = self._rows(stream)
            if self.named:
                next(numbered)
            while part := list(islice(numbered, size)):
                rows, lines = zip(*part)
                self._check_widths(rows, lines)
                cells = np.array(rows, dtype=object)
                columns = [cells[:, j] for j in self._kept]
                yield Block(self.file, self.names, columns, n_rows + 1, lines)
                n_rows += len(rows)

    def _check_widths(self, rows: tuple[list[str], ...], lines: tuple[int, ...]) -> None:
        for row, line in zip(rows, lines):
            if len(row) != self._width:
                raise TableError(
                    f"{self.file}: every line must have {self._width} cells, as the first has, got {len(row)} in line "
                    f"{line}. Look for a missing or unquoted delimiter {self._delimiter!r}."
                )

    def _open(self) -> TextIO:
        try:
            return self._path.open(encoding="utf-8-sig", newline="")
        except OSError as error:
            raise TableError(f"{self.file} must be readable, got: {error.strerror}.") from error

    def _rows(self, stream: TextIO) -> Iterator[tuple[list[str], int]]:
        """Yield each row that is not blank, with the line in which it begins."""
        reader = csv.reader(self._lines(stream), delimiter=self._delimiter, skipinitialspace=True, strict=True)
        line = 1
        try:
            for row in reader:
                if len(row) > 1 or (row and row[0].strip()):
                    yield row, line
                line = reader.line_num + 1
        except csv.Error as error:
            raise TableError(
                f"{self.file}: line {line} must be CSV, got: {error}. Quotes must come in pairs."
            ) from error

    def _lines(self, stream: TextIO) -> Iterator[str]:
        """Yield the lines of a file that must be text."""
        try:
            for line in stream:  # noqa: UP028 - `yield from` would close the file together with the generator
                yield line
        except UnicodeDecodeError as error:
            raise TableError(
                f"{self.file} must be UTF-8 text, got byte {error.object[error.start]:#x}. Save it as UTF-8, or as "
                ".npy or .parquet."
            ) from error


class NpyFile:
    """A .npy array (n, d) or (n,), mapped into memory."""

    named, unnamed = False, 0

    def __init__(self, path: Path) -> None:
        self.file = path.name
        array = self._load(path)
        self._array = array[:, None] if array.ndim == 1 else array
        if self._array.ndim != 2 or self._array.shape[1] == 0:
            raise TableError(
                f"{self.file}: an array must have rows and columns, got shape {array.shape}. Flatten the rows: "
                "array.reshape(len(array), -1)."
            )
        if array.dtype.kind not in "biufU":
            raise TableError(
                f"{self.file}: an array must hold numbers, booleans or texts, got {array.dtype}. Convert it with "
                "array.astype('float64')."
            )
        self.names = tuple(str(j) for j in range(self._array.shape[1]))

    def _load(self, path: Path) -> NDArray[Any]:
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise TableError(
                f"{self.file} must hold one numpy array of numbers, got another kind of file, or Python objects. Write "
                "it with numpy.save(file, array)."
            ) from error
        except OSError as error:
            raise TableError(f"{self.file} must be readable, got: {error.strerror or error}.") from error
        if not isinstance(array, np.ndarray):
            raise TableError(f"{self.file} must hold one numpy array, got several. Write one with numpy.save.")
        return array

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order, some megabytes at a time."""
        size = max(1, _NUMBER_CELLS // len(self.names))
        for start in range(0, len(self._array), size):
            part = self._array[start : start + size]
            if part.dtype.kind == "U":
                part = part.astype(object)
            yield Block(self.file, self.names, list(np.asarray(part).T), start + 1)


def import_pyarrow() -> Any:
    """Return pyarrow with its Parquet module, or say which extra has it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(
            "Parquet files need pyarrow, which is not installed: pip install 'lowtide[io]'. CSV and .npy need nothing."
        ) from error
    return pyarrow


class ParquetFile:
    """A Parquet table, read in batches of rows."""

    named, unnamed = True, 0

    def __init__(self, path: Path) -> None:
        self.file = path.name
        self._arrow = import_pyarrow()
        try:
            # Buffered ahead, a reader keeps what it has read of all row groups, in the end the whole file.
            self._table = self._arrow.parquet.ParquetFile(path, pre_buffer=False)
        except (self._arrow.ArrowException, OSError) as error:
            raise TableError(f"{self.file} must be a Parquet file, got: {error}".splitlines()[0]) from error
        # What a data frame keeps of its index is no column of the data.
        self.names = tuple(name for name in self._table.schema_arrow.names if not name.startswith("__index_level_"))
        if not self.names or len(set(self.names)) < len(self.names):
            raise TableError(f"{self.file}: columns must have different names, got {list(self.names)}.")

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order, some megabytes at a time."""
        size = max(1, _NUMBER_CELLS // len(self.names))
        n_rows = 0
        try:
            for batch in self._table.iter_batches(batch_size=size, columns=list(self.names)):
                yield Block(self.file, self.names, [self._values(column) for column in batch.columns], n_rows + 1)
                n_rows += batch.num_rows
        except (self._arrow.ArrowException, OSError) as error:
            raise TableError(
                f"{self.file}: rows after {n_rows} must be readable, got: {error}".splitlines()[0]
            ) from error

    def _values(self, column: Any) -> NDArray[Any]:
        """Return numbers and booleans as they are, NaN where there is nothing, and anything else as objects."""
        types = self._arrow.types
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        plain = types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)
        if plain or types.is_decimal(column.type):
            values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
            return values
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return np.array(texts, dtype=object)


_TEXT = (".csv", ".tsv", ".txt")
_BINARY: dict[str, Callable[[Path], Source]] = {".npy": NpyFile, ".parquet": ParquetFile, ".pq": ParquetFile}


def is_table_name(path: Path) -> bool:
    """Whether a file's name says that it is a table."""
    return path.suffix.lower() in (*_TEXT, *_BINARY)


def open_table(path: Path, *, header: bool = True) -> Source:
    """Return the table of a file; its ending says what it is.

    Parameters
    ----------
    path : Path
    header : bool, default=True
        Whether the first line of a text table names the columns.
    """
    ending = path.suffix.lower()
    if ending in _TEXT:
        return CsvFile(path, header)
    if ending not in _BINARY:
        raise TableError(
            f"{path.name}: a table must be a .csv, .tsv, .npy or .parquet file, got {path.suffix or 'no ending'!r}. "
            "Convert or rename it."
        )
    return _BINARY[ending](path)


def number_matrix(block: Block, names: Sequence[str], purpose: Purpose, may_miss: Collection[str] = ()) -> Floats:
    """Return columns as a matrix of finite numbers, (n_rows, n_names); booleans count as 0 and 1.

    In columns of `may_miss` a cell may be empty, or hold what people write for that; it is NaN then.

    Raises
    ------
    TableError
        Naming every column of text, or else the first cell that is not a number.
    """
    matrix = np.empty((block.n_rows, len(names)))
    wrong: list[_Fault] = []
    for j, name in enumerate(names):
        column = block.column(name)
        absent = np.zeros(block.n_rows, dtype=bool)
        if name in may_miss:
            absent = np.array([_holds_nothing(cell) for cell in column.tolist()], dtype=bool)
            column = np.where(absent, np.nan, column)
        values = as_numbers(column)
        if values is None or not (np.isfinite(values) | absent).all():
            wrong.append(_fault(name, block.column(name)))
        else:
            matrix[:, j] = values
    if any(fault.is_text for fault in wrong):
        raise _text_error(block, [fault for fault in wrong if fault.is_text], purpose)
    if wrong:
        raise _cell_error(block, min(wrong, key=lambda fault: fault.row), purpose)
    return matrix


@dataclass(frozen=True)
class _Fault:
    """What is wrong with a column: all of it, or `count` cells, the first of them in row `row`."""

    name: str
    is_text: bool
    row: int
    cell: object
    count: int


def _fault(name: str, values: NDArray[Any]) -> _Fault:
    """Look at each cell: a column is text when most of what it holds is."""
    cells = [number_of(value) for value in values.tolist()]
    text = [i for i, number in enumerate(cells) if number is None and not _holds_nothing(values[i])]
    bad = [i for i, number in enumerate(cells) if number is None or not np.isfinite(number)]
    there = sum(not _holds_nothing(value) for value in values)
    is_text = 2 * len(text) > there
    row = text[0] if is_text else bad[0]
    return _Fault(name, is_text, row, values[row], len(bad))


def _holds_nothing(value: object) -> bool:
    return text_of(value).lower() in MISSING


def _text_error(block: Block, faults: list[_Fault], purpose: Purpose) -> TableError:
    names = [fault.name for fault in faults]
    examples = ", ".join(f"{fault.name!r} ({shown(fault.cell)}, ...)" for fault in faults[:4])
    rest = f" and {len(faults) - 4} more" if len(faults) > 4 else ""
    remedy = "They held numbers when the model was fitted."
    if purpose != "reuse":
        them = "them" if len(faults) > 1 else "it"
        one_hot, drop = _typed(purpose, "one_hot", names), _typed(purpose, "drop", names)
        remedy = f"Take {them} as categories with {one_hot}, or leave {them} out with {drop}."
    plural = "s" if len(faults) > 1 else ""
    return TableError(f"{block.file}: columns must hold numbers, got text in column{plural} {examples}{rest}. {remedy}")


def _typed(purpose: Purpose, parameter: str, names: list[str]) -> str:
    """Return how columns are named for a parameter: as options, or in Python."""
    return f"{parameter}={names!r}" if purpose == "fit" else options_for(f"--{parameter.replace('_', '-')}", names)


def _cell_error(block: Block, fault: _Fault, purpose: Purpose) -> TableError:
    got = "an empty cell" if text_of(fault.cell) == "" else shown(fault.cell)
    more = f" (and {fault.count - 1} more like it)" if fault.count > 1 else ""
    remedy = "Correct the cell or remove the row"
    if purpose != "reuse":
        drop = _typed(purpose, "drop", [fault.name])
        remedy = f"Correct the cell, remove the row, or leave the column out with {drop}"
    place = f"{block.where(fault.row)}, column {listed([fault.name])}"
    return TableError(f"{block.file}: every cell must hold a finite number, got {got} in {place}{more}. {remedy}.")
