"""Kernel matrices written out entry by entry, as the formulas read."""

import math

import numpy as np
from scipy.special import gamma, jv, kv


def minkowski(x, y, p):
    """Return (sum |x_i - y_i|^p)^(1/p)."""
    return sum(abs(a - b) ** p for a, b in zip(x, y)) ** (1.0 / p)


def gram(kappa, X, Y, p):
    """Return kappa(|x - y|_p) for every pair of rows."""
    return np.array([[kappa(minkowski(x, y, p)) for y in Y] for x in X])


def gaussian(s, bandwidth):
    """Return exp(-s^2 / (2 bandwidth^2))."""
    return math.exp(-(s**2) / (2 * bandwidth**2))


def laplace(s, bandwidth):
    """Return exp(-s / bandwidth)."""
    return math.exp(-s / bandwidth)


def stable(s, scale, alpha):
    """Return exp(-(s / scale)^alpha)."""
    return math.exp(-((s / scale) ** alpha))


def matern(s, length_scale, nu):
    """Return 2^(1-nu)/Gamma(nu) a^nu K_nu(a), a = sqrt(2 nu) s / length_scale."""
    a = math.sqrt(2 * nu) * s / length_scale
    return 1.0 if a == 0 else 2 ** (1 - nu) / gamma(nu) * a**nu * kv(nu, a)


def bessel(s, scale, d):
    """Return Gamma(d/2) (2/z)^(d/2-1) J_{d/2-1}(z), z = s / scale."""
    z = s / scale
    return 1.0 if z == 0 else gamma(d / 2) * (2 / z) ** (d / 2 - 1) * jv(d / 2 - 1, z)
