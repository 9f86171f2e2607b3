"""Equal cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowtide._checks import check_integer
from lowtide.maps import FeatureMap
from lowtide.quantizers.base import Quantizer
from lowtide.quantizers.steps import PhaseSteps, even_steps

__all__ = ["Uniform"]


@dataclass(eq=False, repr=False)
class Uniform(Quantizer):
    """2^bits equal cells of the map's interval, decoded at their middles up to the unbiased scale.

    Parameters
    ----------
    bits : int, default=1
        1 to 8.

    Examples
    --------
    >>> from lowtide.maps import Cosine
    >>> drawn = Uniform(bits=2).draw(Cosine(), np.random.default_rng(0))
    >>> (drawn.codebook / drawn.codebook[-1]).round(4)
    array([-1.    , -0.3333,  0.3333,  1.    ])
    """

    bits: int = 1

    def check(self) -> None:
        """Refuse bits outside 1 to 8."""
        check_integer("Uniform", "bits", self.bits, 1, 8, "Above 8 bits keep float features: bits=None.")

    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> PhaseSteps:
        """Return the quantizer of the map's components; nothing is random."""
        low, high = feature_map.density.interval
        edges = np.linspace(low, high, 2**self.bits + 1)
        return even_steps((edges[:-1] + edges[1:]) / 2, edges[1:-1], feature_map.shifts)
