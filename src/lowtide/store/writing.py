"""Rows are written in whole shards and committed by one new manifest; what a writer left that stopped is removed."""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from lowtide._checks import check_integer, check_option, fail
from lowtide.codes import Codes, concatenate
from lowtide.encoders import Encoder
from lowtide.errors import FileAccessError, FileFormatError
from lowtide.persist import PathLike, describe, refused, save, write_whole
from lowtide.store.columns import encode_columns
from lowtide.store.folder import (
    ENCODER,
    GROUP,
    LARGEST_TEXT,
    LOCK,
    MANIFEST,
    WriterLock,
    as_folder,
    is_part,
    make_folder,
    read_manifest,
)
from lowtide.store.layout import CODES, DTYPES, LARGEST_CHUNK, StoredArray, default_rows
from lowtide.store.manifest import NORMS, Column, Manifest, is_column_name
from lowtide.store.reading import ArrayReader, MappedShard

__all__ = [
    "ShardRecord",
    "ShardWriter",
    "adopted",
    "append_rows",
    "commit",
    "create_store",
    "discard_uncommitted",
    "is_unfinished",
    "template_of",
    "write_documents",
]

_OWNER = "CodeStore.create"
_SHARD = re.compile(r"c\.([0-9]{1,15})(\.0)?")
# Shards on their way to the disk while the next one is encoded.
_IN_FLIGHT = 2


def _pieces(manifest: Manifest, n_new: int) -> Iterator[tuple[int, int, int]]:
    """Yield (shard, begin, end): which of the new rows each shard gets, the last one there filled up first."""
    size, begin = manifest.shard_rows, 0
    while begin < n_new:
        shard, used = divmod(manifest.n_rows + begin, size)
        end = min(n_new, begin + size - used)
        yield shard, begin, end
        begin = end


def _values(codes: Codes, columns: dict[str, NDArray[Any]], begin: int, end: int) -> dict[str, NDArray[Any]]:
    """Return what each array gets of the new rows [begin, end), of which the codes are given."""
    values = {CODES: codes.packed, **{name: column[begin:end] for name, column in columns.items()}}
    return values if codes.norms is None else {**values, NORMS: codes.norms}


def write_shard(root: Path, manifest: Manifest, shard: int, values: dict[str, NDArray[Any]]) -> dict[str, int]:
    """Write a shard of every array, each a file that is whole or not there; return the checksums of their rows.

    Rows that the shard has already come first, as they are: a shard that is replaced begins with the same rows.
    """
    checksums = {}
    for name, array in manifest.arrays.items():
        old = array.rows_in(shard, manifest.n_rows)
        first = shard * array.shard_rows
        before = [ArrayReader(root, array, manifest.n_rows).rows(first, first + old)] if old else []
        former = manifest.checksums[name][shard] if old else 0
        write_whole(root / array.file(shard), array.pieces([*before, values[name]]))
        checksums[name] = array.checksum([values[name]], former)
    return checksums


def append_rows(
    root: Path, manifest: Manifest, n_new: int, codes_of: Callable[[int, int], Codes], columns: dict[str, NDArray[Any]]
) -> Manifest:
    """Write shards while the next are encoded, then commit all of them at once; an error before that changes nothing.

    `codes_of(begin, end)` gives the codes of new rows. The manifest is that of the rows before, with the new columns.
    """
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
            for shard, begin, end in _pieces(manifest, n_new):
                values = _values(codes_of(begin, end), columns, begin, end)
                waiting.append((shard, disk.submit(write_shard, root, manifest, shard, values)))
                del values  # the rows of a shard that was written are not kept until the next one is made
                if len(waiting) >= _IN_FLIGHT:
                    take()
            while waiting:
                take()
        new = manifest.with_rows(manifest.n_rows + n_new, {name: tuple(each) for name, each in sums.items()})
        commit(root, new)
    except BaseException as error:
        with contextlib.suppress(Exception):
            discard_uncommitted(root, read_manifest(root))  # an interrupt may come after the commit
        if not isinstance(error, FileAccessError):
            raise
        still = f"Nothing was appended; the {manifest.n_rows} committed rows are as they were."
        refusal = FileAccessError(f"{error} {still}")
        refusal.errno = error.errno
        raise refusal from error
    return new


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
    for name, data in manifest.documents().items():
        place = root / name
        make_folder(place.parent)
        if not place.is_file() or place.read_bytes() != data:
            write_whole(place, [data])


