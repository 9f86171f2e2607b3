"""The best rows of codes are what sorting all their products gives, by whichever way they are found."""

import tracemalloc

import numpy as np
import pytest
from codes.drawn import MARK, draw_codes
from reference import codes as reference

import lowtide as lt
from lowtide.codes import Codes, pack_levels
from lowtide.errors import CodeLayoutError, FingerprintMismatchError, ParameterError

# (rows, levels, bits, width): counted and looked up (1, 2 and 4 bits), by blocks (3 and 8 bits, 1100 bytes a row).
CASES = [(1, 1, 1, 1), (70, 65, 1, 1), (130, 70, 1, 2), (90, 63, 2, 1), (33, 7, 4, 2), (80, 65, 3, 1), (90, 31, 8, 2)]
CASES += [(20, 4800, 1, 1), (20, 8800, 1, 1), (90, 31, 5, 1)]
each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_end = pytest.mark.parametrize("largest", [True, False])


def exact_codes(n, n_levels, bits, width=1, *, seed=0):
    """Codes whose products with multiples of 2^-12 have no rounding in float64."""
    C = draw_codes(n, n_levels, bits, width, seed=seed)
    return C.with_codebook(np.round(C.codebook * 64) / 64)


def exact_queries(q, n_features, seed=0):
    return np.round(np.random.default_rng(seed).normal(size=(q, n_features)) * 4096) / 4096


def assert_best(found, products, k, largest=True):
    indices, scores = reference.best_rows(products, k, largest)
    assert (found[0].dtype, found[1].dtype) == (np.int64, np.float32)
    np.testing.assert_array_equal(found[0], indices)
    np.testing.assert_array_equal(found[1], scores)


@each_end
@each_case
def test_square_stands_for_factors_and_offsets_of_norms_and_corrections(case, largest):
    rng = np.random.default_rng(4)
    C, Q = exact_codes(*case), exact_queries(5, case[1] * case[3])
    norms, corrections = rng.lognormal(size=(2, len(C))).astype(np.float32)
    corrections[::7] *= -1
    C = C.with_rows(C.packed, norms, corrections)
    factors = np.where(corrections > 0, norms / corrections, np.float32(0))
    for square, where in ((0.0, None), (-0.5, None), (-0.5, np.arange(len(C)) % 2 == 0), (-0.5, [0])):
        offsets = np.float32(square) * (norms * norms)
        own = C.top_k(Q, 1, largest=largest, square=square, where=where)
        given = C.top_k(Q, 1, largest=largest, factors=factors, offsets=offsets, where=where)
        np.testing.assert_array_equal(own[0], given[0])
        np.testing.assert_array_equal(own[1], given[1])
    for broken in (np.full(len(C), 3e38, np.float32), None):
        with pytest.raises(CodeLayoutError, match="norms"):
            C.with_rows(C.packed, broken, None if broken is None else corrections).top_k(Q, 1, square=-0.5)


@each_end
@each_case
def test_top_k_of_arrays_sorts_the_product_with_them(case, largest):
    C, Q = exact_codes(*case), exact_queries(5, case[1] * case[3])
    for k in {1, min(7, len(C)), len(C)}:
        assert_best(C.top_k(Q, k, largest=largest), np.asarray(C, dtype=float) @ Q.T, k, largest)


@each_end
@each_case
def test_top_k_of_codes_sorts_their_dot(case, largest):
    C, other = exact_codes(*case), exact_codes(6, *case[1:], seed=1)
    other = other.with_codebook(other.codebook * np.float32(-0.5))
    k = min(4, len(C))
    assert_best(C.top_k(other, k, largest=largest), C.dot(other, dtype=np.float64), k, largest)


def drawn_terms(n):
    """Return factors, some of them 0, and offsets of rows, both exact."""
    rng = np.random.default_rng(n)
    return rng.integers(0, 9, n) / 4, rng.integers(-40, 40, n) / 8


