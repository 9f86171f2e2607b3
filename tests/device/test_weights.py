"""Weights in flash: fields and prefix codes that read back, words of optimal lengths."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from lowtide.device.weights import LONGEST, PrefixCoded, pack_fields, word_lengths

RNG = np.random.default_rng(0)


def read_back(coded, n):
    """Return n values, read bit by bit as a person would."""
    bits = np.unpackbits(coded.packed, bitorder="little").tolist()
    by_word = {}
    for window, entry in enumerate(coded.words.tolist()):
        length = entry & 7
        by_word[tuple(window >> k & 1 for k in range(length))] = entry >> 3
    values, at = [], 0
    for _ in range(n):
        word = ()
        while word not in by_word:
            word, at = (*word, bits[at]), at + 1
        low = sum(bits[at + k] << k for k in range(coded.low))
        at += coded.low
        values.append((by_word[word] << coded.low) + low - coded.offset)
    assert (at + 7) // 8 + 2 == len(coded.packed)
    return values


def huffman_bits(counts):
    """Return the bits of all symbols under Huffman's code, without a limit to its words."""
    heap, bits = [int(count) for count in counts if count], 0
    heapq.heapify(heap)
    while len(heap) > 1:
        both = heapq.heappop(heap) + heapq.heappop(heap)
        bits += both
        heapq.heappush(heap, both)
    return bits


@pytest.mark.parametrize(
    "values",
    [
        np.clip(np.rint(RNG.normal(0, 30, 5000)), -127, 127),
        RNG.integers(-127, 128, 3000),
        np.rint(RNG.laplace(0, 3, 3000)),
        np.array([0, 0, 0]),
        np.array([-127]),
        np.array([127, -127]),
        np.array([5, 6, 7, 5]),
        np.repeat(np.arange(-7, 8), 2 ** np.arange(15) // 50 + 1),
    ],
    ids=["normal", "uniform", "laplace", "zeros", "one", "ends", "positive", "steep"],
)
def test_values_read_back(values):
    values = values.astype(np.int8)
    coded = PrefixCoded.of(values)
    assert read_back(coded, len(values)) == values.tolist()


def test_normal_weights_of_eight_bits_take_a_tenth_less_and_no_less_than_their_entropy():
    values = np.clip(np.rint(RNG.normal(0, 30, 40_000)), -127, 127).astype(np.int8)
    share = np.bincount(values.astype(int) + 127) / len(values)
    entropy = -np.sum(share[share > 0] * np.log2(share[share > 0]))
    assert entropy < 8 * len(PrefixCoded.of(values).packed) / len(values) < 7.2


@pytest.mark.parametrize("seed", range(20))
def test_lengths_are_those_of_huffman_where_the_limit_does_not_bind(seed):
    counts = np.random.default_rng(seed).integers(0, 50, 16) + 10
    assert np.sum(counts * word_lengths(counts)) == huffman_bits(counts)


@pytest.mark.parametrize("n", [2, 3, 8, 20, 32])
def test_lengths_under_the_limit_make_a_complete_code(n):
    lengths = word_lengths(2 ** np.arange(n, dtype=np.int64))
    assert lengths.max() <= LONGEST
    assert np.sum(2.0 ** -lengths.astype(float)) == 1.0
    assert np.all(np.diff(lengths) <= 0)


@pytest.mark.parametrize("bits", [4, 6, 8])
def test_packed_fields_read_back(bits):
    most = 2 ** (bits - 1) - 1
    weights = np.random.default_rng(0).integers(-most, most + 1, 101).astype(np.int8)
    packed = pack_fields(weights, bits).astype(int)
    places = bits * np.arange(101)
    windows = packed[places // 8] | packed[np.minimum(places // 8 + 1, len(packed) - 1)] << 8
    fields = (windows >> (places % 8)) & (2**bits - 1)
    assert np.array_equal(fields - 2 * (fields & 2 ** (bits - 1)), weights)
