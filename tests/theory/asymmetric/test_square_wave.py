"""The one-bit map and the kernel of two one-bit sides."""

import mpmath
import numpy as np
import pytest

from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, Stable
from lowtide.theory import kappa_qq, kappa_qq_gaussian, kappa_qq_laplace, triangle_wave, universal_Qk


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
        assert abs(float(kappa_qq_gaussian(s)) - exact) < 3e-16


def test_slope_at_zero_is_twice_the_printed_one():
    assert abs((1 - float(kappa_qq_gaussian(0.1))) / 0.1 - 0.5079490875) < 1e-9


@pytest.mark.parametrize("s", [0.0, 1e-9, 1e-4, 0.1, 1.0, 30.0])
def test_laplace_form_is_the_dilogarithm(s):
    with mpmath.workdps(30):
        x = mpmath.exp(-mpmath.mpf(s))
        exact = 4 / mpmath.pi**2 * (mpmath.polylog(2, x) - mpmath.polylog(2, -x))
        assert abs(float(kappa_qq_laplace(s)) - exact) < 2e-15


@pytest.mark.parametrize("s", [0.0, 0.02, 0.4, 2.0])
def test_any_kernel_that_equals_a_closed_form_gives_it(s):
    np.testing.assert_allclose(kappa_qq(Stable(1.0, 1.0), s, 3), kappa_qq_laplace(s), rtol=0, atol=1e-12)
    np.testing.assert_allclose(kappa_qq(Stable(2**0.5, 2.0), s, 3), kappa_qq_gaussian(s), rtol=0, atol=1e-12)
    np.testing.assert_allclose(kappa_qq(Matern(0.5, 0.5), s, 3), kappa_qq(Laplace(0.5), s, 3), rtol=0, atol=1e-12)
    np.testing.assert_allclose(kappa_qq(Gaussian(3.0), 3 * s, 3), kappa_qq_gaussian(s), rtol=0, atol=1e-15)


def test_bessel_kernel_in_three_dimensions_averages_the_triangle_wave():
    # omega.u is uniform on [-z, z] there.
    z = 2.5
    t = (np.arange(200_000) + 0.5) * z / 200_000
    assert abs(float(kappa_qq(Bessel(), z, 3)) - triangle_wave(t).mean()) < 1e-9


def test_huge_distances_are_zero_without_a_warning():
    assert kappa_qq_gaussian([1e200, 50.0]).tolist() == [0, 0]
