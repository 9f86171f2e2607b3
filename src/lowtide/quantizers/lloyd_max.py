"""Levels of least squared error of any symmetric density."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer
from lowtide.maps import Arcsine, Density, Normal

Array = NDArray[np.float64]
_ARCSINE, _NORMAL = Arcsine(), Normal()
# Enough for any cell but the outermost: the next singularity is never nearer than a third of its width.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def lloyd_max_arcsine(bits: int) -> tuple[Array, Array]:
    """Return levels (2^bits,) and borders (2^bits - 1,) of the Lloyd-Max quantizer of cos(U), exact to 1e-12."""
    levels, borders = lloyd_max(_ARCSINE, check_integer("lloyd_max_arcsine", "bits", bits, 1, 8))
    return levels.copy(), borders.copy()


def lloyd_max_normal(bits: int) -> tuple[Array, Array]:
    """Return levels (2^bits,) and borders (2^bits - 1,) of the Lloyd-Max quantizer of N(0, 1), exact to 1e-12."""
    levels, borders = lloyd_max(_NORMAL, check_integer("lloyd_max_normal", "bits", bits, 1, 8))
    return levels.copy(), borders.copy()


def lloyd_max_distortion(density: Density, bits: int) -> float:
    """Return E(v - Q)^2 = E[v^2] - E[Q^2] of the Lloyd-Max quantizer Q of a symmetric density.

    Examples
    --------
    >>> from lowtide.maps import Normal
    >>> round(lloyd_max_distortion(Normal(), 1), 6)                     # 1 - 2/pi
    0.36338
    """
    levels, _ = lloyd_max(density, bits)
    lower = levels[: len(levels) // 2]
    mass, _, _ = _cells(density, lower)
    return float(density.second_moment - 2.0 * np.sum(mass * lower**2))


@cache
def lloyd_max(density: Density, bits: int) -> tuple[Array, Array]:
    """Solve mu_i = E[v | t_{i-1} < v < t_i], t_i = (mu_i + mu_{i+1})/2 for a symmetric density.

    A few hundred Lloyd steps, then Newton on the tridiagonal system: plain Lloyd stalls for many levels. Only the
    negative half is solved, and its cells are integrated one by one: differences of a cdf would lose the digits of
    small masses, and with 256 levels the system makes 100 times more of such errors.

    Returns
    -------
    levels : ndarray (2^bits,), ascending, read-only: solved once a density
    borders : ndarray (2^bits - 1,), ascending, read-only
    """
    half = 2 ** (bits - 1)
    lower = density.quantile((np.arange(half) + 0.5) / (2 * half))
    for _ in range(300):
        _, centers, _ = _cells(density, lower)
        if np.array_equal(centers, lower):  # as a single level is at once
            break
        lower = centers
    for _ in range(40):
        step = _newton_step(density, lower)
        lower = lower - step
        if np.max(np.abs(step)) < 1e-15:
            break
    levels = np.concatenate([lower, -lower[::-1]])
    borders = (levels[:-1] + levels[1:]) / 2
    levels.flags.writeable = borders.flags.writeable = False
    return levels, borders


def _cells(density: Density, lower: Array) -> tuple[Array, Array, Array]:
    """Return the mass of each cell of the negative levels, the mean of the law within it, and the borders but 0."""
    borders = (lower[:-1] + lower[1:]) / 2
    edges = np.append(borders, 0.0)
    half, middle = np.diff(edges) / 2, (edges[:-1] + edges[1:]) / 2
    x = middle[:, None] + half[:, None] * _NODES
    weight = half[:, None] * _WEIGHTS * density.pdf(x)
    # The outermost cell, where a density may be singular or go on for ever, is not integrated by nodes.
    mass = np.concatenate([density.cdf(edges[:1]), weight.sum(axis=1)])
    first = np.concatenate([density.partial_mean(edges[:1]), (weight * x).sum(axis=1)])
    return mass, first / mass, borders


def _newton_step(density: Density, lower: Array) -> Array:
    """Return J^-1 (mu - centroid(mu)); a cell's centroid moves with its two borders, a border with its two levels."""
    mass, center, border = _cells(density, lower)
    pull = 0.5 * density.pdf(border)
    above = pull * (center[1:] - border) / mass[1:]
    below = pull * (border - center[:-1]) / mass[:-1]
    diagonal = np.ones(len(lower))
    diagonal[1:] -= above
    diagonal[:-1] -= below
    return _solved(-above, diagonal, -below, lower - center)


def _solved(below: Array, diagonal: Array, above: Array, right: Array) -> Array:
    """Return x of a tridiagonal system, by elimination in order: the diagonal is the largest of its column."""
    d, x = diagonal.tolist(), right.tolist()
    for i, (low, up) in enumerate(zip(below.tolist(), above.tolist()), start=1):
        factor = low / d[i - 1]
        d[i] -= factor * up
        x[i] -= factor * x[i - 1]
    x[-1] /= d[-1]
    for i in range(len(x) - 2, -1, -1):
        x[i] = (x[i] - above[i] * x[i + 1]) / d[i]
    return np.array(x)
