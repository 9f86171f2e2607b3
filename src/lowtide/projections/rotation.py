"""Fast rotations of rows of any number of columns: nothing is padded, and nothing is left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import fail
from lowtide.errors import ParameterError
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
from lowtide.projections.hadamard import portable, rotations

# Rounds of wide rows, and of narrow ones, where a transform mixes few entries: four rounds of 3 columns leave squares
# of an output 25% off their mean.
_ROUNDS, _MANY_ROUNDS, _WIDE = 4, 16, 64
_LENGTHS = ("free", "fixed")


@dataclass(eq=False, repr=False)
class Rotation(Projection):
    """Blocks of exactly d orthogonal frequencies, each a fast rotation of the d columns.

    A round multiplies by random signs, transforms the leading block of P columns by a Walsh-Hadamard matrix, P the
    largest power of two that is at most d, in every second round the trailing block, and turns the pairs (i, i + d/2)
    by angles of their own, one of 256 around the circle. There are four rounds, 16 below 64 columns.

    Parameters
    ----------
    lengths : {"free", "fixed"}, default="free"
        "free" draws a length of the kernel's law for each frequency (chi for the Gaussian), and keeps all that is known
        of orthogonal layouts. "fixed" gives all of them its root mean square: then a block is a rotation times a
        number, and products of projected rows are those of the rows.

    Notes
    -----
    A block costs n_rounds P log2 P additions and 7 d products a row; 4 d signs, 3 d/2 angles and d lengths are kept.
    Float32 in one fixed order, without padding: a row's bits depend neither on the batch nor on threads or instruction
    set. The Hadamard layout is faster where d is a power of two, and pads rows where it is not.

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> W = Rotation("fixed").draw(Gaussian(), 5, 5, np.random.default_rng(0)).weights()
    >>> (W.T @ W).round(3) + 0.0
    array([[5., 0., 0., 0., 0.],
           [0., 5., 0., 0., 0.],
           [0., 0., 5., 0., 0.],
           [0., 0., 0., 5., 0.],
           [0., 0., 0., 0., 5.]], dtype=float32)
    """

    lengths: Literal["free", "fixed"] = "free"
    laws: ClassVar[frozenset[str]] = frozenset({"gaussian_mixture"})

    def check(self) -> None:
        """Refuse lengths of another kind."""
        if self.lengths not in _LENGTHS:
            raise fail("Rotation", f"lengths must be one of {_LENGTHS}", self.lengths)

    def lay_out(
        self, kernel: Frequencies, n_features: int, n_frequencies: int, rng: np.random.Generator
    ) -> RotationProjection:
        """Draw signs, angles and lengths."""
        # Each from a stream of its own: a frequency does not depend on how many follow it.
        for_signs, for_angles, for_lengths = rng.spawn(3)
        blocks, n_rounds = self.blocks_of(n_features, n_frequencies), _rounds(n_features)
        minus = for_signs.integers(0, 2, (len(blocks.sizes), n_rounds, n_features), dtype=np.uint8)
        angles = for_angles.integers(0, 256, (len(blocks.sizes), n_rounds - 1, n_features // 2), dtype=np.uint8)
        if self.lengths == "free":
            lengths = kernel.length_quantile(for_lengths.random(n_frequencies), n_features)
        else:
            lengths = np.full(n_frequencies, _mean_length(kernel, n_features))
        return RotationProjection(_layout(minus, angles), angles, portable(lengths / (2 * math.pi)), blocks)

    def from_arrays(self, n_features: int, n_frequencies: int, arrays: dict[str, NDArray[Any]]) -> DrawnProjection:
        """Return the blocks of kept signs, as bits, angles and lengths; or the matrix of kept columns."""
        if "matrix" in arrays:
            matrix = kept_array("Rotation", arrays, "matrix", (n_features, n_frequencies))
            places = kept_places("Rotation", arrays, n_frequencies)
            return DenseProjection(matrix, self.blocks_of(n_features, n_frequencies, places), places)
        # The lengths bound the number of blocks by the size of the file, before anything is made for each.
        scale = kept_array("Rotation", arrays, "scale", (n_frequencies,))
        blocks, n_rounds = self.blocks_of(n_features, n_frequencies), _rounds(n_features)
        n_blocks = len(blocks.sizes)
        n_signs = n_blocks * n_rounds * n_features
        packed = kept_bytes("Rotation", arrays, "minus", -(-n_signs // 8))
        n_angles = n_blocks * (n_rounds - 1) * (n_features // 2)
        angles = kept_bytes("Rotation", arrays, "angles", n_angles) if n_angles else np.empty(0, np.uint8)
        minus = np.unpackbits(packed, count=n_signs, bitorder="little").reshape(n_blocks, n_rounds, n_features)
        angles = angles.reshape(n_blocks, n_rounds - 1, n_features // 2)
        return RotationProjection(_layout(minus, angles), angles, scale, blocks)

    def blocks_of(self, n_features: int, n_frequencies: int, places: NDArray[np.int64] | None = None) -> Blocks:
        """Return blocks of the input's dimension."""
        return Blocks(self.lengths, n_features, block_sizes(n_features, n_frequencies, places))


