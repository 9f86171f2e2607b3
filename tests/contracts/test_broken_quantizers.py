"""A quantizer that breaks its contract in one way fails its suite, with a sentence about that way."""

from dataclasses import replace

import numpy as np
import pytest

from lowtide.kernels import Gaussian
from lowtide.maps import Cosine, CosSin
from lowtide.quantizers import LloydMax, Phase, Stochastic
from lowtide.testing import check_quantizer


class Altered(LloydMax):
    """A Lloyd-Max quantizer of which `changes` are altered once drawn."""

    def changes(self, drawn):
        raise NotImplementedError

    def draw(self, feature_map, rng):
        drawn = super().draw(feature_map, rng)
        return replace(drawn, **self.changes(drawn))


class Biased(Altered):
    """Decodes to 1% too much, and knows it."""

    def changes(self, drawn):
        steps = tuple(replace(f, values=f.values * 1.01) for f in drawn.components)
        return {"codebook": drawn.codebook * 1.01, "components": steps}


class Unknowing(Altered):
    """Decodes to 3% too much, and does not know it."""

    def changes(self, drawn):
        return {"codebook": drawn.codebook * 1.03}


class Moved(Altered):
    """Borders off by a hundredth of a turn."""

    def changes(self, drawn):
        return {"borders": drawn.borders + np.float32(0.01)}


class ShortBook(Altered):
    """A codebook without its last entry."""

    def changes(self, drawn):
        return {"codebook": drawn.codebook[:-1]}


class Wandering(Altered):
    """Another quantizer at each draw."""

    def changes(self, drawn):
        return {"borders": drawn.borders + np.float32(1e-4 * np.random.default_rng().random())}


class Forgetful(Stochastic):
    """Takes a seed of its own in place of the kept one."""

    def restore(self, feature_map, arrays):
        return self.draw(feature_map, np.random.default_rng(1))


class OneShift(Altered):
    """Leaves the sine without a level."""

    def changes(self, drawn):
        return {"shifts": drawn.shifts[:1]}


@pytest.mark.parametrize(
    ("quantizer", "sentence"),
    [
        (Biased(2), "carry the kernel once, got 1.01 times"),
        (Unknowing(2), r"moments\(\).* must be what decoded levels have"),
        (Moved(2), r"moments\(\).* must be what decoded levels have"),
        (ShortBook(2), r"codebook must have 2\^bits entries"),
        (Wandering(2), "same generator must draw the same"),
        (Forgetful(2), "restore must give the quantizer whose arrays were kept"),
        (OneShift(2), "every component a value"),
        (Gaussian(), "must derive from lowtide.quantizers.Quantizer"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_broken_quantizer_fails(quantizer, sentence):
    with pytest.raises(AssertionError, match=f"^{type(quantizer).__name__}: .*{sentence}"):
        check_quantizer(quantizer, CosSin())


def test_phase_against_the_cosine_is_refused_by_the_part_itself():
    with pytest.raises(ValueError, match="feature_map must be 'cos_sin'"):
        check_quantizer(Phase(2), Cosine())
