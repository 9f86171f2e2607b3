"""Mean and variance of kernels and cosines from quantized projections."""

import math

import numpy as np
import pytest
from reference.sketch import block_projections, cell_probabilities, correlated_pairs, expectation, mean_and_variance

from lowtide.errors import ParameterError
from lowtide.quantizers import GivenSteps, SignSteps, UniformSteps, lloyd_max_normal, normal_steps
from lowtide.theory import SketchMoments, cosine_moments, fourier_moments, sketch_kernel_one_bit
from lowtide.theory.sketch import LevelProduct


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_product_of_any_values_is_the_sum_over_cells(bits):
    _, borders = lloyd_max_normal(bits)
    values = np.random.default_rng(bits).standard_normal((2**bits, 3))
    product = LevelProduct(bits, values)
    for rho in (-0.97, -0.3, 0.0, 0.6, 0.999):
        p = cell_probabilities(borders, rho)
        assert float(product(rho)) == pytest.approx(np.einsum("ic,ij,jc->", values, p, values), abs=1e-11)


@pytest.mark.parametrize("bits", range(1, 9))
def test_ends_are_the_sums_over_levels(bits):
    # The integral knows nothing of these two values: all of its panels must be right.
    _, borders = lloyd_max_normal(bits)
    values = np.random.default_rng(bits).standard_normal(2**bits)
    mass = np.diff([0.0, *[math.erfc(-t / math.sqrt(2)) / 2 for t in borders], 1.0])
    product = LevelProduct(bits, values)
    np.testing.assert_allclose(product([1.0, -1.0]), [mass @ values**2, mass @ (values * values[::-1])], atol=1e-12)


def test_sign_is_the_arcsine_law():
    rho = np.linspace(-1, 1, 201)
    np.testing.assert_allclose(LevelProduct(1, [-1, 1])(rho), 2 / math.pi * np.arcsin(rho), rtol=0, atol=1e-14)


def test_constant_values_have_a_constant_product():
    np.testing.assert_allclose(LevelProduct(3, np.full(8, 1.5))([-1.0, 0.2, 1.0]), 2.25, rtol=1e-14)


@pytest.mark.parametrize("values", [[1.0], np.zeros(5), np.zeros((4, 2, 2)), 1.0])
def test_values_of_another_shape_are_refused(values):
    with pytest.raises(ParameterError, match=r"shape \(4,\) or \(4, width\)"):
        LevelProduct(2, values)


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.6, 0.95])
def test_orthogonal_blocks_have_the_variance_of_the_first_order(bits, rho):
    dimension, n = 32, 4000
    levels, borders = lloyd_max_normal(bits)
    u, v = block_projections(np.random.default_rng(bits), dimension, rho, n)
    phase = 0.9 * levels
    for book in (levels[:, None], np.stack([np.cos(phase), np.sin(phase)], axis=1)):
        codes = [book[np.searchsorted(borders, z)] for z in (u, v)]
        estimate = np.einsum("nkc,nkc->n", *codes) / dimension
        moments = SketchMoments(bits, book)
        single, covariance = float(moments.variance(rho)), float(moments.covariance(rho, dimension))
        closed = single / dimension + (dimension - 1) / dimension * covariance
        measured = estimate.var()
        error = math.sqrt((((estimate - estimate.mean()) ** 4).mean() - measured**2) / n)
        # What is left out is of second order: it only lowers the variance, by a sixth here, less in larger blocks.
        assert -0.17 * closed - 4 * error < measured - closed < 4 * error
        assert closed < single / dimension
    with pytest.raises(ParameterError, match="dimension"):
        moments.covariance(rho, 0)
    assert float(moments.covariance(rho, 1)) == 0.0


def sketch_kernel(bits, gamma, rho):
    return fourier_moments(bits, gamma).mean(rho)


def sketch_variance(bits, gamma, rho):
    return fourier_moments(bits, gamma).variance(rho)


