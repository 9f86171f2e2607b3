"""The law of the frequencies: samples, lengths and means."""

import math

import numpy as np
import pytest
from scipy.special import gammaincinv

from lowtide.errors import ParameterError
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, Stable

KERNELS = [
    Gaussian(0.7),
    Laplace(1.3),
    Matern(1.2, nu=0.2),
    Matern(0.8, nu=1.5),
    Matern(2.0, nu=3.3),
    Stable(1.5, alpha=1.0),
    Stable(1.5, alpha=1.4),
    Stable(0.9, alpha=2.0),
    Bessel(0.4),
]
ROTATION_INVARIANT = [kernel for kernel in KERNELS if kernel.law != "independent"]
N = 20_000


@pytest.mark.parametrize("n_features", [1, 3, 20])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_mean_cosine_over_frequencies_is_the_kernel(kernel, n_features):
    W = kernel.sample(np.random.default_rng(5), n_features, N)
    assert W.shape == (n_features, N)
    rng = np.random.default_rng(6)
    for size in (0.1, 0.5, 1.5):
        u = rng.standard_normal(n_features)
        u *= size / np.linalg.norm(u, kernel.norm)
        cosines = np.cos(u @ W)
        # Plus rounding: on the line the Bessel kernel has two frequencies, of one cosine.
        tolerance = 5 * cosines.std() / math.sqrt(N) + 1e-12
        assert abs(cosines.mean() - kernel.radial(size, n_features)) < tolerance
        # Symmetric frequencies: the sine has mean zero, so the kernel is real.
        assert abs(np.sin(u @ W).mean()) < 5 / math.sqrt(2 * N)


