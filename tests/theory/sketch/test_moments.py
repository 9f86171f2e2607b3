"""Mean and variance of the kernel of a sketch."""

import math

import numpy as np
import pytest
from reference.sketch import correlated_pairs, mean_and_variance

from lowtide.errors import ParameterError
from lowtide.quantizers import lloyd_max_normal
from lowtide.theory import fourier_moments, sketch_kernel, sketch_kernel_one_bit, sketch_variance

PAPER_GAMMAS = (0.3, 0.7, 1.0, 2.0, 3.0, 5.0)
CORRELATIONS = (-0.95, -0.6, -0.1, 0.0, 0.2, 0.5, 0.9, 0.99)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("gamma", PAPER_GAMMAS)
def test_mean_and_variance_are_theorem_1(bits, gamma):
    levels, borders = lloyd_max_normal(bits)
    for rho in CORRELATIONS:
        expected = mean_and_variance(levels, borders, gamma, rho)
        found = [float(f(bits, gamma**2 / 2, rho)) for f in (sketch_kernel, sketch_variance)]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=str(rho))


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("gamma", PAPER_GAMMAS)
def test_simulated_mean_and_variance_are_within_their_sampling_error(bits, gamma):
    n = 200_000
    levels, borders = lloyd_max_normal(bits)
    rng = np.random.default_rng([bits, round(10 * gamma)])
    for rho in CORRELATIONS:
        u, v = correlated_pairs(rng, rho, n)
        F_x, F_y = (gamma * levels[np.searchsorted(borders, z)] for z in (u, v))
        product = np.cos(F_x) * np.cos(F_y) + np.sin(F_x) * np.sin(F_y)
        mean, variance = (float(f(bits, gamma**2 / 2, rho)) for f in (sketch_kernel, sketch_variance))
        centered = product - mean
        # 192 pairs of comparisons: beyond 4.5 standard errors once in a thousand runs, if the seeds were not fixed.
        assert abs(centered.mean()) < 4.5 * math.sqrt(variance / n), rho
        # A product of two values has no error of its variance where both are equally likely, but rounding.
        error = math.sqrt(max((centered**4).mean() - variance**2, 0.0) / n)
        assert abs((centered**2).mean() - variance) < 4.5 * error + 1e-13, rho


@pytest.mark.parametrize("gamma", [0.02, 0.5, 4.0, 30.0])
def test_one_bit_has_the_closed_form(gamma):
    rho = np.linspace(-1, 1, 101)
    np.testing.assert_allclose(sketch_kernel(1, gamma, rho), sketch_kernel_one_bit(gamma, rho), rtol=0, atol=1e-14)


@pytest.mark.parametrize("gamma", [0.3, 2.0])
def test_one_bit_of_opposite_rows_is_the_cosine_of_fig_3(gamma):
    paper_gamma = math.sqrt(2 * gamma)
    expected = math.cos(2 * math.sqrt(2 / math.pi) * paper_gamma)
    assert float(sketch_kernel_one_bit(gamma, -1.0)) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("bits", range(1, 9))
def test_equal_rows_have_kernel_one_and_no_variance(bits):
    assert float(sketch_kernel(bits, 0.8, 1.0)) == pytest.approx(1.0, abs=1e-13)
    assert float(sketch_variance(bits, 0.8, 1.0)) == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_variance_is_that_of_the_pair_at_four_times_gamma(bits):
    rho = np.linspace(-1, 1, 21)
    mean, twice = sketch_kernel(bits, 0.6, rho), sketch_kernel(bits, 2.4, rho)
    np.testing.assert_allclose(sketch_variance(bits, 0.6, rho), (1 + twice) / 2 - mean**2, rtol=0, atol=1e-13)


def test_many_bits_are_the_gaussian_kernel_and_its_variance():
    rho = np.linspace(-1, 1, 41)
    kernel = np.exp(-2 * 0.5 * (1 - rho))
    # Eight bits: the bias and that of the doubled frequency are below 1e-4 and 4e-4.
    np.testing.assert_allclose(sketch_kernel(8, 0.5, rho), kernel, rtol=0, atol=1e-4)
    np.testing.assert_allclose(sketch_variance(8, 0.5, rho), (1 - kernel**2) ** 2 / 2, rtol=0, atol=5e-4)


def test_moments_keep_the_shape_of_the_correlations():
    for shape in ((), (0,), (3,), (2, 5), (300, 300)):
        rho = np.full(shape, 0.25)
        for values in (sketch_kernel(2, 0.5, rho), sketch_variance(2, 0.5, rho)):
            assert values.shape == shape
            assert np.all(values == values.ravel()[0] if values.size else True)


def test_moments_of_one_bandwidth_are_made_once():
    assert fourier_moments(3, 0.25) is fourier_moments(3, 0.25)


@pytest.mark.parametrize("function", [sketch_kernel, sketch_variance])
def test_bad_parameters_are_refused(function):
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        function(9, 0.5, 0.1)
    for gamma in (0.0, -1.0, math.nan, math.inf, "scale", [0.5]):
        with pytest.raises(ParameterError, match="gamma must be a finite number above 0"):
            function(2, gamma, 0.1)
    for rho in (1.0001, [-2.0, 0.0], math.nan):
        with pytest.raises(ParameterError, match=r"from -1 to 1.*Clip"):
            function(2, 0.5, rho)
