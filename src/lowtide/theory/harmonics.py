"""Sums over harmonics, sum_k c_k kappa(k s): the form of every expected kernel and second moment of periodic maps.

Maps with jumps have c_k that decay only like A/k^2 on average, so K harmonics leave an error A/K. The sum is
therefore faded out smoothly, by chi falling from 1 at K/4 to 0 at K, and what was faded is replaced by its average:

    sum_k c_k kappa(ks) = c_0 + 2 sum_{k<=K} chi(k/K) c_k kappa(ks) + 2 A int (1 - chi(x/K)) kappa(xs) x^-2 dx.

A sharp cut would leave the pattern of the last period in the result (2^b steps a period repeat every 2^b harmonics).
The integral is in `tail`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide.kernels import Kernel
from lowtide.theory.tail import FadedTail, fade

Floats = NDArray[np.float64]

_COMPLETE = 1024  # arrays below this order are taken as whole trigonometric polynomials, not as cut series
_CHUNK = 1 << 19  # kernel values in flight at a time: with temporaries below 64 MB
_NEGLIGIBLE = 1e-17


class HarmonicSeries:
    """The function s -> sum over all integers k of c_k kappa(k s), for Hermitian c (c_-k the conjugate of c_k).

    Parameters
    ----------
    coefficients : array-like of complex, shape (K+1,)
        c_0..c_K. kappa is even, so only real parts matter. K < 1024, or zeros from K/4 on, mean a finite
        sum; otherwise the rest is taken to go on like A/k^2.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (K+1,)
        Real parts of c_0..c_K.
    amplitude : float
        A of the tail; 0 for a finite sum.
    limit : float
        Value at infinite distance, c_0.

    Notes
    -----
    With K = 2048 the error is 1e-12 for up to 2^5 steps a period, 1e-7 for 2^7, 1e-6 for 2^8. Time is one
    kernel value per distance and harmonic with k s inside the kernel's reach.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import HarmonicSeries
    >>> HarmonicSeries([0.5, 0.25])(Gaussian(), np.array([0.0, 1.0]), n_features=3).round(6).tolist()
    [1.0, 0.803265]
    """

    def __init__(self, coefficients: ArrayLike) -> None:
        self.coefficients: Floats = np.real(np.asarray(coefficients, dtype=np.complex128)).astype(np.float64)
        c = self.coefficients
        last = len(c) - 1
        used = np.flatnonzero(np.abs(c) > 1e-18)
        top = int(used[-1]) if used.size else 0
        k = np.arange(1, last + 1)
        self.limit = float(c[0])
        self.amplitude = 0.0
        self._cut = float(last)
        weights = 2 * c[1:]
        if last >= _COMPLETE and top > last / 4:
            chi = fade(k / last, 0.25, 1.0)
            window = chi * (1 - chi)
            self.amplitude = float(np.sum(window * k**2 * c[1:]) / np.sum(window))
            weights = weights * chi
        keep = np.flatnonzero(weights)
        self.orders: Floats = k[keep].astype(np.float64)
        self.weights: Floats = weights[keep]

    def __call__(self, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
        """Values at the distances, elementwise.

        Parameters
        ----------
        kernel : Kernel
            Gives kappa(s) = ``kernel.radial(s, n_features)``.
        distance : array-like of float
            Distances s >= 0 in X's units, any shape.
        n_features : int
            Dimension of X (only the Bessel kernel depends on it).

        Returns
        -------
        ndarray of float64
            Same shape as `distance`.
        """
        s = np.asarray(distance, dtype=np.float64)
        flat = s.ravel()
        order = np.argsort(flat)
        half, reach = kernel_reach(kernel, n_features)
        values = np.empty_like(flat)
        values[order] = self._sorted(kernel, flat[order], n_features, reach)
        if self.amplitude:
            tail = FadedTail(kernel, n_features, half)
            values += 2 * self.amplitude / self._cut * tail(self._cut * flat)
        return values.reshape(s.shape)

    def _sorted(self, kernel: Kernel, s: Floats, n_features: int, reach: float) -> Floats:
        """Faded sum at ascending distances, in chunks that share the harmonics inside the kernel's reach."""
        out = np.full_like(s, self.limit)
        start = int(np.searchsorted(s, 0.0, side="right"))
        out[:start] += self.weights.sum()
        while start < s.size:
            n_orders = int(np.searchsorted(self.orders, reach / s[start], side="right"))
            if n_orders == 0:
                break
            stop = int(np.searchsorted(s, 1.5 * s[start], side="right"))
            stop = min(stop, start + max(1, _CHUNK // n_orders))
            grid = s[start:stop, None] * self.orders[:n_orders]
            out[start:stop] += kernel.radial(grid, n_features) @ self.weights[:n_orders]
            start = stop
        return out


def kernel_reach(kernel: Kernel, n_features: int) -> tuple[float, float]:
    """Distances where the kernel first falls to about 1/2, and beyond which it stays below 1e-17.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    n_features : int
        Dimension of X.

    Returns
    -------
    half : float
        To 4%: a natural unit of distance for this kernel.
    reach : float
        Infinite for kernels that oscillate on (Bessel in few dimensions).

    Examples
    --------
    >>> from lowtide.kernels import Laplace
    >>> from lowtide.theory import kernel_reach
    >>> half, reach = kernel_reach(Laplace(bandwidth=10.0), n_features=2)
    >>> 6.9 < half < 7.3, 391 < reach < 800
    (True, True)
    """
    grid = np.exp2(np.arange(-60 * 16, 60 * 16 + 1) / 16)
    values = np.abs(kernel.radial(grid, n_features))
    half = float(grid[int(np.argmax(values <= 0.5))])
    above = int(np.flatnonzero(values > _NEGLIGIBLE)[-1])
    reach = float(grid[above]) * 2 if above + 1 < grid.size else np.inf
    return half, reach