PAPER_GAMMAS = (0.3, 0.7, 1.0, 2.0, 3.0, 5.0)
CORRELATIONS = (-0.95, -0.6, -0.1, 0.0, 0.2, 0.5, 0.9, 0.99)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("gamma", PAPER_GAMMAS)
def test_mean_and_variance_are_theorem_1(bits, gamma):
    levels, borders = lloyd_max_normal(bits)
    for rho in CORRELATIONS:
        expected = mean_and_variance(levels, borders, gamma, rho)
        found = [float(f(bits, gamma**2 / 2, rho)) for f in (sketch_kernel, sketch_variance)]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=str(rho))


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("gamma", PAPER_GAMMAS)
def test_simulated_mean_and_variance_are_within_their_sampling_error(bits, gamma):
    n = 200_000
    levels, borders = lloyd_max_normal(bits)
    rng = np.random.default_rng([bits, round(10 * gamma)])
    for rho in CORRELATIONS:
        u, v = correlated_pairs(rng, rho, n)
        F_x, F_y = (gamma * levels[np.searchsorted(borders, z)] for z in (u, v))
        product = np.cos(F_x) * np.cos(F_y) + np.sin(F_x) * np.sin(F_y)
        mean, variance = (float(f(bits, gamma**2 / 2, rho)) for f in (sketch_kernel, sketch_variance))
        centered = product - mean
        # 192 pairs of comparisons: beyond 4.5 standard errors once in a thousand runs, if the seeds were not fixed.
        assert abs(centered.mean()) < 4.5 * math.sqrt(variance / n), rho
        # A product of two values has no error of its variance where both are equally likely, but rounding.
        error = math.sqrt(max((centered**4).mean() - variance**2, 0.0) / n)
        assert abs((centered**2).mean() - variance) < 4.5 * error + 1e-13, rho


@pytest.mark.parametrize("gamma", [0.02, 0.5, 4.0, 30.0])
def test_one_bit_has_the_closed_form(gamma):
    rho = np.linspace(-1, 1, 101)
    np.testing.assert_allclose(sketch_kernel(1, gamma, rho), sketch_kernel_one_bit(gamma, rho), rtol=0, atol=1e-14)


@pytest.mark.parametrize("gamma", [0.3, 2.0])
def test_one_bit_of_opposite_rows_is_the_cosine_of_fig_3(gamma):
    paper_gamma = math.sqrt(2 * gamma)
    expected = math.cos(2 * math.sqrt(2 / math.pi) * paper_gamma)
    assert float(sketch_kernel_one_bit(gamma, -1.0)) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("bits", range(1, 9))
def test_equal_rows_have_kernel_one_and_no_variance(bits):
    assert float(sketch_kernel(bits, 0.8, 1.0)) == pytest.approx(1.0, abs=1e-13)
    assert float(sketch_variance(bits, 0.8, 1.0)) == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_variance_is_that_of_the_pair_at_four_times_gamma(bits):
    rho = np.linspace(-1, 1, 21)
    mean, twice = sketch_kernel(bits, 0.6, rho), sketch_kernel(bits, 2.4, rho)
    np.testing.assert_allclose(sketch_variance(bits, 0.6, rho), (1 + twice) / 2 - mean**2, rtol=0, atol=1e-13)


def test_many_bits_are_the_gaussian_kernel_and_its_variance():
    rho = np.linspace(-1, 1, 41)
    kernel = np.exp(-2 * 0.5 * (1 - rho))
    # Eight bits: the bias and that of the doubled frequency are below 1e-4 and 4e-4.
    np.testing.assert_allclose(sketch_kernel(8, 0.5, rho), kernel, rtol=0, atol=1e-4)
    np.testing.assert_allclose(sketch_variance(8, 0.5, rho), (1 - kernel**2) ** 2 / 2, rtol=0, atol=5e-4)


def test_moments_keep_the_shape_of_the_correlations():
    for shape in ((), (0,), (3,), (2, 5), (300, 300)):
        rho = np.full(shape, 0.25)
        for values in (sketch_kernel(2, 0.5, rho), sketch_variance(2, 0.5, rho)):
            assert values.shape == shape
            assert np.all(values == values.ravel()[0] if values.size else True)


def test_moments_of_one_bandwidth_are_made_once():
    assert fourier_moments(3, 0.25) is fourier_moments(3, 0.25)


@pytest.mark.parametrize("function", [sketch_kernel, sketch_variance])
def test_bad_parameters_are_refused(function):
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        function(9, 0.5, 0.1)
    for gamma in (0.0, -1.0, math.nan, math.inf, "scale", [0.5]):
        with pytest.raises(ParameterError, match="gamma must be a finite number above 0"):
            function(2, gamma, 0.1)
    for rho in (1.0001, [-2.0, 0.0], math.nan):
        with pytest.raises(ParameterError, match=r"from -1 to 1.*Clip"):
            function(2, 0.5, rho)


