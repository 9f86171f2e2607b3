"""The kernel of a three-level map of normal projections, against its definition."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from lowtide.theory import TernaryMap, ternary_kernel

MAPS = [TernaryMap(-0.3, 0.8), TernaryMap(0.4, 0.4), TernaryMap(-1.1, 1.1, 2.0, 2.0), TernaryMap(0.0, 0.7, -1.5, 1.5)]
MAPS += [TernaryMap(-np.inf, 0.2), TernaryMap(-0.5, np.inf, -2.0, 2.0), TernaryMap(0.0, 0.0)]


def quadrants(sigma, a, b, rho):
    """Mean and second moment from bivariate normal probabilities of scipy, one pair of levels at a time."""
    joint = multivariate_normal(cov=[[1, rho], [rho, 1]], allow_singular=True)

    def box(low, high):
        corners = [(high[0], high[1], 1), (low[0], high[1], -1), (high[0], low[1], -1), (low[0], low[1], 1)]
        return sum(sign * joint.cdf(np.clip([x, y], -30, 30)) for x, y, sign in corners)

    def cells(norm):
        return [(sigma.s_plus / norm, 99.0, sigma.high), (-99.0, sigma.s_minus / norm, sigma.low)]

    terms = [(box((lx, ly), (hx, hy)), vx * vy) for lx, hx, vx in cells(a) for ly, hy, vy in cells(b)]
    return sum(p * v for p, v in terms), sum(p * v * v for p, v in terms)


@pytest.mark.parametrize("sigma", MAPS, ids=repr)
@pytest.mark.parametrize("rho", [-0.95, -0.3, 0.0, 0.5, 0.99])
def test_kernel_is_the_sum_over_quadrants(sigma, rho):
    a, b = 1.3, 0.7
    mean, second = ternary_kernel(sigma, [a * a], [b * b], [[rho * a * b]])
    expected = quadrants(sigma, a, b, rho)
    # scipy's bivariate probabilities are asked for to 1e-8 each; sixteen of them, values up to 2^4.
    np.testing.assert_allclose([mean[0, 0], second[0, 0]], expected, rtol=0, atol=16 * 16 * 1e-8)


@pytest.mark.parametrize("sigma", MAPS, ids=repr)
def test_a_row_with_itself_has_the_squares_of_the_map(sigma):
    mean, second = ternary_kernel(sigma, [1.7], [1.7], [[1.7]])
    moments = sigma.moments(1.7)
    t = np.random.default_rng(0).standard_normal(200_000) * np.sqrt(1.7)
    for value, power in ((mean, 2), (second, 4)):
        drawn = sigma(t) ** power
        assert abs(value[0, 0] - drawn.mean()) < 5 * drawn.std() / np.sqrt(len(t)) + 1e-12
    # Var sigma = d0 + tau d1, so the mean square is that and the squared mean.
    drawn = sigma(t)
    assert abs(mean[0, 0] - moments.variance(1.7) - drawn.mean() ** 2) < 20 * drawn.std() / np.sqrt(len(t)) + 1e-9


def test_opposite_rows_of_an_odd_map_are_minus_the_square():
    sigma = TernaryMap(-0.6, 0.6)
    same, _ = ternary_kernel(sigma, [2.0], [2.0], [[2.0]])
    opposite, _ = ternary_kernel(sigma, [2.0], [2.0], [[-2.0]])
    np.testing.assert_allclose(opposite, -same, rtol=1e-12)


@pytest.mark.parametrize("s", [-0.4, 0.0, 0.4])
def test_a_zero_row_has_the_level_of_zero(s):
    sigma = TernaryMap(s, s) if s else TernaryMap(0.0, 0.0)
    level = float(sigma(0.0))
    mean, _ = ternary_kernel(sigma, [0.0, 1.0], [0.0], [[0.0], [0.0]])
    assert mean[0, 0] == pytest.approx(level**2, abs=1e-12)
    other = np.mean(sigma(np.random.default_rng(0).standard_normal(200_000))) * level
    assert abs(mean[1, 0] - other) < 5 / np.sqrt(200_000)
