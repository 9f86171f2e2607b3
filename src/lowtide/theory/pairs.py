"""Mean and variance of the product of two sides, per frequency, from the Fourier moments of each side.

With phase t = w.x + xi on the left, t' = w.y + xi on the right and xi uniform, only the difference of phases is left:

    E sum_i f_i(t) g_i(t')            = sum_k (sum_i  F_ik conj(G_ik)) kappa(k s)
    E (sum_i f_i(t) g_i(t'))^2        = sum_k (sum_ij P_ijk conj(R_ijk)) kappa(k s)

F, G are the Fourier coefficients of E f_i, E g_i and P, R those of E f_i f_j, E g_i g_j (expectations over the
rounding of a stochastic quantizer, which is independent on the two sides).

Both are sums over harmonics, sum_k c_k kappa(k s). Maps with jumps have c_k that decay only like A/k^2 on average, so K
harmonics leave an error A/K. The sum is therefore faded out smoothly, by chi falling from 1 at K/4 to 0 at K, and what
was faded is replaced by its average:

    sum_k c_k kappa(ks) = c_0 + 2 sum_{k<=K} chi(k/K) c_k kappa(ks) + 2 A int (1 - chi(x/K)) kappa(xs) x^-2 dx.

A sharp cut would leave the pattern of the last period in the result (2^b steps a period repeat every 2^b harmonics).

For millions of entries such functions of distance are tabulated once: `Curve`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.kernels import Kernel
from lowtide.maps import Moments

Floats = NDArray[np.float64]

_COMPLETE = 1024  # arrays below this order are taken as whole trigonometric polynomials, not as cut series
_CHUNK = 1 << 19  # kernel values in flight at a time: with temporaries below 64 MB
_NEGLIGIBLE = 1e-17
_NODE, _WEIGHT = np.polynomial.legendre.leggauss(64)
_PANEL_NODE, _PANEL_WEIGHT = np.polynomial.legendre.leggauss(12)
_ROWS = 4096

_FIRST_NODES = 257
_MOST_NODES = 4097
_LONGEST = 2.0**14  # in units; a monotone kernel has settled long before
_OSCILLATING = 32.0  # in units; a spline over more oscillations would need too many nodes
_NOISE = 1e-11  # rises smaller than this are rounding, not a new branch


@dataclass(frozen=True)
class PairMoments:
    """State the mean and the variance of sum_i f_i(x) g_i(y) over one random frequency and dither.

    Parameters
    ----------
    left, right : Moments
        The two sides, of equal width, in units where the full side is plain cos t (and sin t). The product then has
        mean kappa/2 for width 1 and kappa for width 2 when it is unbiased; see `scale`.

    Attributes
    ----------
    mean_series, second_series : HarmonicSeries
        The two sums above, as functions of (kernel, distance, n_features); in units of the product.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Proposition 3, for the mean; the second moment is derived.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.maps import CosSin
    >>> from lowtide.theory import PairMoments
    >>> full = CosSin().moments()
    >>> float(PairMoments(full, full).variance(Gaussian(), 1.0, n_features=3).round(6))
    0.199788
    """

    left: Moments
    right: Moments

    def __post_init__(self) -> None:
        """Refuse sides that cannot meet."""
        widths = self.left.width, self.right.width
        if widths[0] != widths[1]:
            raise fail("PairMoments", "left and right must have the same width", widths, "Use one feature map.")

    @cached_property
    def mean_series(self) -> HarmonicSeries:
        """The sum over harmonics of the mean."""
        return _contracted("ik,ik->k", self.left.mean, self.right.mean)

    @cached_property
    def second_series(self) -> HarmonicSeries:
        """The sum over harmonics of the second moment."""
        return _contracted("ijk,ijk->k", self.left.product, self.right.product)

    @property
    def scale(self) -> float:
        """Factor 2/width that turns the product into the kernel estimate of one frequency."""
        return 2 / self.left.width

    @property
    def amplitudes(self) -> Floats:
        """a_1, a_2, ...: given the frequency, the kernel estimate has mean a_0 + sum_k a_k cos(k w.(x-y)).

        1, 0, 0, ... when a side is full.
        """
        return 2 * self.scale * self.mean_series.coefficients[1:]

    @property
    def is_positive_definite(self) -> bool:
        """Whether the mean is a positive definite kernel whatever kappa is: F_k conj(G_k) >= 0 for every harmonic k."""
        c = self.mean_series.coefficients
        return bool(np.all(c >= -1e-9 * np.max(np.abs(c))))

    def mean(self, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
        """Return the mean of the product at the distances (X's units), elementwise."""
        return self.mean_series(kernel, distance, n_features)

    def variance(self, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
        """Return the variance of the product at the distances, elementwise, never negative."""
        mean = self.mean(kernel, distance, n_features)
        return np.maximum(self.second_series(kernel, distance, n_features) - mean**2, 0.0)


def _contracted(indices: str, left: NDArray[np.complex128], right: NDArray[np.complex128]) -> HarmonicSeries:
    """Return the series of two sides' coefficients, as far as both go."""
    n = min(left.shape[-1], right.shape[-1])
    return HarmonicSeries(np.einsum(indices, left[..., :n], right[..., :n].conj()))


class HarmonicSeries:
    """Evaluate s -> sum over all integers k of c_k kappa(k s), for Hermitian c (c_-k the conjugate of c_k).

    Parameters
    ----------
    coefficients : array-like of complex, shape (K+1,)
        c_0..c_K. kappa is even, so only real parts matter. K < 1024, or zeros from K/4 on, mean a finite
        sum; otherwise the rest is taken to go on like A/k^2.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (K+1,)
        Real parts of c_0..c_K.
    amplitude : float
        A of the tail; 0 for a finite sum.
    limit : float
        Value at infinite distance, c_0.

    Notes
    -----
    With K = 2048 the error is 1e-12 for up to 2^5 steps a period, 1e-7 for 2^7, 1e-6 for 2^8. Time is one
    kernel value per distance and harmonic with k s inside the kernel's reach.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import HarmonicSeries
    >>> HarmonicSeries([0.5, 0.25])(Gaussian(), np.array([0.0, 1.0]), n_features=3).round(6).tolist()
    [1.0, 0.803265]
    """

    def __init__(self, coefficients: ArrayLike) -> None:
        self.coefficients: Floats = np.real(np.asarray(coefficients, dtype=np.complex128)).astype(np.float64)
        c = self.coefficients
        last = len(c) - 1
        k = np.arange(1, last + 1)
        self.limit = float(c[0])
        self.amplitude = 0.0
        self._cut = float(last)
        weights = 2 * c[1:]
        if last >= _COMPLETE and np.any(np.abs(c[last // 4 + 1 :]) > 1e-18):
            chi = _fade(k / last, 0.25, 1.0)
            window = chi * (1 - chi)
            self.amplitude = float(np.sum(window * k**2 * c[1:]) / np.sum(window))
            weights = weights * chi
        keep = np.flatnonzero(weights)
        self.orders: Floats = k[keep].astype(np.float64)
        self.weights: Floats = weights[keep]

    def __call__(self, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
        """Return values at distances s >= 0 in X's units, elementwise; kappa(s) = ``kernel.radial(s, n_features)``.

        `n_features`, the dimension of X, matters to the Bessel kernel only.
        """
        s = np.asarray(distance, dtype=np.float64)
        flat = s.ravel()
        order = np.argsort(flat)
        half, reach = kernel_reach(kernel, n_features)
        values = np.empty_like(flat)
        values[order] = self._sorted(kernel, flat[order], n_features, reach)
        if self.amplitude:
            tail = _faded_tail(kernel, n_features, half, self._cut * flat)
            values += 2 * self.amplitude / self._cut * tail
        return values.reshape(s.shape)

    def _sorted(self, kernel: Kernel, s: Floats, n_features: int, reach: float) -> Floats:
        """Faded sum at ascending distances, in chunks that share the harmonics inside the kernel's reach."""
        out = np.full_like(s, self.limit)
        start = int(np.searchsorted(s, 0.0, side="right"))
        out[:start] += self.weights.sum()
        while start < s.size:
            n_orders = int(np.searchsorted(self.orders, reach / s[start], side="right"))
            if n_orders == 0:
                break
            stop = int(np.searchsorted(s, 1.5 * s[start], side="right"))
            stop = min(stop, start + max(1, _CHUNK // n_orders))
            grid = s[start:stop, None] * self.orders[:n_orders]
            out[start:stop] += kernel.radial(grid, n_features) @ self.weights[:n_orders]
            start = stop
        return out


def kernel_reach(kernel: Kernel, n_features: int) -> tuple[float, float]:
    """Return the distances where a kernel first falls to about 1/2, and beyond which it stays below 1e-17.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    n_features : int
        Dimension of X.

    Returns
    -------
    half : float
        To 4%: a natural unit of distance for this kernel.
    reach : float
        Infinite for kernels that oscillate on (Bessel in few dimensions).

    Examples
    --------
    >>> from lowtide.kernels import Laplace
    >>> from lowtide.theory import kernel_reach
    >>> half, reach = kernel_reach(Laplace(bandwidth=10.0), n_features=2)
    >>> 6.9 < half < 7.3, 391 < reach < 800
    (True, True)
    """
    grid = np.exp2(np.arange(-60 * 16, 60 * 16 + 1) / 16)
    values = np.abs(kernel.radial(grid, n_features))
    half = float(grid[int(np.argmax(values <= 0.5))])
    above = int(np.flatnonzero(values > _NEGLIGIBLE)[-1])
    reach = float(grid[above]) * 2 if above + 1 < grid.size else np.inf
    return half, reach


def _fade(x: Floats, low: float, high: float) -> Floats:
    """Return a smooth step from 1 (x <= low) to 0 (x >= high): an error function that meets both ends to 1e-7."""
    u = (x - low) / (high - low)
    inside = 0.5 * scipy.special.erfc(7.5 * (u - 0.5))
    return np.where(x <= low, 1.0, np.where(x >= high, 0.0, inside))


def _faded_tail(kernel: Kernel, n_features: int, half: float, a: Floats) -> Floats:
    """Return the integral H that stands for the faded harmonics of one kernel at a = K s >= 0, shape (n,).

    With the cut K and the fade chi (1 up to K/4, 0 from K on) the rest of the sum is

        2 A int (1 - chi(x/K)) kappa(x s) x^-2 dx = (2 A/K) H(a),    H(a) = int_0^4 (1 - chi(1/y)) kappa(a/y) dy.

    The part y < 1 is a G(a) with G(a) = int_a^inf kappa(r) r^-2 dr, a function of the kernel alone: it is tabulated
    panel by panel, in units of `half`, so that kernels that oscillate (Bessel in few dimensions) are resolved. Far out,
    between 32 and 128 halves, where they only cancel, kappa is tapered to zero.
    """

    def tapered(r: Floats) -> Floats:
        return kernel.radial(r, n_features) * _fade(r, 32 * half, 128 * half)

    def integrals(low: Floats, high: Floats) -> Floats:
        r, w = _panels(low, high)
        return np.sum(tapered(r) / r**2 * w, axis=1)

    edges = half * np.concatenate([np.geomspace(1e-9, 4, 100), np.arange(6.0, 129.0, 2.0)])
    beyond = np.append(np.cumsum(integrals(edges[:-1], edges[1:])[::-1])[::-1], 0.0)
    y = 2.5 + 1.5 * _NODE  # 1 < y < 4, where the harmonics fade
    weight = 1.5 * _WEIGHT * (1 - _fade(1 / y, 0.25, 1.0))
    out = np.zeros_like(a)
    near = np.flatnonzero(a < 4 * edges[-1])
    for start in range(0, near.size, _ROWS):
        rows = near[start : start + _ROWS]
        part = a[rows]
        b = np.clip(part, edges[0], edges[-1])
        panel = np.minimum(np.searchsorted(edges, b, side="right"), edges.size - 1)
        # a G(a): the rest of a's own panel and the tabulated ones beyond.
        inner = np.where(part > edges[-1], 0.0, b * (integrals(b, edges[panel]) + beyond[panel]))
        out[rows] = np.where(part == 0, 1.0, inner) + tapered(part[:, None] / y) @ weight
    return out


def _panels(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on the intervals [low, high], shape (n, nodes)."""
    radius = (high - low) / 2
    r = ((low + high) / 2)[:, None] + radius[:, None] * _PANEL_NODE
    return r, radius[:, None] * _PANEL_WEIGHT


class Curve:
    """A smooth function of distance s >= 0 as a cubic spline in t = s^(1/4).

    The fourth root is for kernels with a cusp: their expected kernels start like s log s, which is smooth enough
    in t. Nodes are doubled until the spline meets the function between them.

    Parameters
    ----------
    function : callable
        float64 array of distances to array of values; must be elementwise.
    unit : float
        A distance over which the function changes, as from `kernel_reach`.
    tolerance : float, default 1e-9
        Largest absolute error aimed at.

    Attributes
    ----------
    error : float
        Largest error seen half way between the nodes of the last but one grid; the final spline is better.
        Above `tolerance` when 4097 nodes do not reach it (functions with kinks: coded pairs of a Bessel kernel
        in fewer than five dimensions).
    s_max : float
        End of the table. Beyond it the value is `limit` when the function has settled there to 1e-9; else
        (oscillating functions) the function itself is called.
    limit : float
        Value far out.
    ambiguous : float
        Largest value beyond the first decreasing branch: a value up to it belongs to several distances. Minus infinity
        where the whole curve falls.
    branch_end : float
        Distance at which the first decreasing branch ends; infinite where the whole curve falls.

    Notes
    -----
    About 0.1 microseconds a value (inverse: 1) after construction, which takes 500 to 4000 function values.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.theory import Curve
    >>> curve = Curve(lambda s: np.exp(-s), unit=1.0)
    >>> float(curve(0.5).round(8)), float(curve.inverse(np.exp(-0.5)).round(6))
    (0.60653066, 0.5)
    """

    def __init__(self, function: Callable[[Floats], Floats], unit: float, tolerance: float = 1e-9) -> None:
        self._function = function
        self.s_max, self.settled = _extent(function, unit)
        self.limit = float(function(np.array([4 * self.s_max]))[0])
        t, values, self.error = _refine(function, self.s_max**0.25, tolerance)
        self._spline = scipy.interpolate.CubicSpline(t, values)
        self._branch_t, self._branch_values = _decreasing_branch(self._spline, t, values)
        whole = self._branch_t[-1] == t[-1]
        self._infimum = min(self.limit, float(values[-1])) if whole else float(self._branch_values[-1])
        later = np.append(values[t > self._branch_t[-1]], self.limit)
        self.ambiguous = -np.inf if whole else float(later.max())
        self.branch_end = np.inf if whole else float(self._branch_t[-1] ** 4)

    def __call__(self, distance: ArrayLike) -> Floats:
        """Return values at the distances, elementwise; float64 of the same shape."""
        s = np.asarray(distance, dtype=np.float64)
        values = np.asarray(self._spline(np.sqrt(np.sqrt(np.minimum(np.abs(s), self.s_max)))), dtype=np.float64)
        far = np.abs(s) > self.s_max
        if far.any():
            values = np.where(far, self.limit, values)
            if not self.settled:
                values[far] = self._function(np.abs(s)[far])
        return values

    def slope(self, distance: ArrayLike) -> Floats:
        """Return the derivative with respect to distance, elementwise, for 0 < s; zero past a settled end.

        A value known to within eps gives the distance to first order within eps/abs(slope).
        """
        s = np.abs(np.asarray(distance, dtype=np.float64))
        t = np.minimum(s, self.s_max) ** 0.25
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = self._spline(t, 1) / (4 * t**3)
        return np.where(s > self.s_max, 0.0 if self.settled else np.nan, slope)

    def inverse(self, values: ArrayLike) -> Floats:
        """Return the distance at which the curve first takes each value, on its first decreasing branch; elementwise.

        0 at or above the value at 0; NaN at or below the branch's infimum (its limit, or its first minimum).
        """
        v = np.asarray(values, dtype=np.float64)
        out = np.where(v >= self._branch_values[0], 0.0, np.nan)
        inside = (v < self._branch_values[0]) & (v > self._infimum)
        wanted = v[inside]
        # The root t of spline(t) = v comes from the cubic of the cell that holds it.
        cell = np.clip(np.searchsorted(-self._branch_values, -wanted, side="left"), 1, len(self._branch_t) - 1) - 1
        left = self._branch_t[cell]
        cubic = self._spline.c[:, cell].copy()
        cubic[3] -= wanted
        out[inside] = (left + _falling_root(cubic, self._branch_t[cell + 1] - left)) ** 4
        return out


def _falling_root(cubic: Floats, width: Floats) -> Floats:
    """Roots in [0, width] of cubics (4, n), highest power first, that fall through zero there.

    Newton steps, replaced by halving when they leave the bracket; what has converged is left alone.
    """
    root = width / 2
    active = np.arange(width.size)
    low, high = np.zeros_like(width), width.copy()
    for _ in range(50):
        x, (c3, c2, c1, c0) = root[active], cubic[:, active]
        value = ((c3 * x + c2) * x + c1) * x + c0
        low[active] = np.where(value > 0, x, low[active])
        high[active] = np.where(value > 0, high[active], x)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = x - value / ((3 * c3 * x + 2 * c2) * x + c1)
        inside = (step >= low[active]) & (step <= high[active])
        root[active] = np.where(inside, step, (low[active] + high[active]) / 2)
        active = active[np.abs(root[active] - x) > 1e-14]
        if active.size == 0:
            break
    return root


def _extent(function: Callable[[Floats], Floats], unit: float) -> tuple[float, bool]:
    """End of the table, and whether the function has settled there to 1e-9."""
    spread = 2 ** (np.arange(8) / 8)
    end = 2.0
    previous = function(unit * end * spread)
    while end < _LONGEST:
        following = function(unit * 2 * end * spread)
        if np.ptp(np.concatenate([previous, following])) < 1e-9:
            return unit * end, True
        rising = np.any(np.diff(previous) > _NOISE) and np.any(np.diff(previous) < -_NOISE)
        if rising and end >= _OSCILLATING:
            break
        end, previous = 2 * end, following
    return unit * min(end, _OSCILLATING), False


def _refine(function: Callable[[Floats], Floats], t_max: float, tolerance: float) -> tuple[Floats, Floats, float]:
    """Double uniform nodes in t until a spline through every other one meets the rest."""
    t = np.linspace(0, t_max, _FIRST_NODES)
    values = function(t**4)
    while True:
        middle = (t[:-1] + t[1:]) / 2
        truth = function(middle**4)
        error = float(np.max(np.abs(scipy.interpolate.CubicSpline(t, values)(middle) - truth)))
        between = np.arange(1, t.size)
        t, values = np.insert(t, between, middle), np.insert(values, between, truth)
        if error < tolerance or t.size >= _MOST_NODES:
            return t, values, error


def _decreasing_branch(spline: scipy.interpolate.CubicSpline, t: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Nodes of the first decreasing branch, ended by the spline's own minimum when it turns up again."""
    rises = np.flatnonzero(np.diff(values) > _NOISE)
    if rises.size == 0:
        return t, np.minimum.accumulate(values)
    last = int(rises[0])
    turn = spline.derivative().roots(discontinuity=False, extrapolate=False)
    near = turn[(turn > t[max(last - 1, 0)]) & (turn < t[last + 1])]
    t, values = t[: last + 1], values[: last + 1]
    if near.size and float(spline(near[0])) < values[-1]:
        keep = t < near[0]
        t, values = np.append(t[keep], near[0]), np.append(values[keep], float(spline(near[0])))
    return t, np.minimum.accumulate(values)
