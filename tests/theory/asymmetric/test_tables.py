"""Constants of the b-bit quantizers."""

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.maps import Cosine, CosSin
from lowtide.quantizers import LloydMax, Stochastic
from lowtide.theory import lloyd_max_table, phase_F1, stochastic_coefficients

U = (np.arange(1 << 18) + 0.5) * 2 * np.pi / (1 << 18)


@pytest.mark.parametrize("bits", range(1, 9))
def test_moments_match_a_grid_of_phases(bits):
    table = lloyd_max_table(bits)
    q_cos, q_sin = (table.levels[np.searchsorted(table.borders, f)] for f in (np.cos(U), np.sin(U)))
    # Every jump is misplaced by at most half a step of the grid: 4 mu_max of total variation, integrands below 1.
    tolerance = 4 * 2 * np.pi / U.size
    assert abs(np.mean(q_cos * np.cos(U)) - table.F1) < tolerance
    assert abs(np.mean((np.cos(U) - q_cos) ** 2) - table.distortion) < tolerance
    assert abs(np.mean(q_cos**2 * np.cos(2 * U)) - table.S2) < tolerance
    assert abs(np.mean(q_cos * q_sin * np.sin(2 * U)) - table.P2) < tolerance


@pytest.mark.parametrize("bits", range(1, 9))
def test_centroid_rule_makes_the_first_coefficient_the_power(bits):
    table = lloyd_max_table(bits)
    edges = np.concatenate([[-1.0], table.borders, [1.0]])
    probability = np.diff(np.arcsin(edges)) / np.pi
    assert abs(probability @ table.levels**2 - table.F1) < 1e-12


def test_published_values_of_the_cross_moment():
    found = [lloyd_max_table(b).P2 for b in (1, 2, 3, 4)]
    np.testing.assert_allclose(found, [0.25801, 0.26372, 0.25074, 0.25063], rtol=0, atol=5e-6)


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_drawn_quantizer_has_the_same_moments(bits):
    table = lloyd_max_table(bits)
    moments = LloydMax(bits).draw(CosSin(), np.random.default_rng(0)).moments(4)
    scale = 1 / (2 * table.F1)
    assert abs(moments.product[0, 0, 2].real - scale**2 * table.S2) < 1e-12
    # The coefficient of sin 2t in Q(cos) Q(sin) is -i/2 times its weight, 2 P2.
    assert abs(moments.product[0, 1, 2].imag + scale**2 * table.P2) < 1e-12


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
def test_stochastic_coefficients_match_a_grid_of_phases(bits):
    step = 2 / (2**bits - 1)
    z = np.cos(U)
    low = np.floor((z + 1) / step) * step - 1
    second = z * (2 * low + step) - low * (low + step)
    g = stochastic_coefficients(bits, 8)
    brute = [np.mean(second)] + [2 * np.mean(second * np.cos(2 * n * U)) for n in range(1, 8)]
    # The integrand is continuous with kinks of slope at most 2: midpoint error below (step of the grid)^2.
    np.testing.assert_allclose(g, brute, rtol=0, atol=2**bits * (2 * np.pi / U.size) ** 2)


def test_stochastic_coefficients_are_the_drawn_quantizers():
    moments = Stochastic(3).draw(Cosine(), np.random.default_rng(0)).moments(64)
    g = stochastic_coefficients(3, 33)
    np.testing.assert_allclose(2 * moments.product[0, 0, 2::2].real, g[1:], rtol=0, atol=1e-8)


def test_phase_coefficient_tends_to_one():
    assert abs(phase_F1(2) - 2 / np.pi) < 1e-15
    assert 1 - phase_F1(256) < 3e-5


@pytest.mark.parametrize("bits", [0, 9, 1.5, True, None])
def test_bits_out_of_range_are_refused(bits):
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        lloyd_max_table(bits)
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        stochastic_coefficients(bits)
