"""Tables in files: CSV, JSON lines, Parquet and .npy, also compressed, read block by block."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import missing_extra
from lowtide.tables.cells import PLAIN, TableError, arrow_values, listed, number_of, shown
from lowtide.tables.dialect import PACKED, Dialect, look, open_text, reading, wrong

Columns = Sequence[NDArray[Any]]

# Cells of a block: of text, which Python holds one by one, and of numbers.
_TEXT_CELLS, _NUMBER_CELLS = 1 << 18, 1 << 21


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a table.

    Attributes
    ----------
    file : str
        The table's name, for messages.
    names : tuple of str
    columns : sequence of ndarray (n_rows,)
        Numbers, booleans and datetime64 as such; anything else as objects: texts, None where there is nothing.
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

    def where(self, i: int) -> str:
        """Say which row of the file row i is."""
        row = f"row {self.first_row + i}"
        return row if self.lines is None else f"{row} (line {self.lines[i]})"

    def after(self, n_rows: int) -> Block:
        """Return the rows past the first ones."""
        return replace(self.take(np.s_[n_rows:]), first_row=self.first_row + n_rows)

    def take(self, rows: Any) -> Block:
        """Return some of the rows, by a slice, numbers or a mask; they are counted on from the first."""
        columns = [column[rows] for column in self.columns]
        return replace(self, columns=columns, lines=None if self.lines is None else np.asarray(self.lines)[rows])

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
        Whether the names come from the table; otherwise they are called 0, 1, 2, ...
    parts : callable
        Gives the columns of some rows after the other, and the lines in which these begin, where they have one.
    dialect : Dialect
        How a text file is written.
    notes : tuple of str
        What a reader should know of the names.
    """

    file: str
    names: tuple[str, ...]
    named: bool
    parts: Callable[[], Iterator[tuple[Columns, Sequence[int] | None]]]
    dialect: Dialect = field(default_factory=Dialect)
    notes: tuple[str, ...] = ()

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order, some megabytes at a time."""
        first_row = 1
        for columns, lines in self.parts():
            block = Block(self.file, self.names, columns, first_row, lines)
            yield block
            first_row += block.n_rows


def _open_csv(path: Path, packed: str, header: bool, encoding: str | None) -> Source:
    """Return a text table; a header names its columns."""
    dialect = look(path, packed, encoding, separated=True)
    first, _ = next(_csv_rows(path, dialect), ([], 0))
    if not first:
        raise wrong(path, "a table must have a header and rows", "an empty file")
    width = len(first)
    names = [cell.strip() for cell in first] if header else [str(j) for j in range(width)]
    notes = []
    if header:
        _check_header(path, names)
        names, twice = _distinct(names)
        if twice:
            again = ", ".join(f"{old!r} as {new!r}" for old, new in twice[:4])
            rest = f" and {len(twice) - 4} more" if len(twice) > 4 else ""
            notes.append(f"{path.name}: names that come again are told apart, {again}{rest}.")
    kept = [j for j, name in enumerate(names) if name]
    if not kept:
        raise wrong(path, "the first line must name the columns", "empty names", "Add a line of names.")
    if len(kept) < width:
        n = width - len(kept)
        notes.append(f"{path.name}: {n} column{'s' if n > 1 else ''} without a name left out.")

    def parts() -> Iterator[tuple[Columns, Sequence[int]]]:
        numbered = islice(_csv_rows(path, dialect), int(header), None)
        while part := list(islice(numbered, max(1, _TEXT_CELLS // width))):
            rows, lines = zip(*part)
            if dialect.marks != PLAIN:
                rows = tuple([*map(dialect.marks.plain, row)] for row in rows)
            cells = np.array(rows, dtype=object)
            yield [cells[:, j] for j in kept], lines

    return Source(path.name, tuple(names[j] for j in kept), header, parts, dialect, tuple(notes))


def _csv_rows(path: Path, dialect: Dialect) -> Iterator[tuple[list[str], int]]:
    """Yield each row that is not blank, with the line in which it begins; all are as long as the first."""
    line, width = 1, None
    try:
        with reading(path, dialect.packed), open_text(path, dialect) as stream:
            reader = csv.reader(stream, delimiter=dialect.separator, skipinitialspace=True, strict=True)
            for row in reader:
                if len(row) > 1 or (row and row[0].strip()):
                    width = width or len(row)
                    if len(row) != width:
                        must = f"every line must have {width} cells, as the first has"
                        remedy = f"Look for a missing or unquoted delimiter {dialect.separator!r}."
                        raise wrong(path, must, f"{len(row)} in line {line}", remedy)
                    yield row, line
                line = reader.line_num + 1
    except csv.Error as error:
        remedy = "Quotes must come in pairs, and the file be whole."
        raise wrong(path, f"line {line} must be CSV", f"{error}", remedy) from error


def _check_header(path: Path, names: list[str]) -> None:
    # Names that count the columns are what a data frame writes when it has no others.
    counted = any(names == [str(i) for i in range(start, start + len(names))] for start in (0, 1))
    if not counted and all(number_of(name) is not None for name in names):
        remedy = "Add a line of names, or pass --no-header; the columns are then called 0, 1, 2, ..."
        raise wrong(path, "the first line must name the columns", f"numbers, {listed(names, most=3)}", remedy)


def _distinct(names: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return names that differ, "x" and "x.1" as pandas has them, and those that are new."""
    taken, found, twice = set(names), [], []
    seen: set[str] = set()
    for name in names:
        new = name
        if name and name in seen:
            new = next(other for k in range(1, len(names) + 1) if (other := f"{name}.{k}") not in taken)
            taken.add(new)
            twice.append((name, new))
        seen.add(name)
        found.append(new)
    return found, twice


