"""Sum signed columns and compare: the spread of training rows, thresholds on sums, and rows to packed trits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import fail
from lowtide.codes import empty_rows, pack_levels, row_bytes
from lowtide.encoders.rows import dense_rows, float32_blocks, out_of_range
from lowtide.projections import SparseTernaryProjection
from lowtide.theory import TernaryMap

Pair = tuple[NDArray[np.int32], NDArray[np.int32]] | tuple[NDArray[np.float32], NDArray[np.float32]]

_BLOCK_ROWS = 4096
# Integer types that are summed exactly, and as what.
_EXACT = {np.bool_: np.uint8, np.uint8: np.uint8, np.int8: np.int16, np.int16: np.int16}
# Sums of more terms of 16 bits could leave 32.
_MOST_TERMS = 65535


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
        """Return the spread of the rows of an array or CSR matrix (n, n_features), block by block in float64."""
        total = cls(0.0, np.zeros(X.shape[1]), 0.0)
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            rows = dense_rows(X[block])
            weight = np.ones(len(rows)) if sample_weight is None else sample_weight[block]
            size = float(weight.sum())
            if size > 0:
                mean = weight @ rows / size
                apart = rows - mean
                total = total.merge(cls(size, mean, float(weight @ np.einsum("ij,ij->i", apart, apart))))
        return total

    def merge(self, other: Self) -> Self:
        """Return the spread of the rows of both together."""
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


class Trits(NamedTuple):
    """The trit of a sum below the lower threshold, between the two, and above the upper one."""

    below: int
    between: int
    above: int

    @classmethod
    def of(cls, sigma: TernaryMap) -> Trits:
        """Return the trits of a map: equal values have one trit."""
        return INSIDE if sigma.middle else EVEN if sigma.low == sigma.high else SIGNED


SIGNED, EVEN, INSIDE = Trits(2, 0, 1), Trits(1, 0, 1), Trits(0, 1, 0)


@dataclass(frozen=True)
class Thresholds:
    """Thresholds on sums T x of signed features, T of entries -1, 0, 1: one pair an output.

    With projections t = scale (1 - eps)^(-1/2) T (x - mean) and a map with thresholds s, t > s_plus is
    T x > s_plus (1 - eps)^(1/2) / scale + T mean: centering and scaling are in the threshold, and sums of integers stay
    integers.

    Parameters
    ----------
    upper, lower : ndarray of float64 (n_outputs,)
        A sum above upper is a plus, one below lower a minus; either may be infinite.

    Examples
    --------
    >>> import numpy as np
    >>> thresholds = Thresholds(np.array([2.5, 7.0]), np.array([-1.5, 7.0]))
    >>> thresholds.for_integers
    (array([2, 7], dtype=int32), array([-1,  7], dtype=int32))
    """

    upper: NDArray[np.float64]
    lower: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        sigma: TernaryMap,
        projection: SparseTernaryProjection,
        mean: NDArray[np.float64],
        scale: float,
        centers: NDArray[np.float64] | float = 0.0,
    ) -> Self:
        """Return the thresholds of a map on centered, scaled rows; of outputs with centers, of sigma(t - center)."""
        unit = math.sqrt(projection.density) / scale
        shift = projection.signs() @ mean
        return cls((sigma.s_plus + centers) * unit + shift, (sigma.s_minus + centers) * unit + shift)

    @cached_property
    def for_integers(self) -> Pair:
        """Rounded to integers such that no integer sum falls on another side, int32."""
        limits = np.iinfo(np.int32)
        upper = np.clip(np.floor(self.upper), limits.min, limits.max)
        lower = np.clip(np.ceil(self.lower), limits.min, limits.max)
        return upper.astype(np.int32), lower.astype(np.int32)

    @cached_property
    def for_floats(self) -> Pair:
        """Rounded to float32 such that no float32 sum falls on another side."""
        with np.errstate(over="ignore"):
            upper, lower = self.upper.astype(np.float32), self.lower.astype(np.float32)
        upper = np.where(upper > self.upper, np.nextafter(upper, np.float32(-np.inf)), upper)
        lower = np.where(lower < self.lower, np.nextafter(lower, np.float32(np.inf)), lower)
        return upper, lower


def trit_rows(
    X: Any, projection: SparseTernaryProjection, thresholds: Thresholds, trits: Trits = SIGNED
) -> NDArray[np.uint8]:
    """Return packed trits, uint8 (n, row bytes).

    Integers of up to 16 bits are summed exactly; all else is float32, summed in one fixed order. Either way a row's
    trits depend on the row alone.
    """
    out = _compared_rows(X, projection, thresholds, trits.below == trits.above)
    if trits.between:
        # The op has 0 between the thresholds and 1 outside; the bits past a row's trits stay 0.
        out ^= pack_levels(np.ones((1, projection.n_outputs), dtype=np.uint8), 2)
    return out


def _compared_rows(
    X: Any, projection: SparseTernaryProjection, thresholds: Thresholds, even: bool
) -> NDArray[np.uint8]:
    """Return packed trits: 1 above the upper threshold, 2 (1 where even) below the lower one, 0 between."""
    out = empty_rows(X.shape[0], row_bytes(projection.n_outputs, 2))
    lists = projection.lists, projection.starts, projection.chunk
    dtype = _EXACT.get(X.dtype.type) if isinstance(X, np.ndarray) else None
    if dtype is not None and projection.most_terms <= _MOST_TERMS:
        upper, lower = thresholds.for_integers
        _core.ternary_encode(np.require(X, dtype, ("C", "A")), *lists, upper, lower, even, out)
        return out
    upper, lower = thresholds.for_floats
    for rows, block in float32_blocks(X):
        largest = max(float(block.max()), -float(block.min())) if block.size else 0.0
        # Also refused where a value is missing, which compares as false.
        if not largest * max(1, projection.most_terms) <= float(np.finfo(np.float32).max):
            raise out_of_range(largest)
        _core.ternary_encode(block, *lists, upper, lower, even, out[rows])
    return out
