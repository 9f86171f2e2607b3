"""The bias of a sketch, the bits that keep it small, and the bounds of the paper."""

import itertools
import math
import time

import numpy as np
import pytest
from reference.sketch import expectation, mean_oscillation

from lowtide.errors import ParameterError
from lowtide.quantizers import GivenSteps, SignSteps, UniformSteps, lloyd_max_normal
from lowtide.theory import (
    fourier_moments,
    sketch_bias,
    sketch_bits_needed,
    sketch_bounds,
    sketch_failure_printed,
    sketch_features_printed,
    sketch_lipschitz,
)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("gamma", [0.01, 0.3, 1.0, 5.0, 40.0, 2000.0])
def test_bias_is_the_largest_over_all_correlations(bits, gamma):
    # Fine at both ends, where the kernels bend.
    edge = np.geomspace(1e-9, 1, 4000)
    rho = np.concatenate([edge - 1, 1 - edge, [-1.0, 0.0, 1.0]])
    largest = np.max(np.abs(fourier_moments(bits, gamma).mean(rho) - np.exp(-2 * gamma * (1 - rho))))
    bias = sketch_bias(bits, gamma)
    assert largest <= bias + 1e-12
    # The refined maximum exceeds that of a dense grid by no more than the grid can miss.
    assert bias == pytest.approx(largest, rel=1e-3)


def test_bias_of_one_bit_of_opposite_rows_is_the_papers_example():
    # gamma = 2 of the paper: cos(2 x 0.7979 x 2) against exp(-8).
    bias = sketch_bias(1, 2.0, correlations=(-1.0, -0.9999))
    assert bias == pytest.approx(abs(math.cos(4 * math.sqrt(2 / math.pi)) - math.exp(-8)), rel=1e-2)


def test_bias_over_fewer_correlations_is_no_larger():
    for bits in (1, 2, 3):
        assert sketch_bias(bits, 1.0, correlations=(0.0, 1.0)) <= sketch_bias(bits, 1.0) + 1e-9


def test_bias_of_small_gamma_falls_with_every_bit():
    for gamma in (0.05, 0.5, 2.0):
        biases = [sketch_bias(bits, gamma) for bits in range(1, 9)]
        assert np.all(np.diff(biases) < 0)


def test_bits_needed_are_the_fewest_that_keep_the_bias():
    for gamma in (0.05, 0.5, 3.0, 12.0):
        for error in (0.3, 0.1, 0.02):
            bits = sketch_bits_needed(gamma, error)
            assert sketch_bias(bits, gamma) <= error
            assert bits == 1 or sketch_bias(bits - 1, gamma) > error


def test_three_bits_are_acceptable_and_four_better_at_the_papers_bandwidths():
    # The paper's b >= 3: within 0.1 up to its gamma of 2, where one and two bits are not.
    assert sketch_bits_needed(2.0**2 / 2, 0.1) == 3
    assert sketch_bias(4, 2.0**2 / 2) < 0.03


def test_too_large_a_gamma_is_refused_with_what_to_use_instead():
    with pytest.raises(ParameterError, match=r"8 bits keep the bias within 0.001.*RandomFeatures"):
        sketch_bits_needed(1e5, 0.001)


def test_bias_is_answered_in_milliseconds_when_asked_again():
    sketch_bias(4, 0.777)
    start = time.process_time()
    for _ in range(100):
        sketch_bias(4, 0.777)
    # 100 cached answers take under a millisecond; a build of the table alone takes one each.
    assert time.process_time() - start < 0.1


@pytest.mark.parametrize("correlations", [(0.5, 0.5), (0.9, -0.1)])
def test_empty_range_of_correlations_is_refused(correlations):
    with pytest.raises(ParameterError, match="low < high"):
        sketch_bias(1, 0.5, correlations=correlations)


def test_bad_parameters_are_refused():
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        sketch_bias(0, 0.5)
    with pytest.raises(ParameterError, match="gamma must be a finite number above 0"):
        sketch_bias(1, 0.0)
    with pytest.raises(ParameterError, match="from -1 to 1"):
        sketch_bias(1, 0.5, correlations=(-2.0, 1.0))
    with pytest.raises(ParameterError, match="error must be a finite number above 0"):
        sketch_bits_needed(0.5, 0.0)


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
        K = float(fourier_moments(bits, gamma**2 / 2).mean(rho))
        assert bounds.lower - 1e-12 <= K <= bounds.upper + 1e-12, (gamma, rho)
        assert bounds.kernel == pytest.approx(math.exp(-(gamma**2) * (1 - rho)))


STEPS = {
    "uniform": UniformSteps(3).steps(),
    "sign": SignSteps().steps(),
    "lopsided": GivenSteps([-1.1, -0.2, 0.3, 0.9, 2.0], [-1.7, -0.5, 0.1, 0.6, 1.3, 2.4]).steps(),
    "all_above_zero": GivenSteps([0.4, 1.0], [-0.5, 0.7, 1.6]).steps(),
}


