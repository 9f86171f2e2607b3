"""Codes whose levels have bits of their own: packed without gaps, with the arithmetic of what they decode to."""

import pickle

import numpy as np
import pytest

from lowtide.codes import Codes, concatenate, pack_levels, row_bits, row_bytes, spell_bits, unpack_levels
from lowtide.errors import CodeLayoutError, ParameterError

LAYOUTS = [(1,), (8,), (3, 5), (8, 7, 1, 1, 6, 2), (1,) * 64, (5,) * 13, tuple(np.arange(200) % 8 + 1)]
LAYOUTS = [tuple(map(int, bits)) for bits in LAYOUTS]


def levels_of(bits, n, seed=0):
    rng = np.random.default_rng([seed, n, *bits])
    return np.stack([rng.integers(0, 1 << b, n) for b in bits], axis=1)


def draw(bits, n, seed=0, **more):
    book = np.random.default_rng([seed, 1]).standard_normal(sum(1 << b for b in bits))
    packed = pack_levels(levels_of(bits, n, seed), bits)
    return Codes(packed, bits=bits, n_levels=len(bits), codebook=book, fingerprint=bytes(16), **more)


def packed_slowly(levels, bits):
    """Return rows bit by bit: bit i of a row is bit i % 8 of byte i // 8."""
    out = np.zeros((len(levels), row_bytes(len(bits), bits)), dtype=np.uint8)
    for row, own in zip(out, levels):
        at = 0
        for level, width in zip(own, bits):
            for k in range(width):
                row[(at + k) // 8] |= ((int(level) >> k) & 1) << ((at + k) % 8)
            at += width
    return out


@pytest.mark.parametrize("n", [0, 1, 37])
@pytest.mark.parametrize("bits", LAYOUTS, ids=spell_bits)
def test_fields_are_packed_back_to_back(bits, n):
    levels = levels_of(bits, n)
    packed = pack_levels(levels, bits)
    assert packed.shape == (n, 8 * -(-sum(bits) // 64))
    assert row_bits(len(bits), bits) == sum(bits)
    np.testing.assert_array_equal(packed, packed_slowly(levels, bits))
    np.testing.assert_array_equal(unpack_levels(packed, bits, len(bits)), levels)


def test_rows_are_packed_the_same_in_parts(monkeypatch):
    levels = levels_of((3, 7, 4), 100)
    whole = pack_levels(levels, (3, 7, 4))
    monkeypatch.setattr("lowtide.codes.layout._BYTES", 14 * 9)
    np.testing.assert_array_equal(pack_levels(levels, (3, 7, 4)), whole)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 37])
@pytest.mark.parametrize("bits", LAYOUTS, ids=spell_bits)
def test_arithmetic_is_that_of_the_decoded(bits, n, dtype, monkeypatch):
    monkeypatch.setattr("lowtide.codes.arithmetic._BLOCK_VALUES", 500)  # several blocks
    monkeypatch.setattr("lowtide.codes.arithmetic._DECODED", 100)
    rng, C = np.random.default_rng(3), draw(bits, n)
    starts = np.cumsum([0, *(1 << b for b in bits)])
    D = np.array([[C.codebook[s + q] for s, q in zip(starts, row)] for row in C.levels()], dtype=np.float64)
    D = D.reshape(n, len(bits))
    np.testing.assert_array_equal(np.asarray(C), D.astype(np.float32))
    W, R = rng.standard_normal((len(bits), 3)).astype(dtype), rng.standard_normal((n, 2)).astype(dtype)
    weight = rng.standard_normal(n)
    # A sum of k products of numbers below 4 is off by k roundings of at most 16 k, and by far less on average.
    near = {"rtol": 0, "atol": 16 * max(len(bits), n, 1) * np.finfo(dtype).eps}
    np.testing.assert_allclose(C @ W, D @ W, **near)
    np.testing.assert_allclose(C.T @ R, D.T @ R, **near)
    np.testing.assert_allclose(C.gram(dtype=dtype), D.T @ D, **near)
    np.testing.assert_allclose(C.gram(weight, dtype=dtype), D.T * weight @ D, **near)
    np.testing.assert_allclose(C.dot(C[: n // 2], dtype=dtype), D @ D[: n // 2].T, **near)
    assert (C @ W).dtype == C.gram(dtype=dtype).dtype == dtype


@pytest.mark.parametrize("largest", [True, False])
def test_top_k_is_that_of_the_products(largest):
    C, Q = draw((5, 3, 8, 1), 60), draw((5, 3, 8, 1), 7, seed=1).with_codebook(draw((5, 3, 8, 1), 1).codebook)
    products = np.asarray(Q, dtype=np.float64) @ np.asarray(C, dtype=np.float64).T
    expected = np.argsort(-products if largest else products, axis=1, kind="stable")[:, :4]
    for query in (Q, np.asarray(Q)):
        found, scores = C.top_k(query, 4, largest=largest)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(scores, np.take_along_axis(products, expected, axis=1), rtol=1e-6)


def test_factors_of_rows_and_columns_multiply_what_is_decoded():
    bits, norms, scale = (4, 2, 7), np.arange(1.0, 12.0), np.array([2.0, -1.0, 0.5])
    C = draw(bits, 11, scale=scale, norms=norms).times_norms()
    D = np.asarray(draw(bits, 11)) * scale.astype(np.float32) * norms.astype(np.float32)[:, None]
    np.testing.assert_allclose(np.asarray(C), D, rtol=1e-6)
    np.testing.assert_allclose(C @ np.ones(3), D.astype(np.float64).sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(C.gram(), D.T @ D, rtol=1e-5)


def test_rows_are_taken_joined_and_kept_as_they_are():
    C = draw((6, 1, 4), 20)
    assert C[3:9] == draw((6, 1, 4), 20)[3:9]
    np.testing.assert_array_equal(np.asarray(C[[4, 2]]), np.asarray(C)[[4, 2]])
    assert concatenate([C[:7], C[7:]]) == C
    assert pickle.loads(pickle.dumps(C)) == C
    assert Codes.from_state(C.to_state()) == C
    assert Codes.template_from_state(C.template_state()).with_rows(C.packed) == C
    assert C.with_codebook(2 * C.codebook) != C
    assert (C.bits, C.n_levels, C.nbytes, C.packing) == ((6, 1, 4), 3, 160, (3, 0, 8))
    assert repr(C).startswith("Codes(20 x 3, bits=1 to 6, 160 bytes")


def test_unaligned_rows_are_copied():
    C = draw((6, 1, 4), 9)
    shifted = np.empty(9 * 8 + 1, dtype=np.uint8)[1:].reshape(9, 8)
    shifted[:] = C.packed
    assert C.with_rows(shifted) == C


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bits": (6, 1)}, "3 of them, got 2"),
        ({"bits": (6, 0, 4)}, "from 1 to 8, got 0"),
        ({"bits": (6, 9, 4)}, "from 1 to 8, got 9"),
        ({"bits": (6, 1.5, 4)}, "from 1 to 8, got 1.5"),
        ({"codebook": np.zeros(81)}, "must be 82 finite numbers"),
        ({"codebook": np.zeros((82, 2))}, "must be 82 finite numbers"),
        ({"packed": np.full((2, 8), 255, np.uint8)}, "past the 11 used ones"),
        ({"scale": np.ones(2)}, "scale must be 3 finite numbers"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_what_cannot_be_fields_is_refused(change, message):
    given = {"packed": np.zeros((2, 8), np.uint8), "bits": (6, 1, 4), "n_levels": 3, "codebook": np.zeros(82)}
    given = {**given, "fingerprint": bytes(16), **change}
    with pytest.raises((CodeLayoutError, ParameterError), match=message):
        Codes(given.pop("packed"), **given)


@pytest.mark.parametrize("levels", [[[0, 0]], [[0, 2, 0]], [[-1, 0, 0]], [[64, 0, 0]]], ids=str)
def test_levels_that_do_not_fit_are_refused(levels):
    with pytest.raises(CodeLayoutError, match="levels must"):
        pack_levels(np.array(levels), (6, 1, 4))
