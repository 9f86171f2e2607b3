"""Invariant: arithmetic on codes is arithmetic on np.asarray(codes), to the rounding of the result's type."""

import tracemalloc

import numpy as np
import pytest
from codes.drawn import MARK, draw_codes
from reference import codes as reference

from lowtide.codes import Codes, pack_levels
from lowtide.errors import CodeLayoutError, FingerprintMismatchError

CASES = [(1, 1, 1, 1), (9, 65, 1, 1), (130, 70, 1, 2), (9, 63, 2, 1), (33, 7, 2, 2), (9, 65, 3, 1), (5, 64, 3, 2)]
CASES += [(9, 130, 4, 1), (5, 33, 4, 2), (9, 65, 5, 1), (9, 65, 8, 1), (9, 31, 8, 2), (0, 9, 1, 1), (0, 9, 8, 1)]
each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def assert_product(found, A, B):
    """Any order of summation passes a term through at most as many roundings as there are terms, plus its product."""
    assert found.dtype == B.dtype
    bound = reference.product_bound(A, B, A.shape[1] + 2)
    assert (np.abs(found - reference.product(A, B)) <= bound).all()


@each_type
@each_case
def test_product_with_a_matrix(case, dtype):
    C, rng = draw_codes(*case), np.random.default_rng(1)
    D = np.asarray(C)
    W, R = rng.normal(size=(C.shape[1], 3)).astype(dtype), rng.normal(size=(C.shape[0], 3)).astype(dtype)
    assert_product(C @ W, D, W)
    assert_product(C.T @ R, D.T, R)
    assert_product((R.T @ C).T, D.T, R)


@each_case
def test_product_with_a_vector_is_a_vector(case):
    C, rng = draw_codes(*case), np.random.default_rng(1)
    w, r = rng.normal(size=C.shape[1]), rng.normal(size=C.shape[0])
    np.testing.assert_array_equal(C @ w, (C @ w[:, None])[:, 0])
    np.testing.assert_array_equal(C.T @ r, (C.T @ r[:, None])[:, 0])
    np.testing.assert_array_equal(r @ C, C.T @ r)


@each_type
@each_case
def test_gram_is_the_product_with_itself(case, dtype):
    C = draw_codes(*case)
    D = np.asarray(C, dtype=dtype)
    G = C.gram(dtype=dtype)
    assert_product(G, D.T, D)
    np.testing.assert_array_equal(G, G.T)
    assert G.flags.c_contiguous


@each_type
@each_case
def test_weighted_gram(case, dtype):
    C, rng = draw_codes(*case), np.random.default_rng(1)
    D, weight = np.asarray(C, dtype=dtype), rng.normal(size=C.shape[0])
    weight[::3] = 0
    for s in (weight, np.abs(weight), -np.abs(weight)):
        G = C.gram(s, dtype=dtype)
        root = np.sqrt(np.abs(s))[:, None] * D
        bound = reference.product_bound(root.T, root.astype(dtype), C.shape[0] + 8)
        assert (np.abs(G - reference.product(D.T * s, D)) <= bound).all()
        np.testing.assert_array_equal(G, G.T)


def test_weighted_gram_equals_repeated_rows():
    C = draw_codes(12, 40, 2)
    repeat = np.arange(12) % 4
    weighted, repeated = C.gram(repeat, dtype=np.float64), C[np.repeat(np.arange(12), repeat)].gram(dtype=np.float64)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=20 * np.finfo(float).eps * np.abs(repeated).max())


def test_gram_over_several_blocks(monkeypatch):
    monkeypatch.setattr("lowtide.codes.arithmetic._BLOCK_VALUES", 100)
    C, rng = draw_codes(23, 41, 2), np.random.default_rng(1)
    D = np.asarray(C, dtype=np.float64)
    assert_product(C.gram(dtype=np.float64), D.T, D)
    other = draw_codes(7, 41, 2, seed=1)
    assert_product(C.dot(other, dtype=np.float64), D, np.asarray(other, dtype=np.float64).T)
    E, W, R = draw_codes(23, 41, 8), rng.normal(size=(41, 2)), rng.normal(size=(23, 2))
    assert_product(E @ W, np.asarray(E), W)
    assert_product(E.T @ R, np.asarray(E).T, R)


