"""Orthogonal frequencies: high-precision functions, and estimates drawn one matrix at a time."""

import mpmath
import numpy as np


def bessel(d, z):
    """Return Gamma(d/2) (2/z)^(d/2-1) J_{d/2-1}(z) = 0F1(; d/2; -z^2/4) with 40 digits."""
    with mpmath.workdps(40):
        return mpmath.hyp0f1(mpmath.mpf(d) / 2, -(mpmath.mpf(float(z)) ** 2) / 4)


def chi_covariance(d, z):
    """Return 1F1(d; d/2; -z^2/2) - exp(-z^2) with 40 digits."""
    with mpmath.workdps(40):
        y = mpmath.mpf(float(z)) ** 2
        first = mpmath.hyp1f1(d, mpmath.mpf(d) / 2, -y / 2, maxterms=10**6, maxprec=20000)
        return first - mpmath.exp(-y)


def haar(rng, d):
    """Return a Haar-distributed orthogonal matrix."""
    Q, R = np.linalg.qr(rng.standard_normal((d, d)))
    return Q * np.sign(np.diag(R))


def orthogonal_pairs(rng, d, n):
    """Return first coordinates of n pairs of orthogonal, uniformly distributed unit vectors of R^d, each (n,)."""
    first, second = rng.standard_normal((2, n, d))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second -= np.sum(first * second, axis=1, keepdims=True) * first
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    return first[:, 0], second[:, 0]


def estimates(rng, d, p, z, n, lengths=None):
    """Return n draws of (1/p) sum_j cos(w_j . u), |u| = z: blocks of Haar columns, times lengths(rng, p) if given."""
    out = np.empty(n)
    for i in range(n):
        blocks = [haar(rng, d)[0] for _ in range(-(-p // d))]
        projected = z * np.concatenate(blocks)[:p]
        out[i] = np.mean(np.cos(projected if lengths is None else projected * lengths(rng, p)))
    return out
