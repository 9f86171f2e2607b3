"""Trits of the sparse ternary projection, and products of trits, at the level in force against the slow truth."""

import numpy as np
import pytest
from reference import codes as reference
from reference import ternary

from lowtide import _core

# (n, d, m, chunk): odd sizes, no row, one row, whole tiles and one more, several chunks, several blocks of outputs.
SHAPES = [(0, 5, 3, 5), (1, 1, 1, 1), (5, 50, 33, 50), (64, 30, 32, 11), (65, 300, 129, 100), (130, 70, 260, 70)]
TYPES = [np.uint8, np.int16, np.float32]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
each_type = pytest.mark.parametrize("dtype", TYPES)


def draw_rows(rng, n, d, dtype):
    if dtype == np.float32:
        return rng.normal(size=(n, d)).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, (n, d), dtype=dtype, endpoint=True)


def draw(shape, dtype, sparsity=0.6):
    n, d, m, chunk = shape
    rng = np.random.default_rng([n, d, m])
    T = rng.choice([0, 1, -1], p=[sparsity, (1 - sparsity) / 2, (1 - sparsity) / 2], size=(m, d))
    X = draw_rows(rng, n, d, dtype)
    S = ternary.sums(X, T, chunk)
    # Sums themselves are thresholds, so that "above" and "at" are told apart.
    pair = np.sort(rng.permuted(S, axis=0)[:2], axis=0) if n > 1 else np.zeros((2, m))
    wanted = np.float32 if dtype == np.float32 else np.int32
    return X, T, S, pair[1].astype(wanted), pair[0].astype(wanted)


def encode(X, T, chunk, upper, lower, even=False):
    return encode_lists(X, ternary.lists(T, chunk), chunk, upper, lower, even)


