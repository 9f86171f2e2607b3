"""Five ternary levels a byte: 1.6 bits a trit, for storage; arithmetic wants the 2-bit layout."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer
from lowtide.errors import CodeLayoutError

__all__ = ["pack_trits", "unpack_trits"]

_PLACES = 3 ** np.arange(5)
# Row b holds the five base-3 digits of b, lowest first.
_DIGITS = (np.arange(243)[:, None] // _PLACES % 3).astype(np.uint8)


def pack_trits(levels: Any) -> NDArray[np.uint8]:
    """Pack ternary levels five to a byte: byte = t_0 + 3 t_1 + 9 t_2 + 27 t_3 + 81 t_4.

    Parameters
    ----------
    levels : integer array (n, L)
        0 for zero, 1 for plus, 2 for minus.

    Returns
    -------
    uint8 array (n, ceil(L / 5)), each below 243; missing trits of the last byte count as 0

    Examples
    --------
    >>> import numpy as np
    >>> levels = np.array([[0, 1, 2, 2, 1, 1]], dtype=np.uint8)
    >>> pack_trits(levels)
    array([[156,   1]], dtype=uint8)
    >>> np.array_equal(unpack_trits(pack_trits(levels), n_levels=6), levels)
    True
    """
    given = np.asarray(levels)
    if given.ndim != 2 or given.dtype.kind not in "iub":
        raise CodeLayoutError(f"pack_trits: levels must be a 2-D integer array, got {given.ndim}-D of {given.dtype}.")
    if given.size and not 0 <= int(given.min()) <= int(given.max()) <= 2:
        raise CodeLayoutError(f"pack_trits: levels must be 0, 1 or 2, got {given.min()}..{given.max()}.")
    n, n_levels = given.shape
    width = -(-n_levels // 5)
    padded = np.zeros((n, 5 * width), dtype=np.uint8)
    padded[:, :n_levels] = given
    places = _PLACES.astype(np.uint8)
    packed: NDArray[np.uint8] = padded.reshape(n, width, 5) @ places
    return packed


def unpack_trits(packed: Any, *, n_levels: int) -> NDArray[np.uint8]:
    """Return the ternary levels (n, n_levels), uint8, of bytes from `pack_trits`.

    Examples
    --------
    >>> import numpy as np
    >>> unpack_trits(np.array([[242]], dtype=np.uint8), n_levels=5)
    array([[2, 2, 2, 2, 2]], dtype=uint8)
    """
    n_levels = check_integer("unpack_trits", "n_levels", n_levels, 1)
    given = np.asarray(packed)
    width = -(-n_levels // 5)
    if given.dtype != np.uint8 or given.ndim != 2 or given.shape[1] != width:
        raise CodeLayoutError(
            f"unpack_trits: {n_levels} trits a row take uint8 (n, {width}), got {given.dtype} of shape {given.shape}."
        )
    if given.size and given.max() >= 243:
        raise CodeLayoutError(f"unpack_trits: bytes must be below 243, got {given.max()}. The data are not trits.")
    digits = _DIGITS[given].reshape(given.shape[0], 5 * width)
    if digits[:, n_levels:].any():
        raise CodeLayoutError(f"unpack_trits: trits past the {n_levels} of a row must be 0, got others.")
    return np.ascontiguousarray(digits[:, :n_levels])
