"""The shipped suite passes on the learners, and fails on one that breaks its contract in one way."""

from dataclasses import replace

import numpy as np
import pytest
from learners.samples import CLASSIFIER, classes, classifier, curve, regressor

from lowtide import KernelClassifier, RandomFeatures
from lowtide.testing import check_learner

X, Y = classes(n=60)


@pytest.mark.parametrize(
    "learner",
    [
        classifier(n_components=32, random_state=0),
        classifier(n_components=32, loss="logistic", max_iter=2000, random_state=0),
        classifier(n_components=32, loss="squared_hinge", max_iter=2000, random_state=0),
        classifier(n_components=32, bits=4, fit_intercept=False, random_state=0),
        classifier(RandomFeatures("matern", n_components=20, bits=3, random_state=0), random_state=0),
        classifier(RandomFeatures(n_components=32, quantizer="phase", random_state=0), C=5.0, random_state=0),
    ],
)
def test_classifier_passes(learner):
    check_learner(learner, X, Y)


@pytest.mark.parametrize("learner", [regressor(n_components=32, random_state=0)])
def test_regressor_passes(learner):
    check_learner(learner, *curve(n=60))


class Deaf(KernelClassifier):
    """Does not hear weights."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y)


class Trusting(KernelClassifier):
    """Takes any codes for its own."""

    def _input(self, X, fewest=0):
        return self.decision_.template.with_rows(X.packed) if hasattr(X, "packed") else super()._input(X, fewest)


class Batchy(KernelClassifier):
    """Scores that depend on the rows around them."""

    def decision_function(self, X):
        scores = super().decision_function(X)
        return scores - scores.mean(axis=0) if len(scores) else scores


class Forgetful(KernelClassifier):
    """Loses its intercept in a pickle."""

    def __getstate__(self):
        decision = replace(self.decision_, intercept=np.zeros_like(self.intercept_))
        return {**super().__getstate__(), "decision_": decision}


class Restless(KernelClassifier):
    """Draws anew at each fit."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        shift = np.random.default_rng().uniform(1e-3, 1.0)
        self.decision_ = replace(self.decision_, intercept=self.intercept_ + shift)
        return self


class Contrary(KernelClassifier):
    """Probabilities of other classes."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


class LastBlock(KernelClassifier):
    """Remembers the last block only."""

    def _gather_sums(self, blocks, step):
        super()._gather_sums(iter(list(blocks)[-1:]), step)


@pytest.mark.parametrize(
    ("cls", "sentence"),
    [
        (Deaf, "a weight must count as that many rows"),
        (Trusting, "codes of another encoder must be refused"),
        (Batchy, "a row alone must get its score in a batch"),
        (Forgetful, "pickle must keep the model"),
        (Restless, "must"),  # which promise it breaks first depends on what it drew
        (Contrary, "the most probable class must be the predicted one"),
        (LastBlock, "an iterator of blocks must give the model of all rows"),
    ],
)
def test_broken_learner_fails(cls, sentence):
    with pytest.raises(AssertionError, match=f"^{cls.__name__}: .*({sentence})"):
        check_learner(cls(**CLASSIFIER | {"n_components": 32, "random_state": 0}), X, Y)
