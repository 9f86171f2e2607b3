"""One writer a store: a lock that ends with the process that holds it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import weakref
from pathlib import Path

from lowtide.errors import FileAccessError
from lowtide.store.folder import LOCK

__all__ = ["WriterLock"]


class WriterLock:
    """The right to write to a store, from here until `release`, or until the process ends, however it ends.

    Readers take no notice of it.

    Parameters
    ----------
    root : Path
    """

    def __init__(self, root: Path) -> None:
        place = root / LOCK
        try:
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise _refused(
                root, error.errno, f"got: {error.strerror}. Check the permissions of {str(place)!r}."
            ) from error
        self.release = weakref.finalize(self, _release, descriptor, os.getpid())
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            busy = error.errno in (errno.EWOULDBLOCK, errno.EACCES)
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() if busy else ""
            self.release()
            why = f"process {holder or 'unknown'} has it" if busy else f"got: {error.strerror}"
            raise _refused(root, error.errno, f"{why}. Wait for it, or open the store for reading.") from error
        with contextlib.suppress(OSError):  # whose it is helps others; on a full disk they are told less
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _release(descriptor: int, owner: int) -> None:
    """Give the lock up; in a process that was forked meanwhile, only its copy of the descriptor."""
    if os.getpid() == owner:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _refused(root: Path, number: int | None, why: str) -> FileAccessError:
    refusal = FileAccessError(f"{str(root)!r} must have one writer at a time; {why}")
    refusal.errno = number
    return refusal
