"""Columns of results to a file or to the terminal."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from lowtide.cli.tables.parquet_file import import_pyarrow
from lowtide.cli.whole_file import whole_file

__all__ = ["Columns", "check_can_write", "write_array", "write_table"]

Columns = dict[str, NDArray[Any]]

_DIGITS = {"prediction": ".9g"}
_FEWER_DIGITS = ".6g"


def write_table(path: Path | None, parts: Iterable[Columns]) -> None:
    """Write parts of a table one after the other: CSV, .npy or Parquet by the file's ending, CSV to stdout for None.

    The file is there once it is complete. A .npy file holds the one column there is.

    Parameters
    ----------
    path : Path or None
    parts : iterable of dict of ndarray
        Equal columns in each, of equal lengths within each.
    """
    if path is None:
        _write_csv(sys.stdout, parts)
        return
    with whole_file(path) as part:
        _WRITERS.get(path.suffix.lower(), _write_csv_file)(part, parts)


def check_can_write(path: Path, *, several: bool) -> str:
    """Return what speaks against writing a table under this name, empty when nothing does; `several` columns or one."""
    ending = path.suffix.lower()
    if ending not in (".csv", *_WRITERS):
        return f"must end in .csv, .npy or .parquet, got {str(path)!r}."
    if ending == ".npy" and several:
        return f"must end in .csv or .parquet for several columns, got {str(path)!r}."
    if ending in (".parquet", ".pq"):
        import_pyarrow()
    return ""


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write one array as .npy, whole or not at all."""
    with whole_file(path) as part, part.open("xb") as stream:
        np.save(stream, array, allow_pickle=False)


def _write_csv_file(part: Path, parts: Iterable[Columns]) -> None:
    with part.open("x", encoding="utf-8", newline="") as stream:
        _write_csv(stream, parts)


def _write_csv(stream: TextIO, parts: Iterable[Columns]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    for i, columns in enumerate(parts):
        if i == 0:
            writer.writerow(columns)
        writer.writerows(zip(*(_texts(name, values) for name, values in columns.items())))


def _texts(name: str, values: NDArray[Any]) -> Iterator[object]:
    """Return cells as they are written: floats with the digits that mean something."""
    if values.dtype.kind != "f":
        return iter(values.tolist())
    digits = _DIGITS.get(name, _FEWER_DIGITS)
    return (format(value, digits) for value in values.tolist())


def _write_npy(part: Path, parts: Iterable[Columns]) -> None:
    blocks = [next(iter(columns.values())) for columns in parts]
    with part.open("xb") as stream:
        np.save(stream, np.concatenate(blocks), allow_pickle=False)


def _write_parquet(part: Path, parts: Iterable[Columns]) -> None:
    arrow = import_pyarrow()
    with _closing_writer(arrow, part) as write:
        for columns in parts:
            write(arrow.table({name: _arrow_array(arrow, values) for name, values in columns.items()}))


@contextmanager
def _closing_writer(arrow: Any, part: Path) -> Iterator[Callable[[Any], None]]:
    """Give a function that writes a table; the first one opens the file with its schema."""
    writer: Any = None

    def write(table: Any) -> None:
        nonlocal writer
        if writer is None:
            writer = arrow.parquet.ParquetWriter(part, table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _arrow_array(arrow: Any, values: NDArray[Any]) -> Any:
    return arrow.array(values.tolist() if values.dtype.kind in "UO" else values)


_WRITERS: dict[str, Callable[[Path, Iterable[Columns]], None]] = {
    ".npy": _write_npy,
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
}
