"""The bias of a sketch, and the bits that keep it small."""

import math
import time

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.theory import sketch_bias, sketch_bits_needed, sketch_kernel


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("gamma", [0.01, 0.3, 1.0, 5.0, 40.0, 2000.0])
def test_bias_is_the_largest_over_all_correlations(bits, gamma):
    # Fine at both ends, where the kernels bend.
    edge = np.geomspace(1e-9, 1, 4000)
    rho = np.concatenate([edge - 1, 1 - edge, [-1.0, 0.0, 1.0]])
    largest = np.max(np.abs(sketch_kernel(bits, gamma, rho) - np.exp(-2 * gamma * (1 - rho))))
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