SIDES = [("codes", "codes"), ("codes", "full"), ("full", "codes"), ("full", "full")]
FEW_CORRELATIONS = (-0.95, -0.4, 0.0, 0.7, 0.99)


def decoded(bits):
    """Return unbiased levels, whole numbers times a step, and the borders."""
    levels, borders = lloyd_max_normal(bits)
    numbers = np.rint(levels / levels[-1] * 2047)
    return numbers / expectation(lambda u, q: u * q, numbers, borders), borders


def sides_of(bits, sides, u, v):
    levels, borders = decoded(bits)
    return [z if side == "full" else levels[np.searchsorted(borders, z)] for side, z in zip(sides, (u, v))]


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("sides", SIDES)
def test_simulated_cosines_are_within_their_sampling_error(bits, sides):
    n = 200_000
    rng = np.random.default_rng(bits)
    moments = cosine_moments(bits, sides)
    for rho in FEW_CORRELATIONS:
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
    for rho in FEW_CORRELATIONS:
        expected = (1 - rho**2) * second + rho**2 * fourth - rho**2
        assert float(cosine_moments(bits, ("codes", "full")).variance(rho)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_a_full_side_makes_the_mean_the_cosine(bits):
    rho = np.array([-1.0, -0.2, 0.7])
    np.testing.assert_array_equal(cosine_moments(bits, ("full", "codes")).mean(rho), rho)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_codes_against_codes_have_slope_one_at_zero_and_norm_at_one(bits):
    moments, second = cosine_moments(bits), expectation(lambda u, q: q**2, *decoded(bits))
    assert float(moments.mean(1e-6)) == pytest.approx(1e-6, rel=1e-6)
    assert float(moments.mean(1.0)) == pytest.approx(second, rel=1e-12)
    # Unbiased about 0, and of the product of the two sides' second moments there.
    assert float(moments.variance(0.0)) == pytest.approx(second**2, rel=1e-12)


def test_more_bits_have_less_variance_on_the_way_to_one_plus_rho_squared():
    for rho in FEW_CORRELATIONS:
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


def test_cosine_moments_refuse_bad_parameters():
    with pytest.raises(ParameterError, match="each of sides must be one of"):
        cosine_moments(2, ("codes", "half"))
    with pytest.raises(ParameterError, match=r"sides must be \(left, right\)"):
        cosine_moments(2, "codes")
    with pytest.raises(ParameterError, match="bits must be an integer from 1 to 8"):
        cosine_moments(None)
    for sides in SIDES:
        with pytest.raises(ParameterError, match="from -1 to 1"):
            cosine_moments(2, sides).variance(1.5)


STEPS = {
    "uniform": UniformSteps(3).steps(),
    "sign": SignSteps().steps(),
    "dead_zone": GivenSteps([-0.6, 0.6], [-1.2, 0.0, 1.2]).steps(),
    "lopsided": GivenSteps([-1.1, -0.2, 0.3, 0.9, 2.0], [-1.7, -0.5, 0.1, 0.6, 1.3, 2.4]).steps(),
    "nearly_mirrored": GivenSteps([-0.5, 1e-7, 0.5 + 1e-5], [-1.0, -0.2, 0.4, 1.1]).steps(),
}


@pytest.mark.parametrize("name", STEPS)
def test_any_steps_have_the_mean_and_variance_of_theorem_1(name):
    steps = STEPS[name]
    for gamma in (0.5, 2.0, 4.0):
        moments = fourier_moments(steps, gamma**2 / 2)
        for rho in CORRELATIONS:
            expected = mean_and_variance(steps.values, steps.borders, gamma, rho)
            found = [float(moments.mean(rho)), float(moments.variance(rho))]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11, err_msg=f"{gamma} {rho}")


