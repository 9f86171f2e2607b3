"""Covariance within a block for mixtures and for sums of harmonics."""

import numpy as np
import pytest
from reference.orthogonal_features import orthogonal_pairs

from lowtide.errors import ParameterError
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern
from lowtide.theory import chi_covariance, mixture_covariance

Z = np.array([0.0, 0.01, 0.3, 1.0, 2.0, 4.0])


@pytest.mark.parametrize("d", [2, 5, 64, 1024])
def test_gaussian_is_the_chi_formula(d):
    found = mixture_covariance(Gaussian(0.5), d, 0.5 * Z)
    np.testing.assert_allclose(found, chi_covariance(d, Z), rtol=0, atol=3e-7)


def test_smooth_matern_tends_to_the_gaussian():
    gaps = [np.abs(mixture_covariance(Matern(nu=nu), 16, Z) - chi_covariance(16, Z)).max() for nu in (2.5, 10, 40)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.05 * np.abs(chi_covariance(16, Z)).max()


def simulated(kernel, d, z, h, n, seed):
    """Return products of the two deviations of h, whose mean is the covariance."""
    rng = np.random.default_rng(seed)
    first, second = orthogonal_pairs(rng, d, n)
    lengths = kernel.length_quantile(rng.random((2, n)), d)
    mean = h(z, kernel)
    return (h(z * lengths[0] * first) - mean) * (h(z * lengths[1] * second) - mean)


def harmonics(t, kernel=None):
    """Return the triangle-like h(t) = cos t + cos(3t)/9 + cos(5t)/25, or its mean at distance t."""
    return sum((np.cos(k * t) if kernel is None else kernel.radial(k * t, 2)) / k**2 for k in (1, 3, 5))


def cosine(t, kernel=None):
    return np.cos(t) if kernel is None else kernel.radial(t, 2)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(nu=0.5), Matern(nu=1.5)], ids=repr)
@pytest.mark.parametrize(("h", "amplitudes"), [(cosine, [1.0]), (harmonics, [1, 0, 1 / 9, 0, 1 / 25])])
@pytest.mark.parametrize("d", [2, 8])
def test_simulated_covariance_agrees(kernel, h, amplitudes, d):
    n, z = 200_000, 0.7
    product = simulated(kernel, d, z, h, n, seed=d)
    expected = float(mixture_covariance(kernel, d, z, amplitudes))
    assert abs(product.mean() - expected) < 4.5 * product.std() / np.sqrt(n)


def test_covariance_scales_with_the_square_of_the_amplitude():
    once, twice = (mixture_covariance(Matern(), 8, Z, [a]) for a in (1.0, 2.0))
    np.testing.assert_allclose(twice, 4 * once, rtol=1e-12, atol=1e-12)


def test_covariance_has_no_scale_of_its_own():
    np.testing.assert_allclose(
        mixture_covariance(Matern(50.0), 8, 50 * Z), mixture_covariance(Matern(), 8, Z), rtol=0, atol=1e-8
    )


@pytest.mark.parametrize("kernel", [Laplace(), Bessel()], ids=repr)
def test_other_laws_are_refused(kernel):
    with pytest.raises(ParameterError, match="Gaussian mixture"):
        mixture_covariance(kernel, 4, 1.0)
