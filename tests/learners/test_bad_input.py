"""Bad input ends in a sentence that says what must hold, what came and what to do."""

import warnings

import numpy as np
import pytest
from learners.samples import classes, classifier, curve, regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from lowtide import AsymmetricLSSVC, CodePCA, KernelClassifier, KernelRegressor, RandomFeatures
from lowtide.errors import LowtideError, ParameterError

LOSSES = ["squared", "logistic", "squared_hinge", "hinge"]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {"loss": "absolute"},
            "loss must be one of 'auto', .* or a Loss object, got 'absolute'",
        ),
        ({"multi_class": "all"}, "multi_class must be one of 'auto', 'ovr', 'joint', 'ovo', got 'all'"),
        ({"C": 0}, r"C must be a finite number above 0, got 0\. Or let it be chosen: C='auto'"),
        ({"C": -1.0}, "C must be a finite number above 0, got -1.0"),
        ({"C": np.inf}, "C must be a finite number above 0, got inf"),
        ({"C": np.nan}, "C must be a finite number above 0, got nan"),
        ({"C": "best"}, "C must be a finite number above 0, got 'best'"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1, got 0"),
        ({"tol": 0.0}, "tol must be a finite number above 0, got 0.0"),
        ({"n_components": 0}, "n_components must be an integer of at least 1, got 0"),
        ({"bits": 9}, "bits must be an integer from 1 to 8, got 9"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"train_on": "bits"}, "train_on must be one of 'codes', 'full', got 'bits'"),
        ({"bits": None, "predict_on": "codes"}, "predict_on must be 'full' for features without a coded side"),
        ({"class_weight": {7: 1.0}}, r"class_weight must name classes of y, \[0, 1, 2\], got \[7\]"),
        ({"class_weight": {7: 1.0, "a": 1.0}}, r"class_weight must name classes of y, \[0, 1, 2\], got \[7, 'a'\]"),
        ({"class_weight": "even"}, "class_weight must be a dict, 'balanced' or None, got 'even'"),
        ({"class_weight": {1: -1.0}}, "each class_weight must be a finite number of at least 0, got -1.0"),
        ({"class_weight": {1: np.nan}}, "each class_weight must be a finite number of at least 0, got nan"),
        ({"class_weight": {1: np.inf}}, "each class_weight must be a finite number of at least 0, got inf"),
        ({"class_weight": {1: "2"}}, "each class_weight must be a finite number of at least 0, got '2'"),
        ({"class_weight": dict.fromkeys(range(3), 0.0)}, "class_weight must leave some weight to the rows"),
    ],
)
def test_classifier_refuses_parameters(parameters, sentence):
    X, y = classes()
    with pytest.raises(ParameterError, match=sentence):
        classifier(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"alpha": 0.0}, r"alpha must be a finite number above 0, got 0\.0\. Or let it be chosen: alpha='auto'"),
        ({"alpha": "C"}, "alpha must be a finite number above 0, got 'C'"),
        ({"predict_on": "both"}, "predict_on must be one of 'codes', 'full', got 'both'"),
    ],
)
def test_regressor_refuses_parameters(parameters, sentence):
    X, y = curve()
    with pytest.raises(ParameterError, match=sentence):
        regressor(**parameters).fit(X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_class_is_refused(loss):
    X, _ = classes()
    with pytest.raises(ParameterError, match=r"y must have at least two classes, got 'one class, \[3\]'"):
        classifier(loss=loss).fit(X, np.full(len(X), 3))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("model", [classifier(n_components=16), regressor(n_components=16)])
def test_rows_and_targets_that_are_not_finite_are_refused(model, bad):
    X, y = classes()
    broken = X.copy()
    broken[3, 2] = bad
    with pytest.raises(ValueError, match="NaN|infinity"):
        model.fit(broken, y)
    fitted = model.fit(X, y)
    for rows in (broken, broken.astype(np.float32), broken[3:4]):
        with pytest.raises(ValueError, match="NaN|infinity"):
            fitted.predict(rows)
    targets = y.astype(float)
    targets[0] = bad
    with pytest.raises(ValueError, match="NaN|infinity|Unknown label type"):
        model.fit(X, targets)


@pytest.mark.parametrize("model", [classifier(n_components=16), regressor(n_components=16)])
def test_shapes_that_do_not_fit_are_refused(model):
    X, y = classes()
    fitted = model.fit(X, y)
    with pytest.raises(ValueError, match="4 features"):
        fitted.predict(X[:, :4])
    with pytest.raises(ValueError, match="2D"):
        fitted.predict(X[0])
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, y[1:])
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="requires y"):
        model.fit(X)


