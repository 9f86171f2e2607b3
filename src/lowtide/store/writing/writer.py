"""Rows into shards, and shards into a commit."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.errors import FileAccessError
from lowtide.persist import write_whole
from lowtide.store.columns import NORMS
from lowtide.store.folder import LARGEST_TEXT, MANIFEST, make_folder, read_manifest
from lowtide.store.format import CODES, Manifest, documents
from lowtide.store.reading import ArrayReader
from lowtide.store.writing.recovery import discard_uncommitted

__all__ = ["Piece", "append_pieces", "commit", "pieces_of", "write_documents", "write_shard"]

# Shards on their way to the disk while the next one is encoded.
_IN_FLIGHT = 2


@dataclass(frozen=True)
class Piece:
    """New rows of one shard: what each array gets, by its name."""

    shard: int
    values: dict[str, NDArray[Any]]


def pieces_of(manifest: Manifest, n_new: int) -> Iterator[tuple[int, int, int]]:
    """Yield (shard, begin, end): which of the new rows each shard gets, the last one there filled up first."""
    size, begin = manifest.layout.shard_rows, 0
    while begin < n_new:
        shard, used = divmod(manifest.n_rows + begin, size)
        end = min(n_new, begin + size - used)
        yield shard, begin, end
        begin = end


def values_of(codes: Codes, columns: dict[str, NDArray[Any]], begin: int, end: int) -> dict[str, NDArray[Any]]:
    """Return what each array gets of the new rows [begin, end), of which the codes are given."""
    values = {CODES: codes.packed, **{name: column[begin:end] for name, column in columns.items()}}
    return values if codes.norms is None else {**values, NORMS: codes.norms}


def write_shard(root: Path, manifest: Manifest, piece: Piece) -> dict[str, int]:
    """Write a shard of every array, each a file that is whole or not there; return the checksums of their rows.

    Rows that the shard has already come first, as they are: a shard that is replaced begins with the same rows.
    """
    checksums = {}
    for name, array in manifest.arrays.items():
        old = array.layout.rows_in(piece.shard, manifest.n_rows)
        first = piece.shard * array.layout.shard_rows
        before = [ArrayReader(root, array, manifest.n_rows).rows(first, first + old)] if old else []
        former = manifest.checksums[name][piece.shard] if old else 0
        write_whole(root / array.file(piece.shard), array.pieces([*before, piece.values[name]]))
        checksums[name] = array.checksum([piece.values[name]], former)
    return checksums


def append_pieces(root: Path, manifest: Manifest, n_new: int, pieces: Iterator[Piece]) -> Manifest:
    """Write shards while the next are made, then commit all of them at once; an error before that changes nothing."""
    sums = {name: list(manifest.checksums.get(name, ())) for name in manifest.arrays}
    waiting: deque[tuple[int, Future[dict[str, int]]]] = deque()

    def take() -> None:
        shard, future = waiting.popleft()
        for name, checksum in future.result().items():
            sums[name][shard:] = [checksum]

    for name in manifest.arrays:
        make_folder(root / name)
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="lowtide-store") as disk:
            for piece in pieces:
                waiting.append((piece.shard, disk.submit(write_shard, root, manifest, piece)))
                del piece  # the rows of a shard that was written are not kept until the next one is made
                if len(waiting) >= _IN_FLIGHT:
                    take()
            while waiting:
                take()
        new = manifest.with_rows(manifest.n_rows + n_new, {name: tuple(each) for name, each in sums.items()})
        commit(root, new)
    except BaseException as error:
        with contextlib.suppress(Exception):
            discard_uncommitted(root, read_manifest(root))  # an interrupt may come after the commit
        if isinstance(error, FileAccessError):
            raise _still_there(error, manifest) from error
        raise
    return new


def _still_there(error: FileAccessError, manifest: Manifest) -> FileAccessError:
    refusal = FileAccessError(f"{error} Nothing was appended; the {manifest.n_rows} committed rows are as they were.")
    refusal.errno = error.errno
    return refusal


def commit(root: Path, manifest: Manifest) -> None:
    """Replace the manifest: from here on its rows are there. Then tell Zarr readers."""
    data = manifest.to_bytes()
    if len(data) > LARGEST_TEXT:
        must = f"texts of columns, metadata and checksums must take at most {LARGEST_TEXT} bytes"
        raise fail("CodeStore", must, len(data), "Keep numbers for long texts, and more rows in a shard.")
    write_whole(root / MANIFEST, [data])
    with contextlib.suppress(FileAccessError):  # the rows are committed; the next writer tells again
        write_documents(root, manifest)


def write_documents(root: Path, manifest: Manifest) -> None:
    """Bring the `zarr.json` of every array to the committed rows."""
    for name, data in documents(manifest, manifest.n_rows).items():
        place = root / name
        make_folder(place.parent)
        if not place.is_file() or place.read_bytes() != data:
            write_whole(place, [data])
