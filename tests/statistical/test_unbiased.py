"""Invariant 1: the coded side against the full side has the kernel as its mean, whatever the parts."""

import numpy as np
import pytest
from statistical.sampling import LAYOUTS, QUANTIZERS, block_estimates, draw, label, rows_at, standard_error

from lowtide.kernels import Gaussian, Matern
from lowtide.quantizers import LloydMax, Phase

# Some 2000 comparisons: beyond 4.5 standard errors once in a hundred runs, if the seeds were not fixed.
BOUND = 4.5


@pytest.mark.parametrize(("quantizer", "feature_map"), QUANTIZERS, ids=label)
@pytest.mark.parametrize(("kernel", "layout"), LAYOUTS, ids=label)
def test_codes_against_full_are_unbiased_both_ways(kernel, layout, quantizer, feature_map):
    encoder = draw(kernel, layout, feature_map, quantizer)
    x, Y = rows_at(kernel, encoder.n_features_in_)
    exact = kernel.gram(x, Y)[0]
    for sides in (("codes", "full"), ("full", "codes")):
        sample = block_estimates(encoder, x, Y, sides)
        assert np.all(np.abs(sample.mean(axis=0) - exact) < BOUND * standard_error(sample))


@pytest.mark.parametrize("feature_map", ["cosine", "cos_sin"])
@pytest.mark.parametrize(("kernel", "layout"), LAYOUTS, ids=label)
def test_full_against_full_is_unbiased(kernel, layout, feature_map):
    encoder = draw(kernel, layout, feature_map, "lloyd_max")
    x, Y = rows_at(kernel, encoder.n_features_in_)
    sample = block_estimates(encoder, x, Y, ("full", "full"))
    assert np.all(np.abs(sample.mean(axis=0) - kernel.gram(x, Y)[0]) < BOUND * standard_error(sample))


@pytest.mark.parametrize("n_features", [1, 3, 8])
@pytest.mark.parametrize("quantizer", [LloydMax(1), Phase(3)], ids=label)
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Matern(2.0, nu=0.7)], ids=label)
def test_short_rows_padded_to_a_hadamard_block_are_unbiased(kernel, quantizer, n_features):
    encoder = draw(kernel, "hadamard", "cos_sin", quantizer, n_features=n_features)
    x, Y = rows_at(kernel, n_features)
    for sides in (("full", "full"), ("codes", "full")):
        sample = block_estimates(encoder, x, Y, sides)
        error = np.abs(sample.mean(axis=0) - kernel.gram(x, Y)[0])
        assert np.all(error < BOUND * standard_error(sample))


@pytest.mark.parametrize(("kernel", "layout"), LAYOUTS[::3], ids=label)
@pytest.mark.parametrize("sides", [("full", "full"), ("codes", "full"), ("full", "codes"), ("codes", "codes")])
def test_kernel_estimate_is_the_mean_of_its_blocks(kernel, layout, sides):
    encoder = draw(kernel, layout, "cos_sin", "lloyd_max")
    x, Y = rows_at(kernel, encoder.n_features_in_)
    blocks = block_estimates(encoder, x, Y, sides)
    # float32 sums of m terms of size 1/m: a relative error of at most sqrt(m) 6e-8, m < 80,000.
    np.testing.assert_allclose(encoder.kernel_estimate(x, Y, sides=sides)[0], blocks.mean(axis=0), atol=2e-5)
