"""The Hadamard layout."""

import numpy as np
import pytest
from reference import projection_hadamard as slow
from scipy.stats import chi, kstest

from lowtide.kernels import Gaussian, Matern
from lowtide.projections import Hadamard, Iid


def draw(n_features, n_frequencies, kernel=None, seed=0):
    return Hadamard().draw(kernel or Gaussian(), n_features, n_frequencies, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("n_features", "dimension"), [(1, 64), (3, 64), (63, 64), (64, 64), (65, 128), (128, 128), (784, 1024)]
)
def test_blocks_are_padded_to_a_power_of_two_of_at_least_64(n_features, dimension):
    drawn = draw(n_features, 2 * dimension + 5)
    assert drawn.blocks.dimension == dimension
    assert drawn.blocks.sizes == (dimension, dimension, 5)
    assert drawn.blocks.lengths == "free"
    assert drawn.signs.shape == (3, 3, dimension)


@pytest.mark.parametrize(("n_features", "n_frequencies"), [(1, 1), (3, 70), (64, 64), (100, 200)])
def test_weights_match_the_matrices_written_out(n_features, n_frequencies):
    drawn = draw(n_features, n_frequencies)
    expected = slow.weights(drawn.signs, drawn.scale, n_features)
    # Sums of D^3 signs are exact integers in float32 up to 2^24; what is left is the rounding of the last two products.
    np.testing.assert_allclose(drawn.weights(), expected, rtol=3e-7, atol=1e-6)


def test_full_blocks_are_orthogonal():
    W = draw(64, 128).weights().astype(np.float64)
    for block in (W[:, :64], W[:, 64:]):
        lengths = np.linalg.norm(block, axis=0)
        np.testing.assert_allclose((block / lengths).T @ (block / lengths), np.eye(64), atol=2e-6)
    assert np.abs(W[:, :64].T @ W[:, 64:]).max() > 1


def test_lengths_are_chi_of_the_padded_dimension():
    W = draw(64, 6400, Gaussian(0.5)).weights().astype(np.float64)
    assert kstest(np.linalg.norm(W, axis=0) * 0.5, chi(64).cdf).pvalue > 1e-5


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Matern(2.0, nu=0.7)], ids=repr)
def test_padded_frequencies_have_the_law_of_independent_ones(kernel):
    # One coordinate of each frequency, over independent blocks (one a draw: columns of a block are dependent).
    rng = np.random.default_rng(3)
    padded = [Hadamard().draw(kernel, 3, 1, rng).weights()[1, 0] for _ in range(1500)]
    independent = Iid().draw(kernel, 3, 4000, np.random.default_rng(4)).weights()[1]
    assert kstest(padded, independent).pvalue > 1e-5


def test_mean_kernel_error_of_short_rows_is_within_its_standard_error():
    # d = 3 padded to 64. 600 draws of 64 frequencies: the standard error of the mean is about 0.0025.
    u = np.random.default_rng(5).standard_normal((3, 6))
    u *= np.array([0.2, 0.5, 1.0, 1.5, 2.0, 3.0]) / np.linalg.norm(u, axis=0)
    rng = np.random.default_rng(6)
    estimates = np.array(
        [np.cos(Hadamard().draw(Gaussian(), 3, 64, rng).weights().T @ u).mean(axis=0) for _ in range(600)]
    )
    error = estimates.mean(axis=0) - np.exp(-(np.linalg.norm(u, axis=0) ** 2) / 2)
    assert np.all(np.abs(error) < 4 * estimates.std(axis=0) / np.sqrt(600))


def test_layout_of_the_ops_is_the_signs():
    drawn = draw(5, 64)
    assert drawn.layout is drawn.signs


def test_signs_are_signs_and_arrays_are_small():
    drawn = draw(100, 300)
    assert set(np.unique(drawn.signs)) == {-1.0, 1.0}
    arrays = drawn.arrays()
    assert arrays["signs"].nbytes == 3 * 3 * 128 // 8
    bits = np.unpackbits(arrays["signs"], bitorder="little").reshape(3, 3, 128)
    np.testing.assert_array_equal(1 - 2.0 * bits, drawn.signs)
    assert arrays["scale"].nbytes == 4 * 300


def test_lengths_have_sixteen_significant_bits():
    mantissa, _ = np.frexp(draw(10, 500).scale.astype(np.float64))
    np.testing.assert_array_equal(mantissa * 2**16, np.rint(mantissa * 2**16))