@pytest.mark.parametrize("dimension", [1, 4, 64])
@pytest.mark.parametrize("kernel", ROTATION_INVARIANT, ids=repr)
def test_length_quantile_is_the_law_of_the_frequency_norm(kernel, dimension):
    lengths = np.linalg.norm(kernel.sample(np.random.default_rng(7), dimension, N), axis=0)
    q = np.array([0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
    # One part in 1e12 on either side: the Bessel kernel has all its mass in one point.
    quantile = kernel.length_quantile(q, dimension)
    below = (lengths[:, None] < quantile * (1 - 1e-12)).mean(axis=0)
    upto = (lengths[:, None] <= quantile * (1 + 1e-12)).mean(axis=0)
    slack = 5 * np.sqrt(q * (1 - q) / N)
    assert np.all(below <= q + slack)
    assert np.all(upto >= q - slack)


@pytest.mark.parametrize("dimension", [63, 64, 100, 1024, 100_000])
def test_length_quantile_of_a_gaussian_is_the_inverse_of_the_chi_law(dimension):
    q = np.concatenate([[0.0, 1e-300, 1e-7, 1 - 1e-7, 1.0], np.random.default_rng(0).random(5000)])
    exact = np.sqrt(2.0 * gammaincinv(dimension / 2, q)) / 0.7
    lengths = Gaussian(0.7).length_quantile(q, dimension)
    np.testing.assert_allclose(lengths, exact, rtol=1e-12, atol=0.0)
    np.testing.assert_array_equal(Gaussian(0.7).length_quantile(q[7], dimension), lengths[7])


def test_length_quantile_of_a_heavy_tail_stays_finite_and_ascends():
    q = np.concatenate([[0.0], np.linspace(0.001, 0.999, 999), [1 - 1e-12, 1.0]])
    for nu in (0.01, 0.1, 0.5, 1.5):
        lengths = Matern(nu=nu).length_quantile(q, 64)
        assert np.isfinite(lengths).all()
        assert np.all(np.diff(lengths) >= 0)


def test_sample_of_a_heavy_tail_stays_within_float32():
    for nu in (0.001, 0.05):
        W = Matern(nu=nu).sample(np.random.default_rng(0), 8, N)
        assert np.isfinite(W.astype(np.float32)).all()


@pytest.mark.parametrize("kernel", [Laplace(), Stable(alpha=1.3), Stable(alpha=2.0)], ids=repr)
def test_length_quantile_is_refused_without_rotation_invariance(kernel):
    with pytest.raises(ParameterError, match=rf"{type(kernel).__name__}.*rotation-invariant"):
        kernel.length_quantile(0.5, 3)


LIGHT = [Gaussian(0.7), Matern(0.8, nu=2.5), Stable(0.9, alpha=2.0), Bessel(0.4)]


@pytest.mark.parametrize("n_features", [1, 2, 9])
@pytest.mark.parametrize("kernel", LIGHT, ids=repr)
def test_mean_frequency_norm_is_the_mean_of_sampled_lengths(kernel, n_features):
    lengths = np.linalg.norm(kernel.sample(np.random.default_rng(8), n_features, N), axis=0)
    tolerance = 5 * lengths.std() / math.sqrt(N) + 1e-12
    assert abs(lengths.mean() - kernel.mean_frequency_norm(n_features)) < tolerance


@pytest.mark.parametrize("n_features", [1, 2, 9])
@pytest.mark.parametrize("kernel", LIGHT, ids=repr)
def test_mean_projection_is_the_mean_over_a_unit_vector(kernel, n_features):
    # For these four laws every unit vector gives the same mean.
    u = np.full(n_features, 1 / math.sqrt(n_features))
    projected = np.abs(u @ kernel.sample(np.random.default_rng(9), n_features, N))
    tolerance = 5 * projected.std() / math.sqrt(N) + 1e-12
    assert abs(projected.mean() - kernel.mean_projection(n_features)) < tolerance


@pytest.mark.parametrize("alpha", [1.01, 1.3, 1.7, 2.0])
def test_stable_means_agree_in_one_dimension(alpha):
    kernel = Stable(0.6, alpha=alpha)
    assert kernel.mean_frequency_norm(1) == pytest.approx(kernel.mean_projection(1), rel=1e-11)


@pytest.mark.parametrize("alpha", [1.05, 1.5, 1.9])
def test_stable_mean_norm_is_the_mean_projection_averaged_over_directions(alpha):
    # |w|_2 = (pi/2) times the mean of |w . u| over the unit circle, and E|w . u| is |u|_alpha times that of one axis.
    angle = (np.arange(4000) + 0.5) * (math.pi / 2 / 4000)
    mean_norm = np.mean((np.cos(angle) ** alpha + np.sin(angle) ** alpha) ** (1 / alpha))
    kernel = Stable(0.6, alpha=alpha)
    expected = math.pi / 2 * mean_norm * kernel.mean_projection(1)
    assert kernel.mean_frequency_norm(2) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("alpha", [1.2, 1.8])
def test_stable_mean_projection_is_the_largest_over_unit_vectors(alpha):
    kernel, d = Stable(1.0, alpha=alpha), 5
    directions = np.random.default_rng(3).standard_normal((d, 500))
    directions /= np.linalg.norm(directions, axis=0)
    means = np.linalg.norm(directions, alpha, axis=0) * kernel.mean_projection(1)
    even = np.linalg.norm(np.full(d, d**-0.5), alpha) * kernel.mean_projection(1)
    assert np.all(means <= kernel.mean_projection(d))
    assert even == pytest.approx(kernel.mean_projection(d), rel=1e-12)


@pytest.mark.parametrize("kernel", [Laplace(2.0), Stable(alpha=1.0), Matern(nu=0.5), Matern(nu=0.2)], ids=repr)
def test_means_are_infinite_for_frequencies_without_one(kernel):
    assert kernel.mean_frequency_norm(3) == math.inf
    assert kernel.mean_projection(3) == math.inf


def test_gaussian_mean_norm_stays_finite_in_many_dimensions():
    # E chi_d = sqrt(d) (1 - 1/(4d) + O(d^-2)).
    d = 10**6
    assert Gaussian().mean_frequency_norm(d) == pytest.approx(math.sqrt(d) * (1 - 1 / (4 * d)), rel=1e-9)
