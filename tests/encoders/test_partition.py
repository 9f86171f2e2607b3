"""Codes in cells of which a search reads the nearest, against the scan of all codes."""

from dataclasses import replace

import numpy as np
import pytest

import lowtide as lt
from lowtide.codes import RowCells
from lowtide.encoders import Partition
from lowtide.errors import CodeLayoutError, FileFormatError, FingerprintMismatchError, ParameterError
from lowtide.persist import from_bytes, to_bytes

RNG = np.random.default_rng(3)
CENTERS = RNG.standard_normal((60, 40))


def draw(n, rng):
    return (CENTERS[rng.integers(0, 60, n)] + 0.7 * rng.standard_normal((n, 40)) + 0.3).astype(np.float32)


X, Q = draw(4000, RNG), draw(400, RNG)
X[2000:2040] = X[:40]  # equal scores, in other cells' order
METRICS = ("cosine", "inner_product", "l2")


@pytest.fixture(scope="module", params=[(metric, bits) for metric in METRICS for bits in (1, 2, 4)], ids=str)
def split(request):
    """A fitted encoder, codes, and the same in cells."""
    metric, bits = request.param
    vectors = lt.VectorCodes(bits, metric=metric, random_state=0).fit(X)
    codes = vectors.encode(X)
    return vectors, codes, vectors.partition(codes, random_state=0)


@pytest.fixture(scope="module")
def two_bits():
    vectors = lt.VectorCodes(2, random_state=0).fit(X)
    codes = vectors.encode(X)
    return vectors, codes, vectors.partition(codes, random_state=0)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.scores, expected.scores)
    if expected.std is not None:
        np.testing.assert_array_equal(found.std, expected.std)


def recall_of(found, expected):
    """Return the share of the expected rows that each query found."""
    pairs = zip(found.indices, expected.indices)
    return np.array([len(np.intersect1d(a, b)) / len(b) for a, b in pairs])


@pytest.mark.parametrize("n_queries", [1, 3, 64, 400])
def test_all_cells_give_what_the_scan_gives_bit_for_bit(split, n_queries):
    vectors, codes, cells = split
    found = vectors.top_k(cells, Q[:n_queries], 30, recall=1, return_std=True)
    assert_same(found, vectors.top_k(codes, Q[:n_queries], 30, return_std=True))
    assert found.recall == 1.0
    assert vectors.top_k(codes, Q[:1], 3).recall is None


def test_promised_recall_is_kept_by_queries_that_did_not_measure_it(split):
    vectors, codes, cells = split
    for k in (1, 10, 100):
        expected = vectors.top_k(codes, Q, k)
        for wanted in (0.8, 0.95):
            found = vectors.top_k(cells, Q, k, recall=wanted)
            own = recall_of(found, expected)
            assert found.recall >= wanted
            # Two samples, of 500 rows and of 400 queries.
            error = own.std() * np.sqrt(1 / len(Q) + 1 / cells.n_measured) + 1e-3
            assert own.mean() > found.recall - 4 * error
    few, _ = cells.cells_for(0.8, 10)
    assert few < cells.n_cells / 2


def test_rows_that_are_found_have_the_scores_that_they_have_in_the_scan(two_bits):
    vectors, codes, cells = two_bits
    found = vectors.top_k(cells, Q, 20, recall=0.5)
    whole = vectors.top_k(codes, Q, len(X))
    scores = np.empty_like(whole.scores)
    np.put_along_axis(scores, whole.indices, whole.scores, axis=1)
    np.testing.assert_array_equal(found.scores, np.take_along_axis(scores, found.indices, axis=1))
    assert np.all(np.diff(found.scores, axis=1) <= 0)


def test_a_query_finds_the_same_alone_and_among_others(two_bits):
    vectors, _, cells = two_bits
    found = vectors.top_k(cells, Q, 10)
    for some in (slice(0, 1), slice(5, 8), slice(100, 250)):
        alone = vectors.top_k(cells, Q[some], 10)
        np.testing.assert_array_equal(alone.indices, found.indices[some])
        np.testing.assert_array_equal(alone.scores, found.scores[some])


def test_measuring_by_queries_counts_what_those_find(two_bits):
    vectors, codes, _ = two_bits
    cells = vectors.partition(codes, queries=Q[:100], random_state=0)
    assert cells.n_measured == 100
    expected = vectors.top_k(codes, Q[:100], 10)
    for wanted in (0.6, 0.9, 0.99):
        found = vectors.top_k(cells, Q[:100], 10, recall=wanted)
        np.testing.assert_allclose(found.recall, recall_of(found, expected).mean(), rtol=1e-6)
        count, _ = cells.cells_for(wanted, 10)
        assert count == 1 or cells.curve[1, count - 2] < wanted


