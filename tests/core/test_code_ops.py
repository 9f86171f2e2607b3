"""Every op on packed codes, at the level in force, against the slow truth."""

import numpy as np
import pytest
from core.packed import aligned, draw, frozen
from reference import codes as reference

from lowtide import _core

WIDTHS = [1, 7, 63, 64, 65, 130, 1000]
ROWS = [0, 1, 5, 130]


@pytest.mark.parametrize("bits", reference.STORED)
@pytest.mark.parametrize("n_levels", WIDTHS)
def test_pack_and_unpack_match_reference(bits, n_levels):
    for n in ROWS:
        levels, rows, _, _ = draw(n, n_levels, bits, 1)
        out = np.full(rows.shape, 0xAA, np.uint8)
        _core.pack(frozen(levels), bits, out)
        np.testing.assert_array_equal(out, rows)
        back = np.full(levels.shape, 0xAA, np.uint8)
        _core.unpack(frozen(rows), bits, back)
        np.testing.assert_array_equal(back, levels)


@pytest.mark.parametrize("bits", reference.STORED)
def test_pack_masks_levels_that_are_too_large(bits):
    levels = np.arange(256, dtype=np.uint8).reshape(4, 64)
    out = np.empty((4, reference.row_bytes(64, bits)), np.uint8)
    _core.pack(levels, bits, out)
    np.testing.assert_array_equal(out, reference.packed(levels & np.uint8((1 << bits) - 1), bits))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("bits", reference.STORED)
def test_decode_is_exact(bits, width, dtype):
    for n_levels in WIDTHS:
        levels, rows, book, _ = draw(5, n_levels, bits, width)
        out = np.full((5, n_levels * width), np.nan, dtype)
        _core.decode(frozen(rows), n_levels, bits, book, out)
        np.testing.assert_array_equal(out, reference.decoded(levels, book).astype(dtype))


