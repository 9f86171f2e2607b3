import numpy as np
import pytest
from core import cases
from core.cases import SHAPES, SHIFTS, F
from reference import phases

from lowtide import _core

RULES = cases.rules()
BIT = RULES["sign"]


def truth(inputs, shifts, rule, n_levels):
    borders, table, even, bits = rule
    levels = phases.levels(phases.phases(*inputs, shifts), borders, table, even)
    return phases.pack(levels[:, :n_levels], bits)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("width", SHIFTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_encode_gives_the_bits_of_the_reference(shape, width, name):
    inputs, shifts = cases.draw(shape), SHIFTS[width]
    for n_levels in {shape[-1] * width, (shape[-1] - 1) * width + 1}:
        found = cases.encode(inputs, shifts, *RULES[name], n_levels)
        assert np.array_equal(found, truth(inputs, shifts, RULES[name], n_levels))


@pytest.mark.parametrize("name", ["sign", "flipped_sign", "even_3", "even_255", "phase_3", "wrapped_5", "wrapped_20"])
def test_encode_agrees_with_the_reference_at_hard_phases(name):
    tiny = np.nextafter(F(0), F(-1))
    hard = [0, -0.0, tiny, -1e-10, 0.25, -0.25, 0.5, 1.5, 2.5, 1 - 2**-24, 2**22 + 0.5, 2**24, -(2**31)]
    hard += [3e38, -3e38, np.inf, -np.inf, np.nan, 0.125, 0.375, 0.625]
    # Ties of twice the phase, the last of them that float32 has, and where 32-bit integers end.
    hard += [0.75, -0.75, 1.25, 2**21 + 0.25, 2**21 + 0.75, -(2**22) - 0.5, 2**30, -(2**30), 2**31, 2**32]
    X = np.array([hard], F)
    X = np.concatenate([X, np.nextafter(X, F(np.inf)), np.nextafter(X, F(-np.inf))])
    inputs = X, None, np.ones(X.shape[1], F), np.zeros(X.shape[1], F)
    for shifts in SHIFTS.values():
        n_levels = X.shape[1] * len(shifts)
        assert np.array_equal(
            cases.encode(inputs, shifts, *RULES[name], n_levels), truth(inputs, shifts, RULES[name], n_levels)
        )


@pytest.mark.parametrize("border", [0.25, 0.2, 0.0, 0.5])
@pytest.mark.parametrize("shifts", [[0.125], [0.0], [-0.0, 0.4], [0.25, 0.0], [1e-8, -0.25]], ids=str)
def test_encode_of_one_bit_takes_any_border_and_shifts(shifts, border):
    inputs, rule = cases.draw((3, 50, 64, 3, 130)), (np.array([border], F), np.array([0, 1], np.uint8), True, 1)
    inputs[0][2] = 0.0
    shifts = np.array(shifts, F)
    n_levels = 130 * len(shifts)
    assert np.array_equal(cases.encode(inputs, shifts, *rule, n_levels), truth(inputs, shifts, rule, n_levels))


def test_encode_takes_a_phase_that_is_not_finite_for_zero():
    bad = np.array([[np.inf, -np.inf, np.nan]], F)
    ones, zeros = np.ones(3, F), np.zeros(3, F)
    for rule in RULES.values():
        found = cases.encode((bad, None, ones, zeros), SHIFTS[1], *rule, 3)
        assert np.array_equal(found, cases.encode((0 * ones[None], None, ones, zeros), SHIFTS[1], *rule, 3))


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("width", SHIFTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_encode_stochastic_gives_the_bits_of_the_reference(shape, width, bits):
    inputs, shifts, seed = cases.draw(shape), SHIFTS[width], 0x9E3779B97F4A7C15
    n_levels = (shape[-1] - 1) * width + 1
    levels = phases.stochastic_levels(phases.phases(*inputs, shifts), seed, bits)
    assert np.array_equal(
        cases.encode_stochastic(inputs, shifts, seed, bits, n_levels), phases.pack(levels[:, :n_levels], bits)
    )


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_encode_stochastic_is_unbiased_over_seeds(bits):
    p, n_seeds = 64, 2000
    inputs = (np.linspace(0, 1, p, dtype=F)[None], None, np.ones(p, F), np.zeros(p, F))
    mean = np.zeros(p)
    for seed in range(n_seeds):
        levels = phases.stochastic_levels(phases.phases(*inputs, SHIFTS[1]), seed << 20, bits)[0]
        mean += (levels * 2 / (2**bits - 1) - 1) / n_seeds
    step = 2 / (2**bits - 1)
    # A rounding between neighbors has at most variance step^2 / 4; 64 phases, so 5 standard errors.
    assert np.abs(mean - np.cos(2 * np.pi * inputs[0][0])).max() < 5 * step / 2 / np.sqrt(n_seeds)


def test_random_fractions_of_components_and_seeds_are_uncorrelated():
    f = np.full((2, 20000), F(0.3))
    a, b = phases.random_fractions(1, f)[0], phases.random_fractions(1 << 32, f)[0]
    # Uniform numbers: the correlation of n pairs has standard error 1 / sqrt(n).
    for x, y in ((a, b), (a[:-1], a[1:])):
        assert abs(np.corrcoef(x, y)[0, 1]) < 4 / np.sqrt(len(f[0]))


@pytest.mark.parametrize("op", [cases.encode, cases.encode_stochastic])
def test_encode_of_a_row_does_not_depend_on_batch_or_threads(op):
    inputs = cases.draw((203, 700, 1024, 3, 2500))
    X, *rest = inputs
    arguments = (SHIFTS[2], *BIT, 4999) if op is cases.encode else (SHIFTS[2], 7, 2, 4999)
    before = _core.thread_count()
    try:
        _core.set_thread_count(1)
        whole = op(inputs, *arguments)
        _core.set_thread_count(5)
        assert np.array_equal(whole, op(inputs, *arguments))
    finally:
        _core.set_thread_count(before)
    assert np.array_equal(whole[100:101], op((X[100:101], *rest), *arguments))
    assert np.array_equal(whole[::2], op((X[::2], *rest), *arguments))


def call(**changes):
    """A good call of encode, but for the changes."""
    p = 70
    arguments = {
        "X": np.zeros((2, 60), F),
        "layout": np.ones((2, 3, 64), F),
        "scale": np.ones(p, F),
        "offset": np.ones(p, F),
        "shifts": SHIFTS[2],
        "borders": np.array([0.25], F),
        "table": np.array([0, 1], np.uint8),
        "even": True,
        "bits": 1,
        "n_levels": 2 * p,
        "out": np.zeros((2, 24), np.uint8),
    }
    _core.encode(**{**arguments, **changes})


def parted(factors=None, places=None):
    return {"layout": (np.ones((2, 3, 64), F), factors, places)}


RISING = np.arange(0, 105, 1.5).astype(np.uint32)

BAD_VALUES = {
    "factors_of_other_columns": parted(np.ones(61, F)),
    "misaligned_factors": parted(np.frombuffer(bytes(241), np.uint8)[1:].view(F)),
    "too_few_places": parted(places=RISING[1:]),
    "places_that_do_not_rise": parted(places=np.r_[RISING[:1], RISING[:-1]]),
    "places_beyond_the_blocks": parted(places=np.r_[RISING[:-1], 128].astype(np.uint32)),
    "panels_with_factors": {"layout": (np.ones((5, 60, 16), F), None, None)},
    "too_many_columns": {"X": np.zeros((2, 65), F)},
    "dense_columns": {"layout": None},
    "rows_in_columns": {"X": np.zeros((60, 2), F).T},
    "two_rows_a_block": {"layout": np.ones((2, 2, 64), F)},
    "odd_block": {"layout": np.ones((2, 3, 96), F)},
    "small_block": {"layout": np.ones((5, 3, 32), F), "X": np.zeros((2, 30), F)},
    "panels_of_other_columns": {"layout": np.ones((8, 3, 16), F)},
    "too_few_panels": {"layout": np.ones((4, 60, 16), F)},
    "too_few_blocks": {"layout": np.ones((1, 3, 64), F)},
    "no_frequency": {"scale": np.ones(0, F), "offset": np.ones(0, F)},
    "offset": {"offset": np.ones(71, F)},
    "no_shift": {"shifts": np.ones(0, F)},
    "nine_shifts": {"shifts": np.ones(9, F)},
    "too_many_levels": {"n_levels": 141},
    "too_few_levels": {"n_levels": 138},
    "table": {"table": np.zeros(3, np.uint8)},
    "table_value": {"table": np.array([0, 2], np.uint8)},
    "unsorted": {"borders": np.array([0.3, 0.2], F), "table": np.zeros(3, np.uint8)},
    "nan_border": {"borders": np.array([np.nan], F)},
    "large_border": {"borders": np.array([0.6], F)},
    "zero_border": {"borders": np.array([0], F), "even": False},
    "many_borders": {"borders": np.zeros(512, F), "table": np.zeros(513, np.uint8)},
    "five_bits": {"bits": 5, "out": np.zeros((2, 88), np.uint8)},
    "out_rows": {"out": np.zeros((3, 24), np.uint8)},
    "out_width": {"out": np.zeros((2, 16), np.uint8)},
    "misaligned_out": {"out": np.zeros(56, np.uint8)[4:52].reshape(2, 24)},
    "misaligned_X": {"X": np.frombuffer(bytes(2 * 60 * 4 + 1), np.uint8)[1:].view(F).reshape(2, 60)},
}


@pytest.mark.parametrize("changes", BAD_VALUES.values(), ids=BAD_VALUES)
def test_encode_refuses_what_would_be_read_wrongly(changes):
    call()
    with pytest.raises(ValueError, match=r"must"):
        call(**changes)


BAD_TYPES = {
    "float64": {"X": np.zeros((2, 60))},
    "integers": {"X": np.zeros((2, 60), np.int32)},
    "layout": {"layout": np.ones((2, 3, 64))},
    "float64_factors": parted(np.ones(60)),
    "int64_places": parted(places=RISING.astype(np.int64)),
    "one_row": {"X": np.zeros(60, F)},
    "bytes": {"out": np.zeros((2, 24), np.int8)},
    "strided_out": {"out": np.zeros((2, 48), np.uint8)[:, ::2]},
    "list": {"scale": [1.0] * 70},
    "negative_bits": {"bits": -1},
}


@pytest.mark.parametrize("changes", BAD_TYPES.values(), ids=BAD_TYPES)
def test_encode_refuses_other_types(changes):
    with pytest.raises(TypeError):
        call(**changes)


def test_encode_never_writes_to_an_array_that_is_read_only():
    out = np.zeros((2, 24), np.uint8)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        call(out=out)


def score(op, inputs, shifts, rule, bits, n_levels, n_columns):
    """Scores from rows in one call, and those of the codes that the same op makes."""
    rng = np.random.default_rng(n_levels)
    width = 2 if bits == 4 else 1
    book = rng.normal(size=(1 << bits, width)).astype(F)
    columns, intercept = rng.normal(size=(n_columns, n_levels * width)), rng.normal(size=n_columns)
    X, layout, scale, offset = inputs
    arguments = (layout, scale, offset, shifts, *rule, bits, n_levels)
    found, expected = np.full((2, len(X), n_columns), np.nan)
    op(X, *arguments, book, columns, intercept, found)
    packed = np.empty((len(X), cases.row_bytes(n_levels, bits)), np.uint8)
    op(X, *arguments, packed)
    _core.row_product(packed, n_levels, bits, book, columns, expected)
    return found, expected + intercept


@pytest.mark.parametrize("name", ["sign", "flipped_sign", "even_3", "even_15", "even_255", "phase_3", "wrapped_5"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_encode_to_scores_multiplies_the_codes_of_the_rows(shape, name):
    *rule, bits = RULES[name]
    for width, n_columns in ((1, 1), (2, 5), (3, 0)):
        n_levels = shape[-1] * width
        found, expected = score(_core.encode, cases.draw(shape), SHIFTS[width], rule, bits, n_levels, n_columns)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("shape", SHAPES[:6], ids=str)
def test_encode_stochastic_to_scores_multiplies_the_codes_of_the_rows(shape, bits):
    n_levels = (shape[-1] - 1) * 2 + 1
    found, expected = score(_core.encode_stochastic, cases.draw(shape), SHIFTS[2], (7, bits), bits, n_levels, 3)
    np.testing.assert_array_equal(found, expected)


def call_scores(**changes):
    """A good call of encode to scores, but for the changes."""
    good = {"book": np.ones((2, 1), F), "columns": np.ones((3, 140)), "intercept": np.ones(3), "out": np.ones((2, 3))}
    call(**{**good, **changes})


BAD_SCORES = {
    "book": {"book": np.ones((4, 1), F)},
    "book_width": {"book": np.ones((2, 3), F), "columns": np.ones((3, 420))},
    "columns": {"columns": np.ones((3, 139))},
    "intercept": {"intercept": np.ones(2)},
    "out_rows": {"out": np.ones((3, 3))},
    "out_width": {"out": np.ones((2, 2))},
    "five_bits": {"bits": 5, "book": np.ones((32, 1), F)},
    "forty_bits": {"bits": 40},
    "table_value": {"table": np.array([0, 2], np.uint8)},
    "too_many_levels": {"n_levels": 141, "columns": np.ones((3, 141))},
    "offset": {"offset": np.ones(71, F)},
    "misaligned_columns": {"columns": np.zeros(3 * 140 * 8 + 4, np.uint8)[4:].view(np.float64).reshape(3, 140)},
}


@pytest.mark.parametrize("changes", BAD_SCORES.values(), ids=BAD_SCORES)
def test_encode_to_scores_refuses_what_would_be_read_wrongly(changes):
    call_scores()
    with pytest.raises(ValueError, match=r"must"):
        call_scores(**changes)


def test_encode_to_scores_refuses_rows_that_are_not_finite():
    with pytest.raises(OverflowError):
        call_scores(X=np.full((2, 60), np.nan, F))
