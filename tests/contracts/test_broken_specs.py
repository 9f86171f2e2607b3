"""A spec that breaks its contract in one way fails the check, with a sentence about that way."""

from dataclasses import dataclass

import pytest

from lowtide.kernels import Kernel
from lowtide.maps import FeatureMap
from lowtide.projections import Projection
from lowtide.quantizers import Quantizer
from lowtide.spec import Spec
from lowtide.testing import check_spec


@dataclass(eq=False, repr=False)
class Rewriting(Spec):
    """Changes its argument."""

    size: float = 1.5

    def __post_init__(self):
        self.size = self.size * 2


@dataclass(eq=False, repr=False)
class Unwritable(Spec):
    """Loses a parameter in its configuration."""

    size: float = 1.5

    def to_config(self):
        return {"type": "Unwritable"}

    def comparison_key(self):
        return str(self.size)


@pytest.mark.parametrize(("spec", "sentence"), [(Rewriting(), "clone"), (Unwritable(2.0), "survive JSON")])
def test_broken_spec_fails(spec, sentence):
    with pytest.raises((AssertionError, RuntimeError), match=sentence):
        check_spec(spec)


@pytest.mark.parametrize("base", [Kernel, Projection, FeatureMap, Quantizer])
def test_every_stage_has_a_contract_to_derive_from(base):
    assert issubclass(base, Spec)
