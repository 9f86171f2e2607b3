"""Learners inside real scikit-learn objects."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from learners.samples import classes, classifier, curve, encoder, regressor
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_digits
from sklearn.ensemble import StackingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

from lowtide import RandomFeatures


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.4, random_state=0)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_grid_search_over_gamma_and_regularization(digits):
    X, X_test, y, y_test = digits
    model = classifier(RandomFeatures(n_components=256, random_state=0))
    grid = {"features__gamma": [1e-6, 1e-3], "C": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_["features__gamma"] == 1e-3
    assert search.best_estimator_.features_.gamma_ == 1e-3
    assert search.score(X_test, y_test) > 0.94


def test_grid_search_over_the_default_features(digits):
    X, _, y, _ = digits
    model = classifier(n_components=256, random_state=0)
    search = GridSearchCV(model, {"gamma": [1e-6, 1e-3], "bits": [1, 2]}, cv=2)
    assert search.fit(X, y).best_params_["gamma"] == 1e-3


def test_grid_search_in_a_pipeline_and_in_two_processes():
    X, y = classes(n=150)
    pipeline = make_pipeline(StandardScaler(), classifier(n_components=32, random_state=0))
    search = GridSearchCV(pipeline, {"kernelclassifier__C": [0.01, 1.0]}, cv=2, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.6


def test_grid_search_on_codes_keeps_the_frozen_encoder():
    X, y = classes(n=200)
    features = encoder(X, n_components=64)
    model = classifier(FrozenEstimator(features))
    search = GridSearchCV(model, {"C": [1e-4, 1.0], "loss": ["squared", "logistic"]}, cv=3).fit(features.encode(X), y)
    best = search.best_estimator_
    assert best.features_ is features
    np.testing.assert_array_equal(search.predict(X), search.predict(features.encode(X)))
    same = GridSearchCV(clone(model), {"C": [1e-4, 1.0], "loss": ["squared", "logistic"]}, cv=3).fit(X, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], same.cv_results_["mean_test_score"])


def test_codes_are_split_and_cross_validated_as_they_are():
    X, y = classes(n=200)
    C = encoder(X, n_components=64).encode(X)
    train, test, y_train, y_test = train_test_split(C, y, random_state=0)
    assert classifier().fit(train, y_train).score(test, y_test) > 0.7
    assert cross_val_score(classifier(), C, y, cv=3).min() > 0.6
    assert cross_val_predict(classifier(loss="logistic"), C, y, cv=3, method="predict_proba").shape == (200, 3)


def test_pipeline_scales_in_front(digits):
    X, X_test, y, y_test = digits
    model = make_pipeline(StandardScaler(), classifier(n_components=1024, random_state=0)).fit(X, y)
    assert model.score(X_test, y_test) > 0.94
    assert model[-1].n_features_in_ == 64


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_cross_val_score(loss):
    X, y = classes(n=200)
    assert cross_val_score(classifier(n_components=64, loss=loss, random_state=0), X, y, cv=3).mean() > 0.7
    target = X[:, 0] + X[:, 1] ** 2
    model = regressor(n_components=512, alpha="auto", random_state=0)
    assert cross_val_score(model, X, target, cv=3).mean() > 0.5


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_classifier(digits, method):
    X, X_test, y, y_test = digits
    model = classifier(n_components=512, random_state=0)
    calibrated = CalibratedClassifierCV(model, method=method, cv=3).fit(X, y)
    P = calibrated.predict_proba(X_test)
    assert np.mean(calibrated.classes_[P.argmax(axis=1)] == y_test) > 0.93
    if method == "sigmoid":
        # One curve for all classes is better than a sigmoid for each.
        assert log_loss(y_test, model.fit(X, y).predict_proba(X_test)) < log_loss(y_test, P)


def test_calibration_of_a_fitted_model():
    X, y = classes(n=200, k=2)
    fitted = classifier(n_components=64, random_state=0).fit(X[:100], y[:100])
    calibrated = CalibratedClassifierCV(FrozenEstimator(fitted)).fit(X[100:], y[100:])
    assert calibrated.score(X[100:], y[100:]) > 0.8


def test_clone_keeps_parameters_and_forgets_the_fit():
    X, y = classes()
    model = classifier(RandomFeatures(n_components=16, random_state=1), C=3.0, class_weight={0: 2.0}).fit(X, y)
    copy = clone(model)
    assert not hasattr(copy, "classes_")
    assert copy.get_params()["features__n_components"] == 16
    assert copy.C == 3.0
    np.testing.assert_array_equal(copy.fit(X, y).predict(X), model.predict(X))


def test_pandas_in_with_its_dtypes():
    X, y = classes()
    frame = pd.DataFrame(X, columns=list("abcde")).astype({"a": "float32"}).assign(f=np.arange(90) % 5)
    names = pd.Series(y).map({0: "x", 1: "y", 2: "z"}).astype("category")
    model = classifier(n_components=32, random_state=0).fit(frame, names)
    assert set(model.predict(frame)) <= {"x", "y", "z"}
    assert regressor(n_components=32).fit(frame, pd.Series(X[:, 0])).predict(frame).shape == (90,)


def test_set_output_does_not_reach_predictions():
    X, y = classes()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), classifier(n_components=32))
    model.fit(frame, y)
    assert type(model.predict(frame)) is np.ndarray
    assert model[-1].feature_names_in_.tolist() == list("abcde")
    with sklearn.config_context(transform_output="pandas"):
        plain = classifier(n_components=32, bits=None, random_state=0).fit(frame, y)
        assert type(plain.predict_proba(frame)) is np.ndarray


def test_sparse_rows_in_a_search():
    X, y = classes(n=120)
    rows = sparse.csr_array(np.where(X > 0.5, X, 0.0))
    assert GridSearchCV(classifier(n_components=32), {"C": [0.1, 1.0]}, cv=2).fit(rows, y).best_score_ > 0.4


def test_meta_estimators_take_learners():
    X, y = classes(n=150)
    model = classifier(n_components=64, random_state=0)
    assert OneVsRestClassifier(model).fit(X, y).score(X, y) > 0.7
    stack = StackingClassifier([("bits", model)], final_estimator=LogisticRegression(), cv=2).fit(X, y)
    assert stack.score(X, y) > 0.7
    X, z = curve()
    both = TransformedTargetRegressor(regressor(n_components=256), func=np.sinh, inverse_func=np.arcsinh)
    assert np.all(np.isfinite(both.fit(X, z).predict(X)))


def test_weights_are_routed_through_a_pipeline_and_a_search(routing):
    X, y = classes(n=120)
    weight = np.where(y == 0, 5.0, 1.0)
    model = classifier(n_components=32, gamma=0.1, random_state=0).set_fit_request(sample_weight=True)
    model.set_score_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipeline = make_pipeline(scaler, model).fit(X, y, sample_weight=weight)
    by_hand = clone(model).fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    np.testing.assert_array_equal(pipeline[-1].coef_, by_hand.coef_)
    search = GridSearchCV(make_pipeline(scaler, model), {"kernelclassifier__C": [1.0]}, cv=2)
    search.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(search.best_estimator_[-1].coef_, by_hand.coef_)


def test_weights_nobody_asked_for_are_refused(routing):
    X, y = classes()
    with pytest.raises(ValueError, match="sample_weight"):
        make_pipeline(classifier(n_components=32)).fit(X, y, sample_weight=np.ones(len(X)))


def test_partial_fit_requests_its_metadata(routing):
    model = classifier().set_partial_fit_request(classes=True, sample_weight=True)
    assert get_routing_for_object(model).partial_fit.requests == {"classes": True, "sample_weight": True}
