"""What differs between operating systems: locks of files, reads at a place, flags, processors and limits.

POSIX calls where the system has them, and elsewhere (Windows, some of macOS) what comes nearest. Each choice is made
from what the module of the system offers, not from its name, so that a test can take an offer away.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from collections.abc import Sequence
from types import ModuleType

__all__ = [
    "BINARY",
    "DIRECTORY",
    "NO_FOLLOW",
    "NO_WAIT",
    "keep_mode",
    "lock",
    "open_in",
    "raise_file_limit",
    "read_at",
    "read_pieces",
    "rename_while_open",
    "unlock",
    "usable_processors",
    "write_at",
]


def _module(name: str) -> ModuleType | None:
    """Return a module of the standard library that not every system has."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_fcntl, _msvcrt, _resource = _module("fcntl"), _module("msvcrt"), _module("resource")

# Flags of os.open: bytes as they are, and not inherited; no pipe that blocks; no link; a folder. 0 where there is no
# such flag: then links are followed, which Windows has only for who may make them.
BINARY: int = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)

# A file that is open cannot be renamed on Windows.
rename_while_open: bool = _msvcrt is None

# The byte that is locked where locks are of bytes, and keep others from reading them: far beyond any that is stored.
_LOCKED_BYTE = 1 << 43
# Where there is no read at a place, the place of the descriptor is moved: by one thread at a time.
_moving = threading.Lock()


def lock(descriptor: int, wait: bool = False) -> None:
    """Lock a file until it is closed or the process ends; OSError if another has it, or there are no locks."""
    if _fcntl is not None:
        _fcntl.flock(descriptor, _fcntl.LOCK_EX if wait else _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    elif _msvcrt is not None:
        _lock_byte(descriptor, _msvcrt.LK_LOCK if wait else _msvcrt.LK_NBLCK)
    else:
        raise OSError("this system has no locks of files")


def unlock(descriptor: int) -> None:
    """Give a lock up before the file is closed; nothing where this file has none."""
    if _fcntl is not None:
        _fcntl.flock(descriptor, _fcntl.LOCK_UN)
    elif _msvcrt is not None:
        with contextlib.suppress(OSError):  # a lock that another has
            _lock_byte(descriptor, _msvcrt.LK_UNLCK)


def _lock_byte(descriptor: int, how: int) -> None:
    assert _msvcrt is not None
    with _moving:
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            _msvcrt.locking(descriptor, how, 1)
        finally:
            os.lseek(descriptor, place, os.SEEK_SET)


def read_at(descriptor: int, n_bytes: int, begin: int) -> bytes:
    """Return up to so many bytes of a file from a place on."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, n_bytes, begin)
    with _moving:
        os.lseek(descriptor, begin, os.SEEK_SET)
        return os.read(descriptor, n_bytes)


def write_at(descriptor: int, data: bytes, begin: int) -> int:
    """Write bytes to a file from a place on; return how many were."""
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, data, begin)
    with _moving:
        os.lseek(descriptor, begin, os.SEEK_SET)
        return os.write(descriptor, data)


def read_pieces(descriptor: int, pieces: Sequence[memoryview], begin: int) -> int:
    """Fill pieces of memory from a place of a file on, as far as one call goes; return the bytes read, 0 at its end."""
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, pieces, begin)
    data = read_at(descriptor, min(pieces[0].nbytes, 1 << 24), begin)
    pieces[0].cast("B")[: len(data)] = data
    return len(data)


def open_in(folder: str | os.PathLike[str], name: str, flags: int) -> int:
    """Open a file of a folder, where the system can without following a link on the way; return its descriptor."""
    if os.open not in os.supports_dir_fd or not DIRECTORY:
        return os.open(os.path.join(folder, name), flags)
    inner = os.open(folder, flags & ~NO_WAIT | DIRECTORY)
    try:
        return os.open(name, flags, dir_fd=inner)
    finally:
        os.close(inner)


def keep_mode(descriptor: int, mode: int) -> None:
    """Give an open file the permissions of the one that it replaces, where files have any."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def usable_processors() -> int:
    """Return how many processors this process may use, or how many there are where the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def raise_file_limit(wanted: int) -> None:
    """Let the process have so many open files, as far as the system allows and has such a limit."""
    if _resource is None:
        return
    soft, hard = _resource.getrlimit(_resource.RLIMIT_NOFILE)
    if hard != _resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != _resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            _resource.setrlimit(_resource.RLIMIT_NOFILE, (wanted, hard))
