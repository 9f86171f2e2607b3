"""Vectors in a few bits, and the search for the best of them."""

import numpy as np
import pytest

import lowtide as lt
from lowtide.encoders import Found
from lowtide.errors import CodeLayoutError, FingerprintMismatchError, ParameterError
from lowtide.wire import describe_encoder, rebuild_encoder

RNG = np.random.default_rng(0)
# Off the origin, with clusters, so that there are near rows.
X = (RNG.standard_normal((40, 48)).repeat(15, axis=0) + 0.4 * RNG.standard_normal((600, 48)) + 0.5).astype(np.float32)
Q = X[::50] + 0.2 * RNG.standard_normal((12, 48)).astype(np.float32)
METRICS = ("cosine", "inner_product", "l2")


def scores_of(metric, rows=X, queries=Q):
    rows, queries = rows.astype(np.float64), queries.astype(np.float64)
    if metric == "l2":
        return np.sum((queries[:, None] - rows) ** 2, axis=2)
    if metric == "cosine":
        rows, queries = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (rows, queries))
    return queries @ rows.T


def best(scores, k, metric):
    return np.argsort(scores if metric == "l2" else -scores, axis=1, kind="stable")[:, :k]


def recall(found, true):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, true)])


@pytest.fixture(scope="module", params=METRICS)
def searched(request):
    """A fitted encoder of two bits of each metric, and codes."""
    vectors = lt.VectorCodes(2, metric=request.param, random_state=0).fit(X)
    return request.param, vectors, vectors.encode(X)


def test_codes_keep_lengths_and_products_beside_two_bits_a_column(searched):
    metric, vectors, C = searched
    assert C.nbytes == len(X) * (16 + 4 + 4)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    rest = unit - unit.mean(axis=0)
    np.testing.assert_allclose(C.norms, np.linalg.norm(rest, axis=1), rtol=1e-5)
    full = vectors.transform(X).astype(np.float64) if metric != "inner_product" else None
    if full is not None:
        products = np.sum(np.asarray(C) * full, axis=1) / np.linalg.norm(full, axis=1)
        np.testing.assert_allclose(C.corrections, products, rtol=1e-5)


def test_top_k_is_what_sorting_all_estimates_gives(searched):
    metric, vectors, C = searched
    K = vectors.kernel_estimate(Q, C, sides=("full", "codes"))
    found = vectors.top_k(C, Q, 10)
    assert isinstance(found, Found)
    assert found.std is None
    np.testing.assert_array_equal(found.indices, best(K.astype(np.float64), 10, metric))
    np.testing.assert_allclose(found.scores, np.take_along_axis(K, found.indices, axis=1), rtol=1e-4, atol=1e-4)


def test_scores_are_those_of_the_rows_within_their_errors(searched):
    metric, vectors, C = searched
    found = vectors.top_k(C, Q, 30, return_std=True)
    off = (found.scores - np.take_along_axis(scores_of(metric), found.indices, axis=1)) / found.std
    # The best by estimate are overrated, by less than an error or so.
    assert np.abs(off).max() < 6
    assert 0.6 < off.std() < 1.5


def test_four_bits_find_most_of_the_best_rows_and_rescoring_all(searched):
    metric, _, _ = searched
    vectors = lt.VectorCodes(4, metric=metric, random_state=0).fit(X)
    C, true = vectors.encode(X), best(scores_of(metric), 10, metric)
    assert recall(vectors.top_k(C, Q, 10).indices, true) > 0.9
    found = vectors.top_k(C, Q, 10, rescore=4, finer=X, return_std=True)
    np.testing.assert_array_equal(found.indices, true)
    np.testing.assert_allclose(found.scores, np.take_along_axis(scores_of(metric), true, axis=1), rtol=1e-5)
    assert not found.std.any()


def test_finer_codes_of_the_same_fingerprint_rescore(searched):
    metric, vectors, C = searched
    finer = lt.VectorCodes(8, metric=metric, random_state=0).fit(X)
    assert finer.fingerprint_ == vectors.fingerprint_
    assert finer.side_ != vectors.side_
    fine = finer.encode(X)
    found = vectors.top_k(C, Q, 10, rescore=6, finer=fine, return_std=True)
    true = best(scores_of(metric), 10, metric)
    assert recall(found.indices, true) > recall(vectors.top_k(C, Q, 10).indices, true)
    expected = finer.top_k(fine, Q, 10, return_std=True)
    same = found.indices == expected.indices
    assert same.mean() > 0.9
    np.testing.assert_allclose(found.scores[same], expected.scores[same], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.std[same], expected.std[same], rtol=0.05)


def test_rows_are_chosen_by_mask_by_number_and_named_by_ids(searched):
    _, vectors, C = searched
    mask = np.arange(600) % 3 == 0
    found = vectors.top_k(C, Q, 5, where=mask, ids=[f"row {i}" for i in range(600)])
    alone = vectors.top_k(C[mask], Q, 5)  # deleted rows are left out of codes in the same way
    assert found.indices.tolist() == [[f"row {3 * i}" for i in row] for row in alone.indices]
    np.testing.assert_array_equal(found.scores, alone.scores)
    assert vectors.top_k(C, Q, 5, where=[3, 8]).indices.shape == (12, 2)


