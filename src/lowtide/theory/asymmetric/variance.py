"""Variance per frequency of the estimators of a kernel through periodic features.

Every estimator that is unbiased because one side is a full cosine (or a full sin/cos pair) has the same form,

    variance = constant + slope kappa2 - kappa^2,        kappa = kernel at x - y, kappa2 = kernel at 2(x - y),

because only the second harmonic of the squared features meets the full side. Divide by the number of independent
frequencies; orthogonal layouts add `layout_variance`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, check_option
from lowtide.kernels import Kernel
from lowtide.theory.asymmetric.tables import lloyd_max_table, phase_F1, stochastic_coefficients
from lowtide.theory.harmonics import HarmonicSeries

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class UnbiasedVariance:
    """The variance constant + slope kappa2 - kappa^2 of one frequency.

    Parameters
    ----------
    constant : float
        Second moment as kappa2 tends to 0: what distant points cost.
    slope : float
        Weight of the kernel at twice the difference.

    Examples
    --------
    >>> from lowtide.theory import UnbiasedVariance
    >>> UnbiasedVariance(constant=0.5, slope=0.5)(kappa=0.0, kappa2=0.0)
    array(0.5)
    """

    constant: float
    slope: float

    def __call__(self, kappa: ArrayLike, kappa2: ArrayLike) -> Floats:
        """Variance from the kernel at x - y and at 2(x - y), elementwise."""
        k, k2 = np.asarray(kappa, dtype=np.float64), np.asarray(kappa2, dtype=np.float64)
        return np.asarray(self.constant + self.slope * k2 - k**2)

    def at(self, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
        """Variance at the distances (X's units, the kernel's own norm), elementwise."""
        s = np.asarray(distance, dtype=np.float64)
        return self(kernel.radial(s, n_features), kernel.radial(2 * s, n_features))


def _phase(bits: int) -> UnbiasedVariance:
    """M = 2^b phases against the full pair: Re exp(i(Q(t) - t'))/F_1."""
    phases, first = 2**bits, phase_F1(2**bits)
    overlap = phases / (2 * math.pi) * math.sin(2 * math.pi / phases)
    return UnbiasedVariance(1 / (2 * first**2), overlap / (2 * first**2))


def _lloyd_max(bits: int) -> UnbiasedVariance:
    """Lloyd-Max cosine against the full cosine, scale 1/F_1."""
    table = lloyd_max_table(bits)
    return UnbiasedVariance(1 / (2 * table.F1), table.S2 / (2 * table.F1**2))


def _lloyd_max_pair(bits: int) -> UnbiasedVariance:
    """Lloyd-Max cos and sin of one frequency against the full pair."""
    table = lloyd_max_table(bits)
    return UnbiasedVariance(1 / (4 * table.F1), (table.S2 + table.P2) / (4 * table.F1**2))


def _stochastic(bits: int) -> UnbiasedVariance:
    """Stochastically rounded cosine against the full cosine."""
    g = stochastic_coefficients(bits, 2)
    return UnbiasedVariance(2 * float(g[0]), float(g[1]))


_FIXED = {
    "cosine": UnbiasedVariance(1.0, 0.5),
    "pair": UnbiasedVariance(0.5, 0.5),
    "complex": UnbiasedVariance(1.0, 0.0),
    "square_wave": UnbiasedVariance(math.pi**2 / 8, 0.0),
    "sign_pair": UnbiasedVariance(math.pi**2 / 16, math.pi / 8),
    "square_wave_complex": UnbiasedVariance(math.pi**2 / 4, 0.0),
}
_BY_BITS: dict[str, Callable[[int], UnbiasedVariance]] = {
    "phase": _phase,
    "lloyd_max": _lloyd_max,
    "lloyd_max_pair": _lloyd_max_pair,
    "stochastic": _stochastic,
}


def unbiased_variance(estimator: str, bits: int = 1) -> UnbiasedVariance:
    """Variance per frequency of an estimator with one full side, by name.

    Parameters
    ----------
    estimator : str
        ``"cosine"`` 2 cos cos; ``"pair"`` full sin/cos; ``"complex"`` full exp(i.), complex variance;
        ``"square_wave"`` (pi/2) q cos, one bit; ``"sign_pair"`` signs of cos and sin against the full pair, two bits;
        ``"square_wave_complex"`` (pi/2) q exp(-i.), complex variance: its imaginary part is noise, drop it;
        ``"phase"``, ``"lloyd_max"``, ``"stochastic"`` with b bits a frequency, ``"lloyd_max_pair"`` with 2b.
    bits : int, default 1
        b, 1 to 8; used by the last four.

    Returns
    -------
    UnbiasedVariance
        Call it with (kappa, kappa2), or use its `at(kernel, distance, n_features)`.

    Notes
    -----
    The square wave beats the full cosine when kappa2 > pi^2/4 - 2 and costs 23.4% more features as kappa tends to 0.
    The sign pair beats two square waves when kappa2 < (4/pi) kappa^2: always, for Gaussian and Laplace.

    References
    ----------
    Derived; estimators of Asymmetric RPF (Schellekens and Jacques).

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import unbiased_variance
    >>> float(unbiased_variance("square_wave").at(Gaussian(), 1.0, n_features=3).round(6))
    0.865821
    >>> float(unbiased_variance("phase", bits=3).at(Gaussian(), 1.0, n_features=3).round(6))
    0.222788
    """
    check_option("unbiased_variance", "estimator", estimator, (*_FIXED, *_BY_BITS))
    if estimator in _FIXED:
        return _FIXED[estimator]
    return _BY_BITS[estimator](check_integer("unbiased_variance", "bits", bits, low=1, high=8))


def gap_variance(kappa2: ArrayLike) -> Floats:
    """Variance per frequency of (pi/2) q cos minus 2 cos cos, whose mean is 0: pi^2/8 - 1 - kappa2/6.

    Parameters
    ----------
    kappa2 : array-like of float
        Kernel at 2(x - y).

    Returns
    -------
    ndarray of float64
        What Corollary 1 bounds: how far the one-bit estimate is from the full one on the same frequencies.

    Examples
    --------
    >>> from lowtide.theory import gap_variance
    >>> float(gap_variance(0.0).round(4))
    0.2337
    """
    return np.asarray(math.pi**2 / 8 - 1 - np.asarray(kappa2, dtype=np.float64) / 6)


def stochastic_codes_variance(bits: int, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
    """Variance per cosine when both sides are stochastically rounded: 4[g_0^2 + sum_n g_n^2 kappa(2ns)/2] - kappa^2.

    Parameters
    ----------
    bits : int
        b, 1 to 8.
    kernel : Kernel
        Any kernel.
    distance : array-like of float
        Distances s in X's units. The rounding of the two sides is taken as independent.
    n_features : int
        Dimension of X.

    Returns
    -------
    ndarray of float64
        Same shape as `distance`. One bit: 4 - kappa^2.

    References
    ----------
    Derived; the StocQ baseline of One-Sketch (Li and Li).

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import stochastic_codes_variance
    >>> float(stochastic_codes_variance(2, Gaussian(), 0.3, n_features=3).round(6))
    0.731284
    """
    g = stochastic_coefficients(bits)
    coefficients = np.zeros(2 * g.size - 1)
    coefficients[::2] = g**2  # 4 (g_n^2/2) kappa(2ns) is 2 c_2n kappa(2ns) with c_2n = g_n^2
    coefficients[0] = 4 * g[0] ** 2
    second = HarmonicSeries(coefficients)(kernel, distance, n_features)
    return np.asarray(second - kernel.radial(distance, n_features) ** 2)
