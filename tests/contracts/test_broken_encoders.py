"""An encoder that breaks its contract in one way fails its suite, with a sentence about that way."""

from dataclasses import replace

import numpy as np
import pytest

from lowtide import RandomFeatures
from lowtide.kernels import Gaussian
from lowtide.testing import check_encoder

X = np.random.default_rng(0).standard_normal((8, 5))


class Doubled(RandomFeatures):
    """A full side of float64."""

    def transform(self, X):
        return super().transform(X).astype(np.float64)


class Anonymous(RandomFeatures):
    """One fingerprint for all."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        vars(self.drawn_)["fingerprint"] = bytes(16)  # before the drawn value has worked out its own
        return self


class Restless(RandomFeatures):
    """Draws anew at each fit."""

    def fit(self, X, y=None, sample_weight=None):
        seed, self.random_state = self.random_state, None
        super().fit(X, y, sample_weight)
        self.random_state = seed
        return self


class Loud(RandomFeatures):
    """A full side 20% too large."""

    def transform(self, X):
        return super().transform(X) * np.float32(1.2)


class Misnamed(RandomFeatures):
    """Says that its frequencies are those of another kernel."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.drawn_ = replace(self.drawn_, kernel=Gaussian(2 * self.drawn_.kernel.bandwidth))
        return self


class Batchy(RandomFeatures):
    """Features that depend on the rows around them."""

    def transform(self, X):
        return super().transform(X - X.mean(axis=0) if len(X) else X)


@pytest.mark.parametrize(
    ("cls", "sentence"),
    [
        (Doubled, "transform must give float32"),
        (Anonymous, "another seed must give another fingerprint"),
        (Restless, "same seed must give the same fingerprint"),
        (Loud, "kernel_estimate must be the product of the sides"),
        (Misnamed, "within 6 standard errors"),
        (Batchy, "a row alone must give its features"),
    ],
)
def test_broken_encoder_fails(cls, sentence):
    with pytest.raises(AssertionError, match=f"^{cls.__name__}: .*{sentence}"):
        check_encoder(cls(gamma=0.1, n_components=2048, random_state=0), X)


def test_what_is_no_encoder_fails():
    with pytest.raises(AssertionError, match="must derive from lowtide.encoders.Encoder"):
        check_encoder(Gaussian(), X)
