"""Stochastic rounding."""

import numpy as np
import pytest
from reference.quantizer_fourier import coefficients

from lowtide.errors import ParameterError
from lowtide.maps import Cosine, CosSin
from lowtide.quantizers import Stochastic

N = 40_000


def test_seed_comes_from_the_generator():
    seeds = [Stochastic(2).draw(Cosine(), np.random.default_rng(s)).seed for s in (0, 0, 1)]
    assert seeds[0] == seeds[1] != seeds[2]


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 8])
def test_levels_are_unbiased_and_on_the_neighbouring_grid_points(bits):
    drawn = Stochastic(bits).draw(Cosine(), np.random.default_rng(1))
    step = 2 / (2**bits - 1)
    for turn in (0.0, 0.013, 0.1, 0.3, 0.5, 0.81):
        cosine = np.cos(2 * np.pi * np.float64(np.float32(turn)))
        values = drawn.codebook[drawn.levels(np.full((N, 1), turn, dtype=np.float32))]
        assert np.abs(values - cosine).max() <= step * (1 + 1e-9)
        assert abs(values.mean() - cosine) <= 5 * values.std() / np.sqrt(N) + 1e-12


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_second_moment_matches_the_closed_form(bits):
    # E[Q^2 | z] = z (t_lo + t_hi) - t_lo t_hi
    step = 2 / (2**bits - 1)

    def second(t):
        z = np.cos(t)
        low = np.floor((z + 1) / step) * step - 1
        return z * (2 * low + step) - low * (low + step)

    moments = Stochastic(bits).draw(Cosine(), np.random.default_rng(0)).moments(12)
    # Continuous and piecewise smooth: the midpoint rule is far below the bound of a jump.
    np.testing.assert_allclose(moments.product[0, 0], coefficients(second, 12), atol=1e-8)
    np.testing.assert_allclose(moments.mean[0], [0, 0.5] + 11 * [0], atol=1e-14)


def test_one_bit_has_second_moment_one():
    product = Stochastic(1).draw(Cosine(), np.random.default_rng(0)).moments(8).product[0, 0]
    np.testing.assert_allclose(product, [1] + 8 * [0], atol=1e-14)


def test_components_of_a_pair_are_rounded_independently():
    drawn = Stochastic(1).draw(CosSin(), np.random.default_rng(2))
    turn = 0.07
    values = drawn.codebook[drawn.levels(np.full((N, 1), turn, dtype=np.float32))]
    mixed = values[:, 0] * values[:, 1]
    expected = np.cos(2 * np.pi * turn) * np.sin(2 * np.pi * turn)
    assert abs(mixed.mean() - expected) < 5 * mixed.std() / np.sqrt(N)
    product = drawn.moments(3).product
    np.testing.assert_allclose(product[0, 1], [0, 0, -0.25j, 0], atol=1e-12)


@pytest.mark.parametrize("bits", [0, 9, 1.0, None])
def test_bits_outside_one_to_eight_are_refused(bits):
    with pytest.raises(ParameterError, match="^Stochastic: bits must be an integer from 1 to 8"):
        Stochastic(bits)
