"""Frequencies that are normal but for one direction, along which they have a law of their own.

Along that direction u has the density wave(su) phi(u), phi normal: cos+, cos-, sin+ or the modulus of 1 + i A sin(su).
Transforms E wave(su) e^{itu} are exact; every sampler accepts at least a fifth of what it proposes, whatever s.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lowtide.kernels.base import Frequencies, FrequencyLaw
from lowtide.kernels.masses import amplitude, shift_masses
from lowtide.kernels.symmetric import panels

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]
# Up to this s the law of cos- is one lobe at each side, and its nodes are laid where it starts.
_LOBES_UPTO = 0.5
# exp(-x^2/2) below 1e-18.
_REACH = 9.2
# Below this s a Fourier series has hundreds of terms within reach, and quadrature over u fewer nodes.
_SERIES_FROM = 0.1
_CHUNK = 1 << 20
# Many values come from a cubic spline through 128 points a unit; fourth derivatives of 3 leave an error below 1e-9.
_TABLE_FROM, _PER_UNIT = 20_000, 128
# Above this s plain rejection accepts more of cos- than proposals that start where it starts.
_PLAIN_FROM = 1.7


@dataclass(frozen=True)
class LineLaw:
    """The law of u with density wave(su) phi(u) / mass, s >= 0, and wave at most `peak`.

    `propose` gives n proposals and the probabilities to keep them with; None for normal ones. `nodes` are values and
    probabilities in place of those of quadrature.
    """

    s: float
    wave: Wave
    mass: float
    peak: float = 1.0
    propose: Callable[[np.random.Generator, int], tuple[Floats, Floats]] | None = None
    nodes: tuple[Floats, Floats] | None = None

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Return the first `size` proposals that their probability keeps."""
        out = np.empty(size)
        filled, batch = 0, size + size // 2 + 64
        while filled < size:
            if self.propose is None:
                u = rng.standard_normal(batch)
                probability = np.real(self.wave(self.s * u)) / self.peak
            else:
                u, probability = self.propose(rng, batch)
            kept = u[rng.random(batch) < probability][: size - filled]
            out[filled : filled + len(kept)] = kept
            filled += len(kept)
            batch = int((size - filled) * min(8.0, batch / max(len(kept), 1))) + 64
        return out

    def characteristic(self, t: Floats) -> Complex:
        """Return E e^{itu}, elementwise."""
        if self.nodes is None:
            return gaussian_transform(self.wave, self.s, t) / self.mass
        u, probability = self.nodes
        return np.asarray(np.exp(1j * np.multiply.outer(t, u)) @ probability, dtype=np.complex128)

    def second_moment(self) -> float:
        """Return E u^2."""
        if self.nodes is None:
            u, weight = normal_nodes(self.wave, self.s)
            probability = weight * np.real(self.wave(self.s * u)) / self.mass
        else:
            u, probability = self.nodes
        return float(probability @ (u * u))


def cos_plus_law(s: float) -> LineLaw:
    """Return the law of cos+(su) phi(u); at least 0.318 of normal proposals are kept."""
    return LineLaw(s, HalfCosine(0), shift_masses(s).positive)


def cos_minus_law(s: float) -> LineLaw:
    """Return the law of cos-(su) phi(u), s > 0; of normal proposals 0.2 and more are kept from s = 1.7 on."""
    propose = None if s > _PLAIN_FROM else partial(_beyond, s=s)
    nodes = _lobe_nodes(s) if s < _LOBES_UPTO else None
    return LineLaw(s, HalfCosine(2), shift_masses(s).negative, propose=propose, nodes=nodes)


def sin_plus_law(s: float) -> LineLaw:
    """Return the law of sin+(su) phi(u), s > 0."""
    return LineLaw(s, HalfCosine(1), shift_masses(s).imaginary, propose=partial(_signed_sizes, s=s))


def modulus_law(s: float) -> LineLaw:
    """Return the law of |1 + i e^{s^2/2} sin(su)| phi(u); at least 0.6 of normal proposals are kept."""
    wave = TurnedWave(amplitude(s), 0)
    mass = float(gaussian_transform(wave, s, np.zeros(1))[0].real)
    return LineLaw(s, wave, mass, peak=math.hypot(1.0, wave.height))


