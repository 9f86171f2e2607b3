"""Read rows of shards and verify them as copies; only regular files are opened, never links."""

from __future__ import annotations

import json
import os
import stat
import weakref
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide import _system
from lowtide.checksum import crc32c
from lowtide.codes import check_padding, row_bits
from lowtide.encoders import Encoder
from lowtide.errors import CodeLayoutError, FileAccessError, FileFormatError
from lowtide.persist import describe, load, read_into, refused, refusing
from lowtide.store.layout import CODES, DTYPES, ENCODER, LARGEST_TEXT, MANIFEST, SUM_BYTES, StoredArray
from lowtide.store.manifest import Manifest

# Files of an array that stay open: enough for a scan and its neighbors.
_MOST_OPEN = 4
# An array of so many bytes stays in memory once it was read, of others so many chunks.
_MOST_KEPT_BYTES = 1 << 26
_MOST_KEPT = 4

RowCheck = Callable[[NDArray[Any]], object]


def open_inside(root: Path, name: str) -> int:
    """Return the descriptor of a regular file, opened without following links; FileNotFoundError without one."""
    # A pipe would block without NO_WAIT; for a file it means nothing.
    flags = os.O_RDONLY | _system.BINARY | _system.NO_FOLLOW | _system.NO_WAIT
    folder, _, file = name.rpartition("/")
    try:
        descriptor = _system.open_in(root / folder, file, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(f"{str(root / name)!r} must be a file that can be read", error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileAccessError(f"{str(root / name)!r} must be a regular file, got another kind.")
    return descriptor


def read_inside(root: Path, name: str) -> bytes:
    """Return the bytes of a small file of the store."""
    with os.fdopen(open_inside(root, name), "rb") as stream:
        data = stream.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise FileFormatError(f"{str(root / name)!r} must have at most {LARGEST_TEXT} bytes, got more.")
    return data


def read_manifest(root: Path) -> Manifest:
    """Return what a store says of itself now."""
    try:
        return Manifest.from_bytes(repr(str(root / MANIFEST)), read_inside(root, MANIFEST))
    except FileNotFoundError as error:
        raise FileFormatError(
            f"{str(root)!r} must be a code store, a folder with {MANIFEST}, got none. CodeStore.create makes one."
        ) from error


def load_encoder(root: Path, manifest: Manifest) -> Encoder | None:
    """Return the encoder of a store, the one that the manifest means; None where it was made of codes."""
    if manifest.encoder_sha256 is None:
        return None
    place = root / ENCODER
    try:
        os.close(open_inside(root, ENCODER))
    except FileNotFoundError as error:
        raise FileFormatError(f"{str(place)!r} must be there, the encoder of the codes, got no such file.") from error
    if describe(place)["sha256"] != manifest.encoder_sha256:
        raise FileFormatError(f"{str(place)!r} must be the file that the manifest names, got another.")
    encoder: Encoder = load(place, kind=Encoder)
    own, template = encoder.drawn_.template, manifest.template
    if own is None or own.with_codebook(template.codebook) != template.with_codebook(template.codebook):
        raise FileFormatError(f"{str(root)!r} must hold the encoder of its codes, got another.")
    return encoder


class ShardFile:
    """One shard of one array, with n_rows committed rows; its file may have more, which the next commit will add.

    The file stays open, and nothing of it is mapped: rows are copied out of it and verified as copies, so that whatever
    becomes of the file later changes none of them. Size and index are compared when it is opened, a chunk's checksum
    whenever it is read; `check` is then given its rows, and raises CodeLayoutError for what cannot be codes.
    """

    def __init__(self, root: Path, array: StoredArray, shard: int, n_rows: int, check: RowCheck | None = None) -> None:
        self._root, self._array, self._shard, self._check = root, array, shard, check
        try:
            self._descriptor = open_inside(root, array.file(shard))
        except FileNotFoundError as error:
            raise self.damage("must be there, got no such file") from error
        weakref.finalize(self, os.close, self._descriptor)
        size = os.fstat(self._descriptor).st_size
        # From the size alone: the layout leaves no choice, and what the index says is compared, not followed.
        self.n_chunks, rest = divmod(size - array.file_bytes(0), array.stride)
        if rest or not array.n_chunks(n_rows) <= self.n_chunks <= array.shard_chunks:
            raise self.damage(f"must have whole chunks for {n_rows} rows, got {size} bytes")
        index = bytearray(array.file_bytes(0))
        self._read([memoryview(index)], self.n_chunks * array.stride)
        if index != array.index(self.n_chunks):
            raise self.damage("must have the index of its chunks at its end, got a damaged one")

    def chunk(self, i: int) -> NDArray[Any]:
        """Return all rows of a chunk, read-only."""
        data = np.empty(self._array.chunk_bytes, dtype=np.uint8)
        self.read(i, data)
        data.flags.writeable = False
        return self._array.values(data)

    def read(self, first: int, out: NDArray[np.uint8]) -> None:
        """Read the rows of whole chunks from the first one on into bytes, which say how many chunks these are."""
        array = self._array
        rows = out.reshape(-1, array.chunk_bytes)
        rests = np.empty((len(rows), array.stride - array.chunk_bytes), dtype=np.uint8)
        pieces = [piece.data for pair in zip(rows, rests) for piece in pair]
        self._read(pieces, first * array.stride)
        for i, (chunk, rest) in enumerate(zip(rows, rests), first):
            if rest.tobytes() != crc32c(chunk).to_bytes(SUM_BYTES, "little") + bytes(len(rest) - SUM_BYTES):
                raise self.damage("must have the checksum it was written with: it is damaged", chunk=i)
            try:
                if self._check is not None:
                    self._check(array.values(chunk))
            except CodeLayoutError as error:  # written with a right checksum, but not by us
                raise self.damage(f"must hold packed codes: {error}", chunk=i) from error

    def _read(self, pieces: list[memoryview], begin: int) -> None:
        """Fill pieces of memory with the bytes from a place on, all of which were there when the file was opened."""
        with refusing(f"{str(self._root / self._array.file(self._shard))!r} must be readable"):
            if not read_into(self._descriptor, pieces, begin):
                raise self.damage("must stay as long as it was, got fewer bytes: it was cut short while it was read")

    def damage(self, what: str, chunk: int | None = None) -> FileFormatError:
        """Return the error that names the shard, and the chunk and its rows."""
        array, place = self._array, f"shard {self._shard}"
        if chunk is not None:
            first = self._shard * array.shard_rows + chunk * array.chunk_rows
            place += f", chunk {chunk} (rows {first} to {first + array.chunk_rows - 1})"
        return FileFormatError(f"{str(self._root)!r}: {array.name}, {place}, file {array.file(self._shard)} {what}.")


class ArrayReader:
    """The committed rows of an array; may be used by several threads.

    Of a small array every chunk that was read is kept; of others a few, for those who read rows one after the other.
    """

    def __init__(self, root: Path, array: StoredArray, n_rows: int, check: RowCheck | None = None) -> None:
        def opened(shard: int) -> ShardFile:
            return ShardFile(root, array, shard, array.rows_in(shard, n_rows), check)

        def chunk(number: int) -> NDArray[Any]:
            shard, i = divmod(number, array.shard_chunks)
            return shards(shard).chunk(i)

        shards = lru_cache(_MOST_OPEN)(opened)
        self._array, self._n_rows, self._shard, self._is_there = array, n_rows, shards, False
        self._keeps = array.n_chunks(n_rows) * array.chunk_bytes <= _MOST_KEPT_BYTES
        self._chunk = lru_cache(None if self._keeps else _MOST_KEPT)(chunk)

    def rows(self, begin: int, end: int) -> NDArray[Any]:
        """Return rows [begin, end); of a chunk that is kept, without a copy."""
        size = self._array.chunk_rows
        first, last = begin // size, (end - 1) // size
        if begin >= end:
            return self._empty(0)
        if first == last and (self._keeps or end - begin < size):
            return self._chunk(first)[begin - first * size : end - first * size]
        out = self._empty(end - begin)
        whole = range(0) if self._keeps else range(-(-begin // size), end // size)
        for chunk in range(first, last + 1):
            if chunk not in whole:
                low, high = max(begin, chunk * size), min(end, (chunk + 1) * size)
                out[low - begin : high - begin] = self._chunk(chunk)[low - chunk * size : high - chunk * size]
        self._read_whole(whole, out[whole.start * size - begin : whole.stop * size - begin] if whole else out[:0])
        return out

    def _read_whole(self, chunks: range, out: NDArray[Any]) -> None:
        """Read whole chunks to where their rows are wanted, a shard at a time."""
        data, n_bytes, per_shard = out.reshape(-1).view(np.uint8), self._array.chunk_bytes, self._array.shard_chunks
        begin = chunks.start
        while begin < chunks.stop:
            end = min(chunks.stop, (begin // per_shard + 1) * per_shard)
            part = data[(begin - chunks.start) * n_bytes : (end - chunks.start) * n_bytes]
            self._shard(begin // per_shard).read(begin % per_shard, part)
            begin = end

    def take(self, index: NDArray[np.intp]) -> NDArray[Any]:
        """Return rows by their numbers, each from 0 to n_rows - 1, in any order; a chunk is visited once."""
        out = self._empty(len(index))
        chunks = index // self._array.chunk_rows
        order = np.argsort(chunks, kind="stable")
        borders = np.flatnonzero(np.diff(chunks[order], prepend=-1))
        for places in np.split(order, borders[1:]) if len(order) else ():
            chunk = int(chunks[places[0]])
            out[places] = self._chunk(chunk)[index[places] - chunk * self._array.chunk_rows]
        return out

    def damage(self, checksums: tuple[int, ...]) -> Iterator[Exception]:
        """Yield what is wrong, chunk by chunk; then each shard's rows are compared with the manifest's checksum."""
        array = self._array
        for shard, expected in enumerate(checksums):
            n_rows = array.rows_in(shard, self._n_rows)
            try:
                file = self._shard(shard)
            except Exception as error:
                yield error
                continue
            before, whole = 0, True
            for i in range(file.n_chunks):
                try:
                    before = array.checksum(file.chunk(i)[: max(0, n_rows - i * array.chunk_rows)], before)
                except Exception as error:
                    whole = False
                    yield error
            if whole and before != expected:
                yield file.damage("must hold the rows that were committed, got others with checksums of their own")

    def _empty(self, n_rows: int) -> NDArray[Any]:
        """Return room for rows; how wide they are is only the manifest's word until a file of that size was found."""
        if n_rows and not self._is_there:
            self._shard(0)
            self._is_there = True
        width = self._array.width
        shape = (n_rows,) if width is None else (n_rows, width)
        return np.empty(shape, DTYPES[self._array.dtype])


def readers_of(root: Path, manifest: Manifest) -> dict[str, ArrayReader]:
    """Return a reader of each array; that of codes refuses bits past the last level, which counting would take."""
    used_bits = row_bits(manifest.template.n_levels, manifest.template.bits)
    checks = {CODES: partial(check_padding, used_bits=used_bits)}
    arrays = manifest.arrays.items()
    return {name: ArrayReader(root, array, manifest.n_rows, checks.get(name)) for name, array in arrays}


def damage_of(root: Path, manifest: Manifest) -> Iterator[Exception]:
    """Yield an error for each shard, chunk or description that is not what was written; reads every byte once."""
    for name, reader in readers_of(root, manifest).items():
        yield from reader.damage(manifest.checksums[name])
    for name, expected in manifest.documents().items():
        try:
            found = json.loads(read_inside(root, name))
            if not _agree(found, json.loads(expected), manifest):
                yield FileFormatError(f"{str(root)!r}: {name} must describe the committed rows to Zarr readers.")
        except FileNotFoundError:
            # A column comes with the first commit, after which it is described: a writer may have ended in between.
            if manifest.n_rows_before or name.partition("/")[0] not in manifest.columns:
                yield FileFormatError(f"{str(root)!r}: {name} must be there, got no such file.")
        except (ValueError, RecursionError) as error:
            yield FileFormatError(f"{str(root)!r}: {name} must be JSON, got: {str(error)[:100]}.")
        except OSError as error:
            yield error


def _agree(found: Any, expected: Any, manifest: Manifest) -> bool:
    """Whether a description is the expected one, or that of the commit before: the manifest comes first."""
    attributes = found.get("attributes") if isinstance(found, dict) else None
    if found == expected or "shape" not in expected or not isinstance(attributes, dict):
        return bool(found == expected)
    lagging = {**expected, "shape": [manifest.n_rows_before, *expected["shape"][1:]], "attributes": attributes}
    now, before = expected["attributes"].get("categories", []), attributes.get("categories", [])
    same = found == lagging and attributes.keys() == expected["attributes"].keys()
    return same and isinstance(before, list) and before == now[: len(before)]
