"""Rows to packed trits in one compiled pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide.codes import row_bytes
from lowtide.encoders.rows import float32_blocks, not_finite
from lowtide.encoders.ternary.thresholds import Pair, Thresholds
from lowtide.errors import ParameterError
from lowtide.projections import SparseTernaryProjection

__all__ = ["trit_rows"]

# Integer types that are summed exactly, and as what.
_EXACT = {np.bool_: np.uint8, np.uint8: np.uint8, np.int8: np.int16, np.int16: np.int16}
# Sums of more terms of 16 bits could leave 32.
_MOST_TERMS = 65535


def trit_rows(X: Any, projection: SparseTernaryProjection, thresholds: Thresholds, even: bool) -> NDArray[np.uint8]:
    """Return packed trits, uint8 (n, row bytes).

    Integers of up to 16 bits are summed exactly; all else is float32, summed in one fixed order. Either way a row's
    trits depend on the row alone.
    """
    out = np.empty((X.shape[0], row_bytes(projection.n_outputs, 2)), dtype=np.uint8)
    for rows, block, (upper, lower) in _blocks(X, projection, thresholds):
        _core.ternary_encode(
            block, projection.lists, projection.starts, projection.chunk, upper, lower, even, out[rows]
        )
    return out


def _blocks(
    X: Any, projection: SparseTernaryProjection, thresholds: Thresholds
) -> Iterator[tuple[slice, NDArray[Any], Pair]]:
    """Yield (rows, block, thresholds) of types that the op takes."""
    dtype = _EXACT.get(X.dtype.type) if isinstance(X, np.ndarray) else None
    if dtype is not None and projection.most_terms <= _MOST_TERMS:
        yield slice(0, len(X)), np.ascontiguousarray(X, dtype=dtype), thresholds.for_integers
        return
    for rows, block in float32_blocks(X):
        _check_sums(block, projection.most_terms)
        yield rows, block, thresholds.for_floats


def _check_sums(block: NDArray[np.float32], most_terms: int) -> None:
    """Refuse rows that are not finite, or whose sums might not be."""
    largest = max(float(block.max()), -float(block.min())) if block.size else 0.0
    if not np.isfinite(largest):
        raise not_finite()
    if largest * max(1, most_terms) > float(np.finfo(np.float32).max):
        raise ParameterError(
            f"Rows must stay within float32 when projected, got values up to {largest:.3g}. Scale the columns first."
        )
