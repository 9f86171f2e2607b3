"""A kernel, a quantizer and a loss of one's own, registered: whoever loads a model with them imports this first."""

import math
from dataclasses import dataclass

import numpy as np

import lowtide as lt
from lowtide.kernels import Kernel
from lowtide.learners import Loss
from lowtide.quantizers import Quantizer, even_steps


@lt.register(name="cauchy")
@dataclass
class Cauchy(Kernel):
    """k(x, y) = 1 / (1 + |x - y|^2 / (2 scale^2)): a Gaussian kernel whose squared bandwidth varies."""

    scale: float = 1.0
    law = "joint"  # frequencies that only independent draws can carry: projection="iid"

    def radial(self, distance, n_features):
        return 1.0 / (1.0 + 0.5 * (np.asarray(distance) / self.scale) ** 2)

    def sample(self, rng, n_features, size):
        return rng.standard_normal((n_features, size)) * np.sqrt(rng.exponential(size=size)) / self.scale

    def mean_frequency_norm(self, n_features):
        ratio = math.exp(math.lgamma((n_features + 1) / 2) - math.lgamma(n_features / 2))
        return math.sqrt(math.pi / 2) * ratio / self.scale

    def mean_projection(self, n_features):
        return math.sqrt(0.5) / self.scale

    @classmethod
    def from_gamma(cls, gamma):
        return cls(scale=1.0 / math.sqrt(2.0 * gamma))


@lt.register(name="equal_shares")
@dataclass
class EqualShares(Quantizer):
    """Levels that are all equally likely: no bit is wasted on a level that hardly ever comes."""

    bits: int = 1

    def draw(self, feature_map, rng):
        # The cosine of a uniform phase is the sine of a uniform angle: equal steps of the angle are equal shares.
        angle = math.pi * (np.arange(2**self.bits + 1) / 2**self.bits - 0.5)
        values = -np.diff(np.cos(angle)) / np.diff(angle)
        return even_steps(values, np.sin(angle[1:-1]), feature_map.shifts)


@lt.register(name="smooth_hinge")
@dataclass
class SmoothHinge(Loss):
    """The hinge loss with its corner rounded: 0 beyond the margin, quadratic near it, linear below."""

    width: float = 0.5

    def value_and_gradient(self, F, Y, weight):
        slack = np.maximum(1.0 - Y * F, 0.0)
        near = slack < self.width
        value = np.where(near, slack**2 / (2 * self.width), slack - self.width / 2)
        slope = np.where(near, slack / self.width, 1.0)
        return float(np.sum(weight @ value)), -Y * slope * weight[:, None]
