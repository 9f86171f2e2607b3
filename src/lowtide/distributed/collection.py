"""Codes that a cluster makes when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import delayed
from dask.delayed import Delayed

from lowtide.codes import Codes, concatenate
from lowtide.distributed.writing import write_store
from lowtide.persist import PathLike
from lowtide.store import CodeStore

__all__ = ["CodeCollection"]


@dataclass(frozen=True)
class CodeCollection:
    """Codes of the partitions of a Dask collection, made when they are computed. `encode` makes one.

    Attributes
    ----------
    parts : tuple of Delayed
        Codes of each partition, in row order.
    no_codes : Codes
        Zero rows: bits, codebook, fingerprint.
    encoder : the fitted encoder
    rows : the Dask collection that is encoded
    """

    parts: tuple[Delayed, ...]
    no_codes: Codes
    encoder: Any
    rows: Any

    def compute(self, **options: Any) -> Codes:
        """Return all codes in this process; options as of `dask.compute`."""
        return concatenate([self.no_codes, *dask.compute(*self.parts, **options)])

    def persist(self, **options: Any) -> CodeCollection:
        """Return the same codes, made now and kept by the workers; options as of `dask.persist`."""
        return replace(self, parts=tuple(dask.persist(*self.parts, **options)))

    def to_store(
        self,
        path: PathLike,
        y: Any = None,
        *,
        client: Any = None,
        chunk_rows: int | None = None,
        shard_chunks: int | None = None,
        metadata: dict[str, Any] | None = None,
        **columns: Any,
    ) -> CodeStore:
        """Encode straight into a new store; every task writes whole shards, and all rows are committed at once.

        Parameters
        ----------
        path : str or path-like
            A folder that is not there yet, on a file system that all workers share.
        y : Dask collection or array (n,), optional
            The column "y".
        client : distributed.Client, str or None, default=None
            As of `fit`.
        chunk_rows, shard_chunks, metadata
            As of `CodeStore.create`.
        **columns : Dask collection or array (n,)
            Other columns, numbers all.

        Returns
        -------
        CodeStore, open for reading
        """
        given = columns if y is None else {"y": y, **columns}
        layout = {"chunk_rows": chunk_rows, "shard_chunks": shard_chunks, "metadata": metadata}
        return write_store(self.parts, self.encoder, self.rows, path, given, client=client, **layout)

    def to_dask_array(self) -> da.Array:
        """Return the packed rows as a Dask array of uint8, (n, row bytes)."""
        width = self.no_codes.packed.shape[1]
        sizes = self.rows.chunks[0] if isinstance(self.rows, da.Array) else [np.nan] * len(self.parts)
        packed = delayed(_packed)
        arrays = [da.from_delayed(packed(part), (size, width), np.uint8) for part, size in zip(self.parts, sizes)]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _packed(codes: Codes) -> Any:
    return codes.packed
