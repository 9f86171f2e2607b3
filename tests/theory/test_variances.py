"""Variances per frequency by name, the constants they are made of, and those of blocks of a measure."""

import mpmath
import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.kernels import CoshGaussian, Gaussian, Laplace, ShiftGaussian, SignedMeasureKernel, SinhGaussian, Stable
from lowtide.maps import Cosine, CosSin
from lowtide.quantizers import Stochastic, even_steps
from lowtide.theory import (
    block_variance,
    gap_variance,
    kappa_qq,
    lloyd_max_table,
    measure_blocks,
    measure_variance,
    phase_F1,
    rff_variance,
    stochastic_codes_variance,
    unbiased_variance,
)
from lowtide.theory.variances import stochastic_coefficients

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
    mean = float(kappa_qq(Gaussian(), s, 1))
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


U = (np.arange(1 << 18) + 0.5) * 2 * np.pi / (1 << 18)


@pytest.mark.parametrize("bits", range(1, 9))
def test_moments_match_a_grid_of_phases(bits):
    table = lloyd_max_table(bits)
    q_cos, q_sin = (table.levels[np.searchsorted(table.borders, f)] for f in (np.cos(U), np.sin(U)))
    # Every jump is misplaced by at most half a step of the grid: 4 mu_max of total variation, integrands below 1.
    tolerance = 4 * 2 * np.pi / U.size
    assert abs(np.mean(q_cos * np.cos(U)) - table.F1) < tolerance
    assert abs(np.mean((np.cos(U) - q_cos) ** 2) - table.distortion) < tolerance
    assert abs(np.mean(q_cos**2 * np.cos(2 * U)) - table.S2) < tolerance
    assert abs(np.mean(q_cos * q_sin * np.sin(2 * U)) - table.P2) < tolerance


@pytest.mark.parametrize("bits", range(1, 9))
def test_centroid_rule_makes_the_first_coefficient_the_power(bits):
    table = lloyd_max_table(bits)
    edges = np.concatenate([[-1.0], table.borders, [1.0]])
    probability = np.diff(np.arcsin(edges)) / np.pi
    assert abs(probability @ table.levels**2 - table.F1) < 1e-12


def test_published_values_of_the_cross_moment():
    found = [lloyd_max_table(b).P2 for b in (1, 2, 3, 4)]
    np.testing.assert_allclose(found, [0.25801, 0.26372, 0.25074, 0.25063], rtol=0, atol=5e-6)


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_steps_of_the_table_have_its_moments(bits):
    table = lloyd_max_table(bits)
    moments = even_steps(table.levels, table.borders, CosSin().shifts).moments(4)
    scale = 1 / (2 * table.F1)
    assert abs(moments.product[0, 0, 2].real - scale**2 * table.S2) < 1e-12
    # The coefficient of sin 2t in Q(cos) Q(sin) is -i/2 times its weight, 2 P2.
    assert abs(moments.product[0, 1, 2].imag + scale**2 * table.P2) < 1e-12


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
def test_stochastic_coefficients_match_a_grid_of_phases(bits):
    step = 2 / (2**bits - 1)
    z = np.cos(U)
    low = np.floor((z + 1) / step) * step - 1
    second = z * (2 * low + step) - low * (low + step)
    g = stochastic_coefficients(bits, 8)
    brute = [np.mean(second)] + [2 * np.mean(second * np.cos(2 * n * U)) for n in range(1, 8)]
    # The integrand is continuous with kinks of slope at most 2: midpoint error below (step of the grid)^2.
    np.testing.assert_allclose(g, brute, rtol=0, atol=2**bits * (2 * np.pi / U.size) ** 2)


def test_stochastic_coefficients_are_the_drawn_quantizers():
    moments = Stochastic(3).draw(Cosine(), np.random.default_rng(0)).moments(64)
    g = stochastic_coefficients(3, 33)
    np.testing.assert_allclose(2 * moments.product[0, 0, 2::2].real, g[1:], rtol=0, atol=1e-8)


def test_phase_coefficient_tends_to_one():
    assert abs(phase_F1(2) - 2 / np.pi) < 1e-15
    assert 1 - phase_F1(256) < 3e-5


@pytest.mark.parametrize("bits", [0, 9, 1.5, True, None])
def test_bits_out_of_range_are_refused(bits):
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        lloyd_max_table(bits)
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        stochastic_coefficients(bits)


N_DRAWS = 40_000


