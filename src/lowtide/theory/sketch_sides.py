"""Moments of sketches whose two sides differ: codes against full projections, and rows of different lengths.

With u, v the projections of two rows of correlation rho, a side is exp(i g u) in full and exp(i g Q(u)) in codes, g the
product of sqrt(2 gamma) and of the row's length. Both are series of Hermite polynomials he_n of unit variance, and

    E[f(u) h(v)] = sum_n rho^n f_n h_n,        f_n = E[f(u) he_n(u)].

The coefficients of a full side fall faster than any power, so a sum over n is exact where there is one. Two coded sides
take the integral of the module `sketch`, with a codebook a row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, check_option, check_positive, fail
from lowtide.maps import Normal
from lowtide.quantizers import LineSteps
from lowtide.theory.layouts import chi_covariance
from lowtide.theory.sketch import (
    SketchMoments,
    as_steps,
    beyond_first_order,
    check_correlations,
    check_sides,
    coded_fourier_moments,
    first_order,
    paper_gamma,
    theta_panels,
)

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

_ORDER = 20
# Steps so fine that orthogonal projections of codes are as dependent as those in full: six bits of Lloyd-Max.
_FINE = 7e-4
# Terms of a series; sides that need more are narrower than any sketch can resolve.
_MOST_TERMS = 20_000


class FullFourierMoments:
    """State mean and variance of full Fourier features of two rows of norm 1, over the correlation of the rows.

    Parameters
    ----------
    gamma : float
        Scikit-learn's, above 0.

    Examples
    --------
    >>> float(FullFourierMoments(0.5).mean(0.5).round(6))                 # exp(-1/2)
    0.606531
    """

    def __init__(self, gamma: float) -> None:
        self._g = paper_gamma("FullFourierMoments", gamma)

    def mean(self, rho: ArrayLike) -> Floats:
        """Return exp(-2 gamma (1 - rho)), elementwise."""
        return np.exp(-(self._g**2) * (1.0 - check_correlations("FullFourierMoments", rho)))

    def variance(self, rho: ArrayLike) -> Floats:
        """Return the variance of one projection's product, (1 - kappa^2)^2 / 2."""
        square = 2 * self._g**2 * (1.0 - check_correlations("FullFourierMoments", rho))
        return np.asarray(np.expm1(-square) ** 2 / 2)

    def covariance(self, rho: ArrayLike, dimension: int) -> Floats:
        """Return the covariance of the products of two projections of one orthogonal block, exact."""
        distance = np.sqrt(2 * (1.0 - check_correlations("FullFourierMoments", rho)))
        return chi_covariance(dimension, self._g * distance)


class HalfCodedMoments:
    """State mean and variance of codes against full Fourier features of rows of norm 1, over their correlation.

    Parameters
    ----------
    steps : int or LineSteps
        The quantizer; 1 to 8 are the bits of Lloyd-Max.
    gamma : float
        Scikit-learn's, above 0.

    References
    ----------
    Derived; One-Sketch (Li and Li) has codes on both sides.

    Examples
    --------
    >>> half = HalfCodedMoments(4, 0.5)
    >>> float(half.mean(0.5).round(4)), float(half.variance(1.0).round(4))
    (0.6065, 0.0002)
    """

    def __init__(self, steps: int | LineSteps, gamma: float) -> None:
        steps = as_steps("HalfCodedMoments", steps)
        g = self._g = paper_gamma("HalfCodedMoments", gamma)
        self._first, self._second = ((coded_series(steps, k * g), full_series(k * g)) for k in (1.0, 2.0))

    def mean(self, rho: ArrayLike) -> Floats:
        """Return the expected product, elementwise."""
        return _series(*self._first, check_correlations("HalfCodedMoments", rho))

    def variance(self, rho: ArrayLike) -> Floats:
        """Return the variance of one projection's product: cos^2 is half of 1 and the cosine of twice the phase."""
        r = check_correlations("HalfCodedMoments", rho)
        return np.maximum((1.0 + _series(*self._second, r)) / 2.0 - _series(*self._first, r) ** 2, 0.0)

    def covariance(self, rho: ArrayLike, dimension: int) -> Floats:
        """Return the covariance of the products of two projections of one orthogonal block of D dimensions.

        As `LevelProduct.block_covariance`, [tr(M S)^2/2 - D tr((M S)^2)/2]/((D-1)(D+2)) with M the expected second
        derivatives, whose series are those of f'' h, f' h' and f h''. Beyond the first order in 1/D, as in full.
        """
        D = check_integer("HalfCodedMoments", "dimension", dimension, low=1)
        r = check_correlations("HalfCodedMoments", rho)
        if D == 1:
            return np.zeros_like(r)
        a, b = (side[: min(len(side) for side in self._first)] for side in self._first)
        n = np.arange(len(a) - 2)
        twice = np.sqrt((n + 1.0) * (n + 2.0))
        uu, uv, vv = (
            _series(*sides, r)
            for sides in ((twice * a[2:], b[:-2]), ((n + 1.0) * a[1:-1], b[1:-1]), (a[:-2], twice * b[2:]))
        )
        return first_order(uu, uv, vv, r, D) + beyond_first_order(self._g, self._g, r, D)


