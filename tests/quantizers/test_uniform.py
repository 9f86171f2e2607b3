"""Equal cells."""

import numpy as np
import pytest
from reference.quantizer_fourier import N_SAMPLES, coefficients

from lowtide.errors import ParameterError
from lowtide.maps import Cosine, CosSin
from lowtide.quantizers import LloydMax, Uniform

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("bits", range(1, 9))
def test_codebook_is_evenly_spaced_and_unbiased(bits):
    drawn = Uniform(bits).draw(Cosine(), RNG)
    steps = np.diff(drawn.codebook)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-10)
    np.testing.assert_allclose(drawn.codebook, -drawn.codebook[::-1], atol=1e-15)
    assert drawn.moments(1).mean[0, 1] == pytest.approx(0.5, abs=1e-14)


def test_one_bit_equals_lloyd_max():
    uniform, best = (Q(1).draw(CosSin(), RNG) for Q in (Uniform, LloydMax))
    np.testing.assert_allclose(uniform.codebook, best.codebook, rtol=1e-14)
    np.testing.assert_array_equal(uniform.borders, best.borders)


@pytest.mark.parametrize("bits", [2, 3, 4])
def test_levels_are_the_cell_of_the_cosine(bits):
    turns = np.random.default_rng(1).random((25, 6), dtype=np.float32) * 4 - 2
    cell = (np.cos(2 * np.pi * turns.astype(np.float64)) + 1) * 2 ** (bits - 1)
    clear = np.abs(cell - np.rint(cell)) > 1e-4
    assert clear.mean() > 0.99
    got = Uniform(bits).draw(Cosine(), RNG).levels(turns)
    np.testing.assert_array_equal(got[clear], np.floor(cell)[clear])


@pytest.mark.parametrize("bits", [2, 4])
def test_moments_match_quadrature(bits):
    drawn = Uniform(bits).draw(Cosine(), RNG)

    def value(t):
        cell = np.floor((np.cos(t) + 1) * 2 ** (bits - 1))
        return drawn.codebook[np.minimum(cell, 2**bits - 1).astype(int)]

    tolerance = 16 * 2**bits / N_SAMPLES
    np.testing.assert_allclose(drawn.moments(9).mean[0], coefficients(value, 9), atol=tolerance)
    square = coefficients(lambda t: value(t) ** 2, 9)
    np.testing.assert_allclose(drawn.moments(9).product[0, 0], square, atol=tolerance)


@pytest.mark.parametrize("bits", range(2, 9))
def test_second_moment_is_above_lloyd_max(bits):
    uniform, best = (Q(bits).draw(Cosine(), RNG).moments(0).product[0, 0, 0].real for Q in (Uniform, LloydMax))
    assert uniform > best > 0.5


@pytest.mark.parametrize("bits", [0, 9, 2.0, None])
def test_bits_outside_one_to_eight_are_refused(bits):
    with pytest.raises(ParameterError, match="^Uniform: bits must be an integer from 1 to 8"):
        Uniform(bits)
