"""Check whether two sets of codes may meet: equal frequencies, and as many decoded columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import CodeLayoutError, FingerprintMismatchError

if TYPE_CHECKING:
    from lowtide.codes.codes import Codes

__all__ = ["check_same_frequencies", "same_norms", "same_scale"]


def check_same_frequencies(owner: str, left: Codes, right: Codes) -> None:
    """Raise unless both were made with the same frequencies and have equally many decoded columns."""
    if left.fingerprint != right.fingerprint:
        raise FingerprintMismatchError(
            f"{owner}: codes must come from one encoder, or from encoders of the same frequencies, got fingerprints "
            f"{left.fingerprint.hex()} and {right.fingerprint.hex()}. Encode both with the same fitted encoder."
        )
    if left.shape[1] != right.shape[1]:
        raise CodeLayoutError(
            f"{owner}: codes must have equal widths, got {left.n_levels} levels, {left.shape[1]} columns and "
            f"{right.n_levels} levels, {right.shape[1]} columns. Use codebooks with as many values a level."
        )


def same_scale(left: Codes, right: Codes) -> bool:
    """Return whether the decoded columns of both have the same factors."""
    return _same(left.scale, right.scale)


def same_norms(left: Codes, right: Codes) -> bool:
    """Return whether both have the same norms, and both or neither multiply their rows by them."""
    return left.is_times_norms == right.is_times_norms and _same(left.norms, right.norms)


def _same(left: NDArray[np.float32] | None, right: NDArray[np.float32] | None) -> bool:
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right)
