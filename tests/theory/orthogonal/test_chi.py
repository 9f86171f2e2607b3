"""Covariance within a block of chi lengths."""

import numpy as np
import pytest
from reference.orthogonal_features import chi_covariance as exact_covariance
from reference.orthogonal_features import orthogonal_pairs

from lowtide.errors import ParameterError
from lowtide.theory import chi_covariance


@pytest.mark.parametrize("d", [2, 3, 4, 5, 17, 64, 65, 1024, 8192])
def test_covariance_has_thirteen_absolute_digits(d):
    for z in (0.5, 1.0, 2.3, 5.0, 11.0, 20.0, 29.9, 30.1):
        assert abs(float(chi_covariance(d, z)) - exact_covariance(d, z)) < 1e-13


@pytest.mark.parametrize("d", [2, 3, 64, 4096])
def test_covariance_keeps_its_relative_digits_at_short_distances(d):
    for z in (1e-5, 1e-2, 0.3):
        exact = exact_covariance(d, z)
        assert abs(float(chi_covariance(d, z)) - exact) < 1e-13 * abs(exact)


def test_covariance_starts_like_minus_y_squared_over_n_plus_one():
    z = 1e-3
    assert float(chi_covariance(10, z)) == pytest.approx(-((z**2 / 2) ** 2) / 6, rel=1e-5)


def test_covariance_of_two_dimensions_is_elementary():
    # 1F1(2; 1; -y) = (1 - y) exp(-y)
    z = np.linspace(0, 35, 200)
    y = z**2 / 2
    np.testing.assert_allclose(chi_covariance(2, z), (1 - y) * np.exp(-y) - np.exp(-(z**2)), rtol=0, atol=1e-13)


def test_covariance_is_zero_at_zero_and_at_infinity():
    for d in (2, 3, 64):
        np.testing.assert_array_equal(chi_covariance(d, [0.0, np.inf]), [0, 0])


@pytest.mark.parametrize(("d", "z"), [(3, 1.5), (8, 1.0), (8, 3.0)])
def test_simulated_covariance_agrees(d, z):
    n = 400_000
    rng = np.random.default_rng(2)
    first, second = orthogonal_pairs(rng, d, n)
    lengths = np.sqrt(rng.chisquare(d, (2, n)))
    mean = np.exp(-(z**2) / 2)
    product = (np.cos(z * lengths[0] * first) - mean) * (np.cos(z * lengths[1] * second) - mean)
    assert abs(product.mean() - float(chi_covariance(d, z))) < 4.5 * product.std() / np.sqrt(n)


def test_block_of_one_dimension_is_refused():
    with pytest.raises(ParameterError, match="at least 2"):
        chi_covariance(1, 1.0)
