"""Codes on disk: encoding into a store against encoding into memory, scanning one against zarr-python."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import cache, partial
from itertools import count
from pathlib import Path

import numpy as np

import lowtide as lt
from benchmarks.peers.duel import Duel

__all__ = ["DUELS"]

COMPONENTS, COLUMNS, ROWS = 4096, 64, 1 << 20
# What zarr-python reads fastest from these files: 4 MB at a time.
PEER_ROWS = 8192
Side = Callable[[], object]


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="lowtide-stores-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _encoder() -> tuple[lt.RandomFeatures, np.ndarray]:
    X = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), dtype=np.float32)
    return lt.RandomFeatures(gamma=1.0 / COLUMNS, n_components=COMPONENTS, random_state=0).fit(X[:1000]), X


def _encode() -> tuple[Side, Side]:
    """Return encoding to the disk, synced and committed, and to memory."""
    encoder, X = _encoder()
    numbers = count()

    def to_store() -> None:
        # Removed with the folder in the end: that is no part of writing.
        with lt.CodeStore.create(_folder() / f"encode-{next(numbers)}.zarr", encoder) as store:
            store.append(X)

    return to_store, partial(encoder.encode, X)


def _scan() -> tuple[Side, Side]:
    """Return a scan of all rows by each, from the page cache; both verify the same checksums."""
    import zarr

    encoder, X = _encoder()
    path = _folder() / "scan.zarr"
    with lt.CodeStore.create(path, encoder) as store:
        store.append(X)
    array = zarr.open_array(path / "codes", mode="r")

    def ours() -> int:
        opened = lt.CodeStore.open(path)  # anew: no chunk is verified yet
        return sum(len(block) for block in opened.blocks(opened.chunk_rows))

    def theirs() -> int:
        return sum(len(array[begin : begin + PEER_ROWS]) for begin in range(0, ROWS, PEER_ROWS))

    assert ours() == theirs() == ROWS
    return ours, theirs


DUELS = [
    # At least 0.7 of the rate.
    Duel("store-encode", "1 bit, d=64, m=4096, to a store, synced", "to memory", _encode, 0.7),
    Duel("store-scan", "537 MB of codes, checksums verified", "zarr-python", _scan, 5, needs="zarr"),
]
