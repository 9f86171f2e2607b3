"""Whether two sets of codes may meet: one encoder, one width, one reading of the levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import CodeLayoutError, FingerprintMismatchError

if TYPE_CHECKING:
    from lowtide.codes.codes import Codes

__all__ = ["check_same_encoder", "same_norms", "same_scale"]


def check_same_encoder(owner: str, left: Codes, right: Codes) -> None:
    """Raise unless both come from one encoder and have one decoded width."""
    if left.fingerprint != right.fingerprint:
        raise FingerprintMismatchError(
            f"{owner}: codes must come from one encoder, got fingerprints {left.fingerprint.hex()} and "
            f"{right.fingerprint.hex()}. Encode both with the same fitted encoder."
        )
    if left.shape[1] != right.shape[1] or left.n_levels != right.n_levels:
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
