"""Learners minimize exactly the documented objective: against slow references and against scikit-learn's models."""

import numpy as np
import pytest
from learners.samples import classes, classifier, curve, decoded, one_hot, regressor, signs, weights
from reference import learner_objectives as reference
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC

from lowtide.learners import ridge

CASES = [(k, weighted, intercept) for k in (2, 3) for weighted in (False, True) for intercept in (True, False)]


def reference_loss(loss, k):
    return reference.multinomial if loss == "logistic" and k > 2 else getattr(reference, loss)


def reference_targets(loss, y):
    return one_hot(y) if loss == "logistic" and len(np.unique(y)) > 2 else signs(y)


def rounding(D, s, alpha):
    """Relative error of normal equations in float64: their condition number times a few roundings a row."""
    return len(D) * np.finfo(float).eps * (1.0 + np.linalg.norm(D.T @ (s[:, None] * D), 2) / alpha)


@pytest.mark.parametrize(("k", "weighted", "intercept"), CASES)
def test_squared_loss_solves_the_ridge_problem(k, weighted, intercept):
    X, y = classes(k=k)
    s = weights(len(X)) if weighted else None
    C = 0.7
    model = classifier(n_components=24, C=C, fit_intercept=intercept, random_state=0).fit(X, y, sample_weight=s)
    D, ones = decoded(model, X), np.ones(len(X))
    w, b = reference.ridge(D, signs(y), ones if s is None else s, 0.5 / C, intercept)
    tolerance = rounding(D, ones if s is None else s, 0.5 / C) * np.abs(w).max()
    np.testing.assert_allclose(model.coef_.T, w, rtol=0, atol=tolerance)
    np.testing.assert_allclose(model.intercept_, b, rtol=0, atol=tolerance * np.sqrt(len(w)))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_targets", [None, 2])
def test_regressor_solves_the_ridge_problem(n_targets, intercept):
    X, y = curve()
    if n_targets:
        y = np.column_stack([y, y**2])
    s, alpha = weights(len(X)), 0.3
    model = regressor(n_components=24, alpha=alpha, fit_intercept=intercept, random_state=0)
    model.fit(X, y, sample_weight=s)
    D = decoded(model, X)
    w, b = reference.ridge(D, y.reshape(len(y), -1), s, alpha, intercept)
    np.testing.assert_allclose(model.coef_.T, w, rtol=0, atol=rounding(D, s, alpha) * np.abs(w).max())
    expected = (D @ w + b)[:, 0] if n_targets is None else D @ w + b
    assert model.predict(X).shape == expected.shape
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("C", [0.1, 3.0])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize(("k", "weighted", "intercept"), CASES)
def test_smooth_loss_reaches_the_minimum(loss, k, weighted, intercept, C):
    X, y = classes(k=k)
    s = weights(len(X)) if weighted else np.ones(len(X))
    model = classifier(n_components=16, loss=loss, C=C, fit_intercept=intercept, max_iter=5000, random_state=0).fit(
        X, y, sample_weight=s
    )
    D, T = decoded(model, X), reference_targets(loss, y)
    objective = reference.Objective(reference_loss(loss, k), D, T, s, C, intercept)
    found = np.vstack([model.coef_.T, model.intercept_])
    gradient = objective.gradient(found.ravel())
    # The fit ends at 1e-10 a unit of weight, or where rounding of the objective ends it.
    assert np.abs(gradient).max() < 1e-7 * C * s.sum()
    w, b = objective.minimum()
    # The penalty makes the objective 1-strongly convex in w, so |w - w*| is below the norms of the two gradients.
    left = np.linalg.norm(objective.gradient(np.vstack([w, b]).ravel()))
    assert left < 1e-6 * C * s.sum()
    assert np.linalg.norm(model.coef_.T - w) <= np.linalg.norm(gradient) + left + 1e-12
    at_minimum = objective.value(np.vstack([w, b]).ravel())
    assert objective.value(found.ravel()) <= at_minimum * (1 + 1e-12)


