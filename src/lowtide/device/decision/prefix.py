"""Integers under a prefix code: common values in fewer bits, read one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["LONGEST", "PrefixCoded", "word_lengths"]

# A table of 2^7 bytes knows every word: 3 bits for its length, 5 for what it stands for.
LONGEST = 7
_MOST_SYMBOLS = 32


@dataclass(frozen=True)
class PrefixCoded:
    """Integers as words for their high bits, each followed by the low bits as they are.

    Near zero the low bits of a bell-shaped law are as good as uniform: to give only the high bits words of their own
    loses little and keeps the table small.

    Attributes
    ----------
    packed : ndarray of uint8
        Little bit order, and two bytes more that a reader may touch.
    words : ndarray (2^LONGEST,), uint8
        By the next bits: 8 times the high bits of the integer less the offset, and the length of the word.
    low : int
        Low bits that follow a word.
    offset : int
        What has to be taken off.
    """

    packed: NDArray[np.uint8]
    words: NDArray[np.uint8]
    low: int
    offset: int

    @classmethod
    def of(cls, values: NDArray[np.int8]) -> Self:
        """Return the values in the fewest bits."""
        flat = values.ravel().astype(np.int64)
        coded = [cls._with_low(flat, low) for low in range(8) if np.ptp(flat >> low) < _MOST_SYMBOLS]
        return min(coded, key=lambda each: each.nbytes)

    @property
    def nbytes(self) -> int:
        """Bytes of the values and of the table."""
        return self.packed.nbytes + self.words.nbytes

    @classmethod
    def _with_low(cls, flat: NDArray[np.int64], low: int) -> Self:
        least = int(flat.min() >> low)
        symbols = (flat >> low) - least
        lengths = word_lengths(np.bincount(symbols))
        codes, words = _words(lengths)
        fields = codes[symbols] | ((flat & ((1 << low) - 1)) << lengths[symbols])
        return cls(_packed(fields, lengths[symbols] + low), words, low, -(least << low))


def word_lengths(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lengths of an optimal prefix code of words of at most LONGEST bits, by merging packages.

    Parameters
    ----------
    counts : ndarray (n,)
        How often each symbol occurs; at most 2^LONGEST do.

    Returns
    -------
    ndarray (n,)
        0 for a symbol that does not occur, and for the only one that does.

    Examples
    --------
    >>> word_lengths(np.array([5, 0, 1, 2])).tolist()
    [1, 0, 2, 2]
    """
    leaves: list[tuple[int, tuple[int, ...]]] = sorted((int(n), (symbol,)) for symbol, n in enumerate(counts) if n)
    row = leaves
    for _ in range(LONGEST - 1):
        packages = [(a + b, s + t) for (a, s), (b, t) in zip(row[::2], row[1::2])]
        row = sorted(leaves + packages)
    taken = [symbol for _, symbols in row[: 2 * len(leaves) - 2] for symbol in symbols]
    return np.bincount(np.array(taken, dtype=np.int64), minlength=len(counts))


def _words(lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the word of each symbol, first bit lowest, and the symbol and length by the bits that follow."""
    codes, words = np.zeros(len(lengths), dtype=np.int64), np.zeros(1 << LONGEST, dtype=np.uint8)
    place = 0
    for symbol in np.lexsort((np.arange(len(lengths)), lengths)):
        length = int(lengths[symbol])
        if length:
            codes[symbol] = int(f"{place >> (LONGEST - length):0{length}b}"[::-1], 2)
            words[codes[symbol] :: 1 << length] = 8 * symbol + length
            place += 1 << (LONGEST - length)
    return codes, words


def _packed(fields: NDArray[np.int64], widths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return fields of different widths side by side."""
    ends = np.cumsum(widths)
    bits = np.zeros(int(ends[-1]), dtype=np.uint8)
    for k in range(int(widths.max())):
        wide = widths > k
        bits[(ends - widths)[wide] + k] = (fields[wide] >> k) & 1
    return np.append(np.packbits(bits, bitorder="little"), np.zeros(2, dtype=np.uint8))
