"""The shipped suite passes on the learners, and fails on one that breaks its contract in one way."""

import numpy as np
import pytest
from learners.samples import classes, curve

from lowtide import KernelClassifier, KernelRegressor, RandomFeatures
from lowtide.testing import check_learner

X, Y = classes(n=60)


@pytest.mark.parametrize(
    "learner",
    [
        KernelClassifier(n_components=32, random_state=0),
        KernelClassifier(n_components=32, loss="logistic", max_iter=2000, random_state=0),
        KernelClassifier(n_components=32, loss="squared_hinge", max_iter=2000, random_state=0),
        KernelClassifier(n_components=32, bits=4, fit_intercept=False, random_state=0),
        KernelClassifier(RandomFeatures("matern", n_components=20, bits=3, random_state=0), random_state=0),
        KernelClassifier(RandomFeatures(n_components=32, quantizer="phase", random_state=0), C=5.0, random_state=0),
    ],
)
def test_classifier_passes(learner):
    check_learner(learner, X, Y)


@pytest.mark.parametrize("learner", [KernelRegressor(n_components=32, random_state=0)])
def test_regressor_passes(learner):
    check_learner(learner, *curve(n=60))


class Deaf(KernelClassifier):
    """Does not hear weights."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y)


class Trusting(KernelClassifier):
    """Takes any codes for its own."""

    def _scores(self, X, only_ahead=False):
        return super()._scores(_as_own(X, self._fingerprint))


def _as_own(X, fingerprint):
    if hasattr(X, "packed"):
        return type(X)(X.packed, bits=X.bits, n_levels=X.n_levels, codebook=X.codebook, fingerprint=fingerprint)
    return X


class Batchy(KernelClassifier):
    """Scores that depend on the rows around them."""

    def _scores(self, X, only_ahead=False):
        scores = super()._scores(X)
        return scores - scores.mean(axis=0) if len(scores) else scores


class Forgetful(KernelClassifier):
    """Loses its intercept in a pickle."""

    def __getstate__(self):
        return {**super().__getstate__(), "intercept_": np.zeros_like(self.intercept_)}


class Restless(KernelClassifier):
    """Draws anew at each fit."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.intercept_ = self.intercept_ + np.random.default_rng().uniform(1e-3, 1.0)
        return self


class Contrary(KernelClassifier):
    """Probabilities of other classes."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


class LastBlock(KernelClassifier):
    """Remembers the last block only."""

    def _gather_sums(self, blocks, progress):
        super()._gather_sums(iter(list(blocks)[-1:]), progress)


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
        check_learner(cls(n_components=32, random_state=0), X, Y)
