"""Rows in parts that a cluster works on: partitions of a Dask collection, or ranges of a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes, CodeSource

__all__ = ["HeldCodes", "RowRange", "partitions_of", "ranges_of", "row_partitions", "split_like", "values_a_row"]

Array = NDArray[Any]


@dataclass(frozen=True)
class RowRange:
    """Rows [begin, end) of a source that gives out slices; travels as the source does, a store as its path."""

    source: Any
    begin: int
    end: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.end - self.begin

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape."""
        return self.n_rows, int(self.source.shape[1])

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, at most `size` of them at a time."""
        for begin in range(self.begin, self.end, size):
            yield self.source[begin : min(begin + size, self.end)]


@dataclass(frozen=True)
class HeldCodes:
    """Codes in a worker's memory, to be gone through block by block like those on disk."""

    codes: Codes

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def shape(self) -> tuple[int, int]:
        """Decoded shape."""
        return self.codes.shape

    def blocks(self, size: int) -> Iterator[Codes]:
        """Yield the rows in order, at most `size` of them at a time."""
        return self.codes.blocks(size)


def partitions_of(owner: str, X: Any) -> list[Delayed]:
    """Return the partitions of a Dask array, whole rows each, or of a Dask data frame or series."""
    if not dask.is_dask_collection(X) or not hasattr(X, "to_delayed"):
        raise fail(owner, "must be a Dask array, data frame or series", type(X).__name__)
    whole = X.rechunk(dict.fromkeys(range(1, X.ndim), -1)) if isinstance(X, da.Array) else X
    return list(np.ravel(whole.to_delayed()))


def row_partitions(owner: str, X: Any) -> list[Delayed]:
    """Return the partitions of rows by columns, a Dask array or data frame."""
    parts = partitions_of(owner, X)
    if X.ndim != 2:
        raise fail(owner, "must be 2-D, rows by columns", f"{X.ndim}-D", "Make one column X[:, None] or X[[name]].")
    return parts


def split_like(owner: str, values: Any, X: Any, n_partitions: int) -> Sequence[Any]:
    """Return values a row in the partitions that the rows have; None for none at all."""
    if values is None:
        return [None] * n_partitions
    known = isinstance(X, da.Array) and not np.isnan(X.chunks[0]).any()
    if not dask.is_dask_collection(values):
        if not known:
            raise fail(owner, "must be a Dask collection where the sizes of partitions are not known", "an array")
        array = values_a_row(owner, values, X.shape[0])
        return np.split(array, np.cumsum(X.chunks[0])[:-1])
    if known and isinstance(values, da.Array) and not np.isnan(values.chunks[0]).any():
        if values.shape[0] != X.shape[0]:
            raise fail(owner, f"must have a value a row, {X.shape[0]}", values.shape[0])
        values = values.rechunk({0: X.chunks[0]})
    parts = partitions_of(owner, values)
    if len(parts) != n_partitions:
        raise fail(owner, f"must have the partitions of X, {n_partitions}", len(parts), "Repartition one of them.")
    return parts


def values_a_row(owner: str, values: Any, n_rows: int) -> Array:
    """Return values as an array, one a row."""
    array = np.asarray(values)
    if array.ndim == 0 or len(array) != n_rows:
        got = array.item() if array.ndim == 0 else len(array)
        raise fail(owner, f"must have a value a row, {n_rows}", got)
    return array


def ranges_of(source: CodeSource, n_parts: int) -> list[tuple[int, int]]:
    """Return at most n_parts ranges of about equal size, of no rows one; of a store, whole shards each."""
    unit = int(getattr(source, "shard_rows", 1))
    n_units = max(1, -(-source.n_rows // unit))
    borders = np.linspace(0, n_units, min(n_parts, n_units) + 1).astype(int) * unit
    borders[-1] = source.n_rows
    return list(zip(borders[:-1].tolist(), borders[1:].tolist()))
