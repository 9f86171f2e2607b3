"""Distance maps: what the squared distance of two embedded points says of the points.

For real maps f, g of zero mean, gamma_{f,g}(s) = |f|^2 + |g|^2 - 2 sum_k F_k conj(G_k) kappa(|k| s) is the mean of
|z_f(x) - z_g(y)|^2. At s = 0 it is the bias |f - g|^2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_positive
from lowtide.kernels import Kernel
from lowtide.theory.asymmetric.square_wave import kappa_qq
from lowtide.theory.pair import PairMoments

Floats = NDArray[np.float64]


def distance_map(pair: PairMoments, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
    """Mean squared distance of two embedded points per frequency, for any two sides.

    Parameters
    ----------
    pair : PairMoments
        The two sides, in their own units.
    kernel : Kernel
        Any kernel.
    distance : array-like of float
        Distances s in X's units.
    n_features : int
        Dimension of X.

    Returns
    -------
    ndarray of float64
        Same shape as `distance`.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.maps import Cosine
    >>> from lowtide.theory import PairMoments, distance_map
    >>> full = Cosine().moments()
    >>> float(distance_map(PairMoments(full, full), Gaussian(), 0.7, n_features=3).round(6))
    0.217295
    """
    left = np.einsum("ii->", pair.left.product[..., 0]).real
    right = np.einsum("ii->", pair.right.product[..., 0]).real
    return np.asarray(left + right - 2 * pair.mean(kernel, distance, n_features))


def gamma_q_cos(kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
    """Distance map of the square wave against the cosine: 3/2 - (4/pi) kappa(s), from 0.22676 to 3/2.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    distance : array-like of float
        Distances s in X's units.
    n_features : int
        Dimension of X.

    Returns
    -------
    ndarray of float64
        Same shape as `distance`.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import gamma_q_cos
    >>> gamma_q_cos(Gaussian(), [0.0, 0.7], n_features=3).round(6).tolist()
    [0.22676, 0.50343]
    """
    return np.asarray(1.5 - 4 / math.pi * kernel.radial(distance, n_features))


def gamma_cos_cos(kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
    """Distance map of two cosines: 1 - kappa(s).

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    distance : array-like of float
        Distances s in X's units.
    n_features : int
        Dimension of X.

    Returns
    -------
    ndarray of float64
        Same shape as `distance`.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import gamma_cos_cos
    >>> float(gamma_cos_cos(Gaussian(), 0.7, n_features=3).round(6))
    0.217295
    """
    return np.asarray(1 - kernel.radial(distance, n_features))


def gamma_q_q(kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
    """Distance map of two square waves: 2 - 2 kappa_qq(s), linear near 0.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    distance : array-like of float
        Distances s in X's units.
    n_features : int
        Dimension of X.

    Returns
    -------
    ndarray of float64
        Same shape as `distance`.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import gamma_q_q
    >>> float(gamma_q_q(Gaussian(), 0.7, n_features=3).round(6))
    0.711126
    """
    return np.asarray(2 - 2 * kappa_qq(kernel, distance, n_features))


def gamma_q_cos_inverse_gaussian(y: ArrayLike, bandwidth: float = 1.0) -> Floats:
    """Distance from a measured gamma_q_cos for the Gaussian kernel: sigma sqrt(-2 ln(3 pi/8 - pi y/4)).

    Parameters
    ----------
    y : array-like of float
        Measured squared distances, clipped into [3/2 - 4/pi, 3/2) first.
    bandwidth : float, default 1.0
        sigma.

    Returns
    -------
    ndarray of float64
        Same shape as `y`; at most 8.6 bandwidths, where y has no more digits.

    Examples
    --------
    >>> from lowtide.theory import gamma_q_cos_inverse_gaussian
    >>> gamma_q_cos_inverse_gaussian([0.1, 0.9]).round(6).tolist()
    [0.0, 1.226695]
    """
    sigma = check_positive("gamma_q_cos_inverse_gaussian", "bandwidth", bandwidth)
    y = np.clip(np.asarray(y, dtype=np.float64), 1.5 - 4 / math.pi, np.nextafter(1.5, 0))
    kappa = np.minimum(3 * math.pi / 8 - math.pi * y / 4, 1.0)
    return np.asarray(sigma * np.sqrt(2 * np.log(1 / kappa)))


def gamma_q_cos_inverse_slope(s: ArrayLike, bandwidth: float = 1.0) -> Floats:
    """First-order error of that inverse per unit of error in y: sigma^2 (pi/(4 s)) exp(s^2/(2 sigma^2)).

    Parameters
    ----------
    s : array-like of float
        Distances, above 0.
    bandwidth : float, default 1.0
        sigma.

    Returns
    -------
    ndarray of float64
        Same shape as `s`; least at s = sigma.

    Notes
    -----
    The paper prints 4/(pi s) in place of pi/(4 s).

    Examples
    --------
    >>> from lowtide.theory import gamma_q_cos_inverse_slope
    >>> float(gamma_q_cos_inverse_slope(0.5).round(6))
    1.779945
    """
    sigma = check_positive("gamma_q_cos_inverse_slope", "bandwidth", bandwidth)
    z = np.asarray(s, dtype=np.float64) / sigma
    return np.asarray(sigma * math.pi / (4 * z) * np.exp(z**2 / 2))
