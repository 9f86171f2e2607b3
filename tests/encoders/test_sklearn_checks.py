"""scikit-learn's own checks, strictly: a failure, a skip or an expected failure is a failure here."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowtide import (
    ActivationFeatures,
    AsymmetricFeatures,
    AsymmetricNystroem,
    LearnedFeatures,
    PeriodicMap,
    RandomFeatures,
    Sketch,
    TernaryFeatures,
)
from lowtide.kernels import Bessel, Gaussian, ShiftGaussian, SignedMeasureKernel, SinhGaussian, Stable

ENCODERS = [
    RandomFeatures(n_components=64),
    RandomFeatures("matern", n_components=32, bits=None),
    RandomFeatures("rbf", gamma=0.3, n_components=32, bits=3, quantizer="stochastic"),
    RandomFeatures(Gaussian(2.0), n_components=40, feature_map="cosine", quantizer=PeriodicMap([0, 0.4, -0.1j])),
    Sketch(n_components=64),
    Sketch(n_components=33, bits=1, gamma=0.1, store_norms=True),
    AsymmetricFeatures(n_components=48, form="phase"),
    AsymmetricFeatures(SignedMeasureKernel(), n_components=33, allocation="optimal", bits=2),
    RandomFeatures("laplacian", projection="iid", feature_map="cosine", n_components=33, bits=2),
    RandomFeatures("rbf", projection="orthogonal", n_components=32, bits=None),
    RandomFeatures(Bessel(), projection="haar", n_components=32, bits=4, quantizer="uniform"),
    RandomFeatures(Stable(alpha=1.5), projection="iid", n_components=32, bits=8),
    Sketch(n_components=32, projection="iid", bits=3),
    Sketch(n_components=32, projection="orthogonal", bits=6, gamma=0.5),
    ActivationFeatures(n_components=33),
    AsymmetricFeatures(n_components=48, masses="fitted"),
    AsymmetricNystroem(ShiftGaussian(0.1, 2.0), n_components=20),
    AsymmetricFeatures(SinhGaussian(0.1), n_components=50, form="auto", bits=4, quantizer="phase"),
    AsymmetricFeatures(ShiftGaussian(0.1, 2.0), n_components=31, bits=None, allocation="optimal"),
]
LEARNED = [
    LearnedFeatures(n_components=64),
    LearnedFeatures("matern", n_bytes=8, n_components=33, bits=2),
    LearnedFeatures(measure="kernel", landmarks=30),
]
TERNARY = [
    TernaryFeatures(n_components=64, sparsity="auto"),
    TernaryFeatures("relu", n_components=33, sparsity=0.0),
    TernaryFeatures("abs", n_components=70, sparsity="auto"),
]


def run(check, estimator):
    try:
        check(estimator)
    except pytest.skip.Exception as skipped:
        raise AssertionError(f"{check} was skipped: {skipped}") from skipped


@parametrize_with_checks(ENCODERS)
def test_encoder_passes_scikit_learn(estimator, check):
    run(check, estimator)


@parametrize_with_checks(LEARNED)
def test_learned_features_pass_scikit_learn(estimator, check):
    run(check, estimator)


@parametrize_with_checks(TERNARY)
def test_ternary_features_pass_scikit_learn(estimator, check):
    run(check, estimator)
