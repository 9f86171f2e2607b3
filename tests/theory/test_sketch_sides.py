"""Moments of sketches whose sides differ: against draws, against the moments of equal sides, and at their ends."""

import math

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.kernels import Gaussian
from lowtide.projections import Blocks
from lowtide.quantizers import GivenSteps, normal_steps
from lowtide.theory import covariance, fourier_moments, scaled_covariance, scaled_mean

SIDES = [("codes", "codes"), ("codes", "full"), ("full", "codes"), ("full", "full")]
RHO = np.array([[-0.95, -0.3, 0.0], [0.4, 0.9, 0.999], [1.0, -1.0, 0.7]])
G = np.array([0.5, 1.2, 3.0]), np.array([0.8, 2.0, 1.0])
N_DRAWS = 200_000


def side(u, g, bits, name):
    """Return the phase of a side of projections u."""
    steps = normal_steps(bits)
    return g * (steps.values[np.searchsorted(steps.borders, u)] if name == "codes" else u)


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("bits", [1, 3, 8])
def test_means_of_rows_of_any_lengths_are_those_of_draws(bits, sides):
    rng = np.random.default_rng(bits)
    mean = scaled_mean(bits, G, RHO, sides)
    for i, j in np.ndindex(RHO.shape):
        u, w = rng.standard_normal((2, N_DRAWS))
        v = RHO[i, j] * u + math.sqrt(1 - RHO[i, j] ** 2) * w
        values = np.cos(side(u, G[0][i], bits, sides[0]) - side(v, G[1][j], bits, sides[1]))
        assert abs(values.mean() - mean[i, j]) < 4.5 * values.std() / math.sqrt(N_DRAWS) + 1e-12


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("bits", [1, 2, 5])
def test_rows_of_one_length_have_the_moments_of_rows_of_norm_one(bits, sides):
    gamma, rho = 0.7, np.linspace(-0.99, 0.99, 12)[None]
    g = (np.array([math.sqrt(2 * gamma)]), np.full(12, math.sqrt(2 * gamma)))
    moments = fourier_moments(bits, gamma, sides)
    np.testing.assert_allclose(scaled_mean(bits, g, rho, sides)[0], moments.mean(rho[0]), rtol=0, atol=1e-11)
    second = scaled_mean(bits, (2 * g[0], 2 * g[1]), rho, sides)[0]
    variance = (1 + second) / 2 - moments.mean(rho[0]) ** 2
    np.testing.assert_allclose(variance, moments.variance(rho[0]), rtol=0, atol=1e-10)
    found = scaled_covariance(bits, g, rho, sides, 64)[0]
    np.testing.assert_allclose(found, moments.covariance(rho[0], 64), rtol=1e-6, atol=1e-12)


def test_full_sides_are_the_gaussian_kernel_and_its_covariance():
    moments, rho = fourier_moments(None, 0.3, ("full", "full")), np.linspace(-1, 1, 9)
    distance = np.sqrt(2 * (1 - rho))
    kernel = Gaussian.from_gamma(0.3)
    kappa = kernel.radial(distance, 5)
    np.testing.assert_allclose(moments.mean(rho), kappa, rtol=1e-12)
    np.testing.assert_allclose(moments.variance(rho), (1 - kappa**2) ** 2 / 2, rtol=0, atol=1e-15)
    blocks = Blocks("free", 64, (64,))
    np.testing.assert_allclose(moments.covariance(rho, 64), covariance(kernel, blocks, distance), rtol=0, atol=1e-15)


@pytest.mark.parametrize("bits", [1, 4])
def test_finer_levels_come_nearer_to_the_full_side(bits):
    rho = np.linspace(-0.9, 0.9, 7)
    exact = fourier_moments(None, 0.5, ("full", "full")).mean(rho)
    gaps = [np.abs(fourier_moments(b, 0.5, ("codes", "full")).mean(rho) - exact).max() for b in (bits, bits + 2)]
    assert gaps[1] < 0.3 * gaps[0]


def test_sides_are_checked_and_extreme_lengths_refused():
    with pytest.raises(ParameterError, match="each of sides"):
        fourier_moments(4, 0.5, ("codes", "half"))
    with pytest.raises(ParameterError, match="at most 135"):
        fourier_moments(4, 1e9, ("codes", "full"))
    empty = scaled_mean(2, (np.ones(0), np.ones(3)), np.ones((0, 3)), ("codes", "full"))
    assert empty.shape == (0, 3)
    assert scaled_covariance(2, (np.ones(2), np.ones(2)), np.ones((2, 2)), ("codes", "codes"), 1).max() == 0.0


LOPSIDED = GivenSteps([-1.1, -0.2, 0.3, 0.9, 2.0], [-1.7, -0.5, 0.1, 0.6, 1.3, 2.4]).steps()


@pytest.mark.parametrize("sides", SIDES[:3])
def test_lopsided_steps_have_the_means_of_draws_and_of_rows_of_one_length(sides):
    rng, mean = np.random.default_rng(9), scaled_mean(LOPSIDED, G, RHO, sides)
    for i, j in np.ndindex(RHO.shape):
        u, w = rng.standard_normal((2, N_DRAWS))
        v = RHO[i, j] * u + math.sqrt(1 - RHO[i, j] ** 2) * w
        phases = [
            g * (LOPSIDED.values[np.searchsorted(LOPSIDED.borders, z)] if name == "codes" else z)
            for g, z, name in ((G[0][i], u, sides[0]), (G[1][j], v, sides[1]))
        ]
        values = np.cos(phases[0] - phases[1])
        assert abs(values.mean() - mean[i, j]) < 4.5 * values.std() / math.sqrt(N_DRAWS) + 1e-12
    rho = np.linspace(-0.99, 0.99, 12)[None]
    g = (np.array([1.2]), np.full(12, 1.2))
    moments = fourier_moments(LOPSIDED, 0.72, sides)
    np.testing.assert_allclose(scaled_mean(LOPSIDED, g, rho, sides)[0], moments.mean(rho[0]), rtol=0, atol=1e-11)
    found = scaled_covariance(LOPSIDED, g, rho, sides, 64)[0]
    np.testing.assert_allclose(found, moments.covariance(rho[0], 64), rtol=1e-6, atol=1e-12)
