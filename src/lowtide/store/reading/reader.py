"""Rows of one array, from whichever shards they are in."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.store.format import DTYPES, StoredArray
from lowtide.store.reading.mapped import MappedShard, RowCheck

__all__ = ["ArrayReader"]

# Mapped pages count as the process's own memory: four shards of 32 MB are enough for a scan and its neighbors.
_MOST_MAPPED = 4


class ArrayReader:
    """Committed rows of an array; may be used by several threads.

    Parameters
    ----------
    root : Path
    array : StoredArray
    n_rows : int
        Committed rows.
    check : callable, optional
        See `MappedShard`.
    """

    def __init__(self, root: Path, array: StoredArray, n_rows: int, check: RowCheck | None = None) -> None:
        self._root, self._array, self.n_rows, self._check = root, array, n_rows, check
        self._mapped: OrderedDict[int, MappedShard] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, begin: int, end: int) -> NDArray[Any]:
        """Return rows [begin, end): in the file when they are in one chunk, copied together otherwise."""
        size = self._array.chunk_rows
        first, last = begin // size, max(begin, end - 1) // size
        if begin >= end:
            return self._empty(0)
        if first == last:
            return self._chunk(first)[begin - first * size : end - first * size]
        out = self._empty(end - begin)
        for chunk in range(first, last + 1):
            low, high = max(begin, chunk * size), min(end, (chunk + 1) * size)
            out[low - begin : high - begin] = self._chunk(chunk)[low - chunk * size : high - chunk * size]
        return out

    def take(self, index: NDArray[np.intp]) -> NDArray[Any]:
        """Return rows by their numbers, each from 0 to n_rows - 1, in any order; a chunk is visited once."""
        out = self._empty(len(index))
        chunks = index // self._array.chunk_rows
        order = np.argsort(chunks, kind="stable")
        borders = np.flatnonzero(np.diff(chunks[order], prepend=-1))
        for places in np.split(order, borders[1:]) if len(order) else ():
            chunk = int(chunks[places[0]])
            out[places] = self._chunk(chunk)[index[places] - chunk * self._array.chunk_rows]
        return out

    def damage(self, checksums: tuple[int, ...]) -> Iterator[Exception]:
        """Yield what is wrong, chunk by chunk; then each shard's rows are compared with the manifest's checksum."""
        layout = self._array.layout
        for shard, expected in enumerate(checksums):
            n_rows = layout.rows_in(shard, self.n_rows)
            try:
                mapped = MappedShard(self._root, self._array, shard, n_rows, self._check)
            except Exception as error:
                yield error
                continue
            before, whole = 0, True
            for i in range(mapped.n_chunks):
                try:
                    rows = mapped.chunk(i)[: max(0, n_rows - i * layout.chunk_rows)]
                    before = self._array.checksum([rows], before)
                except Exception as error:
                    whole = False
                    yield error
            if whole and before != expected:
                yield mapped.foreign()

    def _empty(self, n_rows: int) -> NDArray[Any]:
        width = self._array.width
        shape = (n_rows,) if width is None else (n_rows, width)
        return np.empty(shape, DTYPES[self._array.dtype])

    def _chunk(self, chunk: int) -> NDArray[Any]:
        shard, i = divmod(chunk, self._array.shard_chunks)
        return self._shard(shard).chunk(i)

    def _shard(self, shard: int) -> MappedShard:
        with self._lock:
            mapped = self._mapped.pop(shard, None)
            if mapped is None:
                n_rows = self._array.layout.rows_in(shard, self.n_rows)
                mapped = MappedShard(self._root, self._array, shard, n_rows, self._check)
            self._mapped[shard] = mapped
            # What is dropped stays mapped for as long as someone holds its rows.
            while len(self._mapped) > _MOST_MAPPED:
                self._mapped.popitem(last=False)
            return mapped
