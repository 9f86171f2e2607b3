"""Mean and variance of the product of two sides."""

from functools import cache

import numpy as np
import pytest
from reference import periodic_pair

from lowtide.errors import ParameterError
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern
from lowtide.maps import Cosine, CosSin
from lowtide.quantizers import LloydMax, PeriodicMap, Phase, Stochastic, Uniform
from lowtide.theory import PairMoments, stochastic_codes_variance, unbiased_variance

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
def test_variance_against_the_full_side_is_the_closed_form(kernel, name, quantizer, feature_map):
    expected = unbiased_variance(name, getattr(quantizer, "bits", 1)).at(kernel, DISTANCES, 3)
    # Stochastic moments are sampled: their aliasing stays below 1e-9.
    np.testing.assert_allclose(estimate_variance(quantizer, None, feature_map, kernel, DISTANCES), expected, atol=3e-9)
    np.testing.assert_allclose(estimate_variance(None, quantizer, feature_map, kernel, DISTANCES), expected, atol=3e-9)


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
    assert abs(periodic_pair.second(*products, probability) - float(pair.second(kernel, s, 1))) < tolerance


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
