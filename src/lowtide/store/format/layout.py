"""Where a row is: rows in chunks, chunks in shards, one shard a file.

A shard of a Zarr array (`sharding_indexed`) holds its chunks and, at the end, an index of their places:

    chunk 0      chunk_rows rows, then their crc32c in 4 bytes, then zeros to a multiple of 64 bytes
    chunk 1 ...
    index        offset and length of each of the shard_chunks chunks, 8 bytes each, little-endian; all bits set for a
                 chunk that is not there; then the crc32c of the index

A chunk is always whole: the rows after the last one are zeros. Only the last shard of an array lacks chunks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowtide.checksum import crc32c

__all__ = ["LARGEST_CHUNK", "SUM_BYTES", "Layout", "default_rows"]

SUM_BYTES = 4
LARGEST_CHUNK = 1 << 40
# Rows of every chunk begin at a multiple of this: of 8 for the ops, of 64 for the processor.
_ALIGNMENT = 64
# Small enough to stay in a core's cache between its checksum and its use, large enough to outweigh a call.
_CHUNK_BYTES = 1 << 20
_SHARD_CHUNKS = 32
_MOST_CHUNK_ROWS = 1 << 16


@dataclass(frozen=True)
class Layout:
    """Bytes of the shards of one array.

    Attributes
    ----------
    row_bytes : int
    chunk_rows : int
        Rows a chunk: what one checksum covers.
    shard_chunks : int
        Chunks a shard at most: what one file holds.
    """

    row_bytes: int
    chunk_rows: int
    shard_chunks: int

    @property
    def shard_rows(self) -> int:
        """Rows of a full shard."""
        return self.chunk_rows * self.shard_chunks

    @property
    def chunk_bytes(self) -> int:
        """Bytes of the rows of a chunk."""
        return self.chunk_rows * self.row_bytes

    @property
    def stride(self) -> int:
        """Bytes from the beginning of a chunk to that of the next."""
        return -(-(self.chunk_bytes + SUM_BYTES) // _ALIGNMENT) * _ALIGNMENT

    def n_chunks(self, n_rows: int) -> int:
        """Return the chunks that some rows from the beginning of a shard take."""
        return -(-n_rows // self.chunk_rows)

    def n_shards(self, n_rows: int) -> int:
        """Return the shards that all rows take."""
        return -(-n_rows // self.shard_rows)

    def rows_in(self, shard: int, n_rows: int) -> int:
        """Return how many of all rows a shard holds."""
        return max(0, min(n_rows - shard * self.shard_rows, self.shard_rows))

    def file_bytes(self, n_chunks: int) -> int:
        """Return the size of a shard with that many chunks."""
        return n_chunks * self.stride + 16 * self.shard_chunks + SUM_BYTES

    def index(self, n_chunks: int) -> bytes:
        """Return the index of a shard whose first chunks are there."""
        places = np.full((self.shard_chunks, 2), np.iinfo(np.uint64).max, dtype="<u8")
        places[:n_chunks, 0] = np.arange(n_chunks, dtype=np.uint64) * np.uint64(self.stride)
        places[:n_chunks, 1] = self.chunk_bytes + SUM_BYTES
        text = places.tobytes()
        return text + crc32c(text).to_bytes(SUM_BYTES, "little")


def default_rows(row_bytes: int) -> tuple[int, int]:
    """Return rows a chunk, a power of two near a megabyte, and chunks a shard."""
    rows = max(1, min(_CHUNK_BYTES // row_bytes, _MOST_CHUNK_ROWS))
    return 1 << (rows.bit_length() - 1), _SHARD_CHUNKS
