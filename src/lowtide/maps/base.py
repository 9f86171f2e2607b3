"""The contract of a feature map, the law and the moments of its values, and the maps there are."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from lowtide.spec import Spec

Array = NDArray[np.float64]

# Coefficients of a step function fall as 1/k; with the tail that `theory` adds, 2048 leave an error below 1e-7.
N_HARMONICS = 2048


class Density(ABC):
    """A symmetric law on an interval, as a Lloyd-Max quantizer needs it."""

    interval: tuple[float, float]
    second_moment: float

    @abstractmethod
    def pdf(self, x: Array) -> Array:
        """Return the density; 0 at the ends of the interval, where a border never lies."""

    @abstractmethod
    def cdf(self, x: Array) -> Array:
        """Return P(value <= x)."""

    @abstractmethod
    def partial_mean(self, x: Array) -> Array:
        """Return int_{-inf}^x v dP(v)."""

    @abstractmethod
    def quantile(self, q: Array) -> Array:
        """Return the inverse of `cdf`."""


class Arcsine(Density):
    """The law of cos(U), U uniform: cdf 1/2 + asin(x)/pi on [-1, 1], whatever the kernel and its bandwidth.

    Examples
    --------
    >>> float(Arcsine().cdf(np.array(0.0)))
    0.5
    """

    interval = (-1.0, 1.0)
    second_moment = 0.5

    def pdf(self, x: Array) -> Array:
        """Return 1 / (pi sqrt(1 - x^2)) inside the interval."""
        inside = np.abs(x) < 1.0
        return np.where(inside, 1.0 / (math.pi * np.sqrt(np.where(inside, 1.0 - x * x, 1.0))), 0.0)

    def cdf(self, x: Array) -> Array:
        """Return 1/2 + asin(x)/pi."""
        return 0.5 + np.arcsin(x) / math.pi

    def partial_mean(self, x: Array) -> Array:
        """Return -sqrt(1 - x^2) / pi."""
        return -np.sqrt(np.maximum(1.0 - x * x, 0.0)) / math.pi

    def quantile(self, q: Array) -> Array:
        """Return sin(pi (q - 1/2))."""
        return np.sin(math.pi * (q - 0.5))


class Normal(Density):
    """The law N(0, 1) of a Gaussian projection of a row of norm 1.

    Examples
    --------
    >>> float(Normal().cdf(np.array(0.0)))
    0.5
    """

    interval = (-math.inf, math.inf)
    second_moment = 1.0

    def pdf(self, x: Array) -> Array:
        """Return exp(-x^2/2) / sqrt(2 pi)."""
        return np.asarray(np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi))

    def cdf(self, x: Array) -> Array:
        """Return Phi(x)."""
        return np.asarray(scipy.special.ndtr(x))

    def partial_mean(self, x: Array) -> Array:
        """Return -phi(x)."""
        return -self.pdf(x)

    def quantile(self, q: Array) -> Array:
        """Return the inverse of Phi."""
        return np.asarray(scipy.special.ndtri(q))


@dataclass(frozen=True)
class SharedRounding:
    """Mean (w,) and covariance (w, w) of the squared values of a frequency, over phase and random rounding."""

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Fourier coefficients, over the phase t of one frequency, of its feature values f_1 to f_w.

    The values are in units in which the full side is cos t and sin t. For real functions the coefficient at -k is the
    conjugate of the one at k, so only k = 0 .. K is kept.

    Attributes
    ----------
    mean : ndarray of complex128, shape (w, K + 1)
        Coefficients of E[f_i(t)].
    product : ndarray of complex128, shape (w, w, K + 1)
        Coefficients of E[f_i(t) f_j(t)].
    shared : SharedRounding, optional
        Of values that are rounded at random: equal rows are rounded alike, so theirs are no independent draws.
    """

    mean: NDArray[np.complex128]
    product: NDArray[np.complex128]
    shared: SharedRounding | None = None

    @property
    def width(self) -> int:
        """Feature values per frequency."""
        return int(self.mean.shape[0])

    def first(self, width: int) -> Self:
        """Return the moments of the first `width` values alone."""
        return type(self)(self.mean[:width], self.product[:width, :width])


class FeatureMap(Spec):
    """A few cosines of one phase: component k of a frequency is cos(2 pi (turn + shift_k)).

    `shifts` are in turns, one a component; `density` is the law of a component when the phase is uniform.
    """

    shifts: ClassVar[tuple[float, ...]]
    density: ClassVar[Density] = Arcsine()

    @property
    def width(self) -> int:
        """Components per frequency."""
        return len(self.shifts)

    def n_frequencies(self, n_components: int) -> int:
        """Return the frequencies that n_components need; the last may be used in part."""
        return -(-n_components // self.width)

    def moments(self, n_harmonics: int = N_HARMONICS) -> Moments:
        """Return the moments of the full side; cosines need only two harmonics, whatever n_harmonics.

        With w_i = e^{2 pi i shift_i}, cos(t + shift_i) has w_i / 2 at 1; the product of i and j has
        Re(w_i conj(w_j)) / 2 at 0 and w_i w_j / 4 at 2.
        """
        wave = 1j ** (4.0 * np.array(self.shifts))  # exact at quarters of a turn
        mean, product = np.zeros((self.width, 3), complex), np.zeros((self.width, self.width, 3), complex)
        mean[:, 1] = wave / 2
        product[:, :, 0] = np.outer(wave, wave.conj()).real / 2
        product[:, :, 2] = np.outer(wave, wave) / 4
        return Moments(mean, product)


@dataclass(eq=False, repr=False)
class CosSin(FeatureMap):
    """Two components per frequency, cos t and sin t, interleaved: column 2j is the cosine, 2j+1 the sine.

    Examples
    --------
    >>> CosSin().width, CosSin().n_frequencies(1023)
    (2, 512)
    """

    shifts: ClassVar[tuple[float, ...]] = (0.0, -0.25)


@dataclass(eq=False, repr=False)
class Cosine(FeatureMap):
    """One component per frequency: cos(omega.x + xi), xi uniform.

    Examples
    --------
    >>> Cosine().width, Cosine().n_frequencies(1024)
    (1, 1024)
    """

    shifts: ClassVar[tuple[float, ...]] = (0.0,)