@dataclass(frozen=True)
class RotationProjection:
    """Drawn signs, angles and lengths of rotations of all columns.

    `layout` is what the ops take, (n_blocks, 2 n_rounds - 1, n_features): of each round the signs, of size P^(-1/2)
    within the block that is transformed, and between two rounds the cosines, then the sines. `angles` (n_blocks,
    n_rounds - 1, n_features // 2) are the same rotations, as in `HadamardProjection`.
    """

    layout: NDArray[np.float32]
    angles: NDArray[np.uint8]
    scale: NDArray[np.float32]
    blocks: Blocks
    places: ClassVar[None] = None  # kept frequencies are a matrix

    @property
    def n_features(self) -> int:
        """Input columns."""
        return int(self.layout.shape[2])

    @property
    def n_frequencies(self) -> int:
        """One a length."""
        return len(self.scale)

    @property
    def row_cost(self) -> int:
        """Per block a product per factor, three operations per angle's entry, log2 P additions; one per frequency."""
        n_blocks, n_vectors, d = self.layout.shape
        n_rounds = n_vectors // 2 + 1
        return n_blocks * d * (n_rounds * (d.bit_length() - 1) + n_rounds + 3 * (n_rounds - 1)) + self.n_frequencies

    @property
    def op_layout(self) -> NDArray[np.float32]:
        """The rotations."""
        return self.layout

    @property
    def rounding(self) -> float:
        """Relative error of the rounds: measured, 2.3 to 2.8 roundings from 64 to 1536 columns, up to 4.8 of fewer."""
        return (3.0 if self.n_features >= _WIDE else 5.0) * 2.0**-24

    def keep(self, places: NDArray[np.int64]) -> DenseProjection:
        """Return some frequencies as a matrix, which is no rotation any more."""
        dense = DenseProjection.of(self.weights().astype(np.float64), self.blocks)
        return dense.keep(places)

    def scaled_by(self, metric: NDArray[np.float32]) -> DenseProjection:
        """Return the product of the metric with W, as a matrix."""
        return DenseProjection.of(self.weights().astype(np.float64), self.blocks).scaled_by(metric)

    def check_range(self, X: NDArray[np.float32]) -> None:
        """Refuse rows so large that a sum on the way may leave float32."""
        if X.size == 0 or not np.isfinite(X).all():
            return  # what is not finite reaches the first output, which the ops look at
        largest = float(np.abs(X).max())
        if largest * self.n_features > float(np.finfo(np.float32).max):
            got = f"got values up to {largest:.3g}. Scale the columns first."
            raise ParameterError(f"Rows must stay within float32 when projected, {got}")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the signs as bits, 1 for minus, a byte an angle, and the lengths."""
        minus = np.packbits(self.layout[:, ::2] < 0, bitorder="little")
        angles = {"angles": self.angles.ravel()} if self.angles.size else {}  # a single column has none
        return {"minus": minus, **angles, "scale": self.scale}

    def weights(self) -> NDArray[np.float32]:
        """Return W by projecting the unit vectors."""
        identity = np.eye(self.n_features, dtype=np.float32)
        out = np.empty((self.n_features, self.n_frequencies), dtype=np.float32)
        _core.project(identity, self.op_layout, self.scale, out)
        return out * np.float32(2 * math.pi)

    def pull_back(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return values W', by W itself, which is built for it."""
        check_values("RotationProjection", values, self.n_frequencies)
        return np.asarray(values @ self.weights().T)


def _rounds(n_features: int) -> int:
    return _ROUNDS if n_features >= _WIDE else _MANY_ROUNDS


def _mean_length(kernel: Frequencies, n_features: int) -> float:
    """Return the root mean square of the kernel's lengths, by the middles of 4096 equal shares."""
    quantiles = (np.arange(4096) + 0.5) / 4096
    return float(np.sqrt(np.mean(kernel.length_quantile(quantiles, n_features) ** 2)))


def _layout(minus: NDArray[np.uint8], angles: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return rotations as the ops take them, of signs (n_blocks, n_rounds, d), 1 for minus, and angles."""
    n_blocks, n_rounds, d = minus.shape
    size, half = 1 << (d.bit_length() - 1), d // 2
    layout = np.zeros((n_blocks, 2 * n_rounds - 1, d), dtype=np.float32)
    layout[:, ::2] = 1 - 2 * minus.astype(np.float32)
    # A root and a division are rounded correctly on every machine.
    layout[:, ::4, :size] *= np.float32(1 / math.sqrt(size))
    layout[:, 2::4, d - size :] *= np.float32(1 / math.sqrt(size))
    turned = rotations()[angles]
    layout[:, 1::2, :half], layout[:, 1::2, half : 2 * half] = turned[..., 0], turned[..., 1]
    return layout
