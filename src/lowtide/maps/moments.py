"""What the theory needs to know of one side of an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["N_HARMONICS", "Moments"]

# Coefficients of a step function fall as 1/k; with the tail that `theory` adds, 2048 leave an error below 1e-7.
N_HARMONICS = 2048


@dataclass(frozen=True)
class Moments:
    """Fourier coefficients, over the phase t of one frequency, of its feature values f_1 .. f_w.

    The values are in units in which the full side is cos t and sin t. For real functions the coefficient at -k is the
    conjugate of the one at k, so only k = 0 .. K is kept.

    Attributes
    ----------
    mean : ndarray of complex128, shape (w, K + 1)
        Coefficients of E[f_i(t)].
    product : ndarray of complex128, shape (w, w, K + 1)
        Coefficients of E[f_i(t) f_j(t)].
    """

    mean: NDArray[np.complex128]
    product: NDArray[np.complex128]

    @property
    def width(self) -> int:
        """Feature values a frequency."""
        return int(self.mean.shape[0])

    def first(self, width: int) -> Self:
        """Return the moments of the first `width` values alone."""
        return type(self)(self.mean[:width], self.product[:width, :width])
