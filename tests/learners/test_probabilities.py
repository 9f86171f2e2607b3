"""Probabilities: they keep every prediction, hold on rows never seen, and do not depend on how rows came."""

import pickle

import numpy as np
import pytest
from learners.samples import classes, classifier, signs, weights
from reference.learner_objectives import ridge
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from lowtide import CodeStore, RandomFeatures
from lowtide.learners import calibration
from lowtide.learners.borders import best_threshold
from lowtide.learners.decision import Decision
from lowtide.learners.design import CodedDesign
from lowtide.learners.losses import SquaredHinge
from lowtide.learners.problem import Problem
from lowtide.learners.ridge import NormalEquations
from lowtide.learners.smooth import left_out_scores

LOSSES = ["squared", "logistic", "squared_hinge", "hinge"]
DIGITS = load_digits(return_X_y=True)
CELLS = (StandardScaler().fit_transform(load_breast_cancer().data), load_breast_cancer().target)


def split(data):
    X, y = data
    test = np.arange(len(X)) % 3 == 0
    return X[~test], y[~test], X[test], y[test]


def assert_curve_is_near_the_best_slope(model, X_test, y_test, factor=1.1):
    scores = model.decision_.scores(X_test)
    scores = scores if scores.shape[1] > 1 else np.hstack([0.0 * scores, scores])
    index = np.searchsorted(model.classes_, y_test)

    def loss_of(P):
        return log_loss(index, P, labels=np.arange(scores.shape[1]))

    slopes = np.geomspace(0.1, 100.0, 60)
    best = min(loss_of(softmax(slope * scores, axis=1)) for slope in slopes)
    found = loss_of(model.predict_proba(X_test))
    assert found < loss_of(softmax(scores, axis=1))
    # Log loss on a few hundred rows has a standard error of its own, a tenth of it or more.
    assert found < factor * best + 0.01


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_sum_to_one_and_keep_the_prediction(loss, k):
    X, y = classes(n=200, k=k)
    y = np.array(["d", "c", "a", "b"])[y]
    model = classifier(n_components=64, loss=loss, random_state=0).fit(X, y)
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
    streamed = classifier(n_components=64, loss=loss, random_state=0).fit(blocks)
    stepped = classifier(n_components=64, loss=loss, random_state=0).partial_fit(X, y, classes=np.arange(4))
    for model in (streamed, stepped.partial_fit(X, y)):
        P = model.predict_proba(X)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
        assert log_loss(y, P) < np.log(4)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
@pytest.mark.parametrize("data", [DIGITS, CELLS], ids=["digits", "cells"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_probabilities_are_as_good_as_of_the_best_slope_on_rows_never_seen(data, loss, C):
    X, y, X_test, y_test = split(data)
    model = classifier(n_components=1024, loss=loss, C=C, random_state=0, tol=1e-3).fit(X, y)
    assert_curve_is_near_the_best_slope(model, X_test, y_test)


@pytest.mark.filterwarnings("ignore:L-BFGS stopped at max_iter")
@pytest.mark.parametrize(("rows", "max_iter"), [(10_000, 15), (300, 15), (300, 200)])
def test_probabilities_hold_when_stopped_early_or_calibrated_on_some_rows(rows, max_iter, monkeypatch):
    monkeypatch.setattr(calibration, "_MOST_ROWS", rows)
    X, y, X_test, y_test = split(DIGITS)
    model = classifier(n_components=256, loss="squared_hinge", C=100.0, max_iter=max_iter, random_state=0)
    # The estimate supposes a minimum of some penalty, which fifteen steps are only near.
    assert_curve_is_near_the_best_slope(model.fit(X, y), X_test, y_test, factor=1.4)


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


def test_left_out_hinge_scores_move_rows_inside_the_margin_only():
    X, y = classes(n=120, k=3)
    s = weights(120)
    model = classifier(n_components=64, loss="squared_hinge", max_iter=2000, random_state=0)
    model.fit(X, y, sample_weight=s)
    problem = problem_of(X, signs(y), s, model)
    trained = model.decision_function(X)
    estimated = left_out_scores(problem, SquaredHinge(), model.coef_.T, model.intercept_, 1.0)
    inside = trained * signs(y) < 1.0
    np.testing.assert_allclose(estimated[~inside], trained[~inside], rtol=0, atol=1e-12)
    assert np.all(((trained - estimated) * signs(y))[inside] > 0)


def rare(n, seed=0):
    """Rows of a rare class that lies within the other."""
    rng = np.random.default_rng(seed)
    y = (rng.uniform(size=n) < 0.03).astype(int)
    return rng.standard_normal((n, 4)) * np.where(y, 0.6, 1.0)[:, None] + 1.2 * y[:, None], y


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_mean_probability_is_the_base_rate_of_a_rare_class(loss):
    X, y = rare(6000)
    model = classifier(n_components=256, gamma=0.2, loss=loss, random_state=0).fit(X, y)
    fresh, labels = rare(20_000, seed=1)
    P = model.predict_proba(fresh)[:, 1]
    # 180 rows of the class were seen, and 600 are predicted: both rates are known to a tenth or less.
    error = np.sqrt(1.0 / y.sum() + 1.0 / labels.sum())
    assert abs(P.mean() / labels.mean() - 1.0) < 2.0 * error


FIXED = {"n_components": 64, "gamma": 0.1, "random_state": 0}


def fitted_in_many_ways(loss, X, y, weight, folder, **settings):
    """Models of the same rows: at once, shuffled, from an iterator, in parts and from a store."""
    features = RandomFeatures(**FIXED).fit(X)
    order = np.random.default_rng(0).permutation(len(X))

    def model():
        return classifier(FrozenEstimator(features), loss=loss, **settings)

    def blocks(size, rows=order):
        return ((X[part], y[part], weight[part]) for part in (rows[i : i + size] for i in range(0, len(rows), size)))

    yield "at once", model().fit(X, y, weight)
    yield "shuffled", model().fit(X[order], y[order], weight[order])
    yield "iterator", model().fit(blocks(37))
    yield "backwards", model().fit(blocks(101, order[::-1]))
    if loss == "squared":
        parts = model()
        for rows, labels, share in blocks(53):
            parts.partial_fit(rows, labels, classes=np.unique(y), sample_weight=share)
        yield "in parts", parts
    if settings.get("train_on") != "full":
        with CodeStore.create(folder / "rows.zarr", features, chunk_rows=16) as store:
            store.append(X, y=y, s=weight)
        yield "store", model().fit(CodeStore.open(folder / "rows.zarr"), sample_weight="s")
        yield "codes", model().fit(features.encode(X[order]), y[order], weight[order])


@pytest.mark.parametrize("most", [90, 20_000])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("side", ["codes", "full"])
def test_probabilities_do_not_depend_on_how_the_rows_came(k, side, most, tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "_MOST_ROWS", most)
    X, y = classes(n=400, k=k)
    X[300:] = X[:100]
    models = dict(fitted_in_many_ways("squared", X, y, weights(400), tmp_path, train_on=side, predict_on=side))
    expected = models.pop("at once").predict_proba(X)
    for name, model in models.items():
        np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-6, err_msg=name)


def test_probabilities_of_a_smooth_loss_follow_from_its_weights_however_rows_came(tmp_path):
    X, y = classes(n=400, k=3)
    settings = {"max_iter": 3000, "tol": 1e-8}
    models = dict(fitted_in_many_ways("squared_hinge", X, y, weights(400), tmp_path, **settings))
    expected = models.pop("at once")
    for name, model in models.items():
        # Weights are a minimum that is known to 1e-6 of them, and probabilities are steeper than scores.
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-5, err_msg=name)


