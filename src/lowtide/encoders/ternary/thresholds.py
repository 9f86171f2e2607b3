"""Where a sum of features turns into a plus or a minus."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lowtide.projections import SparseTernaryProjection
from lowtide.theory import TernaryMap

__all__ = ["Thresholds"]

Pair = tuple[NDArray[np.int32], NDArray[np.int32]] | tuple[NDArray[np.float32], NDArray[np.float32]]


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
        cls, sigma: TernaryMap, projection: SparseTernaryProjection, mean: NDArray[np.float64], scale: float
    ) -> Self:
        """Return those of a map on centered, scaled rows."""
        unit = math.sqrt(projection.density) / scale
        shift = projection.signs() @ mean
        return cls(sigma.s_plus * unit + shift, sigma.s_minus * unit + shift)

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
