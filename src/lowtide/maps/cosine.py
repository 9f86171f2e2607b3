"""The dithered cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lowtide.maps.base import FeatureMap
from lowtide.maps.density import Arcsine, Density
from lowtide.maps.moments import N_HARMONICS, Moments

__all__ = ["Cosine"]


@dataclass(eq=False, repr=False)
class Cosine(FeatureMap):
    """One component a frequency: cos(omega . x + xi), xi uniform.

    Examples
    --------
    >>> Cosine().width, Cosine().n_frequencies(1024)
    (1, 1024)
    """

    shifts: ClassVar[tuple[float, ...]] = (0.0,)
    density: ClassVar[Density] = Arcsine()

    def moments(self, n_harmonics: int = N_HARMONICS) -> Moments:
        """Return the coefficients of cos t and of cos^2 t = (1 + cos 2t)/2."""
        return Moments(np.array([[0, 0.5, 0]], dtype=complex), np.array([[[0.5, 0, 0.25]]], dtype=complex))
