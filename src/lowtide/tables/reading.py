"""Tables in files: CSV, .npy and Parquet, read block by block."""

from __future__ import annotations

import csv
import math
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import MissingExtraError
from lowtide.tables.cells import MISSING, TableError, listed, number_of, shown, text_of

Floats = NDArray[np.float64]
Columns = Sequence[NDArray[Any]]
# Columns are chosen now, by options of the command line ("choose") or by parameters ("fit"); or the model says which
# columns it needs ("reuse").
Purpose = Literal["choose", "fit", "reuse"]

# Cells of a block: of text, which Python holds one by one, and of numbers.
_TEXT_CELLS, _NUMBER_CELLS = 1 << 18, 1 << 21
_DELIMITERS = ",;\t"
_TRUTH = {"true": 1.0, "false": 0.0}


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
    columns: Columns
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
        return replace(self, columns=columns, first_row=self.first_row + n_rows, lines=lines)

    def renamed(self, names: Sequence[str]) -> Block:
        """Return the same rows under other names of the columns."""
        return replace(self, names=tuple(names))


@dataclass(frozen=True)
class Source:
    """A table, in a file or not: the names of its columns, and its rows in blocks, as often as wanted.

    Attributes
    ----------
    file : str
        The table's name, for messages.
    names : tuple of str
    named : bool
        Whether the file has names of columns; otherwise they are called 0, 1, 2, ...
    parts : callable
        Gives the columns of some rows after the other, and the lines in which these begin, where they have one.
    unnamed : int
        Columns that a header leaves without a name; they are passed over.
    """

    file: str
    names: tuple[str, ...]
    named: bool
    parts: Callable[[], Iterator[tuple[Columns, Sequence[int] | None]]]
    unnamed: int = 0

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order, some megabytes at a time."""
        first_row = 1
        for columns, lines in self.parts():
            block = Block(self.file, self.names, columns, first_row, lines)
            yield block
            first_row += block.n_rows


def _wrong(path: Path, must: str, got: object, remedy: str = "") -> TableError:
    return TableError(f"{path.name}: {must}, got {got}. {remedy}".rstrip())


def _open_csv(path: Path, header: bool) -> Source:
    """Return a text table; a header names its columns."""
    first, _ = next(_csv_rows(path), ([], 0))
    if not first:
        raise _wrong(path, "a table must have a header and rows", "an empty file")
    width = len(first)
    names = [cell.strip() for cell in first] if header else [str(j) for j in range(width)]
    if header:
        _check_header(path, names)
    kept = [j for j, name in enumerate(names) if name]
    if not kept:
        raise _wrong(path, "the first line must name the columns", "empty names", "Add a line of names.")

    def parts() -> Iterator[tuple[Columns, Sequence[int]]]:
        numbered = islice(_csv_rows(path), int(header), None)
        while part := list(islice(numbered, max(1, _TEXT_CELLS // width))):
            rows, lines = zip(*part)
            cells = np.array(rows, dtype=object)
            yield [cells[:, j] for j in kept], lines

    return Source(path.name, tuple(names[j] for j in kept), header, parts, width - len(kept))


def _csv_rows(path: Path) -> Iterator[tuple[list[str], int]]:
    """Yield each row that is not blank, with the line in which it begins; all are as long as the first.

    The delimiter, one of comma, semicolon and tab, is the one that the first line has most of.
    """
    line, width = 1, None
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            delimiter = max(_DELIMITERS, key=next(filter(str.strip, stream), "").count)
            stream.seek(0)
            reader = csv.reader(stream, delimiter=delimiter, skipinitialspace=True, strict=True)
            for row in reader:
                if len(row) > 1 or (row and row[0].strip()):
                    width = width or len(row)
                    if len(row) != width:
                        must, got = (
                            f"every line must have {width} cells, as the first has",
                            f"{len(row)} in line {line}",
                        )
                        raise _wrong(path, must, got, f"Look for a missing or unquoted delimiter {delimiter!r}.")
                    yield row, line
                line = reader.line_num + 1
    except csv.Error as error:
        raise _wrong(path, f"line {line} must be CSV", f"{error}", "Quotes must come in pairs.") from error
    except UnicodeDecodeError as error:
        byte = f"byte {error.object[error.start]:#x}"
        raise _wrong(path, "it must be UTF-8 text", byte, "Save it as UTF-8, or as .npy or .parquet.") from error
    except OSError as error:
        raise _wrong(path, "it must be readable", error.strerror) from error


def _check_header(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        got = f"{listed(twice)} more than once"
        raise _wrong(path, "column names must differ", got, "Rename one in the first line.")
    # Names that count the columns are what a data frame writes when it has no others.
    counted = any(names == [str(i) for i in range(start, start + len(names))] for start in (0, 1))
    if not counted and all(number_of(name) is not None for name in names):
        remedy = "Add a line of names, or pass --no-header; the columns are then called 0, 1, 2, ..."
        raise _wrong(path, "the first line must name the columns", f"numbers, {listed(names, most=3)}", remedy)


def _open_npy(path: Path, _header: bool) -> Source:
    """Return an array (n, d) or (n,) as a table; its rows are read when they are asked for."""
    must, remedy = "it must hold one numpy array of numbers", "Write it with numpy.save(file, array)."
    try:
        with path.open("rb") as stream:
            start, size = stream.read(12), stream.seek(0, 2)
        # numpy takes the memory for as long a description as the file announces before it looks for one.
        if start[6:7] > b"\1" and int.from_bytes(start[8:], "little") > size:
            raise _wrong(path, must, "one that is cut short", remedy)
        given = np.load(path, mmap_mode="r", allow_pickle=False)
    except TableError:
        raise
    except OSError as error:
        raise _wrong(path, "it must be readable", error.strerror or error) from error
    except Exception as error:  # numpy reads the description as Python, with any of Python's errors
        raise _wrong(path, must, "another kind of file, or Python objects", remedy) from error
    if not isinstance(given, np.ndarray):
        raise _wrong(path, "it must hold one numpy array", "several", "Write one with numpy.save.")
    shape, kind = (*given.shape, 1)[: max(2, given.ndim)], given.dtype
    if len(shape) != 2 or shape[1] == 0:
        flatten = "Flatten the rows: array.reshape(len(array), -1)."
        raise _wrong(path, "an array must have rows and columns", f"shape {given.shape}", flatten)
    if kind.kind not in "biufU" or kind.itemsize == 0:
        convert = "Convert it with array.astype('float64')."
        raise _wrong(path, "an array must hold numbers, booleans or texts", kind, convert)
    (n_rows, width), by_rows, offset = shape, given.flags.c_contiguous, getattr(given, "offset", 0)
    del given  # who reads a map of a file that is cut short meanwhile dies

    def read(stream: BinaryIO, first: int, count: int) -> NDArray[Any]:
        stream.seek(offset + first * kind.itemsize)
        found = np.fromfile(stream, kind, count)
        if len(found) < count:
            raise _wrong(path, "it must stay as it is while it is read", "a shorter one than before")
        return found

    def parts() -> Iterator[tuple[Columns, None]]:
        size = max(1, _NUMBER_CELLS // width)
        with path.open("rb") as stream:
            for start in range(0, n_rows, size):
                n = min(size, n_rows - start)
                if by_rows:
                    columns = [*read(stream, start * width, n * width).reshape(n, width).T]
                else:
                    columns = [read(stream, j * n_rows + start, n) for j in range(width)]
                yield [_characters(path, column) if kind.kind == "U" else column for column in columns], None

    return Source(path.name, tuple(str(j) for j in range(width)), False, parts)


def _characters(path: Path, texts: NDArray[Any]) -> NDArray[Any]:
    """Return texts as objects; numbers that are no characters would make such that Python itself fails on."""
    numbers = np.ascontiguousarray(texts).view(texts.dtype.str[0] + "u4")
    if numbers.max(initial=0) > sys.maxunicode:
        raise _wrong(path, "texts must be of Unicode's characters", "other numbers")
    return texts.astype(object)


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


def _open_parquet(path: Path, _header: bool) -> Source:
    """Return a Parquet table, read in batches of rows."""
    arrow = import_pyarrow()
    try:
        # Buffered ahead, a reader keeps what it has read of all row groups, in the end the whole file.
        table = arrow.parquet.ParquetFile(path, pre_buffer=False)
    except (arrow.ArrowException, OSError) as error:
        raise _wrong(path, "it must be a Parquet file", str(error).splitlines()[0]) from error
    # What a data frame keeps of its index is no column of the data.
    names = [name for name in table.schema_arrow.names if not name.startswith("__index_level_")]
    if not names or len(set(names)) < len(names):
        raise _wrong(path, "columns must have different names", names)

    def parts() -> Iterator[tuple[Columns, None]]:
        n_rows = 0
        try:
            for batch in table.iter_batches(batch_size=max(1, _NUMBER_CELLS // len(names)), columns=names):
                yield [_arrow_values(arrow.types, column) for column in batch.columns], None
                n_rows += batch.num_rows
        except (arrow.ArrowException, OSError) as error:
            raise _wrong(path, f"rows after {n_rows} must be readable", str(error).splitlines()[0]) from error

    return Source(path.name, tuple(names), True, parts)


def _arrow_values(types: Any, column: Any) -> NDArray[Any]:
    """Return numbers and booleans as they are, NaN where there is nothing, and anything else as objects."""
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if any(
        is_kind(column.type) for is_kind in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    ):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.array([None if value is None else str(value) for value in column.to_pylist()], dtype=object)


_OPENERS: dict[str, Callable[[Path, bool], Source]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), _open_csv),
    **dict.fromkeys((".parquet", ".pq"), _open_parquet),
    ".npy": _open_npy,
}


def is_table_name(path: Path) -> bool:
    """Whether a file's name says that it is a table."""
    return path.suffix.lower() in _OPENERS


