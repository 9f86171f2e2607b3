"""The Lloyd-Max quantizer of N(0, 1)."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from lowtide.errors import ParameterError
from lowtide.maps import Normal
from lowtide.quantizers import lloyd_max_distortion, lloyd_max_normal

ALL_BITS = range(1, 9)
# Six digits of the known solution: first positive levels, largest level, distortion.
TABLE = {
    1: ([0.797885], 0.797885, 0.363380),
    2: ([0.452780, 1.510418], 1.510418, 0.117482),
    3: ([0.245094, 0.756005, 1.343909], 2.151946, 0.0345478),
    4: ([0.128395, 0.388048, 0.656759, 0.942340], 2.732590, 0.00950101),
    5: ([0.06589, 0.19805, 0.33138], 3.26073, 0.00250467),
    6: ([0.033410, 0.100278, 0.167297], 3.744101, 0.000644240),
    7: ([0.01683, 0.05049, 0.08417], 4.18969, 0.000163478),
    8: ([0.008446, 0.025339, 0.042235], 4.603536, 0.0000411851),
}


def pdf(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def positive_cells(bits):
    """Levels, edges and masses of the positive half; masses from the upper tail, which keeps their digits."""
    levels, borders = lloyd_max_normal(bits)
    half = 2 ** (bits - 1)
    edges = np.append(borders[half - 1 :], np.inf)
    return levels[half:], edges, -np.diff(ndtr(-edges))


@pytest.mark.parametrize("bits", ALL_BITS)
def test_levels_are_centroids_of_their_cells(bits):
    levels, edges, mass = positive_cells(bits)
    np.testing.assert_allclose(levels, -np.diff(pdf(edges)) / mass, atol=1e-12)


@pytest.mark.parametrize("bits", ALL_BITS)
def test_borders_are_midpoints_and_all_is_symmetric(bits):
    levels, borders = lloyd_max_normal(bits)
    assert levels.shape == (2**bits,)
    assert np.all(np.diff(levels) > 0)
    np.testing.assert_array_equal(borders, (levels[1:] + levels[:-1]) / 2)
    np.testing.assert_array_equal(levels, -levels[::-1])
    assert borders[2 ** (bits - 1) - 1] == 0.0


@pytest.mark.parametrize("bits", ALL_BITS)
def test_levels_and_distortion_match_the_table(bits):
    first, largest, distortion = TABLE[bits]
    levels = lloyd_max_normal(bits)[0][2 ** (bits - 1) :]
    np.testing.assert_allclose(levels[: len(first)], first, atol=5.1e-6 if bits in (5, 7) else 5.1e-7)
    assert levels[-1] == pytest.approx(largest, abs=5.1e-6 if bits in (5, 7) else 5.1e-7)
    # Six significant digits.
    assert lloyd_max_distortion(Normal(), bits) == pytest.approx(distortion, rel=1e-5)


@pytest.mark.parametrize("bits", ALL_BITS)
def test_distortion_is_the_squared_error_cell_by_cell(bits):
    levels, edges, mass = positive_cells(bits)
    # int x^2 dP = mass + a phi(a) - b phi(b), and b phi(b) = 0 at infinity.
    moment = np.append(edges[:-1] * pdf(edges[:-1]), 0.0)
    squares = mass - np.diff(moment) + 2 * levels * np.diff(pdf(edges)) + levels**2 * mass
    assert lloyd_max_distortion(Normal(), bits) == pytest.approx(2 * squares.sum(), abs=1e-13)


def test_256_levels_agree_with_another_solution_to_a_trillionth():
    levels, borders = lloyd_max_normal(8)
    others = [0.008446193222756295, 0.5763547006421683, 1.810953088374312, 4.186595442844834, 4.603535612430344]
    np.testing.assert_allclose(levels[[128, 161, 218, 254, 255]], others, atol=1e-12)
    np.testing.assert_allclose(
        borders[[128, 253, 254]], [0.016892788161050942, 4.056116613390477, 4.395065527637589], atol=1e-12
    )


def test_one_bit_has_the_closed_form():
    levels, borders = lloyd_max_normal(1)
    np.testing.assert_allclose(levels, [-math.sqrt(2 / math.pi), math.sqrt(2 / math.pi)], rtol=1e-15)
    np.testing.assert_array_equal(borders, [0.0])
    assert lloyd_max_distortion(Normal(), 1) == pytest.approx(1 - 2 / math.pi, abs=1e-15)


def test_returned_arrays_are_the_callers_own():
    lloyd_max_normal(2)[0][:] = 0.0
    assert lloyd_max_normal(2)[0][-1] > 1.5


@pytest.mark.parametrize("bits", [0, 9, 1.5, "2", None, True])
def test_bits_outside_one_to_eight_are_refused(bits):
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        lloyd_max_normal(bits)
