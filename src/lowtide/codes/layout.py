"""The packed layout of a row: how wide it is, and levels in and out of it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import check_integer
from lowtide.codes.arithmetic import aligned_rows
from lowtide.errors import CodeLayoutError

# Five base-3 digits of a byte, lowest first: row b holds those of b.
_PLACES = 3 ** np.arange(5)
_DIGITS = (np.arange(243)[:, None] // _PLACES % 3).astype(np.uint8)


@cache
def stored_bits(bits: int) -> int:
    """Return the bits that a level of a `bits`-bit quantizer takes in a packed row: 1, 2, 3, 4 or 8.

    Examples
    --------
    >>> [stored_bits(b) for b in range(1, 9)]
    [1, 2, 3, 4, 8, 8, 8, 8]
    """
    bits = check_integer("Codes", "bits", bits, 1, 8, remedy="Above 8 bits keep float features.")
    return bits if bits <= 4 else 8


@cache
def row_bytes(n_levels: int, bits: int) -> int:
    """Return the bytes of a packed row of n_levels levels: 8 ceil(n_levels B / 64), B = stored_bits(bits).

    Examples
    --------
    >>> row_bytes(64, 1), row_bytes(65, 1), row_bytes(100, 3)
    (8, 16, 40)
    """
    n_levels = check_integer("Codes", "n_levels", n_levels, 1)
    return 8 * -(-n_levels * stored_bits(bits) // 64)


def pack_levels(levels: Any, bits: int) -> NDArray[np.uint8]:
    """Pack levels, one integer each, into rows.

    Level j of a row takes bits [jB, (j+1)B) of it, B = stored_bits(bits); bit i is bit i % 8 of byte i // 8; padding
    bits up to a multiple of 64 are zero.

    Parameters
    ----------
    levels : integer array (n, L)
        Each from 0 to 2^bits - 1.
    bits : int from 1 to 8
        Bits of the quantizer.

    Returns
    -------
    uint8 array (n, row_bytes(L, bits))

    Examples
    --------
    >>> import numpy as np
    >>> pack_levels(np.array([[1, 0, 1, 1]]), bits=1)[0, 0]
    np.uint8(13)
    """
    stored = stored_bits(bits)
    given = _checked_levels("pack_levels", levels, (1 << bits) - 1)
    out = np.empty((given.shape[0], row_bytes(given.shape[1], bits)), dtype=np.uint8)
    _core.pack(np.ascontiguousarray(given, dtype=np.uint8), stored, out)
    return out


def _checked_levels(owner: str, levels: Any, top: int) -> NDArray[Any]:
    """Return levels as a 2-D array of integers from 0 to the top one."""
    given = np.asarray(levels)
    if given.ndim != 2 or given.dtype.kind not in "iub":
        raise CodeLayoutError(
            f"{owner}: levels must be a 2-D integer array, got {given.ndim}-D of {given.dtype}. "
            "Give one integer a level, a row a sample."
        )
    if given.size and not 0 <= int(given.min()) <= int(given.max()) <= top:
        raise CodeLayoutError(
            f"{owner}: levels must lie in 0..{top}, got {given.min()}..{given.max()}. "
            "Quantize to fewer levels, or pack them with more bits."
        )
    return given


def unpack_levels(packed: Any, bits: int, n_levels: int) -> NDArray[np.uint8]:
    """Return the levels (n, n_levels), uint8, of packed rows: the inverse of `pack_levels`.

    Examples
    --------
    >>> import numpy as np
    >>> levels = np.array([[3, 0, 2]], dtype=np.uint8)
    >>> unpack_levels(pack_levels(levels, bits=2), bits=2, n_levels=3)
    array([[3, 0, 2]], dtype=uint8)
    """
    rows = aligned_rows(packed, row_bytes(n_levels, bits))
    out = np.empty((rows.shape[0], n_levels), dtype=np.uint8)
    _core.unpack(rows, stored_bits(bits), out)
    return out


def pack_trits(levels: Any) -> NDArray[np.uint8]:
    """Pack ternary levels five to a byte, for storage: byte = t_0 + 3 t_1 + 9 t_2 + 27 t_3 + 81 t_4.

    That is 1.6 bits a trit; arithmetic wants the 2-bit layout of `pack_levels`.

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
    given = _checked_levels("pack_trits", levels, 2)
    n, n_levels = given.shape
    width = -(-n_levels // 5)
    padded = np.zeros((n, 5 * width), dtype=np.uint8)
    padded[:, :n_levels] = given
    packed: NDArray[np.uint8] = padded.reshape(n, width, 5) @ _PLACES.astype(np.uint8)
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
