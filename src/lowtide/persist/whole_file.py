"""Write files that are either complete or not there, and read them with care."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from lowtide.errors import FileAccessError, LowtideError
from lowtide.persist.container import START_BYTES, Bytes, Container, check_start, unpack

PathLike = str | os.PathLike[str]


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
    try:
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
    except FileAccessError:
        raise
    except OSError as error:
        remedy = "Choose a folder that exists, that you may write to and that has room."
        raise refused(f"{str(path)!r} must be writable", error, remedy) from error
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
