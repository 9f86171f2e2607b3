"""CSV: text with a header, read a block at a time."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np

from lowtide.cli.tables.block import Block
from lowtide.cli.tables.problem import TableError, listed

__all__ = ["CsvFile"]

_BLOCK_CELLS = 1 << 18
_DELIMITERS = ",;\t"


class CsvFile:
    """A text table. The delimiter, one of comma, semicolon and tab, is the one that the first line has most of.

    Parameters
    ----------
    path : Path
    header : bool, default=True
        Whether the first line names the columns; without, they are called 0, 1, 2, ...

    Attributes
    ----------
    names : tuple of str
    named : bool
    unnamed : int
        Columns that the header leaves without a name; they are passed over.
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
        if all(_is_number(name) for name in names) and not counted:
            raise TableError(
                f"{self.file}: the first line must name the columns, got numbers, {listed(names, most=3)}. Add a line "
                "of names, or pass --no-header; the columns are then called 0, 1, 2, ..."
            )

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order, some megabytes of text at a time."""
        size = max(1, _BLOCK_CELLS // self._width)
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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
