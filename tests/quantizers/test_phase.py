"""The phase quantizer."""

import math

import numpy as np
import pytest
from reference.quantizer_fourier import N_SAMPLES, coefficients

from lowtide.errors import ParameterError
from lowtide.maps import Cosine, CosSin
from lowtide.quantizers import LloydMax, Phase, base

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("bits", range(1, 9))
def test_codebook_is_the_middle_of_each_arc_over_the_first_harmonic(bits):
    M = 2**bits
    drawn = Phase(bits).draw(CosSin(), RNG)
    middle = (np.arange(M) + 0.5) * 2 * np.pi / M
    values = np.stack([np.cos(middle), np.sin(middle)], 1)
    if bits > 2:  # to whole numbers; cosines and sines of fewer bits are 0 and equal ones
        values = np.rint(values / values.max() * 2047) / 2047 * values.max()
    # F_1 of the real part, twice; that of the imaginary part is the same.
    ends = np.sin(2 * np.pi * np.arange(M + 1) / M)
    first = np.diff(ends) @ values[:, 0] / np.pi if bits > 1 else 2 / np.pi
    np.testing.assert_allclose(drawn.codebook, values / first, atol=1e-15)


@pytest.mark.parametrize("bits", range(1, 9))
def test_the_pair_is_unbiased_against_the_full_pair(bits):
    # sum_i F_i conj(G_i) at k = 1, with G the cosine and the sine, is 1/2: the mean is kappa.
    coded = Phase(bits).draw(CosSin(), RNG).moments(3)
    full = CosSin().moments()
    assert np.sum(coded.mean[:, 1] * full.mean[:, 1].conj()) == pytest.approx(0.5, abs=1e-14)


@pytest.mark.parametrize("bits", [1, 2, 3, 6])
def test_moments_match_quadrature(bits):
    M = 2**bits
    drawn = Phase(bits).draw(CosSin(), RNG)
    values = [lambda t, i=i: drawn.codebook[np.floor(t / (2 * np.pi) * M).astype(int) % M, i] for i in (0, 1)]
    moments = drawn.moments(9)
    for i in (0, 1):
        np.testing.assert_allclose(moments.mean[i], coefficients(values[i], 9), atol=8 * M / N_SAMPLES)
        for j in (0, 1):
            expected = coefficients(lambda t, i=i, j=j: values[i](t) * values[j](t), 9)
            np.testing.assert_allclose(moments.product[i, j], expected, atol=8 * M / N_SAMPLES)


def test_two_bits_are_the_signs_of_cosine_and_sine():
    pair, signs = Phase(2).draw(CosSin(), RNG), LloydMax(1).draw(CosSin(), RNG)
    turns = np.random.default_rng(2).random((50, 7), dtype=np.float32) * 8 - 4
    from_phase = pair.codebook[pair.levels(turns)].reshape(50, 14)
    from_signs = signs.codebook[signs.levels(turns)]
    np.testing.assert_allclose(from_phase, from_signs, atol=1e-15)


@pytest.mark.parametrize("bits", [1, 3, 8])
def test_levels_are_the_arc_of_the_phase(bits):
    turns = np.random.default_rng(4).random((30, 11), dtype=np.float32) * 6 - 3
    got = Phase(bits).draw(CosSin(), RNG).levels(turns)
    fraction = turns - np.floor(turns)
    assert got.shape == (30, 11)
    assert got.dtype == np.uint8
    np.testing.assert_array_equal(got, np.floor(fraction * np.float32(2**bits)))


def test_a_phase_that_rounds_to_a_whole_turn_is_level_zero():
    # u - floor(u) of the largest float32 below 0 rounds to 1.
    turns = np.array([[-1e-9, 0.0, 1.0]], dtype=np.float32)
    np.testing.assert_array_equal(Phase(3).draw(CosSin(), RNG).levels(turns), 0)


def test_phase_needs_both_quadratures():
    with pytest.raises(ParameterError, match="^Phase: feature_map must be 'cos_sin', got 'Cosine'. Or use LloydMax"):
        Phase(2).draw(Cosine(), RNG)


@pytest.mark.parametrize("bits", [0, 9, 2.0, None])
def test_bits_outside_one_to_eight_are_refused(bits):
    with pytest.raises(ParameterError, match="^Phase: bits must be an integer from 1 to 8"):
        Phase(bits)


def test_three_bits_cost_five_percent_of_variance_far_away(monkeypatch):
    # The closed form is of a codebook that is not rounded to whole numbers.
    monkeypatch.setattr(base, "on_grid", lambda values: values)
    first = 8 / math.pi * math.sin(math.pi / 8)
    product = Phase(3).draw(CosSin(), RNG).moments(0).product[:, :, 0]
    # Against the full pair, E[(f . g)^2] = sum_ij E f_i f_j E g_i g_j as kappa2 -> 0; full precision has 1/2.
    second = np.sum(product.real * np.array([[0.5, 0], [0, 0.5]]))
    assert second == pytest.approx(1 / (2 * first**2), rel=1e-12)
    assert second / 0.5 == pytest.approx(1.053, abs=5e-4)
