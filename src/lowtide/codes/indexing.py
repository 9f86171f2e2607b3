"""Which rows of codes a key means."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowtide.errors import CodeLayoutError

__all__ = ["row_key"]


def row_key(key: Any) -> Any:
    """Return a key that takes rows and keeps two dimensions."""
    if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
        key = key[0]  # how scikit-learn takes rows of anything with a shape
    if isinstance(key, slice):
        return key
    if isinstance(key, tuple):
        raise CodeLayoutError("Codes are indexed by rows only, got a tuple. Decode to take columns: np.asarray(C).")
    index = np.asarray(key)
    if index.ndim == 1 and index.size == 0 and index.dtype.kind != "b":
        return index.astype(np.intp)
    if index.ndim == 0 and index.dtype.kind in "iu":
        return index.reshape(1)
    if index.ndim != 1 or index.dtype.kind not in "iub":
        raise CodeLayoutError(
            f"Codes are indexed by a slice, an integer, integers or a mask, got {index.ndim}-D of {index.dtype}."
        )
    return index
