"""Pass rows of any input through the compiled ops, as blocks of float32, never the whole at once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import is_sparse
from lowtide.codes import Codes, empty_result, empty_rows, pack_levels, row_bytes, stored_bits
from lowtide.errors import ParameterError, PrecisionWarning
from lowtide.projections import DrawnProjection
from lowtide.quantizers import DrawnQuantizer, LineSteps

# Cosine and sine: the phase itself, and a quarter of a turn earlier.
_SHIFTS = np.array([0.0, -0.25], dtype=np.float32)
_BLOCK_BYTES = 32 << 20
# Words of rows that are hashed at a time: a block that stays in the cache.
_KEYED_WORDS = 1 << 16
# A column with this |mean| / std keeps under eight bits of its signal in float32.
_LARGEST_OFFSET = 1e5
# A phase of this many turns is off by half a radian; at the other it has no fraction of a turn left.
_LARGEST_TURN, _EMPTY_TURN = 2.0**19, 2.0**24


def is_plain(X: Any, n_features: int) -> bool:
    """Return whether X is exactly what the ops take: then scikit-learn's validation, 120 us a call, is needless.

    Every op finds NaN and infinity by itself.
    """
    return type(X) is np.ndarray and X.dtype in (np.float32, np.float64) and X.ndim == 2 and X.shape[1] == n_features


def float32_blocks(X: Any, n_columns: int = 0) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield (rows, block) of a validated array or CSR matrix (n, d), with the block C-contiguous, aligned float32.

    What a caller makes of a block in `n_columns` stays below 32 MB. With 0 an array that is float32 already comes as
    one block, without a copy.
    """
    n, d = X.shape
    if (
        n_columns == 0
        and isinstance(X, np.ndarray)
        and X.dtype == np.float32
        and X.flags.c_contiguous
        and X.flags.aligned
    ):
        yield slice(0, n), X
        return
    step = max(1, _BLOCK_BYTES // (4 * max(1, d, n_columns)))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        yield rows, _to_float32(X[rows])


def _to_float32(block: Any) -> NDArray[np.float32]:
    dense = block.toarray() if is_sparse(block) else block
    with np.errstate(over="ignore"):
        rows = np.require(dense, np.float32, ("C", "A"))  # aligned too: an array may begin at any byte of a file
    if rows is not dense:
        check_within_float32(dense)
    return rows


def dense_rows(rows: Any) -> NDArray[np.float64]:
    """Return rows of an array or CSR matrix as a dense float64 array."""
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)


def not_finite() -> ParameterError:
    """Return the error for rows with missing or infinite values."""
    return ParameterError("Input X contains NaN or infinity. Replace or drop these values first.")


def out_of_range(largest: float) -> ParameterError:
    """Return the error for rows of values up to this, which float32 does not hold when projected."""
    if not math.isfinite(largest):
        return not_finite()
    return ParameterError(
        f"Rows must stay within float32 when projected, got values up to {largest:.3g}. Scale the columns first."
    )


def check_within_float32(X: Any) -> None:
    """Refuse values that float32 cannot hold; types of up to four bytes have none."""
    values = X.data if is_sparse(X) else X
    if values.dtype.itemsize <= 4 or values.size == 0:
        return
    largest = max(float(values.max()), -float(values.min()))
    if not math.isfinite(largest):
        raise not_finite()
    if largest > float(np.finfo(np.float32).max):
        raise ParameterError(
            f"Input values must fit float32, at most 3.4e38 in size, got {largest:.3g}. Scale the columns first."
        )


def encode_rows(
    X: Any,
    projection: DrawnProjection,
    offset: NDArray[np.float32],
    quantizer: DrawnQuantizer,
    packing: tuple[int, int, int],
) -> NDArray[np.uint8]:
    """Return packed levels, uint8 (n, row bytes); packing is levels per row, stored bits of each, and row bytes."""
    n_levels, bits, n_bytes = packing
    out = empty_rows(X.shape[0], n_bytes)
    arguments = (offset, quantizer.shifts, *quantizer.op_arguments, bits, n_levels)
    return _over_blocks(getattr(_core, quantizer.op), X, projection, out, *arguments)


