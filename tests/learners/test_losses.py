"""Losses are objects: their derivatives are right, and one of a user's own is fitted, saved and loaded."""

from dataclasses import dataclass

import numpy as np
import pytest
from learners.samples import classes, classifier, one_hot, signs, weights
from sklearn.base import clone

import lowtide as lt
from lowtide.errors import LowtideError, ParameterError
from lowtide.learners import LOSSES, Loss, source_problem
from lowtide.learners.rules import Calibration
from lowtide.learners.smooth import left_out_scores


@dataclass
class HuberHinge(Loss):
    """max(0, 1 - y f), its corner rounded over `width`."""

    width: float = 0.5

    def check(self):
        if not 0 < self.width <= 2:
            raise ParameterError(f"HuberHinge: width must be above 0 and at most 2, got {self.width}.")

    def value_and_gradient(self, F, Y, weight):
        short = np.clip(1.0 - Y * F, 0.0, self.width)
        value = np.where(self.width < 1.0 - Y * F, 1.0 - Y * F - self.width / 2, short**2 / (2 * self.width))
        return float(np.sum(weight @ value)), -Y * short / self.width * weight[:, None]


@pytest.fixture
def registered():
    lt.register(HuberHinge, "huber_hinge")
    yield "huber_hinge"
    LOSSES.remove(HuberHinge)


def targets_of(loss, y):
    many = loss.is_multinomial and len(np.unique(y)) > 2
    return one_hot(y) if many else signs(y)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", [*map(LOSSES.resolve, LOSSES), HuberHinge()], ids=repr)
def test_gradient_and_curvature_are_those_of_the_value(loss, k):
    y = np.arange(12) % k
    Y, s = targets_of(loss, y), weights(12)
    F = np.random.default_rng(0).normal(scale=1.3, size=Y.shape)
    step = 1e-5

    def moved(i, j, by):
        at = F.copy()
        at[i, j] += by
        return loss.value_and_gradient(at, Y, s)

    _, gradient = loss.value_and_gradient(F, Y, s)
    curvature = loss.curvature(F, Y)
    for i, j in np.ndindex(F.shape):
        (above, up), (below, down) = moved(i, j, step), moved(i, j, -step)
        np.testing.assert_allclose(gradient[i, j], (above - below) / (2 * step), rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(s[i] * curvature[i, j], (up - down)[i, j] / (2 * step), rtol=1e-5, atol=1e-6)


def test_losses_by_name_and_as_objects_give_one_model():
    X, y = classes(n=60)
    for name in LOSSES:
        by_name, as_object = (
            classifier(loss=loss, n_components=32, random_state=0).fit(X, y) for loss in (name, LOSSES.resolve(name))
        )
        np.testing.assert_array_equal(by_name.predict_proba(X), as_object.predict_proba(X))


@pytest.mark.parametrize("k", [2, 3])
def test_own_loss_is_minimized(k):
    X, y = classes(n=120, k=k)
    loss, Y = HuberHinge(), signs(y)
    model = classifier(loss=loss, C=2.0, n_components=64, max_iter=5000, random_state=0).fit(X, y)
    D = np.asarray(model.features_.encode(X), dtype=np.float64)
    _, slope = loss.value_and_gradient(D @ model.coef_.T + model.intercept_, Y, np.ones(len(X)))
    np.testing.assert_allclose(model.coef_.T, -2.0 * (D.T @ slope), atol=1e-5)
    np.testing.assert_allclose(slope.sum(axis=0), 0.0, atol=1e-5)


@pytest.mark.parametrize("k", [2, 4])
def test_own_loss_has_probabilities_that_keep_the_prediction(k):
    X, y = classes(n=200, k=k)
    model = classifier(loss=HuberHinge(), n_components=64, max_iter=2000, random_state=0).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[np.argmax(P, axis=1)], model.predict(X))
    assert model.decision_.calibration not in (None, Calibration())


def test_own_loss_moves_left_out_rows_of_positive_curvature_only():
    X, y = classes(n=120, k=2)
    loss = HuberHinge()
    model = classifier(loss=loss, n_components=64, max_iter=5000, random_state=0).fit(X, y)
    trained = model.decision_function(X)[:, None]
    problem = source_problem(model.features_.encode(X), signs(y), None, True)
    estimated = left_out_scores(problem, loss, model.coef_.T, model.intercept_, 1.0)
    curved = loss.curvature(trained, signs(y)) > 0
    np.testing.assert_allclose(estimated[~curved], trained[~curved], rtol=0, atol=1e-12)
    assert np.all(((trained - estimated) * signs(y))[curved] > 0)


def test_own_loss_takes_blocks_and_partial_fits():
    X, y = classes(n=200, k=3)
    model = classifier(loss=HuberHinge(), n_components=128, max_iter=2000, random_state=0)
    whole = clone(model).fit(X, y)
    blocks = (
        clone(model)
        .set_params(features=whole.features_)
        .fit((whole.features_.encode(X[i::4]), y[i::4]) for i in range(4))
    )
    assert np.mean(blocks.predict(X) == whole.predict(X)) > 0.99
    for i in range(4):
        model.partial_fit(X[i::4], y[i::4], classes=np.arange(3))
    assert model.score(X, y) > 0.8


def test_own_loss_is_searched_and_cloned():
    X, y = classes(n=90)
    model = classifier(loss=HuberHinge(0.2), max_iter=2000)
    assert clone(model).loss == HuberHinge(0.2)
    search = lt.SketchSearchCV(model, param_grid={"gamma": [0.5], "C": [0.1, 1.0]}, cv=2, random_state=0).fit(X, y)
    assert search.best_estimator_.loss == HuberHinge(0.2)
    assert clone(model).set_params(loss__width=0.7).loss == HuberHinge(0.7)


def test_registered_loss_is_saved_and_loaded(registered, tmp_path):
    X, y = classes(n=80)
    for loss in (registered, HuberHinge(0.3)):
        model = classifier(loss=loss, n_components=32, max_iter=2000, random_state=0).fit(X, y)
        lt.save(model, tmp_path / "model.lowtide", weights="float64")
        loaded = lt.load(tmp_path / "model.lowtide")
        assert loaded.loss == loss
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(loaded.fit(X, y).predict_proba(X), model.predict_proba(X))


def test_loss_that_is_not_registered_is_refused(tmp_path):
    X, y = classes(n=80)
    model = classifier(loss=HuberHinge(), n_components=32, max_iter=2000, random_state=0).fit(X, y)
    with pytest.raises(LowtideError, match=r"Register its class first: lowtide.register\(HuberHinge\)"):
        lt.save(model, tmp_path / "model.lowtide")
    lt.register(HuberHinge)
    try:
        lt.save(model, tmp_path / "model.lowtide")
    finally:
        LOSSES.remove(HuberHinge)
    with pytest.raises(LowtideError, match="HuberHinge"):
        lt.load(tmp_path / "model.lowtide")
    with pytest.raises(ParameterError, match="loss must be one of 'auto', 'squared', 'logistic', 'squared_hinge'"):
        classifier(loss="huber_hinge").fit(X, y)


def test_loss_of_equal_rows_is_the_squared_one():
    # One code for all: there are no two halves to judge other losses by.
    model = lt.KernelClassifier(gamma=1.0, n_components=8, metric=None, random_state=0)
    model.fit(np.ones((20, 2)), np.arange(20) % 2)
    assert model.choice_.settings["loss"] == "squared"
