"""Whole shards, written by any process and committed by the one that holds the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lowtide._checks import check_integer, fail
from lowtide.codes import Codes, concatenate
from lowtide.store.columns import NORMS, encode_columns
from lowtide.store.folder import make_folder
from lowtide.store.format import Manifest
from lowtide.store.writing.writer import Piece, values_of, write_shard

__all__ = ["ShardRecord", "ShardWriter", "adopted", "shard_writer"]


@dataclass(frozen=True)
class ShardRecord:
    """What a commit must know of a shard that was written.

    Attributes
    ----------
    shard : int
        Its number in the store.
    n_rows : int
    checksums : dict of int
        crc32c of its rows, by array.
    """

    shard: int
    n_rows: int
    checksums: dict[str, int]


@dataclass(frozen=True)
class ShardWriter:
    """Writes whole shards after the last of a store; small, and can be sent to other processes.

    The store must stay open for writing until `CodeStore.commit` has taken the records. A shard may be written again,
    by a task that is repeated: it gets the same bytes.

    Attributes
    ----------
    path : Path
    manifest : Manifest
    template : Codes
        No rows, of the store's encoder.
    """

    path: Path
    manifest: Manifest
    template: Codes

    @property
    def shard_rows(self) -> int:
        """Rows of every shard but the last."""
        return self.manifest.layout.shard_rows

    def write(self, index: int, codes: Codes, **columns: Any) -> ShardRecord:
        """Write the index-th new shard, from 0, and return what the commit needs.

        Parameters
        ----------
        index : int
        codes : Codes
            All rows of the shard: `shard_rows`, or fewer for the last.
        **columns : array (n,)
            Those that the store was created with.
        """
        shard = self.manifest.n_rows // self.shard_rows + check_integer("ShardWriter", "index", index, 0)
        if not isinstance(codes, Codes) or not 0 < len(codes) <= self.shard_rows:
            got = len(codes) if isinstance(codes, Codes) else type(codes).__name__
            raise fail("ShardWriter", f"codes must be 1 to {self.shard_rows} rows of Codes", got)
        concatenate([self.template, codes[:0]])
        known = {name: column for name, column in self.manifest.columns.items() if name != NORMS}
        _, stored = encode_columns(columns, known, len(codes))
        values = values_of(codes, stored, 0, len(codes))
        return ShardRecord(shard, len(codes), write_shard(self.path, self.manifest, Piece(shard, values)))


def shard_writer(path: Path, manifest: Manifest, template: Codes) -> ShardWriter:
    """Return the writer of a store whose last shard is full; columns of texts would need a list that all share."""
    if manifest.n_rows % manifest.layout.shard_rows:
        must = f"the rows of a store must fill its shards of {manifest.layout.shard_rows} before others add to it"
        raise fail("CodeStore", must, manifest.n_rows, "Append what is missing first.")
    texts = [name for name, column in manifest.columns.items() if column.categories is not None]
    if texts:
        raise fail("CodeStore", "columns that others add to must hold numbers", texts, "Use append for texts.")
    for name in manifest.arrays:
        make_folder(path / name)
    return ShardWriter(path, manifest, template)


def adopted(manifest: Manifest, records: Sequence[ShardRecord]) -> Manifest:
    """Return the manifest with all shards of the records, which must follow each other without a gap."""
    size, first = manifest.layout.shard_rows, manifest.n_rows // manifest.layout.shard_rows
    ordered = sorted(records, key=lambda record: record.shard)
    numbers = [record.shard for record in ordered]
    if numbers != list(range(first, first + len(ordered))):
        raise fail("CodeStore.commit", f"shards must follow each other from {first}, each once", numbers)
    short = [record.shard for record in ordered[:-1] if record.n_rows != size]
    if short:
        raise fail("CodeStore.commit", f"every shard but the last must have {size} rows", short)
    checksums = {
        name: (*sums, *(record.checksums[name] for record in ordered)) for name, sums in manifest.checksums.items()
    }
    n_rows = manifest.n_rows + sum(record.n_rows for record in ordered)
    return replace(manifest, n_rows=n_rows, n_rows_before=manifest.n_rows, checksums=checksums)
