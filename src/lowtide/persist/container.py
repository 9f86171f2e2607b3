"""The bytes of a file: safetensors whose metadata begin with the version of the format and a checksum.

    8 bytes      length of the text that follows, little-endian
    text         {"__metadata__":{"lowtide":"2","sha256":"<64 digits>","header":"<JSON>"},"<part>/<array>":{...},...},
                 padded with spaces to a multiple of 8 bytes
    arrays       little-endian, C order, one after the other, wide types first

The header says what the file holds, and has a specification of each part:

    {"kind":"RandomFeatures","parts":{"encoder":{"version":1,"spec":{...}},...},"writer":"lowtide ...","metadata":{...}}

The sha256 is that of the whole file with the 64 digits replaced by zeros. It stands at a place that is found without
reading any JSON, so nothing is interpreted before it is known to be what was written. Files are complete or not there.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import re
import secrets
import stat
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowtide import _system
from lowtide.cancel import aside, poll
from lowtide.checksum import crc32c
from lowtide.errors import FileAccessError, FileFormatError, LowtideError, ParameterError

FORMAT = "2"
# safetensors allows 100 MB. A third of that names a million columns, and is read in seconds.
_LONGEST_TEXT = 1 << 25
_START = re.compile(rb'\{"__metadata__":\{"lowtide":"([0-9]{1,6})","sha256":"([0-9a-f]{64})","header":"')
_MOST_AXES = 4
# Bytes of a file that always hold the start.
START_BYTES = 192
# Bytes that are read and verified at a time of a file that stays open.
_BLOCK = 1 << 18
# Pieces of memory that a call of the system fills.
_MOST_PIECES = 512
# Bytes that are written at a time: some milliseconds of a disk, between which the work can be stopped.
_WRITTEN_BYTES = 1 << 22
# Names under which one file may be on its way at a time: more writers of one file take random ones.
_PART_NAMES = 4

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I8": "|i1", "U8": "|u1"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}

Bytes = bytes | memoryview
PathLike = str | os.PathLike[str]


class Place(NamedTuple):
    """An array in a file: its type and shape, and where its bytes begin after the text."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int

    @property
    def n_bytes(self) -> int:
        """Bytes of the array."""
        return prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Outline:
    """What a file holds, without its arrays: these are read when they are asked for."""

    sha256: str
    header: dict[str, Any]
    places: dict[str, Place]
    text_bytes: int
    file: CheckedFile

    def rows(self, name: str, begin: int, end: int) -> NDArray[Any]:
        """Return entries [begin, end) of the first axis of an array."""
        place = self.places[name]
        step, first = place.dtype.itemsize * prod(place.shape[1:]), self.text_bytes + place.begin
        data = self.file.read(first + begin * step, first + end * step)
        rows = data.view(place.dtype).reshape(end - begin, *place.shape[1:])
        return rows.astype(place.dtype.newbyteorder("="), copy=False)


@dataclass(frozen=True)
class Container:
    """What a file holds: its header as it was packed, its arrays as views of the bytes, and the size of all else."""

    sha256: str
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    text_bytes: int


def pack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> list[Bytes]:
    """Return the bytes of a file in pieces; equal content gives equal bytes."""
    # safetensors 0.8.0 writes the memory of an array that is not C-contiguous as if it were.
    stored = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    ordered = sorted(stored.items(), key=lambda item: (-item[1].itemsize, item[0]))
    table, end = {}, 0
    for name, array in ordered:
        begin, end = end, end + array.nbytes
        shape = list(arrays[name].shape)
        table[name] = {"dtype": _NAMES[array.dtype], "shape": shape, "data_offsets": [begin, end]}
    data: list[Bytes] = [array.reshape(-1).view(np.uint8).data for _, array in ordered]
    sha256 = _sha256([_text(header, table, "0" * 64), *data])
    return [_text(header, table, sha256), *data]


