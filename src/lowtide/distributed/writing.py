"""Codes of a cluster into a store: every task writes one whole shard, and one commit makes them count."""

from __future__ import annotations

import shutil
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes, concatenate
from lowtide.distributed.cluster import connected
from lowtide.distributed.partitions import partitions_of, split_like
from lowtide.persist import PathLike
from lowtide.store import CodeStore, ShardRecord, ShardWriter

__all__ = ["write_store"]

Array = NDArray[Any]


def write_store(
    parts: tuple[Any, ...],
    encoder: Any,
    rows: Any,
    path: PathLike,
    columns: dict[str, Any],
    *,
    client: Any = None,
    **layout: Any,
) -> CodeStore:
    """Write the codes of partitions, with columns beside them, to a new store that all workers can reach.

    Parameters
    ----------
    parts : tuple of Delayed
        Codes of each partition.
    encoder, rows
        What made them, of what.
    path : str or path-like
    columns : dict of Dask collection or array
    client : as of `fit`
    **layout : as of `CodeStore.create`
    """
    types = {name: _type_of(name, values) for name, values in columns.items()}
    split = {name: split_like(f"to_store: {name}", values, rows, len(parts)) for name, values in columns.items()}
    with connected(client) as opened:
        sizes = _sizes(opened, rows)
        if not sum(sizes):
            raise fail("to_store", "rows must be at least one", "0 rows")
        with CodeStore.create(path, encoder, columns=types, **layout) as store:
            futures = opened.compute(_tasks(store.shard_writer(), parts, split, sizes))
            try:
                store.commit(opened.gather(futures))
            except BaseException:
                # The folder was made here: what is in it has no rows, and would be in the way of another try.
                opened.cancel(futures)
                shutil.rmtree(store.path, ignore_errors=True)
                raise
    return CodeStore.open(path)


def _type_of(name: str, values: Any) -> str:
    dtype = values.dtype if hasattr(values, "dtype") else np.asarray(values).dtype
    # A data frame has types of its own beside those of numpy, for texts and for numbers that may be missing.
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf":
        remedy = "Give numbers for texts, and astype('int64') or the like for types of a data frame."
        raise fail("to_store", f"{name} must hold numbers or truth values", str(dtype), remedy)
    return str(dtype.name)


def _sizes(client: Any, rows: Any) -> list[int]:
    """Return the rows of each partition; where a collection does not know them they are counted."""
    if isinstance(rows, da.Array) and not np.isnan(rows.chunks[0]).any():
        return [int(size) for size in rows.chunks[0]]
    count = delayed(len, pure=False)
    return list(client.gather(client.compute([count(part) for part in partitions_of("to_store: X", rows)])))


def _tasks(writer: ShardWriter, parts: tuple[Any, ...], columns: dict[str, Any], sizes: list[int]) -> list[Any]:
    """Return a task a shard, of the partitions that have its rows."""
    write = delayed(_written, pure=False)
    shared = delayed(writer, pure=False, traverse=False)
    borders = np.cumsum([0, *sizes])
    tasks = []
    for index, begin in enumerate(range(0, int(borders[-1]), writer.shard_rows)):
        end = min(begin + writer.shard_rows, int(borders[-1]))
        used = range(np.searchsorted(borders, begin, "right") - 1, int(np.searchsorted(borders, end)))
        cuts = [
            (max(begin, int(borders[i])) - int(borders[i]), min(end, int(borders[i + 1])) - int(borders[i]))
            for i in used
        ]
        values = {name: [column[i] for i in used] for name, column in columns.items()}
        tasks.append(write(shared, index, [parts[i] for i in used], values, cuts))
    return tasks


def _written(
    writer: ShardWriter, index: int, codes: list[Codes], columns: dict[str, list[Any]], cuts: list[tuple[int, int]]
) -> ShardRecord:
    """Write one shard; a task that is repeated writes the same bytes."""
    for name, each in columns.items():
        for part, values in zip(codes, each):
            if len(part) != len(values):
                must = f"{name} must have a value a row of each partition, {len(part)}"
                raise fail("to_store", must, len(values), "Repartition one of them.")
    rows = concatenate([part[low:high] for part, (low, high) in zip(codes, cuts)])
    values = {
        name: np.concatenate([np.asarray(part)[low:high] for part, (low, high) in zip(each, cuts)])
        for name, each in columns.items()
    }
    return writer.write(index, rows, **values)