def _open_json(path: Path, packed: str, _header: bool, encoding: str | None) -> Source:
    """Return a table of lines with an object of JSON each; its columns are all names that occur."""
    dialect = look(path, packed, encoding, separated=False)
    names: dict[str, None] = {}
    for row, _ in _json_rows(path, dialect):
        names.update(dict.fromkeys(row))
    if not names:
        raise wrong(path, "a table must have rows", "an empty file")

    def parts() -> Iterator[tuple[Columns, Sequence[int]]]:
        numbered = _json_rows(path, dialect)
        while part := list(islice(numbered, max(1, _TEXT_CELLS // len(names)))):
            rows, lines = zip(*part)
            columns = []
            for name in names:
                column = np.empty(len(rows), dtype=object)
                column[:] = [row.get(name) for row in rows]
                columns.append(column)
            yield columns, lines

    return Source(path.name, tuple(names), True, parts, dialect)


def _json_rows(path: Path, dialect: Dialect) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the object of each line that is not blank, with its line; its values are texts, numbers or truth values."""
    remedy = "Write an object a line, as pandas does with to_json(orient='records', lines=True)."
    with reading(path, dialect.packed), open_text(path, dialect) as stream:
        for line, text in enumerate(stream, 1):
            if not text.strip():
                continue
            try:
                row = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise wrong(path, f"line {line} must be JSON", shown(text), remedy) from error
            if not isinstance(row, dict):
                raise wrong(path, f"line {line} must be an object of JSON", shown(text), remedy)
            for name, value in row.items():
                if isinstance(value, (dict, list)):
                    must = f"line {line}, column {name!r} must be a text, a number or a truth value"
                    raise wrong(path, must, shown(json.dumps(value)), "Flatten it to columns of its own.")
            yield row, line


def _open_npy(path: Path, packed: str, _header: bool, _encoding: str | None) -> Source:
    """Return an array (n, d) or (n,) as a table; its rows are read when they are asked for."""
    _check_unpacked(path, packed)
    must, remedy = "it must hold one numpy array of numbers", "Write it with numpy.save(file, array)."
    try:
        with path.open("rb") as stream:
            start, size = stream.read(12), stream.seek(0, 2)
        # numpy takes the memory for as long a description as the file announces before it looks for one.
        if start[6:7] > b"\1" and int.from_bytes(start[8:], "little") > size:
            raise wrong(path, must, "one that is cut short", remedy)
        given = np.load(path, mmap_mode="r", allow_pickle=False)
    except TableError:
        raise
    except OSError as error:
        raise wrong(path, "it must be readable", error.strerror or error) from error
    except Exception as error:  # numpy reads the description as Python, with any of Python's errors
        raise wrong(path, must, "another kind of file, or Python objects", remedy) from error
    if not isinstance(given, np.ndarray):
        raise wrong(path, "it must hold one numpy array", "several", "Write one with numpy.save.")
    shape, kind = (*given.shape, 1)[: max(2, given.ndim)], given.dtype
    if len(shape) != 2 or shape[1] == 0:
        flatten = "Flatten the rows: array.reshape(len(array), -1)."
        raise wrong(path, "an array must have rows and columns", f"shape {given.shape}", flatten)
    if kind.kind not in "biufU" or kind.itemsize == 0:
        convert = "Convert it with array.astype('float64')."
        raise wrong(path, "an array must hold numbers, booleans or texts", kind, convert)
    (n_rows, width), by_rows, offset = shape, given.flags.c_contiguous, getattr(given, "offset", 0)
    del given  # who reads a map of a file that is cut short meanwhile dies

    def read(stream: BinaryIO, first: int, count: int) -> NDArray[Any]:
        stream.seek(offset + first * kind.itemsize)
        found = np.fromfile(stream, kind, count)
        if len(found) < count:
            raise wrong(path, "it must stay as it is while it is read", "a shorter one than before")
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
        raise wrong(path, "texts must be of Unicode's characters", "other numbers")
    return texts.astype(object)


def import_pyarrow() -> Any:
    """Return pyarrow with its Parquet module, or say which extra has it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        need = "Parquet files need pyarrow, which is not installed"
        raise missing_extra(need, "io", ". CSV and .npy files need nothing") from error
    return pyarrow


def _open_parquet(path: Path, packed: str, _header: bool, _encoding: str | None) -> Source:
    """Return a Parquet table, read in batches of rows."""
    _check_unpacked(path, packed)
    arrow = import_pyarrow()
    try:
        # Buffered ahead, a reader keeps what it has read of all row groups, in the end the whole file.
        table = arrow.parquet.ParquetFile(path, pre_buffer=False)
    except (arrow.ArrowException, OSError) as error:
        raise wrong(path, "it must be a Parquet file", str(error).splitlines()[0]) from error
    # What a data frame keeps of its index is no column of the data.
    names = [name for name in table.schema_arrow.names if not name.startswith("__index_level_")]
    if not names or len(set(names)) < len(names):
        raise wrong(path, "columns must have different names", names)

    def parts() -> Iterator[tuple[Columns, None]]:
        n_rows = 0
        try:
            for batch in table.iter_batches(batch_size=max(1, _NUMBER_CELLS // len(names)), columns=names):
                yield [arrow_values(arrow, column) for column in batch.columns], None
                n_rows += batch.num_rows
        except (arrow.ArrowException, OSError) as error:
            raise wrong(path, f"rows after {n_rows} must be readable", str(error).splitlines()[0]) from error

    return Source(path.name, tuple(names), True, parts)


def _check_unpacked(path: Path, packed: str) -> None:
    if packed:
        remedy = "Unpack it first; Parquet files are compressed as they are."
        raise wrong(path, "only text tables may be packed", f"a {path.suffixes[-2]} file in {packed}", remedy)


_OPENERS: dict[str, Callable[[Path, str, bool, str | None], Source]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), _open_csv),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _open_json),
    **dict.fromkeys((".parquet", ".pq"), _open_parquet),
    ".npy": _open_npy,
}


def is_table_name(path: Path) -> bool:
    """Whether a file's name says that it is a table."""
    return _ending(path)[0] in _OPENERS


def _ending(path: Path) -> tuple[str, str]:
    """Return what a file's name says that it is, and how it is packed."""
    packed = path.suffix.lower() if path.suffix.lower() in PACKED else ""
    return (path.with_suffix("") if packed else path).suffix.lower(), packed


def open_table(path: Path, *, header: bool = True, encoding: str | None = None) -> Source:
    """Return the table of a file; its ending says what it is, ".gz" and ".zst" that it is packed.

    Parameters
    ----------
    path : Path
    header : bool, default=True
        Whether the first line of a text table names the columns.
    encoding : str or None
        Of a text table; None is UTF-8, or UTF-16 where the file looks like that.
    """
    ending, packed = _ending(path)
    if ending not in _OPENERS:
        must = "a table must be a .csv, .tsv, .jsonl, .parquet or .npy file, texts also with .gz or .zst"
        raise wrong(path, must, repr(path.suffix or "no ending"), "Convert or rename it.")
    return _OPENERS[ending](path, packed, header, encoding)
