"""Quantized normal projections: sums over pairs of cells, integrals one cell at a time, and draws."""

import itertools
import math

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

# Half the line beyond which a normal variable is never seen: 1e-33 of its mass.
FAR = 12.0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)


def density(u):
    """Return the density of N(0, 1)."""
    return np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)


def cells(borders):
    """Return the lower and upper end of each cell."""
    edges = np.concatenate([[-FAR], borders, [FAR]])
    return edges[:-1], edges[1:]


def cell_probabilities(borders, rho):
    """Return P(u in cell i, v in cell j), integrating the law of v given u over each cell of u; |rho| < 1."""
    low, high = cells(borders)
    out = np.empty((len(low), len(low)))
    for i, (a, b) in enumerate(zip(low, high)):
        u = (a + b) / 2 + (b - a) / 2 * NODES
        below = ndtr((np.concatenate([[-np.inf], borders, [np.inf]]) - rho * u[:, None]) / math.sqrt(1 - rho**2))
        out[i] = (b - a) / 2 * (WEIGHTS * density(u)) @ np.diff(below, axis=1)
    return out


def mean_and_variance(levels, borders, gamma, rho):
    """Return Theorem 1's two sums at the paper's gamma, as printed (k = 1)."""
    p = cell_probabilities(borders, rho)
    s, c = np.sin(gamma * levels), np.cos(gamma * levels)
    product = np.outer(s, s) + np.outer(c, c)
    mean = np.sum(product * p)
    return mean, np.sum(product**2 * p) - mean**2


def expectation(function, levels, borders):
    """Return E function(u, Q u), integrated over each cell."""
    low, high = cells(borders)
    parts = [
        quad(lambda u, mu=mu: function(u, mu) * density(u), a, b, epsabs=1e-14, epsrel=1e-13, limit=200)[0]
        for mu, a, b in zip(levels, low, high)
    ]
    return math.fsum(parts)


def mean_oscillation(f, levels, borders, delta):
    """Return E sup_{|r| <= delta} |f(Q(t + r)) - f(Q(t))| for t of N(0, 1): the sum over the pieces of t."""
    values = f(levels)
    ends = np.concatenate([[-FAR], borders - delta, borders, borders + delta, [FAR]])
    ends = np.unique(np.clip(ends, -FAR, FAR))
    total = 0.0
    for a, b in itertools.pairwise(ends):
        t = (a + b) / 2
        first, last = np.searchsorted(borders, [t - delta, t + delta])
        here = values[np.searchsorted(borders, t)]
        total += (ndtr(b) - ndtr(a)) * np.max(np.abs(values[first : last + 1] - here))
    return total


def correlated_pairs(rng, rho, n):
    """Return n pairs of N(0, 1) of correlation rho, each (n,)."""
    u, w = rng.standard_normal((2, n))
    return u, rho * u + math.sqrt(1 - rho**2) * w


def block_projections(rng, dimension, rho, n):
    """Return projections, (n, D) each, of two rows of cosine rho on n blocks of orthogonal vectors of chi lengths."""
    Q, R = np.linalg.qr(rng.standard_normal((n, dimension, dimension)))
    Q *= np.sign(np.einsum("nii->ni", R))[:, None, :]
    lengths = np.sqrt(rng.chisquare(dimension, (n, dimension)))
    u, w = Q[:, 0] * lengths, Q[:, 1] * lengths
    return u, rho * u + math.sqrt(1 - rho**2) * w
