"""Variances of estimates over orthogonal frequencies."""

import numpy as np
import pytest
from reference.orthogonal_features import estimates

from lowtide.errors import ParameterError
from lowtide.theory import block_sizes, haar_covariance, normalized_bessel, orf_chi_variance, orf_variance, rff_variance

N = 4000


def chi_lengths(d):
    return lambda rng, p: np.sqrt(rng.chisquare(d, p))


def assert_moments(values, mean, variance):
    spread = (values - mean) ** 2
    assert abs(values.mean() - mean) < 4.5 * values.std() / np.sqrt(len(values))
    assert abs(spread.mean() - variance) < 4.5 * spread.std() / np.sqrt(len(values))


@pytest.mark.parametrize(("d", "p", "z"), [(2, 2, 1.5), (5, 3, 2.0), (5, 12, 3.0), (8, 1, 2.0), (8, 8, 6.0)])
def test_simulated_haar_estimate_has_the_stated_mean_and_variance(d, p, z):
    values = estimates(np.random.default_rng(d + p), d, p, z, N)
    assert_moments(values, float(normalized_bessel(d, z)), float(orf_variance(d, p, z)))


@pytest.mark.parametrize(("d", "p", "z"), [(2, 2, 1.0), (5, 5, 0.7), (5, 13, 1.5), (8, 4, 2.5)])
def test_simulated_chi_estimate_has_the_stated_mean_and_variance(d, p, z):
    values = estimates(np.random.default_rng(d + p), d, p, z, N, chi_lengths(d))
    assert_moments(values, np.exp(-(z**2) / 2), float(orf_chi_variance(d, p, z)))


@pytest.mark.parametrize(("p", "z"), [(1, 0.5), (7, 1.4)])
def test_simulated_iid_estimate_has_the_stated_variance(p, z):
    values = np.cos(z * np.random.default_rng(p).standard_normal((20_000, p))).mean(axis=1)
    assert_moments(values, np.exp(-(z**2) / 2), float(rff_variance(p, z)))


@pytest.mark.parametrize(("d", "p"), [(4, 9), (6, 12), (5, 3)])
def test_blocks_are_independent_estimates_weighted_by_their_size(d, p):
    z = np.array([0.5, 2.0, 7.0])
    for variance in (orf_variance, orf_chi_variance):
        blocks = sum(size**2 * variance(d, size, z) for size in block_sizes(d, p)) / p**2
        np.testing.assert_allclose(variance(d, p, z), blocks, rtol=0, atol=1e-16)


def test_one_frequency_knows_no_layout():
    z = np.linspace(0, 4, 9)
    np.testing.assert_allclose(orf_chi_variance(7, 1, z), rff_variance(1, z), rtol=0, atol=1e-16)


def test_full_block_leaves_no_variance_to_second_order():
    # sum_j (w_j.u)^2 = z^2 whatever the rotation, so the variance starts with z^8, below rounding here.
    z = 0.05
    assert float(orf_variance(16, 16, z)) < 1e-15 < float(orf_variance(16, 1, z))


def test_ratio_to_the_iid_variance_is_the_documented_one():
    z = np.array([0.5, 1.0, 2.0, 3.0])
    chi = orf_chi_variance(16, 16, z) / rff_variance(16, z)
    np.testing.assert_allclose(chi, [0.15, 0.16, 0.67, 0.995], rtol=0, atol=0.005)
    unit = orf_variance(16, 16, 4 * z) / rff_variance(16, z)
    np.testing.assert_allclose(unit, [0.002, 0.046, 0.67, 1.009], rtol=0, atol=0.005)
    assert float(orf_variance(4, 4, 6.0) / rff_variance(4, 3.0)) == pytest.approx(1.28, abs=0.005)


def test_haar_covariance_is_minus_z4_over_2d2_d_plus_2_near_zero():
    z, d = 0.05, 6
    assert float(haar_covariance(d, z)) == pytest.approx(-(z**4) / (2 * d**2 * (d + 2)), rel=1e-2)


def test_variances_are_never_negative_nor_nan():
    z = np.concatenate([np.geomspace(1e-9, 1e-3, 50), [0.0, 1e3, np.inf]])
    for d in (2, 3, 64, 1000):
        assert np.all(orf_variance(d, d, z) >= 0)
        assert np.all(orf_chi_variance(d, d, z) >= 0)


@pytest.mark.parametrize(("d", "p"), [(0, 1), (1, 1), (4, 0), (4, 2.5)])
def test_bad_sizes_are_refused(d, p):
    with pytest.raises(ParameterError, match="must be an integer"):
        orf_variance(d, p, 1.0)
