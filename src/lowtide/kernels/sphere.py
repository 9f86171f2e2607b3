"""Kernels of directions: of frequencies on a sphere, the normalized Bessel function; and of the angle of two rows.

Three formulas cover the plane of the Bessel function without underflow or cancellation, with nu = d/2 - 1:

* z^2 <= 2 d: the power series, whose terms then never exceed the sum by more than a factor e^2;
* nu (1 - (z/nu)^2)^(3/2) >= 65: Debye's expansion in logarithms, where J_nu itself may underflow;
* elsewhere J_nu from scipy times its prefactor, multiplied in logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import scipy
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer
from lowtide.kernels.base import FrequencyLaw, Kernel
from lowtide.spec import Spec

Floats = NDArray[np.float64]
# With w = sqrt(1 - (z/nu)^2) the terms of Debye's expansion fall as (nu w^3)^-k: from nu w^3 = 65 on the first of the
# terms left out is below 1e-16. Where nu w^3 is smaller, J_nu(z) is above e^-30 and cannot underflow.
_DEBYE_TERMS = 12
_DEBYE_FROM = 65.0
_STIRLING_FROM = 30.0  # the order where the first term left out of Stirling's series is below 1e-16


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
    lengths: ClassVar[tuple[str, ...]] = ("scale",)

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
        ratio = math.exp(scipy.special.gammaln(n_features / 2) - scipy.special.gammaln((n_features + 1) / 2))
        return ratio / (math.sqrt(math.pi) * self.scale)


@dataclass(eq=False, repr=False)
class ArcCosine(Spec):
    """Kernel |x|^n |y|^n J_n(theta)/pi, theta the angle of x and y: what units that are 0 below 0 converge to.

    J_0 = pi - theta, J_1 = sin theta + (pi - theta) cos theta. It is 2 E[s(w.x) s(w.y)] for normal w, with s the step
    (n = 0) or max(t, 0) (n = 1): twice what `lowtide.ActivationFeatures("step")` and `("relu")` estimate.

    Parameters
    ----------
    order : int, default=1
        n, 0 or 1.

    References
    ----------
    Cho and Saul, Kernel methods for deep learning, (1) to (6).

    Examples
    --------
    >>> rows = np.array([[2.0, 0.0], [0.0, 3.0]])
    >>> ArcCosine(0).gram(rows).round(4).tolist(), ArcCosine(1).gram(rows).round(4).tolist()
    ([[1.0, 0.5], [0.5, 1.0]], [[4.0, 1.9099], [1.9099, 9.0]])
    """

    order: int = 1

    def check(self) -> None:
        """Refuse other orders."""
        check_integer("ArcCosine", "order", self.order, 0, 1)

    def gram(self, X: ArrayLike, Y: ArrayLike | None = None) -> Floats:
        """Return the exact kernel matrix of rows of X against rows of Y (X itself when None), (n, n_y)."""
        left = np.asarray(X, dtype=np.float64)
        right = left if Y is None else np.asarray(Y, dtype=np.float64)
        squares = [np.einsum("ij,ij->i", rows, rows) for rows in (left, right)]
        return arc_cosine(self.order, squares[0][:, None], squares[1], left @ right.T)


def arc_cosine(order: int, square_x: ArrayLike, square_y: ArrayLike, product: ArrayLike) -> Floats:
    """Return the arc-cosine kernel of order 0 or 1 from |x|^2, |y|^2 and x.y, arrays of one broadcast shape.

    A row of zeros has kernel 0 with every other, as its features have.

    Examples
    --------
    >>> from lowtide.kernels import arc_cosine
    >>> float(arc_cosine(0, 1.0, 1.0, 0.5).round(6))
    0.666667
    """
    size = np.sqrt(np.asarray(square_x, dtype=np.float64) * np.asarray(square_y, dtype=np.float64))
    inner = np.asarray(product, dtype=np.float64)
    rho = np.clip(
        np.divide(inner, size, out=np.zeros(np.broadcast_shapes(size.shape, inner.shape)), where=size > 0), -1, 1
    )
    theta = np.arccos(rho)
    if order == 0:
        return np.where(size > 0, 1 - theta / math.pi, 0.0)
    return np.asarray(size / math.pi * (np.sqrt((1 - rho) * (1 + rho)) + (math.pi - theta) * rho))


def normalized_bessel(dimension: int, z: ArrayLike) -> Floats:
    """Return the mean of cos(w.u) for w uniform on the unit sphere of R^d and |u| = z.

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
        Same shape as `z`. Relative error away from the zeros below 1e-12 for `dimension` up to 5000, 1e-10 up to 10^5.

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
    z_abs = _absolute(z)
    if dim == 1:
        return np.cos(z_abs)
    series = z_abs**2 <= 2 * dim
    out = np.empty_like(z_abs)
    out[series] = _power_series(z_abs[series], dim)
    sign, log = _signed_log(z_abs[~series], dim / 2 - 1)
    out[~series] = sign * np.exp(log)
    return out


