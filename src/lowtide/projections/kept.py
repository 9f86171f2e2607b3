"""Drawn arrays that come back from a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail


def kept_array(owner: str, arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return a kept array as float32 of its own; the shape is compared before anything of that size is made."""
    array = arrays[name]
    if array.dtype != np.float32 or array.shape != shape or not np.isfinite(array).all():
        raise fail(owner, f"{name} must be finite float32 of shape {shape}", f"{array.dtype} {array.shape}")
    return np.array(array, order="C")