@dataclass(frozen=True)
class DitheredMoments:
    """State mean and variance of sqrt2 cos(a + tau) times sqrt2 cos(b + tau), tau uniform, from those of the pair.

    The product is cos(a - b) + cos(a + b + 2 tau): the mean of the pair (cos, sin), and 1/2 more variance. Dithers of
    different projections are independent, so the covariance is that of the pair.
    """

    pair: SketchMoments | HalfCodedMoments | FullFourierMoments

    def mean(self, rho: ArrayLike) -> Floats:
        """Return the expected product, elementwise."""
        return self.pair.mean(rho)

    def variance(self, rho: ArrayLike) -> Floats:
        """Return the variance of one projection's product, elementwise."""
        return self.pair.variance(rho) + 0.5

    def covariance(self, rho: ArrayLike, dimension: int) -> Floats:
        """Return the covariance of the products of two projections of one orthogonal block."""
        return self.pair.covariance(rho, dimension)


def fourier_moments(
    steps: int | LineSteps | None,
    gamma: float,
    sides: tuple[str, str] = ("codes", "codes"),
    *,
    form: str = "pair",
) -> SketchMoments | HalfCodedMoments | FullFourierMoments | DitheredMoments:
    """Return mean and variance of the kernel estimate that a sketch gives at one gamma.

    Of codes the mean is the kernel K_Q that the sketch converges to, sum_ij cos(g (mu_i - mu_j)) P(u in cell i, v in
    cell j), g = sqrt(2 gamma); the variance of one projection is [1 + K_Q(4 gamma)]/2 - K_Q(gamma)^2.

    Parameters
    ----------
    steps : int, LineSteps or None
        The quantizer; 1 to 8 are the bits of Lloyd-Max. None only when both sides are full.
    gamma : float
        Scikit-learn's, above 0: the kernel is exp(-gamma |x-y|^2) = exp(-2 gamma (1 - rho)) of rows of norm 1. The
        paper's gamma is sqrt(2 gamma).
    sides : (str, str), default ("codes", "codes")
        What stands left and right, each "codes" or "full".
    form : {"pair", "cosine"}, default="pair"
        Cosine and sine of each projection, or sqrt2 cos(. + tau) with a dither tau: the same mean, 1/2 more variance.

    Returns
    -------
    SketchMoments, HalfCodedMoments, FullFourierMoments or DitheredMoments
        All have `mean(rho)`, `variance(rho)` and `covariance(rho, dimension)`, per projection. Of codes, with the
        codebook cos(sqrt(2 gamma) mu_i), sin(sqrt(2 gamma) mu_i): `mean(rho)` is 1 at rho = 1, where `variance(rho)`
        is 0; divide the variance by the number of independent projections. Kept: asking again is free.

    References
    ----------
    One-Sketch (Li and Li), Theorem 1, by a one-dimensional integral; the variance simplified; full sides derived.

    Examples
    --------
    >>> from lowtide.theory import fourier_moments
    >>> float(fourier_moments(4, 0.5).mean(0.5).round(4))         # exp(-1/2) is 0.6065
    0.6066
    >>> float(fourier_moments(2, 0.5).variance(0.5).round(6))
    0.198394
    >>> float(fourier_moments(1, 0.5, ("codes", "full")).mean(0.5).round(4))
    0.6042
    """
    check_sides("fourier_moments", sides)
    if check_option("fourier_moments", "form", form, ("pair", "cosine")) == "cosine":
        return DitheredMoments(_pair_moments(steps, gamma, sides))
    return _pair_moments(steps, gamma, sides)


