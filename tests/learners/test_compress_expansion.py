"""The kernel sums read from fitted models are the models' own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

import lowtide as lt
from lowtide.errors import LowtideError
from lowtide.learners.expansion import expansion_of

FLOWERS, SPECIES = load_iris(return_X_y=True)
PATIENTS, PROGRESS = load_diabetes(return_X_y=True, scaled=False)
PATIENTS = ((PATIENTS - PATIENTS.mean(axis=0)) / PATIENTS.std(axis=0))[:60, :4]
PROGRESS = PROGRESS[:60] / 50.0
LENGTHS = np.array([1.0, 2.0, 4.0, 3.0])

GP_KERNELS = [
    RBF(2.0),
    ConstantKernel(3.0) * RBF(2.0) + WhiteKernel(0.5),
    RBF(LENGTHS) * 2.0 + 0.5 + WhiteKernel(0.5),
    (RBF(2.0) + 0.3) * ConstantKernel(2.0),
    2.0 * Matern(LENGTHS, nu=1.5) + WhiteKernel(0.1),
    Matern(2.0, nu=0.5),
    Matern(2.0, nu=3.2),
    Matern(2.0, nu=np.inf),
    PairwiseKernel(gamma=0.2, metric="laplacian"),
]


def assert_same_values(expansion, X, values):
    """Compare float64 sums: rounding grows with the size of their terms."""
    largest = np.abs(expansion.coef).sum(axis=0).max() + np.abs(expansion.intercept).max()
    scaled = X if expansion.scale is None else X / expansion.scale
    np.testing.assert_allclose(expansion.decision(scaled), values.reshape(len(X), -1), rtol=0, atol=1e-11 * largest)


@pytest.mark.parametrize("model", [SVC(gamma="scale"), SVC(gamma=0.3, C=4.0), NuSVC(nu=0.2, gamma="auto")])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_expansion_of_classifier_is_its_ovo_decision_function(model, n_classes):
    chosen = n_classes > SPECIES
    model.set_params(decision_function_shape="ovo").fit(FLOWERS[chosen], SPECIES[chosen])
    assert_same_values(expansion_of(model), FLOWERS, model.decision_function(FLOWERS))


def test_expansion_of_four_classes_keeps_the_order_of_pairs():
    labels = np.where(FLOWERS[:, 1] > 3.3, "wide", np.array(["a", "b", "c"])[SPECIES])
    model = SVC(decision_function_shape="ovo", class_weight="balanced").fit(FLOWERS, labels)
    expansion = expansion_of(model)
    assert expansion.coef.shape == (len(model.support_), 6)
    assert_same_values(expansion, FLOWERS, model.decision_function(FLOWERS))


@pytest.mark.parametrize("shape", [2, 3])
def test_expansion_of_classifier_fitted_on_sparse_rows(shape):
    chosen = shape > SPECIES
    rows = sparse.csr_matrix(FLOWERS[chosen] * (FLOWERS[chosen] > 1.0))
    model = SVC(decision_function_shape="ovo").fit(rows, SPECIES[chosen])
    expansion = expansion_of(model)
    assert sparse.issparse(expansion.rows)
    values = model.decision_function(rows).reshape(rows.shape[0], -1)
    np.testing.assert_allclose(expansion.decision(rows), values, rtol=0, atol=1e-11 * np.abs(expansion.coef).sum())


@pytest.mark.parametrize("model", [SVR(C=5.0), NuSVR(gamma=0.1), KernelRidge(kernel="rbf")])
def test_expansion_of_regressor_is_its_prediction(model):
    model.fit(PATIENTS, PROGRESS)
    assert_same_values(expansion_of(model), PATIENTS, model.predict(PATIENTS))


def test_expansion_of_detector_is_its_decision_function():
    model = OneClassSVM(nu=0.2, gamma=0.5).fit(FLOWERS)
    assert_same_values(expansion_of(model), FLOWERS, model.decision_function(FLOWERS))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("gamma", [None, 0.3])
def test_expansion_of_ridge_has_a_column_a_target(kernel, gamma):
    model = KernelRidge(kernel=kernel, gamma=gamma).fit(PATIENTS, np.column_stack([PROGRESS, PROGRESS**2]))
    assert_same_values(expansion_of(model), PATIENTS[:7], model.predict(PATIENTS[:7]))


@pytest.mark.parametrize("kernel", GP_KERNELS, ids=str)
def test_expansion_of_gaussian_process_is_its_mean_off_the_training_rows(kernel):
    model = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.1, normalize_y=True).fit(
        PATIENTS[:40], PROGRESS[:40]
    )
    assert_same_values(expansion_of(model), PATIENTS[40:], model.predict(PATIENTS[40:]))


def test_expansion_of_gaussian_process_with_two_targets_undoes_each_ones_scale():
    targets = np.column_stack([PROGRESS, 100.0 * PROGRESS**2])
    model = GaussianProcessRegressor(RBF(2.0), optimizer=None, alpha=0.1, normalize_y=True).fit(PATIENTS, targets)
    assert_same_values(expansion_of(model), PATIENTS, model.predict(PATIENTS))


def test_expansion_of_ridge_takes_a_gaussian_process_kernel():
    model = KernelRidge(kernel=2.0 * RBF(LENGTHS) + 0.5).fit(PATIENTS, PROGRESS)
    assert_same_values(expansion_of(model), PATIENTS, model.predict(PATIENTS))


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(1.0) + RBF(3.0),
        RBF(1.0) * Matern(3.0),
        RationalQuadratic(),
        DotProduct(),
        ExpSineSquared(),
        RBF(1.0) ** 2,
        ConstantKernel(2.0) + WhiteKernel(1.0),
        PairwiseKernel(metric="cosine"),
    ],
    ids=str,
)
def test_compress_refuses_a_gaussian_process_kernel_without_features(kernel):
    model = GaussianProcessRegressor(kernel, optimizer=None, alpha=20.0).fit(PATIENTS, PROGRESS)
    with pytest.raises(LowtideError, match=r"compress: .*KernelRegressor"):
        lt.compress(model)


@pytest.mark.parametrize(
    ("model", "way_out"),
    [
        (SVC(kernel="linear"), "weight vector"),
        (SVC(kernel="poly"), "kernel='rbf'"),
        (SVC(kernel="sigmoid"), "kernel='rbf'"),
        (SVC(kernel=lambda X, Y: X @ Y.T), "kernel='rbf'"),
        (KernelRidge(kernel="linear"), "weight vector"),
        (KernelRidge(kernel="cosine"), "kernel='rbf'"),
        (SVC(gamma=0.0), "refit"),
        (LinearSVC(), "KernelClassifier"),
        (RandomForestClassifier(n_estimators=2), "KernelClassifier"),
        (GridSearchCV(SVC(), {"C": [1.0]}, cv=2), "best_estimator_"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_compress_refuses_other_kernels_and_models_with_a_way_out(model, way_out):
    with pytest.raises(LowtideError, match=f"compress: .*{way_out}"):
        lt.compress(model.fit(FLOWERS, SPECIES))


def test_compress_refuses_a_precomputed_kernel():
    model = SVC(kernel="precomputed").fit(FLOWERS @ FLOWERS.T, SPECIES)
    with pytest.raises(LowtideError, match="got 'precomputed'"):
        lt.compress(model)


@pytest.mark.parametrize("model", [SVC(), SVR(), KernelRidge(kernel="rbf"), GaussianProcessRegressor(RBF())])
def test_compress_refuses_a_model_before_fit(model):
    with pytest.raises(NotFittedError, match=f"got {type(model).__name__} before fit"):
        lt.compress(model)
