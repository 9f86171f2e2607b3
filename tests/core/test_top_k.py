"""The search on packed codes, at the level in force, against sorting all products."""

import numpy as np
import pytest
from reference import codes as reference

from lowtide import _core

# (rows, levels, queries, k): one row, tiles that are not full, all rows wanted, rows split over threads.
SHAPES = [(1, 1, 1, 1), (5, 7, 3, 5), (63, 64, 8, 2), (65, 65, 9, 64), (130, 130, 15, 3), (300, 999, 5, 10)]
SHAPES += [(4100, 70, 4, 7), (9001, 33, 11, 50)]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
each_end = pytest.mark.parametrize("largest", [True, False])


def in_steps(values, step):
    """Rounded so that every product below is exact in float64, whatever the order of its sum."""
    return np.round(np.asarray(values) / step) * step


def draw_book(rng, bits, width):
    return in_steps(rng.normal(size=(1 << bits, width)), 2.0**-6).astype(np.float32)


def draw_rows(rng, n, n_levels, bits):
    levels = rng.integers(0, 1 << bits, (n, n_levels)).astype(np.uint8)
    return levels, reference.packed(levels, bits).copy()


def draw_queries(rng, q, n_features):
    return in_steps(rng.normal(size=(q, n_features)), 2.0**-12)


def search(rows, n_levels, bits, book, Q, k, largest=True):
    indices, scores = np.full((len(Q), k), -1, np.int64), np.full((len(Q), k), np.nan, np.float32)
    _core.code_top_k(rows, n_levels, bits, book, Q, largest, indices, scores)
    return indices, scores


def search_codes(rows, book, other, other_book, n_levels, k, largest=True):
    indices, scores = np.full((len(other), k), -1, np.int64), np.full((len(other), k), np.nan, np.float32)
    _core.code_top_k(rows, book, other, other_book, n_levels, largest, indices, scores)
    return indices, scores


def assert_best(found, products, k, largest=True):
    indices, scores = reference.best_rows(products, k, largest)
    np.testing.assert_array_equal(found[0], indices)
    np.testing.assert_array_equal(found[1], scores)


@each_end
@each_shape
@pytest.mark.parametrize(("bits", "width"), [(1, 1), (1, 2), (2, 1), (4, 2)])
def test_code_top_k_is_what_sorting_all_products_gives(bits, width, shape, largest):
    n, n_levels, q, k = shape
    rng = np.random.default_rng([n, bits, width])
    (levels, rows), book = draw_rows(rng, n, n_levels, bits), draw_book(rng, bits, width)
    Q = draw_queries(rng, q, n_levels * width)
    found = search(rows, n_levels, bits, book, Q, k, largest)
    assert_best(found, reference.decoded(levels, book).astype(float) @ Q.T, k, largest)


@each_end
@each_shape
@pytest.mark.parametrize(
    "books", [([-0.5, 0.5], [-2, 2]), ([-0.5, 0.5], [2, -2]), ([[3, 1], [-3, 1]],) * 2, ([1, 1],) * 2]
)
def test_code_top_k_codes_is_what_sorting_all_products_gives(books, shape, largest):
    n, n_levels, q, k = shape
    rng = np.random.default_rng([n, 7])
    (levels, rows), (others, queries) = draw_rows(rng, n, n_levels, 1), draw_rows(rng, q, n_levels, 1)
    book, other = (np.array(b, np.float32).reshape(2, -1) for b in books)
    found = search_codes(rows, book, queries, other, n_levels, k, largest)
    assert_best(found, reference.decoded(levels, book) @ reference.decoded(others, other).T, k, largest)


def clustered(rng, n, n_levels, n_centers, flips):
    """Rows near few centers: many nearly equal scores, and duplicates."""
    centers = rng.integers(0, 2, (n_centers, n_levels))
    return (centers[rng.integers(0, n_centers, n)] ^ (rng.random((n, n_levels)) < flips)).astype(np.uint8)


@pytest.mark.parametrize("flips", [0.0, 0.01, 0.2])
def test_search_is_exact_on_clustered_rows(flips):
    rng = np.random.default_rng(3)
    levels = clustered(rng, 5000, 256, 20, flips)
    rows, book = reference.packed(levels, 1).copy(), np.array([[-1.0], [1.0]], np.float32)
    D = reference.decoded(levels, book).astype(float)
    for Q in (D[:9] + draw_queries(rng, 9, 256), draw_queries(rng, 9, 256), D[100:109]):
        assert_best(search(rows, 256, 1, book, Q, 20), D @ Q.T, 20)
    assert_best(search_codes(rows, book, rows[:9].copy(), book, 256, 20), D @ D[:9].T, 20)


def test_search_is_exact_when_every_row_is_better_than_those_before():
    levels = (np.arange(300)[None, :] < np.arange(300)[:, None]).astype(np.uint8)
    rows, book = reference.packed(levels, 1).copy(), np.array([[0.0], [1.0]], np.float32)
    Q = np.arange(1.0, 601.0).reshape(2, 300)
    assert_best(search(rows, 300, 1, book, Q, 4), levels @ Q.T, 4)
    assert_best(search(rows, 300, 1, book, Q, 4, largest=False), levels @ Q.T, 4, largest=False)


@pytest.mark.parametrize("weight", [2.0**30, 2.0**-30, 0.0])
def test_one_weight_far_from_the_others_keeps_the_bound(weight):
    rng = np.random.default_rng(5)
    (levels, rows), book = draw_rows(rng, 700, 100, 1), np.array([[-1.0], [1.0]], np.float32)
    Q = np.round(rng.normal(scale=50, size=(3, 100)))
    Q[:, 40] = weight
    assert_best(search(rows, 100, 1, book, Q, 9), reference.decoded(levels, book).astype(float) @ Q.T, 9)


