"""Frequencies kept as a matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import ParameterError
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
        """Return X W in turns, written into the buffer; refuse rows that leave float32."""
        with np.errstate(over="ignore", invalid="ignore"):
            out = np.matmul(X, self.matrix, out=buffer[: len(X)])
        # No value is larger than the norm of all, and nearly always that is too small to overflow: then the product need
        # not be read again. What is not finite compares as false.
        if not 2.0 * math.sqrt(np.vdot(X, X)) < self._largest_safe and not np.isfinite(out).all():
            raise ParameterError(
                f"Rows must stay within float32 when projected, got values up to {np.abs(X).max():.3g}. "
                "Scale the columns first."
            )
        return out

    @cached_property
    def _largest_safe(self) -> float:
        """Size of values whose sum over any column of W stays within float32."""
        column = float(np.abs(self.matrix).sum(axis=0, dtype=np.float64).max())
        return float(np.finfo(np.float32).max) / max(column, 1.0)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the matrix."""
        return {"matrix": self.matrix}

    def weights(self) -> NDArray[np.float32]:
        """Return the angular frequencies."""
        return self.matrix * np.float32(2 * math.pi)