def _sha256(pieces: Iterable[Bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _text(header: dict[str, Any], table: dict[str, Any], sha256: str) -> bytes:
    """Return everything before the arrays."""
    try:
        inner = json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise ParameterError(f"save: numbers in a header must be finite, got others: {error}.") from error
    metadata = {"lowtide": FORMAT, "sha256": sha256, "header": inner}
    text = json.dumps({"__metadata__": metadata, **table}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _LONGEST_TEXT:
        raise ParameterError(
            f"save: names, labels and parameters must take at most {_LONGEST_TEXT} bytes, got {len(text)}. Use shorter "
            "ones, or numbers."
        )
    return len(text).to_bytes(8, "little") + text


def check_start(owner: str, start: bytes, n_bytes: int) -> re.Match[bytes]:
    """Return version and checksum of a file of n_bytes by its first `START_BYTES`, or refuse it before more is read."""
    found = _START.match(start, 8)
    if found is None:
        raise FileFormatError(f"{owner} must be a file of lowtide.save, got another, or one whose start is damaged.")
    version = found[1].decode()
    if version != FORMAT:
        remedy = "Update lowtide." if int(version) > int(FORMAT) else "Save it again with this version of lowtide."
        raise FileFormatError(f"{owner} must have format {FORMAT}, got {version}. {remedy}")
    length = int.from_bytes(start[:8], "little")
    if length > _LONGEST_TEXT or length % 8 or 8 + length > n_bytes:
        raise FileFormatError(f"{owner} must hold the header of {length} bytes that it announces, got {n_bytes} bytes.")
    return found


def unpack(owner: str, data: NDArray[np.uint8]) -> Container:
    """Return what the bytes of a whole file hold, once its checksum has been found right; arrays share their memory."""
    found = check_start(owner, data[:START_BYTES].tobytes(), len(data))
    begin, end = found.span(2)
    if _sha256([data[:begin].data, b"0" * (end - begin), data[end:].data]) != found[2].decode():
        raise _damaged(owner)
    text_bytes = 8 + int.from_bytes(data[:8].tobytes(), "little")
    header, places = _parse_text(owner, data[8:text_bytes].tobytes(), len(data) - text_bytes)
    arrays = {
        name: view.astype(place.dtype.newbyteorder("="), copy=False)
        for name, place in places.items()
        for view in [data[text_bytes + place.begin :][: place.n_bytes].view(place.dtype).reshape(place.shape)]
    }
    return Container(found[2].decode(), header, arrays, text_bytes)


def _damaged(owner: str) -> FileFormatError:
    return FileFormatError(f"{owner} must have the checksum it was written with: it is damaged or cut short.")


def _parse_text(owner: str, text: bytes, n_bytes: int) -> tuple[dict[str, Any], dict[str, Place]]:
    """Return the header, and where each array is in the n_bytes after the text."""
    try:
        table = _parse(text)
        header = _parse(table.pop("__metadata__")["header"])
        # Those of parts are refused by who reads them, with the part's name.
        for place, number in numbers_in({name: value for name, value in header.items() if name != "parts"}):
            if not isfinite(number):
                raise ValueError(f"{number} for {place[1:]}, which must be a finite number")
        return header, _places(table, n_bytes)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FileFormatError(f"{owner} must describe what it holds, got: {str(error)[:200]}.") from error


def _parse(text: bytes | str) -> dict[str, Any]:
    """Return a JSON object; a name that comes twice would let two readers see two things."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a name comes twice")
        return dict(pairs)

    parsed = json.loads(text, object_pairs_hook=unique)
    if not isinstance(parsed, dict):
        raise TypeError(f"a {type(parsed).__name__} for an object")
    return parsed


def numbers_in(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers with a point of what JSON held, each with its place: JSON's own have NaN, and 1e999."""
    if isinstance(value, float):
        yield place, value
    elif isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers_in(inner, f"{place}.{key}")


def _places(table: dict[str, Any], n_bytes: int) -> dict[str, Place]:
    """Return the arrays of a table that covers the bytes without gap or overlap."""
    places, position = {}, 0
    for name, entry in sorted(table.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        kind, shape = np.dtype(_TYPES[entry["dtype"]]), tuple(entry["shape"])
        # Few and small numbers first: a product of many huge ones would take forever.
        numbers = (begin, end, *shape)
        small = len(shape) <= _MOST_AXES and all(type(size) is int and 0 <= size < 1 << 62 for size in numbers)
        if not small or begin != position or prod(shape) * kind.itemsize != end - begin:
            raise ValueError(f"array {name!r} of shape {shape} at bytes {begin} to {end}")
        places[name] = Place(kind, shape, begin)
        position = end
    if position != n_bytes:
        raise ValueError(f"{position} bytes of arrays in {n_bytes}")
    return places


def write_whole(path: PathLike, pieces: Iterable[Bytes], *, can_stop: bool = True) -> None:
    """Write to a new file beside `path`, make it durable, and rename it over `path`.

    A reader, and a crash at any moment, finds the old file or the whole new one. A link is followed; the permissions of
    a file that is replaced are kept. What a process that was killed has left of an earlier try is removed.

    Parameters
    ----------
    path : str or path-like
    pieces : iterable of bytes
    can_stop : bool, default=True
        Whether Ctrl-C or a token may stop it before the file has its name; not what must be done once it has begun.
    """
    write_together({path: pieces}, can_stop=can_stop)


def write_together(files: Mapping[PathLike, Iterable[Bytes]], *, can_stop: bool = True) -> None:
    """Write several files as `write_whole` does one: all are whole and durable before the first gets its name.

    `files` are iterables of bytes by path.
    """
    remedy = "Choose a folder that exists, that you may write to and that has room."
    waiting: list[tuple[Path, Path]] = []
    opened = contextlib.ExitStack()  # a file is locked, so nobody takes it for one that was left, until it is closed
    try:
        for path, pieces in files.items():
            target = Path(os.path.realpath(as_path(path)))
            with refusing(f"{str(path)!r} must be writable", remedy):
                replaced = None
                with contextlib.suppress(FileNotFoundError):
                    replaced = target.stat().st_mode
                if replaced is not None and not stat.S_ISREG(replaced):
                    raise FileAccessError(f"{str(target)!r} must be a regular file or not be there, got another kind.")
                part, descriptor = _new_part(target)
                waiting.append((part, target))
                stream = opened.enter_context(os.fdopen(descriptor, "wb", buffering=0))
                if replaced is not None:
                    _system.keep_mode(descriptor, stat.S_IMODE(replaced))
                _write_all(stream, pieces, can_stop)
                aside(os.fsync, descriptor) if can_stop else os.fsync(descriptor)  # a slow disk takes seconds
        if not _system.rename_while_open:
            opened.close()
        for part, target in waiting:
            with refusing(f"{str(target)!r} must be writable", remedy):
                part.replace(target)
    finally:
        # Once renamed there is nothing under these names any more; otherwise nothing may stay.
        for part, _ in waiting:
            with contextlib.suppress(OSError):
                part.unlink()
        opened.close()
    for folder in {target.parent for _, target in waiting}:
        sync_folder(folder)


def _write_all(stream: io.RawIOBase, pieces: Iterable[Bytes], can_stop: bool) -> None:
    """Write all bytes; a stream without a buffer has nothing left to write, and to fail at, when it is closed."""
    for piece in pieces:
        left = memoryview(piece).cast("B")
        while left:
            if can_stop:
                poll()
            left = left[stream.write(left[:_WRITTEN_BYTES]) or 0 :]


def _new_part(target: Path) -> tuple[Path, int]:
    """Return a new file beside a target, open and locked, under a name that a later writer of the target looks at.

    The lock ends with the process: a file under such a name that nobody has locked was left by one that was killed.
    """
    found: tuple[Path, int] | None = None
    for slot in range(_PART_NAMES):
        part = part_of(target, slot)
        if found is None:
            with contextlib.suppress(FileExistsError):
                found = _locked(part)
                continue
        _remove_left(part)
        if found is None:
            with contextlib.suppress(FileExistsError):
                found = _locked(part)
    return found or _locked(target.with_name(f".lowtide-{secrets.token_hex(8)}.part"))


def part_of(target: Path, slot: int) -> Path:
    """Return one of the names under which a file is written before it gets its own."""
    return target.with_name(f".lowtide-{hashlib.sha256(f'{target.name}/{slot}'.encode()).hexdigest()[:16]}.part")


def _locked(part: Path) -> tuple[Path, int]:
    """Make a file and lock it; FileExistsError where there is one, or where it was taken for one that was left."""
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _system.BINARY, 0o666)
    try:
        with contextlib.suppress(OSError):  # a file system without locks keeps what is left there
            _system.lock(descriptor, wait=True)
        if not part.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    except BaseException:
        os.close(descriptor)
        raise
    return part, descriptor


def _remove_left(part: Path) -> None:
    """Remove a file that no process is writing."""
    with contextlib.suppress(OSError):
        descriptor = os.open(part, os.O_RDONLY | _system.BINARY | _system.NO_FOLLOW | _system.NO_WAIT)
        try:
            _system.lock(descriptor)
            if os.fstat(descriptor).st_ino == part.lstat().st_ino:
                part.unlink()
        finally:
            os.close(descriptor)


def read(path: PathLike) -> Container:
    """Return what a file holds, in memory of its own."""
    with _opened(path) as (owner, descriptor, n_bytes):
        try:
            data = np.empty(n_bytes, dtype=np.uint8)
        except MemoryError as error:
            remedy = "Read codes block by block: lowtide.persist.open_codes."
            raise FileAccessError(f"{owner} must fit into memory, got too large a file. {remedy}") from error
        if not read_into(descriptor, [data.data], 0):
            raise _damaged(owner)
        return unpack(owner, data)


def scan(path: PathLike) -> Outline:
    """Return what a file says of itself; all of it is read once, and nothing but its text is kept."""
    with _opened(path) as (owner, descriptor, n_bytes):
        file = CheckedFile(owner, os.dup(descriptor), n_bytes)
        found = check_start(owner, file.start, n_bytes)
        if file.sha256(found.span(2)) != found[2].decode():
            raise _damaged(owner)
        text_bytes = 8 + int.from_bytes(file.start[:8], "little")
        header, places = _parse_text(owner, file.read(8, text_bytes).tobytes(), n_bytes - text_bytes)
        return Outline(found[2].decode(), header, places, text_bytes, file)


@contextlib.contextmanager
def _opened(path: PathLike) -> Iterator[tuple[str, int, int]]:
    """Give the name of a file of ours for messages, its descriptor and its size."""
    place = as_path(path)
    owner = repr(str(place))
    with refusing(f"{owner} must be readable", "Check its name and its permissions."):
        # A pipe would block without O_NONBLOCK, and a device may never end.
        descriptor = os.open(place, os.O_RDONLY | _system.BINARY | _system.NO_WAIT)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise FileAccessError(f"{owner} must be a regular file, got another kind. Name the file itself.")
            start = _system.read_at(descriptor, START_BYTES, 0)  # of another kind no more is read
            check_start(owner, start, status.st_size)
            yield owner, descriptor, status.st_size
        finally:
            os.close(descriptor)


class CheckedFile:
    """An open file whose bytes are those of its first reading, or an error; none of it is mapped or kept.

    The checksum of a file is that of all its bytes, so it is read once as a whole. A crc32c of each block is kept from
    then on, 4 bytes for 256 KiB, and compared whenever the block is read again: who changes the file in place, or cuts
    it short, is found out, whatever its size and its times say. A file that is renamed over this one, or the removal
    of its name, goes unnoticed.
    """

    def __init__(self, owner: str, descriptor: int, n_bytes: int) -> None:
        self._owner, self._descriptor, self._n_bytes = owner, descriptor, n_bytes
        weakref.finalize(self, os.close, descriptor)
        self._sums: list[int] = []
        self.start = _system.read_at(descriptor, START_BYTES, 0)

    def sha256(self, zeros: tuple[int, int]) -> str:
        """Read the file once and return the sha256 of its bytes, some of the first block taken as zeros."""
        digest, buffer, self._sums = hashlib.sha256(), np.empty(_BLOCK, dtype=np.uint8), []
        for begin in range(0, self._n_bytes, _BLOCK):
            block = buffer[: self._n_bytes - begin]
            if not read_into(self._descriptor, [block.data], begin):
                raise _damaged(self._owner)
            self._sums.append(crc32c(block))
            if begin == 0:
                block[slice(*zeros)] = ord("0")
            digest.update(block.data)
        return digest.hexdigest()

    def read(self, begin: int, end: int) -> NDArray[np.uint8]:
        """Return bytes [begin, end), at an address that is a multiple of 8 where `begin` is one."""
        first, last = begin // _BLOCK, -(-end // _BLOCK)
        data = np.empty(min(last * _BLOCK, self._n_bytes) - first * _BLOCK, dtype=np.uint8)
        with refusing(f"{self._owner} must be readable"):
            whole = read_into(self._descriptor, [data.data], first * _BLOCK)
        for i in range(first, last):
            place = (i - first) * _BLOCK
            if not whole or crc32c(data[place : place + _BLOCK]) != self._sums[i]:
                raise FileAccessError(
                    f"{self._owner} must stay as it was when it was opened, got other bytes from {i * _BLOCK} on. Open "
                    "it again; give a new file its name by renaming, as lowtide.save does."
                )
        return data[begin - first * _BLOCK : end - first * _BLOCK]


def read_into(descriptor: int, pieces: Sequence[memoryview], begin: int) -> bool:
    """Fill pieces of memory, one after the other, with the bytes of a file from a place on; False where it ends before.

    Parameters
    ----------
    descriptor : int
    pieces : sequence of writable memoryview
    begin : int
    """
    left = [piece for piece in pieces if piece.nbytes]
    done = 0
    while done < len(left):
        n_read = _system.read_pieces(descriptor, left[done : done + _MOST_PIECES], begin)
        if n_read == 0:
            return False
        begin += n_read
        while done < len(left) and n_read >= left[done].nbytes:
            n_read -= left[done].nbytes
            done += 1
        if n_read:  # at most 2 GiB are read at a time
            left[done] = left[done][n_read:]
    return True


def as_path(path: PathLike, what: str = "file") -> Path:
    """Return a path of a user's; `what` it should name is for messages."""
    try:
        text = os.fsdecode(path)
    except TypeError as error:
        raise FileAccessError(f"path must be a text or a path, got {path!r}. Name a {what}.") from error
    if "\0" in text or not text:
        raise FileAccessError(f"path must name a {what}, got {text!r}. Leave out the null character.")
    return Path(text)


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder survive a crash, where the file system can sync a folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | _system.DIRECTORY | _system.BINARY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def refused(must: str, error: Exception, remedy: str = "") -> FileAccessError:
    """Return what the system said, as a sentence, with its error number."""
    reason = getattr(error, "strerror", None) or str(error)
    refusal = FileAccessError(f"{must}, got: {reason}. {remedy}".rstrip())
    refusal.errno = getattr(error, "errno", None)
    return refusal


@contextlib.contextmanager
def refusing(must: str, remedy: str = "") -> Iterator[None]:
    """Raise what the system refuses inside as a sentence: what must hold, what it said, what to do."""
    try:
        yield
    except LowtideError:
        raise
    except OSError as error:
        raise refused(must, error, remedy) from error
