"""Propositions 3 and 6 and the ranges where they hold."""

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.theory import (
    kernel_bounds,
    normalized_bessel,
    orf_ranges,
    orf_variance,
    rff_variance,
    true_lower_range,
    true_upper_range,
    true_variance_range,
    variance_bounds,
)

DIMENSIONS = [2, 3, 4, 5, 8, 16, 33, 64, 150, 300]


@pytest.mark.parametrize("d", DIMENSIONS)
def test_proposition_3_holds_on_its_range(d):
    z = np.linspace(0, orf_ranges(d).kernel_bounds, 500)
    lower, upper = kernel_bounds(d, z)
    kernel = normalized_bessel(d, z)
    assert np.all(lower <= kernel + 1e-15)
    assert np.all(kernel <= upper + 1e-15)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_proposition_6_holds_on_its_range(d):
    z = np.linspace(0, orf_ranges(d).variance_order, 300)
    for p in {1, d // 2 or 1, d}:
        assert np.all(orf_variance(d, p, z) <= rff_variance(p, z) + 1e-15)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_variance_bounds_hold_on_half_of_the_stated_range(d):
    z = np.linspace(0, orf_ranges(d).variance_bounds, 300)
    lower, upper = variance_bounds(d, d, z)
    variance = orf_variance(d, d, z)
    assert np.all(lower <= variance + 1e-15)
    assert np.all(variance <= upper + 1e-15)


def test_variance_bounds_fail_within_the_range_that_the_paper_states():
    # d = p = 5: max(b, c) = 3.67, and (12) is violated from z = 3.481 on, where 2z is past Proposition 3's range.
    z, y = 3.49, 3.49**2
    assert z < orf_ranges(5).kernel_bounds
    lower = (1 + np.exp(-2 * y)) / 10 + 4 / 5 * np.exp(-y) - np.exp(-y / 5)
    upper = (1 + np.exp(-2 * y / 5)) / 10 + 4 / 5 * np.exp(-y / 5) - np.exp(-y)
    variance = float(orf_variance(5, 5, z))
    assert not lower <= variance <= upper
    assert np.isnan(variance_bounds(5, 5, z)).all()


def test_bounds_past_their_range_are_nan():
    assert np.isnan(kernel_bounds(8, [1.0, 1e3])).tolist() == [[False, True], [False, True]]


@pytest.mark.parametrize(("d", "end"), [(2, 2.259), (3, 3.117), (4, 3.829), (5, 4.493)])
def test_true_lower_range_has_the_documented_values(d, end):
    assert true_lower_range(d) == pytest.approx(end, abs=6e-4)


@pytest.mark.parametrize("d", [8, 16, 100])
def test_true_lower_range_is_the_first_zero_in_more_dimensions(d):
    assert true_lower_range(d) == pytest.approx(orf_ranges(d).first_zero, rel=1e-4)


@pytest.mark.parametrize("d", [2, 3, 5, 16, 100])
def test_true_ranges_end_where_the_inequality_turns(d):
    for end, gap in (
        (true_lower_range(d), lambda z: normalized_bessel(d, z) - np.exp(-(z**2) / 2)),
        (true_upper_range(d), lambda z: np.exp(-(z**2) / (2 * d)) - normalized_bessel(d, z)),
    ):
        assert end >= orf_ranges(d).kernel_bounds
        step = 1e-6 * end
        assert gap(end - step) > 0 > gap(end + step)
    assert true_upper_range(d) > orf_ranges(d).second_zero


@pytest.mark.parametrize(("d", "end"), [(2, 4.54), (5, 5.61), (8, 6.95), (16, 10.5)])
def test_true_variance_range_has_the_documented_values(d, end):
    found = true_variance_range(d, d)
    assert found == pytest.approx(end, abs=0.02)
    assert found > orf_ranges(d).variance_order


def test_second_constant_exists_from_five_dimensions_and_wins_from_33():
    assert orf_ranges(4).c is None
    assert orf_ranges(5).c is not None
    wins = [d for d in range(5, 60) if orf_ranges(d).c > orf_ranges(d).b]
    assert wins == list(range(33, 60))


def test_one_dimension_is_refused():
    with pytest.raises(ParameterError, match="at least 2"):
        orf_ranges(1)