@pytest.mark.parametrize("step", [1, 2, 3, 50, 1000])
def test_filters_choose_among_the_rows_by_their_numbers(two_bits, step):
    vectors, codes, cells = two_bits
    mask = np.arange(len(X)) % step == 0
    whole = vectors.top_k(codes, Q, 10, where=mask)
    assert_same(vectors.top_k(cells, Q, 10, where=mask, recall=1), whole)
    found = vectors.top_k(cells, Q, 10, where=np.flatnonzero(mask), recall=0.9)
    assert mask[found.indices].all()
    assert found.indices.shape == whole.indices.shape
    if step > 4:  # few are left: all cells are read
        assert_same(found, whole)
        assert found.recall == 1.0
    else:
        own = recall_of(found, whole)
        assert own.mean() > found.recall - 4 * own.std() * np.sqrt(1 / len(Q) + 1 / cells.n_measured)


def test_more_cells_are_read_where_the_nearest_have_too_few_rows(two_bits):
    vectors, codes, _ = two_bits
    cells = vectors.partition(codes, n_cells=1000, random_state=0)
    for k in (1000, 4000):
        found = vectors.top_k(cells, Q[:5], k, recall=0.1)
        assert found.indices.shape == (5, k)
        assert all(len(np.unique(row)) == k for row in found.indices)
    assert_same(found, vectors.top_k(codes, Q[:5], 4000))
    assert vectors.top_k(cells, Q[:5], 3, where=np.zeros(len(X), bool)).indices.shape == (5, 0)


def test_names_and_rescoring_go_by_the_numbers_of_rows(two_bits):
    vectors, codes, cells = two_bits
    names = [f"row {i}" for i in range(len(X))]
    options = {"ids": names, "rescore": 4, "return_std": True}
    finer = lt.VectorCodes(8, random_state=0).fit(X).encode(X)
    for again in (finer, X):
        expected = vectors.top_k(codes, Q, 5, finer=again, **options)
        assert_same(vectors.top_k(cells, Q, 5, finer=again, recall=1, **options), expected)
        assert recall_of(vectors.top_k(cells, Q, 5, finer=again, **options), expected).mean() > 0.9


def test_within_reads_all_cells(two_bits):
    vectors, codes, cells = two_bits
    for own, whole in zip(vectors.within(cells, Q[:20], 0.5), vectors.within(codes, Q[:20], 0.5)):
        assert_same(own, whole)
    with pytest.raises(ParameterError, match="recall must come with a partition"):
        vectors.top_k(codes, Q, recall=0.9)


def test_appended_rows_are_found_under_the_next_numbers(two_bits):
    vectors, codes, cells = two_bits
    more = vectors.encode(Q)
    both = lt.concatenate([codes, more])
    grown = cells.append(more[:150]).append(more[150:])
    assert len(grown) == len(both)
    assert_same(vectors.top_k(grown, Q, 20, recall=1), vectors.top_k(both, Q, 20))
    # They are where queries look for them.
    found = vectors.top_k(grown, Q, 1)
    assert np.mean(found.indices[:, 0] == len(X) + np.arange(len(Q))) > found.recall
    # What was there is where it was.
    assert len(cells) == len(X)
    assert_same(vectors.top_k(cells.append(more[:0]), Q, 3), vectors.top_k(cells, Q, 3))


def test_the_same_seed_gives_the_same_cells(two_bits):
    vectors, codes, cells = two_bits
    again, other = (vectors.partition(codes, random_state=seed) for seed in (0, 1))
    assert to_bytes(again) == to_bytes(cells)
    assert to_bytes(other) != to_bytes(cells)


def test_a_store_is_read_into_cells(two_bits, tmp_path):
    vectors, codes, cells = two_bits
    with lt.CodeStore.create(tmp_path / "rows", vectors) as store:
        store.append(codes)
    store = lt.CodeStore.open(tmp_path / "rows")
    assert to_bytes(vectors.partition(store, random_state=0)) == to_bytes(cells)
    with pytest.raises(ParameterError, match="vectors.partition"):
        store.top_k(Q, 3, recall=0.9)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_few_rows_are_a_partition_too(n):
    vectors = lt.VectorCodes(2, metric="l2", random_state=0).fit(X[:n])
    codes = vectors.encode(X[:n])
    cells = vectors.partition(codes, random_state=0)
    assert_same(vectors.top_k(cells, Q, n, recall=1), vectors.top_k(codes, Q, n))
    assert vectors.top_k(cells, Q, 5).indices.shape == (len(Q), min(5, n))


