"""Whether everything in a store is what was written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lowtide.errors import FileFormatError
from lowtide.store.folder import read_inside
from lowtide.store.format import CODES, Manifest, documents
from lowtide.store.reading.mapped import RowCheck
from lowtide.store.reading.reader import ArrayReader

__all__ = ["damage_of"]


def damage_of(root: Path, manifest: Manifest, check: RowCheck | None = None) -> Iterator[Exception]:
    """Yield an error for each shard, chunk or description that is not what was written; reads every byte once."""
    for array in manifest.arrays.values():
        reader = ArrayReader(root, array, manifest.n_rows, check if array.name == CODES else None)
        yield from reader.damage(manifest.checksums[array.name])
    for name, expected in documents(manifest, manifest.n_rows).items():
        try:
            found = json.loads(read_inside(root, name))
            if not _agree(found, json.loads(expected), manifest):
                yield FileFormatError(f"{str(root)!r}: {name} must describe the committed rows to Zarr readers.")
        except FileNotFoundError:
            yield FileFormatError(f"{str(root)!r}: {name} must be there, got no such file.")
        except (ValueError, RecursionError) as error:
            yield FileFormatError(f"{str(root)!r}: {name} must be JSON, got: {str(error)[:100]}.")
        except OSError as error:
            yield error


def _agree(found: Any, expected: Any, manifest: Manifest) -> bool:
    """Whether a description is the expected one, or that of the commit before: the manifest comes first."""
    if found == expected:
        return True
    if not isinstance(found, dict) or "shape" not in expected:
        return False
    shape, attributes = found.get("shape"), found.get("attributes")
    if not isinstance(shape, list) or shape[:1] != [manifest.n_rows_before] or not isinstance(attributes, dict):
        return False
    now, before = expected["attributes"].get("categories", []), attributes.get("categories", [])
    lagging = {**expected, "shape": [manifest.n_rows_before, *expected["shape"][1:]], "attributes": attributes}
    return bool(
        found == lagging and before == now[: len(before)] and attributes.keys() == expected["attributes"].keys()
    )
