"""The manifest of a store says which rows there are; replacing it is what commits them.

It is one JSON object that begins with the format and the sha256 of the whole file, its digits taken as zeros. The rest
is made of named and versioned parts, as a model file is:

    layout       chunk_rows, shard_chunks
    template     bits, levels, codebook and identity of all rows: what a reader of the packed bytes must know
    encoder      the sha256 of `encoder.lowtide`; not in a store that was made of codes
    columns      type of each column, and the list of its texts
    rows         committed rows, those of the commit before, and the crc32c of each shard
    metadata     what its owner keeps beside the rows
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lowtide import __version__
from lowtide.codes import Codes
from lowtide.errors import FileFormatError
from lowtide.persist import check_metadata
from lowtide.spec import Part, State, take_parts
from lowtide.store.columns import BESIDE, Column
from lowtide.store.layout import CODES, GROUP, LARGEST_CHUNK, MANIFEST, StoredArray, zarr_document

FORMAT = 2
_VERSION = 1
_REQUIRED = dict.fromkeys(("layout", "columns", "rows", "metadata"), _VERSION)
_ZEROS = "0" * 64
_START = re.compile(rb'\{"format":([0-9]{1,6}),"sha256":"([0-9a-f]{64})",')
_MOST = 1 << 48


@dataclass(frozen=True)
class Manifest:
    """What a store says of itself; immutable, as a commit makes another."""

    chunk_rows: int
    shard_chunks: int
    template: Codes
    encoder_sha256: str | None = None
    n_rows: int = 0
    # Those of the commit before, which `zarr.json` may still say.
    n_rows_before: int = 0
    columns: dict[str, Column] = field(default_factory=dict)
    # For the codes and each column the crc32c of the committed rows of each shard.
    checksums: dict[str, tuple[int, ...]] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def arrays(self) -> dict[str, StoredArray]:
        """The codes and the columns."""
        rows = self.chunk_rows, self.shard_chunks
        columns = {name: StoredArray(name, column.dtype, None, *rows) for name, column in self.columns.items()}
        return {CODES: StoredArray(CODES, "uint8", self.template.packed.shape[1], *rows), **columns}

    @property
    def own_columns(self) -> dict[str, Column]:
        """The columns that the store's owner gave: all but what codes have beside them."""
        return {name: column for name, column in self.columns.items() if name not in BESIDE}

    @property
    def shard_rows(self) -> int:
        """Rows in one file."""
        return self.chunk_rows * self.shard_chunks

    @property
    def n_shards(self) -> int:
        """Files that the committed rows of an array take."""
        return -(-self.n_rows // self.shard_rows)

    def documents(self) -> dict[str, bytes]:
        """Return what Zarr readers are told, every `zarr.json` of the store by its name."""
        template = self.template.template_state()["template"]
        about: dict[str, Any] = {CODES: {"lowtide": {**template.spec, **_lists(template)}}}
        for name, column in self.columns.items():
            about[name] = {} if column.categories is None else {"categories": list(column.categories)}
        return {
            "zarr.json": zarr_document("group", attributes={"lowtide": {"manifest": MANIFEST}}),
            f"{GROUP}/zarr.json": zarr_document("group", attributes={}),
            **{f"{name}/zarr.json": each.document(self.n_rows, about[name]) for name, each in self.arrays.items()},
        }

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        sums = {name: [f"{crc:08x}" for crc in sums] for name, sums in self.checksums.items()}
        specs: dict[str, Any] = {
            "layout": {"chunk_rows": self.chunk_rows, "shard_chunks": self.shard_chunks},
            "columns": {name: asdict(column) for name, column in self.columns.items()},
            "rows": {"n_rows": self.n_rows, "n_rows_before": self.n_rows_before, "checksums": sums},
            "metadata": self.metadata,
        }
        if self.encoder_sha256 is not None:
            specs["encoder"] = {"sha256": self.encoder_sha256}
        template = self.template.template_state()["template"]
        parts = {"template": {"version": template.version, "spec": template.spec, "arrays": _lists(template)}}
        parts |= {name: {"version": _VERSION, "spec": spec} for name, spec in specs.items()}
        content = {"writer": f"lowtide {__version__}", "parts": parts}
        body = json.dumps(content, separators=(",", ":"), allow_nan=False)
        text = f'{{"format":{FORMAT},"sha256":"{_ZEROS}",{body[1:]}\n'
        return text.replace(_ZEROS, hashlib.sha256(text.encode()).hexdigest(), 1).encode()

    @classmethod
    def from_bytes(cls, owner: str, data: bytes) -> Manifest:
        """Return the manifest of a file, which may be a stranger's; nothing is parsed before the sum is right."""
        found = _START.match(data)
        if found is None:
            raise FileFormatError(f"{owner} must be the manifest of a code store, got another file or a damaged one.")
        if int(found[1]) != FORMAT:
            remedy = "Update lowtide." if int(found[1]) > FORMAT else "Make it again with this version of lowtide."
            raise FileFormatError(f"{owner} must have format {FORMAT}, got {int(found[1])}. {remedy}")
        begin, end = found.span(2)
        if hashlib.sha256(data[:begin] + _ZEROS.encode() + data[end:]).hexdigest() != found[2].decode():
            raise FileFormatError(f"{owner} must have the checksum it was written with: it is damaged or cut short.")
        try:
            return _manifest({name: _part(part) for name, part in _items(json.loads(data)["parts"])})
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            what = str(error)[:200].rstrip(".")
            raise FileFormatError(f"{owner} must describe a code store, got: {what}.") from error


def _manifest(state: State) -> Manifest:
    """Return the manifest of parts that are known and fit together."""
    own = {name: part for name, part in state.items() if name != "template"}
    take_parts("the manifest", own, _REQUIRED, {"encoder": _VERSION})
    layout, rows, columns = (state[name].spec for name in ("layout", "rows", "columns"))
    manifest = Manifest(
        chunk_rows=_whole(layout, "chunk_rows", 1, 1 << 32),
        shard_chunks=_whole(layout, "shard_chunks", 1, 1 << 20),
        template=Codes.template_from_state(state),
        encoder_sha256=_digits(state["encoder"].spec["sha256"], 64) if "encoder" in state else None,
        n_rows=_whole(rows, "n_rows", 0, _MOST),
        n_rows_before=_whole(rows, "n_rows_before", 0, _MOST),
        columns={name: Column.from_config(name, entry) for name, entry in _items(columns)},
        checksums={name: tuple(int(_digits(crc, 8), 16) for crc in sums) for name, sums in _items(rows["checksums"])},
        metadata=check_metadata(state["metadata"].spec),
    )
    template = manifest.template
    if [template.norms is not None, template.corrections is not None] != [name in columns for name in BESIDE]:
        raise ValueError("lengths of rows that the codes have not, or codes without their lengths")
    if manifest.arrays[CODES].chunk_bytes > LARGEST_CHUNK:
        raise ValueError(f"chunks of {manifest.chunk_rows} rows of {manifest.template.packed.shape[1]} bytes")
    counts = {name: len(sums) for name, sums in manifest.checksums.items()}
    if counts != dict.fromkeys(manifest.arrays, manifest.n_shards):
        raise ValueError(f"checksums of {str(counts)[:100]} for {manifest.n_shards} shards")
    return manifest


def _lists(part: Part) -> dict[str, Any]:
    """Return the arrays of a part as JSON has them; float32 numbers come back as they are."""
    return {name: array.tolist() for name, array in part.arrays.items()}


def _part(content: Any) -> Part:
    """Return a part of a file, which may be anything."""
    arrays = {name: np.array(values, dtype=np.float32) for name, values in _items(content.get("arrays", {}))}
    return Part(_whole(content, "version", 0, _MOST), dict(_items(content["spec"])), arrays)


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