@pytest.mark.parametrize("form", ["blocks", "phase"])
@pytest.mark.parametrize("n_features", [1, 8, 57])
@pytest.mark.parametrize("family", [ShiftGaussian, SinhGaussian, CoshGaussian])
def test_simulated_variance_is_the_closed_form(family, n_features, form):
    rng = np.random.default_rng(n_features)
    kernel = family(0.8 / np.sqrt(n_features) * np.sign(rng.standard_normal(n_features)), 1.1)
    D = rng.standard_normal((4, n_features)) * np.array([[0.1], [0.5], [1.0], [3.0]]) / np.sqrt(n_features)
    total = np.zeros((N_DRAWS, 4))
    for block in measure_blocks(kernel, n_features, form):
        W = block.frequencies.sample(rng, n_features, N_DRAWS)
        total += block.mass * np.cos(W.T @ D.T + 2 * np.pi * block.phases(W)[:, None])
    centered = (total - total.mean(axis=0)) ** 2
    closed = measure_variance(kernel, D, form)
    # 72 comparisons of skewed statistics, at fixed seeds.
    assert np.all(np.abs(centered.mean(axis=0) - closed) < 5 * centered.std(axis=0) / np.sqrt(N_DRAWS))


def test_blocks_have_no_variance_at_equal_rows_and_the_phase_form_none_at_the_peak():
    kernel = ShiftGaussian([0.7, -0.2], 1.3)
    at_zero, at_peak = np.zeros(2), np.array([-0.7, 0.2])
    assert measure_variance(kernel, at_zero) == pytest.approx(0.0, abs=1e-12)
    assert measure_variance(kernel, at_peak, form="phase") == pytest.approx(0.0, abs=1e-12)
    assert measure_variance(kernel, at_zero, form="phase") > 0.02
    assert measure_variance(kernel, at_peak) > 0.02


def test_variances_far_away_are_half_the_squares_of_the_masses():
    kernel = SinhGaussian(0.7)
    masses, far = kernel.masses(1), np.array([60.0])
    expected = (masses.positive**2 + masses.negative**2 + 4 * masses.imaginary**2) / 2
    # The kinks of the imaginary measure leave a tail that falls as 1/difference^2.
    assert measure_variance(kernel, far) == pytest.approx(expected, rel=1e-3)
    assert measure_variance(kernel, far, form="phase") == pytest.approx(kernel.phase_measure(1).mass ** 2 / 2, rel=1e-9)


def test_symmetric_kernel_has_the_variance_of_random_fourier_features():
    D = np.array([[0.3, 0.1], [2.0, -1.0]])
    expected = rff_variance(1, np.linalg.norm(D, axis=1) / 1.4)
    np.testing.assert_allclose(measure_variance(Gaussian(1.4), D), expected, atol=1e-15)
    (block,) = Gaussian(1.4).measures(2)
    np.testing.assert_allclose(block_variance(block, D), expected, atol=1e-15)


def test_phase_form_of_a_kernel_without_one_is_refused():
    with pytest.raises(ParameterError, match="phase form"):
        measure_variance(SignedMeasureKernel(), [0.0], form="phase")
    with pytest.raises(ParameterError, match="'blocks', 'phase'"):
        measure_variance(Gaussian(), [0.0], form="both")


POWERS = [(Gaussian(1.5), 1.5 * 2**0.5, 2.0), (Laplace(0.7), 0.7, 1.0), (Stable(2.0, 1.5), 2.0, 1.5)]
POWERS += [(Stable(2.0, 2.0), 2.0, 2.0), (Stable(2.0, 1.9), 2.0, 1.9)]


@pytest.mark.parametrize(("kernel", "scale", "alpha"), POWERS, ids=lambda value: repr(value))
def test_variances_keep_their_digits_at_small_distances(kernel, scale, alpha):
    # The two parts of a stable kernel of 1.9 differ by 7%: fifteen times the rounding of each.
    s = np.array([1e-9, 1e-6, 1e-3, 0.1, 1.0, 5.0, 1e200])
    with mpmath.workdps(120):
        power = [(mpmath.mpf(value) / mpmath.mpf(scale)) ** mpmath.mpf(alpha) for value in s[:-1]]
        kappa, kappa2 = ([mpmath.exp(-factor * p) for p in power] for factor in (1, mpmath.mpf(2) ** mpmath.mpf(alpha)))
        exact = [float((1 + b) / 2 - a**2) for a, b in zip(kappa, kappa2)]
    found = unbiased_variance("pair").at(kernel, s, n_features=3)
    np.testing.assert_allclose(found, [*exact, 0.5], rtol=4e-15 if alpha != 1.9 else 4e-14)
    (block,) = kernel.measures(1)
    np.testing.assert_allclose(block_variance(block, s[:-1, None]), exact, rtol=4e-15 if alpha != 1.9 else 4e-14)


def test_variance_of_the_phase_form_keeps_its_digits_next_to_the_peak():
    kernel = ShiftGaussian([0.5, -0.25], 1.5)
    near = np.array([-0.5 + 2.0**-20, 0.25])
    mass = kernel.phase_measure(2).mass
    assert measure_variance(kernel, near, "phase") == pytest.approx(
        mass**2 * rff_variance(1, 2.0**-20 / 1.5), rel=1e-13
    )
