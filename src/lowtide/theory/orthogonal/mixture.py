"""Covariance of two frequencies of one orthogonal block, for Gaussian mixtures and for sums of harmonics.

A frequency of a Gaussian mixture (Gaussian, Matern) is m times a normal vector, m its mixing scalar; in a block its
length is m chi_D. Given m_1 and m_2 the two chi lengths integrate out: with n = D/2, B ~ Beta(n, n) and s = |u|

    E[cos(w_1.u) cos(w_2.u)] = E 1F1(2n; n; -s^2 W/2),       W = m_1^2 B + m_2^2 (1 - B),

a smooth function averaged over one law, that of W, which does not depend on s. (m constant and equal: W is, and the chi
formula is back.) A sum of harmonics, sum_k a_k cos(k w.u), is the same with k m in place of m and a_k as weights. Then

    c(s) = E[chi(s sqrt W)] + E[exp(-s^2 W)] - E[exp(-s^2 (m_1^2 + m_2^2)/2)],

chi as in `chi_covariance`; the last two tend to the same limit with s, so nothing is left at 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtr

from lowtide._checks import check_integer, fail
from lowtide.kernels import Kernel
from lowtide.theory.curve import Curve
from lowtide.theory.orthogonal.chi import chi_covariance

Floats = NDArray[np.float64]

_T_MAX = 7.5  # in normal quantiles; what is left out has probability 1e-13
_N_MIXING, _N_BETA = 193, 25
_MOST_SCALES = 100  # more are first gathered on a grid, so that their pairs stay below a million
_COARSE, _FINE = 1 / 16, 1 / 24  # grid steps of log scale
_LARGEST = 1e30
_LARGE_DIMENSION = 10**4
_CHUNK = 1 << 20


def mixture_covariance(kernel: Kernel, dimension: int, distance: ArrayLike, amplitudes: ArrayLike = (1.0,)) -> Floats:
    """Covariance of h(w_1.u), h(w_2.u), h(t) = sum_k a_k cos(k t), orthogonal directions, independent lengths.

    Parameters
    ----------
    kernel : Kernel
        A Gaussian mixture (``kernel.law == "gaussian_mixture"``): Gaussian, Matern.
    dimension : int
        Dimension D of a block after padding, at least 2.
    distance : array-like of float
        Distances |u| in X's units.
    amplitudes : array-like of float, default (1,)
        a_1, a_2, ...; the default is the plain cosine.

    Returns
    -------
    ndarray of float64
        Same shape as `distance`; absolute error about 1e-7 (1e-5 for a Matern kernel with nu < 0.5).

    Notes
    -----
    The law of W is one table of about a thousand points, made in 0.1 s; then 0.1 ms a distance.

    References
    ----------
    Derived.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import chi_covariance, mixture_covariance
    >>> mixture = mixture_covariance(Gaussian(bandwidth=2.0), 16, 2.0)
    >>> bool(abs(mixture - chi_covariance(16, 1.0)) < 1e-7)
    True
    """
    dim = check_integer("mixture_covariance", "dimension", dimension, low=2)
    if kernel.law != "gaussian_mixture":
        raise fail("mixture_covariance", "kernel must be a Gaussian mixture", kernel, "Bessel: haar_covariance.")
    s = np.abs(np.asarray(distance, dtype=np.float64)).ravel()
    scale, joint, apart = _pair_law(*_scale_law(kernel, np.asarray(amplitudes, dtype=np.float64)), dim)
    chi = Curve(lambda z: chi_covariance(dim, z), unit=1.0)
    out = np.empty_like(s)
    rows = max(1, _CHUNK // scale.size)
    for start in range(0, s.size, rows):
        z = np.minimum(s[start : start + rows, None] * scale, 1e100)
        out[start : start + rows] = chi(z) @ joint + np.exp(-(z**2)) @ (joint - apart)
    return out.reshape(np.shape(distance))


def _scale_law(kernel: Kernel, amplitudes: Floats) -> tuple[Floats, Floats]:
    """Log of the scales k m and their weights a_k times probability."""
    mixing, probability = _mixing_law(kernel)
    order = np.flatnonzero(amplitudes)
    log = np.log(np.clip(np.multiply.outer(order + 1.0, mixing), 1 / _LARGEST, _LARGEST)).ravel()
    weight = np.multiply.outer(amplitudes[order], probability).ravel()
    if log.size <= _MOST_SCALES:
        return log, weight
    log, weight = _gather(log, weight, _COARSE)
    seen = np.abs(weight) > 1e-13
    return log[seen], weight[seen]


def _mixing_law(kernel: Kernel) -> tuple[Floats, Floats]:
    """Values of m and signed weights, from lengths m chi_D at two large D.

    chi_D / sqrt D tends to 1, and averages of smooth functions over it differ from the limit by a/D + O(1/D^2); weights
    4/3 at 4D and -1/3 at D cancel the first term and leave 1e-8.
    """
    t, probability = _normal_rule(_N_MIXING)
    far, near = 4 * _LARGE_DIMENSION, _LARGE_DIMENSION
    with np.errstate(divide="ignore"):  # a heavy tail's last quantile may be infinite
        mixing = [kernel.length_quantile(ndtr(t), dim) / np.sqrt(dim) for dim in (far, near)]
    return np.concatenate(mixing), np.concatenate([4 / 3 * probability, -1 / 3 * probability])


def _pair_law(log: Floats, weight: Floats, dim: int) -> tuple[Floats, Floats, Floats]:
    """Grid of sqrt(W), and the weights on it of sqrt(W) and of sqrt((m_1^2 + m_2^2)/2)."""
    t, probability = _normal_rule(_N_BETA)
    beta = betaincinv(dim / 2, dim / 2, ndtr(t))
    row, column = np.triu_indices(log.size)
    pair = weight[row] * weight[column] * np.where(row == column, 1.0, 2.0)
    first, second = np.exp(2 * log[row, None]), np.exp(2 * log[column, None])
    x_joint = 0.5 * np.log(first * beta + second * (1 - beta)).ravel()
    x_apart = 0.5 * np.log((first + second)[:, 0] / 2)
    span = min(x_joint.min(), x_apart.min()), max(x_joint.max(), x_apart.max())
    grid, joint = _gather(x_joint, np.multiply.outer(pair, probability).ravel(), _FINE, span)
    _, apart = _gather(x_apart, pair, _FINE, span)
    seen = np.abs(joint) + np.abs(apart) > 1e-14
    return np.exp(grid[seen]), joint[seen], apart[seen]


def _gather(x: Floats, weight: Floats, step: float, span: tuple[float, float] | None = None) -> tuple[Floats, Floats]:
    """Move point masses to a grid so that quintics are averaged exactly (six-point Lagrange weights)."""
    low, high = span if span is not None else (float(x.min()), float(x.max()))
    n = int((high - low) / step) + 7
    grid = low + step * np.arange(-2.0, n - 2.0)
    position = (x - grid[0]) / step
    cell = np.clip(np.floor(position).astype(np.int64), 2, n - 4)
    u = position - cell
    offsets = np.arange(-2, 4)
    mass = np.zeros(n)
    for node in offsets:
        others = offsets[offsets != node]
        share = np.prod([(u - other) / (node - other) for other in others], axis=0)
        mass += np.bincount(cell + node, weights=weight * share, minlength=n)
    return grid, mass


def _normal_rule(n: int) -> tuple[Floats, Floats]:
    """Trapezoidal rule for a standard normal variable: it converges exponentially."""
    t = np.linspace(-_T_MAX, _T_MAX, n)
    weight = np.exp(-(t**2) / 2)
    return t, np.asarray(weight / weight.sum(), dtype=np.float64)
