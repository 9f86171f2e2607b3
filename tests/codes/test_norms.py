"""Norms beside the codes: kept with their rows, and multiplied with them when asked."""

import pickle

import numpy as np
import pytest

from lowtide.codes import Codes, concatenate, pack_levels
from lowtide.errors import CodeLayoutError

RNG = np.random.default_rng(5)
NORMS = RNG.uniform(0, 3, 37).astype(np.float32)


def make(bits=3, n=37, n_levels=21, width=1, norms=NORMS):
    packed = pack_levels(RNG.integers(0, 2**bits, (n, n_levels)), bits)
    book = RNG.standard_normal((2**bits, width)).astype(np.float32)
    return Codes(packed, bits=bits, n_levels=n_levels, codebook=book.squeeze(), fingerprint=bytes(16), norms=norms)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
def test_arithmetic_times_norms_is_that_of_scaled_rows(bits, width, dtype):
    C = make(bits, width=width)
    D = np.asarray(C, dtype=np.float64) * NORMS[:, None].astype(np.float64)
    S = C.times_norms()
    m = D.shape[1]
    W, R = RNG.standard_normal((m, 3)).astype(dtype), RNG.standard_normal((37, 2)).astype(dtype)
    weight = RNG.uniform(-1, 2, 37)
    # One rounding a term of sums of at most 42 products of size below 12 (37 rows, values below 4, norms below 3).
    close = {"rtol": 0, "atol": 100 * np.finfo(dtype).eps * 37 * 144}
    np.testing.assert_allclose(np.asarray(S, dtype=dtype), D, **close)
    np.testing.assert_allclose(S @ W, D @ W, **close)
    np.testing.assert_allclose(S.T @ R, D.T @ R, **close)
    np.testing.assert_allclose(S.gram(dtype=dtype), D.T @ D, **close)
    np.testing.assert_allclose(S.gram(weight, dtype=dtype), D.T @ (weight[:, None] * D), **close)
    np.testing.assert_allclose(S.dot(S[:5], dtype=dtype), D @ D[:5].T, **close)
    np.testing.assert_allclose(S.dot(C, dtype=dtype), D @ np.asarray(C, dtype=np.float64).T, **close)


def test_norms_change_nothing_until_asked():
    C = make()
    plain = Codes(C.packed, bits=3, n_levels=21, codebook=C.codebook, fingerprint=bytes(16))
    np.testing.assert_array_equal(np.asarray(C), np.asarray(plain))
    assert not C.is_times_norms
    assert C.nbytes == plain.nbytes + 4 * 37
    assert plain != C


@pytest.mark.parametrize("key", [slice(3, 30, 2), np.array([5, 0, 5]), np.arange(37) % 3 == 0, 4, []], ids=str)
def test_rows_take_their_norms_along(key):
    C = make().times_norms()
    index = np.atleast_1d(np.arange(37)[key])
    np.testing.assert_array_equal(C[key].norms, NORMS[index])
    np.testing.assert_array_equal(np.asarray(C[key]), np.asarray(C)[index])


def test_concatenate_and_pickle_keep_norms():
    C = make().times_norms()
    both = concatenate([C[:10], C[10:]])
    assert both == C
    assert pickle.loads(pickle.dumps(C)) == C
    assert make().times_norms() != C
    assert C.with_codebook(C.codebook) != C


def test_with_codebook_shares_norms_and_rows_are_no_longer_scaled():
    C = make().times_norms()
    other = C.with_codebook(np.zeros(8))
    assert other.norms is C.norms
    assert not other.is_times_norms


def test_norms_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        make().norms[0] = 1.0


@pytest.mark.parametrize(
    "bad", [np.ones(36), -np.ones(37), np.full(37, np.inf), np.full(37, np.nan), np.full(37, 1e39)]
)
def test_norms_that_are_no_lengths_are_refused(bad):
    with pytest.raises(CodeLayoutError, match="norms must be 37 finite numbers of at least 0"):
        make(norms=bad)


def test_rows_without_norms_are_not_multiplied_by_them():
    C = make(norms=None)
    with pytest.raises(CodeLayoutError, match="norms must be kept"):
        C.times_norms()
    with pytest.raises(CodeLayoutError, match="must have norms"):
        make().times_norms().with_rows(C.packed)


def test_concatenate_refuses_rows_with_and_without_norms():
    C = make()
    plain = Codes(C.packed, bits=3, n_levels=21, codebook=C.codebook, fingerprint=bytes(16))
    for parts in ([C, plain], [C, C.times_norms()]):
        with pytest.raises(CodeLayoutError, match="all parts must have norms"):
            concatenate(parts)


def test_corrections_follow_their_rows():
    C = make(2, n=6, norms=None)
    kept = C.with_rows(C.packed, np.arange(6), np.arange(6) / 4)
    np.testing.assert_array_equal(kept[[4, 1]].corrections, [1.0, 0.25])
    np.testing.assert_array_equal(concatenate([kept, kept[:1]]).corrections[-1:], [0.0])
    assert kept.nbytes == C.nbytes + 48
    assert kept != C.with_rows(C.packed, np.arange(6))
    assert pickle.loads(pickle.dumps(kept)) == kept
    assert Codes.template_from_state(kept.template_state()).corrections.shape == (0,)


def test_corrections_come_with_norms_and_for_all_parts():
    C = make(2, n=3, norms=None)
    with pytest.raises(CodeLayoutError, match="come with norms"):
        C.with_rows(C.packed, None, np.ones(3))
    with pytest.raises(CodeLayoutError, match="corrections must be 3 finite"):
        C.with_rows(C.packed, np.ones(3), [1.0, np.nan, 1.0])
    with pytest.raises(CodeLayoutError, match="corrections likewise"):
        concatenate([C.with_rows(C.packed, np.ones(3)), C.with_rows(C.packed, np.ones(3), np.ones(3))])
