"""Maps of three levels: their Gaussian moments, their kernel, and the kernel matrix of a mixture from moments alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_positive, fail
from lowtide.theory.moments import GaussianMoments

Floats = NDArray[np.float64]

# A normal variable is never this large, and quotients of it stay finite.
_FAR = 40.0


def density(x: float) -> float:
    """Return the standard normal density."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class TernaryMap:
    """Map t to three levels: high for t > s_plus, low for t < s_minus, middle between.

    Parameters
    ----------
    s_minus, s_plus : float
        Thresholds, s_minus <= s_plus; either may be infinite, and then its level never occurs.
    low, high : float, default -1 and 1
        The outer values: -alpha and alpha, or alpha twice for the even map alpha 1[|t| > s].
    middle : float, default 0
        The value between: 0, or alpha for the window alpha 1[s_minus <= t <= s_plus], whose outer values are 0.

    References
    ----------
    TRF (Tiomoko Ali, Liao and Couillet), (5).

    Examples
    --------
    >>> from lowtide.theory import TernaryMap
    >>> sigma = TernaryMap(-0.3, 0.8)
    >>> sigma([-1.0, 0.0, 0.8, 1.0]).tolist()
    [-1.0, 0.0, 0.0, 1.0]
    >>> round(sigma.moments(tau=1.3).d1, 6)
    0.373981
    """

    s_minus: float
    s_plus: float
    low: float = -1.0
    high: float = 1.0
    middle: float = 0.0

    def __post_init__(self) -> None:
        """Refuse thresholds in the wrong order and values that are not numbers."""
        if not self.s_minus <= self.s_plus:
            raise fail("TernaryMap", "s_minus must be at most s_plus", (self.s_minus, self.s_plus))
        values = self.low, self.middle, self.high
        if not all(map(math.isfinite, values)):
            raise fail("TernaryMap", "low, middle and high must be finite", values)

    @property
    def alpha(self) -> float:
        """The scale: the value of the upper level, of a window that of the middle one."""
        return self.high or self.middle

    def __call__(self, t: ArrayLike) -> Floats:
        """Return the level's value for each entry."""
        values = np.asarray(t, dtype=np.float64)
        return np.where(values > self.s_plus, self.high, np.where(values < self.s_minus, self.low, self.middle))

    def moved(self, by: float) -> TernaryMap:
        """Return the map of t - by."""
        return replace(self, s_minus=self.s_minus + by, s_plus=self.s_plus + by)

    def probabilities(self, tau: float) -> tuple[float, float, float]:
        """Return how often low, middle and high occur at t ~ N(0, tau); they tell whether the features still vary."""
        root = math.sqrt(check_positive("TernaryMap", "tau", tau))
        below, above = float(scipy.special.ndtr(self.s_minus / root)), float(scipy.special.ndtr(-self.s_plus / root))
        return below, max(0.0, 1.0 - below - above), above

    def moments(self, tau: float) -> GaussianMoments:
        """Return d0, d1, d2, with a = s_plus/sqrt(tau), b = s_minus/sqrt(tau).

        E sigma' sqrt(tau) = high phi(a) - low phi(b) and E sigma'' tau = high a phi(a) - low b phi(b), high and low
        counted from the middle value: a constant has no moments.
        """
        below, _, above = self.probabilities(tau)
        a, b = self.s_plus / math.sqrt(tau), self.s_minus / math.sqrt(tau)
        high, low = self.high - self.middle, self.low - self.middle
        first = high * density(a) - low * density(b)
        second = high * _first_moment(a) - low * _first_moment(b)
        # Complements by ndtr, not 1 - p: a level that nearly always occurs keeps its variance.
        variance = high**2 * above * float(scipy.special.ndtr(a)) + low**2 * below * float(scipy.special.ndtr(-b))
        variance -= 2 * high * low * above * below
        return GaussianMoments(variance - first**2, first**2 / tau, second**2 / (4 * tau**2))


def _first_moment(x: float) -> float:
    """Return x phi(x), 0 at infinity."""
    return x * density(x) if math.isfinite(x) else 0.0


