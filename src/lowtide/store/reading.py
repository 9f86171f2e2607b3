"""Read rows of memory-mapped shards once their checksum is right; only regular files are opened, never links."""

from __future__ import annotations

import json
import mmap
import os
import stat
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lowtide.checksum import crc32c
from lowtide.codes import check_padding, row_bits
from lowtide.encoders import Encoder
from lowtide.errors import CodeLayoutError, FileAccessError, FileFormatError
from lowtide.persist import describe, load, refused
from lowtide.store.layout import CODES, DTYPES, ENCODER, LARGEST_TEXT, MANIFEST, SUM_BYTES, StoredArray
from lowtide.store.manifest import Manifest

# Mapped pages count as the process's own memory: four shards of 32 MB are enough for a scan and its neighbors.
_MOST_MAPPED = 4

RowCheck = Callable[[NDArray[Any]], object]


def open_inside(root: Path, name: str) -> BinaryIO:
    """Return a regular file, opened without following links; FileNotFoundError where there is none."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    folder, _, file = name.rpartition("/")
    try:
        inner = os.open(root / folder, flags | os.O_DIRECTORY)
        try:
            # A pipe would block without O_NONBLOCK; for a file it means nothing.
            descriptor = os.open(file, flags | os.O_NONBLOCK, dir_fd=inner)
        finally:
            os.close(inner)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(f"{str(root / name)!r} must be a file that can be read", error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileAccessError(f"{str(root / name)!r} must be a regular file, got another kind.")
    return os.fdopen(descriptor, "rb")


def read_inside(root: Path, name: str) -> bytes:
    """Return the bytes of a small file of the store."""
    with open_inside(root, name) as stream:
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
    open_inside(root, ENCODER).close()
    if describe(place)["sha256"] != manifest.encoder_sha256:
        raise FileFormatError(f"{str(place)!r} must be the file that the manifest names, got another.")
    encoder: Encoder = load(place, kind=Encoder)
    own, template = encoder.drawn_.template, manifest.template
    if own is None or own.with_codebook(template.codebook) != template.with_codebook(template.codebook):
        raise FileFormatError(f"{str(root)!r} must hold the encoder of its codes, got another.")
    return encoder


class MappedShard:
    """One shard of one array, with n_rows committed rows; its file may have more, which the next commit will add.

    Size and index are compared when it is mapped, a chunk's checksum when the chunk is first asked for; `check` is then
    given its rows, and raises CodeLayoutError for what cannot be codes.
    """

    def __init__(self, root: Path, array: StoredArray, shard: int, n_rows: int, check: RowCheck | None = None) -> None:
        self._root, self._array, self._shard, self._check = root, array, shard, check
        try:
            stream = open_inside(root, array.file(shard))
        except FileNotFoundError as error:
            raise self.damage("must be there, got no such file") from error
        with stream:
            size = os.fstat(stream.fileno()).st_size
            # From the size alone: the layout leaves no choice, and what the index says is compared, not followed.
            n_chunks, rest = divmod(size - array.file_bytes(0), array.stride)
            if rest or not array.n_chunks(n_rows) <= n_chunks <= array.shard_chunks:
                raise self.damage(f"must have whole chunks for {n_rows} rows, got {size} bytes")
            self._bytes = np.frombuffer(mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ), dtype=np.uint8)
        self.n_chunks, self._verified = n_chunks, bytearray(n_chunks)
        if self._bytes[n_chunks * array.stride :].tobytes() != array.index(n_chunks):
            raise self.damage("must have the index of its chunks at its end, got a damaged one")

    def chunk(self, i: int) -> NDArray[Any]:
        """Return all rows of a chunk, read-only, in the file."""
        array = self._array
        begin = i * array.stride
        rows = self._bytes[begin : begin + array.chunk_bytes]
        if not self._verified[i]:
            rest = self._bytes[begin + array.chunk_bytes : begin + array.stride].tobytes()
            if rest != crc32c(rows).to_bytes(SUM_BYTES, "little") + bytes(len(rest) - SUM_BYTES):
                raise self.damage("must have the checksum it was written with: it is damaged", chunk=i)
            try:
                if self._check is not None:
                    self._check(array.values(rows))
            except CodeLayoutError as error:  # written with a right checksum, but not by us
                raise self.damage(f"must hold packed codes: {error}", chunk=i) from error
            self._verified[i] = 1
        return array.values(rows)

    def damage(self, what: str, chunk: int | None = None) -> FileFormatError:
        """Return the error that names the shard, and the chunk and its rows."""
        array, place = self._array, f"shard {self._shard}"
        if chunk is not None:
            first = self._shard * array.shard_rows + chunk * array.chunk_rows
            place += f", chunk {chunk} (rows {first} to {first + array.chunk_rows - 1})"
        return FileFormatError(f"{str(self._root)!r}: {array.name}, {place}, file {array.file(self._shard)} {what}.")


class ArrayReader:
    """The committed rows of an array; may be used by several threads."""

    def __init__(self, root: Path, array: StoredArray, n_rows: int, check: RowCheck | None = None) -> None:
        def mapped(shard: int) -> MappedShard:
            return MappedShard(root, array, shard, array.rows_in(shard, n_rows), check)

        self._array, self._n_rows = array, n_rows
        # What is dropped stays mapped for as long as someone holds its rows.
        self._shard = lru_cache(_MOST_MAPPED)(mapped)

    def rows(self, begin: int, end: int) -> NDArray[Any]:
        """Return rows [begin, end): in the file when they are in one chunk, copied together otherwise."""
        size = self._array.chunk_rows
        first, last = begin // size, (end - 1) // size
        if begin >= end:
            return self._empty(0)
        if first == last:
            return self._chunk(first)[begin - first * size : end - first * size]
        out = self._empty(end - begin)
        for chunk in range(first, last + 1):
            low, high = max(begin, chunk * size), min(end, (chunk + 1) * size)
            out[low - begin : high - begin] = self._chunk(chunk)[low - chunk * size : high - chunk * size]
        return out

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
                mapped = self._shard(shard)
            except Exception as error:
                yield error
                continue
            before, whole = 0, True
            for i in range(mapped.n_chunks):
                try:
                    before = array.checksum(mapped.chunk(i)[: max(0, n_rows - i * array.chunk_rows)], before)
                except Exception as error:
                    whole = False
                    yield error
            if whole and before != expected:
                yield mapped.damage("must hold the rows that were committed, got others with checksums of their own")

    def _empty(self, n_rows: int) -> NDArray[Any]:
        width = self._array.width
        shape = (n_rows,) if width is None else (n_rows, width)
        return np.empty(shape, DTYPES[self._array.dtype])

    def _chunk(self, chunk: int) -> NDArray[Any]:
        shard, i = divmod(chunk, self._array.shard_chunks)
        return self._shard(shard).chunk(i)


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