def test_equal_scores_come_by_lower_index():
    rows, book = np.zeros((5000, 8), np.uint8), np.array([[-1.0], [1.0]], np.float32)
    for indices, scores in (
        search(rows, 3, 1, book, np.zeros((2, 3)), 6),
        search_codes(rows, book, np.zeros((2, 8), np.uint8), book, 3, 6, largest=False),
    ):
        np.testing.assert_array_equal(indices, [range(6)] * 2)
        assert len(np.unique(scores)) == 1


def test_rows_of_the_largest_width_are_searched():
    rng = np.random.default_rng(6)
    (levels, rows), book = draw_rows(rng, 500, 4096, 1), np.array([[-1.0], [1.0]], np.float32)
    Q = draw_queries(rng, 2, 4096)
    assert_best(search(rows, 4096, 1, book, Q, 5), reference.decoded(levels, book).astype(float) @ Q.T, 5)
    levels, rows = draw_rows(rng, 70, 65535, 1)
    D = reference.decoded(levels, book)
    assert_best(search_codes(rows, book, rows[3:6].copy(), book, 65535, 5), D @ D[3:6].T, 5)


def test_results_do_not_depend_on_the_thread_count():
    rng = np.random.default_rng(7)
    _, rows = draw_rows(rng, 20_000, 40, 1)
    book, Q = np.array([[-0.1], [0.1]], np.float32), rng.normal(size=(70, 40))
    before, found = _core.thread_count(), []
    try:
        for n_threads in (1, 2, 5):
            _core.set_thread_count(n_threads)
            parts = *search(rows, 40, 1, book, Q, 100), *search_codes(rows, book, rows[:70].copy(), book, 40, 100)
            found.append([part.tobytes() for part in parts])
    finally:
        _core.set_thread_count(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("n_queries", [1, 2, 7, 70])
def test_cells_are_searched_as_their_rows_are(bits, n_queries):
    rng = np.random.default_rng([bits, n_queries])
    n, n_levels, n_cells, n_read, k = 3000, 70, 25, 6, 8
    levels, rows = draw_rows(rng, n, n_levels, bits)
    book, Q = draw_book(rng, bits, 1), draw_queries(rng, n_queries, n_levels)
    # An empty cell, one of a row, and many that end within a tile.
    starts = np.sort(np.concatenate([[0, 0, 1, n], rng.integers(0, n, n_cells - 3)]))
    names = rng.permutation(n)
    norms, corrections = (2.0 ** rng.integers(-2, 3, n)).astype(np.float32), np.ones(n, np.float32)
    corrections[::50] = 0  # factor 0: the score is the offset
    read = np.stack([rng.permutation(n_cells)[:n_read] for _ in range(n_queries)]).astype(np.int32)
    allowed = rng.random(n) < 0.7
    factors = np.where(corrections > 0, norms, 0)
    scores = reference.decoded(levels, book).astype(float) @ Q.T * factors[:, None] - 0.5 * norms[:, None] ** 2
    for mask in (None, allowed):
        indices, found = np.empty((n_queries, k), np.int64), np.empty((n_queries, k), np.float32)
        places = (rows, n_levels, bits, book, Q, True, indices, found)
        _core.code_top_k(*places, (norms, corrections, -0.5), names, starts, read, mask)
        for q in range(n_queries):
            seen = np.concatenate([np.arange(starts[c], starts[c + 1]) for c in read[q]])
            seen = seen if mask is None else seen[mask[names[seen]]]
            seen = seen[np.lexsort((names[seen], -scores[seen, q].astype(np.float32)))][:k]
            np.testing.assert_array_equal(indices[q, : len(seen)], names[seen])
            np.testing.assert_array_equal(found[q, : len(seen)], scores[seen, q].astype(np.float32))
            assert np.all(indices[q, len(seen) :] == -1)


def test_cells_that_would_be_read_out_of_bounds_are_refused():
    rows, book, Q = np.zeros((10, 8), np.uint8), np.array([[-1.0], [1.0]], np.float32), np.zeros((2, 3))
    ones, names, starts = np.ones(10, np.float32), np.arange(10), np.array([0, 4, 10])
    read, mask = np.zeros((2, 1), np.int32), np.ones(10, bool)

    def refused(words, lengths=(ones, ones, 0.0), names=names, starts=starts, read=read, mask=None):
        places = (rows, 3, 1, book, Q, True, np.empty((2, 1), np.int64), np.empty((2, 1), np.float32))
        with pytest.raises(ValueError, match=words):
            _core.code_top_k(*places, lengths, names, starts, read, mask)

    refused("an entry a row", lengths=(ones[:9], ones, 0.0))
    refused("an entry a row", names=names[:9])
    refused("numbers below", names=names + 1, read=read + 1, mask=mask)
    refused("numbers below", names=names - 1, mask=mask)
    refused("must rise", starts=starts[:1])
    refused("must rise", starts=np.array([0, 4, 11]))
    refused("must rise", starts=np.array([0, 11, 10]))
    refused("numbers of cells", read=read + 2)
    refused("numbers of cells", read=read - 1)
    refused("a row a query", read=read[:1])
    refused("must be finite", lengths=(ones * np.float32(1e30), ones * np.float32(1e-30), 0.0))
    refused("must be finite", lengths=(ones * np.float32(1e30), ones, -0.5))
