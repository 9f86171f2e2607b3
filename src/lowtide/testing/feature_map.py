"""The contract of a feature map."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.maps import FeatureMap
from lowtide.testing.claim import claim
from lowtide.testing.spec import check_spec

__all__ = ["check_feature_map"]

_N_PHASES = 4096
_HARMONICS = 6


def check_feature_map(feature_map: FeatureMap) -> None:
    """Check that a map's components, their law and their moments belong together.

    Parameters
    ----------
    feature_map : FeatureMap

    Raises
    ------
    AssertionError
        With a sentence that names what failed.

    Examples
    --------
    >>> from lowtide.maps import CosSin
    >>> check_feature_map(CosSin())
    """
    claim(isinstance(feature_map, FeatureMap), feature_map, "must derive from lowtide.maps.FeatureMap")
    check_spec(feature_map)
    width = feature_map.width
    claim(width == len(feature_map.shifts) >= 1, feature_map, "width must be the number of shifts, at least 1")
    for n in (1, 2, 7, 64):
        p = feature_map.n_frequencies(n)
        claim((p - 1) * width < n <= p * width, feature_map, "n_frequencies must be just enough for n_components")
    turns = (np.arange(_N_PHASES) + 0.5) / _N_PHASES
    values = np.stack([np.cos(2 * np.pi * (turns + shift)) for shift in feature_map.shifts])
    _check_density(feature_map, values)
    _check_moments(feature_map, turns, values)


def _check_density(feature_map: FeatureMap, values: NDArray[np.float64]) -> None:
    low, high = feature_map.density.interval
    claim(low < high, feature_map, "density.interval must be (low, high)")
    x = np.linspace(low, high, 23)[1:-1]
    for component in values:
        counted = (component[:, None] <= x).mean(axis=0)
        # Equally spaced phases: a count is off by a few of 4096.
        near = np.abs(counted - feature_map.density.cdf(x)) < 8 / _N_PHASES
        claim(near, feature_map, "density.cdf must be the law of every component at a uniform phase")
    second = float(np.mean(values**2))
    claim(abs(second - feature_map.density.second_moment) < 1e-9, feature_map, "density.second_moment must be E[f^2]")
    inside = np.linspace(0.05, 0.95, 19)
    back = feature_map.density.cdf(feature_map.density.quantile(inside))
    claim(np.abs(back - inside) < 1e-9, feature_map, "density.quantile must be the inverse of density.cdf")


def _check_moments(feature_map: FeatureMap, turns: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    moments = feature_map.moments()
    w = feature_map.width
    claim(moments.mean.shape[0] == w, feature_map, "moments().mean must have a row a component")
    claim(moments.product.shape[:2] == (w, w), feature_map, "moments().product must be (width, width, harmonics)")
    for k in range(_HARMONICS):
        wave = np.exp(-2j * np.pi * k * turns)
        for i in range(w):
            gap = abs(np.mean(values[i] * wave) - _coefficient(moments.mean[i], k))
            claim(gap < 1e-9, feature_map, f"moments().mean must be Fourier coefficients of the components, k = {k}")
            for j in range(w):
                gap = abs(np.mean(values[i] * values[j] * wave) - _coefficient(moments.product[i, j], k))
                claim(gap < 1e-9, feature_map, f"moments().product must be those of their products, k = {k}")


def _coefficient(coefficients: NDArray[np.complex128], k: int) -> complex:
    """Return a coefficient; those past the end are 0."""
    return complex(coefficients[k]) if k < len(coefficients) else 0j
