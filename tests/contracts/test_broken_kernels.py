"""A kernel that breaks its contract in one way fails its suite, with a sentence about that way."""

import numpy as np
import pytest

from lowtide.kernels import Gaussian, Laplace, Matern
from lowtide.maps import Cosine
from lowtide.testing import check_kernel


class WrongSampling(Gaussian):
    """Frequencies 3% too short."""

    def sample(self, rng, n_features, size):
        return 0.97 * super().sample(rng, n_features, size)


class WrongAtZero(Gaussian):
    """Not 1 at distance 0."""

    def radial(self, distance, n_features):
        return 0.9 * super().radial(distance, n_features)


class WrongShape(Gaussian):
    """Frequencies in rows."""

    def sample(self, rng, n_features, size):
        return super().sample(rng, n_features, size).T


class NotPositive(Gaussian):
    """A box, which is no kernel."""

    def radial(self, distance, n_features):
        return np.where(np.asarray(distance, dtype=np.float64) < 1.0, 1.0, 0.0)


class WrongLengths(Matern):
    """Lengths of a Gaussian."""

    def length_quantile(self, q, dimension):
        return Gaussian(self.length_scale).length_quantile(q, dimension)


class WrongLaw(Laplace):
    """Claims rotation invariance that it does not have."""

    law = "gaussian_mixture"

    def length_quantile(self, q, dimension):
        return np.ones(np.shape(q))


class WrongMean(Gaussian):
    """Too small a mean length."""

    def mean_frequency_norm(self, n_features):
        return 0.9 * super().mean_frequency_norm(n_features)


class OwnRandomness(Gaussian):
    """Ignores the generator."""

    def sample(self, rng, n_features, size):
        return np.random.default_rng().standard_normal((n_features, size))


class Lopsided(Gaussian):
    """Frequencies of one sign: the mean sine is not 0."""

    def sample(self, rng, n_features, size):
        return np.abs(super().sample(rng, n_features, size))


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (WrongSampling(), "mean cosine over frequencies must be the kernel"),
        (WrongAtZero(), r"radial\(0\) must be 1"),
        (WrongShape(), "frequencies in columns"),
        (NotPositive(), "positive semidefinite"),
        (WrongLengths(), "length_quantile must be the law of sampled lengths"),
        (WrongLaw(), "length_quantile must be the law"),
        (WrongMean(), "mean_frequency_norm must"),
        (OwnRandomness(), "all its randomness from the generator"),
        (Lopsided(), "mean sine|mean cosine"),
        (Cosine(), "must derive from lowtide.kernels.Kernel"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_broken_kernel_fails(kernel, sentence):
    with pytest.raises(AssertionError, match=f"^{type(kernel).__name__}: .*{sentence}"):
        check_kernel(kernel)
