"""Arrays for large results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lowtide._core._lowtide_core import large_result, result_bytes

__all__ = ["empty_result"]

# Entries of at most 8 bytes: a single row is not to wait for its size to be worked out.
_SURELY_SMALL = large_result // 8


def empty_result(shape: tuple[int, int], dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Return an array of any content, as np.empty does.

    From 32 MB on it is in pages that the next such result takes over, once nothing refers to this one any more. New
    pages are filled with zeros by the system, which takes longer than to compute features into them.

    Examples
    --------
    >>> from lowtide._core.results import empty_result
    >>> first = empty_result((4096, 4096))
    >>> place = first.ctypes.data
    >>> del first
    >>> empty_result((4000, 4096)).ctypes.data == place
    True
    """
    if shape[0] * shape[1] < _SURELY_SMALL:
        return np.empty(shape, dtype)
    kind = np.dtype(dtype)
    n_bytes = shape[0] * shape[1] * kind.itemsize
    if n_bytes < large_result:
        return np.empty(shape, kind)
    try:
        pages = result_bytes(n_bytes)
    except MemoryError:
        raise MemoryError(
            f"A result of shape {shape} in {kind} needs {n_bytes / 2**30:.3g} GiB, which the system refused. "
            "Pass fewer rows at a time."
        ) from None
    return pages.view(kind).reshape(shape)
