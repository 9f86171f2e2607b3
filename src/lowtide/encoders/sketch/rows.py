"""Normalized rows to packed levels and to full features, a block at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide.codes import row_bytes, stored_bits
from lowtide.encoders.fused import run_op
from lowtide.encoders.rows import float32_blocks, not_finite
from lowtide.errors import ParameterError
from lowtide.projections import DrawnProjection
from lowtide.quantizers import LineSteps

__all__ = ["fourier_rows", "linear_rows", "sketch_rows"]

Array = NDArray[np.float32]

# Cosine and sine: the phase itself, and a quarter of a turn earlier.
_SHIFTS = np.array([0.0, -0.25], dtype=np.float32)


def sketch_rows(X: Any, projection: DrawnProjection, steps: LineSteps) -> tuple[NDArray[np.uint8], Array]:
    """Return packed levels of W'x/|x|, uint8 (n, row bytes), and the norms |x|, float32 (n,)."""
    bits = stored_bits(steps.bits)
    # Projections come in turns, so the borders do.
    borders = (steps.borders / (2 * math.pi)).astype(np.float32)
    out = np.empty((X.shape[0], row_bytes(projection.n_frequencies, steps.bits)), dtype=np.uint8)
    norms = np.empty(X.shape[0], dtype=np.float32)
    for rows, block in float32_blocks(X):
        _norms(block, norms[rows])
        run_op(_core.threshold, block, projection, norms[rows], borders, bits, out[rows])
    return out, norms


def linear_rows(X: Any, projection: DrawnProjection) -> Array:
    """Return W'x / (|x| sqrt k), float32 (n, k)."""
    k = projection.n_frequencies
    out = _core.results.empty_result((X.shape[0], k))
    for rows, block in _unit_blocks(X):
        _core.project(block, projection.layout, projection.scale, out[rows])
    out *= np.float32(2 * math.pi / math.sqrt(k))
    return out


def fourier_rows(X: Any, projection: DrawnProjection, gamma: float) -> Array:
    """Return cos and sin of sqrt(2 gamma) W'x/|x| over sqrt k, interleaved, float32 (n, 2 k)."""
    k = projection.n_frequencies
    out = _core.results.empty_result((X.shape[0], 2 * k))
    none = np.zeros(k, dtype=np.float32)
    scale = projection.scale * np.float32(math.sqrt(2.0 * gamma))
    for rows, block in _unit_blocks(X):
        _core.features(block, projection.layout, scale, none, _SHIFTS, 1.0 / math.sqrt(k), 2 * k, out[rows])
    return out


def _unit_blocks(X: Any) -> Iterator[tuple[slice, Array]]:
    """Yield (rows, float32 block) of rows divided by their norms; rows without length are zeros."""
    for rows, block in float32_blocks(X, n_columns=X.shape[1]):
        norms = np.empty(len(block), dtype=np.float32)
        _norms(block, norms)
        norms[norms < np.finfo(np.float32).tiny] = np.inf
        yield rows, np.divide(block, norms[:, None], dtype=np.float32)


def _norms(block: Array, out: Array) -> None:
    """Write the lengths of rows; refuse those that float32 cannot hold."""
    _core.norms(block, out)
    if not np.isfinite(out).all():
        if not np.isfinite(block).all():
            raise not_finite()
        raise ParameterError(
            "Rows must have a length that float32 can hold, got a longer one. Scale the columns first."
        )
