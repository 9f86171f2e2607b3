"""Mean and variance of kernels and cosines estimated from quantized random projections (One-Sketch).

Everything is made of E[f(Q u) f(Q v)] for functions f of the levels of quantized normal projections u, v of correlation
rho, Q any steps on the line (`LineSteps`). Q is piecewise constant, so by Price's theorem the derivative in rho is a
sum over pairs of borders t_i, t_j of the bivariate density there, and with rho = cos theta

    E[f(Q u) f(Q v)] = (E f)^2 + (1/2pi) int_theta^{pi/2} sum_ij df_i df_j exp(-X_ij) dtheta',
    X_ij = (t_i - t_j)^2/(2 sin^2 theta') + t_i t_j/(1 + cos theta'),        df_i = f(mu_{i+1}) - f(mu_i).

No bivariate cdf is needed, nothing cancels, and the integrand is smooth: panels that shrink towards theta = 0, where
neighboring borders come apart, make it a table of Legendre series. At negative correlations v is mirrored, so the same
integral runs over borders t_i and -t_j. Gamma is scikit-learn's throughout, half the square of the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, check_option, check_positive, fail
from lowtide.maps import Normal
from lowtide.quantizers import LineSteps, normal_steps
from lowtide.theory.layouts import chi_covariance

Floats = NDArray[np.float64]

_ORDER = 20  # Gauss-Legendre nodes a panel, whose ends are a factor 2 apart: 1e-13
_BLOCK = 1 << 15  # numbers handled at once: they stay in the cache


class SketchMoments:
    """State mean and variance of the product of two codes of one projection, over the correlation of the rows.

    Parameters
    ----------
    steps : int or LineSteps
        The quantizer; 1 to 8 are the bits of Lloyd-Max.
    codebook : array-like of float, shape (n_levels,) or (n_levels, width)
        Values of the levels, without the factor 1/sqrt(k) of k projections.
    g : float, optional
        Given where the values are cos(g mu_i) and sin(g mu_i): `covariance` then goes beyond the first order.

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

    def __init__(self, steps: int | LineSteps, codebook: ArrayLike, g: float | None = None) -> None:
        book = np.asarray(codebook, dtype=np.float64)
        self._g = g
        columns = book.reshape(len(book), -1)
        squares = (columns[:, :, None] * columns[:, None, :]).reshape(len(book), -1)
        self._mean, self._second = LevelProduct(steps, columns), LevelProduct(steps, squares)

    def mean(self, rho: ArrayLike) -> Floats:
        """Return the expected product at the correlations, elementwise."""
        return self._mean(rho)

    def variance(self, rho: ArrayLike) -> Floats:
        """Return the variance of the product of one projection, elementwise, never negative."""
        return np.maximum(self._second(rho) - self._mean(rho) ** 2, 0.0)

    def covariance(self, rho: ArrayLike, dimension: int) -> Floats:
        """Return the covariance of the products of two projections of one orthogonal block, elementwise.

        First order in 1/dimension, and of Fourier features the rest of full projections; it is negative: orthogonal
        projections repel.
        """
        first = self._mean.block_covariance(rho, dimension)
        return first if self._g is None else first + beyond_first_order(self._g, self._g, np.asarray(rho), dimension)


@lru_cache(maxsize=128)
def coded_fourier_moments(steps: LineSteps, gamma: float) -> SketchMoments:
    """Return the moments of codes against codes, made once; `fourier_moments` is the public name."""
    g = paper_gamma("fourier_moments", gamma)
    phase = g * steps.values
    return SketchMoments(steps, np.stack([np.cos(phase), np.sin(phase)], axis=1), g)


