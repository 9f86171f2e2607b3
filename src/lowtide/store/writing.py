"""One writer at a time writes whole shards and commits them by a new manifest; what others left undone is removed."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import re
import shutil
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from lowtide import _system
from lowtide._checks import check_integer, check_option, fail
from lowtide.cancel import Threads
from lowtide.codes import Codes, concatenate
from lowtide.encoders import Encoder
from lowtide.errors import CancelledError, FileAccessError, FileFormatError
from lowtide.persist import (
    PathLike,
    as_path,
    check_metadata,
    describe,
    refused,
    refusing,
    save,
    sync_folder,
    write_whole,
)
from lowtide.store.columns import BESIDE, CORRECTIONS, NORMS, Column, check_name, encode_columns
from lowtide.store.layout import (
    CODES,
    DTYPES,
    ENCODER,
    GROUP,
    LARGEST_CHUNK,
    LARGEST_TEXT,
    LOCK,
    MANIFEST,
    StoredArray,
    default_rows,
)
from lowtide.store.manifest import Manifest
from lowtide.store.reading import ArrayReader, ShardFile, read_manifest

_OWNER = "CodeStore.create"
# A file that was never given its name, and one that is a shard.
_PART = re.compile(r"\.lowtide-[0-9a-f]{16}\.part")
_SHARD = re.compile(r"c\.([0-9]{1,15})(\.0)?")
# Shards on their way to the disk while the next one is encoded.
_IN_FLIGHT = 2


def as_folder(path: PathLike) -> Path:
    """Return the absolute place of a store, so that a later change of the working folder does not move it."""
    return Path(os.path.abspath(as_path(path, "folder")))


def make_folder(path: Path) -> None:
    """Make a folder that may be there; the name of a new one is made durable."""
    if path.is_dir():
        return
    with refusing(f"{str(path)!r} must be a folder that can be made"):
        path.mkdir()
    sync_folder(path.parent)


class WriterLock:
    """The right to write, from here until `release` or the end of the process, however it ends; readers need none."""

    def __init__(self, root: Path) -> None:
        must = f"{str(root)!r} must have one writer at a time"
        with refusing(must, f"Check the permissions of {str(root / LOCK)!r}."):
            descriptor = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | _system.BINARY | _system.NO_FOLLOW, 0o666)
        self.release = weakref.finalize(self, _release, descriptor, os.getpid())
        try:
            _system.lock(descriptor)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                holder = _system.read_at(descriptor, 32, 0).decode("ascii", "replace").strip()
                must += f"; process {holder or 'unknown'} has it"
            self.release()
            raise refused(must, error, "Wait for it, or open the store for reading.") from error
        with contextlib.suppress(OSError):  # whose it is helps others; on a full disk they are told less
            os.ftruncate(descriptor, 0)
            _system.write_at(descriptor, f"{os.getpid()}\n".encode(), 0)


def _release(descriptor: int, owner: int) -> None:
    """Give the lock up; in a process that was forked meanwhile, only its copy of the descriptor."""
    if os.getpid() == owner:
        _system.unlock(descriptor)
    os.close(descriptor)


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


def write_shard(
    root: Path, manifest: Manifest, shard: int, codes: Codes, columns: Mapping[str, NDArray[Any]]
) -> ShardRecord:
    """Write new rows of a shard of every array, after those it has, each a file that is whole or not there."""
    values: dict[str, Any] = {**columns, CODES: codes.packed, NORMS: codes.norms, CORRECTIONS: codes.corrections}
    checksums = {}
    for name, array in manifest.arrays.items():
        old = array.rows_in(shard, manifest.n_rows)
        first = shard * array.shard_rows
        before = [ArrayReader(root, array, manifest.n_rows).rows(first, first + old)] if old else []
        former = manifest.checksums[name][shard] if old else 0
        write_whole(root / array.file(shard), array.pieces([*before, values[name]]))
        checksums[name] = array.checksum(values[name], former)
    return ShardRecord(shard, len(codes), checksums)


def append_rows(
    root: Path, manifest: Manifest, n_new: int, codes_of: Callable[[int, int], Codes], columns: dict[str, NDArray[Any]]
) -> Manifest:
    """Write shards while the next are encoded, then commit all of them at once; an error before that changes nothing.

    `codes_of(begin, end)` gives the codes of new rows. The manifest is that of the rows before, with the new columns.
    """
    for name in manifest.arrays:
        make_folder(root / name)
    n_old, size = manifest.n_rows, manifest.shard_rows
    try:
        with Threads(1, "lowtide-store") as disk:
            written: list[Future[ShardRecord]] = []
            for shard in range(n_old // size, -(-(n_old + n_new) // size)):
                begin, end = max(0, shard * size - n_old), min(n_new, (shard + 1) * size - n_old)
                values = {name: column[begin:end] for name, column in columns.items()}
                # Nothing here keeps the codes of a shard that was written until the next one is made.
                written.append(disk.submit(write_shard, root, manifest, shard, codes_of(begin, end), values))
                if len(written) >= _IN_FLIGHT:
                    written[-_IN_FLIGHT].result()
        new = with_shards(manifest, [each.result() for each in written])
        commit(root, new)
    except BaseException as error:
        # Who presses Ctrl-C is not to wait until the last shard is written again: no row of its end counts, and the
        # next append, or the next writer, does so.
        is_stopped = isinstance(error, CancelledError) or not isinstance(error, Exception)
        with contextlib.suppress(Exception):
            discard_uncommitted(root, read_manifest(root), trim=not is_stopped)  # it may come after the commit
        if isinstance(error, FileAccessError):
            error.args = (f"{error} Nothing was appended; the {n_old} committed rows are as they were.",)
        raise
    return new


def with_shards(manifest: Manifest, records: Sequence[ShardRecord]) -> Manifest:
    """Return the manifest with the new rows of shards, which must follow each other without a gap."""
    size, first = manifest.shard_rows, manifest.n_rows // manifest.shard_rows
    ordered = sorted(records, key=lambda record: record.shard)
    numbers = [record.shard for record in ordered]
    if numbers != list(range(first, first + len(ordered))):
        raise fail("CodeStore.commit", f"shards must follow each other from {first}, each once", numbers)
    array, last = manifest.arrays[CODES], first + len(ordered) - 1
    rows = {record.shard: array.rows_in(record.shard, manifest.n_rows) + record.n_rows for record in ordered}
    wrong = [shard for shard, n in rows.items() if n > size or (n < size and shard != last)]
    if wrong:
        raise fail("CodeStore.commit", f"every shard but the last must have {size} rows", wrong)
    checksums = {
        name: (*manifest.checksums.get(name, ())[:first], *(record.checksums[name] for record in ordered))
        for name in manifest.arrays
    }
    n_rows = manifest.n_rows + sum(record.n_rows for record in ordered)
    return replace(manifest, n_rows=n_rows, n_rows_before=manifest.n_rows, checksums=checksums)


def commit(root: Path, manifest: Manifest) -> None:
    """Replace the manifest: from here on its rows are there. Then tell Zarr readers."""
    data = manifest.to_bytes()
    if len(data) > LARGEST_TEXT:
        must = f"texts of columns, metadata and checksums must take at most {LARGEST_TEXT} bytes"
        raise fail("CodeStore", must, len(data), "Keep numbers for long texts, and more rows in a shard.")
    # Once it has its name the rows are there, and nobody may be told that they are not.
    write_whole(root / MANIFEST, [data], can_stop=False)
    with contextlib.suppress(FileAccessError):  # the rows are committed; the next writer tells again
        write_documents(root, manifest)


def write_documents(root: Path, manifest: Manifest) -> None:
    """Bring the `zarr.json` of every array to the committed rows."""
    for name, data in manifest.documents().items():
        place = root / name
        make_folder(place.parent)
        if not place.is_file() or place.read_bytes() != data:
            write_whole(place, [data], can_stop=False)


def discard_uncommitted(root: Path, manifest: Manifest, *, trim: bool = True) -> tuple[str, ...]:
    """Remove everything that no commit speaks of, and return the names of those files; the caller is the one writer.

    Files that were never given their name go, shards past the last, and rows past the last in the last shard, which
    begins with the committed rows: a shard is only ever replaced by one that begins with the same rows. Without `trim`
    these stay.
    """
    arrays, n_shards = manifest.arrays, manifest.n_shards
    found = [*_remove(root, ""), *_remove(root, GROUP)]
    for name in arrays:
        found += _remove(root, name, n_shards)
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and path.name not in (GROUP, *arrays)):
        # A column that was never committed has nothing but shards and parts of them: its `zarr.json` comes last.
        if not folder.is_symlink() and all(_is_left(file.name, 0) for file in folder.iterdir()):
            found += _remove(root, folder.name, 0)
            folder.rmdir()
    for array in arrays.values():
        if trim and manifest.n_rows and _trim_last(root, array, manifest.n_rows):
            found.append(f"the end of {array.file(n_shards - 1)}")
    return tuple(found)


def _remove(root: Path, name: str, first_shard: float = math.inf) -> list[str]:
    """Remove the files of a folder that were left there, and return their names in the store."""
    folder = root / name
    files = [file for file in sorted(folder.iterdir()) if _is_left(file.name, first_shard)] if folder.is_dir() else []
    for file in files:
        file.unlink()
    return [f"{name}/{file.name}".lstrip("/") for file in files]


def _is_left(name: str, first_shard: float = math.inf) -> bool:
    """Whether a file was never given its name, or is a shard from the first that does not count."""
    found = _SHARD.fullmatch(name)
    return _PART.fullmatch(name) is not None or (found is not None and int(found[1]) >= first_shard)


def _trim_last(root: Path, array: StoredArray, n_rows: int) -> bool:
    """Write the last shard again without rows past the last; False where there are none."""
    shard = (n_rows - 1) // array.shard_rows
    kept = array.rows_in(shard, n_rows)
    try:
        file = ShardFile(root, array, shard, kept)
        last = array.n_chunks(kept) - 1
        if file.n_chunks == last + 1 and not file.chunk(last)[kept - last * array.chunk_rows :].any():
            return False
        rows = [file.chunk(i) for i in range(last + 1)]
    except FileFormatError:
        return False  # damage is for `verify` and for whoever reads these rows; nothing is thrown away on its account
    rows[-1] = rows[-1][: kept - last * array.chunk_rows]
    write_whole(root / array.file(shard), array.pieces(rows), can_stop=False)
    return True


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
        return write_shard(self.path, self.manifest, shard, codes, stored)


def create_store(
    root: Path,
    encoder: Any,
    columns: Mapping[str, str],
    metadata: Any,
    chunk_rows: int | None,
    shard_chunks: int | None,
) -> tuple[WriterLock, Manifest]:
    """Make the folder and the first commit, of no rows; the manifest comes last, so a store is there or is not."""
    noted = check_metadata({} if metadata is None else metadata)
    template = encoder[:0] if isinstance(encoder, Codes) else template_of(_OWNER, encoder)
    usual_rows, usual_chunks = default_rows(template.packed.shape[1])
    rows = usual_rows if chunk_rows is None else check_integer(_OWNER, "chunk_rows", chunk_rows, 1, 1 << 32)
    chunks = usual_chunks if shard_chunks is None else check_integer(_OWNER, "shard_chunks", shard_chunks, 1, 1 << 20)
    if rows * template.packed.shape[1] > LARGEST_CHUNK:
        must = f"chunk_rows must make chunks of at most {LARGEST_CHUNK} bytes"
        raise fail(_OWNER, must, f"{rows} rows of {template.packed.shape[1]}", "Use fewer.")
    present = zip(BESIDE, (template.norms, template.corrections))
    kept = {name: Column("float32") for name, part in present if part is not None}
    for name, dtype in columns.items():
        check_name(name)
        kept[name] = Column(check_option(_OWNER, f"the type of {name}", dtype, tuple(DTYPES)))
    lock = _make_folder(root)
    try:
        sha256 = None
        if not isinstance(encoder, Codes):
            save(encoder, root / ENCODER)
            sha256 = describe(root / ENCODER)["sha256"]
        sums: dict[str, tuple[int, ...]] = dict.fromkeys((CODES, *kept), ())
        manifest = Manifest(rows, chunks, template, sha256, columns=kept, checksums=sums, metadata=noted)
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
        str(file) in (LOCK, ENCODER) or file.name == "zarr.json" or _is_left(file.name) for file in files
    )


def replace_store(new: Path, old: Path) -> None:
    """Give a complete store the name of another, which is then removed; a crash leaves the name with one of the two.

    Parameters
    ----------
    new, old : Path
        In one folder. Where the system cannot exchange two names at once, there is a moment without either.
    """
    with refusing(f"{str(old)!r} must be a folder that can be replaced"):
        if not _exchange(new, old):
            aside = old.with_name(f"{new.name}-old")
            shutil.rmtree(aside, ignore_errors=True)
            old.rename(aside)
            new.rename(old)
            new = aside
        sync_folder(old.parent)
        shutil.rmtree(new)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two names at once; False where that cannot be done."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return rename(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0


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
    with refusing(f"{str(root)!r} must be a folder that can be made"):
        make_folder(root)
        if any(root.iterdir()) and not is_unfinished(root):
            raise FileAccessError(
                f"{str(root)!r} must be a folder that is not there or is empty, got one with other files. Choose "
                'another, or open the store that is there: CodeStore.open(path, "a").'
            )
        make_folder(root / GROUP)
    lock = WriterLock(root)
    if (root / MANIFEST).exists():
        lock.release()
        raise FileAccessError(f"{str(root / LOCK)!r} must be free while a store is made, got another writer's store.")
    return lock
