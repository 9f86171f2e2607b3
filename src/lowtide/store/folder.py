"""The folder of a store: its files are regular ones inside it, whatever a manifest or a link says."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path
from typing import Any

from lowtide.errors import FileAccessError, FileFormatError
from lowtide.persist import PathLike, describe, load
from lowtide.store.format import Manifest

__all__ = [
    "ENCODER",
    "GROUP",
    "LARGEST_TEXT",
    "LOCK",
    "MANIFEST",
    "TEMPLATE",
    "as_folder",
    "is_part",
    "load_inside",
    "make_folder",
    "open_inside",
    "read_inside",
    "read_manifest",
    "refused",
]

# Files of lowtide's own are in a group of their own, where Zarr readers do not stumble over them.
GROUP = "lowtide"
MANIFEST = f"{GROUP}/manifest.json"
ENCODER = f"{GROUP}/encoder.lowtide"
TEMPLATE = f"{GROUP}/template.lowtide"
LOCK = f"{GROUP}/lock"

LARGEST_TEXT = 1 << 28
_PART = re.compile(r"\.lowtide-[0-9a-f]{16}\.part")


def as_folder(path: PathLike) -> Path:
    """Return the absolute place of a store, so that a later change of the working folder does not move it."""
    try:
        text = os.fsdecode(path)
    except TypeError as error:
        raise FileAccessError(f"path must be a text or a path, got {path!r}. Name a folder.") from error
    if "\0" in text or not text:
        raise FileAccessError(f"path must name a folder, got {text!r}.")
    return Path(os.path.abspath(text))


def make_folder(path: Path) -> None:
    """Make a folder that may be there; the name of a new one is made durable."""
    if path.is_dir():
        return
    try:
        path.mkdir()
    except OSError as error:
        raise refused(f"{str(path)!r} must be a folder that can be made", error) from error
    with contextlib.suppress(OSError):  # not every file system can sync a folder
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_part(name: str) -> bool:
    """Whether a file is one that was never given its name."""
    return _PART.fullmatch(name) is not None


def refused(must: str, error: OSError) -> FileAccessError:
    """Return what the system said, with its error number."""
    refusal = FileAccessError(f"{must}, got: {error.strerror or error}.")
    refusal.errno = error.errno
    return refusal


def open_inside(root: Path, name: str) -> int:
    """Return the descriptor of a regular file of the store, opened for reading; links are not followed.

    Raises
    ------
    FileNotFoundError
        When it is not there.
    """
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


def load_inside(root: Path, name: str, sha256: str, kind: type | tuple[type, ...] | None = None) -> Any:
    """Return the object of a model file of the store, the one that the manifest means."""
    os.close(open_inside(root, name))
    if describe(root / name)["sha256"] != sha256:
        raise FileFormatError(f"{str(root / name)!r} must be the file that the manifest names, got another.")
    return load(root / name, kind=kind)


def read_manifest(root: Path) -> Manifest:
    """Return what a store says of itself now."""
    owner = repr(str(root / MANIFEST))
    try:
        manifest = Manifest.from_bytes(owner, read_inside(root, MANIFEST))
    except FileNotFoundError as error:
        raise FileFormatError(
            f"{str(root)!r} must be a code store, a folder with {MANIFEST}, got none. CodeStore.create makes one."
        ) from error
    if TEMPLATE not in manifest.files:
        raise FileFormatError(f"{owner} must name the template of the codes, got {sorted(manifest.files)}.")
    return manifest
