"""Probabilities: a slope on the scores that keeps every prediction, fitted on what rows would get if left out."""

from dataclasses import replace

import numpy as np
import pytest
from learners.samples import classes, decoded, signs, weights
from reference.learner_objectives import ridge
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from lowtide import KernelClassifier
from lowtide.learners import classifier
from lowtide.learners.design import CodedDesign
from lowtide.learners.losses import SquaredHinge
from lowtide.learners.problem import Problem
from lowtide.learners.rules import class_scores
from lowtide.learners.solvers import NormalEquations
from lowtide.learners.training import fit_slope, left_out_ridge_scores, left_out_scores

LOSSES = ["squared", "logistic", "squared_hinge"]
DIGITS = load_digits(return_X_y=True)
CELLS = (StandardScaler().fit_transform(load_breast_cancer().data), load_breast_cancer().target)


def split(data):
    X, y = data
    test = np.arange(len(X)) % 3 == 0
    return X[~test], y[~test], X[test], y[test]


def assert_slope_is_near_the_best(model, X_test, y_test, factor=1.1):
    scores = class_scores(model.decision_.scores(X_test))
    index = np.searchsorted(model.classes_, y_test)

    def loss_at(slope):
        return log_loss(index, softmax(slope * scores, axis=1), labels=np.arange(scores.shape[1]))

    best = min(loss_at(slope) for slope in np.geomspace(0.1, 100.0, 60))
    assert loss_at(model.decision_.calibration) < loss_at(1.0)
    # Log loss on a few hundred rows has a standard error of its own, a tenth of it or more.
    assert loss_at(model.decision_.calibration) < factor * best + 0.01


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_sum_to_one_and_keep_the_prediction(loss, k):
    X, y = classes(n=200, k=k)
    y = np.array(["d", "c", "a", "b"])[y]
    model = KernelClassifier(n_components=64, loss=loss, random_state=0).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-14)
    assert P.min() >= 0
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    scores = model.decision_function(X)
    best = (scores > 0).astype(int) if k == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[best], model.predict(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_keep_the_prediction_after_partial_fit_and_blocks(loss):
    X, y = classes(n=200, k=4)
    blocks = iter([(X[:120], y[:120]), (X[120:], y[120:])])
    streamed = KernelClassifier(n_components=64, loss=loss, random_state=0).fit(blocks)
    stepped = KernelClassifier(n_components=64, loss=loss, random_state=0).partial_fit(X, y, classes=np.arange(4))
    for model in (streamed, stepped.partial_fit(X, y)):
        P = model.predict_proba(X)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
        assert log_loss(y, P) < np.log(4)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
@pytest.mark.parametrize("data", [DIGITS, CELLS], ids=["digits", "cells"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_slope_is_near_the_best_on_rows_never_seen(data, loss, C):
    X, y, X_test, y_test = split(data)
    model = KernelClassifier(n_components=1024, loss=loss, C=C, random_state=0, tol=1e-3).fit(X, y)
    assert_slope_is_near_the_best(model, X_test, y_test)


@pytest.mark.filterwarnings("ignore:L-BFGS stopped at max_iter")
@pytest.mark.parametrize(("rows", "max_iter"), [(10_000, 15), (300, 15), (300, 200)])
def test_slope_is_near_the_best_when_stopped_early_or_read_from_some_rows(rows, max_iter, monkeypatch):
    monkeypatch.setattr(classifier, "_SLOPE_ROWS", rows)
    X, y, X_test, y_test = split(DIGITS)
    model = KernelClassifier(n_components=256, loss="squared_hinge", C=100.0, max_iter=max_iter, random_state=0)
    # The estimate supposes a minimum of some penalty, which fifteen steps are only near.
    assert_slope_is_near_the_best(model.fit(X, y), X_test, y_test, factor=1.4)


def test_slope_minimizes_the_log_loss_with_its_doubt():
    rng = np.random.default_rng(0)
    scores, weight = rng.standard_normal((300, 4)), rng.uniform(1.0, 3.0, 300)
    labels = np.argmax(1.7 * scores + rng.gumbel(size=scores.shape), axis=1)
    doubt = 1.0 / (weight.sum() + 2.0)
    targets = (1.0 - doubt) * np.eye(4)[labels] + doubt / 4.0

    def objective(slope):
        return -weight @ np.sum(targets * log_softmax(slope * scores, axis=1), axis=1)

    slope = fit_slope(scores, labels, weight)
    assert objective(slope) < min(objective(slope * 1.001), objective(slope / 1.001))
    # The curvature at the true slope gives its standard error.
    p = softmax(1.7 * scores, axis=1)
    information = np.sum(np.sum(p * scores**2, axis=1) - np.sum(p * scores, axis=1) ** 2)
    assert abs(slope - 1.7) < 4.0 * np.sqrt(np.mean(weight**2) / np.mean(weight) ** 2 / information)


def test_slope_of_separated_scores_stays_finite_and_of_useless_ones_small():
    labels = np.arange(100) % 2
    separated = np.column_stack([1.0 - labels, labels])
    slope = fit_slope(separated, labels, np.ones(100))
    assert softmax(slope * separated, axis=1)[0, 0] == pytest.approx(1.0 - 0.5 / 102.0, rel=1e-6)
    assert fit_slope(-separated, labels, np.ones(100)) == pytest.approx(np.exp(-7.0))


def test_logarithms_stay_finite_where_probabilities_vanish():
    X, y = classes(n=60, k=2)
    model = KernelClassifier(n_components=32, random_state=0).fit(X, y)
    model.decision_ = replace(model.decision_, calibration=1e6)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert np.any(model.predict_proba(X) == 0.0)
    model.decision_ = replace(model.decision_, calibration=2.0)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)), rtol=1e-12)


