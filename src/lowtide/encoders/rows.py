"""Rows of any input as blocks of float32, never the whole at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from lowtide.errors import ParameterError

__all__ = ["check_weight", "check_within_float32", "float32_blocks", "not_finite"]

_BLOCK_BYTES = 32 << 20


def float32_blocks(X: Any, n_columns: int = 0) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield (rows, block) with the block C-contiguous float32.

    Parameters
    ----------
    X : array or CSR matrix (n, d), validated
    n_columns : int, default=0
        Columns of what a caller makes of a block; blocks keep it below 32 MB. With 0 an array that is float32 already
        comes as one block, without a copy.
    """
    n, d = X.shape
    if n_columns == 0 and isinstance(X, np.ndarray) and X.dtype == np.float32 and X.flags.c_contiguous:
        yield slice(0, n), X
        return
    step = _block_rows(max(d, n_columns))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        yield rows, _to_float32(X[rows])


def _block_rows(n_columns: int) -> int:
    """Return how many rows of float32 columns fit a block."""
    return max(1, _BLOCK_BYTES // (4 * max(1, n_columns)))


def _to_float32(block: Any) -> NDArray[np.float32]:
    dense = block.toarray() if sparse.issparse(block) else block
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(dense, dtype=np.float32)
    if rows is not dense:
        check_within_float32(dense)
    return rows


def not_finite() -> ParameterError:
    """Return the error for rows with missing or infinite values."""
    return ParameterError("Input X contains NaN or infinity. Replace or drop these values first.")


def check_weight(sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
    """Return weights of the rows in float64, None where there are none; refuse negative ones."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(weight)


def check_within_float32(X: Any) -> None:
    """Refuse values that float32 cannot hold; types of up to four bytes have none."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.itemsize <= 4 or values.size == 0:
        return
    largest = max(float(values.max()), -float(values.min()))
    if not math.isfinite(largest):
        raise not_finite()
    if largest > float(np.finfo(np.float32).max):
        raise ParameterError(
            f"Input values must fit float32, at most 3.4e38 in size, got {largest:.3g}. Scale the columns first."
        )
