"""Variances over orthogonal frequencies, and where Propositions 3 and 6 hold."""

import mpmath
import numpy as np
import pytest
from reference.orthogonal_features import bessel, estimates

from lowtide.errors import ParameterError
from lowtide.kernels import Bessel, normalized_bessel
from lowtide.projections import Blocks, block_sizes
from lowtide.theory import (
    covariance,
    kernel_bounds,
    orf_chi_variance,
    orf_ranges,
    orf_variance,
    rff_variance,
    true_ranges,
    variance_bounds,
)

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
    assert float(covariance(Bessel(), Blocks("fixed", d, (d,)), z)) == pytest.approx(
        -(z**4) / (2 * d**2 * (d + 2)), rel=1e-2
    )


def kernel_in_digits(d, z):
    """Return j at z, sqrt2 z and 2 z."""
    z = mpmath.mpf(float(z))
    square = [z**2, 2 * z**2, 4 * z**2]
    if z < 2000:
        return [mpmath.hyp0f1(mpmath.mpf(d) / 2, -s / 4) for s in square]
    nu = mpmath.mpf(d) / 2 - 1
    return [mpmath.gamma(nu + 1) * (4 / s) ** (nu / 2) * mpmath.besselj(nu, mpmath.sqrt(s)) for s in square]


def variance_in_digits(d, p, kernel):
    """Return sum_blocks size [(1 + j(2z))/2 - j(z)^2 + (size - 1) (j(sqrt2 z) - j(z)^2)] / p^2."""
    j, j_sqrt2, j_2 = kernel
    single, pair = (1 + j_2) / 2 - j**2, j_sqrt2 - j**2
    return sum(size * (single + (size - 1) * pair) for size in block_sizes(d, p)) / mpmath.mpf(p) ** 2


