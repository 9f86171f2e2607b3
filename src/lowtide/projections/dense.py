"""Frequencies kept as a matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import ParameterError
from lowtide.projections.base import Blocks

__all__ = ["DenseProjection"]

_PANEL = 16


@dataclass(frozen=True)
class DenseProjection:
    """W as float32, in turns: 4 n_features n_frequencies bytes, and as much again in panels once rows are projected."""

    matrix: NDArray[np.float32]
    blocks: Blocks

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

    @property
    def row_cost(self) -> int:
        """A multiplication and an addition an entry of W."""
        return 2 * self.matrix.size

    @cached_property
    def layout(self) -> NDArray[np.float32]:
        """W in panels of 16 columns, (n_panels, n_features, 16), the last filled up with zeros; made once."""
        d, p = self.matrix.shape
        n_panels = -(-p // _PANEL)
        filled = np.zeros((d, n_panels * _PANEL), dtype=np.float32)
        filled[:, :p] = self.matrix
        return np.ascontiguousarray(filled.reshape(d, n_panels, _PANEL).transpose(1, 0, 2))

    def check_range(self, X: NDArray[np.float32]) -> None:
        """Refuse rows with a projection that leaves float32."""
        with np.errstate(over="ignore", invalid="ignore"):
            # No value is larger than the norm of all, and nearly always that is too small to overflow. What is not
            # finite compares as false.
            if 2.0 * math.sqrt(np.vdot(X, X)) < self._largest_safe or not np.isfinite(X).all():
                return
            overflows = not np.isfinite(X @ self.matrix).all()
        if overflows:
            raise ParameterError(
                f"Rows must stay within float32 when projected, got values up to {np.abs(X).max():.3g}. "
                "Scale the columns first."
            )

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
