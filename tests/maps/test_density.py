"""The arcsine law of a dithered cosine, and the normal law of a projection."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import arcsine, norm

from lowtide.maps import Arcsine, Cosine, CosSin, Normal

X = np.concatenate([[-1.0], np.linspace(-0.99, 0.99, 45), [1.0]])
TRUTH = arcsine(loc=-1, scale=2)


def test_cdf_and_pdf_match_scipy():
    np.testing.assert_allclose(Arcsine().cdf(X), TRUTH.cdf(X), atol=1e-14)
    np.testing.assert_allclose(Arcsine().pdf(X[1:-1]), TRUTH.pdf(X[1:-1]), rtol=1e-12)


def test_pdf_is_zero_outside_and_at_the_ends():
    np.testing.assert_array_equal(Arcsine().pdf(np.array([-2.0, -1.0, 1.0, 1.5])), 0.0)


def test_partial_mean_matches_quadrature():
    # In the angle, x = cos a: int_{-1}^x v dP = (1/pi) int_{arccos x}^pi cos a da.
    for x in X:
        expected = quad(np.cos, np.arccos(x), np.pi, epsabs=1e-13)[0] / np.pi
        assert Arcsine().partial_mean(x) == pytest.approx(expected, abs=1e-12)


def test_quantile_inverts_cdf():
    q = np.linspace(0, 1, 101)
    np.testing.assert_allclose(Arcsine().cdf(Arcsine().quantile(q)), q, atol=1e-8)
    np.testing.assert_allclose(Arcsine().quantile(Arcsine().cdf(X)), X, atol=1e-14)


def test_second_moment_is_one_half():
    u = (np.arange(1000) + 0.5) / 1000
    assert np.mean(np.cos(2 * np.pi * u) ** 2) == pytest.approx(Arcsine().second_moment, abs=1e-14)


@pytest.mark.parametrize("feature_map", [Cosine(), CosSin()], ids=repr)
def test_maps_state_the_law_of_their_components(feature_map):
    t = (np.arange(10_000) + 0.5) / 10_000
    for shift in feature_map.shifts:
        values = np.cos(2 * np.pi * (t + shift))
        below = (values[:, None] <= X[1:-1]).mean(axis=0)
        # Equally spaced phases: a count is off by at most 2 of 10,000.
        np.testing.assert_allclose(below, feature_map.density.cdf(X[1:-1]), atol=2.1e-4)


def test_normal_law_matches_scipy():
    x = np.array([-np.inf, -8.0, -1.5, 0.0, 0.3, 7.0, np.inf])
    np.testing.assert_allclose(Normal().cdf(x), norm.cdf(x), rtol=1e-12)
    np.testing.assert_allclose(Normal().pdf(x), norm.pdf(x), rtol=1e-12)
    np.testing.assert_allclose(Normal().quantile(np.array([0.2, 0.5])), norm.ppf([0.2, 0.5]), rtol=1e-12)
    for b in x[1:-1]:
        expected = quad(lambda v: v * norm.pdf(v), -np.inf, b, epsabs=1e-13)[0]
        assert Normal().partial_mean(np.array(b)) == pytest.approx(expected, abs=1e-12)
