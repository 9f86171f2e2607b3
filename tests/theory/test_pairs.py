"""Sums over harmonics, and mean and variance of the product of two sides."""

from functools import cache

import numpy as np
import pytest
from reference import periodic_pair

from lowtide.errors import ParameterError
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, Stable
from lowtide.maps import Cosine, CosSin
from lowtide.quantizers import LloydMax, PeriodicMap, Phase, Stochastic, Uniform, base
from lowtide.theory import (
    HarmonicSeries,
    PairMoments,
    kappa_qq,
    kernel_reach,
    stochastic_codes_variance,
    unbiased_variance,
    universal_Qk,
)

SQUARE_WAVE = universal_Qk(np.arange(2049)) ** 2
SMALL = np.array([0.0, 1e-7, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.1, 0.5, 1.0, 3.0])


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 5), (2, 0)])
def test_series_keeps_the_shape_of_distances(shape):
    values = HarmonicSeries(SQUARE_WAVE)(Gaussian(), np.full(shape, 0.7), 3)
    assert values.shape == shape
    assert np.all(np.abs(values - kappa_qq(Gaussian(), 0.7, 3)) < 1e-14)


def test_finite_series_is_the_sum_as_written():
    c = np.array([0.3, 0.2 - 0.5j, 0.0, -0.1 + 0.2j])
    s = np.linspace(0, 4, 50)
    kappa = Laplace(2.0).radial
    expected = 0.3 + 2 * 0.2 * kappa(s, 2) - 2 * 0.1 * kappa(3 * s, 2)
    np.testing.assert_allclose(HarmonicSeries(c)(Laplace(2.0), s, 2), expected, rtol=0, atol=1e-15)


def test_short_array_is_never_continued():
    assert HarmonicSeries(1 / np.arange(1.0, 1000.0) ** 2).amplitude == 0
    assert HarmonicSeries(np.r_[0.0, 1.0, np.zeros(2047)]).amplitude == 0


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_square_wave_matches_the_closed_form_of_the_gaussian(scale):
    found = HarmonicSeries(SQUARE_WAVE)(Gaussian(scale), scale * SMALL, 3)
    np.testing.assert_allclose(found, kappa_qq(Gaussian(), SMALL, 3), rtol=0, atol=1e-12)


def test_square_wave_matches_the_dilogarithm_of_the_laplace_kernel():
    found = HarmonicSeries(SQUARE_WAVE)(Laplace(), SMALL, 3)
    np.testing.assert_allclose(found, kappa_qq(Laplace(), SMALL, 3), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "d"), [(Bessel(), 2), (Bessel(), 3), (Matern(nu=0.3), 2), (Matern(), 2), (Stable(alpha=1.3), 2)]
)
@pytest.mark.parametrize("s", [1e-3, 3e-3, 0.03, 0.5])
def test_series_continued_past_its_cut_matches_a_very_long_sum(kernel, d, s):
    k = np.arange(1.0, 1 << 19, 2)
    long_sum = 8 / np.pi**2 * np.sum(kernel.radial(k * s, d) / k**2)
    # The long sum leaves out at most (4/pi^2)/k_last of the largest later kernel value.
    last = np.abs(kernel.radial(k[-1] * s * np.linspace(1, 1.1, 50), d)).max()
    tolerance = 1e-10 + last / k[-1]
    assert abs(float(HarmonicSeries(SQUARE_WAVE)(kernel, s, d)) - long_sum) < tolerance


@pytest.mark.parametrize("quantizer", [LloydMax, Uniform, Phase])
@pytest.mark.parametrize(("bits", "error"), [(1, 1e-12), (2, 1e-12), (4, 1e-12), (6, 1e-8), (7, 1e-7), (8, 1e-6)])
def test_series_at_zero_is_parsevals_sum(quantizer, bits, error):
    moments = quantizer(bits).draw(Cosine() if quantizer is not Phase else CosSin(), np.random.default_rng(0)).moments()
    power = np.sum(np.abs(moments.mean) ** 2, axis=0)
    parseval = np.einsum("iik->k", moments.product)[0].real
    assert abs(float(HarmonicSeries(power)(Gaussian(), 0.0, 2)) - parseval) < error


def test_reach_brackets_where_the_kernel_lives():
    for kernel in (Gaussian(3.0), Laplace(0.01), Matern(20.0, 2.5), Stable(2.0, 1.2)):
        half, reach = kernel_reach(kernel, 4)
        assert 0.45 <= float(kernel.radial(half, 4)) <= 0.5
        assert float(kernel.radial(reach, 4)) < 1e-17
    assert kernel_reach(Bessel(), 2)[1] == np.inf


