"""Bounds on the kernel of a sketch from the distortions of its sine and cosine (Theorem 2, corrected)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import wofz

from lowtide._checks import check_integer, check_interval
from lowtide.theory.sketch.level_product import sketch_quantizer
from lowtide.theory.sketch.moments import paper_gamma

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SketchBounds:
    """What Theorem 2 says of a sketch's kernel at one gamma and correlation; z is N(0, 2 gamma), Q its quantizer.

    Parameters
    ----------
    sine_distortion, cosine_distortion : float
        D_s = E(sin Q - sin z)^2 and D_c likewise.
    sine_covariance, cosine_covariance : float
        zeta_s = Cov(sin Q - sin z, sin z) and zeta_c likewise.
    cosine_offset : float
        Delta_c = E[cos Q] - E[cos z].
    kernel : float
        The exact kernel.
    lower, upper : float
        Bounds on K_Q, clipped to [-1, 1].

    Examples
    --------
    >>> from lowtide.theory import sketch_bounds
    >>> bounds = sketch_bounds(1, 0.5, 0.5)
    >>> round(bounds.lower, 4), round(bounds.upper, 4)
    (0.2219, 0.9933)
    """

    sine_distortion: float
    cosine_distortion: float
    sine_covariance: float
    cosine_covariance: float
    cosine_offset: float
    kernel: float
    lower: float
    upper: float


def sketch_bounds(bits: int, gamma: float, rho: float) -> SketchBounds:
    """Bounds on `sketch_kernel` around the exact kernel, from Theorem 2 as corrected.

    Parameters
    ----------
    bits : int
        b, 1 to 8.
    gamma : float
        Scikit-learn's, above 0; half the square of the paper's.
    rho : float
        Correlation of the rows, in [-1, 1].

    Returns
    -------
    SketchBounds
        Bounds and the distortions they are made of.

    Notes
    -----
    As printed the theorem takes roots of negative covariances. The bounds are loose for few bits: use `sketch_kernel`,
    which is exact, and `sketch_bias`.

    References
    ----------
    One-Sketch (Li and Li), Theorem 2, corrected.

    Examples
    --------
    >>> from lowtide.theory import sketch_bounds, sketch_kernel
    >>> bounds = sketch_bounds(4, 0.5, 0.9)
    >>> round(bounds.lower, 4), float(sketch_kernel(4, 0.5, 0.9).round(4)), round(bounds.upper, 4)
    (0.8793, 0.8986, 0.9151)
    """
    bits = check_integer("sketch_bounds", "bits", bits, low=1, high=8)
    g2 = paper_gamma("sketch_bounds", gamma) ** 2
    rho = check_interval("sketch_bounds", "rho", rho, -1.0, 1.0)
    parts = _Distortions(bits, math.sqrt(g2))
    kernel = math.exp(-g2 * (1 - rho))
    damping = 2 * math.exp(-g2 * (1 - rho**2) / 2)
    total, offset = parts.D_s + parts.D_c, math.exp(-(rho**2) * g2 / 2) * parts.Delta_c
    middle, spread = _cross_terms(parts, g2, rho)
    lower = kernel - total + damping * (middle - spread + offset)
    upper = kernel + total + damping * (middle + spread + offset)
    constants = parts.D_s, parts.D_c, parts.zeta_s, parts.zeta_c, parts.Delta_c
    return SketchBounds(*constants, kernel, max(-1.0, lower), min(1.0, upper))


class _Distortions:
    """Second moments of e_s = sin Q - sin z and e_c = cos Q - cos z, in closed form."""

    def __init__(self, bits: int, gamma: float) -> None:
        quantizer = sketch_quantizer(bits)
        sine, cosine = np.sin(gamma * quantizer.levels), np.cos(gamma * quantizer.levels)
        cells = _cell_transforms(quantizer.borders, gamma)
        center = math.exp(-(gamma**2) / 2)
        self.v_s, self.v_c = _variances(gamma**2)
        with_sine, with_cosine = float(sine @ cells.imag), float(cosine @ cells.real)
        self.D_s = float(quantizer.mean(sine**2)) - 2 * with_sine + self.v_s
        self.D_c = float(quantizer.mean(cosine**2)) - 2 * with_cosine + self.v_c + center**2
        self.Delta_c = float(quantizer.mean(cosine)) - center
        self.zeta_s = with_sine - self.v_s
        self.zeta_c = with_cosine - self.v_c - center**2 - self.Delta_c * center


def _variances(g2: float) -> tuple[float, float]:
    """Variances of sin z and cos z for z of variance g2."""
    return -math.expm1(-2 * g2) / 2, math.expm1(-g2) ** 2 / 2


def _cell_transforms(borders: Floats, gamma: float) -> NDArray[np.complex128]:
    """Integral of exp(i gamma u) phi(u) over each cell; no overflow at any gamma.

    Beyond t >= 0 it is exp(i gamma t - t^2/2) w((gamma + i t)/sqrt2)/2, w the Faddeeva function; cells below 0 mirror.
    """
    t = borders[len(borders) // 2 :]
    beyond = np.exp(1j * gamma * t - t**2 / 2) * wofz((gamma + 1j * t) / math.sqrt(2)) / 2
    upper = beyond - np.append(beyond[1:], 0.0)
    return np.concatenate([upper[::-1].conj(), upper])


def _cross_terms(parts: _Distortions, g2: float, rho: float) -> tuple[float, float]:
    """The known part of E[e_s sin(rho z)] + Cov(e_c, cos(rho z)), and how far the unknown part can go."""
    near, far = math.exp(-g2 * (1 - rho) ** 2 / 2), math.exp(-g2 * (1 + rho) ** 2 / 2)
    V_s, V_c = _variances(rho**2 * g2)
    covariance_s, covariance_c = (near - far) / 2, (near + far) / 2 - math.exp(-g2 * (1 + rho**2) / 2)
    sine = _partial_correlation(parts.D_s, parts.zeta_s, parts.v_s, covariance_s, V_s)
    cosine = _partial_correlation(parts.D_c - parts.Delta_c**2, parts.zeta_c, parts.v_c, covariance_c, V_c)
    return sine[0] + cosine[0], sine[1] + cosine[1]


def _partial_correlation(D: float, zeta: float, v: float, covariance: float, V: float) -> tuple[float, float]:
    """Middle and half width of Cov(e, s) given Var e = D, Cov(e, z) = zeta, Var z = v, Cov(z, s), Var s = V."""
    if min(D, v, V) <= 0:  # below the rounding of the distortions, or rho = 0
        return 0.0, 0.0
    first, second = zeta / math.sqrt(D * v), covariance / math.sqrt(v * V)
    root = math.sqrt(max(0.0, 1 - first**2) * max(0.0, 1 - second**2))
    scale = math.sqrt(D * V)
    return first * second * scale, root * scale
