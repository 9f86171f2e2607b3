"""The kernel of a three-level map, and Theorem 1: the centered kernel matrix of a mixture approaches its equivalent."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from lowtide.errors import ParameterError
from lowtide.theory import TernaryMap, center_kernel, gaussian_moments, kernel_equivalent, match_moments, ternary_kernel

MAPS = [TernaryMap(-0.3, 0.8), TernaryMap(0.4, 0.4), TernaryMap(-1.1, 1.1, 2.0, 2.0), TernaryMap(0.0, 0.7, -1.5, 1.5)]
MAPS += [TernaryMap(-np.inf, 0.2), TernaryMap(-0.5, np.inf, -2.0, 2.0), TernaryMap(0.0, 0.0)]
MAPS += [TernaryMap(-0.8, 0.8, 0.0, 0.0, 1.6), TernaryMap(-0.2, 0.9, -1.0, 2.0, 0.5)]


def quadrants(sigma, a, b, rho):
    """Mean and second moment from bivariate normal probabilities of scipy, one pair of levels at a time."""
    joint = multivariate_normal(cov=[[1, rho], [rho, 1]], allow_singular=True)

    def box(low, high):
        corners = [(high[0], high[1], 1), (low[0], high[1], -1), (high[0], low[1], -1), (low[0], low[1], 1)]
        return sum(sign * joint.cdf(np.clip([x, y], -30, 30)) for x, y, sign in corners)

    def cells(norm):
        low, high = sigma.s_minus / norm, sigma.s_plus / norm
        return [(high, 99.0, sigma.high), (-99.0, low, sigma.low), (low, high, sigma.middle)]

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


def two_classes(p, seed, n=None):
    """Return rows, labels, means, covariances and tau of the paper's mixture: means 4 e_a, C_a = (1 + 4a/sqrt p) I."""
    n = n or p
    labels = np.arange(n) * 2 // n
    scales = np.array([1.0, 1 + 4 / np.sqrt(p)])
    means = 4 * np.eye(2, p) / np.sqrt(p)
    X = means[labels] + np.random.default_rng(seed).standard_normal((n, p)) * np.sqrt(scales / p)[labels, None]
    return X, labels, means, scales[:, None, None] * np.eye(p) / p, scales.mean()


def gaussian_kernel(X):
    lengths = (X**2).sum(axis=1)
    return center_kernel(np.exp(-(lengths[:, None] + lengths - 2 * X @ X.T) / 2))


def distance_to_equivalent(p, seed):
    X, labels, means, covariances, tau = two_classes(p, seed)
    near = kernel_equivalent(X, labels, moments=gaussian_moments("rbf", tau), means=means, covariances=covariances)
    return np.abs(np.linalg.eigvalsh(gaussian_kernel(X) - near)).max()


def test_difference_to_the_equivalent_falls_with_the_dimension():
    n_draws = {100: 8, 200: 8, 400: 4, 800: 1}
    found = {p: [distance_to_equivalent(p, seed) for seed in range(n)] for p, n in n_draws.items()}
    # The stated values are single draws: the spread over draws, up to 14%, says how near one must come.
    for p, stated in {100: 0.60, 200: 0.31, 400: 0.20, 800: 0.13}.items():
        assert abs(np.mean(found[p]) - stated) < 3 * 0.14 * stated * np.sqrt(1 + 1 / n_draws[p])
    means = [np.mean(draws) for draws in found.values()]
    assert all(near > 1.3 * far for near, far in pairwise(means))


@pytest.mark.parametrize("left_out", ["d1", "d2", "d0"])
def test_every_term_of_the_equivalent_counts(left_out):
    X, labels, means, covariances, tau = two_classes(400, 1)
    moments = gaussian_moments("rbf", tau)
    less = type(moments)(**{name: 0.0 if name == left_out else getattr(moments, name) for name in ("d0", "d1", "d2")})
    K = gaussian_kernel(X)
    whole, part = (
        np.linalg.norm(K - kernel_equivalent(X, labels, moments=m, means=means, covariances=covariances), 2)
        for m in (moments, less)
    )
    assert part > 1.25 * whole


def test_matched_ternary_features_have_the_same_equivalent_up_to_the_diagonal():
    X, labels, means, covariances, tau = two_classes(100, 2)
    match = match_moments("rbf", tau)
    target, ternary = (
        kernel_equivalent(X, labels, moments=m, means=means, covariances=covariances)
        for m in (match.target, match.moments)
    )
    shift = match.diagonal_shift * center_kernel(np.eye(len(X)))
    np.testing.assert_allclose(target, ternary + shift, rtol=0, atol=1e-12)


def test_equivalent_is_the_theorem_as_written():
    """V A V' with t, T of covariances less their mean, in the paper's units."""
    X, labels, means, covariances, tau = two_classes(40, 3)
    covariances = covariances + np.random.default_rng(0).uniform(0, 1e-3, (2, 1, 40)) * np.eye(40)
    n, p = X.shape
    moments = gaussian_moments("relu", tau)
    C = p * covariances
    C0 = C - C[labels].mean(axis=0)
    t = np.trace(C0, axis1=1, axis2=2) / np.sqrt(p)
    T = np.einsum("aij,bij->ab", C0, C0) / p
    J = np.eye(2)[labels]
    Z = X - means[labels]
    fluctuation = (Z**2).sum(axis=1) - np.trace(C, axis1=1, axis2=2)[labels] / p
    V = np.column_stack([J / np.sqrt(p), fluctuation])
    A = np.block([[np.outer(t, t) + 2 * T, t[:, None]], [t[None], np.ones((1, 1))]])
    whole = moments.d1 * X @ X.T + moments.d2 * V @ A @ V.T + moments.d0 * np.eye(n)
    found = kernel_equivalent(X, labels, moments=moments, means=means, covariances=covariances)
    np.testing.assert_allclose(found, center_kernel(whole), rtol=0, atol=1e-12)


def test_centered_kernel_is_that_of_centered_features():
    F = np.random.default_rng(0).standard_normal((7, 3))
    np.testing.assert_allclose(center_kernel(F @ F.T), (F - F.mean(0)) @ (F - F.mean(0)).T, atol=1e-13)


def test_shapes_that_do_not_fit_are_refused():
    X, labels, means, covariances, tau = two_classes(10, 0)
    given = {"moments": gaussian_moments("rbf", tau), "means": means, "covariances": covariances}
    with pytest.raises(ParameterError, match="labels n integers"):
        kernel_equivalent(X, labels[:-1], **given)
    with pytest.raises(ParameterError, match="labels n integers"):
        kernel_equivalent(X, labels.astype(float), **given)
    with pytest.raises(ParameterError, match=r"covariances \(K, 10, 10\)"):
        kernel_equivalent(X, labels, **{**given, "covariances": covariances[:1]})
    with pytest.raises(ParameterError, match="labels must be 0 to 1"):
        kernel_equivalent(X, labels + 1, **given)
    with pytest.raises(ParameterError, match="square"):
        center_kernel(X[:5])