def ternary_kernel(
    sigma: TernaryMap, square_x: ArrayLike, square_y: ArrayLike, product: ArrayLike
) -> tuple[Floats, Floats]:
    """Return E[sigma(w.x) sigma(w.y)] and E[sigma(w.x)^2 sigma(w.y)^2] for w ~ N(0, I), the kernel of a ternary map.

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
    both_high = _normal(above[0][:, None], above[1], rho)
    both_low = _normal(below[0][:, None], below[1], rho)
    mixed = _normal(above[0][:, None], below[1], -rho) + _normal(below[0][:, None], above[1], -rho)
    one_high, one_low = (scipy.special.ndtr(side[0])[:, None] + scipy.special.ndtr(side[1]) for side in (above, below))

    def product_of(low: float, middle: float, high: float) -> Floats:
        """Return E[f f'] of a map with these values: those of the outer levels count from the middle one."""
        high, low = high - middle, low - middle
        mean = high**2 * both_high + low**2 * both_low + high * low * mixed
        return mean + middle * (middle + high * one_high + low * one_low)

    return product_of(sigma.low, sigma.middle, sigma.high), product_of(sigma.low**2, sigma.middle**2, sigma.high**2)


def _over(threshold: float, norm: Floats, at_zero: float) -> Floats:
    """Return threshold/norm within what a normal variable reaches."""
    quotient = np.divide(threshold, norm, out=np.full_like(norm, at_zero), where=norm > 0)
    return np.clip(quotient, -_FAR, _FAR)


def _normal(h: Floats, k: Floats, rho: Floats) -> Floats:
    """Return P(U < h, V < k) of standard normal variables with correlation rho."""
    width = np.sqrt(np.maximum((1.0 - rho) * (1.0 + rho), 1e-30))
    opposite = (h * k < 0) | ((h * k == 0) & (h + k < 0))
    joint = (
        (scipy.special.ndtr(h) + scipy.special.ndtr(k)) / 2
        - scipy.special.owens_t(h, (_ratio(k, h) - rho) / width)
        - scipy.special.owens_t(k, (_ratio(h, k) - rho) / width)
    )
    return np.asarray(np.clip(joint - 0.5 * opposite, 0.0, 1.0))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """Return top/bottom, 1 for 0/0 and infinity of top's sign for others over 0."""
    top, bottom = np.broadcast_arrays(top, bottom)
    at_zero = np.where(top == 0, 1.0, np.copysign(np.inf, top))
    return np.divide(top, bottom, out=at_zero, where=bottom != 0)


def kernel_equivalent(
    X: ArrayLike, labels: ArrayLike, *, moments: GaussianMoments, means: ArrayLike, covariances: ArrayLike
) -> Floats:
    """Return the matrix that the centered kernel matrix of a Gaussian mixture approaches, whatever the frequencies.

        K ~ P [d1 X X' + d2 (u u' + 2 J T J') + d0 I] P,     u_i = |x_i - mean_a|^2,   T_ab = tr(C_a C_b)

    for rows x_i of class a, class indicators J and P = I - 11'/n. It is Theorem 1's d2 V A V' in the units of the rows:
    what t and the means of |z|^2 add to u is the same for every row, and P removes it.

    Parameters
    ----------
    X : array-like of float (n, p)
        Rows x_i ~ N(mean_a, C_a), scaled so that |x|^2 is about tau, of order 1.
    labels : array-like of int (n,)
        Class of each row, 0 to K - 1.
    moments : GaussianMoments
        Of the activation, at tau = tr C averaged over the rows.
    means : array-like of float (K, p)
        Class means, in the units of X.
    covariances : array-like of float (K, p, p)
        Class covariances, in the units of X squared.

    Returns
    -------
    ndarray of float64 (n, n)
        The norm of the difference to the centered kernel matrix goes to 0 as n and p grow together.

    Notes
    -----
    O(n^2 p). Holds for class means of norm O(p^-1/2), traces of C_a that differ by O(p^-1/2).

    References
    ----------
    TRF (Tiomoko Ali, Liao and Couillet), Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.theory import center_kernel, gaussian_moments, kernel_equivalent
    >>> rng = np.random.default_rng(0)
    >>> p = n = 200
    >>> X = rng.standard_normal((n, p)) / np.sqrt(p)
    >>> K = center_kernel(np.exp(-((X[:, None] - X) ** 2).sum(-1) / 2))
    >>> near = kernel_equivalent(X, np.zeros(n, int), moments=gaussian_moments("rbf", 1.0), means=np.zeros((1, p)),
    ...                          covariances=np.eye(p)[None] / p)
    >>> bool(np.linalg.norm(K - near, 2) < 0.1 * np.linalg.norm(K, 2))
    True
    """
    rows, centers, spread = (np.asarray(array, dtype=np.float64) for array in (X, means, covariances))
    classes, n_classes = np.asarray(labels), len(centers)
    if rows.ndim != 2 or classes.shape != rows.shape[:1] or classes.dtype.kind not in "iu":
        raise fail("kernel_equivalent", "X must be (n, p) and labels n integers", (rows.shape, classes.shape))
    p, shapes = rows.shape[1], (centers.shape, spread.shape)
    if shapes != ((n_classes, p), (n_classes, p, p)):
        raise fail("kernel_equivalent", f"means must be (K, {p}) and covariances (K, {p}, {p})", shapes)
    if classes.size and not 0 <= classes.min() <= classes.max() < n_classes:
        raise fail("kernel_equivalent", f"labels must be 0 to {n_classes - 1}", (classes.min(), classes.max()))
    lengths = ((rows - centers[classes]) ** 2).sum(axis=1)
    overlap = np.einsum("aij,bij->ab", spread, spread)
    K = moments.d1 * (rows @ rows.T)
    K += moments.d2 * (np.outer(lengths, lengths) + 2 * overlap[np.ix_(classes, classes)])
    K[np.diag_indices_from(K)] += moments.d0
    return center_kernel(K)


def center_kernel(K: ArrayLike) -> Floats:
    """Return P K P, P = I - 11'/n: the kernel of features with their mean subtracted.

    Parameters
    ----------
    K : array-like of float (n, n)
        A kernel matrix.

    Returns
    -------
    ndarray of float64 (n, n)
        Rows and columns sum to 0.

    Examples
    --------
    >>> from lowtide.theory import center_kernel
    >>> center_kernel([[2.0, 0.0], [0.0, 2.0]]).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    matrix = np.asarray(K, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise fail("center_kernel", "K must be a square matrix", matrix.shape)
    return np.asarray(matrix - matrix.mean(axis=0) - matrix.mean(axis=1, keepdims=True) + matrix.mean())
