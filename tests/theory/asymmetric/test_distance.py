"""Distance maps."""

import numpy as np
import pytest

from lowtide.kernels import Gaussian, Laplace
from lowtide.maps import Cosine, Moments
from lowtide.theory import (
    PairMoments,
    distance_map,
    gamma_cos_cos,
    gamma_q_cos,
    gamma_q_cos_inverse_gaussian,
    gamma_q_cos_inverse_slope,
    gamma_q_q,
    universal_Qk,
)

S = np.array([0.0, 0.05, 0.3, 1.0, 2.5])


def square_wave():
    mean = universal_Qk(np.arange(2049)).astype(complex)[None]
    product = np.zeros((1, 1, 2049), dtype=complex)
    product[0, 0, 0] = 1
    return Moments(mean, product)


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplace()], ids=repr)
def test_named_maps_are_the_general_one(kernel):
    q, cosine = square_wave(), Cosine().moments()
    for left, right, named in ((q, cosine, gamma_q_cos), (cosine, cosine, gamma_cos_cos), (q, q, gamma_q_q)):
        general = distance_map(PairMoments(left, right), kernel, S, 2)
        np.testing.assert_allclose(general, named(kernel, S, 2), rtol=0, atol=1e-12)


def test_bias_at_zero_is_the_distance_of_the_maps():
    t = (np.arange(1 << 14) + 0.5) * 2 * np.pi / (1 << 14)
    brute = np.mean((np.sign(np.cos(t)) - np.cos(t)) ** 2)
    assert abs(float(gamma_q_cos(Gaussian(), 0.0, 1)) - brute) < 1e-6


def test_simulated_embedding_distance_has_the_stated_mean():
    n, s = 200_000, 0.9
    rng = np.random.default_rng(0)
    u = rng.uniform(0, 2 * np.pi, n)
    squared = (np.sign(np.cos(u + s * rng.standard_normal(n))) - np.cos(u)) ** 2
    assert abs(squared.mean() - float(gamma_q_cos(Gaussian(), s, 1))) < 4.5 * squared.std() / np.sqrt(n)


@pytest.mark.parametrize("bandwidth", [0.2, 1.0, 7.0])
def test_inverse_undoes_the_map(bandwidth):
    s = bandwidth * np.array([0.0, 1e-3, 0.5, 2.0, 4.0])
    y = gamma_q_cos(Gaussian(bandwidth), s, 1)
    # Rounding of y of 2e-16 is magnified by the slope, and by a square root at 0.
    tolerance = 1e-7 * bandwidth
    np.testing.assert_allclose(gamma_q_cos_inverse_gaussian(y, bandwidth), s, rtol=1e-9, atol=tolerance)


def test_inverse_clips_what_no_distance_gives():
    low, high = gamma_q_cos_inverse_gaussian([-1.0, 2.0])
    assert low == 0
    assert 8 < high < 9


def test_slope_is_the_derivative_of_the_inverse():
    s, h = np.array([0.4, 1.0, 2.0]), 1e-6
    y = gamma_q_cos(Gaussian(), s, 1)
    central = (gamma_q_cos_inverse_gaussian(y + h) - gamma_q_cos_inverse_gaussian(y - h)) / (2 * h)
    np.testing.assert_allclose(gamma_q_cos_inverse_slope(s), central, rtol=1e-7)
    np.testing.assert_allclose(gamma_q_cos_inverse_slope(3 * s, 3.0), 3 * central, rtol=1e-7)
