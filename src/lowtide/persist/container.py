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
import hashlib
import json
import mmap
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import FileAccessError, FileFormatError, LowtideError, ParameterError

FORMAT = "2"
# safetensors allows 100 MB. A third of that names a million columns, and is read in seconds.
_LONGEST_TEXT = 1 << 25
_START = re.compile(rb'\{"__metadata__":\{"lowtide":"([0-9]{1,6})","sha256":"([0-9a-f]{64})","header":"')
_MOST_AXES = 4
# Bytes of a file that always hold the start.
START_BYTES = 192

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I8": "|i1", "U8": "|u1"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}

Bytes = bytes | memoryview
PathLike = str | os.PathLike[str]


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
    start = data[:START_BYTES].tobytes()
    found = check_start(owner, start, len(data))
    begin, end = found.span(2)
    if _sha256([data[:begin].data, b"0" * (end - begin), data[end:].data]) != found[2].decode():
        raise FileFormatError(f"{owner} must have the checksum it was written with: it is damaged or cut short.")
    text_bytes = 8 + int.from_bytes(start[:8], "little")
    try:
        table = _parse(data[8:text_bytes].tobytes())
        header = _parse(table.pop("__metadata__")["header"])
        arrays = _views(data[text_bytes:], table)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FileFormatError(f"{owner} must describe what it holds, got: {str(error)[:200]}.") from error
    return Container(found[2].decode(), header, arrays, text_bytes)


def _parse(text: bytes | str) -> dict[str, Any]:
    """Return a JSON object of finite numbers; a name that comes twice would let two readers see two things."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a name comes twice")
        return dict(pairs)

    def finite(number: str) -> float:
        if not isfinite(float(number)):  # 1e999 too, which JSON may say
            raise ValueError(f"{number[:40]} for a finite number")
        return float(number)

    parsed = json.loads(text, object_pairs_hook=unique, parse_float=finite, parse_constant=finite)
    if not isinstance(parsed, dict):
        raise TypeError(f"a {type(parsed).__name__} for an object")
    return parsed


def _views(data: NDArray[np.uint8], table: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a table that covers the data without gap or overlap."""
    arrays, position = {}, 0
    for name, entry in sorted(table.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        kind, shape = np.dtype(_TYPES[entry["dtype"]]), tuple(entry["shape"])
        # Few and small numbers first: a product of many huge ones would take forever.
        small = len(shape) <= _MOST_AXES and all(type(size) is int and 0 <= size < 1 << 62 for size in shape)
        if not small or begin != position or prod(shape) * kind.itemsize != end - begin:
            raise ValueError(f"array {name!r} of shape {shape} at bytes {begin} to {end}")
        view = data[begin:end].view(kind).reshape(shape)
        arrays[name] = view.astype(kind.newbyteorder("="), copy=False)
        position = end
    if position != len(data):
        raise ValueError(f"{position} bytes of arrays in {len(data)}")
    return arrays


def write_whole(path: PathLike, pieces: Iterable[Bytes]) -> None:
    """Write to a new file beside `path`, make it durable, and rename it over `path`.

    A reader, and a crash at any moment, finds the old file or the whole new one. A link is followed; the permissions of
    a file that is replaced are kept.

    Parameters
    ----------
    path : str or path-like
    pieces : iterable of bytes
    """
    target = Path(os.path.realpath(as_path(path)))
    part = target.with_name(f".lowtide-{secrets.token_hex(8)}.part")
    remedy = "Choose a folder that exists, that you may write to and that has room."
    try:
        with refusing(f"{str(path)!r} must be writable", remedy):
            replaced = None
            with contextlib.suppress(FileNotFoundError):
                replaced = target.stat().st_mode
            if replaced is not None and not stat.S_ISREG(replaced):
                raise FileAccessError(f"{str(target)!r} must be a regular file or not be there, got another kind.")
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            with os.fdopen(descriptor, "wb") as stream:
                if replaced is not None:
                    os.fchmod(descriptor, stat.S_IMODE(replaced))
                stream.writelines(pieces)
                stream.flush()
                os.fsync(descriptor)
            part.replace(target)
    finally:
        # Once renamed there is nothing under this name any more; otherwise nothing may stay.
        with contextlib.suppress(OSError):
            part.unlink()
    sync_folder(target.parent)


def read(path: PathLike, *, mapped: bool = False) -> Container:
    """Return what a file holds; `mapped` leaves the arrays in the file, to be read when they are used."""
    place = as_path(path)
    owner = repr(str(place))
    try:
        if not stat.S_ISREG(place.stat().st_mode):  # a pipe would block, a device may never end
            raise FileAccessError(f"{owner} must be a regular file, got another kind. Name the file itself.")
        with place.open("rb") as stream:
            n_bytes = os.fstat(stream.fileno()).st_size
            check_start(owner, stream.read(START_BYTES), n_bytes)  # of another file no more than this is read
            if mapped:
                data = np.frombuffer(mmap.mmap(stream.fileno(), n_bytes, access=mmap.ACCESS_READ), dtype=np.uint8)
            else:
                data = np.empty(n_bytes, dtype=np.uint8)
                stream.seek(0)
                data = data[: stream.readinto(data.data)]
    except LowtideError:
        raise
    except (OSError, ValueError) as error:  # ValueError: the file shrank before it could be mapped
        raise refused(f"{owner} must be readable", error, "Check its name and its permissions.") from error
    except MemoryError as error:
        raise FileAccessError(f"{owner} must fit into memory, got too large a file. Load it with mmap=True.") from error
    return unpack(owner, data)


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
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
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
