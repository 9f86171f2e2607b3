"""Variances per frequency by name."""

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.kernels import Gaussian, Laplace
from lowtide.theory import gap_variance, kappa_qq_gaussian, stochastic_codes_variance, unbiased_variance

N = 400_000


def simulated(seed, s):
    """Return dither U and phase U + D of a Gaussian kernel at distance s."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(0, 2 * np.pi, N)
    return u, u + s * rng.standard_normal(N)


def assert_variance(values, expected, mean):
    spread = np.abs(values - mean) ** 2
    assert abs(values.mean() - mean) < 4.5 * np.sqrt(spread.mean() / N)
    assert abs(spread.mean() - expected) < 4.5 * spread.std() / np.sqrt(N)


ESTIMATORS = {
    "cosine": lambda t, u: 2 * np.cos(t) * np.cos(u),
    "pair": lambda t, u: np.cos(t - u),
    "complex": lambda t, u: np.exp(1j * (t - u)),
    "square_wave": lambda t, u: np.pi / 2 * np.sign(np.cos(t)) * np.cos(u),
    "square_wave_complex": lambda t, u: np.pi / 2 * np.sign(np.cos(t)) * np.exp(-1j * u),
    "sign_pair": lambda t, u: np.pi / 4 * (np.sign(np.cos(t)) * np.cos(u) + np.sign(np.sin(t)) * np.sin(u)),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("s", [0.4, 1.3])
def test_simulated_estimator_has_the_stated_variance(name, s):
    u, t = simulated(3, s)
    expected = float(unbiased_variance(name).at(Gaussian(), s, 1))
    assert_variance(ESTIMATORS[name](t, u), expected, np.exp(-(s**2) / 2))


@pytest.mark.parametrize("s", [0.4, 1.3])
def test_simulated_gap_between_one_bit_and_full_has_the_stated_variance(s):
    u, t = simulated(4, s)
    gap = ESTIMATORS["square_wave"](t, u) - ESTIMATORS["cosine"](t, u)
    assert_variance(gap, float(gap_variance(np.exp(-2 * s**2))), 0.0)


def test_simulated_one_bit_pair_has_variance_one_minus_its_squared_mean():
    s = 0.8
    u, t = simulated(5, s)
    mean = float(kappa_qq_gaussian(s))
    assert_variance(np.sign(np.cos(t)) * np.sign(np.cos(u)), 1 - mean**2, mean)


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_simulated_stochastic_rounding_of_both_sides_has_the_stated_variance(bits):
    s = 0.7
    u, t = simulated(6, s)
    rng = np.random.default_rng(7)
    step = 2 / (2**bits - 1)
    left, right = (np.floor((np.cos(x) + 1) / step + rng.random(N)) * step - 1 for x in (t, u))
    expected = float(stochastic_codes_variance(bits, Gaussian(), s, 1))
    assert_variance(2 * left * right, expected, np.exp(-(s**2) / 2))


def test_rows_of_few_phases_are_the_square_wave_and_the_sign_pair():
    for kernel in (Gaussian(), Laplace()):
        s = np.linspace(0, 3, 20)
        for one, other in ((("phase", 1), ("square_wave", 1)), (("phase", 2), ("sign_pair", 1))):
            first, second = (unbiased_variance(*row).at(kernel, s, 2) for row in (one, other))
            np.testing.assert_allclose(first, second, rtol=0, atol=1e-14)
        for one, other in ((("lloyd_max", 1), "square_wave"), (("lloyd_max_pair", 1), "sign_pair")):
            first, second = unbiased_variance(*one).at(kernel, s, 2), unbiased_variance(other).at(kernel, s, 2)
            np.testing.assert_allclose(first, second, rtol=0, atol=1e-12)


def test_square_wave_beats_the_cosine_exactly_above_its_threshold():
    limit = np.pi**2 / 4 - 2
    full, coded = unbiased_variance("cosine"), unbiased_variance("square_wave")
    for kappa2, wins in ((limit + 1e-6, True), (limit - 1e-6, False)):
        assert bool(coded(0.5, kappa2) < full(0.5, kappa2)) is wins
    assert abs(coded.constant / full.constant - 1.2337) < 1e-4


def test_three_bit_phase_is_within_5_3_percent_of_full_precision_far_away():
    ratio = unbiased_variance("phase", 3).constant / unbiased_variance("pair").constant
    assert 1.052 < ratio < 1.0531


@pytest.mark.parametrize("kernel", [Gaussian(), Laplace()], ids=repr)
def test_sign_pair_beats_two_independent_square_waves(kernel):
    s = np.linspace(0, 6, 200)
    pair, single = (unbiased_variance(name).at(kernel, s, 2) for name in ("sign_pair", "square_wave"))
    assert np.all(pair <= single / 2 + 1e-15)


def test_unknown_estimator_is_refused_by_name():
    with pytest.raises(ParameterError, match="'sign_pair'"):
        unbiased_variance("cos")