@each_type
@each_case
def test_dot_is_the_product_with_the_others_transpose(case, dtype):
    n, *rest = case
    C, other = draw_codes(*case), draw_codes(6, *rest, seed=1)
    other = other.with_codebook(other.codebook * np.float32(0.3))
    assert_product(C.dot(other, dtype=dtype), np.asarray(C), np.asarray(other, dtype=dtype).T)
    assert C.dot(other).shape == (n, 6)


def test_ternary_codes_multiply_as_minus_zero_plus():
    rng = np.random.default_rng(0)
    trits = rng.integers(-1, 2, (7, 70))
    C = Codes(pack_levels(trits % 3, 2), bits=2, n_levels=70, codebook=[0, 1, -1, 0], fingerprint=bytes(16))
    np.testing.assert_array_equal(np.asarray(C), trits)
    np.testing.assert_array_equal(C.gram(), trits.T @ trits)
    np.testing.assert_array_equal(C @ np.arange(70), trits @ np.arange(70))


@pytest.mark.parametrize("norms", [None, np.linspace(0.5, 2.0, 130)])
@pytest.mark.parametrize("scale", [None, np.linspace(-1.0, 3.0, 65)])
def test_trits_with_factors_of_rows_and_columns(scale, norms):
    levels = np.random.default_rng(0).integers(0, 3, (130, 65))
    parts = {"bits": 2, "n_levels": 65, "codebook": [0, 0.5, -0.5, 0], "fingerprint": bytes(16)}
    C = Codes(pack_levels(levels, 2), **parts, scale=scale, norms=norms)
    C = C if norms is None else C.times_norms()
    D = np.asarray(C, dtype=np.float64)
    assert_product(C.gram(dtype=np.float64), D.T, D)
    assert_product(C.dot(C, dtype=np.float64), D, D.T)


@pytest.mark.parametrize("operand", [np.arange(9), np.arange(9, dtype=np.uint8), [True] * 9, list(range(9))])
def test_integer_operands_count_as_float64(operand):
    C = draw_codes(4, 9, 1)
    assert (C @ operand).dtype == np.float64
    np.testing.assert_array_equal(C @ operand, C @ np.asarray(operand, dtype=np.float64))


