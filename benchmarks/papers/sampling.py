"""Means and standard errors over independent draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["bootstrap_error", "coefficient", "mean_and_error"]


def mean_and_error(draws: ArrayLike) -> tuple[float, float]:
    """Return the mean of independent numbers and its standard error."""
    values = np.asarray(draws, dtype=np.float64)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


def coefficient(deviation: NDArray[Any], pattern: NDArray[Any]) -> NDArray[np.float64]:
    """Return per draw (row) how much of a pattern a deviation holds: least squares, 0 for none and 1 for all of it."""
    return np.asarray(deviation @ pattern / (pattern @ pattern), dtype=np.float64)


def bootstrap_error(
    statistic: Callable[[NDArray[np.intp]], float], n_draws: int, rng: np.random.Generator, n_resamples: int = 200
) -> float:
    """Return the standard error of a statistic of draws, given as a function of which draws to use."""
    values = [statistic(rng.integers(n_draws, size=n_draws)) for _ in range(n_resamples)]
    return float(np.std(values, ddof=1))
