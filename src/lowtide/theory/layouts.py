"""Covariance within blocks of orthogonal frequencies, and the variance of estimates over such layouts.

An estimate is the mean of X_i, the estimate of frequency i alone. Given the frequencies, X_i has mean h(D_i),
D_i = omega_i.(x-y), because dither and rounding average out: h(t) = cos t when a side is full, sum_k a_k cos(k t) for
codes against codes. Frequencies of two blocks are independent; two X_i of one block have the covariance c of h(D_1),
h(D_2), so p frequencies of variance v each have

    Var = v/p + c sum_blocks size (size - 1)/p^2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.kernels import Bessel, Gaussian, Kernel, normalized_bessel
from lowtide.projections import Blocks
from lowtide.theory.pairs import Curve

Floats = NDArray[np.float64]

# Harmonics of codes against codes that the covariance counts.
_MOST_HARMONICS = 64
# Above y = 450 the Poisson weight of every term that matters for even d is below 1e-80; odd d has the power tail.
_LARGEST_Y = 450.0
# Of unit frequencies in d dimensions the series serves up to z^2 = 4 d: there its largest term is e^8 of the sum.
_SERIES_REACH = 4.0
_T_MAX = 7.5  # in normal quantiles; what is left out has probability 1e-13
_N_MIXING, _N_BETA = 193, 25
_MOST_SCALES = 100  # more are first gathered on a grid, so that their pairs stay below a million
_COARSE, _FINE = 1 / 16, 1 / 24  # grid steps of log scale
_LARGEST = 1e30
_LARGE_DIMENSION = 10**4
_CHUNK = 1 << 20


def covariance(kernel: Kernel, blocks: Blocks, distance: ArrayLike, amplitudes: ArrayLike = (1.0,)) -> Floats:
    """Return the covariance c(s) of h(w_1.(x-y)) and h(w_2.(x-y)) for two frequencies of one block.

    Parameters
    ----------
    kernel : Kernel
        The kernel whose frequencies are laid out.
    blocks : Blocks
        `dimension` is the dimension D of a block after padding. `lengths` "free": orthogonal directions with
        independent lengths of the kernel's law, 1F1(D; D/2; -z^2/2) - exp(-z^2) for the Gaussian (to 1e-13), quadrature
        for other mixtures (to 1e-7). "fixed": Haar directions of one length, kappa(sqrt2 s) - kappa(s)^2 (relative
        error 1e-11 for one harmonic, absolute error 1e-14 for several). "iid": 0.
    distance : array-like of float
        Distances s in X's units, any shape.
    amplitudes : array-like of float, default (1,)
        a_1, a_2, ... of h(t) = sum_k a_k cos(k t); `PairMoments.amplitudes` for codes against codes. Orders above
        64 are left out: they change c by less than 1e-4 of the variance of one frequency.

    Returns
    -------
    ndarray of float64, same shape as `distance`

    References
    ----------
    Derived; within 5% in simulation for chi lengths and Hadamard rows.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.projections import Blocks
    >>> from lowtide.theory import covariance
    >>> covariance(Gaussian(), Blocks("free", 64, (64, 36)), [0.0, 1.0]).round(6).tolist()
    [0.0, -0.002861]
    """
    s = np.abs(np.asarray(distance, dtype=np.float64))
    a = np.trim_zeros(np.asarray(amplitudes, dtype=np.float64)[:_MOST_HARMONICS], "b")
    if blocks.lengths not in ("free", "fixed", "iid"):
        raise fail("covariance", "lengths of blocks must be 'free', 'fixed' or 'iid'", blocks.lengths)
    if blocks.lengths == "iid" or blocks.dimension == 1:
        return np.zeros_like(s)
    if blocks.lengths == "fixed":
        if isinstance(kernel, Bessel) and a.size == 1:
            return a[0] ** 2 * sphere_covariance(blocks.dimension, s / kernel.scale)
        return _fixed_covariance(kernel, blocks.dimension, s, a)
    if isinstance(kernel, Gaussian) and a.size == 1:
        return a[0] ** 2 * chi_covariance(blocks.dimension, s / kernel.bandwidth)
    return mixture_covariance(kernel, blocks.dimension, s, a)


def layout_variance(blocks: Blocks, variances: ArrayLike, covariances: ArrayLike) -> Floats:
    """Return the variance of an estimate over laid-out frequencies: v/p + c sum_blocks size (size - 1)/p^2.

    Parameters
    ----------
    blocks : Blocks
        Block sizes; they sum to the number of frequencies p.
    variances : array-like of float
        Variance v of the estimate of one frequency alone, any shape.
    covariances : array-like of float
        c at the same distances, from `covariance`.

    Returns
    -------
    ndarray of float64
        Never negative.

    Examples
    --------
    >>> from lowtide.projections import Blocks
    >>> from lowtide.theory import layout_variance
    >>> float(layout_variance(Blocks("free", 64, (64, 36)), 0.3, -0.0027).round(6))
    0.001571
    """
    sizes = np.asarray(blocks.sizes, dtype=np.float64)
    p = sizes.sum()
    pairs = float(np.sum(sizes * (sizes - 1))) / p**2
    single = np.asarray(variances, dtype=np.float64) / p
    return np.maximum(single + pairs * np.asarray(covariances, dtype=np.float64), 0.0)


def _fixed_covariance(kernel: Kernel, dim: int, s: Floats, amplitudes: Floats) -> Floats:
    """Return the covariance for one length: orthogonal vectors of lengths k and l add up to one of sqrt(k^2 + l^2)."""
    order = np.flatnonzero(amplitudes) + 1.0
    a = amplitudes[amplitudes != 0]
    joint = np.zeros_like(s)
    for i, j in zip(*np.tril_indices(order.size)):
        weight = a[i] * a[j] * (1 if i == j else 2)
        joint += weight * kernel.radial(np.hypot(order[i], order[j]) * s, dim)
    single = sum(a[i] * kernel.radial(order[i] * s, dim) for i in range(order.size))
    return np.asarray(joint - single**2, dtype=np.float64)


def sphere_covariance(dimension: int, z: ArrayLike) -> Floats:
    """Return the covariance of cos(w_1.u), cos(w_2.u) for orthogonal unit vectors: j(sqrt2 z) - j(z)^2.

    Two columns w_1, w_2 of a Haar matrix of R^d, |u| = z. With the square's own series j(z)^2 = sum_k q_k t_k,

        t_k = (-z^2/2)^k / (k! (d/2)_k),   q_k = prod_{i<k} (d-1+2i)/(d-1+i),   j(sqrt2 z) = sum_k t_k,

    so the covariance is -sum_{k>=2} (q_k - 1) t_k, and q_k - 1 has a recursion of positive terms: nothing cancels
    near 0, where it is -z^4/(2 d^2 (d+2)). The relative error is below 1e-11 except next to a change of sign.
    """
    z = np.abs(np.asarray(z, dtype=np.float64))
    near = z**2 <= _SERIES_REACH * dimension
    out = np.empty_like(z)
    out[near] = -_alternating_series(z[near], dimension, _square_excess(dimension))
    far = z[~near]
    out[~near] = normalized_bessel(dimension, np.sqrt(2.0) * far) - normalized_bessel(dimension, far) ** 2
    return out


def sphere_variance(blocks: Blocks, z: ArrayLike) -> Floats:
    """Return the variance of the mean of cos(w.u) over blocks of orthogonal unit vectors w, |u| = z.

    With P = sum_blocks size^2/p, at most d, it is

        (1/p) [(1 + j(2z))/2 - j(z)^2 + (P - 1) (j(sqrt2 z) - j(z)^2)] = (1/p) sum_k t_k [2^(k-1) - 1 - P (q_k - 1)],

    t_k and q_k as in `sphere_covariance`. Over full blocks, P = d, the terms of order z^4 and z^6 vanish, since
    sum_i (w_i.u)^2 = z^2 whatever the rotation. The bracket is (1 - P/d) a_k + (P/d) g_k with a_k = 2^(k-1) - 1 and
    g_k = a_k - d (q_k - 1), all of them positive and exact from 0 on: no digit is lost to those orders.
    """
    z = np.abs(np.asarray(z, dtype=np.float64))
    sizes, dim = np.asarray(blocks.sizes, dtype=np.float64), blocks.dimension
    p = float(sizes.sum())
    full, free = float(np.sum(sizes**2)) / (p * dim), float(np.sum(sizes * (dim - sizes))) / (p * dim)
    near = z**2 <= _SERIES_REACH * dim
    out = np.empty_like(z)
    coefficients = (free * a + full * g for a, g in _block_coefficients(dim))
    out[near] = _alternating_series(z[near], dim, coefficients) / p
    far = z[~near]
    single = (1 + normalized_bessel(dim, 2 * far)) / 2 - normalized_bessel(dim, far) ** 2
    out[~near] = (single + (full * dim - 1) * sphere_covariance(dim, far)) / p
    return out


def _alternating_series(z: Floats, dim: int, coefficients: Iterator[float]) -> Floats:
    """Sum c_k (-z^2/2)^k / (k! (d/2)_k) from k = 2 on, for z^2 <= 4 d."""
    term = (z**2 / 2) ** 2 / (dim * (dim / 2 + 1))
    total, k = np.zeros_like(z), 2
    for c in coefficients:
        total += c * term
        # c_k grows as 2^k at most, the terms themselves fall from k = 5 z^2/d on.
        if k > 8 and not np.any(np.abs(c * term) > 1e-18 * np.abs(total)):
            return total
        term = term * (-(z**2) / 2) / ((k + 1) * (dim / 2 + k))
        k += 1
    return total


def _square_excess(dim: int) -> Iterator[float]:
    """Yield q_k - 1 for k = 2, 3, ..., q_k = prod_{i<k} (d-1+2i)/(d-1+i)."""
    excess = 0.0
    for k in count(1):
        excess += (1 + excess) * k / (dim - 1 + k)
        yield excess


def _block_coefficients(dim: int) -> Iterator[tuple[float, float]]:
    """Yield a_k = 2^(k-1) - 1 and g_k = a_k - d (q_k - 1) for k = 2, 3, ...; g_2 = g_3 = 0."""
    a, g = 0.0, 0.0
    for k in count(1):
        g = (g * (dim - 1 + 2 * k) + (dim - 1) * (a + 1 - k)) / (dim - 1 + k)
        a = 2 * a + 1
        yield a, g


def chi_covariance(dimension: int, z: ArrayLike) -> Floats:
    """Return the covariance of cos(w_1.u), cos(w_2.u) in a block with chi lengths: 1F1(d; d/2; -z^2/2) - exp(-z^2).

    w_1, w_2 are chi_d lengths times two orthogonal unit vectors and |u| = z: the unbiased Gaussian layout. Negative for
    small z (orthogonal directions repel: that is the gain), at most slightly positive far out. The absolute error is
    below 1e-13, the relative error at z -> 0 a few roundings. The loop has about z^2/2 + 10 z + 30 steps, each one pass
    over `z`.
    """
    y = np.minimum(np.abs(np.asarray(z, dtype=np.float64)), 1e100) ** 2 / 2
    near = y <= _LARGEST_Y
    out = np.empty_like(y)
    out[near] = _poisson_average(y[near], dimension / 2)
    out[~near] = _far(y[~near], dimension / 2)
    return out


def _poisson_average(y: Floats, n: float) -> Floats:
    """Return the covariance as a Poisson average, by Kummer's transformation.

    With n = d/2, y = z^2/2 and rho_k = prod_{i<k} (n-i)/(n+i) it is sum_k pois(k; y) (-1)^k (rho_k - 1), where
    rho_0 = rho_1 = 1 and |rho_k| <= 1. No term cancels: the absolute error is a few roundings whatever d and z are, and
    the leading term -y^2/(n+1) comes out exactly. `excess` is rho_k - 1.
    """
    if y.size == 0:
        return np.empty_like(y)
    top = float(y.max())
    excess, weight, total = 0.0, np.exp(-y), np.zeros_like(y)
    for k in range(1, int(top + 10 * math.sqrt(2 * top) + 30)):
        weight = weight * (y / k)
        total += (-1) ** k * excess * weight
        excess = excess * ((n - k) / (n + k)) - 2 * k / (n + k)
    return total


def _far(y: Floats, n: float) -> Floats:
    """Large-y expansion Gamma(n)/Gamma(-n) y^(-2n) sum_k (2n)_k (n+1)_k / (k! y^k) of 1F1(2n; n; -y)."""
    total = np.zeros_like(y)
    if n == int(n) or n > 8:  # even d decays exponentially; beyond d = 16 the power is below 1e-30
        return total
    term = np.ones_like(y)
    for k in range(8):
        total += term
        term = term * (2 * n + k) * (n + 1 + k) / ((k + 1) * y)
    factor = -math.gamma(n) * math.gamma(n + 1) * math.sin(math.pi * n) / math.pi  # 1/Gamma(-n) by reflection
    return np.asarray(factor * total * y ** (-2 * n), dtype=np.float64)


def mixture_covariance(kernel: Kernel, dimension: int, distance: ArrayLike, amplitudes: ArrayLike = (1.0,)) -> Floats:
    """Return the covariance of h(w_1.u), h(w_2.u) for Gaussian mixtures and sums of harmonics h, by quadrature.

    A frequency of a Gaussian mixture (Gaussian, Matern) is m times a normal vector, m its mixing scalar; in a block its
    length is m chi_D. Given m_1 and m_2 the two chi lengths integrate out: with n = D/2, B ~ Beta(n, n) and s = |u|

        E[cos(w_1.u) cos(w_2.u)] = E 1F1(2n; n; -s^2 W/2),       W = m_1^2 B + m_2^2 (1 - B),

    a smooth function averaged over one law, that of W, which does not depend on s. (m constant and equal: W is, and the
    chi formula is back.) A sum of harmonics, h(t) = sum_k a_k cos(k t), is the same with k m in place of m and a_k as
    weights. Then

        c(s) = E[chi(s sqrt W)] + E[exp(-s^2 W)] - E[exp(-s^2 (m_1^2 + m_2^2)/2)],

    chi as in `chi_covariance`; the last two tend to the same limit with s, so nothing is left at 0. The absolute error
    is about 1e-7 (1e-5 for a Matern kernel with nu < 0.5). The law of W is one table of about a thousand points, made
    in 0.1 s; then 0.1 ms a distance.
    """
    if kernel.law != "gaussian_mixture":
        raise fail("mixture_covariance", "kernel must be a Gaussian mixture", kernel, "Bessel: lengths='fixed'.")
    s = np.abs(np.asarray(distance, dtype=np.float64)).ravel()
    scale, joint, apart = _pair_law(*_scale_law(kernel, np.asarray(amplitudes, dtype=np.float64)), dimension)
    chi = Curve(lambda z: chi_covariance(dimension, z), unit=1.0)
    out = np.empty_like(s)
    rows = max(1, _CHUNK // scale.size)
    for start in range(0, s.size, rows):
        z = np.minimum(s[start : start + rows, None] * scale, 1e100)
        out[start : start + rows] = chi(z) @ joint + np.exp(-(z**2)) @ (joint - apart)
    return out.reshape(np.shape(distance))


def _scale_law(kernel: Kernel, amplitudes: Floats) -> tuple[Floats, Floats]:
    """Return the log of the scales k m and their weights, a_k times probability, from lengths m chi_D at two large D.

    chi_D / sqrt D tends to 1, and averages of smooth functions over it differ from the limit by a/D + O(1/D^2); weights
    4/3 at 4D and -1/3 at D cancel the first term and leave 1e-8.
    """
    t, probability = _normal_rule(_N_MIXING)
    far, near = 4 * _LARGE_DIMENSION, _LARGE_DIMENSION
    with np.errstate(divide="ignore"):  # a heavy tail's last quantile may be infinite
        mixing = np.concatenate(
            [kernel.length_quantile(scipy.special.ndtr(t), dim) / np.sqrt(dim) for dim in (far, near)]
        )
    order = np.flatnonzero(amplitudes)
    log = np.log(np.clip(np.multiply.outer(order + 1.0, mixing), 1 / _LARGEST, _LARGEST)).ravel()
    signed = np.concatenate([4 / 3 * probability, -1 / 3 * probability])
    weight = np.multiply.outer(amplitudes[order], signed).ravel()
    if log.size <= _MOST_SCALES:
        return log, weight
    log, weight = _gather(log, weight, _COARSE)
    seen = np.abs(weight) > 1e-13
    return log[seen], weight[seen]


def _pair_law(log: Floats, weight: Floats, dim: int) -> tuple[Floats, Floats, Floats]:
    """Grid of sqrt(W), and the weights on it of sqrt(W) and of sqrt((m_1^2 + m_2^2)/2)."""
    t, probability = _normal_rule(_N_BETA)
    beta = scipy.special.betaincinv(dim / 2, dim / 2, scipy.special.ndtr(t))
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