DISTANCES = np.array([0.0, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0])
KERNELS = [Gaussian(), Laplace(0.7), Matern(nu=0.5), Bessel()]


def drawn(quantizer, feature_map):
    return quantizer.draw(feature_map, np.random.default_rng(0))


@cache
def side(quantizer, feature_map):
    return (feature_map if quantizer is None else drawn(quantizer, feature_map)).moments()


def estimate_variance(left, right, feature_map, kernel, s):
    pair = PairMoments(side(left, feature_map), side(right, feature_map))
    return pair.scale**2 * pair.variance(kernel, s, 3)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    ("name", "quantizer", "feature_map"),
    [
        ("cosine", None, Cosine()),
        ("pair", None, CosSin()),
        ("square_wave", LloydMax(1), Cosine()),
        ("sign_pair", LloydMax(1), CosSin()),
        *[("lloyd_max", LloydMax(b), Cosine()) for b in range(1, 9)],
        *[("lloyd_max_pair", LloydMax(b), CosSin()) for b in range(1, 6)],
        *[("phase", Phase(b), CosSin()) for b in range(2, 9)],
        *[("stochastic", Stochastic(b), Cosine()) for b in range(1, 9)],
    ],
    ids=lambda value: str(value),
)
def test_variance_against_the_full_side_is_the_closed_form(kernel, name, quantizer, feature_map, monkeypatch):
    # Closed forms are of codebooks that are not rounded to whole numbers.
    monkeypatch.setattr(base, "on_grid", lambda values: values)
    coded, full = (feature_map if each is None else drawn(each, feature_map) for each in (quantizer, None))
    expected = unbiased_variance(name, getattr(quantizer, "bits", 1)).at(kernel, DISTANCES, 3)
    for left, right in ((coded, full), (full, coded)):
        pair = PairMoments(left.moments(), right.moments())
        # Stochastic moments are sampled: their aliasing stays below 1e-9.
        np.testing.assert_allclose(pair.scale**2 * pair.variance(kernel, DISTANCES, 3), expected, atol=3e-9)


@pytest.mark.parametrize("bits", range(2, 9))
def test_rounding_to_whole_numbers_costs_less_than_a_ten_millionth_of_the_variance(bits):
    # Far away, where kappa2 is 0: there the centroids have the least variance, so that it moves by squares alone.
    rounded, exact = (
        estimate_variance(LloydMax(bits), None, Cosine(), Gaussian(), 50.0),
        unbiased_variance("lloyd_max", bits).at(Gaussian(), np.array([50.0]), 3),
    )
    assert 0 < float(rounded) / exact.item() - 1 < 1e-7


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("quantizer", [LloydMax(1), LloydMax(3), Uniform(2), Phase(3), Stochastic(2)], ids=repr)
def test_mean_against_the_full_side_is_the_kernel(kernel, quantizer):
    pair = PairMoments(side(quantizer, CosSin()), side(None, CosSin()))
    np.testing.assert_allclose(pair.mean(kernel, DISTANCES, 3), kernel.radial(DISTANCES, 3), rtol=0, atol=1e-12)
    np.testing.assert_allclose(pair.amplitudes, np.r_[1.0, np.zeros(pair.amplitudes.size - 1)], rtol=0, atol=1e-12)


