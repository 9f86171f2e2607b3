"""The one-bit map, the kernel of two one-bit sides, and distance maps."""

import mpmath
import numpy as np
import pytest

from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, Stable
from lowtide.maps import Cosine, Moments
from lowtide.theory import (
    DistanceMap,
    PairMoments,
    gamma_q_cos_inverse_gaussian,
    gamma_q_cos_inverse_slope,
    kappa_qq,
    triangle_wave,
    universal_Qk,
)


def test_coefficients_are_those_of_the_sign_of_the_cosine():
    n = 1 << 16
    t = (np.arange(n) + 0.5) * 2 * np.pi / n
    for k in range(-6, 7):
        brute = np.mean(np.sign(np.cos(t)) * np.exp(-1j * k * t))
        assert abs(universal_Qk(k) - brute) < 4 / n  # two jumps of 2, each misplaced by at most half a step
    assert universal_Qk([2, 0, -4]).tolist() == [0, 0, 0]


def test_triangle_wave_is_the_autocorrelation_of_the_square_wave():
    n = 1 << 14
    t = (np.arange(n) + 0.5) * 2 * np.pi / n
    shifts = np.array([0, 100, n // 4, n // 2, n // 2 + 700, n - 3])
    brute = [np.mean(np.sign(np.cos(t + 2 * np.pi * j / n)) * np.sign(np.cos(t))) for j in shifts]
    np.testing.assert_allclose(triangle_wave(2 * np.pi * shifts / n), brute, rtol=0, atol=8 / n)


def test_triangle_wave_goes_below_zero_and_repeats():
    assert float(triangle_wave(np.pi)) == -1
    t = np.linspace(-9, 9, 37)
    np.testing.assert_allclose(triangle_wave(t), triangle_wave(t + 2 * np.pi), rtol=0, atol=1e-14)


@pytest.mark.parametrize("s", [1e-12, 1e-3, 0.1, 0.34999, 0.35, 0.35001, 0.5, 1.7, 5.0])
def test_gaussian_form_is_the_series_on_both_sides_of_the_switch(s):
    with mpmath.workdps(30):
        terms = int(12 / s) + 20 if s > 0.01 else 0
        if terms:
            exact = 8 / mpmath.pi**2 * mpmath.fsum(mpmath.exp(-((k * s) ** 2) / 2) / k**2 for k in range(1, terms, 2))
        else:
            exact = 1 - 2 * mpmath.sqrt(2) / mpmath.pi**1.5 * mpmath.mpf(s)
        assert abs(float(kappa_qq(Gaussian(), s, 3)) - exact) < 3e-16


def test_slope_at_zero_is_twice_the_printed_one():
    assert abs((1 - float(kappa_qq(Gaussian(), 0.1, 3))) / 0.1 - 0.5079490875) < 1e-9


@pytest.mark.parametrize("s", [0.0, 1e-9, 1e-4, 0.1, 1.0, 30.0])
def test_laplace_form_is_the_dilogarithm(s):
    with mpmath.workdps(30):
        x = mpmath.exp(-mpmath.mpf(s))
        exact = 4 / mpmath.pi**2 * (mpmath.polylog(2, x) - mpmath.polylog(2, -x))
        assert abs(float(kappa_qq(Laplace(), s, 3)) - exact) < 2e-15


@pytest.mark.parametrize("s", [0.0, 0.02, 0.4, 2.0])
def test_any_kernel_that_equals_a_closed_form_gives_it(s):
    np.testing.assert_allclose(kappa_qq(Stable(1.0, 1.0), s, 3), kappa_qq(Laplace(), s, 3), rtol=0, atol=1e-12)
    np.testing.assert_allclose(kappa_qq(Stable(2**0.5, 2.0), s, 3), kappa_qq(Gaussian(), s, 3), rtol=0, atol=1e-12)
    np.testing.assert_allclose(kappa_qq(Matern(0.5, 0.5), s, 3), kappa_qq(Laplace(0.5), s, 3), rtol=0, atol=1e-12)
    np.testing.assert_allclose(kappa_qq(Gaussian(3.0), 3 * s, 3), kappa_qq(Gaussian(), s, 3), rtol=0, atol=1e-15)


def test_bessel_kernel_in_three_dimensions_averages_the_triangle_wave():
    # omega.u is uniform on [-z, z] there.
    z = 2.5
    t = (np.arange(200_000) + 0.5) * z / 200_000
    assert abs(float(kappa_qq(Bessel(), z, 3)) - triangle_wave(t).mean()) < 1e-9


def test_huge_distances_are_zero_without_a_warning():
    assert kappa_qq(Gaussian(), [1e200, 50.0], 3).tolist() == [0, 0]


S = np.array([0.0, 0.05, 0.3, 1.0, 2.5])


def square_wave():
    mean = universal_Qk(np.arange(2049)).astype(complex)[None]
    product = np.zeros((1, 1, 2049), dtype=complex)
    product[0, 0, 0] = 1
    return Moments(mean, product)


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplace()], ids=repr)
def test_named_maps_are_the_general_one(kernel):
    q, cosine = square_wave(), Cosine().moments()
    for left, right, named in ((q, cosine, "q_cos"), (cosine, cosine, "cos_cos"), (q, q, "q_q")):
        general = DistanceMap(PairMoments(left, right), kernel, 2)(S)
        np.testing.assert_allclose(general, DistanceMap(named, kernel, 2)(S), rtol=0, atol=1e-12)


