"""Mean of rows and their mean squared distance from it, streamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lowtide._checks import fail

__all__ = ["Spread"]

_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Spread:
    """Weighted mean of rows, and sum of squared distances from it: all that ternary features learn of the data.

    Two of them merge into that of all rows together, so blocks, files and machines can each make their own.

    Parameters
    ----------
    weight : float
        Sum of the weights, the number of rows where they have none.
    mean : ndarray of float64 (n_features,)
    square : float
        Sum of weight |x - mean|^2.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [2, 0], [1, 3]], dtype=np.uint8)
    >>> parts = Spread.of(X[:2]).merge(Spread.of(X[2:]))
    >>> parts.mean, parts.per_row == Spread.of(X).per_row
    (array([1., 1.]), True)
    """

    weight: float
    mean: NDArray[np.float64]
    square: float

    @classmethod
    def of(cls, X: Any, sample_weight: NDArray[np.float64] | None = None) -> Self:
        """Return that of the rows of an array or CSR matrix (n, n_features), block by block in float64."""
        total = cls(0.0, np.zeros(X.shape[1]), 0.0)
        for rows, weight in _blocks(X, sample_weight):
            size = float(weight.sum())
            if size > 0:
                mean = weight @ rows / size
                rows -= mean
                total = total.merge(cls(size, mean, float(weight @ np.einsum("ij,ij->i", rows, rows))))
        return total

    def merge(self, other: Self) -> Self:
        """Return that of the rows of both."""
        if self.mean.shape != other.mean.shape:
            raise fail("Spread", f"both must have {len(self.mean)} columns", len(other.mean))
        weight = self.weight + other.weight
        if weight == 0:
            return self
        apart = other.mean - self.mean
        square = self.square + other.square + float(apart @ apart) * self.weight * other.weight / weight
        return type(self)(weight, self.mean + apart * (other.weight / weight), square)

    @property
    def per_row(self) -> float:
        """Mean squared distance of a row from the mean."""
        return self.square / self.weight if self.weight > 0 else 0.0


def _blocks(
    X: Any, sample_weight: NDArray[np.float64] | None
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield rows as float64 of their own, with their weights."""
    for start in range(0, X.shape[0], _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS]
        rows = np.array(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
        yield rows, np.ones(len(rows)) if sample_weight is None else sample_weight[start : start + _BLOCK_ROWS]