def open_table(path: Path, *, header: bool = True) -> Source:
    """Return the table of a file; its ending says what it is.

    Parameters
    ----------
    path : Path
    header : bool, default=True
        Whether the first line of a text table names the columns.
    """
    if not is_table_name(path):
        must, got = "a table must be a .csv, .tsv, .npy or .parquet file", repr(path.suffix or "no ending")
        raise _wrong(path, must, got, "Convert or rename it.")
    return _OPENERS[path.suffix.lower()](path, header)


def number_matrix(block: Block, names: Sequence[str], purpose: Purpose, may_miss: Collection[str] = ()) -> Floats:
    """Return columns as a matrix of finite numbers, (n_rows, n_names); booleans count as 0 and 1.

    In columns of `may_miss` a cell may be empty, or hold what people write for that; it is NaN then.

    Raises
    ------
    TableError
        Naming every column of text, or else the first cell that is not a number.
    """
    matrix = np.empty((block.n_rows, len(names)))
    wrong: list[str] = []
    for j, name in enumerate(names):
        column = block.column(name)
        there: Any = True
        if name in may_miss:
            there = np.array([not _holds_nothing(cell) for cell in column.tolist()], dtype=bool)
            column = np.where(there, column, np.nan)
        values = _as_numbers(column)
        if values is None or not np.isfinite(values).all(where=there):
            wrong.append(name)
        else:
            matrix[:, j] = values
    if wrong:
        raise _fault(block, wrong, purpose)
    return matrix