def test_operands_of_other_order_and_layout_are_taken():
    C, rng = draw_codes(4, 9, 1), np.random.default_rng(0)
    W = rng.normal(size=(9, 4))
    for other in (np.asfortranarray(W), W.astype(">f8"), np.repeat(W, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(C @ other, C @ W)
    W.flags.writeable = False
    np.testing.assert_array_equal(C @ W, C @ W.copy())
    assert (C @ W[:, :0]).shape == (4, 0)
    assert (C @ W.astype(np.float16)).dtype == np.float32


@pytest.mark.parametrize(
    "operand", [np.ones(8), np.ones((4, 9)), np.float64(1), np.ones((9, 1, 1)), np.ones(9, complex), ["a"] * 9]
)
def test_operands_that_do_not_fit_are_refused(operand):
    C = draw_codes(4, 9, 1)
    with pytest.raises(CodeLayoutError, match="operand must be"):
        C @ operand
    with pytest.raises(CodeLayoutError, match="operand must be"):
        C.T @ np.ones(5)


def test_other_arithmetic_with_arrays_is_a_type_error():
    C = draw_codes(4, 9, 1)
    for attempt in (lambda: np.ones((4, 9)) + C, lambda: np.ones((4, 9)) * C, lambda: np.exp(C)):
        with pytest.raises(TypeError):
            attempt()


def test_not_a_number_in_an_operand_is_passed_on():
    C = draw_codes(3, 70, 1)
    w = np.ones(70)
    w[66] = np.nan
    assert np.isnan(C @ w).all()


@pytest.mark.parametrize("weight", [np.ones(3), np.ones((4, 1)), [1, 2, 3, np.inf], [1, 2, 3, np.nan]])
def test_weights_that_do_not_fit_are_refused(weight):
    with pytest.raises(CodeLayoutError, match="sample_weight must be 4 finite numbers"):
        draw_codes(4, 9, 1).gram(weight)


@pytest.mark.parametrize("dtype", [np.float16, int, complex])
def test_results_of_other_types_are_refused(dtype):
    C = draw_codes(4, 9, 1)
    for call in (C.gram, lambda dtype: C.dot(C, dtype=dtype)):
        with pytest.raises(CodeLayoutError, match="float32 or float64"):
            call(dtype=dtype)


@each_type
@each_case
def test_dot_with_itself_has_the_bits_of_that_with_a_copy(case, dtype):
    C = draw_codes(*case)
    copy = Codes(C.packed.copy(), bits=C.bits, codebook=C.codebook, n_levels=C.n_levels, fingerprint=C.fingerprint)
    np.testing.assert_array_equal(C.dot(C, dtype=dtype), C.dot(copy, dtype=dtype))


def test_dot_with_codes_of_another_encoder_names_both():
    C, other = draw_codes(2, 9, 1), draw_codes(2, 9, 1, fingerprint=b"f" * 16)
    with pytest.raises(FingerprintMismatchError, match=f"{C.fingerprint.hex()} and {other.fingerprint.hex()}"):
        C.dot(other)


def trits(n, n_levels, seed=0):
    levels = np.random.default_rng(seed).integers(0, 3, (n, n_levels))
    return Codes(pack_levels(levels, 2), bits=2, n_levels=n_levels, codebook=[0, 0.5, -0.5, 0], fingerprint=MARK)


def with_factors(C):
    """The same codes with factors of their columns and rows, and a side of their own."""
    scale, norms = np.linspace(-1, 2, C.shape[1]), np.linspace(0.5, 3, len(C))
    parts = {"bits": C.bits, "n_levels": C.n_levels, "codebook": C.codebook, "fingerprint": MARK, "side": b"s" * 16}
    return Codes(C.packed, **parts, scale=scale, norms=norms).times_norms()


# 70 decoded columns each: every pair of sides on the same frequencies may meet.
SIDES = {
    "1 bit": draw_codes(70, 70, 1, side=b"1" * 16),
    "4 bits": draw_codes(23, 70, 4, side=b"4" * 16),
    "3 bits": draw_codes(5, 70, 3),
    "2 bits": draw_codes(4, 70, 2, seed=3),
    "8 bits": draw_codes(6, 70, 8),
    "trits": trits(8, 70),
    "pairs of 1 bit": draw_codes(7, 35, 1, 2),
    "pairs of 5 bits": draw_codes(3, 35, 5, 2),
    "factors": with_factors(draw_codes(4, 70, 1)),
    "no rows": draw_codes(0, 70, 4),
}


@each_type
@pytest.mark.parametrize("left", SIDES)
@pytest.mark.parametrize("right", SIDES)
def test_dot_of_two_sides_of_the_same_frequencies(left, right, dtype, monkeypatch):
    monkeypatch.setattr("lowtide.codes.arithmetic._BLOCK_VALUES", 300)
    C, other = SIDES[left], SIDES[right]
    assert_product(C.dot(other, dtype=dtype), np.asarray(C, dtype=dtype), np.asarray(other, dtype=dtype).T)


def test_dot_of_two_sides_never_holds_a_decoded_matrix(monkeypatch):
    monkeypatch.setattr("lowtide.codes.arithmetic._BLOCK_VALUES", 1 << 12)
    C, other = draw_codes(4000, 100, 1), draw_codes(3, 100, 4)
    for left, right in ((C, other), (other, C)):
        tracemalloc.start()
        left.dot(right)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4000 * 100 * 4 / 4


def test_dot_refuses_other_widths_and_arrays():
    C = draw_codes(2, 10, 1)
    for other in (draw_codes(2, 9, 1), C.with_codebook(np.ones((2, 2)))):
        with pytest.raises(CodeLayoutError, match="equal widths"):
            C.dot(other)
    with pytest.raises(CodeLayoutError, match="must be Codes, got ndarray"):
        C.dot(np.asarray(C))


def test_products_never_hold_the_decoded_matrix(monkeypatch):
    monkeypatch.setattr("lowtide.codes.arithmetic._BLOCK_VALUES", 1 << 12)
    for bits in (1, 2, 8):
        C = draw_codes(4000, 100, bits)
        W, R = np.ones((100, 1)), np.ones((4000, 1))
        tracemalloc.start()
        C @ W, C.T @ R, C.gram(), C.gram(np.ones(4000))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4000 * 100 * 4 / 2
