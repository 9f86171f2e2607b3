"""Orthogonal blocks from signs, rotations of pairs and fast Walsh-Hadamard transforms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide.kernels import Frequencies
from lowtide.projections.base import (
    Blocks,
    DenseProjection,
    DrawnProjection,
    Projection,
    block_sizes,
    check_values,
    kept_array,
    kept_bytes,
    kept_places,
)

# Blocks of 32 are biased by up to 0.001 and have up to 1.17 times the variance of independent frequencies far away;
# blocks of 64 by 0.00015, and 1.01 times.
_SMALLEST_BLOCK = 64
# cos((k + 1/2) / 256 turns), k = 0 .. 63, as literals: no mathematical library has a say in the bits of a code. Read
# from the end they are the sines. None is 0, so what is infinite stays infinite under a rotation.
# fmt: off
_COSINES = np.array(
    [
        0.9999247, 0.99932235, 0.9981181, 0.9963126, 0.993907, 0.99090266, 0.9873014, 0.9831055,
        0.9783174, 0.97293997, 0.96697646, 0.9604305, 0.953306, 0.9456073, 0.937339, 0.9285061,
        0.9191139, 0.909168, 0.8986745, 0.88763964, 0.8760701, 0.86397284, 0.8513552, 0.8382247,
        0.8245893, 0.81045717, 0.7958369, 0.7807372, 0.76516724, 0.7491364, 0.7326543, 0.71573085,
        0.69837624, 0.680601, 0.6624158, 0.64383155, 0.6248595, 0.60551107, 0.58579785, 0.5657318,
        0.545325, 0.52458966, 0.50353837, 0.48218378, 0.46053872, 0.43861625, 0.41642955, 0.39399204,
        0.3713172, 0.34841868, 0.3253103, 0.30200595, 0.2785197, 0.25486565, 0.2310581, 0.20711137,
        0.18303989, 0.15885815, 0.1345807, 0.110222206, 0.08579731, 0.061320737, 0.036807224, 0.012271538,
    ],
    dtype=np.float32,
)
# fmt: on


@dataclass(eq=False, repr=False)
class Hadamard(Projection):
    """Blocks H S3 H R H S1 of Walsh-Hadamard matrices H, random signs S and rotations R, with the kernel's lengths.

    R turns each pair of neighbors by an angle of its own, one of 256 around the circle. Signs alone would leave the
    projections of a difference along one axis on a lattice, where estimates of the kernel are biased by up to 0.11.
    With the angles a bias of order 1/D^2 is left, at most 0.00015 for D = 64: no standard error shows it.

    W is never stored: a block of D = 2^k >= max(d, 64) frequencies costs 3 D log2 D additions and 2 D products a row
    and keeps 2 D signs, D/2 angles and D lengths. Rows are padded with zeros to D, which is sound for Gaussian
    mixtures. The transform is float32 in one fixed order, so a row's bits depend neither on the batch nor on threads or
    instruction set.

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
        """Draw signs, angles and lengths."""
        # Each from a stream of its own: a frequency does not depend on how many follow it.
        for_signs, for_angles, for_lengths = rng.spawn(3)
        blocks = self.blocks_of(n_features, n_frequencies)
        n_blocks, dimension = len(blocks.sizes), blocks.dimension
        minus = for_signs.integers(0, 2, (n_blocks, 2, dimension), dtype=np.uint8)
        angles = for_angles.integers(0, 256, (n_blocks, dimension // 2), dtype=np.uint8)
        lengths = kernel.length_quantile(for_lengths.random(n_frequencies), dimension)
        # The op gives orthogonal rows of length dimension^(3/2) / 2.
        scale = portable(lengths * 2 * dimension**-1.5 / (2 * math.pi))
        return HadamardProjection(n_features, _layout(minus, angles), angles, scale, blocks)

    def from_arrays(self, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]) -> HadamardProjection:
        """Return the blocks of kept signs, as bits, angles and scales."""
        # The scales bound the number of frequencies by the size of the file, before a block is made for each.
        scale = kept_array("Hadamard", arrays, "scale", (n_frequencies,))
        places = kept_places("Hadamard", arrays, n_frequencies)
        blocks = self.blocks_of(n_features, n_frequencies, places)
        n_blocks, dimension = len(blocks.sizes), blocks.dimension
        packed = kept_bytes("Hadamard", arrays, "signs", n_blocks * 2 * dimension // 8)
        angles = kept_bytes("Hadamard", arrays, "angles", n_blocks * dimension // 2).reshape(n_blocks, dimension // 2)
        minus = np.unpackbits(packed, bitorder="little").reshape(n_blocks, 2, dimension)
        return HadamardProjection(n_features, _layout(minus, angles), angles, scale, blocks, places)

    def from_scaled(
        self, n_frequencies: int, arrays: dict[str, NDArray[Any]], metric: NDArray[np.float32]
    ) -> DrawnProjection:
        """Return the blocks with the factors of the columns, or the matrix that a matrix makes of them."""
        if metric.ndim == 2:
            return super().from_scaled(n_frequencies, arrays, metric)
        return self.from_arrays(len(metric), n_frequencies, arrays).scaled_by(metric)

    def blocks_of(self, n_features: int, n_frequencies: int, places: NDArray[np.int64] | None = None) -> Blocks:
        """Return blocks of the power of two that holds a row."""
        dimension = max(_SMALLEST_BLOCK, 1 << (n_features - 1).bit_length())
        return Blocks("free", dimension, block_sizes(dimension, n_frequencies, places))


@dataclass(frozen=True)
class HadamardProjection:
    """Drawn signs, angles and lengths, 6 bits and 4 bytes per frequency, in blocks of the padded dimension.

    `layout` is what the ops take, (n_blocks, 3, dimension): of each block S1, the cosine and the sine of each pair in
    turn, S3. `angles` (n_blocks, dimension / 2) are the same rotations: angle k is (k + 1/2) / 256 of a turn. `cosines`
    are those of the first quarter of the turn, and backwards its sines; the other quarters follow by symmetry.

    Where only some frequencies were kept, at `places` of all that were drawn, there are only the blocks that hold one.
    `factors` (n_features,) multiply the columns of rows first.
    """

    cosines: ClassVar[NDArray[np.float32]] = _COSINES

    n_features: int
    layout: NDArray[np.float32]
    angles: NDArray[np.uint8]
    scale: NDArray[np.float32]
    blocks: Blocks
    places: NDArray[np.int64] | None = None
    factors: NDArray[np.float32] | None = None

    @property
    def n_frequencies(self) -> int:
        """One a length."""
        return len(self.scale)

    @property
    def row_cost(self) -> int:
        """3 log2 D - 2 additions, two signs, a rotation's three per value of a block; one per frequency and factor."""
        log2 = self.blocks.dimension.bit_length() - 1
        n_factors = 0 if self.factors is None else len(self.factors)
        return self.layout[:, 0].size * (3 * log2 - 2 + 2 + 3) + self.n_frequencies + n_factors

    @cached_property
    def outputs(self) -> NDArray[np.uint32] | None:
        """Places of the frequencies among the outputs of the blocks that there are; None where they are the first."""
        if self.places is None:
            return None
        numbers, within = np.divmod(self.places, self.blocks.dimension)
        return (np.unique(numbers, return_inverse=True)[1] * self.blocks.dimension + within).astype(np.uint32)

    @property
    def op_layout(self) -> Any:
        """The blocks, with factors and outputs where there are any."""
        if self.factors is None and self.places is None:
            return self.layout
        return self.layout, self.factors, self.outputs

    def keep(self, places: NDArray[np.int64]) -> HadamardProjection:
        """Return only these frequencies, with the blocks that hold one."""
        of_all = places if self.places is None else self.places[places]
        outputs = places if self.outputs is None else self.outputs[places]
        blocks = np.unique(outputs // self.blocks.dimension)
        return replace(
            self,
            layout=self.layout[blocks],
            angles=self.angles[blocks],
            scale=self.scale[places],
            blocks=self.blocks.keep(places),
            places=of_all,
        )

    def scaled_by(self, metric: NDArray[np.float32]) -> DrawnProjection:
        """Return these blocks with factors of the columns; for a matrix the product with W, which is no layout."""
        if metric.ndim == 1:
            return replace(self, factors=metric if self.factors is None else metric * self.factors)
        return DenseProjection.of(self.weights().astype(np.float64), self.blocks, self.places).scaled_by(metric)

    @property
    def rounding(self) -> float:
        """Relative error of three transforms: measured, 1.3 to 2.5 roundings from 1 to 1000 columns."""
        return 2.5 * 2.0**-24

    def check_range(self, X: NDArray[np.float32]) -> None:
        """Leave it to the ops: a sum that overflows spreads to every output, and they look at one."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the signs of S1 and S3 of each block as bits, 1 for minus, a byte an angle, scales, and places.

        Factors are not drawn: who gave them keeps them.
        """
        signs = np.packbits(self.layout[:, ::2] < 0, bitorder="little")
        drawn: dict[str, NDArray[Any]] = {"signs": signs, "angles": self.angles.ravel(), "scale": self.scale}
        return drawn if self.places is None else {**drawn, "places": self.places}

    def weights(self) -> NDArray[np.float32]:
        """Return W by projecting the unit vectors."""
        identity = np.eye(self.n_features, dtype=np.float32)
        out = np.empty((self.n_features, self.n_frequencies), dtype=np.float32)
        _core.project(identity, self.op_layout, self.scale, out)
        return out * np.float32(2 * math.pi)

    def pull_back(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return values W' by the transposed transform, with as many additions as the projection of as many rows."""
        check_values("HadamardProjection", values, self.n_frequencies)
        scale = self.scale * np.float32(2 * math.pi)
        if self.outputs is not None:
            # What was not kept of a block pulls nowhere.
            scale, kept = np.zeros(self.layout[:, 0].size, dtype=np.float32), scale
            scale[self.outputs] = kept
            values, few = np.zeros((len(values), len(scale)), dtype=np.float32), values
            values[:, self.outputs] = few
        out = np.empty((len(values), self.n_features), dtype=np.float32)
        _core.pull_back(values, self.layout, scale, out)
        return out if self.factors is None else out * self.factors


def _layout(minus: NDArray[np.uint8], angles: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return blocks as the ops take them, of signs (n_blocks, 2, D), 1 for minus, and angles (n_blocks, D/2)."""
    n_blocks, _, dimension = minus.shape
    layout = np.empty((n_blocks, 3, dimension), dtype=np.float32)
    layout[:, ::2] = 1 - 2 * minus.astype(np.float32)
    layout[:, 1] = rotations()[angles].reshape(n_blocks, dimension)
    return layout


def rotations() -> NDArray[np.float32]:
    """Return cosine and sine of the 256 angles, (256, 2)."""
    quarter = np.stack([_COSINES, _COSINES[::-1]], axis=1)
    turned = np.stack([-quarter[:, 1], quarter[:, 0]], axis=1)
    return np.concatenate([quarter, turned, -quarter, -turned])


def portable(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Round to 16 significant bits: quantile functions differ in their last digits between machines."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(mantissa * 65536) / 65536, exponent).astype(np.float32)