def score_rows(
    X: Any,
    projection: DrawnProjection,
    offset: NDArray[np.float32],
    quantizer: DrawnQuantizer,
    template: Codes,
    weights: NDArray[np.float64],
    intercept: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return D w + b, float64 (n, k), of rows whose codes D would be the template's."""
    n_levels, bits, _ = template.packing
    out = np.empty((X.shape[0], len(intercept)))
    book = template.codebook.reshape(1 << bits, -1)
    columns = np.ascontiguousarray(weights.T)
    arguments = (offset, quantizer.shifts, *quantizer.op_arguments, bits, n_levels, book, columns, intercept)
    return _over_blocks(getattr(_core, quantizer.op), X, projection, out, *arguments)


def feature_rows(
    X: Any, projection: DrawnProjection, offset: NDArray[np.float32], shifts: tuple[float, ...], n_components: int
) -> NDArray[np.float32]:
    """Return sqrt(2/m) cos(2 pi (turn + shift)), float32 (n, n_components)."""
    out = empty_result((X.shape[0], n_components))
    shift = np.asarray(shifts, dtype=np.float32)
    return _over_blocks(_core.features, X, projection, out, offset, shift, math.sqrt(2.0 / n_components), n_components)


def projected_rows(X: Any, projection: DrawnProjection) -> NDArray[np.float32]:
    """Return the phases in turns without dither, not reduced to one turn, float32 (n, n_frequencies)."""
    return _over_blocks(_core.project, X, projection, np.empty((X.shape[0], projection.n_frequencies), np.float32))


def turn_rows(X: Any, projection: DrawnProjection, offset: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the phases in turns, in [0, 1), float32 (n, n_frequencies)."""
    out = empty_result((X.shape[0], projection.n_frequencies))
    return _over_blocks(_core.turns, X, projection, out, offset)


def phase_noise(turns: NDArray[np.float32], rounding: float) -> NDArray[np.float64]:
    """Return how far float32 has the phases of rows off, in radians, root mean square over frequencies, (n,).

    `turns` (n, n_frequencies) are phases in turns, `rounding` their relative error. A phase that is off by a radian
    or more says nothing, however far it is off.
    """
    off = np.minimum(2 * math.pi * rounding * np.abs(turns.astype(np.float64)), 1.0)
    return np.sqrt(np.mean(off**2, axis=1))


def sketch_rows(X: Any, projection: DrawnProjection, steps: LineSteps) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return packed levels of W'x/|x|, uint8 (n, row bytes), and the norms |x|, float32 (n,)."""
    bits, k = stored_bits(steps.bits), projection.n_frequencies
    out = empty_rows(X.shape[0], row_bytes(k, steps.bits))
    norms = np.empty(X.shape[0], dtype=np.float32)
    if steps.mirrored is None:
        for rows, block in float32_blocks(X, n_columns=max(k, X.shape[1])):
            block_norms(block, norms[rows])
            unit = np.divide(block, _divisors(norms[rows]), dtype=np.float32)
            turns = np.empty((len(block), k), dtype=np.float32)
            _run(_core.project, unit, projection, turns)
            out[rows] = pack_levels(steps.levels(turns * np.float32(2 * math.pi)), steps.bits)
        return out, norms
    # Projections come in turns, so the borders do.
    borders = (steps.mirrored / (2 * math.pi)).astype(np.float32)
    for rows, block in float32_blocks(X):
        block_norms(block, norms[rows])
        _run(_core.threshold, block, projection, norms[rows], borders, bits, out[rows])
    return out, norms


def corrected_rows(
    X: Any, projection: DrawnProjection, steps: LineSteps, prepare: Callable[[NDArray[np.float32]], NDArray[np.float32]]
) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float64]]:
    """Return what `sketch_rows` does of prepared rows, and sums of a level's value times the projection in turns.

    The steps must mirror each other.
    """
    bits, k, n = stored_bits(steps.bits), projection.n_frequencies, X.shape[0]
    packed = np.empty((n, row_bytes(k, steps.bits)), dtype=np.uint8)
    norms, products = np.empty(n, dtype=np.float32), np.empty(n)
    borders = (np.asarray(steps.mirrored, dtype=np.float64) / (2 * math.pi)).astype(np.float32)
    values = np.zeros(1 << bits, dtype=np.float32)
    values[: steps.n_levels] = steps.values
    for rows, block in float32_blocks(X, n_columns=X.shape[1]):
        prepared = prepare(block)
        block_norms(prepared, norms[rows])
        beside = (borders, bits, packed[rows], values, products[rows])
        _run(_core.threshold, prepared, projection, norms[rows], *beside)
    return packed, norms, products


