"""The cosine and the sine of one phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lowtide.maps.base import FeatureMap
from lowtide.maps.density import Arcsine, Density
from lowtide.maps.moments import N_HARMONICS, Moments

__all__ = ["CosSin"]


@dataclass(eq=False, repr=False)
class CosSin(FeatureMap):
    """Two components a frequency, cos t and sin t = cos(t - pi/2), interleaved: column 2j cosine, 2j+1 sine.

    Examples
    --------
    >>> CosSin().width, CosSin().n_frequencies(1023)
    (2, 512)
    """

    shifts: ClassVar[tuple[float, ...]] = (0.0, -0.25)
    density: ClassVar[Density] = Arcsine()

    def moments(self, n_harmonics: int = N_HARMONICS) -> Moments:
        """Return the coefficients of cos t, sin t and of their products."""
        mean = np.array([[0, 0.5, 0], [0, -0.5j, 0]])
        mixed = [0, 0, -0.25j]
        product = np.array([[[0.5, 0, 0.25], mixed], [mixed, [0.5, 0, -0.25]]], dtype=complex)
        return Moments(mean, product)
