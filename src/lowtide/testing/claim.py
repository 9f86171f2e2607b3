"""How a check speaks: one sentence about the part at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# Every random check draws from a fixed seed, so a part passes always or never. Six standard errors: a right part fails
# one comparison in 5e8, and a part with a hundred comparisons still has nothing to fear.
STANDARD_ERRORS = 6.0
SEED = 20


def claim(holds: Any, part: object, sentence: str) -> None:
    """Raise AssertionError `part: sentence` unless it holds."""
    if not bool(np.all(holds)):
        raise AssertionError(f"{type(part).__name__}: {sentence}")


def claim_mean(sample: ArrayLike, expected: ArrayLike, part: object, sentence: str) -> None:
    """Claim that the mean of independent draws along the first axis is the expected one."""
    draws, expected = np.asarray(sample, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    mean, error = draws.mean(axis=0), draws.std(axis=0) / np.sqrt(len(draws))
    gap = np.abs(mean - expected)
    holds = gap <= STANDARD_ERRORS * error + 1e-6
    worst = np.unravel_index(int(np.argmax(gap - STANDARD_ERRORS * error)), gap.shape)
    told = f"expected {expected[worst]:.5g}, measured {mean[worst]:.5g} +- {error[worst]:.2g}"
    claim(holds, part, f"{sentence}; {told}")
