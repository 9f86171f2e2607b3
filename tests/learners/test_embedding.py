"""Learners learn on the embedding of an encoder that has one, and refuse to mix it with another side."""

import numpy as np
import pytest
from learners.samples import classifier, regressor
from sklearn.linear_model import Ridge

import lowtide as lt
from lowtide import AsymmetricFeatures
from lowtide.errors import ParameterError
from lowtide.kernels import Gaussian, ShiftGaussian

RNG = np.random.default_rng(4)
X = RNG.standard_normal((80, 3))
CURVE = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
LABELS = np.where(CURVE > 0, "up", "down")


def features(kernel=None, **parameters):
    kernel = ShiftGaussian(0.4) if kernel is None else kernel
    return AsymmetricFeatures(kernel, **{"n_components": 90, "bits": None, "random_state": 0, **parameters})


def test_full_side_of_a_learner_is_the_embedding():
    model = regressor(features(), alpha=0.5).fit(X, CURVE)
    encoder = model.features_
    E = encoder.embed(X).astype(np.float64)
    assert E.shape[1] > encoder.transform(X).shape[1]
    assert model.coef_.shape[-1] == E.shape[1]
    np.testing.assert_allclose(model.predict(X), Ridge(alpha=0.5).fit(E, CURVE).predict(E), atol=1e-7)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_classifier_learns_on_it_and_files_keep_it(loss, tmp_path):
    model = classifier(features(), loss=loss, C=10.0, max_iter=2000).fit(X, LABELS)
    assert model.score(X, LABELS) > 0.9
    lt.save(model, tmp_path / "m.lowtide", weights="float64")
    np.testing.assert_allclose(lt.load(tmp_path / "m.lowtide").decision_function(X), model.decision_function(X))


def test_codes_of_the_left_side_can_be_learned_from():
    model = classifier(features(bits=1, n_components=900)).fit(X, LABELS)
    assert model.coef_.shape == (1, 900)
    assert model.score(X, LABELS) > 0.9
    same = classifier(model.features_).fit(model.features_.encode(X), LABELS)
    np.testing.assert_allclose(same.decision_function(X), model.decision_function(X), atol=1e-9)


def test_codes_and_embedding_are_not_mixed():
    with pytest.raises(ParameterError, match="must be one side"):
        classifier(features(bits=1), predict_on="full").fit(X, LABELS)
    # Without a skew block the embedding is the full side, and any two sides go together.
    classifier(features(Gaussian(), bits=1), predict_on="full").fit(X, LABELS)
