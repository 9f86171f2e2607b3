"""The normalized Bessel function and its zeros."""

import mpmath
import numpy as np
import pytest
from reference.orthogonal_features import bessel

from lowtide.errors import ParameterError
from lowtide.theory import bessel_zeros, normalized_bessel


@pytest.mark.parametrize("d", [5000, 100_000])
def test_function_does_not_underflow_in_many_dimensions(d):
    for ratio in (0.01, 0.9, 1.1, 2.0, 4.0):
        exact = bessel(d, np.sqrt(2 * d) * ratio)
        assert abs(float(normalized_bessel(d, np.sqrt(2 * d) * ratio)) - exact) < 1e-11 * abs(exact)


def test_function_in_few_dimensions_is_elementary():
    z = np.linspace(0.01, 40, 300)
    np.testing.assert_allclose(normalized_bessel(1, z), np.cos(z), rtol=0, atol=1e-15)
    np.testing.assert_allclose(normalized_bessel(3, z), np.sin(z) / z, rtol=0, atol=1e-14)
    np.testing.assert_allclose(normalized_bessel(3, -z), np.sin(z) / z, rtol=0, atol=1e-14)


def test_function_is_one_at_zero_and_vanishes_at_infinity():
    for d in (2, 7, 500):
        assert float(normalized_bessel(d, 0.0)) == 1
        assert abs(float(normalized_bessel(d, np.inf))) < 1e-70


def test_function_with_sqrt_d_tends_to_the_gaussian():
    # The bias is about -z^4 exp(-z^2/2)/(4 d).
    for d, bias in ((4, -0.03), (16, -0.009), (64, -0.0023)):
        assert abs(float(normalized_bessel(d, np.sqrt(d))) - np.exp(-0.5) - bias) < 0.1 * abs(bias)


@pytest.mark.parametrize("d", [2, 3, 8, 51])
def test_zeros_are_those_of_the_bessel_function(d):
    exact = [mpmath.besseljzero(mpmath.mpf(d) / 2 - 1, m) for m in (1, 2, 3)]
    np.testing.assert_allclose(bessel_zeros(d, 3), [float(x) for x in exact], rtol=1e-12)


@pytest.mark.parametrize("d", [1000, 100_000])
def test_first_zero_in_many_dimensions_follows_the_airy_expansion(d):
    # j_{nu,1} = nu + 1.8557571 nu^(1/3) + 1.033150 nu^(-1/3) - 0.00397 / nu + ...
    nu = d / 2 - 1
    expected = nu + 1.8557571 * nu ** (1 / 3) + 1.033150 * nu ** (-1 / 3) - 0.00397 / nu
    assert abs(float(bessel_zeros(d, 1)[0]) - expected) < 1e-5


@pytest.mark.parametrize(("d", "count"), [(1, 1), (2.5, 1), (3, 0)])
def test_bad_arguments_are_refused(d, count):
    with pytest.raises(ParameterError, match="must be an integer of at least"):
        bessel_zeros(d, count)