def test_equal_rows_leave_cells_empty():
    rows = np.repeat(X[:3], 100, axis=0)
    vectors = lt.VectorCodes(2, random_state=0).fit(rows)
    codes = vectors.encode(rows)
    cells = vectors.partition(codes, n_cells=50, random_state=0)
    # Products of BLAS may differ in the last bit between equal rows, which then lie in a few cells in place of one.
    assert np.sum(np.diff(cells.cells.starts) == 0) > 30
    assert_same(vectors.top_k(cells, Q, 7, recall=1), vectors.top_k(codes, Q, 7))


def test_files_give_back_the_partition(split, tmp_path):
    vectors, _, cells = split
    lt.save(cells, tmp_path / "cells.lowtide")
    loaded = lt.load(tmp_path / "cells.lowtide", kind=Partition)
    assert_same(vectors.top_k(loaded, Q, 9), vectors.top_k(cells, Q, 9))
    assert loaded.codes == cells.codes
    assert to_bytes(loaded) == to_bytes(cells)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("names", lambda kept: kept - 1),
        ("names", lambda kept: np.where(kept == 5, 6, kept)),
        ("names", lambda kept: kept.astype(np.float64)),
        ("names", lambda kept: kept[:-1]),
        ("starts", lambda kept: kept + 1),
        ("starts", lambda kept: kept[::-1].copy()),
        ("starts", lambda kept: kept[:1]),
        ("centers", lambda kept: kept[:, :-1].copy()),
        ("centers", lambda kept: np.full_like(kept, np.nan)),
        ("curve", lambda kept: kept[:2].copy()),
        ("curve", lambda kept: kept * 0.5),
        ("curve", lambda kept: -kept),
        ("curve", lambda kept: np.where(kept < 1, np.nan, kept)),
    ],
)
def test_files_that_are_no_partition_are_refused(two_bits, name, change):
    arrays = dict(two_bits[2].to_state()["partition"].arrays)
    broken = replace(
        two_bits[2],
        **{field: change(arrays[field]) if field == name else arrays[field] for field in ("centers", "curve")},
        cells=RowCells(*(change(arrays[field]) if field == name else arrays[field] for field in ("names", "starts"))),
    )
    data = to_bytes(broken)
    with pytest.raises(FileFormatError):
        from_bytes(data)


def test_what_cannot_be_in_cells_is_refused(two_bits):
    vectors, codes, cells = two_bits
    other = lt.VectorCodes(2, random_state=1).fit(X)
    wide = lt.VectorCodes(8, random_state=0).fit(X)

    def refused(words, call, error=ParameterError):
        with pytest.raises(error, match=words):
            call()

    for recall in (0, 1.1, -1, np.nan, "all"):
        refused("recall must be", lambda recall=recall: vectors.top_k(cells, Q, recall=recall))
    refused("1, 2 or 4 bits", lambda: wide.partition(wide.encode(X[:50])), CodeLayoutError)
    refused("Codes must come from", lambda: vectors.partition(other.encode(X)), FingerprintMismatchError)
    refused("Codes must come from", lambda: other.top_k(cells, Q), FingerprintMismatchError)
    refused("codes must be Codes", lambda: vectors.partition(X))
    refused("already", lambda: vectors.partition(cells))
    refused("codes must have rows", lambda: vectors.partition(codes[:0]))
    refused("n_cells must be", lambda: vectors.partition(codes, n_cells=0))
    refused("n_cells must be", lambda: vectors.partition(codes, n_cells=len(X) + 1))
    refused("norms and corrections", lambda: vectors.partition(codes.with_rows(codes.packed)))
    refused("codes must be Codes", lambda: cells.append(X))
    refused("fingerprint", lambda: cells.append(other.encode(X)), FingerprintMismatchError)
    refused("k must be", lambda: vectors.top_k(cells, Q, 0))
    refused("ids must have", lambda: vectors.top_k(cells, Q, ids=[1]))
    refused("a mask with an entry a row", lambda: vectors.top_k(cells, Q, where=[True]), CodeLayoutError)
