"""scikit-learn's own checks, strictly: a failure, a skip or an expected failure is a failure here."""

import pytest
from learners.samples import classifier, regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowtide import (
    AsymmetricFeatures,
    AsymmetricLSSVC,
    CodePCA,
    KernelClassifier,
    KernelRegressor,
    RandomFeatures,
    Sketch,
    SketchSearchCV,
)

FIXED = {"n_components": 64}
CLASSIFIERS = [
    # Settings that the data choose, and settings that are given.
    KernelClassifier(),
    classifier(**FIXED),
    classifier(**FIXED, loss="logistic"),
    classifier(**FIXED, loss="squared_hinge"),
    classifier(**FIXED, loss="hinge"),
    classifier(**FIXED, multi_class="ovo"),
    classifier(RandomFeatures(n_components=64, bits=2, random_state=0), predict_on="full"),
    classifier(AsymmetricFeatures(n_components=64, form="phase", bits=None, random_state=0)),
    AsymmetricLSSVC(AsymmetricFeatures(n_components=64, form="phase", random_state=0), system="ask_ls"),
    AsymmetricLSSVC(AsymmetricFeatures(n_components=64, form="phase", bits=None, random_state=0)),
]
REGRESSORS = [
    KernelRegressor(),
    regressor(**FIXED),
    regressor(**FIXED, bits=None),
]
COMPONENTS = [
    CodePCA(),
    CodePCA(features=RandomFeatures(n_components=64, bits=None, random_state=0), whiten=True),
]
GRID = {"gamma": [0.3, 3.0]}
SEARCHES = [
    SketchSearchCV(param_grid={**GRID, "C": [1.0, 10.0]}, sketch=Sketch(32, random_state=0), cv=2),
    SketchSearchCV(classifier(loss="logistic"), param_grid=GRID, sketch=Sketch(16, bits=4, random_state=0), cv=2),
    SketchSearchCV(regressor(), param_grid={**GRID, "alpha": [0.1]}, sketch=Sketch(32, random_state=0), cv=2),
]


def run(check, estimator):
    try:
        check(estimator)
    except pytest.skip.Exception as skipped:
        raise AssertionError(f"{check} was skipped: {skipped}") from skipped


@parametrize_with_checks(CLASSIFIERS)
def test_classifier_passes_scikit_learn(estimator, check):
    run(check, estimator)


@parametrize_with_checks(REGRESSORS)
def test_regressor_passes_scikit_learn(estimator, check):
    run(check, estimator)


@parametrize_with_checks(COMPONENTS)
def test_components_pass_scikit_learn(estimator, check):
    run(check, estimator)


@parametrize_with_checks(SEARCHES)
def test_search_passes_scikit_learn(estimator, check):
    run(check, estimator)
