"""Quantizers of equal cells: of the cosine, and of the circle of phases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lowtide._checks import fail
from lowtide.maps import FeatureMap
from lowtide.quantizers.base import PhaseSteps, Quantizer, StepFunction, even_steps

__all__ = ["Phase", "Uniform"]


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

    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> PhaseSteps:
        """Return the quantizer of the map's components; nothing is random."""
        low, high = feature_map.density.interval
        edges = np.linspace(low, high, 2**self.bits + 1)
        return even_steps((edges[:-1] + edges[1:]) / 2, edges[1:-1], feature_map.shifts)


@dataclass(eq=False, repr=False)
class Phase(Quantizer):
    """M = 2^bits equal arcs of the circle: one level a frequency, decoded to (cos, sin) of the arc's middle over F_1.

    F_1 = (M/pi) sin(pi/M). Two bits are the signs of the cosine and of the sine; three come within 5.3% of the
    variance of full precision for distant points.

    Parameters
    ----------
    bits : int, default=2
        1 to 8, per frequency, that is for two components.

    Examples
    --------
    >>> from lowtide.maps import CosSin
    >>> Phase(bits=2).draw(CosSin(), np.random.default_rng(0)).codebook.round(4)
    array([[ 0.7854,  0.7854],
           [-0.7854,  0.7854],
           [-0.7854, -0.7854],
           [ 0.7854, -0.7854]])
    """

    bits: int = 2

    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> PhaseSteps:
        """Return the quantizer; it needs a map with both quadratures."""
        if feature_map.width != 2:
            raise fail("Phase", "feature_map must be 'cos_sin'", type(feature_map).__name__, "Or use LloydMax.")
        n = 2**self.bits
        breaks = np.arange(n) / n
        scale = (n / math.pi) * math.sin(math.pi / n)
        middle = 2 * math.pi * (breaks + 0.5 / n)
        codebook = np.stack([np.cos(middle), np.sin(middle)], axis=1) / scale
        return PhaseSteps(
            bits=self.bits,
            shifts=np.zeros(1, dtype=np.float32),
            codebook=codebook,
            borders=breaks[1:].astype(np.float32),
            table=np.arange(n, dtype=np.uint8),
            even=False,
            components=(StepFunction(breaks, codebook[:, 0]), StepFunction(breaks, codebook[:, 1])),
        )