def _beyond(rng: np.random.Generator, n: int, s: float) -> tuple[Floats, Floats]:
    """Propose for cos-(su) phi(u), which is 0 up to |u| = c = pi/(2s).

    |u| = c + x with x from Gamma(2, rate c), kept with probability exp(-x^2/2) sin+(sx)/(sx): 0.97 of them at
    s = 0.15, 0.46 at 1.
    """
    start = math.pi / (2 * s)
    x = rng.standard_gamma(2.0, n) / start
    u = np.copysign(start + x, rng.random(n) - 0.5)
    return u, np.exp(-0.5 * x * x) * np.sinc(s * x / math.pi)


def _signed_sizes(rng: np.random.Generator, n: int, s: float) -> tuple[Floats, Floats]:
    """Propose for sin+(su) phi(u), at least 0.579 kept: |u| for the odd |sin(su)|, with the sign of the sine.

    The size is that of a normal variable for s >= 1, else a Rayleigh one, whose density |u| phi is near it.
    """
    size = np.abs(rng.standard_normal(n)) if s >= 1 else rng.rayleigh(size=n)
    sine = np.sin(s * size)
    kept = np.abs(sine) if s >= 1 else np.abs(sine) / np.maximum(s * size, 1e-300)
    return np.copysign(size, sine), kept


def _lobe_nodes(s: float) -> tuple[Floats, Floats]:
    """Return nodes and probabilities of cos-(su) phi(u) near +-c, c = pi/(2s), where it falls as exp(-c x)."""
    start = math.pi / (2 * s)
    x, weight = panels(np.array([0.0, 0.5, 1, 2, 3, 5, 7, 10, 14, 20, 30, 45]) / start)
    weight = weight * np.exp(-start * x - 0.5 * x * x) * np.maximum(np.sin(s * x), 0.0)
    probability = np.concatenate([weight, weight]) / (2 * weight.sum())
    return np.concatenate([start + x, -start - x]), probability


@dataclass(frozen=True)
class RidgeLaw(Frequencies):
    """w = (u e + (I - e e') g) / sigma: e the unit vector `direction`, (d,), u of the law `line`, g normal."""

    direction: Floats
    bandwidth: float
    line: LineLaw
    law: ClassVar[FrequencyLaw] = "joint"

    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> Floats:
        """Draw independent frequencies, shape (n_features, size)."""
        u = self.line.draw(rng, size=size)
        G = rng.standard_normal((n_features, size))
        change = u - self.direction @ G
        for row, component in zip(G, self.direction):  # in cache: half the time of an outer product
            row += component * change
            row /= self.bandwidth
        return G

    def characteristic(self, difference: ArrayLike) -> Complex:
        """Return E exp(i w.difference): that of u along e, times a Gaussian across."""
        along, across = self.split(difference)
        return np.asarray(self.line.characteristic(along) * np.exp(-0.5 * across))

    def split(self, difference: ArrayLike) -> tuple[Floats, Floats]:
        """Return the component along e and the squared length across, in bandwidths."""
        z = np.asarray(difference, dtype=np.float64) / self.bandwidth
        along = z @ self.direction
        return along, np.maximum(np.einsum("...i,...i->...", z, z) - along**2, 0.0)

    def second_moment(self, n_features: int) -> float:
        """Return (E u^2 + d - 1) / sigma^2."""
        return (self.line.second_moment() + n_features - 1) / self.bandwidth**2


@dataclass(frozen=True)
class CarriedPhase:
    """The phase arctan(A sin(r.w)) of frequencies whose law has the modulus |1 + i A sin(r.w)|."""

    ridge: RidgeLaw

    def turns(self, W: NDArray[Any]) -> Floats:
        """Return arctan(A sin(r.w)) in turns."""
        ridge = self.ridge
        u = ridge.bandwidth * (ridge.direction @ np.asarray(W, dtype=np.float64))
        return np.asarray(np.arctan(amplitude(ridge.line.s) * np.sin(ridge.line.s * u)) / (2 * np.pi))

    def characteristic(self, difference: ArrayLike, order: int = 1) -> Complex:
        """Return E exp(i order (w.difference + theta(w)))."""
        line = self.ridge.line
        along, across = self.ridge.split(order * np.asarray(difference, dtype=np.float64))
        value = gaussian_transform(TurnedWave(amplitude(line.s), order), line.s, along) / line.mass
        return np.asarray(value * np.exp(-0.5 * across))


