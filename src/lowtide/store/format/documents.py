"""What Zarr readers are told: the `zarr.json` of the groups and of every array."""

from __future__ import annotations

from typing import Any

from lowtide.store.format.array import CODES, group_document
from lowtide.store.format.manifest import Manifest

__all__ = ["documents"]


def documents(manifest: Manifest, n_rows: int) -> dict[str, bytes]:
    """Return every `zarr.json` of a store with that many rows, by its name."""
    about = {"lowtide": {"manifest": "lowtide/manifest.json"}}
    found = {"zarr.json": group_document(about), "lowtide/zarr.json": group_document({})}
    for name, array in manifest.arrays.items():
        categories = manifest.columns[name].categories if name in manifest.columns else None
        attributes: dict[str, Any] = {"lowtide": manifest.codes} if name == CODES else {}
        if categories is not None:
            attributes["categories"] = list(categories)
        found[f"{name}/zarr.json"] = array.document(n_rows, attributes)
    return found
