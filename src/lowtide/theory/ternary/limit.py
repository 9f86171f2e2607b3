"""The kernel of a three-level map of normal projections."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, owens_t

from lowtide.theory.ternary.ternary_map import TernaryMap

Floats = NDArray[np.float64]

# A normal variable is never this large, and quotients of it stay finite.
_FAR = 40.0


def ternary_kernel(
    sigma: TernaryMap, square_x: ArrayLike, square_y: ArrayLike, product: ArrayLike
) -> tuple[Floats, Floats]:
    """E[sigma(w.x) sigma(w.y)] and E[sigma(w.x)^2 sigma(w.y)^2] for w ~ N(0, I).

    w.x and w.y are jointly normal, so both are sums of the values of four quadrants, with bivariate normal
    probabilities: Phi_2(h, k; rho) = (Phi(h) + Phi(k))/2 - T(h, a) - T(k, b) - [h, k of opposite sign]/2, T Owen's
    function, a = (k/h - rho)/sqrt(1 - rho^2), b = (h/k - rho)/sqrt(1 - rho^2).

    Parameters
    ----------
    sigma : TernaryMap
    square_x : array-like of float (n,)
        |x|^2.
    square_y : array-like of float (k,)
        |y|^2.
    product : array-like of float (n, k)
        x.y.

    Returns
    -------
    mean, second moment : ndarray of float64 (n, k)
        m features have the mean and, with frequencies that are independent, variance (second - mean^2)/m.

    References
    ----------
    Owen, Tables for computing bivariate normal probabilities.

    Examples
    --------
    >>> from lowtide.theory import TernaryMap, ternary_kernel
    >>> mean, second = ternary_kernel(TernaryMap(0.0, 0.0), [1.0], [1.0], [[0.5]])    # a sign function: 2/pi asin(rho)
    >>> round(float(mean[0, 0]), 6), round(float(second[0, 0]), 6)
    (0.333333, 1.0)
    """
    norms = [np.sqrt(np.asarray(square, dtype=np.float64)) for square in (square_x, square_y)]
    scale = norms[0][:, None] * norms[1]
    rho = np.divide(np.asarray(product, dtype=np.float64), scale, out=np.zeros_like(scale), where=scale > 0)
    rho = np.clip(rho, -1.0, 1.0)
    # A zero row is above negative thresholds and below positive ones; one at 0 it does not pass.
    above = [-_over(sigma.s_plus, norm, -np.inf if sigma.s_plus < 0 else np.inf) for norm in norms]
    below = [_over(sigma.s_minus, norm, np.inf if sigma.s_minus > 0 else -np.inf) for norm in norms]
    high, low = sigma.high, sigma.low
    both_high = _normal(above[0][:, None], above[1], rho)
    both_low = _normal(below[0][:, None], below[1], rho)
    mixed = _normal(above[0][:, None], below[1], -rho) + _normal(below[0][:, None], above[1], -rho)
    mean = high**2 * both_high + low**2 * both_low + high * low * mixed
    return mean, high**4 * both_high + low**4 * both_low + (high * low) ** 2 * mixed


def _over(threshold: float, norm: Floats, at_zero: float) -> Floats:
    """Return threshold/norm within what a normal variable reaches."""
    quotient = np.divide(threshold, norm, out=np.full_like(norm, at_zero), where=norm > 0)
    return np.clip(quotient, -_FAR, _FAR)


def _normal(h: Floats, k: Floats, rho: Floats) -> Floats:
    """Return P(U < h, V < k) of standard normal variables with correlation rho."""
    width = np.sqrt(np.maximum((1.0 - rho) * (1.0 + rho), 1e-30))
    opposite = (h * k < 0) | ((h * k == 0) & (h + k < 0))
    joint = (
        (ndtr(h) + ndtr(k)) / 2 - owens_t(h, (_ratio(k, h) - rho) / width) - owens_t(k, (_ratio(h, k) - rho) / width)
    )
    return np.asarray(np.clip(joint - 0.5 * opposite, 0.0, 1.0))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """Return top/bottom, 1 for 0/0 and infinity of top's sign for others over 0."""
    top, bottom = np.broadcast_arrays(top, bottom)
    at_zero = np.where(top == 0, 1.0, np.copysign(np.inf, top))
    return np.divide(top, bottom, out=at_zero, where=bottom != 0)