def scaled_levels(X: Any, projection: DrawnProjection, steps: LineSteps, unit: float) -> NDArray[np.uint8]:
    """Return packed levels of W'x/unit by steps that mirror each other, uint8 (n, row bytes)."""
    # Projections come in turns, so the borders do.
    borders = (np.asarray(steps.mirrored, dtype=np.float64) / (2 * math.pi)).astype(np.float32)
    out = empty_rows(X.shape[0], row_bytes(projection.n_frequencies, steps.bits))
    units = np.full(X.shape[0], unit, dtype=np.float32)
    for rows, block in float32_blocks(X):
        _run(_core.threshold, block, projection, units[rows], borders, stored_bits(steps.bits), out[rows])
    return out


def linear_rows(X: Any, projection: DrawnProjection) -> NDArray[np.float32]:
    """Return W'x / (|x| sqrt k), float32 (n, k)."""
    k = projection.n_frequencies
    out = empty_result((X.shape[0], k))
    for rows, block in _unit_blocks(X):
        _core.project(block, projection.op_layout, projection.scale, out[rows])
    out *= np.float32(2 * math.pi / math.sqrt(k))
    return out


def fourier_rows(X: Any, projection: DrawnProjection, gamma: float, unit: bool = True) -> NDArray[np.float32]:
    """Return cos and sin of sqrt(2 gamma) W'x/|x| over sqrt k, interleaved, float32 (n, 2 k); of W'x where not unit."""
    k = projection.n_frequencies
    out = empty_result((X.shape[0], 2 * k))
    none = np.zeros(k, dtype=np.float32)
    scale = projection.scale * np.float32(math.sqrt(2.0 * gamma))
    for rows, block in _unit_blocks(X) if unit else float32_blocks(X):
        _core.features(block, projection.op_layout, scale, none, _SHIFTS, 1.0 / math.sqrt(k), 2 * k, out[rows])
    return out


def _unit_blocks(X: Any) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield (rows, float32 block) of rows divided by their norms; rows without length are zeros."""
    for rows, block in float32_blocks(X, n_columns=X.shape[1]):
        norms = np.empty(len(block), dtype=np.float32)
        block_norms(block, norms)
        yield rows, np.divide(block, _divisors(norms), dtype=np.float32)


def _divisors(norms: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what normalizes rows, (n, 1): lengths, or infinity for rows without."""
    return np.where(norms < np.finfo(np.float32).tiny, np.float32(np.inf), norms)[:, None]


