"""A store, looked at from outside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import lowtide as lt
from lowtide.cli.models import encoder_summary
from lowtide.cli.terminal import bytes_in_words, counted, sheet

__all__ = ["StoreInspection"]


@dataclass(frozen=True)
class StoreInspection:
    """A store and where it is."""

    path: Path
    store: lt.CodeStore

    @classmethod
    def of(cls, path: Path) -> Self:
        """Open a store for reading."""
        return cls(path, lt.CodeStore.open(path))

    @property
    def _sizes(self) -> dict[str, int]:
        """Bytes of the files in each folder of the store."""
        return {
            folder.name: sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
            for folder in sorted(self.path.iterdir())
            if folder.is_dir()
        }

    def report(self) -> str:
        """Say it in words."""
        store = self.store
        shards = counted(-(-store.n_rows // store.shard_rows), "shard")
        chunk = f"{counted(store.shard_rows, 'row')} a shard, {counted(store.chunk_rows, 'row')} under a checksum"
        levels = f"{store.n_levels:,} levels of {counted(store.bits, 'bit')}"
        columns = ", ".join(f"{name!r} ({kind})" for name, kind in store.column_types.items())
        progress = store.metadata.get("encode")
        begun = isinstance(progress, dict) and progress.get("done") is False
        return sheet(
            [
                ("store", f"{self.path}, {bytes_in_words(sum(self._sizes.values()))}, Zarr 3"),
                ("codes", f"{counted(store.n_rows, 'row')} of {levels}, {bytes_in_words(store.nbytes)}"),
                ("columns", columns),
                ("shards", f"{shards}; {chunk}"),
                ("features", "" if store.encoder is None else encoder_summary(store.encoder)),
                ("fingerprint", store.fingerprint.hex()),
                ("bytes", ", ".join(f"{name} {bytes_in_words(n)}" for name, n in self._sizes.items())),
                ("state", "not complete: the same 'lowtide encode' goes on with it" if begun else ""),
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the same as plain values."""
        store = self.store
        return {
            "file": str(self.path),
            "kind": "store",
            "rows": store.n_rows,
            "components": store.shape[1],
            "bits": store.bits,
            "levels_per_row": store.n_levels,
            "chunk_rows": store.chunk_rows,
            "shard_rows": store.shard_rows,
            "columns": store.column_types,
            "fingerprint": store.fingerprint.hex(),
            "bytes": store.nbytes,
            "bytes_by_part": self._sizes,
            "metadata": store.metadata,
        }
