"""E[f(Q u) f(Q v)] for functions f of the levels of quantized normal projections u, v of correlation rho.

Q is piecewise constant, so by Price's theorem the derivative in rho is a sum over pairs of borders t_i, t_j of the
bivariate density there, and with rho = cos theta

    E[f(Q u) f(Q v)] = (E f)^2 + (1/2pi) int_theta^{pi/2} sum_ij df_i df_j exp(-X_ij) dtheta',
    X_ij = (t_i - t_j)^2/(2 sin^2 theta') + t_i t_j/(1 + cos theta'),        df_i = f(mu_{i+1}) - f(mu_i).

No bivariate cdf is needed, nothing cancels, and the integrand is smooth: panels that shrink towards theta = 0, where
neighboring borders come apart, make it a table of Legendre series. An odd f gives an odd function of rho, an even f an
even one, so the positive borders and correlations are enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, fail
from lowtide.maps import Normal
from lowtide.quantizers import lloyd_max_normal

Floats = NDArray[np.float64]

_ORDER = 20  # Gauss-Legendre nodes a panel, whose ends are a factor 2 apart: 1e-13
_BLOCK = 1 << 15  # numbers handled at once: they stay in the cache


@dataclass(frozen=True)
class SketchQuantizer:
    """The Lloyd-Max quantizer of N(0, 1), as the integrals of this folder need it."""

    levels: Floats  # (2^b,), ascending
    borders: Floats  # (2^b - 1,), ascending
    mass: Floats  # (2^b,), probability of each cell

    @property
    def distortion(self) -> float:
        """E(u - Q u)^2; E[u Q u] = E[(Q u)^2] is 1 less that."""
        return 1.0 - float(self.mass @ self.levels**2)

    def mean(self, values: Floats) -> Floats:
        """E of functions of the level, (2^b, ...) along the first axis."""
        return np.asarray(np.tensordot(self.mass, values, axes=1), dtype=np.float64)


@cache
def sketch_quantizer(bits: int) -> SketchQuantizer:
    """Return levels, borders and masses for 1 to 8 bits."""
    levels, borders = lloyd_max_normal(bits)
    half = len(levels) // 2
    lower = Normal().cdf(np.append(borders[: half - 1], 0.0))  # differences of small numbers only below 0
    mass = np.diff(lower, prepend=0.0)
    return SketchQuantizer(levels, borders, np.concatenate([mass, mass[::-1]]))


class LevelProduct:
    """Expected product of two codes, sum_f E[f(Q u) f(Q v)], and its covariance in a block, over the correlation.

    Parameters
    ----------
    bits : int
        b, 1 to 8.
    values : array-like of float, shape (2^b,) or (2^b, width)
        What each level stands for: a codebook. The product is summed over the columns.

    Notes
    -----
    Exact to 1e-12. Construction takes some hundred times 4^b/2 exponentials: a millisecond up to 4 bits, 50 for 8.
    Values cost about half a microsecond each.

    Examples
    --------
    >>> from lowtide.theory import LevelProduct
    >>> sign = LevelProduct(1, [-1.0, 1.0])                      # (2/pi) arcsin(rho)
    >>> sign([-1.0, 0.0, 0.5]).round(6).tolist()
    [-1.0, 0.0, 0.333333]
    """

    def __init__(self, bits: int, values: ArrayLike) -> None:
        bits = check_integer("LevelProduct", "bits", bits, low=1, high=8)
        f = np.asarray(values, dtype=np.float64)
        f = f[:, None] if f.ndim == 1 else f
        if f.ndim != 2 or len(f) != 2**bits:
            raise fail("LevelProduct", f"values must have shape ({2**bits},) or ({2**bits}, width)", f.shape)
        quantizer = sketch_quantizer(bits)
        odd, even = (f - f[::-1]) / 2, (f + f[::-1]) / 2
        mean = quantizer.mean(even)
        t = quantizer.borders
        slope = np.diff(even, axis=0).T @ (t * Normal().pdf(t))
        self._center = float(mean @ mean), float(mean @ slope)  # of the product and of T at rho = 0
        self._ends, self._series, self._integrals = _tabulate(t, np.diff(odd, axis=0), np.diff(even, axis=0))

    def __call__(self, rho: ArrayLike) -> Floats:
        """Expected product at the correlations, elementwise."""
        return self._blockwise(rho, lambda r: self._integral(r, 0))

    def block_covariance(self, rho: ArrayLike, dimension: int) -> Floats:
        """Covariance of the products of two orthogonal projections with chi lengths in D dimensions.

        [tr(M Sigma)^2/2 - D tr((M Sigma)^2)/2]/((D-1)(D+2)), Sigma the covariance of (u, v) and M the expected second
        derivatives of the product: exact for u v, to first order in 1/D for other products.
        """
        D = check_integer("block_covariance", "dimension", dimension, low=1)
        if D == 1:
            return np.zeros(np.shape(rho))
        return self._blockwise(rho, lambda r: self._traces(r, D) / ((D - 1) * (D + 2)))

    def _traces(self, rho: Floats, D: int) -> Floats:
        """M_uv is the derivative E' in rho, M_uu is T - rho E'; then tr(M Sigma) = 2 T. F = (1 - rho^2) E'."""
        theta = np.arccos(np.abs(rho))
        T = self._integral(rho, 2)
        odd, even = (self._evaluate(self._series[:, i], theta) for i in (0, 1))
        F = np.sin(theta) * (odd + np.sign(rho) * even) / (2 * math.pi)
        return np.asarray(2 * T**2 - D * (T**2 * (1 + rho**2) + 2 * rho * T * F + F**2))

    def _integral(self, rho: Floats, first: int) -> Floats:
        """The product (first = 0) or T (first = 2): columns `first` and `first + 1` are its odd and even parts."""
        theta = np.arccos(np.abs(rho))
        odd, even = (self._evaluate(self._integrals[:, first + i], theta) for i in (0, 1))
        return np.asarray(self._center[first // 2] + (np.sign(rho) * odd + even) / (2 * math.pi))

    def _evaluate(self, series: Floats, theta: Floats) -> Floats:
        """Piecewise Legendre series, (panels, order), at angles."""
        low, high = self._ends[:-1], self._ends[1:]
        panel = np.clip(np.searchsorted(high, theta), 0, len(low) - 1)
        x = (2 * theta - low[panel] - high[panel]) / (high[panel] - low[panel])
        return np.asarray(legendre.legval(x, series[panel].T, tensor=False), dtype=np.float64)

    def _blockwise(self, rho: ArrayLike, function: Callable[[Floats], Floats]) -> Floats:
        """Apply an elementwise function to correlations, a block at a time: the series are gathered."""
        r = check_correlations("LevelProduct", rho)
        flat, out = r.ravel(), np.empty(r.size)
        for start in range(0, r.size, _BLOCK):
            out[start : start + _BLOCK] = function(flat[start : start + _BLOCK])
        return out.reshape(r.shape)


def check_correlations(owner: str, rho: ArrayLike) -> Floats:
    """Return correlations as float64; refuse those outside [-1, 1] and NaN."""
    r = np.asarray(rho, dtype=np.float64)
    if not np.all(np.abs(r) <= 1.0):
        worst = r.ravel()[np.flatnonzero(~(np.abs(r) <= 1.0))[0]]
        raise fail(owner, "rho must be numbers from -1 to 1", float(worst), "Clip estimated correlations first.")
    return r


def _panels(borders: Floats) -> Floats:
    """Ends of the panels of theta, 0 to pi/2; below the first, different borders weigh less than exp(-32)."""
    if len(borders) == 1:
        return np.array([0.0, math.pi / 2])
    first = float(np.diff(borders).min()) / 8
    count = max(1, math.ceil(math.log2(math.pi / 2 / first)))
    return np.append(0.0, math.pi / 2 / 2.0 ** np.arange(count, -1, -1))


def _tabulate(borders: Floats, odd: Floats, even: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the ends of the panels, and per panel four integrands and their integrals from theta to pi/2.

    The integrands are sum df_i df_j e^-X and sum df_i df_j X e^-X, each for the odd and the even functions.
    """
    ends = _panels(borders)
    x, weight = legendre.leggauss(_ORDER)
    half, middle = np.diff(ends) / 2, (ends[:-1] + ends[1:]) / 2
    theta = (middle[:, None] + half[:, None] * x).ravel()
    values = _integrands(borders, odd, even, theta).reshape(len(half), _ORDER, 4)
    project = (legendre.legvander(x, _ORDER - 1) * weight[:, None] * (np.arange(_ORDER) + 0.5)).T
    series = np.einsum("nk,pkc->pcn", project, values)
    below = legendre.legint(series, lbnd=-1, axis=-1) * half[:, None, None]
    whole = below.sum(axis=-1)  # every Legendre polynomial is 1 at the upper end
    above = np.cumsum(whole[::-1], axis=0)[::-1]
    integrals = -below
    integrals[..., 0] += above
    return ends, series, integrals


def _integrands(borders: Floats, odd: Floats, even: Floats, theta: Floats) -> Floats:
    """The four integrands at angles, (angles, 4), folded onto the borders from 0 up; odd f have even steps df."""
    start = len(borders) // 2
    t, odd, even = borders[start:], odd[start:].copy(), even[start:]
    odd[0] /= 2  # the border 0 is its own mirror image
    # Without the linear algebra library, whose threads take longer to start than these sums.
    weights = [2 * np.einsum("ic,jc->ij", df, df) for df in (odd, even)]
    product, gap, total = np.outer(t, t), (t[:, None] - t) ** 2 / 2, (t[:, None] + t) ** 2 / 2
    out = np.empty((len(theta), 4))
    step = max(1, _BLOCK // product.size)
    for start in range(0, len(theta), step):
        angle = theta[start : start + step, None, None]
        square, tilt = np.sin(angle) ** 2, product / (1 + np.cos(angle))
        # Beyond 700 the exponential would be a denormal number, which is as good as 0 and ten times slower.
        near, far = np.minimum(gap / square + tilt, 700.0), np.minimum(total / square - tilt, 700.0)
        e_near, e_far = np.exp(-near), np.exp(-far)
        x_near, x_far = near * e_near, far * e_far
        sums = zip(weights * 2, (e_near + e_far, e_near - e_far, x_near + x_far, x_near - x_far))
        out[start : start + step] = np.stack([np.einsum("ij,aij->a", w, e) for w, e in sums], axis=1)
    return out
