"""Functions of one phase that weigh the normal law, and their Gaussian transforms E f(su) e^{itu}, u ~ N(0,1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

__all__ = ["HalfCosine", "SmoothWave", "Wave", "gaussian_transform", "normal_nodes"]

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

# exp(-x^2/2) below 1e-18.
_REACH = 9.2
# Below this s a Fourier series has hundreds of terms within reach, and quadrature over u fewer nodes.
_SERIES_FROM = 0.1
_CHUNK = 1 << 20
# Many values come from a cubic spline through 128 points a unit; fourth derivatives of 3 leave an error below 1e-9.
_TABLE_FROM, _PER_UNIT = 20_000, 128


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
class SmoothWave:
    """Any smooth function of period 2 pi."""

    function: Callable[[Floats], NDArray[Any]]
    kinks: tuple[float, ...] = ()

    def __call__(self, phi: Floats) -> NDArray[Any]:
        """Return the function at phases."""
        return self.function(phi)

    def coefficients(self, n: NDArray[np.int64]) -> Complex:
        """Return the Fourier coefficients of order n, by a fast transform of 2^14 samples; 0 beyond 2^12."""
        size = 1 << 14
        table = np.fft.fft(self.function(2 * math.pi * np.arange(size) / size)) / size
        return np.where(np.abs(n) < size // 4, table[n % size], 0.0)


Wave = HalfCosine | SmoothWave


def gaussian_transform(wave: Wave, s: float, t: Floats) -> Complex:
    """Return E[wave(su) e^{itu}] over a standard normal u, elementwise in t.

    With Fourier coefficients c_n of the wave it is sum_n c_n exp(-(t + ns)^2/2); for small s, quadrature between kinks.
    """
    flat = np.asarray(t, dtype=np.float64).ravel()
    if flat.size > _TABLE_FROM and (span := float(np.ptp(flat))) * _PER_UNIT < flat.size / 4:
        grid = flat.min() + span * np.linspace(0, 1, math.ceil(span * _PER_UNIT) + 8)
        return np.asarray(CubicSpline(grid, gaussian_transform(wave, s, grid))(flat).reshape(np.shape(t)))
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


def panels(edges: Floats) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights, 16 between each two edges."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1.0 + nodes)).ravel(), (half * weights).ravel()
