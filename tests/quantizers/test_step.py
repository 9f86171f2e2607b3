"""Periodic step functions."""

import numpy as np
import pytest
from reference.quantizer_fourier import N_SAMPLES, coefficients

from lowtide.quantizers import StepFunction

RNG = np.random.default_rng(1)


def random_steps(n, rng=RNG):
    return StepFunction(np.sort(rng.random(n)), rng.standard_normal(n))


@pytest.mark.parametrize("n", [1, 2, 3, 17])
def test_coefficients_match_quadrature(n):
    f = random_steps(n)
    expected = coefficients(lambda t: f.at(t / (2 * np.pi)), 12)
    tolerance = np.abs(np.diff(f.values, append=f.values[0])).sum() / N_SAMPLES
    np.testing.assert_allclose(f.coefficients(12), expected, atol=tolerance + 1e-14)


def test_coefficients_obey_parseval():
    f = random_steps(9)
    mean_square = (f * f).coefficients(0)[0].real
    c = np.abs(f.coefficients(20_000)) ** 2
    # The coefficients fall as |jumps| / (2 pi k): what is left out is below (sum |jumps|)^2 / (2 pi^2 K).
    rest = np.abs(np.diff(f.values, append=f.values[0])).sum() ** 2 / (2 * np.pi**2 * 20_000)
    partial = c[0] + 2 * c[1:].sum()
    assert partial <= mean_square <= partial + rest


@pytest.mark.parametrize("shift", [0.0, 0.25, -0.25, 0.77, -3.4])
def test_shifted_is_the_function_at_later_phases(shift):
    f, t = random_steps(6), np.linspace(-2, 2, 1001)
    np.testing.assert_array_equal(f.shifted(shift).at(t), f.at(t + shift))


def test_product_is_pointwise():
    f, g, t = random_steps(5), random_steps(8), np.linspace(-2, 2, 1001)
    np.testing.assert_array_equal((f * g).at(t), f.at(t) * g.at(t))


def test_product_survives_breaks_that_rounding_split():
    # 0.1 + 0.2 - 0.2 is not 0.1: two breaks that should be one, a piece of 1e-17 between them.
    f = StepFunction(np.array([0.1, 0.6]), np.array([1.0, -1.0]))
    g = f.shifted(0.2).shifted(-0.2)
    np.testing.assert_allclose((f * g).coefficients(3), [1, 0, 0, 0], atol=1e-15)


def test_at_uses_the_last_piece_before_the_first_break():
    f = StepFunction(np.array([0.25, 0.5]), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(
        f.at(np.array([0.0, 0.24, 0.25, 0.49, 0.5, 0.99, 1.3, -0.01])), [2, 2, 1, 1, 2, 2, 1, 2]
    )