@pytest.mark.parametrize("k", [2, 4])
def test_squared_loss_agrees_with_ridge_classifier(k):
    X, y = classes(k=k)
    model = classifier(n_components=24, C=2.0, random_state=0).fit(X, y)
    D = decoded(model, X)
    peer = RidgeClassifier(alpha=0.25, solver="cholesky").fit(D, y)
    np.testing.assert_allclose(model.coef_, np.atleast_2d(peer.coef_), rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(D), rtol=0, atol=1e-10)


def test_regressor_agrees_with_ridge():
    X, y = curve()
    s = weights(len(X))
    model = regressor(n_components=24, alpha=0.5, random_state=0).fit(X, y, sample_weight=s)
    D = decoded(model, X)
    peer = Ridge(alpha=0.5, solver="cholesky").fit(D, y, sample_weight=s)
    np.testing.assert_allclose(model.predict(X), peer.predict(D), rtol=0, atol=1e-10)


@pytest.mark.parametrize("k", [2, 4])
def test_logistic_loss_agrees_with_logistic_regression(k):
    X, y = classes(k=k)
    model = classifier(n_components=24, loss="logistic", C=2.0, max_iter=2000, random_state=0).fit(X, y)
    D = decoded(model, X)
    peer = LogisticRegression(C=2.0, tol=1e-9, solver="newton-cg", max_iter=1000).fit(D, y)
    # Theirs ends at a gradient of 1e-9 a row, ours at 1e-10; strong convexity gives the weights, times C n.
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(D), rtol=0, atol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
def test_squared_hinge_agrees_with_linear_svc(k):
    X, y = classes(k=k)
    model = classifier(n_components=24, loss="squared_hinge", C=2.0, fit_intercept=False, max_iter=5000)
    model.set_params(random_state=0).fit(X, y)
    D = decoded(model, X)
    # LinearSVC would penalize an intercept: it is left out of both.
    peer = LinearSVC(C=2.0, loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-9, max_iter=10000).fit(D, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=0, atol=1e-5)


@pytest.mark.parametrize("side", ["codes", "full"])
def test_float32_factor_is_refined(side, monkeypatch):
    monkeypatch.setattr(ridge, "_SMALL_PROBLEM", 1)
    X, y = classes(n=400)
    model = classifier(n_components=64, C=1.0, train_on=side, predict_on=side, random_state=0).fit(X, y)
    D = decoded(model, X, side)
    w, _ = reference.ridge(D, signs(y), np.ones(len(X)), 0.5)
    G = D.T @ D - len(D) * np.outer(D.mean(axis=0), D.mean(axis=0))
    # One step of refinement squares the relative error of a float32 solution, which its condition number bounds.
    step = np.finfo(np.float32).eps * np.linalg.cond(G + 0.5 * np.eye(64)) * np.sqrt(64)
    assert step < 1e-3
    assert np.linalg.norm(model.coef_.T - w) < step**2 * np.linalg.norm(w) + 1e-6 * step


def test_warm_start_takes_fewer_iterations_to_the_same_solution():
    X, y = classes(n=200)
    model = classifier(n_components=32, loss="logistic", C=1.0, warm_start=True, max_iter=2000, random_state=0)
    first = model.fit(X, y).n_iter_
    features = model.features_
    cold = classifier(**{**model.get_params(), "warm_start": False, "C": 1.1}).fit(X, y)
    model.set_params(C=1.1).fit(X, y)
    assert model.features_ is features
    assert model.n_iter_ < min(first, cold.n_iter_)
    np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), rtol=0, atol=1e-6)


def test_warm_start_survives_a_change_of_the_problem():
    X, y = classes(n=200, k=4)
    model = classifier(n_components=32, loss="logistic", warm_start=True, random_state=0).fit(X, y)
    model.fit(X, y > 1)
    assert model.coef_.shape == (1, 32)
    model.set_params(fit_intercept=False).fit(X, y > 1)
    assert np.all(model.intercept_ == 0.0)


def test_solution_without_rounding_warns_of_nothing_at_default_settings():
    X, y = classes(n=300)
    for loss in ("logistic", "squared_hinge"):
        assert classifier(n_components=128, loss=loss, random_state=0).fit(X, y).n_iter_ <= 200