@pytest.mark.parametrize("name", STEPS)
def test_bounds_hold_for_any_steps(name):
    steps = STEPS[name]
    for gamma, rho in itertools.product((0.5, 1.0, 3.0), (-1.0, -0.6, 0.0, 0.5, 0.9, 1.0)):
        bounds = sketch_bounds(steps, gamma**2 / 2, rho)
        K = float(fourier_moments(steps, gamma**2 / 2).mean(rho))
        assert bounds.lower - 1e-12 <= K <= bounds.upper + 1e-12, (gamma, rho)
    sines = expectation(lambda u, q: (math.sin(q) - math.sin(u)) ** 2, steps.values, steps.borders)
    assert sketch_bounds(steps, 0.5, 0.4).sine_distortion == pytest.approx(sines, abs=1e-12)
    waves = itertools.product((np.sin, np.cos), (0.01, 0.3))
    jumps = [mean_oscillation(f, steps.values, steps.borders, delta) / delta for f, delta in waves]
    assert max(jumps) <= sketch_lipschitz(steps, 0.5) <= sketch_lipschitz(steps, 0.5, printed=True) * (1 + 1e-12)


def test_equal_cells_need_more_bits_or_as_many():
    for gamma, error in ((0.05, 0.1), (2.0, 0.05), (8.0, 0.1)):
        bits = sketch_bits_needed(gamma, error, quantizer="uniform")
        assert sketch_bias(UniformSteps(bits).steps(), gamma) <= error
        assert bits >= sketch_bits_needed(gamma, error)
    with pytest.raises(ParameterError, match="quantizer of projections must be one of"):
        sketch_bits_needed(1.0, 0.1, quantizer="phase")


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
        K = float(fourier_moments(bits, gamma).mean(rho))
        # Distortions of a wide kernel are differences of numbers near 1: 1e-16, of which the bounds take roots.
        assert -1 <= bounds.lower <= K + 1e-7
        assert K - 1e-7 <= bounds.upper <= 1


def test_bounds_refuse_bad_parameters():
    with pytest.raises(ParameterError, match="rho must be a number from"):
        sketch_bounds(2, 0.5, 1.5)
    with pytest.raises(ParameterError, match="gamma must be a finite number above 0"):
        sketch_bounds(2, -0.5, 0.5)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("gamma", [0.3, 1.0, 3.0])
def test_both_constants_bound_the_mean_oscillation_and_one_is_sharper(bits, gamma):
    levels, borders = lloyd_max_normal(bits)
    sharp, printed = (sketch_lipschitz(bits, gamma**2 / 2, printed) for printed in (False, True))
    assert sharp <= printed * (1 + 1e-12)
    largest = 0.0
    for delta in np.geomspace(1e-4, 2, 25):
        for f in (np.sin, np.cos):
            # t = gamma u: a step of delta in t is one of delta/gamma in u.
            largest = max(
                largest, mean_oscillation(lambda mu, f=f: f(gamma * mu), levels, borders, delta / gamma) / delta
            )
    assert largest <= sharp
    # Within the spread of the density over the borders: no bound for the sake of a bound.
    assert largest > 0.1 * sharp


def test_count_does_not_depend_on_gamma_with_the_printed_constant():
    counts = [
        sketch_features_printed(0.1, 20, gamma, sketch_lipschitz(3, gamma, printed=True)) for gamma in (0.01, 1.0, 50.0)
    ]
    np.testing.assert_allclose(counts, counts[0], rtol=1e-13)


def test_count_is_smaller_with_the_sharper_constant():
    printed, sharp = (
        sketch_features_printed(0.1, 20, 0.1, sketch_lipschitz(4, 0.1, as_printed)) for as_printed in (True, False)
    )
    assert sharp < printed


def test_failure_of_the_printed_theorem_is_a_probability():
    assert sketch_failure_printed(10, 0.01) == 1.0
    assert sketch_failure_printed(25600, 1.0) == pytest.approx(4 * math.exp(-100), rel=1e-12, abs=0)


def test_counts_refuse_bad_parameters():
    for call in (
        lambda: sketch_lipschitz(0, 0.5),
        lambda: sketch_lipschitz(2, 0.0, printed=True),
        lambda: sketch_features_printed(0.0, 3, 0.5, 1.0),
        lambda: sketch_features_printed(0.1, 0, 0.5, 1.0),
        lambda: sketch_features_printed(0.1, 3, 0.5, -1.0),
        lambda: sketch_failure_printed(10, 0.0),
    ):
        with pytest.raises(ParameterError, match=r"must be"):
            call()
