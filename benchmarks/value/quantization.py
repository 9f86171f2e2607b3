"""Quantizers of coordinates as the usual libraries have them: uniform steps a column, and words of several columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

__all__ = ["Uniform", "fit_product", "fit_rotation", "fit_uniform"]

Array = NDArray[Any]
_ROTATION_ROUNDS = 20
_WORD_ROUNDS = 15


@dataclass(frozen=True, eq=False)
class Uniform:
    """Levels at equal steps between the least and the greatest value of each column."""

    least: Array
    step: Array
    n_levels: int

    @property
    def nbytes(self) -> int:
        """Bytes of the borders in float32."""
        return 4 * (self.least.size + self.step.size)

    def __call__(self, Z: Array) -> Array:
        """Return the middles of the cells that values fall into."""
        levels = np.clip(np.floor((Z - self.least) / self.step), 0, self.n_levels - 1)
        return self.least + (levels + 0.5) * self.step


def fit_uniform(Z: Array, bits: int) -> Uniform:
    """Return the scalar quantizer of the range that training rows take."""
    least, span = Z.min(axis=0), np.ptp(Z, axis=0)
    return Uniform(least, np.where(span > 0.0, span, 1.0) / 2**bits, 2**bits)


def fit_product(Z: Array, n_words: int, seed: int) -> tuple[Callable[[Array], Array], int]:
    """Return faiss's product quantizer, a byte a word, as a function to decoded rows, and its bytes."""
    import faiss

    quantizer = faiss.ProductQuantizer(Z.shape[1], n_words, 8)
    quantizer.cp.niter, quantizer.cp.seed = _WORD_ROUNDS, seed
    # It asks for 39 rows a word, more than there are; it works with fewer.
    quantizer.cp.min_points_per_centroid = 1
    # Its threads wait for each other by turning in a loop: with words this small, and others at work, for minutes.
    with threadpool_limits(1, user_api="openmp"):
        quantizer.train(np.ascontiguousarray(Z, dtype=np.float32))

    def decoded(rows: Array) -> Array:
        with threadpool_limits(1, user_api="openmp"):
            return quantizer.decode(quantizer.compute_codes(np.ascontiguousarray(rows, dtype=np.float32)))

    return decoded, 4 * 256 * Z.shape[1]


def fit_rotation(Z: Array, seed: int) -> Array:
    """Return the rotation of iterative quantization: it brings coordinates near to their signs.

    Gong and Lazebnik, "Iterative quantization: a procrustean approach to learning binary codes" (2011).
    """
    width = Z.shape[1]
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((width, width)))[0]
    for _ in range(_ROTATION_ROUNDS):
        left, _, right = np.linalg.svd(np.sign(Z @ rotation).T @ Z)
        rotation = right.T @ left.T
    return rotation
