"""What the moments of a sketch's two sides say of their product: mean, error and distance, over cosines and lengths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.encoders.blocks import PLAUSIBLE
from lowtide.encoders.estimation import Pair, Side, Two, plausible_variance
from lowtide.encoders.rows import dense_rows
from lowtide.kernels import distances
from lowtide.projections import Blocks
from lowtide.quantizers import LineSteps
from lowtide.theory import cosine_moments, fourier_moments, layout_variance, scaled_covariance, scaled_mean

Floats = NDArray[np.float64]

# Angles at which the mean of a product is tabulated; between them it is as good as straight.
_NODES = 4097
# Of the table of plausible errors.
_N_SEEN = 513
_BLOCK_VALUES = 1 << 21


class RowMoments(Protocol):
    """Mean and variance of one projection's product over the cosine of two rows, and the covariance of two."""

    def mean(self, rho: ArrayLike) -> Floats:
        """Return the expected product."""

    def variance(self, rho: ArrayLike) -> Floats:
        """Return the variance of one projection's product."""

    def covariance(self, rho: ArrayLike, dimension: int) -> Floats:
        """Return the covariance of the products of two projections of one orthogonal block."""


class CosineLaw:
    """Mean and standard error of a product of two sides of rows of norm 1, over the cosine of the rows."""

    def __init__(self, moments: RowMoments, blocks: Blocks) -> None:
        self.moments, self.blocks = moments, blocks

    def std(self, cosine: Floats) -> Floats:
        """Return the standard error at the cosines."""
        covariance = 0.0 if self.blocks.lengths == "iid" else self.moments.covariance(cosine, self.blocks.dimension)
        return np.sqrt(layout_variance(self.blocks, self.moments.variance(cosine), covariance))

    @cached_property
    def seen(self) -> Callable[[NDArray[Any]], Floats]:
        """Return the variance that products show, of rows that are not there."""
        rho = np.cos(np.linspace(math.pi, 0.0, _N_SEEN) ** 2 / math.pi)  # near 1 the mean changes fastest
        return plausible_variance(self.moments.mean(rho), self.std(rho))

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        # The mean bends sharply only near rho = 1 and -1, where equal steps of the angle are short steps of rho.
        rho = np.cos(np.linspace(math.pi, 0.0, _NODES))
        return self.moments.mean(rho), rho

    def cosine(self, products: NDArray[Any]) -> Floats:
        """Return the cosines at which the mean has these values, from -1 to 1; for means that grow with the cosine."""
        return np.asarray(np.interp(products, *self._table))


@lru_cache(maxsize=64)
def cosine_law(steps: LineSteps, gamma: float | None, blocks: Blocks, sides: tuple[str, str]) -> CosineLaw:
    """Return the law of linear products (gamma None) or of Fourier features of two sides, made once."""
    moments = cosine_moments(steps, sides) if gamma is None else fourier_moments(steps, gamma, sides)
    return CosineLaw(moments, blocks)


def unit_pair(law: CosineLaw, linear: bool) -> Pair:
    """Return the pair of rows of norm 1; distances are read from linear products."""

    def distance(K: NDArray[Any], _given: Two) -> Floats:
        return np.sqrt(2.0 * (1.0 - law.cosine(K)))

    return Pair(
        lambda X, Y: law.moments.mean(cosines(X, Y, directed=True)),
        lambda X, Y: law.std(cosines(X, Y, directed=True)) ** 2,
        lambda _given, _made, K: law.seen(K),
        lambda: float(law.moments.mean(np.ones(1))[0]),
        distance if linear else None,
    )


def lengths_pair(law: CosineLaw, steps: LineSteps, gamma: float, sides: tuple[Side, Side]) -> Pair:
    """Return the pair of Fourier features of rows as they came, whose phases are times their lengths."""
    g, blocks = math.sqrt(2.0 * gamma), law.blocks

    def mean(X: Any, Y: Any) -> Floats:
        return scaled_mean(steps, (g * row_norms(X), g * row_norms(Y)), cosines(X, Y), sides)

    def variance(X: Any, Y: Any) -> Floats:
        lengths, rho = (g * row_norms(X), g * row_norms(Y)), cosines(X, Y)
        first, twice = (scaled_mean(steps, (n * lengths[0], n * lengths[1]), rho, sides) for n in (1.0, 2.0))
        single = np.maximum((1.0 + twice) / 2.0 - first**2, 0.0)
        if blocks.lengths == "iid":
            return layout_variance(blocks, single, 0.0)
        return layout_variance(blocks, single, scaled_covariance(steps, lengths, rho, sides, blocks.dimension))

    def seen(_given: Two, made: Two, K: NDArray[Any]) -> Floats:
        left, right = made
        if not (isinstance(left, Codes) and isinstance(right, Codes)):
            need = "the error of codes with norms against full features needs raw rows on both sides"
            raise fail("Sketch", need, "Codes", "Give raw rows, or codes on both sides.")
        return _scaled_variance(steps, left, right, K, gamma)

    return Pair(mean, variance, seen, lambda: 1.0)


