"""Which reader a file gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from lowtide.cli.tables.block import Block
from lowtide.cli.tables.csv_file import CsvFile
from lowtide.cli.tables.npy_file import NpyFile
from lowtide.cli.tables.parquet_file import ParquetFile
from lowtide.cli.tables.problem import TableError

__all__ = ["Source", "is_table_name", "open_table"]


class Source(Protocol):
    """A table in a file: the names of its columns, and its rows in blocks, as often as wanted."""

    file: str
    names: tuple[str, ...]
    named: bool
    unnamed: int

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order."""


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
