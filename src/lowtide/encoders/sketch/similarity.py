"""From products of two sketched sides to cosines, and products of rows with norms of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.codes import Codes
from lowtide.projections import Blocks
from lowtide.quantizers import normal_steps
from lowtide.theory import cosine_moments, layout_variance

__all__ = ["CosineCurve", "product", "scaled_fourier_product"]

Floats = NDArray[np.float64]

# Angles at which the mean of a product is tabulated; between them it is as good as straight.
_NODES = 4097
_BLOCK_VALUES = 1 << 21


class CosineCurve:
    """Mean m(rho) and standard error of a product of two sides, over the cosine, and the inverse of the mean.

    Parameters
    ----------
    bits : int
    blocks : Blocks
        How the projections depend on each other.
    sides : pair of {"codes", "full"}
    """

    def __init__(self, bits: int, blocks: Blocks, sides: tuple[str, str]) -> None:
        self.sides = sides
        # The mean bends sharply only near rho = 1 and -1, where equal steps of the angle are short steps of rho.
        rho = np.cos(np.linspace(math.pi, 0.0, _NODES))
        moments = cosine_moments(bits, sides)
        covariance = moments.covariance(rho, blocks.dimension) if blocks.lengths != "iid" else 0.0
        self._rho, self._mean = rho, moments.mean(rho)
        self._product_std = np.sqrt(layout_variance(blocks, moments.variance(rho), covariance))

    def cosine(self, products: NDArray[Any]) -> Floats:
        """Return the cosines at which the mean has these values, from -1 to 1."""
        return np.asarray(np.interp(products, self._mean, self._rho))

    def std(self, cosine: Floats) -> Floats:
        """Return how far the cosine moves when the product moves by its standard error, up or down."""
        mean, sigma = (np.interp(cosine, self._rho, values) for values in (self._mean, self._product_std))
        if "full" in self.sides:
            return np.asarray(sigma)  # the mean is the cosine itself
        down, up = cosine - self.cosine(mean - sigma), self.cosine(mean + sigma) - cosine
        # At the ends the cosine can move one way only.
        return np.asarray(np.where(np.abs(mean) + sigma < self._mean[-1], (down + up) / 2, np.maximum(down, up)))


def product(left: Any, right: Any) -> NDArray[np.float32]:
    """Return left right' whichever of the two is packed."""
    if isinstance(left, Codes):
        return left.dot(right) if isinstance(right, Codes) else left @ np.ascontiguousarray(right.T)
    if isinstance(right, Codes):
        return np.ascontiguousarray((right @ np.ascontiguousarray(left.T)).T)
    return np.asarray(left @ right.T)


def scaled_fourier_product(left: Codes, right: Codes, gamma: float) -> NDArray[np.float32]:
    """Return mean_j cos(sqrt(2 gamma) (|x| mu_xj - |y| mu_yj)), float32 (n, n_y), a block of features at a time."""
    out = np.empty((len(left), len(right)), dtype=np.float32)
    for rows, features in _feature_blocks(left, gamma):
        for columns, others in _feature_blocks(right, gamma):
            np.matmul(features, others.T, out=out[rows, columns])
    return out


def _feature_blocks(codes: Codes, gamma: float) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield (rows, cos and sin over sqrt k), each row with the codebook of its own norm."""
    k, g = codes.n_levels, math.sqrt(2.0 * gamma)
    values = normal_steps(codes.bits).values
    step = max(1, _BLOCK_VALUES // (2 * k))
    for start in range(0, len(codes), step):
        part = codes[start : start + step]
        phase = g * np.asarray(part.norms, dtype=np.float64)[:, None] * values
        books = (np.stack([np.cos(phase), np.sin(phase)], axis=2) / math.sqrt(k)).astype(np.float32)
        levels = part.levels()
        features = books[np.arange(len(part))[:, None], levels]
        yield slice(start, start + len(part)), features.reshape(len(part), 2 * k)