def products_pair(law: CosineLaw) -> Pair:
    """Return the pair of inner products: those of rows of norm 1, times the lengths."""

    def lengths(given: Two) -> Floats:
        return np.multiply.outer(*map(row_norms, given))

    def cosine(given: Two, K: NDArray[Any]) -> Floats:
        size = lengths(given)
        return np.divide(K, size, out=np.zeros(K.shape), where=size > 0.0)

    def distance(K: NDArray[Any], given: Two) -> Floats:
        x, y = map(row_norms, given)
        rho = law.cosine(cosine(given, K))
        return np.sqrt((x[:, None] - y) ** 2 + 2.0 * np.multiply.outer(x, y) * (1.0 - rho))

    return Pair(
        lambda X, Y: lengths((X, Y)) * law.moments.mean(cosines(X, Y)),
        lambda X, Y: (lengths((X, Y)) * law.std(cosines(X, Y))) ** 2,
        lambda given, _made, K: lengths(given) ** 2 * law.seen(cosine(given, K)),
        lambda: float(law.moments.mean(np.ones(1))[0]),
        distance,
        largest=lambda given: lengths(given) * law.moments.mean(np.ones(1)),
    )


def scaled_product(steps: LineSteps, left: Any, right: Any, gamma: float) -> NDArray[np.float32]:
    """Return mean_j cos(sqrt(2 gamma) (|x| p_j - |y| q_j)), float32 (n, n_y), for codes with norms or full features.

    p_j is the level's value of a code, read with the codebook of the row's own norm, a block of rows at a time.
    """
    out = np.empty((len(left), len(right)), dtype=np.float32)
    for rows, features in _feature_blocks(steps, left, gamma):
        for columns, others in _feature_blocks(steps, right, gamma):
            np.matmul(features, others.T, out=out[rows, columns])
    return out


def _scaled_variance(steps: LineSteps, left: Codes, right: Codes, K: NDArray[Any], gamma: float) -> Floats:
    """Return the variance that the spread over projections shows, taken as independent, of codes with norms.

    cos^2 = (1 + cos of twice the phase) / 2, and twice the phase is four times gamma. A few more levels may differ than
    are seen to, each by a step of the quantizer: as many as in `plausible_variance`.
    """
    second = (1.0 + scaled_product(steps, left, right, 4.0 * gamma).astype(np.float64)) / 2.0
    longest = np.maximum(norms_of(left)[:, None], norms_of(right))
    step = np.minimum(math.sqrt(2.0 * gamma) * longest * float(np.diff(steps.values).max()), math.pi)
    unseen = (PLAUSIBLE * (1.0 - np.cos(step)) / left.n_levels) ** 2
    return np.asarray(np.maximum(second - K.astype(np.float64) ** 2, 0.0) / left.n_levels + unseen)


def norms_of(codes: Codes) -> Floats:
    """Return the norms that are kept beside codes, or refuse codes without."""
    if codes.norms is None:
        remedy = "Encode with Sketch(store_norms=True), or take normalize=True."
        raise fail("Sketch", "kernels of rows as they came need the norms beside the codes", "codes without", remedy)
    return np.asarray(codes.norms, dtype=np.float64)


def _feature_blocks(steps: LineSteps, side: Any, gamma: float) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield (rows, cos and sin over sqrt k): full features as they are, codes with the codebook of each row's norm."""
    if not isinstance(side, Codes):
        yield slice(0, len(side)), side
        return
    k, g = side.n_levels, math.sqrt(2.0 * gamma)
    norms, values = norms_of(side), steps.padded(steps.values)
    step = max(1, _BLOCK_VALUES // (2 * k))
    for start in range(0, len(side), step):
        part = side[start : start + step]
        phase = g * norms[start : start + step, None] * values
        books = (np.stack([np.cos(phase), np.sin(phase)], axis=2) / math.sqrt(k)).astype(np.float32)
        features = books[np.arange(len(part))[:, None], part.levels()]
        yield slice(start, start + len(part)), features.reshape(len(part), 2 * k)


def row_norms(rows: Any) -> Floats:
    """Return the lengths of validated rows, or those that codes keep."""
    return norms_of(rows) if isinstance(rows, Codes) else np.linalg.norm(dense_rows(rows), axis=1)


def cosines(X: Any, Y: Any, directed: bool = False) -> Floats:
    """Return the cosines of validated rows, from the distances of their directions: near rows lose no digits.

    Rows of zeros have none, so where they count as of norm 1 (`directed`) they are refused.
    """
    unit = []
    for rows in (X, Y):
        dense = dense_rows(rows)
        length = np.linalg.norm(dense, axis=1, keepdims=True)
        if directed and not np.all(length > 0.0):
            need = "rows must not be all zeros where expected values and errors count them as of norm 1"
            raise fail("Sketch", need, f"row {int(np.argmin(length))}", "Leave such rows out.")
        unit.append(dense / np.where(length > 0.0, length, np.inf))
    return np.clip(1.0 - distances(unit[0], unit[1], 2.0) ** 2 / 2.0, -1.0, 1.0)
