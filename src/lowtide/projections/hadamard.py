"""Orthogonal blocks from signs and fast Walsh-Hadamard transforms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import fail
from lowtide.kernels import Frequencies
from lowtide.projections.base import Blocks, Projection, block_sizes, kept_array

# Blocks of 8 bias the kernel by up to 0.17, blocks of 64 by less than 60,000 draws can see.
_SMALLEST_BLOCK = 64
_ROUNDS = 3


@dataclass(eq=False, repr=False)
class Hadamard(Projection):
    """Blocks H S3 H S2 H S1 of random signs S and Walsh-Hadamard matrices H, with the kernel's lengths.

    W is never stored: a block of D = 2^k >= max(d, 64) frequencies costs 3 D log2 D additions a row and keeps 3 D signs
    and D lengths. Rows are padded with zeros to D, which is sound for Gaussian mixtures. The transform is float32 in
    one fixed order, so a row's bits depend neither on the batch nor on threads or instruction set.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> drawn = Hadamard().draw(Gaussian(), 100, 200, np.random.default_rng(0))
    >>> drawn.blocks.dimension, drawn.blocks.sizes
    (128, (128, 72))
    """

    laws: ClassVar[frozenset[str]] = frozenset({"gaussian_mixture"})

    def lay_out(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, rng: np.random.Generator
    ) -> HadamardProjection:
        """Draw signs and lengths."""
        blocks = _blocks(n_features, n_frequencies)
        minus = rng.integers(0, 2, (len(blocks.sizes), _ROUNDS, blocks.dimension), dtype=np.int8)
        lengths = kernel.length_quantile(rng.random(n_frequencies), blocks.dimension)
        scale = _portable(lengths * blocks.dimension ** (-_ROUNDS / 2) / (2 * math.pi))
        return HadamardProjection(n_features, (1 - 2 * minus).astype(np.float32), scale, blocks)

    def from_arrays(self, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]) -> HadamardProjection:
        """Return the blocks of kept signs, as bits, and scales."""
        # The scales bound the number of frequencies by the size of the file, before a block is made for each.
        scale = kept_array("Hadamard", arrays, "scale", (n_frequencies,))
        blocks = _blocks(n_features, n_frequencies)
        packed, n_bytes = arrays["signs"], len(blocks.sizes) * _ROUNDS * blocks.dimension // 8
        if packed.dtype != np.uint8 or packed.shape != (n_bytes,):
            raise fail("Hadamard", f"signs must be {n_bytes} bytes", f"{packed.dtype} {packed.shape}")
        minus = np.unpackbits(packed, bitorder="little").reshape(-1, _ROUNDS, blocks.dimension)
        return HadamardProjection(n_features, 1 - 2 * minus.astype(np.float32), scale, blocks)


@dataclass(frozen=True)
class HadamardProjection:
    """Drawn signs and lengths, 3 bits and 4 bytes a frequency, in blocks of the padded dimension."""

    n_features: int
    signs: NDArray[np.float32]
    scale: NDArray[np.float32]
    blocks: Blocks

    @property
    def n_frequencies(self) -> int:
        """One a length."""
        return len(self.scale)

    @property
    def row_cost(self) -> int:
        """Of each block, log2 D additions and a sign a value and round; a multiplication a frequency."""
        n_blocks, n_rounds, dimension = self.signs.shape
        return n_blocks * n_rounds * dimension * dimension.bit_length() + self.n_frequencies

    @property
    def rounding(self) -> float:
        """Relative error of three transforms: measured, 1.3 to 2.5 roundings from 1 to 1000 columns."""
        return 2.5 * 2.0**-24

    @property
    def layout(self) -> NDArray[np.float32]:
        """The signs."""
        return self.signs

    def check_range(self, X: NDArray[np.float32]) -> None:
        """Leave it to the ops: a sum that overflows spreads to every output, and they look at one."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the signs as bits, 1 for minus, and the scales."""
        return {"signs": np.packbits(self.signs < 0, bitorder="little"), "scale": self.scale}

    def weights(self) -> NDArray[np.float32]:
        """Return W by projecting the unit vectors."""
        identity = np.eye(self.n_features, dtype=np.float32)
        out = np.empty((self.n_features, self.n_frequencies), dtype=np.float32)
        _core.project(identity, self.signs, self.scale, out)
        return out * np.float32(2 * math.pi)


def _blocks(n_features: int, n_frequencies: int) -> Blocks:
    """Return blocks of the power of two that holds a row."""
    dimension = max(_SMALLEST_BLOCK, 1 << (n_features - 1).bit_length())
    return Blocks("free", dimension, block_sizes(dimension, n_frequencies))


def _portable(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Round to 16 significant bits: quantile functions differ in their last digits between machines."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(mantissa * 65536) / 65536, exponent).astype(np.float32)
