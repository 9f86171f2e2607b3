"""A model's weights in a few bits, and what rounding them costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option

__all__ = ["WEIGHTS", "RoundedWeights", "pack_fields", "round_weights"]

Floats = NDArray[np.float64]

# How weights are kept, and in how many bits.
WEIGHTS = {"int8": 8, "int6": 6, "int4": 4, "float16": 16}

_LARGEST_VALUE = 32767
# Shares of the largest weight at which smaller steps may be worth cutting it off: at 4 bits they are, at 8 hardly.
_CUTS = np.linspace(0.3, 1.0, 36)


@dataclass(frozen=True)
class RoundedWeights:
    """Scores unit (sum_f values[level] weights[f, c] + bias[c]), all but the unit in small numbers.

    Attributes
    ----------
    weights : ndarray (n_features, n_columns), int8, or float16
    values : ndarray (2^bits,) or (2^bits, 2), int16, or float32
        The codebook; 0 and 1 for one bit, so that a score is a sum over the bits that are set.
    bias : ndarray (n_columns,), int32, or float32
    unit : float
    error : float
        Standard deviation of what rounding moves a decision value by, over codes of independent levels.
    """

    weights: NDArray[Any]
    values: NDArray[Any]
    bias: NDArray[Any]
    unit: float
    error: float


def round_weights(W: Floats, intercept: Floats, codebook: NDArray[Any], kind: str) -> RoundedWeights:
    """Round weights to one common step, so that scores are sums of integers that compare as they are.

    Parameters
    ----------
    W : ndarray (n_features, n_columns)
        Weights of decoded features.
    intercept : ndarray (n_columns,)
    codebook : ndarray (2^bits,) or (2^bits, 2)
    kind : {"int8", "int6", "int4", "float16"}
    """
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
    width = 1 if book.ndim == 1 else book.shape[1]
    return np.asarray(np.tile(book.reshape(-1, width).mean(axis=0), len(W) // width) @ W)


def _error(W: Floats, rounded: Floats, book: Floats, values: Floats) -> float:
    """Return the standard deviation of what rounding does to a score when every level is as likely as another."""
    width = 1 if book.ndim == 1 else book.shape[1]
    squares = np.var(book.reshape(-1, width), axis=0)
    lost = np.mean((book - values).reshape(-1, width) ** 2, axis=0)
    per_feature = (W - rounded) ** 2 * np.tile(squares, len(W) // width)[:, None]
    per_feature += W**2 * np.tile(lost, len(W) // width)[:, None]
    return float(np.sqrt(per_feature.sum(axis=0).max()))
