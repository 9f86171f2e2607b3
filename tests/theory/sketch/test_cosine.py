"""Mean and variance of the cosine estimate."""

import math

import numpy as np
import pytest
from reference.sketch import block_projections, correlated_pairs, expectation

from lowtide.errors import ParameterError
from lowtide.maps import Normal
from lowtide.quantizers import lloyd_max_distortion, lloyd_max_normal
from lowtide.theory import cosine_moments

SIDES = [("codes", "codes"), ("codes", "full"), ("full", "codes"), ("full", "full")]
CORRELATIONS = (-0.95, -0.4, 0.0, 0.7, 0.99)


def decoded(bits):
    """Return unbiased levels and the borders."""
    levels, borders = lloyd_max_normal(bits)
    return levels / (1 - lloyd_max_distortion(Normal(), bits)), borders


def sides_of(bits, sides, u, v):
    levels, borders = decoded(bits)
    return [z if side == "full" else levels[np.searchsorted(borders, z)] for side, z in zip(sides, (u, v))]


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("sides", SIDES)
def test_simulated_mean_and_variance_are_within_their_sampling_error(bits, sides):
    n = 200_000
    rng = np.random.default_rng(bits)
    moments = cosine_moments(bits, sides)
    for rho in CORRELATIONS:
        left, right = sides_of(bits, sides, *correlated_pairs(rng, rho, n))
        centered = left * right - float(moments.mean(rho))
        variance = float(moments.variance(rho))
        assert abs(centered.mean()) < 4.5 * math.sqrt(variance / n)
        # A product of two values has no error of its variance where both are equally likely, but rounding.
        error = math.sqrt(max((centered**4).mean() - variance**2, 0.0) / n)
        assert abs((centered**2).mean() - variance) < 4.5 * error + 1e-13


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_half_coded_variance_is_its_integral(bits):
    levels, borders = decoded(bits)
    second = expectation(lambda u, q: q**2, levels, borders)
    fourth = expectation(lambda u, q: q**2 * u**2, levels, borders)
    for rho in CORRELATIONS:
        expected = (1 - rho**2) * second + rho**2 * fourth - rho**2
        assert float(cosine_moments(bits, ("codes", "full")).variance(rho)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_a_full_side_makes_the_mean_the_cosine(bits):
    rho = np.array([-1.0, -0.2, 0.7])
    np.testing.assert_array_equal(cosine_moments(bits, ("full", "codes")).mean(rho), rho)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_codes_against_codes_have_slope_one_at_zero_and_norm_at_one(bits):
    moments, unit = cosine_moments(bits), 1 - lloyd_max_distortion(Normal(), bits)
    assert float(moments.mean(1e-6)) == pytest.approx(1e-6, rel=1e-6)
    assert float(moments.mean(1.0)) == pytest.approx(1 / unit, rel=1e-12)
    # Unbiased about 0, and of the product of the two sides' second moments there.
    assert float(moments.variance(0.0)) == pytest.approx(1 / unit**2, rel=1e-12)


def test_more_bits_have_less_variance_on_the_way_to_one_plus_rho_squared():
    for rho in CORRELATIONS:
        for sides in SIDES[:3]:
            found = [float(cosine_moments(bits, sides).variance(rho)) for bits in (6, 7, 8)]
            gaps = np.abs(np.array(found) - (1 + rho**2))
            assert np.all(np.diff(gaps) < 0)
            assert gaps[-1] < 1e-3


@pytest.mark.parametrize(("sides", "left_out"), [(("full", "full"), 0.0), (("codes", "full"), 0.17)])
@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.6])
def test_orthogonal_blocks_have_their_variance(sides, left_out, rho):
    dimension, n, bits = 32, 4000, 2
    u, v = block_projections(np.random.default_rng(7), dimension, rho, n)
    left, right = sides_of(bits, sides, u, v)
    estimate = (left * right).mean(axis=1)
    moments = cosine_moments(bits, sides)
    closed = float(moments.variance(rho)) / dimension
    closed += (dimension - 1) / dimension * float(moments.covariance(rho, dimension))
    error = math.sqrt((((estimate - estimate.mean()) ** 4).mean() - estimate.var() ** 2) / n)
    assert -left_out * closed - 4 * error < estimate.var() - closed < 4 * error
    assert float(moments.covariance(rho, 1)) == 0.0


def test_bad_parameters_are_refused():
    with pytest.raises(ParameterError, match="each of sides must be one of"):
        cosine_moments(2, ("codes", "half"))
    with pytest.raises(ParameterError, match=r"sides must be \(left, right\)"):
        cosine_moments(2, "codes")
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        cosine_moments(None)
    for sides in SIDES:
        with pytest.raises(ParameterError, match="from -1 to 1"):
            cosine_moments(2, sides).variance(1.5)
