"""Constants of the b-bit quantizers of a dithered cosine: what the variances are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer
from lowtide.quantizers import lloyd_max_arcsine

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LloydMaxTable:
    """Lloyd-Max quantizer Q of cos U, U uniform, with the moments its variances need.

    Parameters
    ----------
    levels : ndarray of float64, shape (2^b,)
        Levels, ascending; for features sqrt2 cos multiply levels and borders by sqrt2.
    borders : ndarray of float64, shape (2^b - 1,)
        Borders between the cells, ascending.
    distortion : float
        E(cos U - Q)^2.
    F1 : float
        First Fourier coefficient, E[Q cos U] = E[Q^2] = 1/2 - distortion. 1/F1 is the unbiased scale.
    S2 : float
        E[Q(cos U)^2 cos 2U].
    P2 : float
        E[Q(cos U) Q(sin U) sin 2U].

    Examples
    --------
    >>> from lowtide.theory import lloyd_max_table
    >>> type(lloyd_max_table(2)).__name__
    'LloydMaxTable'
    """

    levels: Floats
    borders: Floats
    distortion: float
    F1: float
    S2: float
    P2: float


@cache
def lloyd_max_table(bits: int) -> LloydMaxTable:
    """Levels, borders and moments of the b-bit Lloyd-Max quantizer of a dithered cosine.

    Parameters
    ----------
    bits : int
        1 to 8.

    Returns
    -------
    LloydMaxTable
        Moments exact to 1e-12: integrals of trigonometric functions between the borders.

    References
    ----------
    Derived; the quantizer of LM-RFF in One-Sketch (Li and Li).

    Examples
    --------
    >>> from lowtide.theory import lloyd_max_table
    >>> table = lloyd_max_table(2)
    >>> round(table.distortion, 6), round(table.F1, 6), round(table.S2, 6)
    (0.020905, 0.479095, 0.192117)
    """
    bits = check_integer("lloyd_max_table", "bits", bits, low=1, high=8)
    levels, borders = lloyd_max_arcsine(bits)
    # Cells of t in (0, pi), cos falling: from the highest level down.
    edges = np.concatenate([[0.0], np.arccos(borders[::-1]), [math.pi]])
    value = levels[::-1]
    first = float(np.sum(value * np.diff(np.sin(edges)))) / math.pi
    second = float(np.sum(value**2 * np.diff(np.sin(2 * edges)))) / (2 * math.pi)
    return LloydMaxTable(levels, borders, 0.5 - first, first, second, _cross_moment(levels, borders))


def phase_F1(n_phases: int) -> float:  # noqa: N802  (the paper's symbol)
    """First Fourier coefficient of the phase quantizer with M equal arcs, F_1 = (M/pi) sin(pi/M).

    Parameters
    ----------
    n_phases : int
        M, at least 2; b bits give 2^b.

    Returns
    -------
    float
        The unbiased scale is its inverse.

    Examples
    --------
    >>> from lowtide.theory import phase_F1
    >>> round(phase_F1(4), 6)
    0.900316
    """
    phases = check_integer("phase_F1", "n_phases", n_phases, low=2)
    return phases / math.pi * math.sin(math.pi / phases)


def stochastic_coefficients(bits: int, count: int = 512) -> Floats:
    """Coefficients g_0..g_{count-1} of E[Q^2 | cos t] = sum_n g_n cos 2nt for stochastic rounding of cos t.

    Q rounds to the grid -1 + i Delta, Delta = 2/(2^b - 1), up or down without bias, so E[Q^2 | z] is the chord
    z (lo + hi) - lo hi of the parabola between the two grid points around z. b = 1 gives g = 1, 0, 0, ...

    Parameters
    ----------
    bits : int
        1 to 8.
    count : int, default 512
        Number of coefficients; they fall as n^-2.

    Returns
    -------
    ndarray of float64, shape (count,)
        Exact: the pieces are integrated in closed form.

    References
    ----------
    Derived; section StocQ of One-Sketch (Li and Li).

    Examples
    --------
    >>> from lowtide.theory import stochastic_coefficients
    >>> stochastic_coefficients(2, 3).round(6).tolist()
    [0.563102, 0.474241, -0.031616]
    """
    bits = check_integer("stochastic_coefficients", "bits", bits, low=1, high=8)
    count = check_integer("stochastic_coefficients", "count", count, low=1)
    grid = np.linspace(-1, 1, 2**bits)
    slope, offset = (grid[:-1] + grid[1:])[::-1], -(grid[:-1] * grid[1:])[::-1]
    edges = np.arccos(grid[::-1])
    n = np.arange(1, count)[:, None]
    below, above = (2 * n - 1) * edges, (2 * n + 1) * edges
    chord = np.diff(np.sin(below) / (2 * n - 1) + np.sin(above) / (2 * n + 1)) / 2 @ slope
    flat = np.diff(np.sin(2 * n * edges) / (2 * n)) @ offset
    g_0 = (np.diff(np.sin(edges)) @ slope + np.diff(edges) @ offset) / math.pi
    return np.concatenate([[g_0], 2 / math.pi * (chord + flat)])


def _cross_moment(levels: Floats, borders: Floats) -> float:
    """E[Q(cos U) Q(sin U) sin 2U]: by symmetry four times the quarter 0 < U < pi/2."""
    cos_edges, sin_edges = np.arccos(borders), np.arcsin(borders)
    edges = np.concatenate([[0.0], cos_edges, sin_edges, [math.pi / 2]])
    edges = np.unique(edges[(edges >= 0) & (edges <= math.pi / 2)])
    middle = (edges[:-1] + edges[1:]) / 2
    q_cos = levels[np.searchsorted(borders, np.cos(middle))]
    q_sin = levels[np.searchsorted(borders, np.sin(middle))]
    return float(np.sum(q_cos * q_sin * np.diff(-np.cos(2 * edges)))) / math.pi