@pytest.mark.parametrize("model", [classifier(n_components=16), regressor(n_components=16)])
@pytest.mark.parametrize(
    ("weight", "sentence"),
    [(-np.ones(90), "[Nn]egative"), (np.ones(89), "shape"), (np.full(90, np.nan), "NaN"), (np.zeros(90), "zero")],
    ids=["negative", "short", "nan", "zero"],
)
def test_weights_that_mean_nothing_are_refused(model, weight, sentence):
    X, y = classes()
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
def test_nothing_is_predicted_before_fit(method):
    X, _ = classes()
    with pytest.raises(NotFittedError):
        getattr(classifier(), method)(X)


def test_frozen_encoder_must_be_fitted_on_as_many_columns():
    X, y = classes()
    with pytest.raises(NotFittedError):
        classifier(FrozenEstimator(RandomFeatures())).fit(X, y)
    narrow = RandomFeatures(n_components=16).fit(X[:, :3])
    with pytest.raises(ValueError, match="3 features"):
        classifier(FrozenEstimator(narrow)).fit(X, y)


@pytest.mark.parametrize("model", [KernelClassifier, KernelRegressor, AsymmetricLSSVC, CodePCA])
@pytest.mark.parametrize("features", ["rbf", LogisticRegression(), FrozenEstimator(LogisticRegression())], ids=repr)
def test_features_that_are_no_encoder_are_refused(model, features):
    X, y = classes()
    with pytest.raises(ParameterError, match=rf"{model.__name__}: features must be None or an encoder, got "):
        model(features=features).fit(X, y)


def test_warm_start_refuses_another_number_of_columns():
    X, y = classes()
    model = classifier(n_components=16, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="5 features"):
        model.fit(X[:, :3], y)


@pytest.mark.parametrize(
    ("loss", "measure"),
    [("logistic", "the gradient"), ("squared_hinge", "the gradient"), ("hinge", "the relative duality gap")],
)
def test_too_few_iterations_warn_at_the_caller(loss, measure):
    X, y = classes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = classifier(n_components=32, loss=loss, max_iter=2, random_state=0).fit(X, y)
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    assert f"stopped at max_iter=2 before {measure} fell below tol=0.0001. Raise max_iter" in str(warning.message)
    assert warning.filename == __file__
    assert model.n_iter_ == 2
    assert np.all(np.isfinite(model.decision_function(X)))


def test_a_failed_fit_leaves_no_model_behind():
    X, _y = classes()
    model = classifier(n_components=16)
    with pytest.raises(LowtideError):
        model.fit(X, np.zeros(len(X)))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_constant_columns_and_constant_rows_are_valid():
    X, y = classes()
    X[:, 1] = 4.0
    assert classifier(n_components=32, random_state=0).fit(X, y).score(X, y) > 0.5
    constant = np.ones((10, 3))
    for loss in LOSSES:
        P = classifier(n_components=8, loss=loss).fit(constant, np.arange(10) % 2).predict_proba(constant)
        np.testing.assert_allclose(P, 0.5, rtol=0, atol=1e-6)
    for alpha in (1.0, "auto"):
        values = regressor(n_components=8, alpha=alpha).fit(constant, np.arange(10.0)).predict(constant)
        np.testing.assert_allclose(values, 4.5, rtol=1e-9)


def test_regressor_takes_a_single_row():
    for alpha in (1.0, "auto"):
        for n_components in (16, 512):
            model = regressor(n_components=n_components, alpha=alpha).fit([[1.0, 2.0]], [3.0])
            assert model.predict([[5.0, 5.0]]) == pytest.approx(3.0)