def test_partial_fit_calibrates_on_all_blocks_so_far():
    X, y = classes(n=300, k=2)
    model = classifier(**FIXED).partial_fit(X[:280], y[:280], classes=[0, 1])
    # A last block of a few rows of one class is no more than these rows among all.
    rows = np.r_[np.arange(280), np.flatnonzero(y[280:] == 1) + 280]
    model.partial_fit(X[rows[280:]], y[rows[280:]])
    at_once = classifier(**FIXED).fit(X[rows], y[rows])
    np.testing.assert_allclose(model.predict_proba(X), at_once.predict_proba(X), rtol=0, atol=1e-6)


def test_partial_fit_decides_when_it_is_asked():
    X, y = classes(n=300, k=2)
    model = classifier(**FIXED).partial_fit(X[:200], y[:200], classes=[0, 1])
    again = pickle.loads(pickle.dumps(model))
    assert not isinstance(model.__dict__["decision_"], Decision)
    expected = classifier(**FIXED).fit(X[:200], y[:200]).predict_proba(X)
    for each in (model, again, clone(model).partial_fit(X[:200], y[:200], classes=[0, 1])):
        np.testing.assert_allclose(each.predict_proba(X), expected, rtol=0, atol=1e-6)
        assert isinstance(each.__dict__["decision_"], Decision)
    with pytest.raises(AttributeError, match="decision_"):
        _ = classifier().decision_


def test_classes_of_unequal_size_are_divided_where_clearly_fewer_rows_are_wrong():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 6))
    # One class is rare and far out: least squares puts the border beyond most of it.
    y = (np.linalg.norm(X, axis=1) > 3.2).astype(int)
    model = classifier(gamma=0.05, n_components=512, random_state=1).fit(X[:4000], y[:4000])
    codes = model.features_.encode(X[:4000])
    system = NormalEquations.of_rows(CodedDesign(codes), 2.0 * y[:4000, None] - 1.0, None)
    plain = system.solve(0.5, fit_intercept=True)
    np.testing.assert_allclose(model.coef_.T, plain.coef, rtol=0, atol=1e-6)
    assert model.intercept_[0] > plain.intercept[0] + 0.05
    scores = model.decision_function(X[4000:])
    moved = scores - model.intercept_[0] + plain.intercept[0]
    assert np.mean((scores > 0) == y[4000:]) > np.mean((moved > 0) == y[4000:]) + 0.005
    fixed = classifier(gamma=0.05, n_components=512, fit_intercept=False, random_state=0).fit(X[:4000], y[:4000])
    assert fixed.intercept_[0] == 0.0


def test_border_stays_at_zero_without_clear_gain():
    rng = np.random.default_rng(1)
    scores, labels = rng.standard_normal((500, 1)), rng.integers(0, 2, 500)
    weight = np.ones(500)
    assert best_threshold(scores, labels, weight) == 0.0
    assert best_threshold(scores, (scores[:, 0] + 0.3 * rng.standard_normal(500) > 0).astype(int), weight) == 0.0
    assert best_threshold(np.zeros((5, 1)), np.array([0, 1, 1, 0, 1]), np.ones(5)) == 0.0
    assert best_threshold(scores, np.ones(500, int), weight) == 0.0
    assert best_threshold(np.hstack([scores, scores]), labels, weight) == 0.0
    assert best_threshold(scores[:0], labels[:0], weight[:0]) == 0.0
