"""The Lloyd-Max quantizer of the arcsine law."""

import math

import numpy as np
import pytest
from reference.quantizer_fourier import N_SAMPLES, coefficients, rising_levels

from lowtide.errors import ParameterError
from lowtide.maps import Arcsine, Cosine, CosSin
from lowtide.quantizers import LloydMax, even_steps, lloyd_max_arcsine
from lowtide.quantizers.base import on_grid

RNG = np.random.default_rng(0)
# Six digits of the known solution: positive levels, positive borders, distortion, S_2 = E[Q^2 cos 2U], P_2.
TABLE = {
    1: ([0.636620], [], 0.0947153, 0.0, 0.25801),
    2: ([0.297195, 0.854077], [0.575636], 0.0209048, 0.1921175, 0.26372),
    3: ([0.144074, 0.428173, 0.698680, 0.938820], [0.286123, 0.563426, 0.818750], 0.0049290, 0.2363849, 0.25074),
    4: (
        [0.070996, 0.212510, 0.352551, 0.490001, 0.623495, 0.751166, 0.870041, 0.973843],
        [0.141753, 0.282530, 0.421276, 0.556748, 0.687331, 0.810604, 0.921942],
        0.0011979,
        0.2467003,
        0.25063,
    ),
}
ALL_BITS = range(1, 9)


def masses(borders):
    return np.diff(Arcsine().cdf(np.concatenate([[-1.0], borders, [1.0]])))


def quantize(x, bits):
    levels, borders = lloyd_max_arcsine(bits)
    return levels[rising_levels(x, borders)]


@pytest.mark.parametrize("bits", ALL_BITS)
def test_levels_are_centroids_of_their_cells(bits):
    levels, borders = lloyd_max_arcsine(bits)
    edges = np.concatenate([[-1.0], borders, [1.0]])
    # int_a^b x dF = (sqrt(1 - a^2) - sqrt(1 - b^2)) / pi
    centroids = -np.diff(np.sqrt(1 - edges**2)) / np.pi / masses(borders)
    np.testing.assert_allclose(levels, centroids, atol=1e-12)


@pytest.mark.parametrize("bits", ALL_BITS)
def test_borders_are_midpoints_and_all_is_symmetric(bits):
    levels, borders = lloyd_max_arcsine(bits)
    assert levels.shape == (2**bits,)
    assert np.all(np.diff(levels) > 0)
    np.testing.assert_allclose(borders, (levels[1:] + levels[:-1]) / 2, atol=1e-12)
    np.testing.assert_array_equal(levels, -levels[::-1])


@pytest.mark.parametrize("bits", TABLE)
def test_levels_and_borders_match_the_table(bits):
    levels, borders = lloyd_max_arcsine(bits)
    half = 2 ** (bits - 1)
    np.testing.assert_allclose(levels[half:], TABLE[bits][0], atol=5.1e-7)
    np.testing.assert_allclose(borders[half:], TABLE[bits][1], atol=5.1e-7)
    assert borders[half - 1] == 0.0


@pytest.mark.parametrize("bits", ALL_BITS)
def test_first_harmonic_is_one_half_minus_the_distortion(bits):
    levels, borders = lloyd_max_arcsine(bits)
    edges = np.concatenate([[-1.0], borders, [1.0]])
    first = float(levels @ -np.diff(np.sqrt(1 - edges**2))) / np.pi
    distortion = 0.5 - 2 * first + float(masses(borders) @ levels**2)
    assert first == pytest.approx(0.5 - distortion, abs=1e-13)
    if bits in TABLE:
        assert distortion == pytest.approx(TABLE[bits][2], abs=5.1e-8)
    # High resolution: (int density^(1/3))^3 / (12 n^2), 2% off at 64 levels.
    if bits >= 6:
        angle = (np.arange(20_000) + 0.5) * np.pi / 20_000
        third = np.mean(np.sin(angle) * (np.pi * np.sin(angle)) ** (-1 / 3)) * np.pi
        assert distortion == pytest.approx(third**3 / 12 / 4**bits, rel=0.02)


@pytest.mark.parametrize("bits", TABLE)
def test_second_order_constants_match_the_table(bits):
    # Midpoint rule over U on 2^17 cells: each of the quantizer's jumps costs at most its height over 2^17.
    u = (np.arange(1 << 17) + 0.5) * (2 * np.pi / (1 << 17))
    levels, borders = lloyd_max_arcsine(bits)
    cosine, sine = (levels[np.searchsorted(borders, f(u), side="right")] for f in (np.cos, np.sin))
    assert np.mean(cosine**2 * np.cos(2 * u)) == pytest.approx(TABLE[bits][3], abs=3e-5)
    assert np.mean(cosine * sine * np.sin(2 * u)) == pytest.approx(TABLE[bits][4], abs=3e-5)


@pytest.mark.parametrize("bits", TABLE)
def test_second_order_constants_are_coefficients_of_the_moments(bits):
    moments = even_steps(*lloyd_max_arcsine(bits), CosSin().shifts).moments()
    scale = 2 * (0.5 - TABLE[bits][2])
    assert (moments.product[0, 0, 2] * scale**2).real == pytest.approx(TABLE[bits][3], abs=1e-6)
    assert (moments.product[0, 1, 2] * scale**2).imag == pytest.approx(-TABLE[bits][4], abs=6e-6)


