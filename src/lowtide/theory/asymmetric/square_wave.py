"""The one-bit universal quantizer q(t) = sign cos t, and the kernel that two such sides converge to."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import spence

from lowtide.kernels import Gaussian, Kernel, Laplace
from lowtide.theory.harmonics import HarmonicSeries

Floats = NDArray[np.float64]

# Below this the linear form of kappa_qq is exact to double precision: the rest is O(s exp(-pi^2/(2 s^2))).
_LINEAR = 0.35
_N_TERMS = 13  # odd harmonics that matter above it


def universal_Qk(k: ArrayLike) -> Floats:  # noqa: N802  (the paper's symbol)
    """Fourier coefficients of the square wave: Q_k = 2/(pi k) sin(k pi/2), 0 for even k, Q_1 = 2/pi.

    Parameters
    ----------
    k : array-like of int
        Harmonics, of any sign.

    Returns
    -------
    ndarray of float64
        Same shape as `k`.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), eq. (8) and after.

    Examples
    --------
    >>> from lowtide.theory import universal_Qk
    >>> universal_Qk([-3, 0, 1, 2]).round(6).tolist()
    [-0.212207, 0.0, 0.63662, 0.0]
    """
    order = np.asarray(k, dtype=np.int64)
    sign = np.array([0.0, 1.0, 0.0, -1.0])[order % 4]  # sin(k pi/2), exact
    return np.asarray(2 * sign / (np.pi * np.where(order == 0, 1, order)), dtype=np.float64)


def triangle_wave(t: ArrayLike) -> Floats:
    """Autocorrelation of the square wave: 1 - 2|t|/pi on [-pi, pi], 2 pi-periodic, range [-1, 1].

    Parameters
    ----------
    t : array-like of float
        Phase differences in radians.

    Returns
    -------
    ndarray of float64
        Same shape as `t`.

    Notes
    -----
    The printed formula max(1 - t/pi, t/pi - 1) never goes below 0; this one does.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), after Lemma 1, corrected.

    Examples
    --------
    >>> from lowtide.theory import triangle_wave
    >>> triangle_wave([0.0, 2.0, 3.5]).round(6).tolist()
    [1.0, -0.27324, -0.771831]
    """
    folded = np.abs(np.remainder(np.asarray(t, dtype=np.float64) + np.pi, 2 * np.pi) - np.pi)
    return np.asarray(1 - 2 * folded / np.pi, dtype=np.float64)


def kappa_qq(kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
    """Expected kernel of two one-bit sides: (8/pi^2) sum_{k odd} kappa(k s)/k^2.

    Parameters
    ----------
    kernel : Kernel
        Any kernel. Gaussian and Laplace take their closed forms.
    distance : array-like of float
        Distances s in X's units, in the kernel's own norm.
    n_features : int
        Dimension of X (only the Bessel kernel depends on it).

    Returns
    -------
    ndarray of float64
        Same shape as `distance`; error below 1e-12 (Matern of order 0.1: 1e-6).

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Section 3 and eq. (16) with the slope doubled.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import kappa_qq
    >>> kappa_qq(Gaussian(bandwidth=2.0), [0.0, 0.2, 4.0], n_features=5).round(6).tolist()
    [1.0, 0.949205, 0.109699]
    """
    if isinstance(kernel, Gaussian):
        return kappa_qq_gaussian(np.asarray(distance, dtype=np.float64) / kernel.bandwidth)
    if isinstance(kernel, Laplace):
        return kappa_qq_laplace(np.asarray(distance, dtype=np.float64) / kernel.bandwidth)
    return HarmonicSeries(universal_Qk(np.arange(2049)) ** 2)(kernel, distance, n_features)


def kappa_qq_gaussian(s: ArrayLike) -> Floats:
    """Expected kernel of two one-bit sides for the Gaussian kernel, s = |x-y|/sigma.

    1 - (2 sqrt2/pi^(3/2)) s for s <= 0.35, where that is exact to double precision; 13 terms of the series above.

    Parameters
    ----------
    s : array-like of float
        Distances in bandwidths.

    Returns
    -------
    ndarray of float64
        Same shape as `s`, to a few roundings.

    Examples
    --------
    >>> from lowtide.theory import kappa_qq_gaussian
    >>> kappa_qq_gaussian([0.1, 1.0]).round(6).tolist()
    [0.949205, 0.492636]
    """
    s = np.abs(np.asarray(s, dtype=np.float64))
    linear = 1 - 2 * math.sqrt(2) / math.pi**1.5 * s
    order = 2.0 * np.arange(_N_TERMS) + 1
    far = np.clip(s, _LINEAR, 1e3)  # beyond, every term is 0
    series = np.exp(-np.multiply.outer(far**2, order**2) / 2) @ (8 / (np.pi * order) ** 2)
    return np.where(s <= _LINEAR, linear, series)


def kappa_qq_laplace(s: ArrayLike) -> Floats:
    """Expected kernel of two one-bit sides for the Laplace kernel: (4/pi^2)[Li2(e^-s) - Li2(-e^-s)].

    Parameters
    ----------
    s : array-like of float
        Distances |x-y|_1/tau.

    Returns
    -------
    ndarray of float64
        Same shape as `s`, to a few roundings.

    Examples
    --------
    >>> from lowtide.theory import kappa_qq_laplace
    >>> kappa_qq_laplace([0.0, 1.0]).round(6).tolist()
    [1.0, 0.302911]
    """
    s = np.abs(np.asarray(s, dtype=np.float64))
    x = np.exp(-s)
    # spence(z) = Li2(1 - z); 1 - e^-s through expm1 keeps the digits of small s.
    return np.asarray(4 / np.pi**2 * (spence(-np.expm1(-s)) - spence(1 + x)), dtype=np.float64)