def problem_of(X, T, s, model):
    design = CodedDesign(model.features_.encode(X))
    return Problem(design, design, T, s, True)


def left_out_by_hand(D, T, s, alpha, counted):
    """Scores of counted rows from a fit on the others, one at a time."""
    out = np.empty_like(T)
    for i in np.flatnonzero(counted):
        rest = np.arange(len(D)) != i
        w, b = ridge(D[rest], T[rest], s[rest], alpha)
        out[i] = D[i] @ w + b
    return out


def test_left_out_ridge_scores_are_near_those_of_fits_without_the_row():
    X, y = classes(n=120, k=3)
    model = KernelClassifier(n_components=64, random_state=0).fit(X, y)
    problem = problem_of(X, signs(y), None, model)
    equations = NormalEquations.of(problem)
    estimated = left_out_ridge_scores(problem, equations.solve(0.5))
    D = decoded(model, X)
    exact = left_out_by_hand(D, signs(y), np.ones(120), 0.5, np.ones(120, bool))
    trained = model.decision_function(X)
    # One leverage stands for all rows: a part of each change is left, but none of their mean.
    assert np.sqrt(np.mean((estimated - exact) ** 2)) < 0.5 * np.sqrt(np.mean((trained - exact) ** 2))
    change, expected = np.mean((trained - estimated) * signs(y)), np.mean((trained - exact) * signs(y))
    assert change == pytest.approx(expected, rel=0.1)


def test_left_out_hinge_scores_move_rows_inside_the_margin_only():
    X, y = classes(n=120, k=3)
    s = weights(120)
    model = KernelClassifier(n_components=64, loss="squared_hinge", max_iter=2000, random_state=0)
    model.fit(X, y, sample_weight=s)
    problem = problem_of(X, signs(y), s, model)
    trained = model.decision_function(X)
    estimated = left_out_scores(problem, SquaredHinge(), model.coef_.T, model.intercept_, 1.0)
    inside = trained * signs(y) < 1.0
    np.testing.assert_allclose(estimated[~inside], trained[~inside], rtol=0, atol=1e-12)
    assert np.all(((trained - estimated) * signs(y))[inside] > 0)
