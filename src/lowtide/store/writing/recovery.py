"""What a writer that stopped in between has left behind."""

from __future__ import annotations

import re
from pathlib import Path

from lowtide.errors import FileFormatError
from lowtide.persist import write_whole
from lowtide.store.folder import GROUP, is_part
from lowtide.store.format import Manifest, StoredArray
from lowtide.store.reading import MappedShard

__all__ = ["discard_uncommitted"]

_SHARD = re.compile(r"c\.([0-9]{1,15})(\.0)?")


def discard_uncommitted(root: Path, manifest: Manifest) -> tuple[str, ...]:
    """Remove everything that no commit speaks of, and return the names of those files; the caller is the one writer.

    Files that were never given their name go, shards past the last, and rows past the last in the last shard. Committed
    rows are where they were: a shard is only ever replaced by one that begins with the same rows.
    """
    found = []
    arrays = manifest.arrays
    for name in ("", GROUP, *arrays):
        found += _remove_parts(root, name)
    for array in arrays.values():
        n_shards = array.layout.n_shards(manifest.n_rows)
        found += _remove_shards(root / array.name, n_shards)
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and path.name not in (GROUP, *arrays)):
        if _is_uncommitted_column(folder):
            found += _remove_parts(root, folder.name) + _remove_shards(folder, 0)
            folder.rmdir()
    for array in arrays.values():
        if manifest.n_rows and _trim_last(root, array, manifest.n_rows):
            found.append(f"the end of {array.file(array.layout.n_shards(manifest.n_rows) - 1)}")
    return tuple(found)


def _remove_parts(root: Path, name: str) -> list[str]:
    """Remove the files of a folder that were never given their name."""
    files = sorted((root / name).iterdir()) if (root / name).is_dir() else []
    parts = [file for file in files if is_part(file.name)]
    for file in parts:
        file.unlink()
    return [f"{name}/{file.name}".lstrip("/") for file in parts]


def _remove_shards(folder: Path, first: int) -> list[str]:
    """Remove the shards of an array from the first on."""
    shards = [(file, _SHARD.fullmatch(file.name)) for file in sorted(folder.iterdir())] if folder.is_dir() else []
    found = []
    for file, name in shards:
        if name is not None and int(name[1]) >= first:
            file.unlink()
            found.append(f"{folder.name}/{file.name}")
    return found


def _is_uncommitted_column(folder: Path) -> bool:
    """Whether a folder holds nothing but shards and parts of them: a `zarr.json` comes with a column's first commit."""
    names = [] if folder.is_symlink() else [file.name for file in folder.iterdir()]
    return not folder.is_symlink() and all(_SHARD.fullmatch(name) or is_part(name) for name in names)


def _trim_last(root: Path, array: StoredArray, n_rows: int) -> bool:
    """Write the last shard again without rows past the last; False where there are none."""
    layout = array.layout
    shard = layout.n_shards(n_rows) - 1
    kept = layout.rows_in(shard, n_rows)
    try:
        mapped = MappedShard(root, array, shard, kept)
        last = layout.n_chunks(kept) - 1
        if mapped.n_chunks == last + 1 and not mapped.chunk(last)[kept - last * layout.chunk_rows :].any():
            return False
        rows = [mapped.chunk(i) for i in range(last + 1)]
    except FileFormatError:
        return False  # damage is for `verify` and for whoever reads these rows; nothing is thrown away on its account
    rows[-1] = rows[-1][: kept - last * layout.chunk_rows]
    write_whole(root / array.file(shard), array.pieces(rows))
    return True