@pytest.mark.parametrize("bits", ALL_BITS)
def test_codebook_is_unbiased_against_the_cosine(bits):
    drawn = LloydMax(bits).draw(Cosine(), RNG)
    assert drawn.bits == bits
    moments = drawn.moments(4)
    assert moments.mean[0, 1] == pytest.approx(0.5, abs=1e-14)
    levels, borders = lloyd_max_arcsine(bits)
    np.testing.assert_allclose(drawn.borders, np.arccos(borders[::-1]) / (2 * np.pi), rtol=1e-7)
    # Whole numbers of which the largest is 2047, nearest to the centroids; one bit has a single size.
    numbers = np.rint(levels / levels[-1] * 2047)
    np.testing.assert_allclose(drawn.codebook, drawn.codebook[-1] * numbers / 2047, rtol=1e-14)
    centroids = even_steps(levels, borders, Cosine().shifts).codebook
    first = float(masses(borders) @ levels**2)
    np.testing.assert_allclose(centroids, levels / (2 * first), rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "stays"),
    [([-3.0, -1.0, 1.0, 3.0], True), ([0.1, -0.2, 0.0], True), ([-1.0, 0.2, 254 / 255], True), ([1.0, 0.3001], False)],
)
def test_values_are_rounded_to_whole_numbers_where_they_are_not(values, stays):
    values = np.array(values)
    rounded = on_grid(values)
    assert np.array_equal(rounded, values) == stays
    assert np.abs(rounded - values).max() <= np.abs(values).max() / 4094


def test_one_bit_is_the_square_wave_with_value_a_quarter_of_pi():
    drawn = LloydMax(1).draw(Cosine(), RNG)
    np.testing.assert_allclose(drawn.codebook, [-math.pi / 4, math.pi / 4], rtol=1e-15)
    k = np.arange(9)
    expected = np.where(k > 0, np.sin(k * np.pi / 2) * 2 / (np.pi * np.maximum(k, 1)), 0.0) * math.pi / 4
    np.testing.assert_allclose(drawn.moments(8).mean[0], expected, atol=1e-15)
    # The square is constant.
    np.testing.assert_allclose(drawn.moments(8).product[0, 0], [math.pi**2 / 16] + 8 * [0], atol=1e-15)


@pytest.mark.parametrize("bits", [1, 2, 3, 8])
@pytest.mark.parametrize("feature_map", [Cosine(), CosSin()], ids=repr)
def test_moments_match_quadrature_of_the_decoded_levels(bits, feature_map):
    drawn = LloydMax(bits).draw(feature_map, RNG)
    levels, borders = lloyd_max_arcsine(bits)
    scaled = levels * (drawn.codebook[-1] / levels[-1])
    functions = [
        lambda t, s=shift: scaled[np.searchsorted(borders, np.cos(t + 2 * np.pi * s), side="right")]
        for shift in feature_map.shifts
    ]
    moments = drawn.moments(10)
    # Two jumps a level, each at most 2 in height (and in the square), on N_SAMPLES cells.
    tolerance = 4 * 2 * 2**bits / N_SAMPLES
    for i, f in enumerate(functions):
        np.testing.assert_allclose(moments.mean[i], coefficients(f, 10), atol=tolerance)
        for j, g in enumerate(functions):
            expected = coefficients(lambda t, f=f, g=g: f(t) * g(t), 10)
            np.testing.assert_allclose(moments.product[i, j], expected, atol=tolerance)


@pytest.mark.parametrize("bits", [1, 2, 5])
def test_levels_count_the_borders_below_the_cosine(bits):
    turns = np.random.default_rng(3).random((40, 9), dtype=np.float32) * 6 - 3
    got = LloydMax(bits).draw(Cosine(), RNG).levels(turns)
    _, borders = lloyd_max_arcsine(bits)
    cosine = np.cos(2 * np.pi * turns.astype(np.float64))
    # Away from a border by more than float32's rounding of the turn.
    clear = np.abs(cosine[..., None] - borders).min(axis=-1) > 1e-5
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(got[clear], rising_levels(cosine, borders)[clear])


def test_levels_of_a_pair_interleave_cosine_and_sine():
    turns = np.array([[0.05, 0.3], [0.6, 0.9]], dtype=np.float32)
    levels = LloydMax(1).draw(CosSin(), RNG).levels(turns)
    np.testing.assert_array_equal(levels, [[1, 1, 0, 1], [0, 0, 1, 0]])


def test_zero_cosine_counts_as_positive():
    levels = LloydMax(1).draw(Cosine(), RNG).levels(np.array([[0.25, 0.75, 1.25, -0.25]], dtype=np.float32))
    np.testing.assert_array_equal(levels, 1)


def test_returned_arrays_are_the_callers_own():
    lloyd_max_arcsine(2)[0][:] = 0.0
    assert lloyd_max_arcsine(2)[0][-1] > 0.8


@pytest.mark.parametrize("bits", [0, 9, 1.5, "2", None, True])
def test_bits_outside_one_to_eight_are_refused(bits):
    with pytest.raises(ParameterError, match=r"^LloydMax: bits must be an integer from 1 to 8, got .* bits=None"):
        LloydMax(bits)
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        lloyd_max_arcsine(bits)
