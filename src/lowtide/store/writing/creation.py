"""A new store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lowtide._checks import check_integer, check_option, fail
from lowtide.codes import Codes
from lowtide.encoders import no_codes
from lowtide.errors import FileAccessError
from lowtide.persist import PathLike, describe, save
from lowtide.store.columns import NORMS
from lowtide.store.folder import ENCODER, GROUP, LOCK, MANIFEST, TEMPLATE, as_folder, is_part, make_folder, refused
from lowtide.store.format import CODES, DTYPES, LARGEST_CHUNK, Column, Manifest, default_rows, is_column_name
from lowtide.store.writing.lock import WriterLock
from lowtide.store.writing.writer import commit, write_documents

__all__ = ["create_store", "description", "is_unfinished"]

_OWNER = "CodeStore.create"


def create_store(
    root: Path,
    encoder: Any,
    columns: Mapping[str, str],
    chunk_rows: int | None,
    shard_chunks: int | None,
    metadata: dict[str, Any],
) -> tuple[WriterLock, Manifest]:
    """Make the folder and the first commit, of no rows; the manifest comes last, so a store is there or is not."""
    template = encoder[:0] if isinstance(encoder, Codes) else no_codes(_OWNER, encoder)
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
        files = {TEMPLATE: _saved(root / TEMPLATE, template)}
        if not isinstance(encoder, Codes):
            files[ENCODER] = _saved(root / ENCODER, encoder)
        manifest = Manifest(
            template.packed.shape[1],
            rows,
            chunks,
            description(template),
            files,
            columns=kept,
            checksums=dict.fromkeys((CODES, *kept), ()),
            metadata=metadata,
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
        str(file) in (LOCK, TEMPLATE, ENCODER) or file.name == "zarr.json" or is_part(file.name) for file in files
    )


def description(template: Codes) -> dict[str, Any]:
    """Return what a reader of packed rows must know to make sense of them, as JSON has it."""
    return {
        "bits": template.bits,
        "n_levels": template.n_levels,
        "codebook": template.codebook.tolist(),
        "fingerprint": template.fingerprint.hex(),
        "times_norms": template.is_times_norms,
    }


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
