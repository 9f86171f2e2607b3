"""A model's weights in a few bits: rounded to a common step, and laid out in flash so that C reads them in order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option
from lowtide.device.text import Table, filled

Floats = NDArray[np.float64]

# How weights are kept, and in how many bits.
WEIGHTS = {"int8": 8, "int6": 6, "int4": 4, "float16": 16}

# A table of 2^7 bytes knows every word of a prefix code: 3 bits for its length, 5 for what it stands for.
LONGEST = 7
_MOST_SYMBOLS = 32
_LARGEST_VALUE = 32767
# Shares of the largest weight at which smaller steps may be worth cutting it off: at 4 bits they are, at 8 hardly.
_CUTS = np.linspace(0.3, 1.0, 36)


@dataclass(frozen=True)
class RoundedWeights:
    """Scores unit (sum_f values[level] weights[f, c] + bias[c]), all but the unit in small numbers."""

    weights: NDArray[Any]  # (n_features, n_columns), int8, or float16
    values: NDArray[Any]  # the codebook, int16 or float32; 0 and 1 for one bit: a sum over the bits that are set
    bias: NDArray[Any]  # (n_columns,), int32, or float32
    unit: float
    error: float  # standard deviation of what rounding moves a decision value by, over codes of independent levels


def round_weights(W: Floats, intercept: Floats, codebook: NDArray[Any], kind: str) -> RoundedWeights:
    """Round weights (n_features, n_columns) to one common step: scores are sums of integers and compare as they are."""
    check_option("export_c", "weights", kind, tuple(WEIGHTS))
    book = np.asarray(codebook, dtype=np.float64)
    scale, shift = float(np.abs(book).max()) or 1.0, 0.0
    if book.shape == (2,):
        # A sum over set bits alone: value 0 is folded into the bias, and the difference into the weights.
        scale, shift = float(book[1] - book[0]), float(book[0])
        book = np.array([0.0, scale])
    bias = intercept + shift * W.sum(axis=0)
    if kind == "float16":
        return _halves(W * scale, bias, book / scale)
    return _integers(W * scale, bias, book / scale, WEIGHTS[kind])


def pack_fields(weights: NDArray[np.int8], bits: int) -> NDArray[np.uint8]:
    """Return two's complement fields side by side, little bit order, and one byte more that a reader may touch."""
    fields = (weights.ravel().astype(np.uint8) & ((1 << bits) - 1))[:, None] >> np.arange(bits, dtype=np.uint8)
    return np.append(np.packbits((fields & 1).ravel(), bitorder="little"), np.uint8(0))


def _integers(W: Floats, bias: Floats, book: Floats, bits: int) -> RoundedWeights:
    """Return W, bias and the codebook, of values up to 1, as integers whose sums stay within 32 bits."""
    most = 2 ** (bits - 1) - 1
    step = _best_step(W, most)
    rounded = np.clip(np.rint(W / step), -most, most)
    reach = float((np.abs(rounded).sum(axis=0) + np.abs(bias) / step).max()) + 1.0
    whole = np.array_equal(book, np.rint(book))
    fine = 1 if whole else max(1, min(_LARGEST_VALUE, math.floor((2**31 - 1) / reach)))
    values = np.rint(book * fine)
    unit = step / fine
    error = _error(W, rounded * step, book, values / fine)
    # What rounding takes from the mean of a score, over levels that are equally likely, goes into the bias.
    whole_bias = np.rint((bias + _mean_score(W - rounded * step, book)) / unit).astype(np.int32)
    return RoundedWeights(rounded.astype(np.int8), values.astype(np.int16), whole_bias, unit, error)


def _halves(W: Floats, bias: Floats, book: Floats) -> RoundedWeights:
    """Return W as float16 in a unit that is a power of two, in the middle of its range."""
    largest = float(np.abs(W).max()) or 1.0
    unit = 2.0 ** (math.ceil(math.log2(largest)) - 10)
    halves = (W / unit).astype(np.float16)
    kept = halves.astype(np.float64) * unit
    error, bias = _error(W, kept, book, book), bias + _mean_score(W - kept, book)
    return RoundedWeights(halves, book.astype(np.float32), (bias / unit).astype(np.float32), unit, error)


def _best_step(W: Floats, most: int) -> float:
    """Return the step of least squared error: the largest weights may be cut off so that the others are finer."""
    largest = float(np.abs(W).max())
    if largest == 0.0:
        return 1.0
    steps = largest * _CUTS / most
    errors = [float(np.sum((W - step * np.clip(np.rint(W / step), -most, most)) ** 2)) for step in steps]
    return float(steps[int(np.argmin(errors))])


def _mean_score(W: Floats, book: Floats) -> Floats:
    """Return the mean of a column's score when every level is as likely as another."""
    return np.asarray(_for_each_row(book.mean(axis=0), W) @ W)


def _error(W: Floats, rounded: Floats, book: Floats, values: Floats) -> float:
    """Return the standard deviation of what rounding does to a score when every level is as likely as another."""
    squares, lost = np.var(book, axis=0), np.mean((book - values) ** 2, axis=0)
    per_feature = (W - rounded) ** 2 * _for_each_row(squares, W)[:, None]
    per_feature += W**2 * _for_each_row(lost, W)[:, None]
    return float(np.sqrt(per_feature.sum(axis=0).max()))


def _for_each_row(of_level: Any, W: Floats) -> Floats:
    """Return what holds for the one or two values of a level, for each row of W."""
    return np.tile(of_level, len(W) // np.size(of_level))


def weight_code(rounded: RoundedWeights, kind: str, favor: str) -> tuple[tuple[Table, ...], str, bool]:
    """Return tables and a function `next_weight` in C that reads from a place and moves it.

    Weights stand side by side, so that some can be passed over unread, which is the last that is returned; or, to save
    flash, under a prefix code where that is shorter.
    """
    weights, what = rounded.weights, f"Weights, {len(rounded.bias)} a feature"
    if kind == "float16":
        return (Table("weights", weights.view(np.uint16), f"{what}, IEEE binary16."),), filled("half.c"), True
    table, source = Table("weights", weights, f"{what}."), filled("bytes.c")
    if kind != "int8":
        bits = WEIGHTS[kind]
        table = Table("weights", pack_fields(weights, bits), f"{what}, {bits} bits each.")
        source = filled("fields.c", weight_bits=bits, weight_mask=(1 << bits) - 1, weight_sign=1 << (bits - 1))
    if favor == "time":
        return (table,), source, True
    coded = PrefixCoded.of(weights)
    if coded.nbytes >= table.values.nbytes:
        return (table,), source, True
    packed = Table("weights", coded.packed, f"{what}, under a prefix code.")
    words = Table("words", coded.words, "Words of the code, by the bits that follow.")
    masks = {"word_mask": (1 << LONGEST) - 1, "low_mask": (1 << coded.low) - 1}
    return (packed, words), filled("prefix.c", longest=LONGEST, low=coded.low, offset=coded.offset, **masks), False


@dataclass(frozen=True)
class PrefixCoded:
    """Integers as words for their high bits, each followed by the low bits as they are.

    Near zero the low bits of a bell-shaped law are as good as uniform: to give only the high bits words of their own
    loses little and keeps the table small.
    """

    packed: NDArray[np.uint8]  # little bit order, and two bytes more that a reader may touch
    words: NDArray[np.uint8]  # (2^LONGEST,) by the next bits: 8 times the high bits, and the length of the word
    low: int  # bits that follow a word
    offset: int  # what has to be taken off

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

    `counts` say how often each of at most 2^LONGEST symbols occurs. One that does not has length 0, as the only one.

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