@each_end
@each_case
def test_top_k_with_terms_of_rows_sorts_the_scores(case, largest):
    C, Q = exact_codes(*case), exact_queries(5, case[1] * case[3])
    factors, offsets = drawn_terms(len(C))
    scores = factors[:, None] * (np.asarray(C, dtype=float) @ Q.T) + offsets[:, None]
    for k in {1, min(7, len(C))}:
        assert_best(C.top_k(Q, k, largest=largest, factors=factors, offsets=offsets), scores, k, largest)


def test_top_k_of_many_rows_with_terms_of_any_size_sorts_the_scores():
    # Lengths as distances have them: the best rows are neither the longest nor the shortest.
    C, Q, rng = exact_codes(5000, 70, 1), exact_queries(9, 70), np.random.default_rng(0)
    factors = rng.lognormal(0, 1, 5000).astype(np.float32)
    offsets = -(factors.astype(np.float64) ** 2 * 5).astype(np.float32)
    scores = factors[:, None].astype(float) * (np.asarray(C, dtype=float) @ Q.T) + offsets[:, None].astype(float)
    assert_best(C.top_k(Q, 10, factors=factors, offsets=offsets), scores, 10)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("bits", [1, 2, 8])
@pytest.mark.parametrize("coded", [True, False])
def test_top_k_chooses_among_the_rows_that_are_allowed(coded, bits, share):
    C, rng = exact_codes(300, 65, bits), np.random.default_rng(1)
    query = exact_codes(4, 65, 1, seed=1) if coded else exact_queries(4, 65)
    mask = rng.random(300) < share
    mask[:64] = False
    scores = C.dot(query, dtype=np.float64) if coded else np.asarray(C, dtype=float) @ query.T
    chosen = np.flatnonzero(mask)
    k = min(9, len(chosen))
    for where in (mask, chosen, chosen[::-1].tolist()):
        indices, found = C.top_k(query, 9, where=where)
        assert indices.shape == found.shape == (4, k)
        if k:
            best = reference.best_rows(scores[chosen], k, True)
            np.testing.assert_array_equal(indices, chosen[best[0]])
            np.testing.assert_array_equal(found, best[1])


def test_top_k_takes_norms_into_the_scan():
    C = exact_codes(200, 65, 2)
    C = C.with_rows(C.packed, np.arange(200) / 8).times_norms()
    Q = exact_queries(3, 65)
    assert_best(C.top_k(Q, 5), np.asarray(C, dtype=float) @ Q.T, 5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"where": np.ones(9, bool)}, "a mask with an entry a row"),
        ({"where": [0, 10]}, "numbers of rows from 0 to 9"),
        ({"where": [-1]}, "numbers of rows from 0 to 9"),
        ({"where": np.ones((10, 1), bool)}, "a mask with an entry a row"),
        ({"factors": -np.ones(10)}, "factors must be finite"),
        ({"factors": np.ones(9)}, "factors must be finite"),
        ({"offsets": np.full(10, np.nan)}, "offsets must be finite"),
    ],
)
def test_top_k_refuses_terms_that_do_not_fit(wrong, message):
    with pytest.raises(CodeLayoutError, match=message):
        exact_codes(10, 65, 1).top_k(exact_queries(1, 65), 1, **wrong)


def exact_trits(n, n_levels):
    levels = np.random.default_rng(0).integers(0, 3, (n, n_levels))
    return Codes(pack_levels(levels, 2), bits=2, n_levels=n_levels, codebook=[0, 1, -1, 0], fingerprint=MARK)


# 70 decoded columns each.
SIDES = {
    "1 bit": exact_codes(90, 70, 1),
    "4 bits": exact_codes(80, 70, 4),
    "3 bits": exact_codes(70, 70, 3),
    "8 bits": exact_codes(60, 70, 8),
    "trits": exact_trits(85, 70),
    "pairs of 1 bit": exact_codes(75, 35, 1, 2),
    "pairs of 4 bits": exact_codes(75, 35, 4, 2),
}


