"""Theorem 1: the centered kernel matrix of a mixture approaches its equivalent."""

from itertools import pairwise

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.theory import center_kernel, gaussian_moments, kernel_equivalent, match_moments


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