def test_bias_at_zero_is_the_distance_of_the_maps():
    t = (np.arange(1 << 14) + 0.5) * 2 * np.pi / (1 << 14)
    brute = np.mean((np.sign(np.cos(t)) - np.cos(t)) ** 2)
    assert abs(float(DistanceMap("q_cos", Gaussian(), 1)(0.0)) - brute) < 1e-6


def test_simulated_embedding_distance_has_the_stated_mean():
    n, s = 200_000, 0.9
    rng = np.random.default_rng(0)
    u = rng.uniform(0, 2 * np.pi, n)
    squared = (np.sign(np.cos(u + s * rng.standard_normal(n))) - np.cos(u)) ** 2
    assert abs(squared.mean() - float(DistanceMap("q_cos", Gaussian(), 1)(s))) < 4.5 * squared.std() / np.sqrt(n)


@pytest.mark.parametrize("bandwidth", [0.2, 1.0, 7.0])
def test_inverse_undoes_the_map(bandwidth):
    s = bandwidth * np.array([0.0, 1e-3, 0.5, 2.0, 4.0])
    y = DistanceMap("q_cos", Gaussian(bandwidth), 1)(s)
    # Rounding of y of 2e-16 is magnified by the slope, and by a square root at 0.
    tolerance = 1e-7 * bandwidth
    np.testing.assert_allclose(gamma_q_cos_inverse_gaussian(y, bandwidth), s, rtol=1e-9, atol=tolerance)


def test_inverse_clips_what_no_distance_gives():
    low, high = gamma_q_cos_inverse_gaussian([-1.0, 2.0])
    assert low == 0
    assert 8 < high < 9


def test_slope_is_the_derivative_of_the_inverse():
    s, h = np.array([0.4, 1.0, 2.0]), 1e-6
    y = DistanceMap("q_cos", Gaussian(), 1)(s)
    central = (gamma_q_cos_inverse_gaussian(y + h) - gamma_q_cos_inverse_gaussian(y - h)) / (2 * h)
    np.testing.assert_allclose(gamma_q_cos_inverse_slope(s), central, rtol=1e-7)
    np.testing.assert_allclose(gamma_q_cos_inverse_slope(3 * s, 3.0), 3 * central, rtol=1e-7)


@pytest.mark.parametrize("pair", ["q_cos", "cos_cos", "q_q"])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplace(1.0)], ids=repr)
def test_a_distance_map_is_read_back_on_its_first_branch(pair, kernel):
    gamma, s = DistanceMap(pair, kernel, 3, scale=2.0), np.array([0.1, 0.7, 2.0])
    np.testing.assert_allclose(gamma.inverse(gamma(s)), s, rtol=1e-5)
    assert gamma.inverse(gamma.bias - 1e-3) == 0.0
    assert np.isnan(gamma.inverse(10.0))
    assert gamma.reach == gamma.safe == np.inf


def test_the_error_of_a_distance_reaches_both_ends():
    gamma, s, eps = DistanceMap("q_cos", Gaussian(), 3), np.array([0.5, 1.5]), 1e-3
    y = gamma(s)
    first_order = eps * np.pi / (4 * s) * np.exp(s**2 / 2)
    np.testing.assert_allclose(gamma.inverse_error(y, eps), first_order, rtol=0.02)
    assert gamma.inverse_error(1.499, 0.01) == np.inf


def test_an_oscillating_kernel_has_a_first_branch_only():
    gamma = DistanceMap("cos_cos", Bessel(1.0), 2)  # 1 - J_0
    assert gamma.reach == pytest.approx(3.8317, abs=1e-3)
    assert gamma.safe == pytest.approx(1 - 0.30012, abs=1e-3)  # the second maximum of J_0
    assert gamma.inverse_error(0.6, 0.01) < np.inf == gamma.inverse_error(1.2, 0.01)
