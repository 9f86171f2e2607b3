"""Mean and variance of the kernel that a sketch estimates at one bandwidth."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, check_positive
from lowtide.theory.sketch.level_product import LevelProduct, check_correlations, sketch_quantizer

Floats = NDArray[np.float64]


class SketchMoments:
    """Mean and variance of the product of two codes of one projection, over the correlation of the rows.

    Parameters
    ----------
    bits : int
        b, 1 to 8.
    codebook : array-like of float, shape (2^b,) or (2^b, width)
        Values of the levels, without the factor 1/sqrt(k) of k projections.

    Notes
    -----
    The estimate of k projections is the mean of k such products. Over independent projections its variance is
    `variance(rho)`/k; over orthogonal ones use `layout_variance(blocks, variance, covariance)`.

    References
    ----------
    One-Sketch (Li and Li), Theorem 1; the integral and the covariance are derived.

    Examples
    --------
    >>> from lowtide.theory import SketchMoments
    >>> sign = SketchMoments(1, [-1.0, 1.0])
    >>> float(sign.mean(0.5).round(6)), float(sign.variance(0.5).round(6))
    (0.333333, 0.888889)
    """

    def __init__(self, bits: int, codebook: ArrayLike) -> None:
        book = np.asarray(codebook, dtype=np.float64)
        columns = book.reshape(len(book), -1)
        squares = (columns[:, :, None] * columns[:, None, :]).reshape(len(book), -1)
        self._mean, self._second = LevelProduct(bits, columns), LevelProduct(bits, squares)

    def mean(self, rho: ArrayLike) -> Floats:
        """Expected product at the correlations, elementwise."""
        return self._mean(rho)

    def variance(self, rho: ArrayLike) -> Floats:
        """Variance of the product of one projection, elementwise, never negative."""
        return np.maximum(self._second(rho) - self._mean(rho) ** 2, 0.0)

    def covariance(self, rho: ArrayLike, dimension: int) -> Floats:
        """Covariance of the products of two projections of one orthogonal block of this dimension, elementwise.

        First order in 1/dimension; it is negative: orthogonal projections repel.
        """
        return self._mean.block_covariance(rho, dimension)


def fourier_moments(bits: int, gamma: float) -> SketchMoments:
    """Moments of the kernel estimate that a b-bit sketch gives at one gamma.

    Parameters
    ----------
    bits : int
        b, 1 to 8.
    gamma : float
        Scikit-learn's, above 0: the kernel is exp(-gamma |x-y|^2) = exp(-2 gamma (1 - rho)) of rows of norm 1. The
        paper's gamma is sqrt(2 gamma).

    Returns
    -------
    SketchMoments
        Of the codebook cos(sqrt(2 gamma) mu_i), sin(sqrt(2 gamma) mu_i). Kept: asking again is free.

    Examples
    --------
    >>> from lowtide.theory import fourier_moments
    >>> float(fourier_moments(4, 0.5).mean(0.5).round(4))         # exp(-1/2) is 0.6065
    0.6066
    """
    bits = check_integer("fourier_moments", "bits", bits, low=1, high=8)
    return _fourier(bits, paper_gamma("fourier_moments", gamma))


def sketch_kernel(bits: int, gamma: float, rho: ArrayLike) -> Floats:
    """Kernel K_Q that a b-bit sketch converges to: sum_ij cos(g (mu_i - mu_j)) P(u in cell i, v in cell j).

    Parameters
    ----------
    bits : int
        b, 1 to 8.
    gamma : float
        Scikit-learn's, above 0; g = sqrt(2 gamma) is the paper's.
    rho : array-like of float
        Correlations (cosines) of the rows, in [-1, 1].

    Returns
    -------
    ndarray of float64
        Same shape as `rho`; 1 at rho = 1. The exact kernel is exp(-2 gamma (1 - rho)).

    References
    ----------
    One-Sketch (Li and Li), Theorem 1, by a one-dimensional integral.

    Examples
    --------
    >>> from lowtide.theory import sketch_kernel
    >>> float(sketch_kernel(2, 0.5, 0.5).round(6))
    0.612095
    """
    return fourier_moments(bits, gamma).mean(check_correlations("sketch_kernel", rho))


def sketch_variance(bits: int, gamma: float, rho: ArrayLike) -> Floats:
    """Variance of the kernel estimate of one projection: [1 + K_Q(4 gamma)]/2 - K_Q(gamma)^2.

    Parameters
    ----------
    bits : int
        b, 1 to 8.
    gamma : float
        Scikit-learn's, above 0.
    rho : array-like of float
        Correlations of the rows, in [-1, 1].

    Returns
    -------
    ndarray of float64
        Same shape as `rho`; divide by the number of independent projections. 0 at rho = 1.

    References
    ----------
    One-Sketch (Li and Li), Theorem 1, simplified.

    Examples
    --------
    >>> from lowtide.theory import sketch_variance
    >>> float(sketch_variance(2, 0.5, 0.5).round(6))
    0.198394
    """
    return fourier_moments(bits, gamma).variance(check_correlations("sketch_variance", rho))


def sketch_kernel_one_bit(gamma: float, rho: ArrayLike) -> Floats:
    """Kernel of a one-bit sketch in closed form: cos^2 a + sin^2 a (2/pi) arcsin(rho), a = 2 sqrt(gamma/pi).

    Parameters
    ----------
    gamma : float
        Scikit-learn's, above 0.
    rho : array-like of float
        Correlations of the rows, in [-1, 1].

    Returns
    -------
    ndarray of float64
        Same shape as `rho`. At rho = -1 it is cos(2a), which swings for ever as gamma grows.

    References
    ----------
    One-Sketch (Li and Li), section 4.2, for rho = -1; derived for the rest.

    Examples
    --------
    >>> from lowtide.theory import sketch_kernel_one_bit
    >>> float(sketch_kernel_one_bit(0.5, 0.5).round(6))
    0.658343
    """
    r = check_correlations("sketch_kernel_one_bit", rho)
    angle = paper_gamma("sketch_kernel_one_bit", gamma) * math.sqrt(2 / math.pi)
    return np.asarray(math.cos(angle) ** 2 + math.sin(angle) ** 2 * 2 / math.pi * np.arcsin(r))


def paper_gamma(owner: str, gamma: float) -> float:
    """Return the paper's gamma, 1/bandwidth, of scikit-learn's."""
    return math.sqrt(2 * check_positive(owner, "gamma", gamma))


@lru_cache(maxsize=128)
def _fourier(bits: int, gamma: float) -> SketchMoments:
    """Moments at the paper's gamma."""
    phase = gamma * sketch_quantizer(bits).levels
    return SketchMoments(bits, np.stack([np.cos(phase), np.sin(phase)], axis=1))