@each_end
@pytest.mark.parametrize("store", SIDES)
@pytest.mark.parametrize("query", SIDES)
def test_top_k_of_another_side_of_the_same_frequencies(store, query, largest, monkeypatch):
    monkeypatch.setattr("lowtide.codes.arithmetic._BLOCK_VALUES", 300)
    C, other = SIDES[store], SIDES[query][:11]
    products = np.asarray(C, dtype=float) @ np.asarray(other, dtype=float).T
    assert_best(C.top_k(other, 7, largest=largest), products, 7, largest)


# Enough one-bit queries for integer sums to rule rows out: rows and queries in several blocks, ties by the dozen, and
# rows that differ from each other by less than the sums can tell.
@each_end
@pytest.mark.parametrize(("bits", "width"), [(2, 1), (3, 1), (4, 1), (8, 1), (4, 2)])
def test_top_k_of_many_one_bit_queries_is_exact(bits, width, largest, monkeypatch):
    monkeypatch.setattr("lowtide.codes.arithmetic._core.weights_suffice", lambda *_: True)
    monkeypatch.setattr("lowtide.codes.top_k._TOP_BITS", 70)
    monkeypatch.setattr("lowtide.codes.top_k._TOP_BOUNDS", 70 * 40)
    C, queries = exact_codes(130, 130 // width, bits, width), exact_codes(140, 130, 1)
    C = lt.concatenate([C, C[:60], C[5:6]])
    C = C.with_codebook(C.codebook + np.float32(2**-20) * np.arange(C.codebook.size).reshape(C.codebook.shape))
    products = np.asarray(C, dtype=float) @ np.asarray(queries, dtype=float).T
    for k in (1, 7, 45, len(C)):
        assert_best(C.top_k(queries, k, largest=largest), products, k, largest)


def test_queries_of_another_side_are_never_decoded_together(monkeypatch):
    monkeypatch.setattr("lowtide.codes.arithmetic._BLOCK_VALUES", 1 << 15)
    monkeypatch.setattr("lowtide.codes.top_k._PAIR_VALUES", 1 << 11)
    monkeypatch.setattr("lowtide.codes.top_k._TOP_BOUNDS", 1 << 14)
    C, queries = exact_codes(50, 100, 4), exact_codes(4000, 100, 1)
    tracemalloc.start()
    C.top_k(queries, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4000 * 100 * 8 / 4


@each_end
@pytest.mark.parametrize("n_levels", [1, 64, 1000])
def test_top_k_of_one_bit_codes_has_the_scores_of_dot_to_the_bit(n_levels, largest):
    C, other = (draw_codes(5000, n_levels, 1, seed=seed).with_codebook([-0.0331, 0.0331]) for seed in (0, 1))
    assert_best(C.top_k(other[:20], 30, largest=largest), C.dot(other[:20]), 30, largest)


def test_top_k_of_real_weights_agrees_with_the_product_to_rounding():
    C, Q = draw_codes(3000, 500, 1), np.random.default_rng(0).normal(size=(10, 500)).astype(np.float32)
    indices, scores = C.top_k(Q, 25)
    D, Q64 = np.asarray(C), Q.astype(float)
    exact = np.asarray(reference.product(D, Q64.T), float)
    bound = reference.product_bound(D, Q64.T, 502).max() + np.finfo(np.float32).eps * np.abs(exact).max()
    np.testing.assert_allclose(scores, np.take_along_axis(exact.T, indices, 1), rtol=0, atol=bound)
    np.testing.assert_allclose(scores, np.sort(exact.T, axis=1)[:, :-26:-1], rtol=0, atol=bound)


@pytest.mark.parametrize("bits", [1, 2, 8])
def test_top_k_of_rows_times_their_norms_takes_them_in(bits):
    C, norms = exact_codes(200, 40, bits), np.arange(200) % 7
    scaled = Codes(
        C.packed, bits=bits, n_levels=40, codebook=C.codebook, fingerprint=C.fingerprint, norms=norms
    ).times_norms()
    Q = exact_queries(3, 40)
    assert_best(scaled.top_k(Q, 9), np.asarray(scaled, dtype=float) @ Q.T, 9)
    assert_best(C.top_k(scaled[:5], 9), np.asarray(C, dtype=float) @ np.asarray(scaled[:5], dtype=float).T, 9)


@pytest.mark.parametrize("bits", [1, 2, 3, 8])
def test_top_k_of_columns_with_factors_takes_them_in(bits):
    C = exact_codes(200, 40, bits)
    scaled = Codes(
        C.packed,
        bits=bits,
        n_levels=40,
        codebook=C.codebook,
        fingerprint=C.fingerprint,
        scale=np.arange(np.asarray(C[:1]).size) % 5,
    )
    Q = np.random.default_rng(0).integers(-8, 9, (3, C.shape[1])).astype(float)
    assert_best(scaled.top_k(Q, 9), np.asarray(scaled, dtype=float) @ Q.T, 9)
    assert_best(scaled.top_k(scaled[:5], 9), np.asarray(scaled, dtype=float) @ np.asarray(scaled[:5], dtype=float).T, 9)


@pytest.mark.parametrize("bits", [1, 3])
def test_ties_go_to_the_lower_index(bits):
    C = exact_codes(4, 9, bits)[np.tile([2, 0, 2, 1, 2], 300)]
    for query in (C[:1], np.asarray(C[:1], dtype=float)):
        indices, scores = C.top_k(query, 8)
        assert len(np.unique(scores)) == 1
        np.testing.assert_array_equal(indices[0], [0, 2, 4, 5, 7, 9, 10, 12])


@each_end
def test_scores_of_zero_have_no_sign(largest):
    for bits in (1, 3):
        scores = exact_codes(3, 9, bits).top_k(-np.zeros((1, 9)), 2, largest=largest)[1]
        assert not np.signbit(scores).any()


@pytest.mark.parametrize("is_float32", [True, False])
def test_blocks_of_rows_and_queries_do_not_show(is_float32, monkeypatch):
    for name, value in (("ROWS", 10), ("QUERIES", 3), ("FLOATS", 3), ("BOUNDS", 30), ("FIRST", 2)):
        monkeypatch.setattr(f"lowtide.codes.top_k._TOP_{name}", value)
    if not is_float32:
        monkeypatch.setattr("lowtide.codes.top_k._float32_slack", lambda *_: None)
    C, Q = exact_codes(95, 20, 3)[np.arange(95) // 2], exact_queries(8, 20)
    for k in (1, 9, 25, 95):
        assert_best(C.top_k(Q, k), np.asarray(C, dtype=float) @ Q.T, k)


@each_end
@pytest.mark.parametrize("with_terms", [True, False])
@pytest.mark.parametrize("bits", [3, 8])
def test_rows_that_float32_cannot_tell_apart_are_in_order(bits, with_terms, largest):
    C, Q = exact_codes(300, 200, bits), exact_queries(7, 200)
    C = C.with_codebook(1 + C.codebook * np.float32(2**-16))  # sums of 200 are rounded by more than these differ
    D, (factors, offsets) = np.asarray(C, dtype=float), drawn_terms(300)
    terms = {"factors": factors, "offsets": offsets} if with_terms else {}
    products = D @ Q.T * factors[:, None] + offsets[:, None] if with_terms else D @ Q.T
    assert_best(C.top_k(Q, 20, largest=largest, **terms), products, 20, largest)


def test_products_past_the_range_of_float32_are_infinite():
    C, Q = exact_codes(60, 40, 8), exact_queries(3, 40) * 2.0**124
    with np.errstate(over="ignore"):
        assert_best(C.top_k(Q, 9), np.asarray(C, dtype=float) @ Q.T, 9)


def test_more_queries_than_are_taken_at_once():
    C, Q = exact_codes(300, 30, 1), exact_queries(131, 30)
    assert_best(C.top_k(Q, 5), np.asarray(C, dtype=float) @ Q.T, 5)
    assert_best(C.top_k(C[:131], 5), C.dot(C[:131], dtype=np.float64), 5)


def test_slices_unaligned_bytes_and_other_layouts_of_queries_are_taken():
    C, Q = exact_codes(300, 100, 1), exact_queries(3, 100)
    expected = reference.best_rows(np.asarray(C[7:], dtype=float) @ Q.T, 4)
    memory = np.zeros(C.packed.size + 1, np.uint8)[1:].reshape(C.packed.shape)
    memory[:] = C.packed
    moved = Codes(memory, bits=1, n_levels=100, codebook=C.codebook, fingerprint=C.fingerprint)
    readonly = Q.copy()
    readonly.flags.writeable = False
    for codes, query in [
        (C[7:], np.asfortranarray(Q)),
        (moved[7:], np.repeat(Q, 2, axis=1)[:, ::2]),
        (C[7:], Q.astype(">f8")),
        (C[7:], readonly),
    ]:
        np.testing.assert_array_equal(codes.top_k(query, 4)[0], expected[0])


def test_encoded_rows_find_themselves_first():
    X = np.random.default_rng(0).normal(size=(400, 10)).astype(np.float32)
    enc = lt.RandomFeatures(gamma=0.1, n_components=256, random_state=0).fit(X)
    C = enc.encode(X)
    for query in (C[:50], enc.transform(X[:50])):
        np.testing.assert_array_equal(C.top_k(query, 1)[0][:, 0], range(50))


def test_no_queries_give_empty_results():
    C = draw_codes(5, 9, 1)
    for query in (np.empty((0, 9)), C[:0]):
        indices, scores = C.top_k(query, 2)
        assert indices.shape == scores.shape == (0, 2)
    assert draw_codes(5, 9, 3).top_k(np.empty((0, 9)), 2)[0].shape == (0, 2)


@pytest.mark.parametrize("k", [0, 6, -1, 2.0, True, None, "3"])
def test_k_that_cannot_be_had_is_refused(k):
    with pytest.raises(ParameterError, match="k must be an integer from 1 to 5, got"):
        draw_codes(5, 9, 1).top_k(np.ones((1, 9)), k)


def test_codes_without_rows_are_refused():
    with pytest.raises(CodeLayoutError, match="must have rows to choose from"):
        draw_codes(0, 9, 1).top_k(np.ones((1, 9)), 1)


@pytest.mark.parametrize("bits", [1, 3])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
def test_numbers_that_are_not_finite_are_refused(bad, bits):
    Q = np.ones((2, 9))
    Q[1, 4] = bad
    with pytest.raises(CodeLayoutError, match="query must be finite"):
        draw_codes(5, 9, bits).top_k(Q, 1)


@pytest.mark.parametrize("query", [np.ones(9), np.ones((2, 8)), np.ones((2, 9, 1)), np.float64(1)])
def test_queries_of_another_shape_are_refused(query):
    with pytest.raises(CodeLayoutError, match=r"shape \(q, 9\)"):
        draw_codes(5, 9, 1).top_k(query, 1)


@pytest.mark.parametrize(
    "query", [np.ones((2, 9), complex), np.array([["a"] * 9]), None, np.ones((1, 9), np.longdouble)]
)
def test_queries_of_another_type_are_refused(query):
    with pytest.raises(CodeLayoutError, match="query must be Codes, float32, float64 or integers"):
        draw_codes(5, 9, 1).top_k(query, 1)


def test_codes_of_another_encoder_or_width_are_refused():
    C = draw_codes(5, 9, 1)
    with pytest.raises(FingerprintMismatchError, match="Codes.top_k: codes must come from one encoder"):
        C.top_k(draw_codes(2, 9, 1, fingerprint=b"f" * 16), 1)
    with pytest.raises(CodeLayoutError, match="Codes.top_k: codes must have equal widths"):
        C.top_k(draw_codes(2, 10, 1), 1)


@pytest.mark.parametrize("bits", [1, 3])
def test_the_products_are_never_held_together(bits):
    levels = np.random.default_rng(0).integers(0, 2, (60_000, 20))
    C = Codes(pack_levels(levels, bits), bits=bits, n_levels=20, codebook=np.arange(2.0**bits), fingerprint=bytes(16))
    Q = exact_queries(128, 20)
    tracemalloc.start()
    C.top_k(Q, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60_000 * 128 * 4 / 2
