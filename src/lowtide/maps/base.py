"""The contract of a feature map."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from lowtide.maps.density import Density
from lowtide.maps.moments import N_HARMONICS, Moments
from lowtide.spec import Spec


class FeatureMap(Spec):
    """A few cosines of one phase: component k of a frequency is cos(2 pi (turn + shift_k)).

    `shifts` are in turns, one a component; `density` is the law of a component when the phase is uniform.
    """

    shifts: ClassVar[tuple[float, ...]]
    density: ClassVar[Density]

    @property
    def width(self) -> int:
        """Components a frequency."""
        return len(self.shifts)

    def n_frequencies(self, n_components: int) -> int:
        """Return the frequencies that n_components need; the last may be used in part."""
        return -(-n_components // self.width)

    @abstractmethod
    def moments(self, n_harmonics: int = N_HARMONICS) -> Moments:
        """Return the moments of the full side up to n_harmonics; a cosine needs only two."""
