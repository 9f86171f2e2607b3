"""From rows to codes or features in one compiled pass a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide.codes import row_bytes, stored_bits
from lowtide.encoders.rows import float32_blocks, not_finite
from lowtide.errors import ParameterError
from lowtide.projections import DrawnProjection
from lowtide.quantizers import DrawnQuantizer

__all__ = ["encode_rows", "feature_rows", "projected_rows", "run_op", "turn_rows"]


def encode_rows(
    X: Any, projection: DrawnProjection, offset: NDArray[np.float32], quantizer: DrawnQuantizer, n_levels: int
) -> NDArray[np.uint8]:
    """Return packed levels, uint8 (n, row bytes); only rows that are not float32 are copied, in blocks."""
    if quantizer.bits is None:
        raise TypeError("encode_rows needs a quantizer with levels")
    bits = stored_bits(quantizer.bits)
    op = getattr(_core, quantizer.op)
    out = np.empty((X.shape[0], row_bytes(n_levels, quantizer.bits)), dtype=np.uint8)
    for rows, block in float32_blocks(X):
        arguments = (offset, quantizer.shifts, *quantizer.op_arguments, bits, n_levels)
        run_op(op, block, projection, *arguments, out[rows])
    return out


def feature_rows(
    X: Any, projection: DrawnProjection, offset: NDArray[np.float32], shifts: tuple[float, ...], n_components: int
) -> NDArray[np.float32]:
    """Return sqrt(2/m) cos(2 pi (turn + shift)), float32 (n, n_components)."""
    amplitude = float(np.sqrt(2.0 / n_components))
    out = _core.results.empty_result((X.shape[0], n_components))
    shift = np.asarray(shifts, dtype=np.float32)
    for rows, block in float32_blocks(X):
        run_op(_core.features, block, projection, offset, shift, amplitude, n_components, out[rows])
    return out


def projected_rows(X: Any, projection: DrawnProjection) -> NDArray[np.float32]:
    """Return the phases in turns without dither, not reduced to one turn, float32 (n, n_frequencies)."""
    out = _core.results.empty_result((X.shape[0], projection.n_frequencies))
    for rows, block in float32_blocks(X):
        run_op(_core.project, block, projection, out[rows])
    return out


def turn_rows(X: Any, projection: DrawnProjection, offset: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the phases in turns, in [0, 1), float32 (n, n_frequencies)."""
    out = _core.results.empty_result((X.shape[0], projection.n_frequencies))
    for rows, block in float32_blocks(X):
        run_op(_core.turns, block, projection, offset, out[rows])
    return out


def run_op(op: Callable[..., None], block: NDArray[np.float32], projection: DrawnProjection, *arguments: Any) -> None:
    """Call an op on rows; refuse those that leave float32."""
    projection.check_range(block)
    try:
        op(block, projection.layout, projection.scale, *arguments)
    except OverflowError as error:
        largest = float(np.abs(block).max())
        if not np.isfinite(largest):
            raise not_finite() from error
        raise ParameterError(
            f"Rows must stay within float32 when projected, got values up to {largest:.3g}. Scale the columns first."
        ) from error
