"""The packed layout of a row: how wide it is, and levels in and out of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import check_integer
from lowtide.errors import CodeLayoutError, FingerprintMismatchError

if TYPE_CHECKING:
    from lowtide.codes.codes import Codes

# Of every level, or of each level of a row.
Bits = int | tuple[int, ...]

# Bits that are packed at a time, a byte each.
_BYTES = 1 << 18
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


def spell_bits(bits: Bits) -> str:
    """Return bits in words: those of every level, or the least and the most.

    Examples
    --------
    >>> spell_bits(3), spell_bits((5, 2, 1))
    ('3', '1 to 5')
    """
    least, most = (min(bits), max(bits)) if isinstance(bits, tuple) else (bits, bits)
    return f"{most}" if least == most else f"{least} to {most}"


@lru_cache(maxsize=1024)
def row_bits(n_levels: int, bits: Bits) -> int:
    """Return the bits of a row that its levels take: n_levels B, B = stored_bits(bits), or the sum of their own.

    Examples
    --------
    >>> row_bits(100, 3), row_bits(3, (5, 2, 1))
    (300, 8)
    """
    n_levels = check_integer("Codes", "n_levels", n_levels, 1)
    if isinstance(bits, tuple):
        if len(bits) != n_levels:
            raise CodeLayoutError(f"Codes: bits must be a number a level, {n_levels} of them, got {len(bits)}.")
        return field_places(bits).n_bits
    return n_levels * stored_bits(bits)


@lru_cache(maxsize=1024)
def row_bytes(n_levels: int, bits: Bits) -> int:
    """Return the bytes of a packed row of n_levels levels: 8 ceil(row_bits(n_levels, bits) / 64).

    Examples
    --------
    >>> row_bytes(64, 1), row_bytes(65, 1), row_bytes(100, 3)
    (8, 16, 40)
    """
    return 8 * -(-row_bits(n_levels, bits) // 64)


@dataclass(frozen=True, eq=False)
class FieldPlaces:
    """Where fields of 1 to 8 bits, back to back, are in a row: each within two neighboring bytes.

    Attributes
    ----------
    byte, after : ndarray of intp, shape (L,)
        The byte that a field begins in, and the next one, or the same at the end of a row.
    shift, mask : ndarray of uint16, shape (L,)
        Bits of the first byte that are not the field's, and ones for those that are, once shifted.
    start : ndarray of intp, shape (L,)
        Where its values begin among those of all fields.
    field, bit : ndarray of intp and of uint8, shape (n_bits,)
        Of each bit of a row its field, and which of it.
    """

    byte: NDArray[np.intp]
    after: NDArray[np.intp]
    shift: NDArray[np.uint16]
    mask: NDArray[np.uint16]
    start: NDArray[np.intp]
    field: NDArray[np.intp]
    bit: NDArray[np.uint8]

    @property
    def n_bits(self) -> int:
        """Bits of all fields together."""
        return len(self.field)

    @property
    def n_values(self) -> int:
        """Levels of all fields together."""
        return int(self.start[-1]) + int(self.mask[-1]) + 1

    def levels(self, packed: NDArray[np.uint8]) -> NDArray[np.uint16]:
        """Return the levels of packed rows, uint16 (n, L)."""
        window = packed[:, self.after].astype(np.uint16)
        window <<= 8
        window |= packed[:, self.byte]
        window >>= self.shift
        window &= self.mask
        return window


@lru_cache(maxsize=64)
def field_places(bits: tuple[int, ...]) -> FieldPlaces:
    """Return where fields of these bits are in a row.

    Examples
    --------
    >>> field_places((5, 2, 3)).shift.tolist(), field_places((5, 2, 3)).start.tolist()
    ([0, 5, 7], [0, 32, 36])
    """
    for own in bits:
        check_integer("Codes", "each of bits", own, 1, 8)
    wide = np.array(bits, dtype=np.intp)
    first = np.cumsum(wide) - wide
    byte, n_values = first // 8, 1 << wide
    last = 8 * -(-int(wide.sum()) // 64) - 1
    return FieldPlaces(
        byte,
        np.minimum(byte + 1, last),
        (first % 8).astype(np.uint16),
        (n_values - 1).astype(np.uint16),
        np.cumsum(n_values) - n_values,
        np.repeat(np.arange(len(wide)), wide),
        (np.arange(int(wide.sum())) - np.repeat(first, wide)).astype(np.uint8),
    )


def pack_levels(levels: Any, bits: Bits) -> NDArray[np.uint8]:
    """Pack levels, one integer each, into rows.

    Level j of a row takes bits [jB, (j+1)B) of it, B = stored_bits(bits); bit i is bit i % 8 of byte i // 8; padding
    bits up to a multiple of 64 are zero. Levels with bits of their own follow one another without gaps.

    Parameters
    ----------
    levels : integer array (n, L)
        Each from 0 to 2^bits - 1.
    bits : int from 1 to 8, or a tuple of L of them
        Bits of the quantizer, or those of each level.

    Returns
    -------
    uint8 array (n, row_bytes(L, bits))

    Examples
    --------
    >>> import numpy as np
    >>> pack_levels(np.array([[1, 0, 1, 1]]), bits=1)[0, 0]
    np.uint8(13)
    """
    given = _checked_levels("pack_levels", levels, (1 << np.array(bits)) - 1)
    width = row_bytes(given.shape[1], bits)
    if isinstance(bits, tuple):
        return _packed_fields(given.astype(np.uint8), field_places(bits), width)
    out = np.empty((given.shape[0], width), dtype=np.uint8)
    _core.pack(np.ascontiguousarray(given, dtype=np.uint8), stored_bits(bits), out)
    return out


def _packed_fields(levels: NDArray[np.uint8], places: FieldPlaces, width: int) -> NDArray[np.uint8]:
    """Return rows of fields, (n, width), some rows at a time: each bit of a row is a byte on the way."""
    out, size = np.zeros((len(levels), width), dtype=np.uint8), max(1, _BYTES // places.n_bits)
    for begin in range(0, len(levels), size):
        part = slice(begin, begin + size)
        ones = (levels[part][:, places.field] >> places.bit) & 1
        out[part, : -(-places.n_bits // 8)] = np.packbits(ones, axis=1, bitorder="little")
    return out


def _checked_levels(owner: str, levels: Any, top: Any) -> NDArray[Any]:
    """Return levels as a 2-D array of integers from 0 to the top one, that of all or of each column."""
    given = np.asarray(levels)
    if given.ndim != 2 or given.dtype.kind not in "iub":
        raise CodeLayoutError(
            f"{owner}: levels must be a 2-D integer array, got {given.ndim}-D of {given.dtype}. "
            "Give one integer a level, a row a sample."
        )
    if np.ndim(top) and given.shape[1] != len(top):
        raise CodeLayoutError(f"{owner}: levels must have {len(top)} columns, one for each of bits, got {given.shape}.")
    if given.size and not (given.min() >= 0 and np.all(given.max(axis=0) <= top)):
        raise CodeLayoutError(
            f"{owner}: levels must lie in 0..{np.max(top)}, got {given.min()}..{given.max()}. "
            "Quantize to fewer levels, or pack them with more bits."
        )
    return given


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


def same_array(left: NDArray[Any] | None, right: NDArray[Any] | None) -> bool:
    """Return whether two arrays are equal, or neither is there."""
    return left is right or (left is not None and right is not None and np.array_equal(left, right))