# Roundings that a term of the product passes: eight products of a table entry, 128 entries of a partial sum, and one
# for each of the partial sums that are added up, at most one a word.
def roundings(n_words):
    return 8 + 128 + n_words


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("bits", reference.STORED)
def test_row_product_matches_reference(bits, width, dtype):
    for n, n_levels, n_columns in [(0, 5, 2), (1, 1, 1), (1, 7, 2), (3, 63, 3), (40, 64, 1), (2, 1000, 10), (1, 9, 0)]:
        levels, rows, book, rng = draw(n, n_levels, bits, width)
        W = rng.normal(size=(n_levels * width, n_columns)).astype(dtype)
        out = np.full((n, n_columns), np.nan, dtype)
        _core.row_product(frozen(rows), n_levels, bits, book, frozen(W.T.copy()), out)
        D = reference.decoded(levels, book)
        # In whatever order a sum is taken, a term passes at most one rounding a term, and one of its own product.
        bound = reference.product_bound(D, W, len(W) + 1)
        assert (np.abs(out - reference.product(D, W)) <= bound).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_code_matvec_matches_reference(bits, width, dtype):
    for n, n_levels, n_columns in [(5, 1, 1), (1, 7, 2), (33, 63, 3), (130, 64, 1), (17, 65, 10), (259, 1000, 5)]:
        levels, rows, book, rng = draw(n, n_levels, bits, width)
        W = rng.normal(size=(n_levels * width, n_columns)).astype(dtype)
        out = np.full((n, n_columns), np.nan, dtype)
        _core.code_matvec(frozen(rows), n_levels, bits, book, frozen(W), out)
        D = reference.decoded(levels, book)
        bound = reference.product_bound(D, W, roundings(rows.shape[1] // 4))
        assert (np.abs(out - reference.product(D, W)) <= bound).all()


# Above 128 columns tables are made for some of them at a time.
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [*range(1, 36), 64, 131])
def test_products_take_any_number_of_columns(n_columns, dtype):
    levels, rows, book, rng = draw(19, 70, 1, 1)
    D = reference.decoded(levels, book)
    W, R = (rng.normal(size=(n, n_columns)).astype(dtype) for n in (70, 19))
    out, back = np.full((19, n_columns), np.nan, dtype), np.full((70, n_columns), np.nan, dtype)
    _core.code_matvec(rows, 70, 1, book, W, out)
    _core.code_rmatvec(rows, 70, 1, book, R, back)
    assert (np.abs(out - reference.product(D, W)) <= reference.product_bound(D, W, roundings(2))).all()
    assert (np.abs(back - reference.product(D.T, R)) <= reference.product_bound(D.T, R, roundings(1))).all()


# Items pass in tiles of 256, 512 or 1024 and words in runs of 16, 32 or 64, by columns and type: one more of each than
# the most, and the last in part.
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 10])
@pytest.mark.parametrize(("n", "n_levels", "bits"), [(1027, 4170, 1), (4170, 1027, 1), (300, 1100, 3), (1100, 300, 4)])
def test_products_match_reference_over_the_edges_of_tiles_and_runs(n, n_levels, bits, n_columns, dtype):
    levels, rows, book, rng = draw(n, n_levels, bits, 1)
    D = reference.decoded(levels, book)
    W, R = (rng.normal(size=(size, n_columns)).astype(dtype) for size in (n_levels, n))
    out, back = np.full((n, n_columns), np.nan, dtype), np.full((n_levels, n_columns), np.nan, dtype)
    _core.code_matvec(frozen(rows), n_levels, bits, book, frozen(W), out)
    _core.code_rmatvec(frozen(rows), n_levels, bits, book, frozen(R), back)
    wide = 4 if bits == 3 else bits
    bound = reference.product_bound(D, W, roundings(-(-n_levels * wide // 64)))
    assert (np.abs(out - reference.product(D, W)) <= bound).all()
    bound = reference.product_bound(D.T, R, roundings(-(-n * wide // 64)))
    assert (np.abs(back - reference.product(D.T, R)) <= bound).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_code_rmatvec_matches_reference(bits, width, dtype):
    for n, n_levels, n_columns in [(5, 1, 1), (1, 7, 2), (64, 63, 3), (65, 64, 1), (17, 65, 10), (4100, 130, 5)]:
        levels, rows, book, rng = draw(n, n_levels, bits, width)
        R = rng.normal(size=(n, n_columns)).astype(dtype)
        out = np.full((n_levels * width, n_columns), np.nan, dtype)
        _core.code_rmatvec(frozen(rows), n_levels, bits, book, frozen(R), out)
        D = reference.decoded(levels, book)
        bound = reference.product_bound(D.T, R, roundings(-(-n * 4 // 64)))
        assert (np.abs(out - reference.product(D.T, R)) <= bound).all()


@pytest.mark.parametrize("op", ["code_matvec", "code_rmatvec"])
def test_products_of_zero_rows_are_empty_or_zero(op):
    _, rows, book, _ = draw(0, 9, 1, 1)
    operand, out = (np.ones((9, 2)), np.empty((0, 2))) if op == "code_matvec" else (np.empty((0, 2)), np.ones((9, 2)))
    getattr(_core, op)(rows, 9, 1, book, operand, out)
    assert not out.any()


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize(("n", "n_levels"), [(0, 3), (1, 1), (5, 7), (63, 65), (241, 130), (1000, 257), (66000, 20)])
def test_code_gram_is_exact_for_integer_codebooks(n, n_levels, width):
    levels, rows, _, _ = draw(n, n_levels, 1, width)
    book = np.array([[-3.0, 2.0], [5.0, 7.0]], np.float32)[:, :width].copy()
    D = reference.decoded(levels, book).astype(np.int64)
    out = np.full((n_levels * width, n_levels * width), np.nan)
    _core.code_gram(frozen(rows), n_levels, book, out)
    np.testing.assert_array_equal(out, D.T @ D)


def test_code_gram_in_float32_is_the_rounded_float64_one():
    _, rows, book, _ = draw(777, 200, 1, 1)
    single, double = np.empty((200, 200), np.float32), np.empty((200, 200))
    _core.code_gram(rows, 200, book, single)
    _core.code_gram(rows, 200, book, double)
    np.testing.assert_array_equal(single, double.astype(np.float32))


# Several tiles and runs, a last one in part, one row, none.
@pytest.mark.parametrize(("weighted", "pairs"), [(False, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    ("n", "n_levels", "bits", "width"),
    [(300, 700, 4, 1), (129, 333, 2, 2), (128, 64, 3, 1), (5, 7, 8, 2), (1, 1, 1, 1), (0, 3, 4, 1), (257, 65, 1, 2)],
)
def test_panel_gram_is_exact_for_small_integers(n, n_levels, bits, width, weighted, pairs):
    levels, rows, _, rng = draw(n, n_levels, bits, width)
    book = rng.integers(-9, 10, (2**bits, width)).astype(np.float32)
    weight = rng.integers(-3, 4, n).astype(np.float32) if weighted else None
    D = reference.decoded(levels, book).astype(np.int64)
    out = np.full((n_levels * width, n_levels * width), np.nan, np.float32)
    _core.panel_gram(frozen(rows), n_levels, bits, book, weight, False, pairs, out)
    np.testing.assert_array_equal(out, D.T @ (D if weight is None else weight.astype(np.int64)[:, None] * D))


def gram_by_digits(levels, book):
    """Digits of a codebook in 24 bits of its largest value, their products, and the sums of runs of 512 rows."""
    largest = np.abs(book.astype(float)).max()
    step = largest / (127 * 65793)
    fixed = np.rint(book.astype(float) / step).astype(np.int64)
    low = (fixed + 128) % 256 - 128
    mid = ((fixed - low) // 256 + 128) % 256 - 128
    high = (fixed - low - 256 * mid) // 65536
    assert np.abs(high).max() <= 127
    n_features = levels.shape[1] * book.shape[1]
    total = np.zeros((n_features, n_features), np.float32)
    for begin in range(0, len(levels), 512):
        a, b, c = (digit[levels[begin : begin + 512]].reshape(-1, n_features) for digit in (high, mid, low))
        parts = a.T @ a, a.T @ b + b.T @ a, a.T @ c + c.T @ a + b.T @ b
        total += sum(part.astype(np.float32) * np.float32(2.0**-shift) for part, shift in zip(parts, (0, 8, 16)))
    return (step**2 * 2.0**32 * total.astype(float)).astype(np.float32)


def far_from_zero(rng, bits, width):
    """A codebook that digits keep to a few units in the last place."""
    return (rng.choice([-1, 1], (2**bits, width)) * rng.uniform(0.5, 1, (2**bits, width))).astype(np.float32)


# Several tiles and runs, a last one in part; a last tile that fills no panel.
@pytest.mark.parametrize(
    ("n", "n_levels", "bits", "width"),
    [(1100, 700, 4, 1), (513, 333, 2, 2), (512, 64, 3, 1), (65, 7, 4, 2), (64, 1, 1, 1), (257, 65, 1, 2)],
)
def test_gram_by_digits_has_the_bits_of_the_reference(n, n_levels, bits, width):
    levels, rows, _, rng = draw(n, n_levels, bits, width)
    book = far_from_zero(rng, bits, width)
    out = np.full((n_levels * width, n_levels * width), np.nan, np.float32)
    _core.panel_gram(frozen(rows), n_levels, bits, book, None, True, False, out)
    np.testing.assert_array_equal(out, gram_by_digits(levels, book))
    D = reference.decoded(levels, book)
    assert (np.abs(out - reference.product(D.T, D)) <= reference.product_bound(D.T, D, n + 2)).all()


def with_value(book, value):
    return np.vstack([book[:-1], np.full((1, book.shape[1]), value, np.float32)])


@pytest.mark.parametrize(
    ("n", "bits", "change"),
    [(3, 4, lambda book: book), (600, 8, lambda book: book), (600, 4, lambda book: with_value(book, 1e-4))],
    ids=["few rows", "eight bits", "a value near zero"],
)
def test_gram_is_decoded_where_digits_would_lose_more_than_float32(n, bits, change):
    _, rows, _, rng = draw(n, 70, bits, 1)
    book, outs = change(far_from_zero(rng, bits, 1)), [np.empty((70, 70), np.float32) for _ in range(2)]
    for digits, out in enumerate(outs):
        _core.panel_gram(rows, 70, bits, book, None, bool(digits), False, out)
    np.testing.assert_array_equal(*outs)


def test_gram_by_digits_of_zeros_is_zero_and_of_nan_is_nan():
    _, rows, book, _ = draw(600, 30, 4, 1)
    for value in (0.0, np.nan):
        out = np.ones((30, 30), np.float32)
        _core.panel_gram(rows, 30, 4, np.full_like(book, value), None, True, True, out)
        np.testing.assert_array_equal(out, np.full_like(out, value))


def test_weighted_panel_gram_is_symmetric_to_the_last_bit():
    _, rows, book, rng = draw(200, 90, 4, 1)
    out = np.empty((90, 90), np.float32)
    _core.panel_gram(rows, 90, 4, book, rng.normal(size=200).astype(np.float32), False, True, out)
    np.testing.assert_array_equal(out, out.T)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("n_levels", [*WIDTHS, 513, 40000])
def test_code_dot_is_exact_for_integer_codebooks(n_levels, width):
    left, rows, _, _ = draw(21, n_levels, 1, width)
    right, others, _, _ = draw(6, n_levels, 1, width, seed=1)
    book, other = (np.array(b, np.float32)[:, :width].copy() for b in ([[-1, 2], [1, 3]], [[0, 1], [4, -1]]))
    out = np.full((21, 6), np.nan)
    _core.code_dot(frozen(rows), book, frozen(others), other, n_levels, out)
    np.testing.assert_array_equal(out, reference.decoded(left, book) @ reference.decoded(right, other).T)


# Panels all made at once, for several strips of the other side, and strip by strip; a run of words and several.
@pytest.mark.parametrize(("n", "n_other", "n_levels"), [(40, 300, 100), (300, 40, 100), (530, 390, 17000)])
def test_code_dot_of_many_rows_is_exact(n, n_other, n_levels):
    left, rows, book, _ = draw(n, n_levels, 1, 1)
    right, others, _, _ = draw(n_other, n_levels, 1, 1, seed=1)
    book = np.array([[-1], [1]], np.float32)
    out = np.empty((n, n_other), np.float32)
    _core.code_dot(rows, book, others, book, n_levels, out)
    np.testing.assert_array_equal(out, reference.decoded(left, book) @ reference.decoded(right, book).T)


# Rows of one tile, several tiles and strips, a last one in part; a run of words and several.
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("book", [[[-1.0], [1.0]], [[0.3], [1.7]]], ids=["symmetric", "any"])
@pytest.mark.parametrize(("n", "n_levels"), [(0, 3), (1, 1), (130, 65), (300, 20000), (1100, 200)])
def test_code_dot_of_rows_with_themselves_has_the_bits_of_that_with_a_copy(n, n_levels, book, dtype):
    _, rows, _, _ = draw(n, n_levels, 1, 1)
    book, own, other = np.array(book, np.float32), *(np.full((n, n), np.nan, dtype) for _ in range(2))
    _core.code_dot(frozen(rows), book, frozen(rows), book, n_levels, own)
    _core.code_dot(rows, book, rows.copy(), book, n_levels, other)
    np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(own, own.T)


def test_code_dot_of_rows_with_themselves_under_two_codebooks_is_not_mirrored():
    levels, rows, _, _ = draw(140, 70, 1, 1)
    book, other, out = np.array([[-1], [1]], np.float32), np.array([[0], [5]], np.float32), np.empty((140, 140))
    _core.code_dot(rows, book, rows, other, 70, out)
    np.testing.assert_array_equal(out, reference.decoded(levels, book) @ reference.decoded(levels, other).T)


# Bits of either side; rows of one strip and of several, panels and runs in part, one row, none.
@pytest.mark.parametrize(("weighted", "pairs"), [(False, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    ("n", "n_other", "n_features", "left", "right"),
    [
        (70, 50, 300, (4, 1), (4, 1)),
        (500, 20, 514, (2, 2), (4, 1)),
        (33, 97, 258, (3, 1), (1, 2)),
        (13, 40, 1027, (4, 1), (2, 1)),
        (5, 2000, 17, (8, 1), (1, 1)),
        (1, 1, 2, (8, 2), (3, 2)),
        (0, 3, 4, (4, 1), (2, 1)),
        (3, 0, 4, (4, 1), (2, 1)),
    ],
)
def test_panel_dot_is_exact_for_small_integers(n, n_other, n_features, left, right, weighted, pairs):
    sides, decoded = [], []
    for seed, (rows_of_side, (bits, width)) in enumerate([(n, left), (n_other, right)]):
        levels, rows, _, rng = draw(rows_of_side, n_features // width, bits, width, seed)
        book = rng.integers(-9, 10, (2**bits, width)).astype(np.float32)
        sides += [frozen(rows), n_features // width, bits, book]
        decoded.append(reference.decoded(levels, book).astype(np.int64))
    weight = rng.integers(-3, 4, n_features).astype(np.float32) if weighted else None
    out = np.full((n, n_other), np.nan, np.float32)
    scaled = decoded[0] if weight is None else decoded[0] * weight.astype(np.int64)
    _core.panel_dot(*sides, weight, pairs, out)
    np.testing.assert_array_equal(out, scaled @ decoded[1].T)


# Panels, runs and groups in part and whole; one row, none; several strips.
@pytest.mark.parametrize(
    ("n", "n_other", "n_features", "bits", "width"),
    [
        (70, 50, 300, 4, 1),
        (128, 33, 2052, 4, 2),
        (300, 1, 1025, 3, 1),
        (1, 17, 64, 2, 1),
        (2100, 3, 66, 8, 2),
        (5, 20, 63, 1, 1),
        (0, 3, 65, 2, 1),
        (40, 0, 65, 2, 1),
    ],
)
def test_bit_dot_is_exact_for_small_integers(n, n_other, n_features, bits, width):
    levels, rows, _, rng = draw(n, n_features, 1, 1)
    other_levels, other_rows, _, _ = draw(n_other, n_features // width, bits, width)
    book, other_book = (rng.integers(-9, 10, shape).astype(np.float32) for shape in ((2, 1), (1 << bits, width)))
    exact = reference.decoded(levels, book).astype(int) @ reference.decoded(other_levels, other_book).astype(int).T
    sides = frozen(rows), book, frozen(other_rows), n_features // width, bits, other_book
    for turned, shape in ((False, (n, n_other)), (True, (n_other, n))):
        out = np.full(shape, np.nan, np.float32)
        _core.bit_dot(*sides, turned, out)
        np.testing.assert_array_equal(out.T if turned else out, exact)


@pytest.mark.parametrize(("bits", "width"), [(2, 1), (3, 1), (4, 1), (8, 1), (4, 2)])
def test_bit_dot_rounds_the_codebook_to_22_bits_of_its_range(bits, width):
    levels, rows, book, _ = draw(70, 1300, 1, 1)
    other_levels, other_rows, other_book, _ = draw(9, 1300 // width, bits, width)
    A, B = reference.decoded(levels, book), reference.decoded(other_levels, other_book)
    exact = reference.product(A, B.T)
    rounding = np.ptp(other_book) * 2.0**-22 * np.abs(A).sum(axis=1)[:, None] + np.abs(exact) * 2.0**-23
    out = np.empty((70, 9), np.float32)
    _core.bit_dot(rows, book, other_rows, 1300 // width, bits, other_book, False, out)
    assert (np.abs(out - exact) <= rounding).all()


@pytest.mark.parametrize(
    ("book", "suffices"),
    [
        ([-3.0, -1.0, 1.0, 3.0], True),
        ([2.0**-30] * 4, True),
        ([0.0] * 4, True),
        ([1.0, 0.3, -0.3, -1.0], True),
        ([1.0, 1e-9, -1.0, 0.0], False),
        ([-3e38, 3e38, 1.0, 0.0], False),
    ],
)
def test_weights_suffice_where_float32_sums_lose_as_much_of_every_value(book, suffices):
    book = np.array(book, np.float32)[:, None]
    assert _core.weights_suffice(200, book) is suffices
    levels, rows, _, _ = draw(20, 200, 1, 1)
    signs, other_levels = np.array([[-0.25], [0.5]], np.float32) / 200, np.repeat([[0], [1], [2], [3]], 200, axis=1)
    other_rows, out = aligned(reference.packed(other_levels.astype(np.uint8), 2)), np.empty((20, 4), np.float32)
    _core.bit_dot(rows, signs, other_rows, 200, 2, book, False, out)
    A, B = reference.decoded(levels, signs), reference.decoded(other_levels, book)
    within = np.abs(out - reference.product(A, B.T)) <= reference.product_bound(A, B.T, 201)
    assert within.all() == suffices


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_panel_dot_stays_within_the_bound_of_float32_sums(bits):
    levels, rows, book, _ = draw(40, 1000, bits, 1)
    out = np.empty((40, 40), np.float32)
    _core.panel_dot(rows, 1000, bits, book, rows.copy(), 1000, bits, book, None, False, out)
    D = reference.decoded(levels, book)
    assert (np.abs(out - reference.product(D, D.T)) <= reference.product_bound(D, D.T, 1000)).all()


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("n", [1, 61, 1000])
def test_panel_dot_of_rows_with_themselves_has_the_bits_of_that_with_a_copy(n, pairs):
    _, rows, _, rng = draw(n, 300, 4, 1)
    book = rng.integers(-9, 10, (16, 1)).astype(np.float32)
    own, other = (np.full((n, n), np.nan, np.float32) for _ in range(2))
    _core.panel_dot(rows, 300, 4, book, rows, 300, 4, book, None, pairs, own)
    _core.panel_dot(rows, 300, 4, book, rows.copy(), 300, 4, book, None, pairs, other)
    np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(own, own.T)


def test_results_do_not_depend_on_the_thread_count():
    _, rows, book, rng = draw(5000, 300, 1, 1)
    bits, (_, wide, wide_book, _) = rows[:70].copy(), draw(1000, 300, 4, 1)
    W, R = rng.normal(size=(300, 3)).astype(np.float32), rng.normal(size=(5000, 3)).astype(np.float32)
    whole = rng.integers(-9, 10, (16, 1)).astype(np.float32)
    before, found = _core.thread_count(), []
    try:
        for n_threads in (1, 2):
            _core.set_thread_count(n_threads)
            shapes = ((5000, 3), (300, 3), *3 * [(300, 300)], *2 * [(5000, 30)], (70, 1000), (1000, 1000), (300, 300))
            outs = [np.empty(shape, np.float32) for shape in shapes]
            _core.code_matvec(rows, 300, 1, book, W, outs[0])
            _core.code_rmatvec(rows, 300, 1, book, R, outs[1])
            _core.code_gram(rows, 300, book, outs[2])
            _core.panel_gram(rows, 300, 1, book, R[:, 0].copy(), False, False, outs[3])
            _core.panel_gram(rows, 300, 1, book, None, True, False, outs[4])
            _core.code_dot(rows, book, rows[:30], book, 300, outs[5])
            _core.panel_dot(rows, 300, 1, book, rows[:30], 300, 1, book, None, False, outs[6])
            _core.bit_dot(bits, book, wide, 300, 4, wide_book, False, outs[7])
            _core.panel_dot(wide, 300, 4, whole, wide, 300, 4, whole, None, True, outs[8])
            _core.panel_gram(wide, 300, 4, whole, None, False, True, outs[9])
            found.append([out.tobytes() for out in outs])
    finally:
        _core.set_thread_count(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 4, 10])
def test_a_row_of_a_product_does_not_depend_on_the_other_rows(n_columns, dtype):
    _, rows, book, rng = draw(300, 200, 1, 1)
    W = rng.normal(size=(200, n_columns)).astype(dtype)
    whole, one = np.empty((300, n_columns), dtype), np.empty((1, n_columns), dtype)
    _core.code_matvec(rows, 200, 1, book, W, whole)
    for i in (0, 17, 299):
        _core.code_matvec(rows[i : i + 1], 200, 1, book, W, one)
        assert one.tobytes() == whole[i].tobytes()
