"""Haar matrices, and the layouts built of them."""

import numpy as np
import pytest
from scipy.stats import chi, kstest

from lowtide.kernels import Bessel, Gaussian, Matern
from lowtide.projections import Haar, Orthogonal

N_DRAWS = 3000


def directions(draws, d, n):
    """Return normalized frequencies, (draws, d, n), one seed."""
    rng = np.random.default_rng(11)
    W = np.stack([Haar().draw(Bessel(), d, n, rng).weights() for _ in range(draws)])
    return W.astype(np.float64)


def test_columns_are_orthonormal_within_a_block():
    W = directions(1, 6, 6)[0]
    np.testing.assert_allclose(W.T @ W, np.eye(6), atol=1e-6)


def test_columns_of_different_blocks_are_not_orthogonal():
    W = directions(1, 6, 15)[0]
    gram = np.abs(W.T @ W)
    assert gram[:6, :6].max() == pytest.approx(1, abs=1e-6)
    assert gram[12:, 12:][np.triu_indices(3, 1)].max() < 1e-6
    assert gram[:6, 6:].max() > 0.1


@pytest.mark.parametrize("d", [1, 2, 5])
def test_every_entry_has_mean_zero_and_variance_one_over_d(d):
    # Without the sign fix LAPACK's Q has diagonal entries of one sign.
    W = directions(N_DRAWS, d, d)
    standard_error = W.std(axis=0) / np.sqrt(N_DRAWS)
    assert np.all(np.abs(W.mean(axis=0)) < 5 * standard_error)
    square = W**2
    assert np.all(np.abs(square.mean(axis=0) - 1 / d) < 5 * square.std(axis=0) / np.sqrt(N_DRAWS) + 1e-6)


def test_trace_and_determinant_have_the_moments_of_the_haar_measure():
    # E tr O = 0, E (tr O)^2 = 1, and det O is +1 or -1 with equal probability.
    W = directions(N_DRAWS, 4, 4)
    trace = np.trace(W, axis1=1, axis2=2)
    assert abs(trace.mean()) < 5 / np.sqrt(N_DRAWS)
    assert abs((trace**2).mean() - 1) < 5 * (trace**2).std() / np.sqrt(N_DRAWS)
    assert abs(np.sign(np.linalg.det(W)).mean()) < 5 / np.sqrt(N_DRAWS)


def test_columns_are_uniform_on_the_sphere():
    # In three dimensions a coordinate of a uniform direction is uniform on [-1, 1] (Archimedes).
    W = directions(N_DRAWS, 3, 3)
    for i in range(3):
        for j in range(3):
            assert kstest(W[:, i, j], "uniform", args=(-1, 2)).pvalue > 1e-5


@pytest.mark.parametrize("scale", [0.25, 3.0])
def test_haar_lengths_are_all_one_over_the_scale(scale):
    W = Haar().draw(Bessel(scale), 4, 10, np.random.default_rng(0)).weights()
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1 / scale, rtol=1e-6)
    assert Haar().draw(Bessel(scale), 4, 10, np.random.default_rng(0)).blocks.lengths == "fixed"


@pytest.mark.parametrize(("n", "sizes"), [(3, (3,)), (4, (4,)), (9, (4, 4, 1))])
def test_orthogonal_blocks_are_of_the_inputs_dimension(n, sizes):
    drawn = Orthogonal().draw(Gaussian(), 4, n, np.random.default_rng(0))
    assert (drawn.blocks.dimension, drawn.blocks.sizes, drawn.blocks.lengths) == (4, sizes, "free")
    W = drawn.weights().astype(np.float64)
    start = 0
    for size in sizes:
        block = W[:, start : start + size]
        gram = block.T @ block
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-5)
        start += size


@pytest.mark.parametrize("bandwidth", [0.5, 2.0])
def test_orthogonal_lengths_are_chi_for_the_gaussian(bandwidth):
    W = Orthogonal().draw(Gaussian(bandwidth), 5, 4000, np.random.default_rng(1)).weights()
    lengths = np.linalg.norm(W.astype(np.float64), axis=0) * bandwidth
    assert kstest(lengths, chi(5).cdf).pvalue > 1e-5


def test_orthogonal_lengths_are_those_of_the_matern_sample():
    kernel = Matern(1.5, nu=0.8)
    W = Orthogonal().draw(kernel, 5, 4000, np.random.default_rng(1)).weights()
    sampled = kernel.sample(np.random.default_rng(2), 5, 4000)
    assert kstest(np.linalg.norm(W, axis=0), np.linalg.norm(sampled, axis=0)).pvalue > 1e-5
