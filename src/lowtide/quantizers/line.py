"""Levels between borders on the line: the quantizer of a normal projection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer
from lowtide.maps import Normal
from lowtide.quantizers.lloyd_max import lloyd_max_distortion, lloyd_max_normal

__all__ = ["LineSteps", "normal_steps"]


@dataclass(frozen=True)
class LineSteps:
    """Lloyd-Max levels of N(0, 1): symmetric about 0, ascending with the value.

    A value z has the level of its size, c = #{i : t_i <= |z|} over the positive borders t, mirrored where z < 0.

    Attributes
    ----------
    bits : int
    values : ndarray of float64, shape (2^bits,)
        mu_i, the mean of the law within each cell.
    borders : ndarray of float32, shape (2^(bits-1) - 1,)
        The positive borders, ascending; 0 is the one in the middle.
    distortion : float
        D = E(z - Q z)^2, so E[z Q z] = E[(Q z)^2] = 1 - D.
    """

    bits: int
    values: NDArray[np.float64]
    borders: NDArray[np.float32]
    distortion: float

    def levels(self, Z: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the levels of values: the readable truth."""
        half = len(self.borders) + 1
        reached = np.searchsorted(self.borders, np.abs(Z), side="right")
        return np.where(Z < 0, half - 1 - reached, half + reached).astype(np.uint8)


@cache
def normal_steps(bits: int) -> LineSteps:
    """Return the Lloyd-Max quantizer of N(0, 1) for 1 to 8 bits.

    Examples
    --------
    >>> steps = normal_steps(2)
    >>> steps.values.round(4)
    array([-1.5104, -0.4528,  0.4528,  1.5104])
    >>> steps.levels(np.array([[-2.0, -0.1, 0.0, 0.5, 1.0]], dtype=np.float32))
    array([[0, 1, 2, 2, 3]], dtype=uint8)
    """
    bits = check_integer("normal_steps", "bits", bits, 1, 8)
    values, borders = lloyd_max_normal(bits)
    positive = borders[len(values) // 2 :].astype(np.float32)
    for array in (values, positive):
        array.flags.writeable = False
    return LineSteps(bits, values, positive, lloyd_max_distortion(Normal(), bits))
