"""A drawn quantizer whose levels are steps of the phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowtide.maps import N_HARMONICS, Moments
from lowtide.quantizers.step import StepFunction

__all__ = ["PhaseSteps"]


@dataclass(frozen=True)
class PhaseSteps:
    """Levels that are constant between borders on the circle of phases.

    With u = turn + shift, an `even` quantizer counts the borders at or beyond f = |u - round(u)|, in [0, 1/2], so a
    level grows with cos(2 pi u); otherwise it counts the borders at or below f = u - floor(u). The count indexes
    `table`, which gives the level.

    Attributes
    ----------
    borders : ndarray of float32, ascending
    table : ndarray of uint8, shape (len(borders) + 1,)
    components : tuple of StepFunction
        The decoded value of each component of a frequency as a function of its turn.
    """

    bits: int
    shifts: NDArray[np.float32]
    codebook: NDArray[np.float64]
    borders: NDArray[np.float32]
    table: NDArray[np.uint8]
    even: bool
    components: tuple[StepFunction, ...]
    op: ClassVar[str] = "encode"

    @property
    def op_arguments(self) -> tuple[Any, ...]:
        """Return borders, table and evenness."""
        return (self.borders, self.table, self.even)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Nothing is random."""
        return {}

    def levels(self, turns: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the levels of phases in turns, in the float32 order of the compiled op."""
        u = turns[:, :, None] + self.shifts
        if self.even:
            f = np.abs(u - np.rint(u))
            count = np.searchsorted(-self.borders[::-1], -f, side="right")
        else:
            f = u - np.floor(u)
            f[f >= 1.0] = 0.0
            count = np.searchsorted(self.borders, f, side="right")
        return self.table[count].reshape(len(turns), -1)

    def moments(self, n_harmonics: int = N_HARMONICS) -> Moments:
        """Return the exact coefficients of the components and of their products."""
        mean = np.stack([f.coefficients(n_harmonics) for f in self.components])
        product = np.stack(
            [np.stack([(f * g).coefficients(n_harmonics) for g in self.components]) for f in self.components]
        )
        return Moments(mean, product)


def even_steps(
    values: NDArray[np.float64], borders: NDArray[np.float64], feature_map_shifts: tuple[float, ...]
) -> PhaseSteps:
    """Return the quantizer cos t -> values[count of borders <= cos t], scaled so that E[Q cos] = E[cos^2].

    values (2^b,) ascending and borders (2^b - 1,) ascending are in units of the cosine.
    """
    # cos falls as the folded turn grows: cos >= c exactly when the folded turn <= arccos(c) / 2 pi.
    folded = np.arccos(borders[::-1]) / (2 * np.pi)
    breaks = np.concatenate([folded, 1.0 - folded[::-1]])
    pieces = np.concatenate([values[-2::-1], values[1:]])
    shape = StepFunction(breaks, pieces)
    codebook = values / (2.0 * shape.coefficients(1)[1].real)
    shape = StepFunction(breaks, np.concatenate([codebook[-2::-1], codebook[1:]]))
    return PhaseSteps(
        bits=(len(values) - 1).bit_length(),
        shifts=np.asarray(feature_map_shifts, dtype=np.float32),
        codebook=codebook,
        borders=folded.astype(np.float32),
        table=np.arange(len(values), dtype=np.uint8),
        even=True,
        components=tuple(shape.shifted(shift) for shift in feature_map_shifts),
    )