@pytest.mark.parametrize("d", [2, 3, 4, 5, 8, 16, 33, 64, 100, 300, 1000])
def test_orthogonal_variances_have_their_digits_at_all_distances(d):
    # Over full blocks the variance at z = 1e-6 is 1e-65 to 1e-53, the square of one of 1e-16 that each part rounds to.
    root = np.sqrt(d)
    z = np.array([1e-6, 1e-3, 0.1, 0.5, 0.3 * root, root, 1.999 * root, 2.001 * root, 3 * root, 100 * root])
    haar = Blocks("fixed", d, (d,))
    with mpmath.workdps(120):
        kernels = [kernel_in_digits(d, value) for value in z]
        pairs = [float(j_sqrt2 - j**2) for j, j_sqrt2, _ in kernels[:-1]]
        # The series of the first half ends at 2 sqrt d, where its largest term is e^8 of the sum: 1e-16 e^8 = 3e-13.
        np.testing.assert_allclose(covariance(Bessel(), haar, z[:-1]), pairs, rtol=2e-12)
        for p in sorted({1, 2, d // 2, d, d + d // 2, 3 * d}):
            exact = [float(variance_in_digits(d, p, kernel)) for kernel in kernels]
            np.testing.assert_allclose(orf_variance(d, p, z), exact, rtol=1e-12)


def test_variances_are_never_negative_nor_nan():
    z = np.concatenate([np.geomspace(1e-9, 1e-3, 50), [0.0, 1e3, np.inf]])
    for d in (2, 3, 64, 1000):
        assert np.all(orf_variance(d, d, z) >= 0)
        assert np.all(orf_chi_variance(d, d, z) >= 0)


@pytest.mark.parametrize(("d", "p"), [(0, 1), (1, 1), (4, 0), (4, 2.5)])
def test_bad_sizes_are_refused(d, p):
    with pytest.raises(ParameterError, match="must be an integer"):
        orf_variance(d, p, 1.0)


DIMENSIONS = [2, 3, 4, 5, 8, 16, 33, 64, 150, 300]


@pytest.mark.parametrize("d", DIMENSIONS)
def test_proposition_3_holds_on_its_range(d):
    z = np.linspace(0, orf_ranges(d).kernel_bounds, 500)
    lower, upper = kernel_bounds(d, z)
    kernel = normalized_bessel(d, z)
    assert np.all(lower <= kernel + 1e-15)
    assert np.all(kernel <= upper + 1e-15)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_proposition_6_holds_on_its_range(d):
    z = np.linspace(0, orf_ranges(d).variance_order, 300)
    for p in {1, d // 2 or 1, d}:
        assert np.all(orf_variance(d, p, z) <= rff_variance(p, z) + 1e-15)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_variance_bounds_hold_on_half_of_the_stated_range(d):
    z = np.linspace(0, orf_ranges(d).variance_bounds, 300)
    lower, upper = variance_bounds(d, d, z)
    variance = orf_variance(d, d, z)
    assert np.all(lower <= variance + 1e-15)
    assert np.all(variance <= upper + 1e-15)


def test_variance_bounds_fail_within_the_range_that_the_paper_states():
    # d = p = 5: max(b, c) = 3.67, and (12) is violated from z = 3.481 on, where 2z is past Proposition 3's range.
    z, y = 3.49, 3.49**2
    assert z < orf_ranges(5).kernel_bounds
    lower = (1 + np.exp(-2 * y)) / 10 + 4 / 5 * np.exp(-y) - np.exp(-y / 5)
    upper = (1 + np.exp(-2 * y / 5)) / 10 + 4 / 5 * np.exp(-y / 5) - np.exp(-y)
    variance = float(orf_variance(5, 5, z))
    assert not lower <= variance <= upper
    assert np.isnan(variance_bounds(5, 5, z)).all()


def test_bounds_past_their_range_are_nan():
    assert np.isnan(kernel_bounds(8, [1.0, 1e3])).tolist() == [[False, True], [False, True]]


@pytest.mark.parametrize(("d", "end"), [(2, 2.259), (3, 3.117), (4, 3.829), (5, 4.493)])
def test_true_lower_range_has_the_documented_values(d, end):
    assert true_ranges(d)[0] == pytest.approx(end, abs=6e-4)


@pytest.mark.parametrize("d", [8, 16, 100])
def test_true_lower_range_is_the_first_zero_in_more_dimensions(d):
    assert true_ranges(d)[0] == pytest.approx(orf_ranges(d).first_zero, rel=1e-4)


@pytest.mark.parametrize("d", [2, 3, 5, 16, 100])
def test_true_ranges_end_where_the_inequality_turns(d):
    for end, gap in (
        (true_ranges(d)[0], lambda z: normalized_bessel(d, z) - np.exp(-(z**2) / 2)),
        (true_ranges(d)[1], lambda z: np.exp(-(z**2) / (2 * d)) - normalized_bessel(d, z)),
    ):
        assert end >= orf_ranges(d).kernel_bounds
        step = 1e-6 * end
        assert gap(end - step) > 0 > gap(end + step)
    assert true_ranges(d)[1] > orf_ranges(d).second_zero


@pytest.mark.parametrize(("d", "end"), [(2, 4.54), (5, 5.61), (8, 6.95), (16, 10.5)])
def test_true_variance_range_has_the_documented_values(d, end):
    found = true_ranges(d)[2]
    assert found == pytest.approx(end, abs=0.02)
    assert found > orf_ranges(d).variance_order


# Roots of Var ORF = Var RFF to 20 digits, from 420 digits of both variances; no earlier one on a grid of step 1/4.
VARIANCE_ENDS = {
    (2, 1): 2.9314497879439003, (2, 2): 4.5443011911676319, (3, 3): 4.7863281247660372, (16, 1): 10.876194732427736,
    (16, 5): 10.517679551807428, (33, 33): 18.141434878348542, (100, 1): 56.072198299067787,
    (100, 100): 56.118263709627706, (100, 250): 56.118263728145702, (300, 1): 159.03305282710681,
    (300, 300): 159.86637007726339, (1000, 1000): 522.66389129710700,
}  # fmt: skip


@pytest.mark.parametrize(("d", "p"), VARIANCE_ENDS)
def test_true_variance_range_ends_at_the_root(d, p):
    assert true_ranges(d, p)[2] == pytest.approx(VARIANCE_ENDS[d, p], abs=1e-10)


def test_true_variance_range_has_the_sign_at_a_zero_that_a_double_misses():
    # d = 1000, p = 1: between the third zero of j and the root before it there are 2e-35.
    assert true_ranges(1000, 1)[2] == pytest.approx(534.47976972338216, abs=1e-10)


@pytest.mark.parametrize("d", [5000, 10_000])
def test_true_ranges_are_found_where_kernel_and_bounds_underflow(d):
    lower, upper, variance = true_ranges(d)
    assert np.exp(-(upper**2) / (2 * d)) < 1e-270
    assert lower == pytest.approx(orf_ranges(d).first_zero, rel=1e-12)
    assert upper == pytest.approx(d, rel=1e-3)
    assert orf_ranges(d).first_zero < variance < orf_ranges(d).first_zero + 100


@pytest.mark.parametrize(("d", "p"), [(5, 5), (100, 7), (1000, 1000)])
def test_variance_bounds_keep_their_digits_at_small_distances(d, p):
    z = np.array([1e-7, 1e-4, 0.1])
    with mpmath.workdps(60):
        narrow, wide = ([mpmath.exp(-(mpmath.mpf(v) ** 2) / scale) for v in z] for scale in (1, d))
        lower = [float(((1 + n**2) / 2 + (p - 1) * n) / p - w) for n, w in zip(narrow, wide)]
        upper = [float(((1 + w**2) / 2 + (p - 1) * w) / p - n) for n, w in zip(narrow, wide)]
    # Three roundings of parts that are at most twice the result.
    np.testing.assert_allclose(variance_bounds(d, p, z), [lower, upper], rtol=2e-15)


def test_second_constant_exists_from_five_dimensions_and_wins_from_33():
    assert orf_ranges(4).c is None
    assert orf_ranges(5).c is not None
    wins = [d for d in range(5, 60) if orf_ranges(d).c > orf_ranges(d).b]
    assert wins == list(range(33, 60))


def test_one_dimension_is_refused():
    with pytest.raises(ParameterError, match="at least 2"):
        orf_ranges(1)


@pytest.mark.parametrize("d", [5000, 100_000])
def test_function_does_not_underflow_in_many_dimensions(d):
    for ratio in (0.01, 0.9, 1.1, 2.0, 4.0):
        exact = bessel(d, np.sqrt(2 * d) * ratio)
        assert abs(float(normalized_bessel(d, np.sqrt(2 * d) * ratio)) - exact) < 1e-11 * abs(exact)


def test_function_in_few_dimensions_is_elementary():
    z = np.linspace(0.01, 40, 300)
    np.testing.assert_allclose(normalized_bessel(1, z), np.cos(z), rtol=0, atol=1e-15)
    np.testing.assert_allclose(normalized_bessel(3, z), np.sin(z) / z, rtol=0, atol=1e-14)
    np.testing.assert_allclose(normalized_bessel(3, -z), np.sin(z) / z, rtol=0, atol=1e-14)


def test_function_is_one_at_zero_and_vanishes_at_infinity():
    for d in (2, 7, 500):
        assert float(normalized_bessel(d, 0.0)) == 1
        assert abs(float(normalized_bessel(d, np.inf))) < 1e-70


def test_function_with_sqrt_d_tends_to_the_gaussian():
    # The bias is about -z^4 exp(-z^2/2)/(4 d).
    for d, bias in ((4, -0.03), (16, -0.009), (64, -0.0023)):
        assert abs(float(normalized_bessel(d, np.sqrt(d))) - np.exp(-0.5) - bias) < 0.1 * abs(bias)


@pytest.mark.parametrize("d", [2, 3, 8, 51])
def test_zeros_are_those_of_the_bessel_function(d):
    exact = [mpmath.besseljzero(mpmath.mpf(d) / 2 - 1, m) for m in (1, 2)]
    found = orf_ranges(d).first_zero, orf_ranges(d).second_zero
    np.testing.assert_allclose(found, [float(x) for x in exact], rtol=1e-12)


@pytest.mark.parametrize("d", [1000, 100_000])
def test_first_zero_in_many_dimensions_follows_the_airy_expansion(d):
    # j_{nu,1} = nu + 1.8557571 nu^(1/3) + 1.033150 nu^(-1/3) - 0.00397 / nu + ...
    nu = d / 2 - 1
    expected = nu + 1.8557571 * nu ** (1 / 3) + 1.033150 * nu ** (-1 / 3) - 0.00397 / nu
    assert abs(orf_ranges(d).first_zero - expected) < 1e-5


@pytest.mark.parametrize("d", [1, 2.5])
def test_bad_dimensions_are_refused(d):
    with pytest.raises(ParameterError, match="must be an integer of at least"):
        orf_ranges(d)
