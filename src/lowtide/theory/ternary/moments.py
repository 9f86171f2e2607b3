"""Generalized Gaussian moments: all that a kernel of many random features keeps of its activation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad_vec

from lowtide._checks import check_positive, fail

Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# The normal density is below 1e-313 there: nothing of a function with finite moments is left outside.
_END = 38.0
# Where most functions with kinks have them, and where the density turns negligible for bounded functions.
_POINTS = (-9.0, -3.0, 0.0, 3.0, 9.0)
# A moment below this share of its Cauchy-Schwarz bound is rounding of the quadrature.
_ROUNDING = 1e-11


@dataclass(frozen=True)
class GaussianMoments:
    """Moments d0, d1, d2 of an activation sigma at t ~ N(0, tau).

        d1 = (E sigma')^2,    d2 = (E sigma'')^2 / 4,    d0 = Var sigma - tau d1

    Derivatives are weak ones: E sigma' = E[t sigma]/tau, E sigma'' = E[(t^2/tau - 1) sigma]/tau. d1 weighs the means of
    a mixture, d2 its covariances, and d0 only adds to the diagonal of the kernel matrix.

    Parameters
    ----------
    d0, d1, d2 : float
        Not negative; d0 is NaN where a target leaves it open.

    References
    ----------
    TRF (Tiomoko Ali, Liao and Couillet), Theorem 1.

    Examples
    --------
    >>> from lowtide.theory import gaussian_moments
    >>> moments = gaussian_moments("relu", tau=1.0)
    >>> round(moments.d0, 4), moments.d1, round(moments.d2, 4)
    (0.0908, 0.25, 0.0398)
    """

    d0: float
    d1: float
    d2: float

    def variance(self, tau: float) -> float:
        """Return Var sigma = d0 + tau d1."""
        return self.d0 + tau * self.d1


def moments_of_callable(function: Function, tau: float) -> GaussianMoments:
    """Return the moments of any function of an array, by adaptive quadrature.

    Jumps and kinks are found by bisection, so the relative error stays near 1e-10 wherever they are.
    """
    tau = check_positive("moments_of_callable", "tau", tau)
    name = getattr(function, "__name__", repr(function))
    with np.errstate(all="ignore"):
        offset, scale = _rough_size(function, tau, name)
        found = _integrals(lambda t: (function(t) - offset) / scale, tau)
    if not np.isfinite(found).all():
        raise fail("gaussian_moments", f"{name} must have finite Gaussian moments at tau = {tau:g}", found.tolist())
    mean, square, first, second = (float(value) for value in found)
    noise = _ROUNDING * math.sqrt(square)
    first, second = (value if abs(value) > noise else 0.0 for value in (first, second))
    d0 = max(0.0, square - mean**2 - first**2)
    return GaussianMoments(scale**2 * d0, scale**2 * first**2 / tau, scale**2 * second**2 / (4 * tau**2))


def _rough_size(function: Function, tau: float, name: str) -> tuple[float, float]:
    """Return mean and standard deviation on a coarse grid: with them taken out, absolute tolerances mean something."""
    z = np.linspace(-6, 6, 121)
    weights = np.exp(-z * z / 2) / np.exp(-z * z / 2).sum()
    values = np.asarray(function(math.sqrt(tau) * z), dtype=np.float64)
    if values.shape != z.shape or not np.isfinite(values).all():
        raise fail("gaussian_moments", f"{name} must return one finite number for each number", values.shape)
    mean = float(weights @ values)
    return mean, math.sqrt(float(weights @ (values - mean) ** 2)) or 1.0


def _integrals(function: Function, tau: float) -> NDArray[np.float64]:
    """Return E sigma, E sigma^2, E z sigma and E (z^2 - 1) sigma at t = sqrt(tau) z."""
    root = math.sqrt(tau)

    def integrand(z: float) -> NDArray[np.float64]:
        value = float(np.asarray(function(np.array([root * z])), dtype=np.float64)[0])
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return density * np.array([value, value * value, value * z, value * (z * z - 1)])

    found, _ = quad_vec(integrand, -_END, _END, epsabs=1e-13, epsrel=1e-12, limit=20000, points=_POINTS)
    return np.asarray(found)