def discard_uncommitted(root: Path, manifest: Manifest) -> tuple[str, ...]:
    """Remove everything that no commit speaks of, and return the names of those files; the caller is the one writer.

    Files that were never given their name go, shards past the last, and rows past the last in the last shard. Committed
    rows are where they were: a shard is only ever replaced by one that begins with the same rows.
    """
    arrays, n_shards = manifest.arrays, manifest.n_shards
    found = [file for name in ("", GROUP, *arrays) for file in _remove(root, name, is_part)]
    found += [file for name in arrays for file in _remove(root, name, lambda file: _shard_number(file) >= n_shards)]
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and path.name not in (GROUP, *arrays)):
        # A column that was never committed has nothing but shards and parts of them: its `zarr.json` comes last.
        ours = (is_part(file.name) or _shard_number(file.name) >= 0 for file in folder.iterdir())
        if not folder.is_symlink() and all(ours):
            found += _remove(root, folder.name, is_part) + _remove(root, folder.name, lambda file: True)
            folder.rmdir()
    for array in arrays.values():
        if manifest.n_rows and _trim_last(root, array, manifest.n_rows):
            found.append(f"the end of {array.file(n_shards - 1)}")
    return tuple(found)


def _remove(root: Path, name: str, is_left: Callable[[str], bool]) -> list[str]:
    """Remove the files of a folder that were left there, and return their names in the store."""
    folder = root / name
    files = [file for file in sorted(folder.iterdir()) if is_left(file.name)] if folder.is_dir() else []
    for file in files:
        file.unlink()
    return [f"{name}/{file.name}".lstrip("/") for file in files]


def _shard_number(name: str) -> int:
    """Return which shard a file is by its name, -1 for other files."""
    found = _SHARD.fullmatch(name)
    return -1 if found is None else int(found[1])


