"""A shard in memory: mapped, its chunks verified before their rows are given out."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.checksum import crc32c
from lowtide.errors import CodeLayoutError, FileFormatError
from lowtide.store.folder import open_inside
from lowtide.store.format import SUM_BYTES, StoredArray

__all__ = ["MappedShard", "RowCheck"]

RowCheck = Callable[[NDArray[Any]], object]


class MappedShard:
    """One shard of one array.

    Its size and its index are compared with what they must be when it is mapped; a chunk's checksum when the chunk is
    first asked for. What was verified stays so for as long as the shard is mapped.

    Parameters
    ----------
    root : Path
    array : StoredArray
    shard : int
    n_rows : int
        Committed rows in the shard. The file may have more: rows that the next commit will add.
    check : callable, optional
        Given the rows of each chunk once; raises CodeLayoutError for rows that cannot be codes.
    """

    def __init__(self, root: Path, array: StoredArray, shard: int, n_rows: int, check: RowCheck | None = None) -> None:
        self._root, self._array, self._shard, self._check = root, array, shard, check
        self._layout = layout = array.layout
        try:
            descriptor = open_inside(root, array.file(shard))
        except FileNotFoundError as error:
            raise self._damage("must be there, got no such file") from error
        try:
            size = os.fstat(descriptor).st_size
            # From the size alone: the layout leaves no choice, and what the index says is compared, not followed.
            n_chunks, rest = divmod(size - layout.file_bytes(0), layout.stride)
            if rest or not layout.n_chunks(n_rows) <= n_chunks <= layout.shard_chunks:
                raise self._damage(f"must have whole chunks for {n_rows} rows, got {size} bytes")
            self._map = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)
        self._bytes = np.frombuffer(self._map, dtype=np.uint8)
        self._verified = bytearray(n_chunks)
        if self._bytes[n_chunks * layout.stride :].tobytes() != layout.index(n_chunks):
            raise self._damage("must have the index of its chunks at its end, got a damaged one")

    @property
    def n_chunks(self) -> int:
        """Chunks in the file."""
        return len(self._verified)

    def chunk(self, i: int) -> NDArray[Any]:
        """Return all rows of a chunk, read-only, in the file."""
        layout = self._layout
        begin = i * layout.stride
        rows = self._bytes[begin : begin + layout.chunk_bytes]
        if not self._verified[i]:
            rest = self._bytes[begin + layout.chunk_bytes : begin + layout.stride].tobytes()
            if rest != crc32c(rows).to_bytes(SUM_BYTES, "little") + bytes(len(rest) - SUM_BYTES):
                raise self._damage("must have the checksum it was written with: it is damaged", chunk=i)
            self._check_rows(i, self._array.values(rows))
            self._verified[i] = 1
        return self._array.values(rows)

    def _check_rows(self, i: int, rows: NDArray[Any]) -> None:
        """Refuse rows that were written with a right checksum, but not by us."""
        try:
            if self._check is not None:
                self._check(rows)
        except CodeLayoutError as error:
            raise self._damage(f"must hold packed codes: {error}", chunk=i) from error

    def foreign(self) -> FileFormatError:
        """Return the error of a shard that is whole, but of other rows than were committed."""
        return self._damage("must hold the rows that were committed, got others with checksums of their own")

    def _damage(self, what: str, chunk: int | None = None) -> FileFormatError:
        """Return the error that names the shard, and the chunk and its rows."""
        layout, place = self._layout, f"shard {self._shard}"
        if chunk is not None:
            first = self._shard * layout.shard_rows + chunk * layout.chunk_rows
            place += f", chunk {chunk} (rows {first} to {first + layout.chunk_rows - 1})"
        file = self._array.file(self._shard)
        return FileFormatError(f"{str(self._root)!r}: {self._array.name}, {place}, file {file} {what}.")