@pytest.mark.parametrize("quantizer", [LloydMax(1), LloydMax(2), LloydMax(4)], ids=repr)
@pytest.mark.parametrize("kernel", [Gaussian(), Laplace()], ids=repr)
def test_codes_against_codes_match_the_sums_of_squared_coefficients(quantizer, kernel):
    # Single: 4 a^4 sum G_k^2 kappa(ku) - (2 a^2 sum F_k^2 kappa(ku))^2, and the pair's with H as well.
    moments = side(quantizer, CosSin())
    s, k = 0.8, np.arange(-2048, 2049)
    kappa = kernel.radial(np.abs(k) * s, 3)

    def total(c):
        both = np.concatenate([np.conj(c[:0:-1]), c])
        return float(np.sum(np.abs(both) ** 2 * kappa))

    mean = 2 * total(moments.mean[0])
    single = 4 * total(moments.product[0, 0]) - mean**2
    pair = 2 * total(moments.product[0, 0]) + 2 * total(moments.product[0, 1]) - mean**2
    np.testing.assert_allclose(estimate_variance(quantizer, quantizer, Cosine(), kernel, s), single, rtol=1e-10)
    np.testing.assert_allclose(estimate_variance(quantizer, quantizer, CosSin(), kernel, s), pair, rtol=1e-10)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_two_stochastic_sides_match_their_closed_form(bits):
    found = estimate_variance(Stochastic(bits), Stochastic(bits), Cosine(), Gaussian(), DISTANCES)
    expected = stochastic_codes_variance(bits, Gaussian(), DISTANCES, 3)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("kernel", "law"), [(Gaussian(), "wrapped_normal"), (Laplace(), "wrapped_cauchy")])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        (LloydMax(1), LloydMax(1)),
        (LloydMax(3), LloydMax(2)),
        (Phase(3), LloydMax(1)),
        (Uniform(2), Phase(2)),
    ],
    ids=repr,
)
def test_moments_match_sums_over_a_grid_of_phases(kernel, law, left, right):
    s = 0.6
    sides = [np.stack([f.at(periodic_pair.phases() / (2 * np.pi)) for f in drawn(q, CosSin()).components])
             for q in (left, right)]  # fmt: skip
    probability = getattr(periodic_pair, law)(s)
    pair = PairMoments(side(left, CosSin()), side(right, CosSin()))
    products = [values[:, None] * values[None] for values in sides]
    # A grid of N phases misplaces each jump by at most half a step: total variation x largest value / N a product.
    jumps = max(np.abs(np.diff(values, axis=-1)).sum() for values in sides)
    tolerance = 4 * jumps * np.abs(sides).max() ** 3 / periodic_pair.N_GRID
    assert abs(periodic_pair.mean(*sides, probability) - float(pair.mean(kernel, s, 1))) < tolerance
    assert abs(periodic_pair.second(*products, probability) - float(pair.second_series(kernel, s, 1))) < tolerance


@pytest.mark.parametrize("quantizer", [LloydMax(1), LloydMax(2), Phase(3), Stochastic(2), Uniform(3)], ids=repr)
@pytest.mark.parametrize("both", [False, True])
def test_simulated_mean_and_variance_agree(quantizer, both):
    n, s = 200_000, 0.9
    rng = np.random.default_rng(11)
    dither = rng.random(n)
    turns = np.stack([dither + s * rng.standard_normal(n) / (2 * np.pi), dither]).astype(np.float32)
    left, right = drawn(quantizer, CosSin()), quantizer.draw(CosSin(), np.random.default_rng(5))
    x = decoded(left, turns[0])
    y = decoded(right, turns[1]) if both else np.stack([np.cos(2 * np.pi * turns[1]), np.sin(2 * np.pi * turns[1])], 1)
    product = np.sum(x * y, axis=1)
    pair = PairMoments(left.moments(), right.moments() if both else CosSin().moments())
    mean, variance = (float(f(Gaussian(), s, 1)) for f in (pair.mean, pair.variance))
    spread = (product - mean) ** 2
    assert abs(product.mean() - mean) < 4.5 * product.std() / np.sqrt(n)
    assert abs(spread.mean() - variance) < 4.5 * spread.std() / np.sqrt(n)


def decoded(quantizer, turns):
    """Return the (cos, sin) values of phases, from levels and codebook."""
    return quantizer.codebook[quantizer.levels(turns[:, None])].reshape(len(turns), 2)


def test_a_continuous_map_is_unbiased_and_its_square_enters_the_variance():
    quantizer = PeriodicMap(lambda t: np.cos(t) + 0.4 * np.cos(3 * t))
    pair = PairMoments(side(quantizer, Cosine()), side(None, Cosine()))
    np.testing.assert_allclose(2 * pair.mean(Gaussian(), DISTANCES, 2), Gaussian().radial(DISTANCES, 2), atol=1e-10)
    # E f^2 = (1 + 0.16)/2 and f^2 has cos 2t with weight (1 + 2 x 0.4)/2: 4 (0.58/2 + 0.9 kappa2/4) - kappa^2.
    kappa2 = Gaussian().radial(2 * DISTANCES, 2)
    expected = 1.16 + 0.9 * kappa2 - Gaussian().radial(DISTANCES, 2) ** 2
    np.testing.assert_allclose(4 * pair.variance(Gaussian(), DISTANCES, 2), expected, atol=1e-9)


def test_sides_of_different_width_are_refused():
    with pytest.raises(ParameterError, match="same width"):
        PairMoments(Cosine().moments(), CosSin().moments())