def _trim_last(root: Path, array: StoredArray, n_rows: int) -> bool:
    """Write the last shard again without rows past the last; False where there are none."""
    shard = array.n_shards(n_rows) - 1
    kept = array.rows_in(shard, n_rows)
    try:
        mapped = MappedShard(root, array, shard, kept)
        last = array.n_chunks(kept) - 1
        if mapped.n_chunks == last + 1 and not mapped.chunk(last)[kept - last * array.chunk_rows :].any():
            return False
        rows = [mapped.chunk(i) for i in range(last + 1)]
    except FileFormatError:
        return False  # damage is for `verify` and for whoever reads these rows; nothing is thrown away on its account
    rows[-1] = rows[-1][: kept - last * array.chunk_rows]
    write_whole(root / array.file(shard), array.pieces(rows))
    return True


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
    """

    path: Path
    manifest: Manifest

    @classmethod
    def of(cls, path: Path, manifest: Manifest) -> ShardWriter:
        """Return the writer of a store whose last shard is full; columns of texts would need a list that all share."""
        if manifest.n_rows % manifest.shard_rows:
            must = f"the rows of a store must fill its shards of {manifest.shard_rows} before others add to it"
            raise fail("CodeStore", must, manifest.n_rows, "Append what is missing first.")
        texts = [name for name, column in manifest.columns.items() if column.categories is not None]
        if texts:
            raise fail("CodeStore", "columns that others add to must hold numbers", texts, "Use append for texts.")
        for name in manifest.arrays:
            make_folder(path / name)
        return cls(path, manifest)

    @property
    def shard_rows(self) -> int:
        """Rows of every shard but the last."""
        return self.manifest.shard_rows

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
        concatenate([self.manifest.template, codes[:0]])
        _, stored = encode_columns(columns, self.manifest.own_columns, len(codes))
        values = _values(codes, stored, 0, len(codes))
        return ShardRecord(shard, len(codes), write_shard(self.path, self.manifest, shard, values))


def adopted(manifest: Manifest, records: Sequence[ShardRecord]) -> Manifest:
    """Return the manifest with all shards of the records, which must follow each other without a gap."""
    size, first = manifest.shard_rows, manifest.n_rows // manifest.shard_rows
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
    return manifest.with_rows(manifest.n_rows + sum(record.n_rows for record in ordered), checksums)


def create_store(
    root: Path,
    encoder: Any,
    columns: Mapping[str, str],
    chunk_rows: int | None,
    shard_chunks: int | None,
    metadata: dict[str, Any],
) -> tuple[WriterLock, Manifest]:
    """Make the folder and the first commit, of no rows; the manifest comes last, so a store is there or is not."""
    template = encoder[:0] if isinstance(encoder, Codes) else template_of(_OWNER, encoder)
    usual_rows, usual_chunks = default_rows(template.packed.shape[1])
    rows = usual_rows if chunk_rows is None else check_integer(_OWNER, "chunk_rows", chunk_rows, 1, 1 << 32)
    chunks = usual_chunks if shard_chunks is None else check_integer(_OWNER, "shard_chunks", shard_chunks, 1, 1 << 20)
    if rows * template.packed.shape[1] > LARGEST_CHUNK:
        must = f"chunk_rows must make chunks of at most {LARGEST_CHUNK} bytes"
        raise fail(_OWNER, must, f"{rows} rows of {template.packed.shape[1]}", "Use fewer.")
    kept = {} if template.norms is None else {NORMS: Column("float32")}
    for name, dtype in columns.items():
        if not is_column_name(name) or name == NORMS:
            raise fail(_OWNER, "a column's name must be a letter, then letters, digits and underscores", name)
        kept[name] = Column(check_option(_OWNER, f"the type of {name}", dtype, tuple(DTYPES)))
    lock = _make_folder(root)
    try:
        sha256 = None if isinstance(encoder, Codes) else _saved(root / ENCODER, encoder)
        manifest = Manifest(
            rows, chunks, template, sha256, columns=kept, checksums=dict.fromkeys((CODES, *kept), ()), metadata=metadata
        )
        write_documents(root, manifest)
        commit(root, manifest)
    except BaseException:
        lock.release()
        raise
    return lock, manifest


def is_unfinished(path: PathLike) -> bool:
    """Whether a folder has nothing but what a creation leaves that was interrupted: no manifest, and no rows yet."""
    root = as_folder(path)
    files = (file.relative_to(root) for file in root.rglob("*") if not file.is_dir())
    return (root / GROUP).is_dir() and all(
        str(file) in (LOCK, ENCODER) or file.name == "zarr.json" or is_part(file.name) for file in files
    )


def template_of(owner: str, encoder: Any) -> Codes:
    """Return codes of zero rows of a fitted encoder with a coded side of levels; anything else is refused.

    Parameters
    ----------
    owner : str
        Who asks, for messages.
    encoder : Encoder
    """
    if not isinstance(encoder, Encoder) or not hasattr(encoder, "drawn_"):
        got = f"an unfitted {type(encoder).__name__}" if isinstance(encoder, Encoder) else type(encoder).__name__
        raise fail(owner, "encoder must be a fitted encoder", got, "Fit it on some of the rows.")
    return encoder.drawn_.required_template


def _make_folder(root: Path) -> WriterLock:
    """Return the lock of a new folder."""
    try:
        make_folder(root)
        if any(root.iterdir()) and not is_unfinished(root):
            raise FileAccessError(
                f"{str(root)!r} must be a folder that is not there or is empty, got one with other files. Choose "
                'another, or open the store that is there: CodeStore.open(path, "a").'
            )
        make_folder(root / GROUP)
    except FileAccessError:
        raise
    except OSError as error:
        raise refused(f"{str(root)!r} must be a folder that can be made", error) from error
    lock = WriterLock(root)
    if (root / MANIFEST).exists():
        lock.release()
        raise FileAccessError(f"{str(root / LOCK)!r} must be free while a store is made, got another writer's store.")
    return lock


def _saved(place: Path, thing: Any) -> str:
    """Write a model file and return its checksum."""
    save(thing, place)
    return str(describe(place)["sha256"])