def _pair_moments(
    steps: int | LineSteps | None, gamma: float, sides: tuple[str, str]
) -> SketchMoments | HalfCodedMoments | FullFourierMoments:
    if "codes" not in sides:
        return FullFourierMoments(gamma)
    steps = as_steps("fourier_moments", steps)
    gamma = check_positive("fourier_moments", "gamma", gamma)
    return coded_fourier_moments(steps, gamma) if "full" not in sides else _half_coded(steps, gamma)


@lru_cache(maxsize=64)
def _half_coded(steps: LineSteps, gamma: float) -> HalfCodedMoments:
    return HalfCodedMoments(steps, gamma)


def _series(left: Complex, right: Complex, rho: Floats) -> Floats:
    """Return Re sum_n rho^n left_n conj(right_n) by Horner's rule, as far as both go."""
    total = np.zeros_like(rho)
    for c in (left[: len(right)] * right[: len(left)].conj()).real[::-1]:
        total = total * rho + c
    return total


def full_series(g: float) -> Complex:
    """Return the Hermite coefficients of exp(i g v): exp(-g^2/2) (i g)^n / sqrt(n!)."""
    n_terms = int(g * g + 12.0 * g + 40.0)
    if n_terms > _MOST_TERMS:
        need = "sqrt(2 gamma) times the length of a row must be at most 135 for moments of a full side"
        raise fail("Sketch", need, g, "Take sides=('codes', 'codes'), or lower gamma.")
    n = np.arange(n_terms)
    size = (
        np.exp(-g * g / 2.0 + n * math.log(g) - scipy.special.gammaln(n + 1.0) / 2.0)
        if g > 0.0
        else (n == 0).astype(float)
    )
    return np.asarray(size * 1j ** (n % 4), dtype=np.complex128)


def coded_series(steps: LineSteps, g: float, n_terms: int = 0) -> Complex:
    """Return the Hermite coefficients of exp(i g Q(u)), as many as the full side of the same g has unless told.

    A jump df at the border t adds df phi(t) he_{n-1}(t) / sqrt(n).
    """
    values, t = np.exp(1j * g * steps.values), steps.borders
    n_terms = n_terms or len(full_series(g))
    out = np.empty(n_terms, dtype=np.complex128)
    out[0] = steps.mass @ values
    jump = np.diff(values) * Normal().pdf(t)
    before, here = np.zeros_like(t), np.ones_like(t)  # he_{n-2} and he_{n-1}
    for n in range(1, n_terms):
        out[n] = (jump @ here) / math.sqrt(n)
        before, here = here, (t * here - math.sqrt(n - 1.0) * before) / math.sqrt(n)
    return out


def scaled_mean(steps: int | LineSteps, g: tuple[Floats, Floats], rho: Floats, sides: tuple[str, str]) -> Floats:
    """Return E cos(A(u) - B(v)) for every pair of rows, A(u) = g_x u in full and g_x Q(u) in codes, (n, n_y).

    Parameters
    ----------
    steps : int or LineSteps
        The quantizer; 1 to 8 are the bits of Lloyd-Max.
    g : pair of ndarray (n,), (n_y,)
        sqrt(2 gamma) times the lengths of the rows.
    rho : ndarray (n, n_y)
        Cosines of the rows.
    sides : pair of {"codes", "full"}

    Returns
    -------
    ndarray of float64 (n, n_y)

    Examples
    --------
    >>> g = np.array([1.0, 2.0])
    >>> scaled_mean(4, (g, g), np.ones((2, 2)), ("codes", "codes")).round(3)
    array([[1.   , 0.608],
           [0.608, 1.   ]])
    """
    x, y = g
    if "codes" not in sides:
        # |x|^2 + |y|^2 - 2 rho |x| |y| without cancellation for rows of one length.
        return np.exp(-((x[:, None] - y) ** 2) / 2.0 - np.outer(x, y) * (1.0 - rho))
    steps = as_steps("scaled_mean", steps)
    if "full" not in sides:
        phase = [each[:, None] * steps.values for each in g]
        left, right = (np.stack([np.cos(p), np.sin(p)], axis=2) for p in phase)
        return _coded_mean(steps, left, right, rho)
    return _row_sum(*_row_series(steps, g, sides), rho)


