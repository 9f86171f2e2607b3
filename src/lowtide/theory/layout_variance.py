"""Variance of an estimate over frequencies that are orthogonal within blocks and independent between them.

The estimate is sum_i w_i X_i, X_i the estimate of frequency i alone and w_i its share (they sum to 1). Given the
frequencies, X_i has mean h(D_i), D_i = omega_i.(x-y), because dither and rounding average out: h(t) = cos t when a
side is full, sum_k a_k cos(k t) for codes against codes. Two X_i of one block have the covariance c of h(D_1), h(D_2):

    Var = sum_i w_i^2 v_i + c sum_blocks [(sum w)^2 - sum w^2],

which is v/p + c sum size (size - 1)/p^2 for p equal shares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, fail
from lowtide.kernels import Gaussian, Kernel
from lowtide.projections import Blocks
from lowtide.theory.orthogonal.chi import chi_covariance
from lowtide.theory.orthogonal.mixture import mixture_covariance

Floats = NDArray[np.float64]

_MOST_HARMONICS = 64


def covariance(
    kernel: Kernel, lengths: str, distance: ArrayLike, dimension: int, amplitudes: ArrayLike = (1.0,)
) -> Floats:
    """Covariance c(s) of h(w_1.(x-y)) and h(w_2.(x-y)) for two frequencies of one block.

    Parameters
    ----------
    kernel : Kernel
        The kernel whose frequencies are laid out.
    lengths : {"free", "fixed", "iid"}
        As in `lowtide.projections.Blocks`. "free": orthogonal directions with independent lengths of the kernel's law,
        1F1(D; D/2; -z^2/2) - exp(-z^2) for the Gaussian, quadrature for other mixtures. "fixed": Haar directions of
        one length, kappa(sqrt2 s) - kappa(s)^2. "iid": 0.
    distance : array-like of float
        Distances s in X's units, any shape.
    dimension : int
        Dimension D of a block after padding.
    amplitudes : array-like of float, default (1,)
        a_1, a_2, ... of h(t) = sum_k a_k cos(k t); `PairMoments.amplitudes` for codes against codes. Orders above
        64 are left out: they change c by less than 1e-4 of the variance of one frequency.

    Returns
    -------
    ndarray of float64
        Same shape as `distance`.

    References
    ----------
    Derived; within 5% in simulation for chi lengths and Hadamard rows.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import covariance
    >>> covariance(Gaussian(), "free", [0.0, 1.0], dimension=64).round(6).tolist()
    [0.0, -0.002861]
    """
    s = np.abs(np.asarray(distance, dtype=np.float64))
    a = np.trim_zeros(np.asarray(amplitudes, dtype=np.float64)[:_MOST_HARMONICS], "b")
    rule = {"free": _free, "fixed": _fixed, "iid": _independent}.get(lengths)
    if rule is None:
        raise fail("covariance", "lengths must be 'free', 'fixed' or 'iid'", lengths)
    dim = check_integer("covariance", "dimension", dimension, low=1)
    return rule(kernel, s, dim, a) if dim > 1 else np.zeros_like(s)


def layout_variance(
    blocks: Blocks, variances: ArrayLike, covariances: ArrayLike, shares: ArrayLike | None = None
) -> Floats:
    """Variance of an estimate over laid-out frequencies.

    Parameters
    ----------
    blocks : Blocks
        Block sizes; they sum to the number of frequencies p.
    variances : array-like of float
        Variance v of the estimate of one frequency alone: any shape (the same for all frequencies), or that shape
        with one more axis of length p first when `shares` are given.
    covariances : array-like of float
        c at the same distances, from `covariance`.
    shares : array-like of float, shape (p,), optional
        Weight of each frequency in the estimate; 1/p each when omitted. An odd number of cos_sin components gives
        the last frequency half the share of the others.

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
    v, c = np.asarray(variances, dtype=np.float64), np.asarray(covariances, dtype=np.float64)
    if shares is None:
        p = sizes.sum()
        single = v / p
        pairs = float(np.sum(sizes * (sizes - 1))) / p**2
    else:
        w = np.asarray(shares, dtype=np.float64)
        if w.shape != (int(sizes.sum()),):
            raise fail("layout_variance", f"shares must have length {int(sizes.sum())}, one a frequency", w.shape)
        single = np.tensordot(w**2, v, axes=1) if v.ndim > c.ndim else v * np.sum(w**2)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        pairs = float(np.sum(np.add.reduceat(w, starts) ** 2) - np.sum(w**2))
    return np.maximum(single + pairs * c, 0.0)


def _free(kernel: Kernel, s: Floats, dim: int, amplitudes: Floats) -> Floats:
    """Independent lengths: closed form for the cosine of the Gaussian, quadrature for the rest."""
    if isinstance(kernel, Gaussian) and amplitudes.size == 1:
        return amplitudes[0] ** 2 * chi_covariance(dim, s / kernel.bandwidth)
    return mixture_covariance(kernel, dim, s, amplitudes)


def _fixed(kernel: Kernel, s: Floats, dim: int, amplitudes: Floats) -> Floats:
    """One length: orthogonal vectors of lengths k and l add up to one of length sqrt(k^2 + l^2)."""
    order = np.flatnonzero(amplitudes) + 1.0
    a = amplitudes[amplitudes != 0]
    joint = np.zeros_like(s)
    for i in range(order.size):
        for j in range(i + 1):
            weight = a[i] * a[j] * (1 if i == j else 2)
            joint += weight * kernel.radial(np.hypot(order[i], order[j]) * s, dim)
    single = sum(a[i] * kernel.radial(order[i] * s, dim) for i in range(order.size))
    return np.asarray(joint - single**2, dtype=np.float64)


def _independent(kernel: Kernel, s: Floats, dim: int, amplitudes: Floats) -> Floats:
    """No dependence."""
    return np.zeros_like(s)
