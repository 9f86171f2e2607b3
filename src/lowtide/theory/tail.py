"""What is left of a harmonic sum past its cut, when the coefficients go on like A/k^2 on average.

With the cut K and the fade chi (1 up to K/4, 0 from K on) the rest is, for a = K s,

    2 A int (1 - chi(x/K)) kappa(x s) x^-2 dx = (2 A/K) H(a),    H(a) = int_0^4 (1 - chi(1/y)) kappa(a/y) dy.

The part y < 1 is a G(a) with G(a) = int_a^inf kappa(r) r^-2 dr, a function of the kernel alone: it is tabulated panel
by panel, so that kernels that oscillate (Bessel in few dimensions) are resolved. Far out, where they only cancel, kappa
is tapered to zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from lowtide.kernels import Kernel

Floats = NDArray[np.float64]

_NODE, _WEIGHT = np.polynomial.legendre.leggauss(64)
_PANEL_NODE, _PANEL_WEIGHT = np.polynomial.legendre.leggauss(12)
_ROWS = 4096


def fade(x: Floats, low: float, high: float) -> Floats:
    """Return a smooth step from 1 (x <= low) to 0 (x >= high): an error function that meets both ends to 1e-7."""
    u = (x - low) / (high - low)
    inside = 0.5 * erfc(7.5 * (u - 0.5))
    return np.where(x <= low, 1.0, np.where(x >= high, 0.0, inside))


class FadedTail:
    """The function a -> H(a) of one kernel.

    Parameters
    ----------
    kernel : Kernel
        Gives kappa.
    n_features : int
        Dimension of X.
    half : float
        Distance at which kappa has fallen to about 1/2: the unit of the panels.
    """

    def __init__(self, kernel: Kernel, n_features: int, half: float) -> None:
        self._kernel, self._n_features, self._half = kernel, n_features, half
        near = half * np.geomspace(1e-9, 4, 100)
        self._edges: Floats = np.concatenate([near, half * np.arange(6.0, 129.0, 2.0)])
        r, w = _panels(self._edges[:-1], self._edges[1:])
        panels = np.sum(self._tapered(r) / r**2 * w, axis=1)
        self._beyond: Floats = np.append(np.cumsum(panels[::-1])[::-1], 0.0)

    def __call__(self, a: Floats) -> Floats:
        """Return H(a), shape (n,), for a >= 0, shape (n,)."""
        out = np.zeros_like(a)
        near = np.flatnonzero(a < 4 * self._edges[-1])
        for start in range(0, near.size, _ROWS):
            part = near[start : start + _ROWS]
            out[part] = self._inner(a[part]) + self._outer(a[part])
        return out

    def _tapered(self, r: Floats) -> Floats:
        """Return kappa(r), faded out between 32 and 128 half-distances."""
        taper = fade(r, 32 * self._half, 128 * self._half)
        return self._kernel.radial(r, self._n_features) * taper

    def _outer(self, a: Floats) -> Floats:
        """Integrate over 1 < y < 4, where the harmonics fade."""
        y = 2.5 + 1.5 * _NODE
        weight = 1.5 * _WEIGHT * (1 - fade(1 / y, 0.25, 1.0))
        return np.asarray(self._tapered(a[:, None] / y) @ weight)

    def _inner(self, a: Floats) -> Floats:
        """Integrate over 0 < y < 1: a G(a), the rest of a's own panel and the tabulated ones beyond."""
        b = np.clip(a, self._edges[0], self._edges[-1])
        panel = np.minimum(np.searchsorted(self._edges, b, side="right"), self._edges.size - 1)
        r, w = _panels(b, self._edges[panel])
        own = np.sum(self._tapered(r) / r**2 * w, axis=1)
        inner = np.where(a > self._edges[-1], 0.0, b * (own + self._beyond[panel]))
        return np.where(a == 0, 1.0, inner)


def _panels(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on the intervals [low, high], shape (n, nodes)."""
    radius = (high - low) / 2
    r = ((low + high) / 2)[:, None] + radius[:, None] * _PANEL_NODE
    return r, radius[:, None] * _PANEL_WEIGHT
