"""Where float32 would lose what the data has to say: warnings at fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lowtide.errors import PrecisionWarning

__all__ = ["some_rows", "warn_when_float32_loses_the_signal", "warn_when_phases_lose_their_fraction"]

# A column with this |mean| / std keeps under eight bits of its signal in float32.
_LARGEST_OFFSET = 1e5
# A phase of this many turns keeps under five bits of its fraction, and the fraction is all that counts.
_LARGEST_TURN = 2.0**19


def some_rows(X: Any, n: int) -> Any:
    """Return at most n rows, evenly spread."""
    return X[:: max(1, -(-X.shape[0] // n))]


def warn_when_float32_loses_the_signal(X: Any) -> None:
    """Warn about columns whose offset is so large that float32 rounds away their variation."""
    if sparse.issparse(X) or X.dtype.itemsize < 4 or len(X) == 0:
        return
    some = np.asarray(some_rows(X, 2048), dtype=np.float64)
    mean, std = some.mean(axis=0), some.std(axis=0)
    suspects = np.flatnonzero(np.abs(mean) > _LARGEST_OFFSET * std)
    # A constant column has no signal to lose, but its mean is rounded, so its standard deviation may not be 0.
    lost = suspects[np.ptp(X[:, suspects], axis=0) > 0] if suspects.size else suspects
    if lost.size:
        worst = lost[np.argmin(std[lost] / np.abs(mean[lost]))]
        warnings.warn(
            f"lowtide works in float32; {lost.size} column(s) vary by less than 1e-5 of their mean and lose their "
            f"signal (column {worst}: mean {mean[worst]:.6g}, standard deviation {std[worst]:.3g}). Center them first, "
            "for example with StandardScaler.",
            PrecisionWarning,
            stacklevel=3,
        )


def warn_when_phases_lose_their_fraction(turns: NDArray[np.float32]) -> None:
    """Warn when most phases, given in whole turns, are too large for float32 to tell where in a turn they are."""
    typical = float(np.median(np.abs(turns))) if turns.size else 0.0
    if typical > _LARGEST_TURN:
        warnings.warn(
            f"The phases of these rows are about {typical:.2g} turns, so large that float32 cannot tell where in a "
            "turn they are, and kernel values will mean nothing. Center and scale the columns, or lower gamma.",
            PrecisionWarning,
            stacklevel=3,
        )