def test_within_returns_all_rows_up_to_a_score(searched):
    metric, vectors, C = searched
    K = vectors.kernel_estimate(Q, C, sides=("full", "codes")).astype(np.float64)
    # Some have none, some more rows than are asked for at first.
    radius = float(np.sort(K[0])[100 if metric == "l2" else -100])
    for query, found in enumerate(vectors.within(C, Q, radius)):
        inside = np.flatnonzero(K[query] <= radius if metric == "l2" else K[query] >= radius)
        assert abs(len(found.indices) - len(inside)) <= 1  # one at the radius may round either way
        assert len(set(found.indices) ^ set(inside)) <= 1
        assert np.all(np.diff(found.scores) * (1 if metric == "l2" else -1) >= 0)


def test_stores_and_files_are_searched_block_by_block(searched, tmp_path, monkeypatch):
    _, vectors, C = searched
    monkeypatch.setattr("lowtide.encoders.nearest._BLOCK_BYTES", 2000)
    with lt.CodeStore.create(tmp_path / "store", vectors, chunk_rows=64, shard_chunks=2) as store:
        store.append(X)
    lt.save(C, tmp_path / "codes.lowtide")
    expected = vectors.top_k(C, Q, 7, where=np.arange(600) > 99, return_std=True)
    opened = lt.CodeStore.open(tmp_path / "store")
    for source in (opened, lt.persist.open_codes(tmp_path / "codes.lowtide")):
        assert source[:] == C
        assert source[[5, 3, 599]] == C[[5, 3, 599]]
        found = vectors.top_k(source, Q, 7, where=np.arange(600) > 99, return_std=True)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.scores, expected.scores)
        np.testing.assert_array_equal(found.std, expected.std)
    np.testing.assert_array_equal(opened.top_k(Q, 7).indices, vectors.top_k(C, Q, 7).indices)


def test_rows_of_a_store_are_chosen_and_named_by_columns(searched, tmp_path):
    _, vectors, C = searched
    kind, size = np.array(["a", "b", "c"])[np.arange(600) % 3], np.arange(600) / 4
    with lt.CodeStore.create(tmp_path / "store", vectors) as store:
        store.append(C, kind=kind, size=size, place=np.arange(600))
    found = store.top_k(Q, 4, where="kind=b", ids="size")
    expected = vectors.top_k(C, Q, 4, where=kind == "b")
    np.testing.assert_array_equal(found.indices, size[expected.indices])
    assert store.top_k(Q, where="size=2.25").indices.tolist() == [[9]] * 12
    assert store.top_k(Q, where="place=9").indices.tolist() == [[9]] * 12
    refused("must be a number", lambda: store.top_k(Q, where="size=large"))
    refused("column must be one of", lambda: store.top_k(Q, where="color=red"))


def test_files_and_messages_bring_the_encoder_back(searched, tmp_path):
    _, vectors, C = searched
    lt.save(vectors, tmp_path / "vectors.lowtide")
    assert lt.load(tmp_path / "vectors.lowtide").encode(X[:9]) == C[:9]
    assert rebuild_encoder(describe_encoder(vectors)).encode(X[:9]) == C[:9]


def test_a_row_does_not_depend_on_its_batch(searched):
    _, vectors, C = searched
    assert vectors.encode(X[7:8].astype(np.float64)) == C[7:8]


def test_rows_at_the_center_have_no_direction_and_an_exact_score():
    rows = np.vstack([X, X.mean(axis=0, dtype=np.float64)])
    vectors = lt.VectorCodes(1, metric="l2", random_state=0).fit(rows)
    C = vectors.encode(np.vstack([vectors.center_, X[:50]]))
    found = vectors.top_k(C, Q, 51, return_std=True)
    place = found.indices == 0
    np.testing.assert_allclose(found.scores[place], scores_of("l2", vectors.center_[None])[:, 0], rtol=1e-4)


def test_centering_finds_more_of_vectors_far_to_one_side():
    far = X + 2
    true = best(scores_of("l2", far, Q + 2), 10, "l2")
    encoders = [lt.VectorCodes(1, metric="l2", center=center, random_state=0).fit(far) for center in (True, False)]
    centered, plain = (recall(one.top_k(one.encode(far), Q + 2, 10).indices, true) for one in encoders)
    assert centered > plain + 0.2


def refused(message, call, error=ParameterError):
    with pytest.raises(error, match=message):
        call()


def test_bad_input_is_refused(searched):
    _, vectors, C = searched
    other = lt.VectorCodes(2, random_state=1).fit(X).encode(X)
    refused("metric must be", lambda: lt.VectorCodes(metric="hamming").fit(X))
    refused("bits must be", lambda: lt.VectorCodes(9).fit(X))
    refused("Codes must come from", lambda: vectors.top_k(other, Q), FingerprintMismatchError)
    refused("codes must be Codes", lambda: vectors.top_k(X, Q))
    refused("k must be", lambda: vectors.top_k(C, Q, 0))
    refused("rescore must come with finer", lambda: vectors.top_k(C, Q, rescore=4))
    refused("rescore must come with finer", lambda: vectors.top_k(C, Q, finer=X))
    refused("finer must have shape", lambda: vectors.top_k(C, Q, rescore=2, finer=X[:5]))
    refused("finer codes must have", lambda: vectors.top_k(C, Q, rescore=2, finer=other))
    refused("ids must have an entry a row", lambda: vectors.top_k(C, Q, ids=[1, 2]))
    refused("norms and corrections", lambda: vectors.top_k(C.with_rows(C.packed), Q))
    refused("radius must be", lambda: vectors.within(C, Q, np.nan))
    refused("a mask with an entry a row", lambda: vectors.top_k(C, Q, where=[True]), CodeLayoutError)
    refused("one side of an estimate must be full", lambda: vectors.kernel_estimate(C, C, return_std=True))
    refused("must not be all zeros", lambda: lt.VectorCodes().fit(np.zeros((3, 4))))
