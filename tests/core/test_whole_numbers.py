"""Products of codes whose codebooks are whole numbers times a step, at the level in force, to the last bit."""

import numpy as np
import pytest
from core.packed import draw, frozen
from reference import codes as reference

from lowtide import _core


def whole_book(rng, bits, width):
    """A codebook of whole numbers times a step, the largest 2047; and both, as ops find them."""
    numbers = rng.integers(-2046, 2047, (2**bits, width))
    numbers.flat[-1] = 2047
    book = (numbers * 0.731e-3).astype(np.float32)
    return book, numbers, float(book.max()) / 2047


def summed_runs(a, b, size):
    """Sums of whole numbers in runs of so many terms, exact, added in float32."""
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for begin in range(0, a.shape[1], size):
        sums = a[:, begin : begin + size] @ b[begin : begin + size]
        assert np.abs(sums).max(initial=0) < 2**31
        total += sums.astype(np.float32)
    return total.astype(float)


# Several tiles and runs, an odd last row, a last tile that fills no panel; one row.
@pytest.mark.parametrize(
    ("n", "n_levels", "bits", "width"),
    [(1100, 700, 4, 1), (513, 333, 2, 2), (255, 64, 3, 1), (65, 7, 8, 2), (1, 1, 2, 1), (2, 131, 8, 1)],
)
def test_gram_by_pairs_has_the_bits_of_the_reference(n, n_levels, bits, width):
    levels, rows, _, rng = draw(n, n_levels, bits, width)
    book, numbers, step = whole_book(rng, bits, width)
    out = np.full((n_levels * width, n_levels * width), np.nan, np.float32)
    _core.panel_gram(frozen(rows), n_levels, bits, book, None, False, True, out)
    D = numbers[levels].reshape(n, -1)
    np.testing.assert_array_equal(out, (step * step * summed_runs(D.T, D, 256)).astype(np.float32))
    D = reference.decoded(levels, book)
    assert (np.abs(out - reference.product(D.T, D)) <= reference.product_bound(D.T, D, n + 8)).all()


# Equal and different widths, odd numbers of columns, runs in part, eight bits.
@pytest.mark.parametrize(
    ("n", "n_other", "n_features", "left", "right"),
    [
        (70, 50, 1301, (4, 1), (4, 1)),
        (61, 20, 514, (2, 2), (4, 1)),
        (7, 49, 17, (8, 1), (3, 1)),
        (2, 3, 6, (4, 2), (8, 2)),
    ],
)
def test_dot_by_pairs_has_the_bits_of_the_reference(n, n_other, n_features, left, right):
    sides, decoded, unit = [], [], 1.0
    for seed, (rows_of_side, (bits, width)) in enumerate([(n, left), (n_other, right)]):
        levels, rows, _, rng = draw(rows_of_side, n_features // width, bits, width, seed)
        book, numbers, step = whole_book(rng, bits, width)
        sides += [frozen(rows), n_features // width, bits, book]
        decoded.append(numbers[levels].reshape(rows_of_side, -1))
        unit *= step
    out = np.full((n, n_other), np.nan, np.float32)
    _core.panel_dot(*sides, None, True, out)
    np.testing.assert_array_equal(out, (unit * summed_runs(decoded[0], decoded[1].T, 512)).astype(np.float32))


@pytest.mark.parametrize("change", [0.0, 1e-5, np.nan], ids=["all zero", "off the grid", "no number"])
def test_pairs_are_floats_where_a_codebook_is_no_whole_numbers(change):
    _, rows, _, rng = draw(70, 90, 4, 1)
    book = whole_book(rng, 4, 1)[0]
    book = book * np.float32(0) if change == 0 else np.vstack([book[:-1], [[np.float32(change)]]])
    outs = [(np.ones((90, 90), np.float32), np.ones((70, 70), np.float32)) for _ in range(2)]
    for pairs, (gram, dot) in enumerate(outs):
        _core.panel_gram(rows, 90, 4, book, None, False, bool(pairs), gram)
        _core.panel_dot(rows, 90, 4, book, rows, 90, 4, book, None, bool(pairs), dot)
    for one, other in zip(*outs, strict=True):
        np.testing.assert_array_equal(one, other)
