"""The quantizer of least squared error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

from lowtide._checks import check_integer
from lowtide.maps import Arcsine, Density, FeatureMap
from lowtide.quantizers.base import Quantizer
from lowtide.quantizers.steps import PhaseSteps, even_steps

__all__ = ["LloydMax", "lloyd_max", "lloyd_max_arcsine"]

Array = NDArray[np.float64]

_ARCSINE = Arcsine()


@dataclass(eq=False, repr=False)
class LloydMax(Quantizer):
    """Lloyd-Max quantizer of the map's density: centroids as levels, midpoints as borders.

    On the arcsine law of a dithered cosine it also has the least variance against the full side. One bit is the square
    wave sign(cos t).

    Parameters
    ----------
    bits : int, default=1
        1 to 8.

    Examples
    --------
    >>> from lowtide.maps import Cosine
    >>> drawn = LloydMax(bits=1).draw(Cosine(), np.random.default_rng(0))
    >>> drawn.codebook.round(4)                     # -pi/4 and pi/4
    array([-0.7854,  0.7854])
    """

    bits: int = 1

    def check(self) -> None:
        """Refuse bits outside 1 to 8."""
        check_integer("LloydMax", "bits", self.bits, 1, 8, "Above 8 bits keep float features: bits=None.")

    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> PhaseSteps:
        """Return the quantizer of the map's components; nothing is random."""
        return even_steps(*lloyd_max(feature_map.density, self.bits), feature_map.shifts)


def lloyd_max_arcsine(bits: int) -> tuple[Array, Array]:
    """Return levels (2^bits,) and borders (2^bits - 1,) of the Lloyd-Max quantizer of cos(U), exact to 1e-12."""
    check_integer("lloyd_max_arcsine", "bits", bits, 1, 8)
    levels, borders = lloyd_max(_ARCSINE, int(bits))
    return levels.copy(), borders.copy()


@cache
def lloyd_max(density: Density, bits: int) -> tuple[Array, Array]:
    """Solve mu_i = E[v | t_{i-1} < v < t_i], t_i = (mu_i + mu_{i+1})/2 for a symmetric density.

    A few hundred Lloyd steps, then Newton on the tridiagonal system: plain Lloyd stalls for many levels.

    Returns
    -------
    levels : ndarray (2^bits,), ascending, read-only: solved once a density
    borders : ndarray (2^bits - 1,), ascending, read-only
    """
    n = 2**bits
    levels = density.quantile((np.arange(n) + 0.5) / n)
    for _ in range(300):
        levels = _centroids(density, levels)
    for _ in range(40):
        step = _newton_step(density, levels)
        levels = levels - step
        if np.max(np.abs(step)) < 1e-15:
            break
    levels = (levels - levels[::-1]) / 2
    borders = (levels[:-1] + levels[1:]) / 2
    levels.flags.writeable = borders.flags.writeable = False
    return levels, borders


def _edges(density: Density, levels: Array) -> Array:
    low, high = density.interval
    return np.concatenate([[low], (levels[:-1] + levels[1:]) / 2, [high]])


def _centroids(density: Density, levels: Array) -> Array:
    """Return the mean of the law within each cell."""
    edges = _edges(density, levels)
    return np.asarray(np.diff(density.partial_mean(edges)) / np.diff(density.cdf(edges)))


def _newton_step(density: Density, levels: Array) -> Array:
    """Return J^-1 (mu - centroid(mu)); a cell's centroid moves with its two borders, a border with its two levels."""
    edges = _edges(density, levels)
    mass = np.diff(density.cdf(edges))
    center = _centroids(density, levels)
    pdf = density.pdf(edges)
    lower = 0.5 * pdf[:-1] * (center - edges[:-1]) / mass
    upper = 0.5 * pdf[1:] * (edges[1:] - center) / mass
    lower[0] = upper[-1] = 0.0
    bands = np.zeros((3, len(levels)))
    bands[0, 1:] = -upper[:-1]
    bands[1] = 1.0 - lower - upper
    bands[2, :-1] = -lower[1:]
    return np.asarray(solve_banded((1, 1), bands, levels - center))
