"""Mean, spread and inverse of a kernel estimate as functions of distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide.kernels import Kernel
from lowtide.maps import FeatureMap, Moments
from lowtide.projections import Blocks
from lowtide.quantizers import Quantizer
from lowtide.theory import Curve, PairMoments, covariance, kernel_reach

__all__ = ["PairCurves", "pair_curves"]

Floats = NDArray[np.float64]

# Of the mean of codes against codes, relative to the first: smaller ones change the variance by less than 0.1%.
_SMALLEST_HARMONIC = 1e-3


@dataclass(frozen=True)
class PairCurves:
    """An estimate's mean and variance, tabulated over distance."""

    mean: Curve
    variance: Curve

    @property
    def value_at_zero(self) -> float:
        """Expectation at x = y."""
        return float(self.mean(0.0))

    def std(self, distance: ArrayLike) -> Floats:
        """Return the standard error at distances."""
        return np.sqrt(np.maximum(self.variance(distance), 0.0))

    def distance(self, estimate: ArrayLike) -> Floats:
        """Return the distance at which the mean has these values, on the first decreasing branch."""
        return self.mean.inverse(estimate)


@lru_cache(maxsize=64)
def pair_curves(
    kernel: Kernel,
    blocks: Blocks,
    feature_map: FeatureMap,
    quantizer: Quantizer | None,
    n_components: int,
    n_features: int,
    sides: tuple[str, str],
) -> PairCurves:
    """Tabulate the estimate (2/m) sum_j sum_i f_i(x) g_i(y) over frequencies j and their components i.

    Frequencies of one block are orthogonal, so beside the variance of each there is the covariance of pairs within a
    block: exact for Haar blocks; a Hadamard block has up to 11% more variance when rows are padded from a few columns.
    """
    full = feature_map.moments()
    coded = quantizer.draw(feature_map, np.random.default_rng(0)).moments() if quantizer is not None else full
    left, right = (full if side == "full" else coded for side in sides)
    groups = _groups(left, right, feature_map.width, n_components)
    factor = 2.0 / n_components

    def mean(s: Floats) -> Floats:
        return factor * np.sum([count * pair.mean(kernel, s, n_features) for pair, count in groups], axis=0)

    shares = np.concatenate([np.full(count, factor * _first_harmonic(pair)) for pair, count in groups])
    pairs = _pairs_within_blocks(shares, blocks)
    amplitudes = groups[0][0].amplitudes
    harmonics = np.where(np.abs(amplitudes) > _SMALLEST_HARMONIC, amplitudes, 0.0)

    def variance(s: Floats) -> Floats:
        own = factor**2 * np.sum([count * pair.variance(kernel, s, n_features) for pair, count in groups], axis=0)
        return own + pairs * covariance(kernel, blocks.lengths, s, blocks.dimension, harmonics)

    unit, _ = kernel_reach(kernel, n_features)
    return PairCurves(Curve(mean, unit), Curve(variance, unit))


def _groups(left: Moments, right: Moments, width: int, n_components: int) -> list[tuple[PairMoments, int]]:
    """Return whole frequencies and, when the last sine was dropped, the one that is used in part."""
    whole, rest = divmod(n_components, width)
    groups = [(PairMoments(left, right), whole)] if whole else []
    if rest:
        groups.append((PairMoments(left.first(rest), right.first(rest)), 1))
    return groups


def _first_harmonic(pair: PairMoments) -> float:
    """Return the coefficient of kappa(s) in the mean of one frequency's product."""
    return float(2.0 * np.vdot(pair.right.mean[:, 1], pair.left.mean[:, 1]).real)


def _pairs_within_blocks(shares: Floats, blocks: Blocks) -> float:
    """Return the sum over blocks of (sum of shares)^2 - (sum of their squares)."""
    starts = np.cumsum((0, *blocks.sizes))[:-1]
    return float(np.sum(np.add.reduceat(shares, starts) ** 2) - np.sum(shares**2))
