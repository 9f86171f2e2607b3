"""Codes whose decoded columns have factors of their own: arithmetic is that on np.asarray, and nothing loses them."""

import pickle

import numpy as np
import pytest

from lowtide.codes import Codes, concatenate, pack_levels
from lowtide.errors import CodeLayoutError

RNG = np.random.default_rng(0)
CASES = [(1, 1, 0), (1, 1, 3), (1, 1, 40), (1, 2, 40), (3, 1, 40), (2, 2, 5), (8, 1, 40), (6, 2, 17)]


def codes(bits, width, n, seed=0, n_levels=21):
    """Return codes of random levels, values and factors."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 2**bits, (n, n_levels)).astype(np.uint8)
    book = np.random.default_rng(1).standard_normal((2**bits, 2) if width == 2 else 2**bits)
    scale = np.random.default_rng(2).uniform(0.1, 3, n_levels * width)
    packed = pack_levels(levels, bits)
    return Codes(packed, bits=bits, n_levels=n_levels, codebook=book, fingerprint=bytes(16), scale=scale)


@pytest.mark.parametrize(("bits", "width", "n"), CASES)
def test_scaled_codes_decode_to_book_times_factor(bits, width, n):
    C = codes(bits, width, n)
    plain = C.codebook.reshape(2**bits, width)[C.levels()].reshape(C.shape)
    np.testing.assert_allclose(np.asarray(C), plain * C.scale, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(C, dtype=np.float64), plain.astype(np.float64) * C.scale, rtol=1e-7)


@pytest.mark.parametrize(("bits", "width", "n"), CASES)
def test_arithmetic_of_scaled_codes_is_that_of_the_decoded(bits, width, n):
    C, other = codes(bits, width, n), codes(bits, width, 12, seed=5)
    D = np.asarray(C, dtype=np.float64)
    W, R, weight = RNG.standard_normal((C.shape[1], 3)), RNG.standard_normal((n, 2)), RNG.standard_normal(n)
    # float64 sums of at most 42 or 40 terms of size 10.
    np.testing.assert_allclose(C @ W, D @ W, atol=1e-10)
    np.testing.assert_allclose(C.T @ R, D.T @ R, atol=1e-10)
    np.testing.assert_allclose(C.gram(dtype=np.float64), D.T @ D, atol=1e-4)
    np.testing.assert_allclose(C.gram(weight, dtype=np.float64), D.T @ (weight[:, None] * D), atol=1e-10)
    np.testing.assert_allclose(C.dot(other, dtype=np.float64), D @ np.asarray(other, dtype=np.float64).T, atol=1e-10)


@pytest.mark.parametrize(("bits", "width", "n"), CASES)
def test_dot_of_scaled_codes_in_float32_stays_within_its_roundings(bits, width, n):
    C, other = codes(bits, width, n), codes(bits, width, 12, seed=5)
    D, right = np.asarray(C, dtype=np.float64), np.asarray(other, dtype=np.float64).T
    # A rounding a term of the sum; one of the joint scale, one of its product with a value.
    bound = (C.shape[1] + 2) * np.finfo(np.float32).eps * (np.abs(D) @ np.abs(right))
    assert (np.abs(C.dot(other) - D @ right) <= bound).all()


def test_factors_survive_rows_pickle_and_concatenation():
    C = codes(1, 1, 9)
    for same in (C[2:5], C[[2, 3, 4]], pickle.loads(pickle.dumps(C))[2:5], concatenate([C[2:3], C[3:5]])):
        assert same == C[2:5]
        np.testing.assert_array_equal(same.scale, C.scale)
    np.testing.assert_array_equal(C.with_codebook([0.0, 1.0]).scale, C.scale)


def test_codes_with_other_factors_are_not_equal_and_do_not_concatenate():
    C = codes(1, 1, 4)
    plain = Codes(C.packed, bits=1, n_levels=21, codebook=C.codebook, fingerprint=bytes(16))
    other = Codes(C.packed, bits=1, n_levels=21, codebook=C.codebook, fingerprint=bytes(16), scale=2 * C.scale)
    assert plain.scale is None
    for different in (plain, other):
        assert different != C
        with pytest.raises(CodeLayoutError, match="one codebook"):
            concatenate([C, different])


@pytest.mark.parametrize("scale", [np.ones(20), np.ones((21, 1)), np.full(21, np.nan), np.full(21, np.inf)])
def test_factors_must_be_finite_and_one_a_column(scale):
    C = codes(1, 1, 2)
    with pytest.raises(CodeLayoutError, match="21 finite numbers"):
        Codes(C.packed, bits=1, n_levels=21, codebook=C.codebook, fingerprint=bytes(16), scale=scale)


def test_codebook_of_another_width_is_refused_when_columns_have_factors():
    with pytest.raises(CodeLayoutError, match="42 finite numbers"):
        codes(1, 1, 2).with_codebook(np.ones((2, 2)))
