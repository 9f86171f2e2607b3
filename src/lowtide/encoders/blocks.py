"""Blocks of a kernel's measure: how many frequencies each gets, and features and codes of all in few passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option
from lowtide.codes import pack_levels, row_bytes, stored_bits, unpack_levels
from lowtide.encoders.rows import encode_rows, feature_rows, projected_rows
from lowtide.kernels import MeasureBlock, MeasureKernel
from lowtide.projections import Blocks, DenseProjection, DrawnProjection, Iid, Projection
from lowtide.quantizers import DrawnQuantizer
from lowtide.theory import block_variance, measure_blocks

_SHIFTS = (0.0, -0.25)


def allocate(blocks: tuple[MeasureBlock, ...], n_frequencies: int, rule: str) -> tuple[int, ...]:
    """Return frequencies a block, at least one each: equally many, or as many as its mass is worth.

    Far away a block's variance is M^2/2 over its frequencies, which frequencies in proportion to M make least.
    """
    check_option("AsymmetricFeatures", "allocation", rule, ("equal", "optimal"))
    masses = np.array([block.mass for block in blocks])
    wish = masses / masses.sum() if rule == "optimal" else np.full(len(blocks), 1.0 / len(blocks))
    spare = max(n_frequencies - len(blocks), 0)
    # One each, and the rest by largest remainder, so that the counts add up; heavier blocks win ties.
    share = np.maximum(wish * max(n_frequencies, len(blocks)) - 1.0, 0.0)
    share *= spare / share.sum() if spare else 0.0
    counts = 1 + np.floor(share + 1e-9).astype(int)
    left = max(n_frequencies, len(blocks)) - int(counts.sum())
    order = np.lexsort((-masses, -np.round(share - np.floor(share + 1e-9), 9)))
    counts[order[:left]] += 1
    return tuple(int(count) for count in counts)


def choose_form(kernel: MeasureKernel, rows: NDArray[np.float64], n_frequencies: int, rule: str) -> str:
    """Return the form of less mean variance over pairs of rows, in closed form; blocks where there is no choice."""
    d = rows.shape[1]
    if kernel.phase_measure(d) is None:
        return "blocks"
    difference = (rows[:, None] - rows[None]).reshape(-1, d)
    mean = {}
    for form in ("blocks", "phase"):
        blocks = measure_blocks(kernel, d, form)
        counts = allocate(blocks, n_frequencies, rule)
        mean[form] = sum(float(block_variance(b, difference).mean()) / p for b, p in zip(blocks, counts))
    return "phase" if mean["phase"] < mean["blocks"] else "blocks"


def block_layout(block: MeasureBlock, wish: Projection) -> Projection:
    """Return the layout that is wished for where the block's law can be laid out so, else independent draws."""
    return wish if block.frequencies.law in wish.laws else Iid()


@dataclass(frozen=True)
class SideBySide:
    """Projections one after the other, dense neighbors as one matrix, and how many columns each has."""

    projections: tuple[DrawnProjection, ...]
    n_columns: tuple[int, ...]

    @classmethod
    def of(cls, drawn: list[DrawnProjection], n_features_out: int) -> SideBySide:
        """Return the parts of drawn blocks; the last has one column less where a sine was dropped."""
        merged: list[DrawnProjection] = []
        for projection in drawn:
            last = merged[-1] if merged else None
            if isinstance(projection, DenseProjection) and isinstance(last, DenseProjection):
                matrix = np.ascontiguousarray(np.hstack([last.matrix, projection.matrix]))
                sizes = (1,) * matrix.shape[1]
                merged[-1] = DenseProjection(matrix, Blocks("iid", matrix.shape[0], sizes))
            else:
                merged.append(projection)
        columns = [2 * projection.n_frequencies for projection in merged]
        columns[-1] -= sum(columns) - n_features_out
        return cls(tuple(merged), tuple(columns))

    def _offsets(self, offset: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        parts = np.split(offset, np.cumsum([p.n_frequencies for p in self.projections])[:-1])
        return [np.ascontiguousarray(part) for part in parts]

    def features(self, rows: Any, offset: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return cosine and sine of every phase times the scale of its column, float32 (n, n_features_out)."""
        parts = zip(self.projections, self._offsets(offset), self.n_columns)
        pieces = [feature_rows(rows, projection, own, _SHIFTS, n) for projection, own, n in parts]
        amplitude = np.repeat(np.sqrt(2.0 / np.array(self.n_columns)), self.n_columns)
        out = pieces[0] if len(pieces) == 1 else np.hstack(pieces)
        out *= (scale / amplitude).astype(np.float32)
        return out

    def encode(
        self, rows: Any, offset: NDArray[np.float32], quantizer: DrawnQuantizer, per_level: int
    ) -> NDArray[np.uint8]:
        """Return packed levels of every phase, uint8 (n, row bytes)."""
        levels, bits = [n // per_level for n in self.n_columns], quantizer.bits or 1
        parts = zip(self.projections, self._offsets(offset), levels)
        packed = [
            encode_rows(rows, projection, own, quantizer, (n, stored_bits(bits), row_bytes(n, bits)))
            for projection, own, n in parts
        ]
        return packed[0] if len(packed) == 1 else _joined(packed, levels, bits)

    def phases(self, rows: Any) -> NDArray[np.float32]:
        """Return phases in turns without dither, (n, n_frequencies)."""
        return np.hstack([projected_rows(rows, projection) for projection in self.projections])


def _joined(packed: list[NDArray[np.uint8]], n_levels: list[int], bits: int) -> NDArray[np.uint8]:
    """Return rows of packed levels side by side: whole bytes as they are, others by unpacking."""
    stored, total = stored_bits(bits), sum(n_levels)
    if any(n * stored % 8 for n in n_levels[:-1]):
        return pack_levels(np.hstack([unpack_levels(p, bits, n) for p, n in zip(packed, n_levels)]), bits)
    out = np.zeros((len(packed[0]), row_bytes(total, bits)), dtype=np.uint8)
    start = 0
    for rows, n in zip(packed, n_levels):
        size = -(-n * stored // 8)
        out[:, start : start + size] = rows[:, :size]
        start += size
    return out
