"""One Zarr array of a store: its name, its type and the files it is in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.checksum import crc32c
from lowtide.store.format.layout import SUM_BYTES, Layout

__all__ = ["CODES", "DTYPES", "StoredArray", "group_document"]

CODES = "codes"
DTYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
}
_CHECKED = {"name": "crc32c"}
_LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


@dataclass(frozen=True)
class StoredArray:
    """An array of rows, sharded: the packed codes (n, row bytes), or a column (n,).

    Attributes
    ----------
    name : str
        Its folder in the store.
    dtype : str
        As Zarr names it.
    width : int or None
        Entries a row; None for a column.
    chunk_rows, shard_chunks : int
    """

    name: str
    dtype: str
    width: int | None
    chunk_rows: int
    shard_chunks: int

    @property
    def layout(self) -> Layout:
        """Where rows are in the files."""
        return Layout(DTYPES[self.dtype].itemsize * (self.width or 1), self.chunk_rows, self.shard_chunks)

    def file(self, shard: int) -> str:
        """Return the name of a shard's file in the store."""
        return f"{self.name}/c.{shard}" + (".0" if self.width is not None else "")

    def values(self, data: NDArray[np.uint8]) -> NDArray[Any]:
        """Return bytes of whole rows as rows."""
        rows = data.view(DTYPES[self.dtype])
        return rows if self.width is None else rows.reshape(-1, self.width)

    def pieces(self, parts: Sequence[NDArray[Any]]) -> Iterator[bytes | memoryview]:
        """Yield the bytes of a shard with the rows of the parts, one after the other."""
        layout = self.layout
        rows = [_as_bytes(part, DTYPES[self.dtype]) for part in parts]
        n_chunks = layout.n_chunks(sum(map(len, rows)) // layout.row_bytes)
        for data in _cut(rows, layout.chunk_bytes):
            rest = layout.stride - layout.chunk_bytes - SUM_BYTES
            yield data.data
            yield crc32c(data).to_bytes(SUM_BYTES, "little") + bytes(rest)
        yield layout.index(n_chunks)

    def checksum(self, parts: Sequence[NDArray[Any]], before: int = 0) -> int:
        """Return the crc32c of rows, continued from those before them."""
        for part in parts:
            before = crc32c(_as_bytes(part, DTYPES[self.dtype]), before)
        return before

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
        return _text(
            {
                "zarr_format": 3,
                "node_type": "array",
                "shape": [n_rows, *trailing],
                "data_type": self.dtype,
                "chunk_grid": {
                    "name": "regular",
                    "configuration": {"chunk_shape": [self.layout.shard_rows, *trailing]},
                },
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
                "fill_value": False if self.dtype == "bool" else 0,
                "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
                "attributes": attributes,
                "dimension_names": ["row", "byte"][: 1 + len(trailing)],
            }
        )


def group_document(attributes: dict[str, Any]) -> bytes:
    """Return a group's `zarr.json`."""
    return _text({"zarr_format": 3, "node_type": "group", "attributes": attributes})


def _text(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=1, allow_nan=False).encode() + b"\n"


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
