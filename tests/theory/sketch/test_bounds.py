"""Theorem 2, corrected."""

import itertools
import math

import numpy as np
import pytest
from reference.sketch import expectation

from lowtide.errors import ParameterError
from lowtide.quantizers import lloyd_max_normal
from lowtide.theory import sketch_bounds, sketch_kernel


@pytest.mark.parametrize(("bits", "gamma"), [(1, 0.3), (1, 5.0), (2, 1.0), (3, 2.0), (4, 0.7)])
def test_distortions_are_their_integrals(bits, gamma):
    levels, borders = lloyd_max_normal(bits)
    bounds = sketch_bounds(bits, gamma**2 / 2, 0.4)

    def mean(function):
        return expectation(lambda u, q: function(gamma * u, gamma * q), levels, borders)

    D_s = mean(lambda z, q: (math.sin(q) - math.sin(z)) ** 2)
    D_c = mean(lambda z, q: (math.cos(q) - math.cos(z)) ** 2)
    Delta_c = mean(lambda z, q: math.cos(q) - math.cos(z))
    zeta_s = mean(lambda z, q: (math.sin(q) - math.sin(z)) * math.sin(z))
    zeta_c = mean(lambda z, q: (math.cos(q) - math.cos(z)) * math.cos(z)) - Delta_c * math.exp(-(gamma**2) / 2)
    found = bounds.sine_distortion, bounds.cosine_distortion, bounds.cosine_offset
    np.testing.assert_allclose(found, [D_s, D_c, Delta_c], rtol=0, atol=1e-12)
    covariances = bounds.sine_covariance, bounds.cosine_covariance
    np.testing.assert_allclose(covariances, [zeta_s, zeta_c], rtol=0, atol=1e-12)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_bounds_hold_around_the_sketchs_kernel(bits):
    rhos = (-1.0, -0.95, -0.6, -0.2, 0.0, 0.1, 0.5, 0.9, 0.99, 1.0)
    for gamma, rho in itertools.product((0.3, 0.7, 1.0, 2.0, 3.0, 5.0), rhos):
        bounds = sketch_bounds(bits, gamma**2 / 2, rho)
        K = float(sketch_kernel(bits, gamma**2 / 2, rho))
        assert bounds.lower - 1e-12 <= K <= bounds.upper + 1e-12, (gamma, rho)
        assert bounds.kernel == pytest.approx(math.exp(-(gamma**2) * (1 - rho)))


def test_bounds_are_continuous_at_correlation_zero():
    at, near = (sketch_bounds(2, 0.5, rho) for rho in (0.0, 1e-7))
    assert at.lower == pytest.approx(near.lower, abs=1e-6)
    assert at.upper == pytest.approx(near.upper, abs=1e-6)


def test_bounds_close_in_on_the_kernel_with_more_bits():
    widths = [bounds.upper - bounds.lower for bounds in (sketch_bounds(bits, 0.5, 0.3) for bits in range(1, 9))]
    assert np.all(np.diff(widths) < 0)
    assert widths[-1] < 0.02


def test_bounds_are_finite_at_any_bandwidth():
    for bits, gamma, rho in itertools.product(
        (1, 3, 8), (1e-12, 1e-6, 1e-3, 1e3, 1e6), (-1.0, -0.3, 0.0, 1e-9, 0.5, 1.0)
    ):
        bounds = sketch_bounds(bits, gamma, rho)
        K = float(sketch_kernel(bits, gamma, rho))
        # Distortions of a wide kernel are differences of numbers near 1: 1e-16, of which the bounds take roots.
        assert -1 <= bounds.lower <= K + 1e-7
        assert K - 1e-7 <= bounds.upper <= 1


def test_bad_parameters_are_refused():
    with pytest.raises(ParameterError, match="rho must be a number from"):
        sketch_bounds(2, 0.5, 1.5)
    with pytest.raises(ParameterError, match="gamma must be a finite number above 0"):
        sketch_bounds(2, -0.5, 0.5)