def scaled_covariance(
    steps: int | LineSteps, g: tuple[Floats, Floats], rho: Floats, sides: tuple[str, str], dimension: int
) -> Floats:
    """Return the covariance of the products of two projections of one orthogonal block, for every pair of rows.

    Exact for full sides. What codes change in it is taken to first order in 1/D, and as nothing where steps are as fine
    as 6 bits of Lloyd-Max.

    Parameters
    ----------
    steps : int or LineSteps
        The quantizer; 1 to 8 are the bits of Lloyd-Max.
    g : pair of ndarray (n,), (n_y,)
        sqrt(2 gamma) times the lengths of the rows.
    rho : ndarray (n, n_y)
        Cosines of the rows.
    sides : pair of {"codes", "full"}
    dimension : int
        D, of the block after padding.

    Returns
    -------
    ndarray of float64 (n, n_y)

    Examples
    --------
    >>> g = np.array([1.0])
    >>> pairs = ("full", "full"), ("codes", "full"), ("codes", "codes")
    >>> [float(scaled_covariance(2, (g, g), np.array([[0.5]]), sides, 64)[0, 0].round(5)) for sides in pairs]
    [-0.00286, -0.0023, -0.00184]
    """
    x, y = g
    if dimension == 1 or not rho.size:
        return np.zeros(rho.shape)
    steps = as_steps("scaled_covariance", steps)
    if "codes" not in sides or steps.distortion < _FINE:
        return chi_covariance(dimension, np.sqrt((x[:, None] - y) ** 2 + 2.0 * np.outer(x, y) * (1.0 - rho)))
    if "full" not in sides:
        parts = [_coded_derivatives(steps, float(one), y, row) for one, row in zip(x, rho)]
        uu, uv, vv = (np.array(part) for part in zip(*parts))
        return first_order(uu, uv, vv, rho, dimension) + beyond_first_order(x[:, None], y, rho, dimension)
    a, b = _row_series(steps, g, sides)
    n = np.arange(a.shape[1] - 2)
    twice = np.sqrt((n + 1.0) * (n + 2.0))
    uu, vv = _row_sum(twice * a[:, 2:], b[:, :-2], rho), _row_sum(a[:, :-2], twice * b[:, 2:], rho)
    uv = _row_sum((n + 1.0) * a[:, 1:-1], b[:, 1:-1], rho)
    return first_order(uu, uv, vv, rho, dimension) + beyond_first_order(x[:, None], y, rho, dimension)


def _row_series(steps: LineSteps, g: tuple[Floats, Floats], sides: tuple[str, str]) -> tuple[Complex, Complex]:
    """Return the Hermite coefficients of every row's side, (n, terms) and (n_y, terms), as many as a full side has."""
    full = (one for each, side in zip(g, sides) if side == "full" for one in each)
    n_terms = max((len(full_series(float(one))) for one in full), default=3)
    made = []
    for each, side in zip(g, sides):
        table = np.zeros((len(each), n_terms), dtype=np.complex128)
        for row, one in zip(table, each):
            own = coded_series(steps, float(one), n_terms) if side == "codes" else full_series(float(one))
            row[: len(own)] = own
        made.append(table)
    return made[0], made[1]


def _row_sum(left: Complex, right: Complex, rho: Floats) -> Floats:
    """Return Re sum_n rho^n left_an conj(right_bn) by Horner's rule, (n, n_y)."""
    total = np.zeros(rho.shape)
    for n in range(left.shape[1] - 1, -1, -1):
        total = total * rho + np.outer(left[:, n], right[:, n].conj()).real
    return total


