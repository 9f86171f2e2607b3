"""How decoded coordinates are read: by random features of a kernel, or as they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes, empty_rows
from lowtide.encoders.drawn.fourier import DrawnFeatures
from lowtide.encoders.estimation import Pair, Two
from lowtide.encoders.rows import projected_rows
from lowtide.projections import DenseProjection

if TYPE_CHECKING:
    from lowtide.encoders.drawn.learned import DrawnLearned

Array = NDArray[np.float32]
Floats = NDArray[np.float64]
# Values of coordinates that are expanded at a time: 16 MB of float32.
_BLOCK_VALUES = 1 << 22


class Reading(ABC):
    """How coordinates become the features that a linear model learns on."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Columns of the features."""

    @property
    @abstractmethod
    def row_cost(self) -> int:
        """Additions and multiplications, about, that one row takes."""

    @abstractmethod
    def features(self, Z: Array) -> Array:
        """Return features of coordinates (n, n_fields), float32 (n, n_outputs)."""

    @abstractmethod
    def expand(self, codes: Codes) -> Codes:
        """Return codes of the features of decoded coordinates."""

    @abstractmethod
    def pair(self, sides: tuple[Any, Any], encoder: DrawnLearned) -> Pair:
        """Return what is known of the product of two sides of rows."""

    def noise(self, Z: Array) -> Floats:
        """Return how far float32 has phases of coordinates off, in radians, (n,)."""
        return np.zeros(len(Z))


@dataclass(frozen=True, eq=False)
class FourierReading(Reading):
    """Random Fourier features of the coordinates, whose coded side is what codes are expanded to."""

    drawn: DrawnFeatures
    mix: DenseProjection | None = None  # what makes distances of coordinates those of rows; None where they are already

    def moved(self, Z: Array) -> Array:
        """Return coordinates as the random features take them, (n, n_fields)."""
        return Z if self.mix is None else projected_rows(Z, self.mix)

    @property
    def n_outputs(self) -> int:
        """Components."""
        return self.drawn.n_outputs

    @property
    def row_cost(self) -> int:
        """That of the random features."""
        return self.drawn.row_cost

    def features(self, Z: Array) -> Array:
        """Return cosines and sines of coordinates."""
        return self.drawn.transform(self.moved(Z))

    def expand(self, codes: Codes) -> Codes:
        """Return the codes of random features of decoded coordinates."""
        template = self.drawn.required_template
        out = empty_rows(len(codes), template.packed.shape[1])
        for rows in row_parts(len(codes), codes.shape[1]):
            out[rows] = self.drawn.encode(self.moved(np.asarray(codes[rows]))).packed  # type: ignore[union-attr]
        return template.with_rows(out)

    def pair(self, sides: tuple[Any, Any], encoder: DrawnLearned) -> Pair:
        """Return the pair of the random features, at the coordinates that either side has of a row."""
        inner = self.drawn.pair(sides)
        assert inner.variance is not None
        assert inner.rounding is not None
        variance, rounding = inner.variance, inner.rounding

        def at(X: Any, Y: Any) -> tuple[Array, Array]:
            return self.moved(encoder.seen(X, sides[0])), self.moved(encoder.seen(Y, sides[1]))

        return replace(
            inner,
            mean=lambda X, Y: inner.mean(*at(X, Y)),
            variance=lambda X, Y: variance(*at(X, Y)),
            rounding=lambda X, Y, noise_X, noise_Y: rounding(*at(X, Y), noise_X, noise_Y),
        )

    def noise(self, Z: Array) -> Floats:
        """Return how far float32 has phases of coordinates off, in radians, (n,)."""
        return self.drawn.phase_noise(self.moved(Z))


@dataclass(frozen=True, eq=False)
class LinearReading(Reading):
    """The coordinates themselves: their products are the kernel, as far as they hold it."""

    n_fields: int

    @property
    def n_outputs(self) -> int:
        """As many as there are coordinates."""
        return self.n_fields

    @property
    def row_cost(self) -> int:
        """One addition per coordinate."""
        return self.n_fields

    def features(self, Z: Array) -> Array:
        """Return the coordinates."""
        return Z

    def expand(self, codes: Codes) -> Codes:
        """Return the codes themselves."""
        return codes

    def pair(self, sides: tuple[Any, Any], encoder: DrawnLearned) -> Pair:
        """Return the pair of sides without chance: the mean is the product itself, and there is no variance."""

        def mean(X: Any, Y: Any) -> Floats:
            return encoder.product(encoder.left(X, sides[0]), encoder.right(Y, sides[1])).astype(np.float64)

        def unknown(_given: Two, _made: Two, _K: NDArray[Any]) -> Floats:
            need = "a standard error needs measure='rows', whose features are drawn at random"
            got = "measure='kernel', whose error is the same in every draw"
            raise fail("LearnedFeatures", need, got, "reconstruction_error_ says what the codes lose of the kernel.")

        return Pair(mean, None, unknown, lambda: 1.0)


def row_parts(n: int, width: int) -> list[slice]:
    """Return slices of n rows, each of a few million values."""
    step = max(1, _BLOCK_VALUES // max(1, width))
    return [slice(start, min(n, start + step)) for start in range(0, n, step)]