@pytest.mark.parametrize("name", STEPS)
def test_any_steps_have_their_products_at_the_ends(name):
    # Neither end is put in by hand: at rho = -1 the levels of u and -u meet.
    steps = STEPS[name]
    values = np.random.default_rng(0).standard_normal(steps.n_levels)
    ends = np.sort(np.concatenate([steps.borders, -steps.borders, [-12.0, 12.0]]))
    middle, mass = (ends[:-1] + ends[1:]) / 2, np.diff([math.erfc(-t / math.sqrt(2)) / 2 for t in ends])
    here, there = (values[np.searchsorted(steps.borders, u)] for u in (middle, -middle))
    found = LevelProduct(steps, values)([1.0, -1.0])
    np.testing.assert_allclose(found, [mass @ here**2, mass @ (here * there)], rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", STEPS)
def test_any_steps_give_the_cosine_against_the_full_side(name):
    steps = STEPS[name]
    half, coded = cosine_moments(steps, ("codes", "full")), cosine_moments(steps)
    second = expectation(lambda u, q: q**2, steps.linear, steps.borders)
    fourth = expectation(lambda u, q: q**2 * u**2, steps.linear, steps.borders)
    for rho in FEW_CORRELATIONS:
        assert float(half.mean(rho)) == rho
        expected = (1 - rho**2) * second + rho**2 * fourth - rho**2
        assert float(half.variance(rho)) == pytest.approx(expected, rel=1e-10)
        p = cell_probabilities(steps.borders, rho)
        mean, square = (q @ p @ q for q in (steps.linear, steps.linear**2))
        assert float(coded.mean(rho)) == pytest.approx(mean, abs=1e-11)
        assert float(coded.variance(rho)) == pytest.approx(square - mean**2, abs=1e-10)
    assert float(coded.mean(1e-6)) == pytest.approx(1e-6, rel=1e-5)


@pytest.mark.parametrize("sides", [("codes", "codes"), ("codes", "full")])
@pytest.mark.parametrize("rho", [-0.8, 0.1, 0.7])
def test_lopsided_steps_have_their_variance_in_orthogonal_blocks(sides, rho):
    dimension, n, steps = 32, 4000, STEPS["lopsided"]
    u, v = block_projections(np.random.default_rng(3), dimension, rho, n)
    sided, linear = (
        [z if side == "full" else book[np.searchsorted(steps.borders, z)] for side, z in zip(sides, (u, v))]
        for book in (steps.values, steps.linear)
    )
    fourier = np.cos(0.9 * (sided[0] - sided[1]))
    cases = ((linear[0] * linear[1], cosine_moments(steps, sides)), (fourier, fourier_moments(steps, 0.405, sides)))
    for products, moments in cases:
        estimate = products.mean(axis=1)
        closed = float(moments.variance(rho)) / dimension
        closed += (dimension - 1) / dimension * float(moments.covariance(rho, dimension))
        error = math.sqrt((((estimate - estimate.mean()) ** 4).mean() - estimate.var() ** 2) / n)
        # Beyond the first order in 1/dimension the variance is lower.
        assert -0.17 * closed - 4 * error < estimate.var() - closed < 4 * error
        assert abs(estimate.mean() - float(moments.mean(rho))) < 4.5 * math.sqrt(estimate.var() / n)


@pytest.mark.parametrize("sides", SIDES)
def test_dithered_cosines_have_the_mean_of_the_pair_and_half_more_variance(sides):
    n, gamma, steps = 200_000, 0.7, STEPS["lopsided"]
    rng, g = np.random.default_rng(5), math.sqrt(1.4)
    moments, pair = fourier_moments(steps, gamma, sides, form="cosine"), fourier_moments(steps, gamma, sides)
    for rho in (-0.6, 0.3, 0.95):
        u, v = correlated_pairs(rng, rho, n)
        tau = rng.uniform(0, 2 * math.pi, n)
        phases = [
            g * (z if side == "full" else steps.values[np.searchsorted(steps.borders, z)])
            for side, z in zip(sides, (u, v))
        ]
        products = 2 * np.cos(phases[0] + tau) * np.cos(phases[1] + tau)
        variance = float(moments.variance(rho))
        assert abs(products.mean() - float(moments.mean(rho))) < 4.5 * math.sqrt(variance / n)
        centered = products - float(moments.mean(rho))
        error = math.sqrt(((centered**4).mean() - variance**2) / n)
        assert abs((centered**2).mean() - variance) < 4.5 * error
        assert variance == pytest.approx(float(pair.variance(rho)) + 0.5)
        assert float(moments.covariance(rho, 16)) == float(pair.covariance(rho, 16))
    with pytest.raises(ParameterError, match="form must be one of"):
        fourier_moments(steps, gamma, sides, form="sine")


def test_bits_are_those_of_lloyd_max():
    rho = np.linspace(-1, 1, 9)
    np.testing.assert_array_equal(fourier_moments(3, 0.5).mean(rho), fourier_moments(normal_steps(3), 0.5).mean(rho))
    np.testing.assert_array_equal(cosine_moments(3).mean(rho), cosine_moments(normal_steps(3)).mean(rho))
