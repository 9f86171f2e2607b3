"""Weights of rows and classes."""

import numpy as np
import pytest
from learners import samples
from learners.samples import classes, curve, regressor, weights

from lowtide import RandomFeatures

LOSSES = ["squared", "logistic", "squared_hinge", "hinge"]
# L-BFGS ends at a gradient of 1e-10 a row; strong convexity makes that C n 1e-10 of the weights.
SAME = {"squared": 1e-10, "logistic": 1e-6, "squared_hinge": 1e-6, "hinge": 1e-6}


def classifier(loss, **parameters):
    return samples.classifier(n_components=24, loss=loss, max_iter=3000, random_state=0, **parameters)


def assert_same(left, right, X, loss):
    np.testing.assert_allclose(left.decision_function(X), right.decision_function(X), rtol=0, atol=SAME[loss])
    np.testing.assert_allclose(left.predict_proba(X), right.predict_proba(X), rtol=0, atol=10 * SAME[loss])


@pytest.mark.parametrize("features", [None, RandomFeatures(n_components=24, random_state=0)], ids=["default", "given"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_counts_as_that_many_rows(loss, features):
    X, y = classes(n=60)
    counts = np.arange(60) % 4
    weighted = classifier(loss, features=features).fit(X, y, sample_weight=counts)
    repeated = classifier(loss, features=features).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.features_.gamma_ == repeated.features_.gamma_
    assert_same(weighted, repeated, X, loss)


@pytest.mark.parametrize("loss", LOSSES)
def test_zero_weight_is_a_removed_row(loss):
    X, y = classes(n=60)
    keep = np.arange(60) % 5 != 0
    assert_same(
        classifier(loss).fit(X, y, sample_weight=keep.astype(float)), classifier(loss).fit(X[keep], y[keep]), X, loss
    )


def test_regressor_counts_weights_as_rows():
    X, y = curve(n=60)
    counts = np.arange(60) % 4
    model = regressor(n_components=24, random_state=0)
    weighted = model.fit(X, y, sample_weight=counts).predict(X)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_scale_of_weights_is_the_inverse_scale_of_regularization(loss):
    X, y = classes(n=60)
    s = weights(60)
    left = classifier(loss, C=2.0, gamma=0.1).fit(X, y, sample_weight=s)
    right = classifier(loss, C=8.0, gamma=0.1).fit(X, y, sample_weight=s / 4)
    np.testing.assert_allclose(left.decision_function(X), right.decision_function(X), rtol=0, atol=SAME[loss])


@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_survive_weights_that_sum_to_one(loss):
    X, y = classes(n=200)
    shares = classifier(loss, C=200.0, gamma=0.1).fit(X, y, sample_weight=np.full(200, 1 / 200)).predict_proba(X)
    counts = classifier(loss, C=1.0, gamma=0.1).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(shares, counts, rtol=0, atol=10 * SAME[loss])


@pytest.mark.parametrize("loss", LOSSES)
def test_balanced_gives_each_class_the_same_weight(loss):
    X, y = classes(n=90, k=2)
    rare = np.flatnonzero((y == 0) | (np.arange(90) % 6 == 1))
    X, y = X[rare], y[rare]
    share = np.bincount(y) / len(y)
    balanced = classifier(loss, class_weight="balanced", gamma=0.1).fit(X, y)
    by_hand = classifier(loss, gamma=0.1).fit(X, y, sample_weight=0.5 / share[y])
    assert_same(balanced, by_hand, X, loss)
    plain = classifier(loss, gamma=0.1).fit(X, y)
    assert np.sum(balanced.predict(X) == 1) > np.sum(plain.predict(X) == 1)


def test_balanced_counts_the_rows_by_their_weights():
    X, y = classes(n=60, k=2)
    counts = 1 + np.arange(60) % 3
    weighted = classifier("squared", class_weight="balanced").fit(X, y, sample_weight=counts)
    repeated = classifier("squared", class_weight="balanced").fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_class_weight_by_name_multiplies_the_weights_of_rows(loss):
    X, y = classes(n=60)
    names = np.array(["ant", "bee", "wasp"])[y]
    s = weights(60)
    named = classifier(loss, class_weight={"bee": 3.0}, gamma=0.1).fit(X, names, sample_weight=s)
    by_hand = classifier(loss, gamma=0.1).fit(X, names, sample_weight=s * np.where(names == "bee", 3.0, 1.0))
    assert_same(named, by_hand, X, loss)