@dataclass(frozen=True)
class HalfCosine:
    """max(cos(phi - quarter pi/2), 0): cos+ at quarter 0, sin+ at 1, cos- at 2."""

    quarter: int

    def __call__(self, phi: Floats) -> Floats:
        """Return the function at phases."""
        return np.maximum(np.cos(phi - self.quarter * math.pi / 2), 0.0)

    def coefficients(self, n: NDArray[np.int64]) -> Complex:
        """Return the Fourier coefficients of order n: 1/pi at 0, 1/4 at +-1, (-1)^{k+1}/(pi (4k^2-1)) at n = 2k."""
        value = np.where(np.abs(n) == 1, 0.25, 0.0)
        even = n % 2 == 0
        value[even] = np.where(n[even] % 4 == 0, -1.0, 1.0) / (math.pi * (n[even].astype(np.float64) ** 2 - 1.0))
        return np.asarray(value * np.array([1, -1j, -1, 1j])[n * self.quarter % 4])

    @property
    def kinks(self) -> tuple[float, ...]:
        """Phases within a period where the function is not smooth."""
        return ((self.quarter - 1) * math.pi / 2, (self.quarter + 1) * math.pi / 2)


@dataclass(frozen=True)
class TurnedWave:
    """|z| (z/|z|)^order for z = 1 + i height sin(phi)."""

    height: float
    order: int
    kinks: ClassVar[tuple[float, ...]] = ()

    def __call__(self, phi: Floats) -> Complex:
        """Return the function at phases."""
        sine = self.height * np.sin(phi)
        return np.asarray(np.hypot(1.0, sine) * np.exp(1j * self.order * np.arctan(sine)))

    def coefficients(self, n: NDArray[np.int64]) -> Complex:
        """Return the Fourier coefficients of order n, by a fast transform of 2^14 samples; 0 beyond 2^12."""
        size = 1 << 14
        table = np.fft.fft(self(2 * math.pi * np.arange(size) / size)) / size
        return np.where(np.abs(n) < size // 4, table[n % size], 0.0)


Wave = HalfCosine | TurnedWave


def gaussian_transform(wave: Wave, s: float, t: Floats) -> Complex:
    """Return E[wave(su) e^{itu}] over a standard normal u, elementwise in t.

    With Fourier coefficients c_n of the wave it is sum_n c_n exp(-(t + ns)^2/2); for small s, quadrature between kinks.
    """
    flat = np.asarray(t, dtype=np.float64).ravel()
    if flat.size > _TABLE_FROM and (span := float(np.ptp(flat))) * _PER_UNIT < flat.size / 4:
        grid = flat.min() + span * np.linspace(0, 1, math.ceil(span * _PER_UNIT) + 8)
        return np.asarray(
            scipy.interpolate.CubicSpline(grid, gaussian_transform(wave, s, grid))(flat).reshape(np.shape(t))
        )
    if s < _SERIES_FROM:
        u, weight = normal_nodes(wave, s)
        values = weight * wave(s * u)
        step = max(1, _CHUNK // len(u))
        parts = [np.exp(1j * np.outer(flat[i : i + step], u)) @ values for i in range(0, len(flat), step)]
    else:
        window = np.arange(-math.ceil(_REACH / s) - 1, math.ceil(_REACH / s) + 2)
        step = max(1, _CHUNK // len(window))
        parts = [_series(wave, s, flat[i : i + step], window) for i in range(0, len(flat), step)]
    return np.concatenate(parts or [np.empty(0, dtype=complex)]).reshape(np.shape(t))


def _series(wave: Wave, s: float, t: Floats, window: NDArray[np.int64]) -> Complex:
    n = np.rint(-t / s).astype(np.int64)[:, None] + window
    orders, place = np.unique(n, return_inverse=True)
    terms = wave.coefficients(orders)[place.reshape(n.shape)] * np.exp(-0.5 * (t[:, None] + n * s) ** 2)
    return np.asarray(terms.sum(axis=1), dtype=np.complex128)


def normal_nodes(wave: Wave, s: float) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes u and weights that carry phi(u), in panels between the wave's kinks."""
    edges: list[NDArray[Any]] = [np.linspace(-_REACH, _REACH, 49)]
    for kink in wave.kinks if s > 0 else ():
        low = math.ceil((-_REACH * s - kink) / (2 * math.pi))
        high = math.floor((_REACH * s - kink) / (2 * math.pi))
        edges.append((kink + 2 * math.pi * np.arange(low, high + 1)) / s)
    u, weight = panels(np.unique(np.concatenate(edges)))
    return u, weight * np.exp(-0.5 * u * u) / math.sqrt(2 * math.pi)
