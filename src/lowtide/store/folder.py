"""The folder of a store holds regular files only, whatever a manifest or a link says, and has one writer at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import weakref
from pathlib import Path

from lowtide.encoders import Encoder
from lowtide.errors import FileAccessError, FileFormatError
from lowtide.persist import PathLike, as_path, describe, load, refused, refusing, sync_folder
from lowtide.store.manifest import Manifest

# Files of lowtide's own are in a group of their own, where Zarr readers do not stumble over them.
GROUP = "lowtide"
MANIFEST = f"{GROUP}/manifest.json"
ENCODER = f"{GROUP}/encoder.lowtide"
LOCK = f"{GROUP}/lock"

LARGEST_TEXT = 1 << 28


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


def open_inside(root: Path, name: str) -> int:
    """Return the descriptor of a regular file, links not followed; FileNotFoundError where there is none."""
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
    return descriptor


def read_inside(root: Path, name: str) -> bytes:
    """Return the bytes of a small file of the store."""
    with os.fdopen(open_inside(root, name), "rb") as stream:
        data = stream.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise FileFormatError(f"{str(root / name)!r} must have at most {LARGEST_TEXT} bytes, got more.")
    return data


def load_encoder(root: Path, manifest: Manifest) -> Encoder | None:
    """Return the encoder of a store, the one that the manifest means; None where it was made of codes."""
    if manifest.encoder_sha256 is None:
        return None
    place = root / ENCODER
    os.close(open_inside(root, ENCODER))
    if describe(place)["sha256"] != manifest.encoder_sha256:
        raise FileFormatError(f"{str(place)!r} must be the file that the manifest names, got another.")
    encoder: Encoder = load(place, kind=Encoder)
    own, template = encoder.drawn_.template, manifest.template
    if own is None or own.with_codebook(template.codebook) != template.with_codebook(template.codebook):
        raise FileFormatError(f"{str(root)!r} must hold the encoder of its codes, got another.")
    return encoder


def read_manifest(root: Path) -> Manifest:
    """Return what a store says of itself now."""
    try:
        return Manifest.from_bytes(repr(str(root / MANIFEST)), read_inside(root, MANIFEST))
    except FileNotFoundError as error:
        raise FileFormatError(
            f"{str(root)!r} must be a code store, a folder with {MANIFEST}, got none. CodeStore.create makes one."
        ) from error


class WriterLock:
    """The right to write, from here until `release` or the end of the process, however it ends; readers need none."""

    def __init__(self, root: Path) -> None:
        must = f"{str(root)!r} must have one writer at a time"
        with refusing(must, f"Check the permissions of {str(root / LOCK)!r}."):
            descriptor = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        self.release = weakref.finalize(self, _release, descriptor, os.getpid())
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
                must += f"; process {holder or 'unknown'} has it"
            self.release()
            raise refused(must, error, "Wait for it, or open the store for reading.") from error
        with contextlib.suppress(OSError):  # whose it is helps others; on a full disk they are told less
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _release(descriptor: int, owner: int) -> None:
    """Give the lock up; in a process that was forked meanwhile, only its copy of the descriptor."""
    if os.getpid() == owner:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
