"""A feature map that breaks its contract in one way fails its suite, with a sentence about that way."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from lowtide.kernels import Gaussian
from lowtide.maps import Arcsine, Cosine, CosSin
from lowtide.testing import check_feature_map


@dataclass(eq=False, repr=False)
class WrongMoments(Cosine):
    """Moments of a cosine of twice the size."""

    def moments(self, n_harmonics=8):
        honest = super().moments()
        return replace(honest, product=honest.product * 4)


@dataclass(eq=False, repr=False)
class WrongShift(CosSin):
    """Says minus sine, states the moments of a sine."""

    shifts = (0.0, 0.25)

    def moments(self, n_harmonics=8):
        return CosSin().moments()


class Flat(Arcsine):
    """The uniform law."""

    def cdf(self, x):
        return (1 + np.asarray(x)) / 2


@dataclass(eq=False, repr=False)
class WrongDensity(Cosine):
    """States a uniform law."""

    density = Flat()


@dataclass(eq=False, repr=False)
class TooMany(CosSin):
    """Asks for one frequency more than needed."""

    def n_frequencies(self, n_components):
        return n_components


@pytest.mark.parametrize(
    ("feature_map", "sentence"),
    [
        (WrongMoments(), r"moments\(\).product must be"),
        (WrongShift(), r"moments\(\).mean must be"),
        (WrongDensity(), "density.cdf must be the law"),
        (TooMany(), "n_frequencies must be just enough"),
        (Gaussian(), "must derive from lowtide.maps.FeatureMap"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_broken_feature_map_fails(feature_map, sentence):
    with pytest.raises(AssertionError, match=f"^{type(feature_map).__name__}: .*{sentence}"):
        check_feature_map(feature_map)