def _as_numbers(cells: NDArray[Any]) -> Floats | None:
    """Return cells of a file as float64, NaN where there is nothing, or None when some are other text."""
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = [_number(cell) for cell in cells]
        return None if None in numbers else np.array(numbers, dtype=np.float64)


def _number(cell: object) -> float | None:
    """Return the number that a cell holds, 1 and 0 for true and false, None when it has none."""
    truth = _TRUTH.get(str(cell).strip().lower())
    return number_of(cell) if truth is None else truth


def _holds_nothing(cell: object) -> bool:
    return text_of(cell).lower() in MISSING


def _fault(block: Block, names: list[str], purpose: Purpose) -> TableError:
    """Say what is wrong with columns that are no numbers: all that are text, or else the first bad cell."""
    texts: dict[str, str] = {}
    bad: dict[str, list[int]] = {}
    for name in names:
        cells = block.column(name).tolist()
        there = [i for i, cell in enumerate(cells) if not _holds_nothing(cell)]
        numbers = [_number(cell) for cell in cells]
        text = [i for i in there if numbers[i] is None]
        if 2 * len(text) > len(there):  # most of what it holds
            texts[name] = shown(cells[text[0]])
        else:
            bad[name] = [i for i, number in enumerate(numbers) if number is None or not math.isfinite(number)]
    if texts:
        examples = ", ".join(f"{name!r} ({texts[name]}, ...)" for name in list(texts)[:4])
        rest = f" and {len(texts) - 4} more" if len(texts) > 4 else ""
        plural, them = ("s", "them") if len(texts) > 1 else ("", "it")
        remedy = "They held numbers when the model was fitted."
        if purpose != "reuse":
            one_hot, drop = (_typed(purpose, parameter, [*texts]) for parameter in ("one_hot", "drop"))
            remedy = f"Take {them} as categories with {one_hot}, or leave {them} out with {drop}."
        must = "columns must hold numbers, got text in column"
        return TableError(f"{block.file}: {must}{plural} {examples}{rest}. {remedy}")
    name = min(bad, key=lambda name: bad[name][0])
    row, count = bad[name][0], len(bad[name])
    cell = block.column(name)[row]
    got = "an empty cell" if text_of(cell) == "" else shown(cell)
    place = f"{block.where(row)}, column {name!r}" + (f" (and {count - 1} more like it)" if count > 1 else "")
    remedy = "Correct the cell or remove the row"
    if purpose != "reuse":
        drop = _typed(purpose, "drop", [name])
        remedy = f"Correct the cell, remove the row, or leave the column out with {drop}"
    return TableError(f"{block.file}: every cell must hold a finite number, got {got} in {place}. {remedy}.")


def _typed(purpose: Purpose, parameter: str, names: list[str]) -> str:
    """Return how columns are named for a parameter: in Python, or as options, `--drop id --drop 'first name'`."""
    if purpose == "fit":
        return f"{parameter}={names!r}"
    options = [f"--{parameter.replace('_', '-')} {shlex.quote(name)}" for name in names[:4]]
    return " ".join([*options, *(["and so on"] if len(names) > 4 else [])])