def _coded_derivatives(steps: LineSteps, x: float, y: Floats, rho: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the expected second derivatives of cos(x Q(u) - y Q(v)) in u and u, u and v, v and v, each (n_y,).

    Jumps df at borders t are derivatives: E[f' h'] is a sum of bivariate densities there, and E[f'' h] one of
    df phi(t) (t E[h | u = t] - d/du E[h | u]).
    """
    t, law = steps.borders, Normal()
    r = np.clip(rho, -1.0 + 1e-12, 1.0 - 1e-12)[:, None, None]
    width = np.sqrt(1.0 - r**2)
    apart = (t[:, None] - r * t) / width  # of the border of one side from the mean that that of the other gives
    density = law.pdf(apart) * law.pdf(t) / width
    uv, of_u, of_v = np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y))
    for wave in (np.cos, np.sin):
        f, h = wave(x * steps.values), wave(y[:, None] * steps.values)
        df, dh = np.diff(f), np.diff(h, axis=1)
        uv += np.einsum("i,bij,bj->b", df, density, dh)
        given_u = h[:, :1] + np.einsum("bij,bi->bj", law.cdf(-apart), dh)  # E[h | u = t_j]
        given_v = f[0] + np.einsum("bij,i->bj", law.cdf(-apart), df)
        of_u += (df * t * law.pdf(t) * given_u).sum(axis=1)
        of_v += (dh * t * law.pdf(t) * given_v).sum(axis=1)
    return of_u - rho * uv, uv, of_v - rho * uv


def _coded_mean(steps: LineSteps, left: Floats, right: Floats, rho: Floats) -> Floats:
    """Return sum_c E[f_c(Q u) h_c(Q v)] with codebooks (n, levels, w) and (n_y, levels, w), rho (n, n_y).

    Below rho = 0 the right side is mirrored, v to -v. In each panel of angles the integrand is a Legendre series, found
    from its values at the nodes for all pairs of rows at once.
    """
    out = np.einsum("aic,bjc,i,j->ab", left, right, steps.mass, steps.mass, optimize=True)
    theta = np.arccos(np.clip(np.abs(rho), 0.0, 1.0))
    first, t = np.diff(left, axis=1), steps.borders
    for sign, borders, codebook in ((1.0, t, right), (-1.0, -t[::-1], right[:, ::-1])):
        here = rho * sign > 0.0
        if here.any():
            angle = np.where(here, theta, math.pi / 2)
            integral = _integral((t, borders), first, np.diff(codebook, axis=1), angle)
            out[here] += integral[here] / (2.0 * math.pi)
    return out


def _integral(borders: tuple[Floats, Floats], left: Floats, right: Floats, theta: Floats) -> Floats:
    """Return the integral from theta to pi/2 of sum_ijc left_aic exp(-X_ij) right_bjc, for jumps at the borders."""
    s, t = borders
    ends = theta_panels(s)
    x, weight = legendre.leggauss(_ORDER)
    project = (legendre.legvander(x, _ORDER - 1) * weight[:, None] * (np.arange(_ORDER) + 0.5)).T
    gap, tilt = (s[:, None] - t) ** 2 / 2.0, np.outer(s, t)
    out, first = np.zeros(theta.shape), float(theta.min())
    for low, high in zip(ends[-2::-1], ends[:0:-1]):
        half, values = (high - low) / 2.0, []
        for angle in (low + high) / 2.0 + half * x:
            decay = np.exp(-np.minimum(gap / math.sin(angle) ** 2 + tilt / (1.0 + math.cos(angle)), 700.0))
            values.append(sum((left[:, :, c] @ decay) @ right[:, :, c].T for c in range(left.shape[2])))
        series = np.tensordot(project, np.array(values), axes=1)
        below = legendre.legint(series, lbnd=-1, axis=0) * half
        # From where the angle is within the panel, or from its lower end where the angle is below it.
        place = np.clip((2.0 * theta - low - high) / (high - low), -1.0, 1.0)
        whole = half * np.tensordot(weight, np.array(values), axes=1)
        out += np.where(theta < high, whole - legendre.legval(place, below, tensor=False), 0.0)
        if first >= low:
            break
    return out
