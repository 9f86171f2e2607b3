"""Mean and variance of a block's kernel estimate, for any pair of full and coded sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.encoders.pair_curves import pair_curves
from lowtide.kernels import Kernel, MeasureBlock, distances
from lowtide.maps import CosSin, Moments
from lowtide.projections import Blocks
from lowtide.quantizers import Quantizer
from lowtide.theory import PairMoments

__all__ = ["block_moments"]

Floats = NDArray[np.float64]

# Harmonics of codes against codes; the rest is taken at the level of the last ones.
_MOST_HARMONICS = 512
# A pair whose last eight characteristic values are below this has no more to add.
_NEGLIGIBLE = 1e-9
# Values of differences in flight: 64 MB.
_CHUNK = 1 << 23


def block_moments(
    block: MeasureBlock,
    layout: Blocks,
    quantizer: Quantizer | None,
    n_components: int,
    X: Floats,
    Y: Floats,
    sides: tuple[str, str],
) -> tuple[Floats, Floats]:
    """Return mean and variance of a block's part of the estimate for every pair of rows, (n, n_y) each.

    A block whose frequencies are those of a symmetric kernel, moved by a shift and turned by a sign, is an estimate of
    that kernel; the layout's covariance comes with it. Other laws have independent frequencies, and their moments are
    sums over harmonics of the characteristic function.
    """
    if isinstance(block.frequencies, Kernel) and block.turn in (0.0, 0.5):
        kernel = block.frequencies
        curves = pair_curves(kernel, layout, CosSin(), quantizer, n_components, X.shape[1], sides)
        distance = distances(X if block.shift is None else X + block.shift, Y, kernel.norm)
        sign = 1.0 if block.turn == 0.0 else -1.0
        return sign * block.mass * curves.mean(distance), block.mass**2 * curves.std(distance) ** 2
    step = max(1, _CHUNK // max(1, Y.size))
    parts = [
        _by_harmonics(block, quantizer, n_components, (X[i : i + step, None] - Y[None]), sides)
        for i in range(0, len(X), step)
    ]
    empty = np.zeros((0, len(Y)))
    means, variances = zip(*parts) if parts else ((empty,), (empty,))
    return np.concatenate(means), np.concatenate(variances)


def _by_harmonics(
    block: MeasureBlock, quantizer: Quantizer | None, n_components: int, difference: Floats, sides: tuple[str, str]
) -> tuple[Floats, Floats]:
    full = CosSin().moments()
    coded = full if quantizer is None else quantizer.draw(CosSin(), np.random.default_rng(0)).moments()
    left, right = (full if side == "full" else coded for side in sides)
    factor = 2.0 * block.mass / n_components
    delta = difference.reshape(-1, difference.shape[-1])
    mean = np.zeros(len(delta))
    variance = np.zeros(len(delta))
    whole, rest = divmod(n_components, 2)
    for width, count in ((2, whole), (1, rest)):
        if count:
            first, second = _pair_sums(block, left.first(width), right.first(width), delta)
            mean += factor * count * first
            variance += factor**2 * count * np.maximum(second - first**2, 0.0)
    return mean.reshape(difference.shape[:-1]), variance.reshape(difference.shape[:-1])


def _pair_sums(block: MeasureBlock, left: Moments, right: Moments, delta: Floats) -> tuple[Floats, Floats]:
    """Return E P and E P^2 of one frequency's product P: sums over k of c_k Re chi_k for two series c."""
    pair = PairMoments(left, right)
    series = (pair.mean_series, pair.second_series)
    coefficients = np.zeros((2, max(len(c.coefficients) for c in series)))
    for row, c in zip(coefficients, series):
        row[: len(c.coefficients)] = c.coefficients
    orders = np.flatnonzero(np.any(np.abs(coefficients) > 1e-15, axis=0))
    orders = orders[(orders > 0) & (orders <= _MOST_HARMONICS)]
    sums = np.repeat(coefficients[:, :1], len(delta), axis=1)
    active, quiet = np.arange(len(delta)), np.zeros(len(delta), dtype=int)
    recent: list[Floats] = []
    for k in orders:
        value = np.zeros(len(delta))
        value[active] = block.characteristic(delta[active], order=int(k)).real
        sums += 2 * coefficients[:, k, None] * value
        recent = [*recent[-7:], value]
        quiet = np.where(np.abs(value) < _NEGLIGIBLE, quiet + 1, 0)
        active = np.flatnonzero(quiet < 8)
        if not active.size:
            break
    else:
        for total, c, row in zip(sums, series, coefficients):
            rest = 2 * row[_MOST_HARMONICS + 1 :].sum() + 2 * c.amplitude / len(row)
            weight = np.abs(row[orders[-len(recent) :]])
            if rest and weight.any():
                total += rest * np.average(recent, axis=0, weights=weight)
    return sums[0], sums[1]
