"""Expected kernel of the one-bit quantizer q(t) = sign cos t, and distances from products of features.

For real maps f, g of zero mean, gamma_{f,g}(s) = |f|^2 + |g|^2 - 2 sum_k F_k conj(G_k) kappa(|k| s) is the mean of
|z_f(x) - z_g(y)|^2: what the squared distance of two embedded points says of the points. At s = 0 it is the bias
|f - g|^2.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_option, check_positive
from lowtide.kernels import Gaussian, Kernel, Laplace
from lowtide.theory.pairs import Curve, HarmonicSeries, PairMoments, kernel_reach

Floats = NDArray[np.float64]

# Below this the linear form of kappa_qq is exact to double precision: the rest is O(s exp(-pi^2/(2 s^2))).
_LINEAR = 0.35
_N_TERMS = 13  # odd harmonics that matter above it


def universal_Qk(k: ArrayLike) -> Floats:  # noqa: N802  (the paper's symbol)
    """Return the Fourier coefficients of the square wave: Q_k = 2/(pi k) sin(k pi/2), 0 for even k, Q_1 = 2/pi.

    Parameters
    ----------
    k : array-like of int
        Harmonics, of any sign.

    Returns
    -------
    ndarray of float64, same shape as `k`

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
    """Return the autocorrelation of the square wave: 1 - 2|t|/pi on [-pi, pi], 2 pi-periodic, range [-1, 1].

    Parameters
    ----------
    t : array-like of float
        Phase differences in radians.

    Returns
    -------
    ndarray of float64, same shape as `t`

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), after Lemma 1, corrected: as printed, max(1 - t/pi, t/pi - 1), it never
    goes below 0.

    Examples
    --------
    >>> from lowtide.theory import triangle_wave
    >>> triangle_wave([0.0, 2.0, 3.5]).round(6).tolist()
    [1.0, -0.27324, -0.771831]
    """
    folded = np.abs(np.remainder(np.asarray(t, dtype=np.float64) + np.pi, 2 * np.pi) - np.pi)
    return np.asarray(1 - 2 * folded / np.pi, dtype=np.float64)


