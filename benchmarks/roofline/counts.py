"""Vector instructions that the ops cannot do without, from their files in `cpp/lowtide/ops`, from AVX2 on.

Loads and stores are not counted (they have ports of their own), nor is what runs once a row: a count is a lower bound,
and the rate that follows from it an upper one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from lowtide import _core

__all__ = ["Counts"]

Work = dict[str, float]


@dataclass(frozen=True)
class Counts:
    """Work of the ops at one instruction-set level, as amounts by name of the limit.

    Attributes
    ----------
    lanes : int
        float32 values in a register.
    bit, level, cosine : float
        Instructions for one 1-bit level of a phase, one 4-bit level by borders on the line, one float32 feature.
    """

    isa: str
    lanes: int
    bit: float
    level: float
    cosine: float

    LEVELS: ClassVar[dict[str, tuple[int, float, float, float]]] = {
        "avx2": (8, 14 / 16, 14 / 8, 15 / 8),
        "avx512": (16, 14 / 32, 13 / 16, 15 / 16),
        "vbmi": (16, 14 / 32, 13 / 16, 15 / 16),
        "amx": (16, 14 / 32, 13 / 16, 15 / 16),
    }

    @classmethod
    def in_force(cls) -> Counts:
        """Return the counts of the level that lowtide uses now."""
        return cls(_core.isa(), *cls.LEVELS[_core.isa()])

    @property
    def wide(self) -> bool:
        """Whether registers have 64 bytes."""
        return self.lanes == 16

    @property
    def counts_bits(self) -> bool:
        """Whether an instruction counts the ones of a register."""
        return self.isa in ("vbmi", "amx")

    def hadamard(self, dim: int, n_frequencies: int) -> Work:
        """Return the work of one row: whole blocks, then one of which only the first frequencies are used."""
        whole, rest = divmod(n_frequencies, dim)
        kept = [dim] * whole + ([1 << (rest - 1).bit_length()] if rest else [])
        additions = sum(self._additions(dim, keep) for keep in kept)
        # Neighbors are swapped once, for the rotation between the first two rounds, which run no stage of stride 1.
        shuffles = sum((2 * dim + keep) * math.log2(self.lanes) - dim for keep in kept)
        # Two of the rotation and a sign.
        products = len(kept) * 3.0 * dim
        return {"additions": additions, "vector": (additions + shuffles + products) / self.lanes}

    @staticmethod
    def _additions(dim: int, keep: int) -> float:
        """Two rounds with a rotation in place of their stages of stride 1; of the third, sums alone until `keep` values
        are left, then a round of those.
        """
        return 2 * dim * (math.log2(dim) - 1) + dim + (dim - keep) + keep * math.log2(keep)

    def common_ones(self, pairs: float) -> Work:
        """Return the work of `pairs` pairs of bits in `dot` and `gram`.

        And, count, add of 512 bits; where bits are not counted, four bits are looked up for as many pairs as a register
        has bytes.
        """
        if self.counts_bits:
            return {"popcount": pairs, "vector": pairs * 3 / 512}
        return {"vector": pairs * 2 / (16 * self.lanes)}

    def gram_levels(self, pairs: float) -> Work:
        """Return the work of pairs of decoded levels: a multiply-add, or six products of digits in tiles of bytes."""
        return {"tiles": 6 * pairs} if self.isa == "amx" else {"sgemm": 2 * pairs}

    def gram_trits(self, pairs: float) -> Work:
        """Return the work of `pairs` pairs of trits: six instructions for 512; else two rows are looked up at once."""
        if self.counts_bits:
            return {"popcount": 2 * pairs, "vector": pairs * 6 / 512}
        return {"vector": pairs * 2 / (8 * self.lanes)}

    def look_ups(self, entries: float, n_columns: int) -> Work:
        """Return the work of a product of `entries` 1-bit features with columns.

        Four features are one look-up of 16 rows and one addition a column, and one shift for all columns. AVX2: six
        instructions for eight rows of one column; for more, a load and an addition of eight columns at a time.
        """
        if self.wide:
            return {"vector": entries * (2 * n_columns + 1) / 64}
        if n_columns == 1:
            return {"vector": entries * 6 / 32}
        vectors = math.ceil(n_columns / 8)
        return {"L1": entries * vectors * 8, "vector": entries * vectors / 4}

    def transposed_bits(self, bits: float) -> Work:
        """Return the work of rows of bits to columns, 4096 at a time."""
        return {"vector": bits * (120 if self.wide else 500) / 4096}

    def scanned(self, bits: float, run: int) -> Work:
        """Return the work of `bits` bits of rows for a query each: for a byte of a vector of rows, two look-ups and
        two additions, three instructions shared by 8 queries (AVX2: 2), and three every `run` bytes.
        """
        rows, shared = (64, 8) if self.wide else (32, 2)
        return {"vector": bits / 8 * (4 + 3 / shared + 3 / run) / rows}
