"""Where a row is in the files of a store: rows in chunks, chunks in shards, one shard a file.

A shard of a Zarr array (`sharding_indexed`) holds its chunks and, at the end, an index of their places:

    chunk 0      chunk_rows rows, then their crc32c in 4 bytes, then zeros to a multiple of 64 bytes
    chunk 1 ...
    index        offset and length of each of the shard_chunks chunks, 8 bytes each, little-endian; all bits set for a
                 chunk that is not there; then the crc32c of the index

A chunk is always whole: the rows after the last one are zeros. Only the last shard of an array lacks chunks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.checksum import crc32c

CODES = "codes"
# Files of lowtide's own are in a group of their own, where Zarr readers do not stumble over them.
GROUP = "lowtide"
MANIFEST = f"{GROUP}/manifest.json"
ENCODER = f"{GROUP}/encoder.lowtide"
LOCK = f"{GROUP}/lock"
DTYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
}
SUM_BYTES = 4
LARGEST_TEXT = 1 << 28
LARGEST_CHUNK = 1 << 40
# Rows of every chunk begin at a multiple of this: of 8 for the ops, of 64 for the processor.
_ALIGNMENT = 64
# Small enough to stay in a core's cache between its checksum and its use, large enough to outweigh a call.
_CHUNK_BYTES = 1 << 20
_SHARD_CHUNKS = 32
_MOST_CHUNK_ROWS = 1 << 16
_CHECKED = {"name": "crc32c"}
_LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


@dataclass(frozen=True)
class StoredArray:
    """An array of rows in sharded files: the packed codes (n, row bytes), or a column (n,), which has no width."""

    name: str
    dtype: str
    width: int | None
    # One checksum covers a chunk; one file holds a shard.
    chunk_rows: int
    shard_chunks: int

    @property
    def shard_rows(self) -> int:
        """Rows of a full shard."""
        return self.chunk_rows * self.shard_chunks

    @property
    def chunk_bytes(self) -> int:
        """Bytes of the rows of a chunk."""
        return self.chunk_rows * DTYPES[self.dtype].itemsize * (self.width or 1)

    @property
    def stride(self) -> int:
        """Bytes from the beginning of a chunk to that of the next."""
        return -(-(self.chunk_bytes + SUM_BYTES) // _ALIGNMENT) * _ALIGNMENT

    def n_chunks(self, n_rows: int) -> int:
        """Return the chunks that some rows from the beginning of a shard take."""
        return -(-n_rows // self.chunk_rows)

    def rows_in(self, shard: int, n_rows: int) -> int:
        """Return how many of all rows a shard holds."""
        return max(0, min(n_rows - shard * self.shard_rows, self.shard_rows))

    def file(self, shard: int) -> str:
        """Return the name of a shard's file in the store."""
        return f"{self.name}/c.{shard}" + (".0" if self.width is not None else "")

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

    def values(self, data: NDArray[np.uint8]) -> NDArray[Any]:
        """Return bytes of whole rows as rows."""
        rows = data.view(DTYPES[self.dtype])
        return rows if self.width is None else rows.reshape(-1, self.width)

    def pieces(self, parts: Sequence[NDArray[Any]]) -> Iterator[bytes | memoryview]:
        """Yield the bytes of a shard with the rows of the parts, one after the other."""
        rows = [_as_bytes(part, DTYPES[self.dtype]) for part in parts]
        n_chunks = 0
        for data in _cut(rows, self.chunk_bytes):
            yield data.data
            yield crc32c(data).to_bytes(SUM_BYTES, "little").ljust(self.stride - self.chunk_bytes, b"\0")
            n_chunks += 1
        yield self.index(n_chunks)

    def checksum(self, rows: NDArray[Any], before: int = 0) -> int:
        """Return the crc32c of rows, continued from those before them."""
        return crc32c(_as_bytes(rows, DTYPES[self.dtype]), before)

    def document(self, n_rows: int, attributes: dict[str, Any]) -> bytes:
        """Return the array's `zarr.json`."""
        trailing = () if self.width is None else (self.width,)
        plain = {"name": "bytes"} if DTYPES[self.dtype].itemsize == 1 else _LITTLE
        sharding = {
            "chunk_shape": [self.chunk_rows, *trailing],
            "codecs": [plain, _CHECKED],
            "index_codecs": [_LITTLE, _CHECKED],
            "index_location": "end",
        }
        return zarr_document(
            "array",
            shape=[n_rows, *trailing],
            data_type=self.dtype,
            chunk_grid={"name": "regular", "configuration": {"chunk_shape": [self.shard_rows, *trailing]}},
            chunk_key_encoding={"name": "default", "configuration": {"separator": "."}},
            fill_value=False if self.dtype == "bool" else 0,
            codecs=[{"name": "sharding_indexed", "configuration": sharding}],
            attributes=attributes,
            dimension_names=["row", "byte"][: 1 + len(trailing)],
        )


def default_rows(row_bytes: int) -> tuple[int, int]:
    """Return rows a chunk, a power of two near a megabyte, and chunks a shard."""
    rows = max(1, min(_CHUNK_BYTES // row_bytes, _MOST_CHUNK_ROWS))
    return 1 << (rows.bit_length() - 1), _SHARD_CHUNKS


def zarr_document(node_type: str, **content: Any) -> bytes:
    """Return the `zarr.json` of a group or an array."""
    return json.dumps({"zarr_format": 3, "node_type": node_type, **content}, indent=1, allow_nan=False).encode() + b"\n"


def _as_bytes(part: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(part, dtype).reshape(-1).view(np.uint8)


def _cut(rows: Sequence[NDArray[np.uint8]], size: int) -> Iterator[NDArray[np.uint8]]:
    """Yield the bytes of all parts in pieces of one size, the last filled up with zeros; copied only across borders."""
    begins = np.cumsum([0, *map(len, rows)])
    for begin in range(0, int(begins[-1]), size):
        cuts = [part[max(0, begin - b) : max(0, begin + size - b)] for part, b in zip(rows, begins.tolist())]
        there = [cut for cut in cuts if len(cut)]
        missing = size - sum(map(len, there))
        if missing:
            there.append(np.zeros(missing, np.uint8))
        yield there[0] if len(there) == 1 else np.concatenate(there)
