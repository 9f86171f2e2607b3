"""Mean and variance of the cosine of two rows, from codes or full projections."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, check_option, fail
from lowtide.maps import Normal
from lowtide.theory.sketch.level_product import check_correlations, sketch_quantizer
from lowtide.theory.sketch.moments import SketchMoments

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CosineMoments:
    """Moments of the product of a projection v with a full side by Q(u)/E[u Q(u)]: its mean is rho.

    Parameters
    ----------
    unit : float
        E[u Q(u)], 1 less the distortion.
    fourth : float
        E[u^2 Q(u)^2] / unit^2.
    bend : float
        E[u^2 Q'(u)] / unit.

    Notes
    -----
    Without quantizing they are 1, 3, 1. The variance is (1 - rho^2)/unit + (fourth - 1) rho^2.

    Examples
    --------
    >>> from lowtide.theory import cosine_moments
    >>> float(cosine_moments(None, ("full", "full")).variance(0.5))
    1.25
    """

    unit: float
    fourth: float
    bend: float

    def mean(self, rho: ArrayLike) -> Floats:
        """Return the correlations: no bias."""
        return check_correlations("CosineMoments", rho).copy()

    def variance(self, rho: ArrayLike) -> Floats:
        """Variance of the product of one projection, elementwise."""
        square = check_correlations("CosineMoments", rho) ** 2
        return np.asarray((1 - square) / self.unit + (self.fourth - 1) * square)

    def covariance(self, rho: ArrayLike, dimension: int) -> Floats:
        """Covariance of the products of two projections of one orthogonal block of D dimensions, elementwise.

        As `LevelProduct.block_covariance`, with M = [[(bend - 1) rho, 1], [1, 0]].
        """
        D = check_integer("CosineMoments", "dimension", dimension, low=1)
        square = check_correlations("CosineMoments", rho) ** 2
        if D == 1:
            return np.zeros_like(square)
        trace_square = (1 + self.bend) ** 2 * square
        traces = 2 + (self.bend**2 + 2 * self.bend - 1) * square
        return np.asarray((trace_square - D * traces) / (2 * (D - 1) * (D + 2)))


def cosine_moments(bits: int | None, sides: tuple[str, str] = ("codes", "codes")) -> SketchMoments | CosineMoments:
    """Moments of the cosine estimate of a sketch, codes decoded to mu_i/(1 - D), D the distortion.

    Parameters
    ----------
    bits : int or None
        b, 1 to 8; None only when both sides are full.
    sides : (str, str), default ("codes", "codes")
        What stands left and right, each "codes" or "full".

    Returns
    -------
    SketchMoments or CosineMoments
        Both have `mean(rho)`, `variance(rho)` and `covariance(rho, dimension)`, per projection. With a full side the
        mean is rho. Codes against codes have the mean E[Q(u) Q(v)]/(1-D)^2: rho near 0, 1/(1-D) at rho = 1. Invert
        it, or use a full side, where that matters: one bit gives 1.57 for equal rows, four bits 1.01.

    Notes
    -----
    Variance of one projection, full against full: 1 + rho^2. At rho = 0: 1/(1-D) a coded side.

    References
    ----------
    Derived.

    Examples
    --------
    >>> from lowtide.theory import cosine_moments
    >>> float(cosine_moments(1, ("codes", "full")).variance(0.0).round(6))     # pi/2
    1.570796
    >>> float(cosine_moments(1).mean(1.0).round(6))
    1.570796
    """
    if not isinstance(sides, (tuple, list)) or len(sides) != 2:
        raise fail("cosine_moments", "sides must be (left, right), each 'codes' or 'full'", sides)
    for side in sides:
        check_option("cosine_moments", "each of sides", side, ("codes", "full"))
    if "codes" not in sides:
        return CosineMoments(unit=1.0, fourth=3.0, bend=1.0)
    bits = check_integer("cosine_moments", "bits", bits, low=1, high=8)
    return _half_coded(bits) if "full" in sides else _coded(bits)


@cache
def _coded(bits: int) -> SketchMoments:
    quantizer = sketch_quantizer(bits)
    return SketchMoments(bits, quantizer.levels / (1 - quantizer.distortion))


@cache
def _half_coded(bits: int) -> CosineMoments:
    """Q(u) v/(1-D): v given u is normal with mean rho u and variance 1 - rho^2."""
    quantizer = sketch_quantizer(bits)
    unit = 1 - quantizer.distortion
    fourth = float(quantizer.levels**2 @ _second_moments(quantizer.borders)) / unit**2
    t = quantizer.borders
    bend = float(np.diff(quantizer.levels) @ (t**2 * Normal().pdf(t))) / unit
    return CosineMoments(unit, fourth, bend)


def _second_moments(borders: Floats) -> Floats:
    """Integral of u^2 phi(u) over each cell, from the antiderivative Phi(u) - u phi(u), on the negative half."""
    half = np.append(borders[: len(borders) // 2], 0.0)
    lower = np.diff(Normal().cdf(half) - half * Normal().pdf(half), prepend=0.0)
    return np.concatenate([lower, lower[::-1]])