def block_norms(block: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Write the lengths of rows; refuse those that float32 cannot hold."""
    _core.norms(block, out)
    if not np.isfinite(out).all():
        if not np.isfinite(block).all():
            raise not_finite()
        raise ParameterError(
            "Rows must have a length that float32 can hold, got a longer one. Scale the columns first."
        )


def _over_blocks(op: Callable[..., None], X: Any, projection: DrawnProjection, out: Any, *arguments: Any) -> Any:
    """Fill the rows of `out` by an op, a block at a time, and return it."""
    # Rows that come one by one would feel the way over blocks.
    if isinstance(X, np.ndarray) and X.dtype == np.float32 and X.flags.c_contiguous and X.flags.aligned:
        _run(op, X, projection, *arguments, out)
        return out
    for rows, block in float32_blocks(X):
        _run(op, block, projection, *arguments, out[rows])
    return out


def _run(op: Callable[..., None], block: NDArray[np.float32], projection: DrawnProjection, *arguments: Any) -> None:
    """Call an op on rows; refuse those that leave float32."""
    projection.check_range(block)
    try:
        op(block, projection.op_layout, projection.scale, *arguments)
    except OverflowError as error:
        raise out_of_range(float(np.abs(block).max())) from error


def row_keys_of(X: Any) -> NDArray[np.uint64]:
    """Return a hash of the numbers of each row, uint64 (n,), rounded to float32 as encoders round them."""
    n, d = X.shape
    step, keys = max(1, _KEYED_WORDS // max(1, d)), np.empty(n, dtype=np.uint64)
    for start in range(0, n, step):
        part = X[start : start + step]
        # Adding zero makes -0.0 and 0.0 one number.
        rows = (part.toarray() if is_sparse(part) else part).astype(np.float32) + np.float32(0.0)
        keys[start : start + step] = row_keys(rows)
    return keys


def row_keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a hash of the bytes of each row, uint64 (n,); bytes are a multiple of four.

    Multilinear: the upper halves of two sums of 32-bit words, each times a fixed odd number of 64 bits, modulo 2^64.
    """
    words = np.ascontiguousarray(rows).view(np.uint32)
    factors = _mixed(np.arange(1, 2 * words.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    sums = np.empty((len(words), 2), dtype=np.uint64)
    _core.row_sums(words, factors.reshape(-1, 2), sums)
    half = np.uint64(32)
    return _mixed((sums[:, 0] >> half << half) | (sums[:, 1] >> half))


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers of 64 bits with all bits mixed, one to one (the end of SplitMix64)."""
    x = numbers * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def some_rows(X: Any, n: int) -> Any:
    """Return at most n rows, evenly spread."""
    return X[:: max(1, -(-X.shape[0] // n))]


def warn_when_float32_loses_the_signal(X: Any) -> None:
    """Warn about columns whose offset is so large that float32 rounds away their variation."""
    if is_sparse(X) or X.dtype.itemsize < 4 or len(X) == 0:
        return
    some = np.asarray(some_rows(X, 2048), dtype=np.float64)
    mean, std = some.mean(axis=0), some.std(axis=0)
    suspects = np.flatnonzero(np.abs(mean) > _LARGEST_OFFSET * std)
    if not suspects.size:
        return
    # A constant column has no signal to lose, but its mean is rounded, so its standard deviation may not be 0. One that
    # is constant in the sample, such as a category that few rows have, is judged by all rows.
    whole = np.asarray(X[:, suspects], dtype=np.float64)
    mean[suspects], std[suspects] = whole.mean(axis=0), whole.std(axis=0)
    lost = suspects[(np.ptp(whole, axis=0) > 0) & (np.abs(mean) > _LARGEST_OFFSET * std)[suspects]]
    if lost.size:
        worst = lost[np.argmin(std[lost] / np.abs(mean[lost]))]
        warnings.warn(
            f"lowtide works in float32; {lost.size} column(s) vary by less than 1e-5 of their mean and lose their "
            f"signal (column {worst}: mean {mean[worst]:.6g}, standard deviation {std[worst]:.3g}). Center them first, "
            "for example with StandardScaler.",
            PrecisionWarning,
            stacklevel=4,
        )


def warn_when_phases_lose_their_fraction(turns: NDArray[np.float32]) -> None:
    """Warn when most phases, given in whole turns, are too large for float32 to tell well where in a turn they are.

    Refuse them where it cannot tell at all: features would be constant.
    """
    sizes = np.abs(turns)
    # Counting is a tenth of the work of a median, which is wanted only where there is something to say.
    if 2 * np.count_nonzero(sizes > _LARGEST_TURN) < turns.size or not turns.size:
        return
    typical = float(np.median(sizes))
    if typical > _EMPTY_TURN:
        raise ParameterError(
            f"The phases of rows must be below {_EMPTY_TURN:.2g} turns, got about {typical:.2g}: float32 has no "
            "fraction of a turn there, and all features would be equal. Center and scale the columns, or lower gamma."
        )
    if typical > _LARGEST_TURN:
        warnings.warn(
            f"The phases of these rows are about {typical:.2g} turns, so large that float32 cannot tell well where in "
            "a turn they are. Error bars of rows know it, those of codes do not. Center and scale the columns, or "
            "lower gamma.",
            PrecisionWarning,
            stacklevel=3,
        )
