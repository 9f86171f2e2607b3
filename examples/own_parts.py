"""Three parts of your own: a kernel, a quantizer and a loss, used, saved, loaded and served like lowtide's.

A part is a dataclass of hyperparameters that derives from its stage's contract; `lowtide.register` gives it a name.
Files hold the name and the parameters, never code: whoever loads one imports this module first. On the command line,
`lowtide --import own_parts serve model.lowtide` does that.
"""

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import lowtide as lt
from lowtide.kernels import Kernel
from lowtide.quantizers import Quantizer, even_steps


@lt.register(name="cauchy")
@dataclass
class Cauchy(Kernel):
    """k(x, y) = 1 / (1 + |x - y|^2 / (2 scale^2)): a Gaussian kernel whose squared frequencies are exponential."""

    scale: float = 1.0
    law = "joint"  # only independent draws carry it

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
    """Levels that are all equally likely: the most information a bit can hold."""

    bits: int = 1

    def draw(self, feature_map, rng):
        angle = math.pi * (np.arange(2**self.bits + 1) / 2**self.bits - 0.5)  # the cosine is sin of a uniform angle
        values = -np.diff(np.cos(angle)) / np.diff(angle)
        return even_steps(values, np.sin(angle[1:-1]), feature_map.shifts)
