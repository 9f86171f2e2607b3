"""The kernel of frequencies on a sphere, and the normalized Bessel function that it is.

Three formulas cover the plane without underflow or cancellation, with nu = d/2 - 1:

* z^2 <= 2 d: the power series, whose terms then never exceed the sum by more than a factor e^2;
* nu >= 100 and z <= nu/2: Debye's expansion in logarithms, where J_nu itself would underflow;
* elsewhere J_nu from scipy times its prefactor, multiplied in logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, jv

from lowtide._checks import check_integer
from lowtide.kernels.base import FrequencyLaw, Kernel

Floats = NDArray[np.float64]
_DEBYE_TERMS = 12  # at nu >= 100, z <= nu/2 the first term left out is below 1e-16


@dataclass(eq=False, repr=False)
class Bessel(Kernel):
    """Kernel j_d(|x - y|_2 / scale); frequencies uniform on the sphere of radius 1/scale in the input's dimension.

    Parameters
    ----------
    scale : float, default=1.0
        With scale = sigma / sqrt(d) the kernel approaches the Gaussian of bandwidth sigma as d grows.

    Examples
    --------
    >>> Bessel().radial(1.0, n_features=3).round(6), round(math.sin(1.0), 6)
    (np.float64(0.841471), 0.841471)
    """

    scale: float = 1.0
    law: ClassVar[FrequencyLaw] = "sphere"
    positive: ClassVar[tuple[str, ...]] = ("scale",)

    def radial(self, distance: ArrayLike, n_features: int) -> NDArray[np.float64]:
        """Return the normalized Bessel function of distance / scale in n_features dimensions."""
        return normalized_bessel(n_features, np.asarray(distance, dtype=np.float64) / self.scale)

    def sample(self, rng: np.random.Generator, n_features: int, size: int) -> NDArray[np.float64]:
        """Draw independent points of the sphere, shape (n_features, size)."""
        directions = rng.standard_normal((n_features, size))
        return directions / (np.linalg.norm(directions, axis=0) * self.scale)

    def length_quantile(self, q: ArrayLike, dimension: int) -> NDArray[np.float64]:
        """Return 1/scale: every frequency has this length."""
        return np.full(np.shape(q), 1.0 / self.scale)

    def mean_frequency_norm(self, n_features: int) -> float:
        """Return 1/scale."""
        return 1.0 / self.scale

    def second_moment(self, n_features: int) -> float:
        """Return 1/scale^2."""
        return 1.0 / self.scale**2

    def mean_projection(self, n_features: int) -> float:
        """Return E|u_1| / scale for u uniform on the unit sphere: Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2))."""
        ratio = math.exp(gammaln(n_features / 2) - gammaln((n_features + 1) / 2))
        return ratio / (math.sqrt(math.pi) * self.scale)


def normalized_bessel(dimension: int, z: ArrayLike) -> Floats:
    """Mean of cos(w.u) for w uniform on the unit sphere of R^d and |u| = z.

    j(z) = Gamma(d/2) (2/z)^(d/2-1) J_{d/2-1}(z); d = 2 is J_0, d = 3 is sin(z)/z, and j(sqrt(d) z) tends
    to exp(-z^2/2) as d grows.

    Parameters
    ----------
    dimension : int
        d, at least 1 (d = 1 is the cosine).
    z : array-like of float
        Distances; j is even, so signs do not matter.

    Returns
    -------
    ndarray of float64
        Same shape as `z`. Relative error below 1e-11 away from the zeros, for `dimension` up to 10^5.

    Notes
    -----
    About 0.2 microseconds a value.

    References
    ----------
    Demni and Kadri, Orthogonal random features: explicit forms and sharp inequalities, Section 3.

    Examples
    --------
    >>> from lowtide.kernels import normalized_bessel
    >>> normalized_bessel(2, [0.0, 1.5]).round(6).tolist()
    [1.0, 0.511828]
    """
    dim = check_integer("normalized_bessel", "dimension", dimension, low=1)
    z_abs = np.minimum(np.abs(np.asarray(z, dtype=np.float64)), 1e150)  # squares must not overflow
    if dim == 1:
        return np.cos(z_abs)
    nu = dim / 2 - 1
    series = z_abs**2 <= 2 * dim
    debye = ~series & (nu >= 100) & (z_abs <= nu / 2)
    direct = ~series & ~debye
    out = np.empty_like(z_abs)
    out[series] = _power_series(z_abs[series], dim)
    if debye.any():
        out[debye] = _debye(z_abs[debye], nu)
    out[direct] = _scaled_jv(z_abs[direct], nu)
    return out


def _power_series(z: Floats, dim: int) -> Floats:
    """Sum (-z^2/4)^k / (k! (d/2)_k) until the terms vanish; meant for z^2 <= 2 d."""
    x, k = -(z**2) / 4, 0
    term, total = np.ones_like(z), np.ones_like(z)
    while term.size and np.max(np.abs(term)) > 1e-18:
        term = term * x / ((k + 1) * (dim / 2 + k))
        total += term
        k += 1
    return total


def _scaled_jv(z: Floats, nu: float) -> Floats:
    """Gamma(nu+1) (2/z)^nu J_nu(z), the two factors multiplied in logarithms."""
    bessel = jv(nu, z)
    with np.errstate(divide="ignore"):
        log = gammaln(nu + 1) + nu * np.log(2 / z) + np.log(np.abs(bessel))
    return np.asarray(np.sign(bessel) * np.exp(log), dtype=np.float64)


def _debye(z: Floats, nu: float) -> Floats:
    """Debye's expansion of J_nu(z), z < nu, divided by (z/2)^nu / Gamma(nu+1).

    With w = sqrt(1 - (z/nu)^2) the large logarithms cancel by hand (Stirling's series for Gamma):
    log j = nu [(w - 1) - log((1 + w)/2)] - log(w)/2 + stirling(nu) + log sum_k u_k(1/w)/nu^k.
    """
    ratio = z / nu
    w = np.sqrt(1 - ratio**2)
    deficit = -(ratio**2) / (1 + w)
    # log Gamma(nu+1) - (nu log nu - nu + log(2 pi nu)/2), for nu >= 100.
    stirling = 1 / (12 * nu) - 1 / (360 * nu**3) + 1 / (1260 * nu**5)
    exponent = nu * (deficit - np.log1p(deficit / 2)) + stirling
    total = np.asarray(sum(u_k(1 / w) / nu**k for k, u_k in enumerate(_debye_polynomials())))
    return np.asarray(np.exp(exponent) * total / np.sqrt(w), dtype=np.float64)


@cache
def _debye_polynomials() -> tuple[Polynomial, ...]:
    """Build u_0..u_K: u_{k+1}(t) = t^2 (1-t^2) u_k'(t)/2 + (1/8) int_0^t (1 - 5 s^2) u_k(s) ds."""
    weight = Polynomial([0, 0, 0.5, 0, -0.5])
    kernel = Polynomial([1, 0, -5]) / 8
    polynomials = [Polynomial([1.0])]
    for _ in range(_DEBYE_TERMS):
        last = polynomials[-1]
        polynomials.append(weight * last.deriv() + (kernel * last).integ())
    return tuple(polynomials)