def kappa_qq(kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
    """Return the expected kernel of two one-bit sides: (8/pi^2) sum_{k odd} kappa(k s)/k^2.

    Parameters
    ----------
    kernel : Kernel
        Any kernel. Gaussian and Laplace take their closed forms: 1 - (2 sqrt2/pi^(3/2)) s up to 0.35 bandwidths, where
        that is exact to double precision, and (4/pi^2)[Li2(e^-s) - Li2(-e^-s)].
    distance : array-like of float
        Distances s in X's units, in the kernel's own norm.
    n_features : int
        Dimension of X (only the Bessel kernel depends on it).

    Returns
    -------
    ndarray of float64
        Same shape as `distance`; error below 1e-12 (Matern of order 0.1: 1e-6), a few roundings for closed forms.

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
    if not isinstance(kernel, (Gaussian, Laplace)):
        return HarmonicSeries(universal_Qk(np.arange(2049)) ** 2)(kernel, distance, n_features)
    s = np.abs(np.asarray(distance, dtype=np.float64)) / kernel.bandwidth
    if isinstance(kernel, Laplace):
        # spence(z) = Li2(1 - z); 1 - e^-s through expm1 keeps the digits of small s.
        return np.asarray(
            4 / np.pi**2 * (scipy.special.spence(-np.expm1(-s)) - scipy.special.spence(1 + np.exp(-s))),
            dtype=np.float64,
        )
    linear = 1 - 2 * math.sqrt(2) / math.pi**1.5 * s
    order = 2.0 * np.arange(_N_TERMS) + 1
    far = np.clip(s, _LINEAR, 1e3)  # beyond, every term is 0
    series = np.exp(-np.multiply.outer(far**2, order**2) / 2) @ (8 / (np.pi * order) ** 2)
    return np.where(s <= _LINEAR, linear, series)


class DistanceMap:
    """Map the distance s of two rows to the mean squared distance gamma(s) of their features, and back.

    With f on the left and g on the right, gamma(s) = |f|^2 + |g|^2 - 2 sum_k F_k conj(G_k) kappa(k s), per frequency.
    At s = 0 it is |f - g|^2, a bias that is 0 for equal sides only.

    Parameters
    ----------
    pair : PairMoments or {"q_cos", "cos_cos", "q_q"}
        The two sides, in their own units, or the name of a closed form: the square wave against the cosine,
        3/2 - (4/pi) kappa(s), from 0.22676 to 3/2; two cosines, 1 - kappa(s); two square waves, 2 - 2 kappa_qq(s),
        linear near 0.
    kernel : Kernel
        Any kernel.
    n_features : int
        Dimension of X.
    scale : float, default=1
        By which all is multiplied: 2/w for features of w columns a frequency as encoders make them.

    Attributes
    ----------
    bias : float
        gamma(0).
    reach : float
        The end of the first branch, where gamma stops growing; infinite where it always grows.
    safe : float
        Squared distances below this one belong to one distance only; those of a kernel that oscillates come again
        beyond the first branch.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Corollary 2 and section 5; the inverse for any pair is derived.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.maps import Cosine
    >>> from lowtide.theory import DistanceMap, PairMoments
    >>> full = Cosine().moments()
    >>> gamma = DistanceMap(PairMoments(full, full), Gaussian(), n_features=3)
    >>> float(gamma(0.7).round(6)), float(gamma.inverse(gamma(0.7)).round(6))
    (0.217295, 0.7)
    >>> [float(DistanceMap(name, Gaussian(), n_features=3)(0.7).round(6)) for name in ("q_cos", "cos_cos", "q_q")]
    [0.50343, 0.217295, 0.711126]
    """

    def __init__(self, pair: PairMoments | str, kernel: Kernel, n_features: int, scale: float = 1.0) -> None:
        if not isinstance(pair, PairMoments):
            check_option("DistanceMap", "pair", pair, ("q_cos", "cos_cos", "q_q"))
        self.pair, self.kernel, self.n_features, self.scale = pair, kernel, n_features, scale

    def __call__(self, distance: ArrayLike) -> Floats:
        """Return gamma at distances s >= 0 in X's units, elementwise."""
        pair, of = self.pair, (self.kernel, distance, self.n_features)
        if isinstance(pair, PairMoments):
            left, right = (np.einsum("ii->", side.product[..., 0]).real for side in (pair.left, pair.right))
            return np.asarray(self.scale * (left + right - 2 * pair.mean(*of)))
        if pair == "q_q":
            return np.asarray(self.scale * (2 - 2 * kappa_qq(*of)))
        kappa = self.kernel.radial(distance, self.n_features)
        return np.asarray(self.scale * (1.5 - 4 / math.pi * kappa if pair == "q_cos" else 1 - kappa))

    @cached_property
    def _falling(self) -> Curve:
        """-gamma, tabulated."""
        return Curve(lambda s: -self(s), kernel_reach(self.kernel, self.n_features)[0])

    @property
    def bias(self) -> float:
        """gamma(0)."""
        return float(self(0.0))

    @property
    def reach(self) -> float:
        """The end of the first branch."""
        return self._falling.branch_end

    @property
    def safe(self) -> float:
        """The largest squared distance below which all belong to one distance only."""
        return float("inf") if np.isinf(self._falling.ambiguous) else -self._falling.ambiguous

    def inverse(self, values: ArrayLike) -> Floats:
        """Return the distances at which gamma first has these values, on its first branch, elementwise.

        0 at or below the bias; NaN at or beyond the largest value of the branch, too far apart to tell.
        """
        return self._falling.inverse(-np.asarray(values, dtype=np.float64))

    def inverse_error(self, values: ArrayLike, error: ArrayLike) -> Floats:
        """Return how far the inverse may be off when values are by up to `error`, elementwise; infinite past `safe`."""
        y, step = np.broadcast_arrays(np.asarray(values, dtype=np.float64), np.asarray(error, dtype=np.float64))
        y = np.maximum(y, self.bias)
        ends = np.abs(np.stack([self.inverse(y - step), self.inverse(y + step)]) - self.inverse(y))
        far = np.nan_to_num(ends, nan=np.inf).max(axis=0)
        return np.where(y + step < self.safe, far, np.inf)


def gamma_q_cos_inverse_gaussian(y: ArrayLike, bandwidth: float = 1.0) -> Floats:
    """Return the distance of a measured gamma_{q,cos}, Gaussian kernel: sigma sqrt(-2 ln(3 pi/8 - pi y/4)).

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
    """Return the error of `gamma_q_cos_inverse_gaussian` per unit of error in its y, to first order.

    It is sigma^2 (pi/(4 s)) exp(s^2/(2 sigma^2)); the paper prints 4/(pi s) in place of pi/(4 s).

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

    Examples
    --------
    >>> from lowtide.theory import gamma_q_cos_inverse_slope
    >>> float(gamma_q_cos_inverse_slope(0.5).round(6))
    1.779945
    """
    sigma = check_positive("gamma_q_cos_inverse_slope", "bandwidth", bandwidth)
    z = np.asarray(s, dtype=np.float64) / sigma
    return np.asarray(sigma * math.pi / (4 * z) * np.exp(z**2 / 2))
