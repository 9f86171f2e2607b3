import numpy as np
import pytest

from lowtide.cli.showcase.ridge import fit_ridge, predict_class
from lowtide.encoders import RandomFeatures

ALPHA = 0.1


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((80, 6)), rng.integers(0, 3, 80)
    encoder = RandomFeatures(gamma=0.1, n_components=64, random_state=0).fit(X)
    return encoder, X, labels


@pytest.mark.parametrize("side", ["transform", "encode"])
def test_weights_solve_the_normal_equations(problem, side):
    encoder, X, labels = problem
    features = getattr(encoder, side)(X)
    weights = fit_ridge(features, labels, ALPHA)
    dense = np.asarray(features, dtype=np.float64)
    targets = 2.0 * (labels[:, None] == np.arange(3)) - 1.0
    residual = dense.T @ (dense @ weights - targets) + ALPHA * weights
    # The Gram matrix comes in float32: each of its entries is off by at most n ulps of the largest row sum.
    rounding = np.finfo(np.float32).eps * len(X) * np.abs(dense.T @ dense).sum(axis=1).max() * np.abs(weights).max()
    assert np.abs(residual).max() <= rounding


def test_codes_and_their_decoded_values_predict_the_same_classes(problem):
    encoder, X, labels = problem
    codes = encoder.encode(X)
    decoded = np.asarray(codes)
    weights = fit_ridge(codes, labels, ALPHA)
    assert np.array_equal(predict_class(codes, weights), np.argmax(decoded @ weights, axis=1))
