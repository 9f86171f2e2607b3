"""A projection that breaks its contract in one way fails its suite, with a sentence about that way."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from lowtide.kernels import Gaussian, Laplace
from lowtide.projections import Blocks, DenseProjection, Iid, Orthogonal
from lowtide.testing import check_projection


class TooLong(Iid):
    """Frequencies 10% too long."""

    def lay_out(self, kernel, n_features, n_frequencies, rng):
        drawn = super().lay_out(kernel, n_features, n_frequencies, rng)
        return replace(drawn, matrix=drawn.matrix * np.float32(1.1))


class OneBlock(Iid):
    """Claims orthogonality that it does not have."""

    def lay_out(self, kernel, n_features, n_frequencies, rng):
        drawn = super().lay_out(kernel, n_features, n_frequencies, rng)
        sizes = tuple(min(n_features, n_frequencies - i) for i in range(0, n_frequencies, n_features))
        return replace(drawn, blocks=Blocks("free", n_features, sizes))


class Unseeded(Orthogonal):
    """Ignores the generator."""

    def lay_out(self, kernel, n_features, n_frequencies, rng):
        return super().lay_out(kernel, n_features, n_frequencies, np.random.default_rng())


class TooFew(Iid):
    """One frequency short."""

    def lay_out(self, kernel, n_features, n_frequencies, rng):
        return super().lay_out(kernel, n_features, max(1, n_frequencies - 1), rng)


class TakesAll(Orthogonal):
    """Carries kernels outside its laws."""

    def draw(self, kernel, n_features, n_frequencies, rng):
        if kernel.law in self.laws:
            return self.lay_out(kernel, n_features, n_frequencies, rng)
        return Iid().draw(kernel, n_features, n_frequencies, rng)


@dataclass(frozen=True)
class Shifted(DenseProjection):
    """Weights that are not what it projects with."""

    def weights(self):
        return super().weights() + np.float32(0.05)


@dataclass(frozen=True)
class Halved(DenseProjection):
    """Gradients of half their size."""

    def pull_back(self, values):
        return super().pull_back(values) / np.float32(2)


class WrongBack(Iid):
    """Draws `Halved`."""

    def lay_out(self, kernel, n_features, n_frequencies, rng):
        drawn = super().lay_out(kernel, n_features, n_frequencies, rng)
        return Halved(drawn.matrix, drawn.blocks)


class Forgetful(Iid):
    """Does not look at what a file kept."""

    def from_arrays(self, n_features, n_frequencies, arrays):
        return self.lay_out(Gaussian(), n_features, n_frequencies, np.random.default_rng(1))


class Trusting(Iid):
    """Takes whatever a file kept."""

    def from_arrays(self, n_features, n_frequencies, arrays):
        return DenseProjection(arrays["matrix"], Blocks("iid", n_features, (1,) * n_frequencies))


class WrongWeights(Iid):
    """Draws `Shifted`."""

    def lay_out(self, kernel, n_features, n_frequencies, rng):
        drawn = super().lay_out(kernel, n_features, n_frequencies, rng)
        return Shifted(drawn.matrix, drawn.blocks)


@pytest.mark.parametrize(
    ("projection", "sentence"),
    [
        (TooLong(), "mean cosine over draws must be the kernel"),
        (OneBlock(), "must be orthogonal"),
        (Unseeded(), "same generator must draw the same"),
        (TooFew(), "n_frequencies must be that of the draw"),
        (TakesAll(), "must refuse"),
        (WrongWeights(), "features must be cosines"),
        (WrongBack(), "pull_back\\(values\\) must be values weights"),
        (Forgetful(), "restore must give the frequencies whose arrays were kept"),
        (Trusting(), "restore must refuse matrix of another shape"),
        (Gaussian(), "must derive from lowtide.projections.Projection"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_broken_projection_fails(projection, sentence):
    with pytest.raises(AssertionError, match=f"^{type(projection).__name__}: .*{sentence}"):
        check_projection(projection, Gaussian())


def test_projection_fails_with_a_kernel_it_does_not_carry():
    with pytest.raises(AssertionError, match="laws must hold that of the kernel"):
        check_projection(Orthogonal(), Laplace())
