"""Learners on a sketch: as features of one gamma, and on codes with any codebook of it."""

import numpy as np
import pytest
from learners.samples import classes, classifier, regressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import lowtide as lt
from lowtide.errors import CodeLayoutError, FingerprintMismatchError

X, Y = classes(n=120)


def sketch(**parameters):
    return lt.Sketch(**{"n_components": 48, "random_state": 0, **parameters})


@pytest.mark.parametrize(
    ("train_on", "predict_on"), [(None, None), ("full", "codes"), ("codes", "full"), ("full", "full")]
)
@pytest.mark.parametrize("gamma", [None, 0.5])
def test_learners_take_a_sketch_on_both_sides(gamma, train_on, predict_on):
    model = classifier(sketch(gamma=gamma), train_on=train_on, predict_on=predict_on).fit(X, Y)
    assert model.coef_.shape == (3, 48 if gamma is None else 96)
    assert model.score(X, Y) > 0.8


def test_gamma_of_the_features_can_be_searched():
    search = GridSearchCV(classifier(sketch(gamma=1.0)), {"features__gamma": [0.01, 1.0]}, cv=3).fit(X, Y)
    assert search.best_estimator_.features_.gamma_ in (0.01, 1.0)
    one_by_one = [
        GridSearchCV(classifier(sketch(gamma=g)), {"C": [1.0]}, cv=3).fit(X, Y).best_score_ for g in (0.01, 1.0)
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], one_by_one)


def test_full_side_goes_into_scikit_learns_models():
    assert make_pipeline(sketch(gamma=0.5), RidgeClassifier()).fit(X, Y).score(X, Y) > 0.8


@pytest.mark.parametrize("wrap", [lambda fitted: fitted, FrozenEstimator])
def test_model_of_fourier_codes_predicts_from_any_codebook_and_from_rows(wrap):
    fitted = sketch().fit(X)
    S = fitted.encode(X)
    model = classifier(wrap(fitted)).fit(fitted.fourier(S, 0.5), Y)
    truth = classifier(sketch(gamma=0.5)).fit(X, Y).decision_function(X)
    for rows in (S, fitted.fourier(S, 0.5), fitted.fourier(S, 3.0), X):
        np.testing.assert_allclose(model.decision_function(rows), truth, atol=1e-9)


def test_model_of_rows_predicts_from_stored_codes_of_any_codebook():
    fitted = sketch().fit(X)
    model = classifier(sketch(gamma=0.5)).fit(X, Y)
    for codes in (fitted.encode(X), fitted.fourier(fitted.encode(X), 2.0)):
        np.testing.assert_array_equal(model.predict(codes), model.predict(X))


def test_fitting_again_on_rows_forgets_the_codebook_of_codes():
    fitted = sketch().fit(X)
    model = classifier(fitted).fit(fitted.fourier(fitted.encode(X), 0.5), Y)
    assert model.fit(X, Y).coef_.shape == (3, 48)
    np.testing.assert_array_equal(model.predict(fitted.fourier(fitted.encode(X), 0.5)), model.predict(X))


def test_blocks_of_codes_are_brought_to_the_first_ones_codebook():
    fitted = sketch().fit(X)
    S = fitted.encode(X)
    model = classifier()
    model.partial_fit(fitted.fourier(S[:60], 0.5), Y[:60], classes=[0, 1, 2]).partial_fit(S[60:], Y[60:])
    whole = classifier().fit(fitted.fourier(S, 0.5), Y)
    np.testing.assert_allclose(model.decision_function(S), whole.decision_function(S), atol=1e-8)


def test_linear_model_of_rows_as_they_came_takes_the_norms():
    fitted = sketch(n_components=2048, store_norms=True).fit(X)
    S, y = fitted.encode(X), X @ np.arange(1.0, 6.0)
    model = regressor(fitted, alpha=1e-3).fit(fitted.linear(S), y)
    assert model.score(S, y) > 0.99
    np.testing.assert_array_equal(model.predict(X), model.predict(S))
    with pytest.raises(CodeLayoutError, match="norms must be kept"):
        model.predict(sketch(n_components=2048).fit(X).encode(X))


def test_codes_of_another_sketch_are_refused():
    model = classifier(sketch(gamma=0.5)).fit(X, Y)
    with pytest.raises(FingerprintMismatchError):
        model.predict(sketch(random_state=1).fit(X).encode(X))
