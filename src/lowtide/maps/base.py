"""The contract of a feature map, what the theory needs to know of one, and the maps there are."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide.maps.density import Arcsine, Density
from lowtide.spec import Spec

# Coefficients of a step function fall as 1/k; with the tail that `theory` adds, 2048 leave an error below 1e-7.
N_HARMONICS = 2048


@dataclass(frozen=True)
class Moments:
    """Fourier coefficients, over the phase t of one frequency, of its feature values f_1 .. f_w.

    The values are in units in which the full side is cos t and sin t. For real functions the coefficient at -k is the
    conjugate of the one at k, so only k = 0 .. K is kept.

    Attributes
    ----------
    mean : ndarray of complex128, shape (w, K + 1)
        Coefficients of E[f_i(t)].
    product : ndarray of complex128, shape (w, w, K + 1)
        Coefficients of E[f_i(t) f_j(t)].
    """

    mean: NDArray[np.complex128]
    product: NDArray[np.complex128]

    @property
    def width(self) -> int:
        """Feature values a frequency."""
        return int(self.mean.shape[0])

    def first(self, width: int) -> Self:
        """Return the moments of the first `width` values alone."""
        return type(self)(self.mean[:width], self.product[:width, :width])


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