def log_normalized_bessel(dimension: int, z: ArrayLike) -> tuple[Floats, Floats]:
    """Return the sign and the logarithm of |j(z)|, which is finite where j itself is below the smallest double.

    Parameters
    ----------
    dimension : int
        d, at least 2.
    z : array-like of float
        Distances.

    Returns
    -------
    sign, log : ndarray of float64
        Same shape as `z`; 0 and minus infinity at a zero. The logarithm's error is that of `normalized_bessel`.

    Examples
    --------
    >>> from lowtide.kernels import log_normalized_bessel
    >>> [float(part.round(6)) for part in log_normalized_bessel(20_000, 9000.0)]
    [1.0, -2327.393421]
    """
    dim = check_integer("log_normalized_bessel", "dimension", dimension, low=2)
    z_abs = _absolute(z)
    series = z_abs**2 <= 2 * dim
    sign, log = np.ones_like(z_abs), np.empty_like(z_abs)
    log[series] = np.log(_power_series(z_abs[series], dim))  # the first zero lies above sqrt(2 d)
    sign[~series], log[~series] = _signed_log(z_abs[~series], dim / 2 - 1)
    return sign, log


def _absolute(z: ArrayLike) -> Floats:
    """Return |z|, cut where squares would overflow."""
    return np.minimum(np.abs(np.asarray(z, dtype=np.float64)), 1e150)


def _power_series(z: Floats, dim: int) -> Floats:
    """Sum (-z^2/4)^k / (k! (d/2)_k) until the terms vanish; meant for z^2 <= 2 d."""
    x, k = -(z**2) / 4, 0
    term, total = np.ones_like(z), np.ones_like(z)
    while term.size and np.max(np.abs(term)) > 1e-18:
        term = term * x / ((k + 1) * (dim / 2 + k))
        total += term
        k += 1
    return total


def _signed_log(z: Floats, nu: float) -> tuple[Floats, Floats]:
    """Return the sign and the logarithm of |j(z)| where the power series does not serve, z^2 > 4 (nu + 1)."""
    sign, log = np.ones_like(z), np.empty_like(z)
    debye = nu * np.maximum(1 - (z / max(nu, 1.0)) ** 2, 0) ** 1.5 >= _DEBYE_FROM
    if debye.any():
        log[debye] = _log_debye(z[debye], nu)
    bessel = scipy.special.jv(nu, z[~debye])
    sign[~debye] = np.sign(bessel)
    with np.errstate(divide="ignore"):
        log[~debye] = _log_prefactor(z[~debye], nu) + np.log(np.abs(bessel))
    return sign, log


def _log_prefactor(z: Floats, nu: float) -> Floats:
    """Logarithm of Gamma(nu+1) (2/z)^nu; of large orders the large parts of the two cancel by hand."""
    if nu < _STIRLING_FROM:
        return np.asarray(scipy.special.gammaln(nu + 1) + nu * np.log(2 / z))
    return np.asarray(nu * (np.log(2 * nu / z) - 1) + 0.5 * math.log(2 * math.pi * nu) + _stirling(nu))


def _stirling(nu: float) -> float:
    """Return log Gamma(nu+1) - (nu log nu - nu + log(2 pi nu)/2)."""
    return 1 / (12 * nu) - 1 / (360 * nu**3) + 1 / (1260 * nu**5) - 1 / (1680 * nu**7) + 1 / (1188 * nu**9)


def _log_debye(z: Floats, nu: float) -> Floats:
    """Debye's expansion of J_nu(z), z < nu, divided by (z/2)^nu / Gamma(nu+1), in logarithms.

    With w = sqrt(1 - (z/nu)^2) the large logarithms cancel by hand (Stirling's series for Gamma):
    log j = nu [(w - 1) - log((1 + w)/2)] - log(w)/2 + stirling(nu) + log sum_k u_k(1/w)/nu^k.
    """
    ratio = z / nu
    w = np.sqrt(1 - ratio**2)
    deficit = -(ratio**2) / (1 + w)
    total = np.asarray(sum(u_k(1 / w) / nu**k for k, u_k in enumerate(_debye_polynomials())))
    return np.asarray(nu * (deficit - np.log1p(deficit / 2)) + _stirling(nu) + np.log(total) - 0.5 * np.log(w))


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