def encode_lists(X, lists, chunk, upper, lower, even=False):
    out = np.full((len(X), 8 * -(-2 * len(upper) // 64)), 0xAA, np.uint8)
    _core.ternary_encode(X, *lists, chunk, upper, lower, even, out)
    return out


def packed(S, upper, lower, even=False):
    return reference.packed(ternary.trits(S, upper, lower, even), 2)


@pytest.mark.parametrize("even", [False, True])
@each_type
@each_shape
def test_ternary_encode_matches_reference(shape, dtype, even):
    X, T, S, upper, lower = draw(shape, dtype)
    np.testing.assert_array_equal(encode(X, T, shape[-1], upper, lower, even), packed(S, upper, lower, even))


@each_type
def test_ternary_encode_takes_views_of_rows(dtype):
    X, T, S, upper, lower = draw((65, 300, 129, 100), dtype)
    wide = np.zeros((130, 310), dtype=dtype)
    wide[1::2, 7:307] = X
    np.testing.assert_array_equal(encode(wide[1::2, 7:307], T, 100, upper, lower), packed(S, upper, lower))
    np.testing.assert_array_equal(encode(X[::-1], T, 100, upper, lower), packed(S[::-1], upper, lower))


@pytest.mark.parametrize("terms", [127, 128, 129, 300])
def test_ternary_encode_of_bytes_is_exact_around_the_limit_of_int16(terms):
    T = np.array([[1] * terms, [-1] * terms, [1, -1] * (terms // 2) + [0] * (terms % 2)])
    X = np.repeat(np.array([[255], [0], [1]], dtype=np.uint8), terms, axis=1)
    S = ternary.sums(X, T, terms)
    largest = 255 * terms
    for upper, lower in [(largest - 1, -largest + 1), (largest, -largest), (32766, -32768), (2**31 - 1, -(2**31))]:
        thresholds = [np.full(3, value, dtype=np.int32) for value in (upper, lower)]
        np.testing.assert_array_equal(encode(X, T, terms, *thresholds), packed(S, upper, lower))


def test_ternary_encode_of_shorts_is_exact_at_both_ends():
    X = np.repeat(np.array([[32767], [-32768], [0]], dtype=np.int16), 2000, axis=1)
    T = np.array([[1] * 2000, [-1] * 2000])
    S = ternary.sums(X, T, 500)
    for level in (2000 * 32767 - 1, -2000 * 32768, 0):
        thresholds = [np.full(2, level, dtype=np.int32)] * 2
        np.testing.assert_array_equal(encode(X, T, 500, *thresholds), packed(S, level, level))


def test_ternary_encode_takes_infinite_thresholds_and_outputs_without_terms():
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    upper, lower = np.array([np.inf, -np.inf, 0], np.float32), np.array([-np.inf, -np.inf, 0], np.float32)
    T = np.array([[1, 1], [1, 1], [0, 0]])
    np.testing.assert_array_equal(encode(X, T, 2, upper, lower), reference.packed(np.array([[0, 1, 0]] * 3), 2))


@each_type
def test_ternary_encode_depends_on_nothing_but_the_row(dtype):
    # So many terms that even the rows of one tile are split over threads.
    X, T, S, upper, lower = draw((130, 70, 1300, 70), dtype, sparsity=0.1)
    before, lists, together = _core.thread_count(), ternary.lists(T, 70), packed(S, upper, lower)
    try:
        for threads in (1, 3):
            _core.set_thread_count(threads)
            for size in (1, 63, 64, 130):
                parts = [encode_lists(X[i : i + size], lists, 70, upper, lower) for i in range(0, 130, size)]
                np.testing.assert_array_equal(np.vstack(parts), together)
    finally:
        _core.set_thread_count(before)


GOOD = {
    "X": np.zeros((4, 3), np.uint8),
    "lists": np.array([0, 2], np.uint16),
    "starts": np.array([0, 1, 2], np.uint32),
    "chunk": 3,
    "upper": np.zeros(1, np.int32),
    "lower": np.zeros(1, np.int32),
    "even": False,
    "out": np.zeros((4, 8), np.uint8),
}


def test_good_arguments_are_taken():
    _core.ternary_encode(**GOOD)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lists": np.array([0, 3], np.uint16)}, "below chunk"),
        ({"starts": np.array([0, 2, 1], np.uint32)}, "ascend"),
        ({"starts": np.array([0, 1, 3], np.uint32)}, "within lists"),
        ({"starts": np.array([0, 1], np.uint32)}, "2 entries"),
        ({"chunk": 2}, "2 entries"),
        ({"chunk": 0}, "from 1 to 65536"),
        ({"lower": np.zeros(2, np.int32)}, "as many entries"),
        ({"out": np.zeros((3, 8), np.uint8)}, "as many rows"),
        ({"out": np.zeros((4, 16), np.uint8)}, "bytes wide"),
        ({"X": np.zeros((3, 4), np.uint8).T}, "contiguous"),
        ({"X": np.zeros((4, 0), np.uint8)}, "at least one feature"),
    ],
)
def test_ternary_encode_refuses_what_would_be_read_out_of_bounds(change, message):
    with pytest.raises(ValueError, match=message):
        _core.ternary_encode(**{**GOOD, **change})


@pytest.mark.parametrize("change", [{"X": np.zeros((4, 3))}, {"upper": np.zeros(1, np.float32)}, {"chunk": -1}])
def test_ternary_encode_refuses_other_types(change):
    with pytest.raises(TypeError):
        _core.ternary_encode(**{**GOOD, **change})


TRITS = [(0, 3), (1, 1), (3, 64), (9, 65), (130, 129), (513, 70), (600, 600)]


def draw_levels(n, m):
    return np.random.default_rng([n, m]).integers(0, 4, (n, m)).astype(np.uint8)


def values_of(levels):
    return np.array([0, 1, -1, 0])[levels]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m"), TRITS)
def test_trit_gram_matches_reference(n, m, dtype):
    levels = draw_levels(n, m)
    out = np.full((m, m), np.nan, dtype=dtype)
    _core.trit_gram(np.ascontiguousarray(reference.packed(levels, 2)), m, 0.5, out)
    D = values_of(levels)
    np.testing.assert_array_equal(out, 0.25 * (D.T @ D))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m"), TRITS)
def test_trit_dot_matches_reference(n, m, dtype):
    left, right = draw_levels(n, m), draw_levels(17, m)
    rows, other = (np.ascontiguousarray(reference.packed(levels, 2)) for levels in (left, right))
    out = np.full((n, 17), np.nan, dtype=dtype)
    _core.trit_dot(rows, 0.5, other, -2.0, m, out)
    np.testing.assert_array_equal(out, -(values_of(left) @ values_of(right).T))
    square = np.full((n, n), np.nan, dtype=dtype)
    _core.trit_dot(rows, 1.0, rows, 1.0, m, square)
    np.testing.assert_array_equal(square, values_of(left) @ values_of(left).T)


def test_trit_gram_over_several_runs_of_rows():
    levels = np.random.default_rng(0).integers(0, 3, (65_536 + 700, 33)).astype(np.uint8)
    out = np.empty((33, 33))
    _core.trit_gram(reference.packed(levels, 2), 33, 1.0, out)
    np.testing.assert_array_equal(out, values_of(levels).T @ values_of(levels))


@pytest.mark.parametrize(
    ("op", "arguments", "message"),
    [
        ("trit_gram", (np.zeros((4, 16), np.uint8), 32, 1.0, np.zeros((32, 32))), "bytes wide"),
        ("trit_gram", (np.zeros((4, 8), np.uint8), 32, 1.0, np.zeros((32, 31))), "square"),
        ("trit_dot", (np.zeros((4, 8), np.uint8), 1.0, np.zeros((2, 16), np.uint8), 1.0, 32, np.zeros((4, 2))), "wide"),
        ("trit_dot", (np.zeros((4, 8), np.uint8), 1.0, np.zeros((2, 8), np.uint8), 1.0, 32, np.zeros((2, 4))), "out"),
    ],
)
def test_trit_products_refuse_shapes_that_do_not_fit(op, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(_core, op)(*arguments)
