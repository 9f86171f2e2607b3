"""The manifest: which rows there are. Replacing it is what commits them."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lowtide import __version__
from lowtide.errors import FileFormatError
from lowtide.store.format.array import CODES, DTYPES, StoredArray
from lowtide.store.format.layout import LARGEST_CHUNK, Layout

__all__ = ["FORMAT", "MOST_CATEGORIES", "Column", "Manifest", "is_column_name"]

FORMAT = 1
_ZEROS = "0" * 64
_START = re.compile(rb'\{"format":([0-9]{1,6}),"sha256":"([0-9a-f]{64})",')
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
# Folders of a store that are not columns.
_RESERVED = (CODES, "lowtide", "zarr")
_MOST = 1 << 48
MOST_CATEGORIES = 1 << 20


def is_column_name(name: object) -> bool:
    """Whether a column may be called so: a name is a folder, so it has no dots and no slashes."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and name.lower() not in _RESERVED


@dataclass(frozen=True)
class Column:
    """A number a row; texts are kept once each, and stored as their places in the list.

    Attributes
    ----------
    dtype : str
    categories : tuple of str or None
        In the order in which they came.
    """

    dtype: str
    categories: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Manifest:
    """What a store says of itself; immutable, as a commit makes another.

    Attributes
    ----------
    row_bytes, chunk_rows, shard_chunks : int
    codes : dict
        What a reader of the packed rows must know: bits, levels, codebook, fingerprint.
    n_rows : int
        Committed rows.
    n_rows_before : int
        Those of the commit before, which `zarr.json` may still say.
    files : dict of str
        sha256 of the files that never change: the template of the codes, and the encoder where there is one.
    columns : dict of Column
    checksums : dict of tuple of int
        For the codes and each column the crc32c of the committed rows of each shard.
    metadata : dict
        What its owner wants to keep beside the rows.
    """

    row_bytes: int
    chunk_rows: int
    shard_chunks: int
    codes: dict[str, Any]
    files: dict[str, str]
    n_rows: int = 0
    n_rows_before: int = 0
    columns: dict[str, Column] = field(default_factory=dict)
    checksums: dict[str, tuple[int, ...]] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def arrays(self) -> dict[str, StoredArray]:
        """The codes and the columns."""
        rows = self.chunk_rows, self.shard_chunks
        codes = {CODES: StoredArray(CODES, "uint8", self.row_bytes, *rows)}
        return codes | {name: StoredArray(name, column.dtype, None, *rows) for name, column in self.columns.items()}

    @property
    def layout(self) -> Layout:
        """Where the packed rows are."""
        return self.arrays[CODES].layout

    def with_rows(self, n_rows: int, checksums: dict[str, tuple[int, ...]]) -> Manifest:
        """Return the manifest of the next commit."""
        return replace(self, n_rows=n_rows, n_rows_before=self.n_rows, checksums=checksums)

    def to_bytes(self) -> bytes:
        """Return the file: JSON that begins with the format and the sha256 of the whole, its digits taken as zeros."""
        content = asdict(self)
        content["checksums"] = {name: [f"{crc:08x}" for crc in sums] for name, sums in self.checksums.items()}
        body = json.dumps({"writer": f"lowtide {__version__}", **content}, separators=(",", ":"), allow_nan=False)
        text = f'{{"format":{FORMAT},"sha256":"{_ZEROS}",{body[1:]}\n'
        return text.replace(_ZEROS, hashlib.sha256(text.encode()).hexdigest(), 1).encode()

    @classmethod
    def from_bytes(cls, owner: str, data: bytes) -> Manifest:
        """Return the manifest of a file, which may be a stranger's; nothing is parsed before the sum is right.

        Parameters
        ----------
        owner : str
            The file, for messages.
        data : bytes
        """
        found = _START.match(data)
        if found is None:
            raise FileFormatError(f"{owner} must be the manifest of a code store, got another file or a damaged one.")
        if int(found[1]) != FORMAT:
            raise FileFormatError(f"{owner} must have format {FORMAT}, got {int(found[1])}. Update lowtide.")
        begin, end = found.span(2)
        if hashlib.sha256(data[:begin] + _ZEROS.encode() + data[end:]).hexdigest() != found[2].decode():
            raise FileFormatError(f"{owner} must have the checksum it was written with: it is damaged or cut short.")
        try:
            return _parsed(json.loads(data))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise FileFormatError(f"{owner} must describe a code store, got: {str(error)[:200]}.") from error


def _parsed(content: dict[str, Any]) -> Manifest:
    """Return a manifest whose parts fit together."""
    columns = {name: _column(name, entry) for name, entry in _items(content["columns"])}
    manifest = Manifest(
        row_bytes=_whole(content, "row_bytes", 8, 1 << 28),
        chunk_rows=_whole(content, "chunk_rows", 1, 1 << 32),
        shard_chunks=_whole(content, "shard_chunks", 1, 1 << 20),
        codes=dict(_items(content["codes"])),
        files={name: _digits(sha256, 64) for name, sha256 in _items(content["files"])},
        n_rows=_whole(content, "n_rows", 0, _MOST),
        n_rows_before=_whole(content, "n_rows_before", 0, _MOST),
        columns=columns,
        checksums={
            name: tuple(int(_digits(crc, 8), 16) for crc in sums) for name, sums in _items(content["checksums"])
        },
        metadata=dict(_items(content["metadata"])),
    )
    if manifest.row_bytes % 8 or manifest.layout.chunk_bytes > LARGEST_CHUNK:
        raise ValueError(f"rows of {manifest.row_bytes} bytes in chunks of {manifest.chunk_rows}")
    n_shards = manifest.layout.n_shards(manifest.n_rows)
    counts = {name: len(sums) for name, sums in manifest.checksums.items()}
    if counts != dict.fromkeys(manifest.arrays, n_shards):
        raise ValueError(f"checksums of {str(counts)[:100]} for {n_shards} shards")
    return manifest


def _items(content: Any) -> list[tuple[str, Any]]:
    if not isinstance(content, dict):
        raise TypeError(f"a {type(content).__name__} for an object")
    return list(content.items())


def _whole(content: dict[str, Any], name: str, low: int, high: int) -> int:
    value = content[name]
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} {str(value)[:40]!r}")
    return value


def _digits(text: Any, n: int) -> str:
    if not isinstance(text, str) or re.fullmatch(rf"[0-9a-f]{{{n}}}", text) is None:
        raise ValueError(f"a checksum {str(text)[:80]!r}")
    return text


def _column(name: str, entry: dict[str, Any]) -> Column:
    dtype, categories = entry["dtype"], entry["categories"]
    if not is_column_name(name) or dtype not in DTYPES:
        raise ValueError(f"a column {name[:80]!r} of {str(dtype)[:40]!r}")
    if categories is None:
        return Column(dtype)
    texts = isinstance(categories, list) and all(isinstance(text, str) for text in categories)
    if not texts or len(set(categories)) < len(categories) or len(categories) > MOST_CATEGORIES or dtype != "int32":
        raise ValueError(f"categories of {name[:80]!r}")
    return Column(dtype, tuple(categories))