def sketch_kernel_one_bit(gamma: float, rho: ArrayLike) -> Floats:
    """Return the kernel of a one-bit Lloyd-Max sketch in closed form: cos^2 a + sin^2 a (2/pi) arcsin(rho).

    Here a = 2 sqrt(gamma/pi).

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


def first_order(uu: Floats, uv: Floats, vv: Floats, rho: Floats, D: int) -> Floats:
    """Return [tr(M S)^2/2 - D tr((M S)^2)/2]/((D-1)(D+2)), M = [[uu, uv], [uv, vv]] and S = [[1, rho], [rho, 1]].

    M are the expected second derivatives of a product of two projections: its covariance in a block, to first order.
    """
    corners, mixed = (uu + rho * uv, rho * uv + vv), (rho * uu + uv) * (uv + rho * vv)
    traces = corners[0] ** 2 + corners[1] ** 2 + 2.0 * mixed
    return np.asarray(((corners[0] + corners[1]) ** 2 - D * traces) / (2.0 * (D - 1) * (D + 2)))


def beyond_first_order(x: Any, y: Any, rho: Floats, D: int) -> Floats:
    """Return what the covariance of cos(x u - y v) in a block has beyond its first order in 1/D, in full precision."""
    if D == 1:
        return np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y), np.shape(rho)))
    z = np.sqrt((x - y) ** 2 + 2.0 * x * y * (1.0 - rho))
    kernel = np.exp(-(z**2) / 2.0)
    return chi_covariance(D, z) - first_order(-x * x * kernel, x * y * kernel, -y * y * kernel, rho, D)


@dataclass(frozen=True)
class CosineMoments:
    """State mean and variance of the product of a projection v with a full side by Q(u)/E[u Q(u)]: its mean is rho.

    Without quantizing the three numbers are 1, 3, 1. The variance is (1 - rho^2) second + (fourth - 1) rho^2.
    """

    second: float  # E[Q(u)^2] / E[u Q(u)]^2
    fourth: float  # E[u^2 Q(u)^2] / E[u Q(u)]^2
    bend: float  # E[u^2 Q'(u)] / E[u Q(u)]

    def mean(self, rho: ArrayLike) -> Floats:
        """Return the correlations: no bias."""
        return check_correlations("CosineMoments", rho).copy()

    def variance(self, rho: ArrayLike) -> Floats:
        """Return the variance of the product of one projection, elementwise."""
        square = check_correlations("CosineMoments", rho) ** 2
        return np.asarray((1 - square) * self.second + (self.fourth - 1) * square)

    def covariance(self, rho: ArrayLike, dimension: int) -> Floats:
        """Return the covariance of the products of two projections of one orthogonal block, elementwise.

        As `LevelProduct.block_covariance`, with M = [[(bend - 1) rho, 1], [1, 0]].
        """
        D = check_integer("CosineMoments", "dimension", dimension, low=1)
        square = check_correlations("CosineMoments", rho) ** 2
        if D == 1:
            return np.zeros_like(square)
        trace_square = (1 + self.bend) ** 2 * square
        traces = 2 + (self.bend**2 + 2 * self.bend - 1) * square
        return np.asarray((trace_square - D * traces) / (2 * (D - 1) * (D + 2)))


def cosine_moments(
    steps: int | LineSteps | None, sides: tuple[str, str] = ("codes", "codes")
) -> SketchMoments | CosineMoments:
    """Return mean and variance of the cosine estimate of a sketch, codes decoded to (mu_i - E Q)/E[z Q(z)].

    Of Lloyd-Max that is mu_i/(1 - D), D the distortion.

    Parameters
    ----------
    steps : int, LineSteps or None
        The quantizer; 1 to 8 are the bits of Lloyd-Max. None only when both sides are full.
    sides : (str, str), default ("codes", "codes")
        What stands left and right, each "codes" or "full".

    Returns
    -------
    SketchMoments or CosineMoments
        Both have `mean(rho)`, `variance(rho)` and `covariance(rho, dimension)`, per projection. With a full side the
        mean is rho. Codes against codes have the mean Cov(Q(u), Q(v))/E[z Q(z)]^2: rho near 0, of Lloyd-Max 1/(1-D) at
        rho = 1. Invert it, or use a full side, where that matters: one bit gives 1.57 for equal rows, four bits 1.01.

    Notes
    -----
    Variance of one projection, full against full: 1 + rho^2. At rho = 0: Var Q/E[z Q(z)]^2 a coded side.

    References
    ----------
    Derived.

    Examples
    --------
    >>> from lowtide.theory import cosine_moments
    >>> float(cosine_moments(1, ("codes", "full")).variance(0.0).round(6))     # pi/2
    1.570796
    >>> float(cosine_moments(1).mean(1.0).round(6)), float(cosine_moments(None, ("full", "full")).variance(0.5))
    (1.570796, 1.25)
    """
    check_sides("cosine_moments", sides)
    if "codes" not in sides:
        return CosineMoments(second=1.0, fourth=3.0, bend=1.0)
    steps = as_steps("cosine_moments", steps)
    return _half_coded(steps) if "full" in sides else _coded(steps)


@lru_cache(maxsize=32)
def _coded(steps: LineSteps) -> SketchMoments:
    return SketchMoments(steps, steps.linear)


@lru_cache(maxsize=32)
def _half_coded(steps: LineSteps) -> CosineMoments:
    """Return the three numbers: v given u is normal with mean rho u and variance 1 - rho^2."""
    # The integral of u^2 phi(u) over each cell, from the antiderivative Phi(u) - u phi(u).
    t, law = steps.borders, Normal()
    weight = steps.mass - np.diff(t * law.pdf(t), prepend=0.0, append=0.0)
    square = steps.linear**2
    return CosineMoments(
        second=float(steps.mean(square)),
        fourth=float(square @ weight),
        bend=float(np.diff(steps.linear) @ (t**2 * law.pdf(t))),
    )


def as_steps(owner: str, steps: Any) -> LineSteps:
    """Return steps as they are, and a number of bits as Lloyd-Max."""
    return steps if isinstance(steps, LineSteps) else normal_steps(check_integer(owner, "bits", steps, low=1, high=8))


class LevelProduct:
    """Evaluate sum_f E[f(Q u) f(Q v)] over the correlation, and its covariance in a block.

    `values`, (n,) or (n, width), is what each of n levels stands for: a codebook, whose columns are summed over. Exact
    to 1e-12. Construction takes some hundred times n^2 exponentials: a millisecond or two up to 4 bits, 100 for 8.
    Values cost about half a microsecond each.
    """

    def __init__(self, steps: int | LineSteps, values: ArrayLike) -> None:
        steps = as_steps("LevelProduct", steps)
        f, n = np.asarray(values, dtype=np.float64), steps.n_levels
        f = f[:, None] if f.ndim == 1 else f
        if f.ndim != 2 or len(f) != n:
            raise fail("LevelProduct", f"values must have shape ({n},) or ({n}, width)", f.shape)
        mean, jumps, t = steps.mean(f), np.diff(f, axis=0), steps.borders
        slope = jumps.T @ (t * Normal().pdf(t))
        self._center = float(mean @ mean), float(mean @ slope)  # of the product and of T at rho = 0
        self._ends, self._series, self._integrals = _tabulate(t, jumps)

    def __call__(self, rho: ArrayLike) -> Floats:
        """Return the expected product at the correlations, elementwise."""
        return self._blockwise(rho, lambda r: self._integral(r, 0))

    def block_covariance(self, rho: ArrayLike, dimension: int) -> Floats:
        """Return the covariance of the products of two orthogonal projections with chi lengths in D dimensions.

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
        above, below = (self._evaluate(self._series[:, i], theta) for i in (0, 1))
        F = np.sin(theta) * np.where(rho < 0.0, -below, above) / (2 * math.pi)
        return np.asarray(2 * T**2 - D * (T**2 * (1 + rho**2) + 2 * rho * T * F + F**2))

    def _integral(self, rho: Floats, first: int) -> Floats:
        """The product (first = 0) or T (first = 2): columns `first` and `first + 1` are for rho above and below 0."""
        theta = np.arccos(np.abs(rho))
        above, below = (self._evaluate(self._integrals[:, first + i], theta) for i in (0, 1))
        return np.asarray(self._center[first // 2] + np.where(rho < 0.0, below, above) / (2 * math.pi))

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


def check_sides(owner: str, sides: object) -> None:
    """Refuse what is not a pair of "codes" and "full"."""
    if not isinstance(sides, (tuple, list)) or len(sides) != 2:
        raise fail(owner, "sides must be (left, right), each 'codes' or 'full'", sides)
    for side in sides:
        check_option(owner, "each of sides", side, ("codes", "full"))


def check_correlations(owner: str, rho: ArrayLike) -> Floats:
    """Return correlations as float64; refuse those outside [-1, 1] and NaN."""
    r = np.asarray(rho, dtype=np.float64)
    if not np.all(np.abs(r) <= 1.0):
        worst = r.ravel()[np.flatnonzero(~(np.abs(r) <= 1.0))[0]]
        raise fail(owner, "rho must be numbers from -1 to 1", float(worst), "Clip estimated correlations first.")
    return r


def theta_panels(borders: Floats) -> Floats:
    """Return the ends of panels of theta, 0 to pi/2; below the second, different borders weigh less than exp(-32).

    Borders and mirrored borders count; those that are less than 1e-9 apart make no difference.
    """
    gaps = np.diff(np.sort(np.concatenate([borders, -borders])))
    first = float(gaps[gaps > 1e-9].min(initial=4 * math.pi)) / 8
    return np.append(0.0, math.pi / 2 / 2.0 ** np.arange(math.ceil(math.log2(math.pi / 2 / first)), -1, -1))


def _tabulate(borders: Floats, jumps: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the ends of the panels, and per panel four integrands and their integrals from theta to pi/2.

    The integrands are sum df_i df_j e^-X and sum df_i df_j X e^-X, each for correlations above and below 0.
    """
    ends = theta_panels(borders)
    x, weight = legendre.leggauss(_ORDER)
    half, middle = np.diff(ends) / 2, (ends[:-1] + ends[1:]) / 2
    theta = (middle[:, None] + half[:, None] * x).ravel()
    values = _integrands(borders, jumps, theta).reshape(len(half), _ORDER, 4)
    project = (legendre.legvander(x, _ORDER - 1) * weight[:, None] * (np.arange(_ORDER) + 0.5)).T
    series = np.einsum("nk,pkc->pcn", project, values)
    below = legendre.legint(series, lbnd=-1, axis=-1) * half[:, None, None]
    whole = below.sum(axis=-1)  # every Legendre polynomial is 1 at the upper end
    above = np.cumsum(whole[::-1], axis=0)[::-1]
    integrals = -below
    integrals[..., 0] += above
    return ends, series, integrals


def _integrands(borders: Floats, jumps: Floats, theta: Floats) -> Floats:
    """The four integrands at angles, (angles, 4); v that is mirrored has the borders -t_j and the jumps -df_j."""
    # Without the linear algebra library, whose threads take longer to start than these sums.
    weights = 2.0 * np.einsum("ic,jc->ij", jumps, jumps)
    weights[np.diag_indices_from(weights)] /= 2.0
    i, j = np.triu_indices(len(borders))  # pairs count twice, but for a border with itself
    weight, s, t = weights[i, j], borders[i], borders[j]
    product, gap, total = s * t, (s - t) ** 2 / 2, (s + t) ** 2 / 2
    out = np.empty((len(theta), 4))
    step = max(1, _BLOCK // product.size)
    for start in range(0, len(theta), step):
        angle = theta[start : start + step, None]
        square, tilt = np.sin(angle) ** 2, product / (1 + np.cos(angle))
        # Beyond 700 the exponential would be a denormal number, which is as good as 0 and ten times slower.
        near, far = np.minimum(gap / square + tilt, 700.0), np.minimum(total / square - tilt, 700.0)
        e_near, e_far = np.exp(-near), np.exp(-far)
        sums = (e_near, -e_far, near * e_near, -far * e_far)
        out[start : start + step] = np.stack([np.einsum("p,ap->a", weight, e) for e in sums], axis=1)
    return out
