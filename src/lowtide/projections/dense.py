"""Frequencies kept as a matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowtide.projections.base import Blocks

__all__ = ["DenseProjection"]


@dataclass(frozen=True)
class DenseProjection:
    """W as float32, in turns: 4 n_features n_frequencies bytes. A row's phases depend on the batch through BLAS."""

    matrix: NDArray[np.float32]
    blocks: Blocks

    signs: ClassVar[None] = None

    @classmethod
    def of(cls, frequencies: NDArray[np.float64], blocks: Blocks) -> DenseProjection:
        """Return the projection of angular frequencies in columns."""
        return cls(np.ascontiguousarray(frequencies / (2 * math.pi), dtype=np.float32), blocks)

    @property
    def n_features(self) -> int:
        """Input columns."""
        return int(self.matrix.shape[0])

    @property
    def n_frequencies(self) -> int:
        """Columns of W."""
        return int(self.matrix.shape[1])

    @property
    def scale(self) -> NDArray[np.float32]:
        """Ones: the matrix is in turns already."""
        return np.ones(self.n_frequencies, dtype=np.float32)

    def project(self, X: NDArray[np.float32], buffer: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return X W in turns, written into the buffer."""
        return np.matmul(X, self.matrix, out=buffer[: len(X)])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the matrix."""
        return {"matrix": self.matrix}

    def weights(self) -> NDArray[np.float32]:
        """Return the angular frequencies."""
        return self.matrix * np.float32(2 * math.pi)
