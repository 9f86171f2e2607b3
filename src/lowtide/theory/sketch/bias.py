"""How far the kernel of a sketch is from the exact one, and how many bits keep it near."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from lowtide._checks import check_integer, check_positive, fail
from lowtide.theory.sketch.level_product import check_correlations
from lowtide.theory.sketch.moments import fourier_moments

Floats = NDArray[np.float64]

_MOST_BITS = 8
_EVERYWHERE = (-1.0, 1.0)


def sketch_bias(bits: int, gamma: float, *, correlations: tuple[float, float] = _EVERYWHERE) -> float:
    """Largest distance of a sketch's kernel from exp(-gamma |x-y|^2) over all correlations of rows.

    Parameters
    ----------
    bits : int
        b, 1 to 8.
    gamma : float
        Scikit-learn's, above 0; half the square of the paper's.
    correlations : (float, float), default (-1, 1)
        The range that can occur. Rows without negative entries have (0, 1).

    Returns
    -------
    float
        max |K_Q - K|, at most 2.

    Notes
    -----
    A few milliseconds the first time (some 50 for 8 bits), kept for the next. A kernel with a bias is still a kernel,
    and may classify as well: what is lost is the promise that it is the Gaussian one of this bandwidth.

    Examples
    --------
    >>> from lowtide.theory import sketch_bias
    >>> [round(sketch_bias(b, 0.5), 3) for b in (1, 2, 3, 4)]
    [0.16, 0.054, 0.024, 0.008]
    """
    bits = check_integer("sketch_bias", "bits", bits, low=1, high=_MOST_BITS)
    gamma = check_positive("sketch_bias", "gamma", gamma)
    low, high = (float(r) for r in check_correlations("sketch_bias", correlations))
    if not low < high:
        raise fail("sketch_bias", "correlations must be (low, high) with low < high", correlations)
    return _largest(bits, gamma, low, high)


def sketch_bits_needed(gamma: float, error: float, *, correlations: tuple[float, float] = _EVERYWHERE) -> int:
    """Smallest number of bits whose kernel stays within `error` of exp(-gamma |x-y|^2) at all correlations.

    Parameters
    ----------
    gamma : float
        Scikit-learn's, above 0; half the square of the paper's. To serve a grid of them give the largest.
    error : float
        Largest bias allowed, above 0.
    correlations : (float, float), default (-1, 1)
        The range that can occur. Rows without negative entries have (0, 1).

    Returns
    -------
    int
        1 to 8; an error when 8 are too few.

    Notes
    -----
    This is about the mean. The spread around it, `sketch_variance`/k, is nearly the same for all bits.

    Examples
    --------
    >>> from lowtide.theory import sketch_bits_needed
    >>> [sketch_bits_needed(gamma, 0.1) for gamma in (0.05, 0.5, 2.0, 8.0)]
    [1, 2, 3, 4]
    """
    error = check_positive("sketch_bits_needed", "error", error)
    for bits in range(1, _MOST_BITS + 1):
        if sketch_bias(bits, gamma, correlations=correlations) <= error:
            return bits
    raise fail(
        "sketch_bits_needed",
        f"gamma must be one at which {_MOST_BITS} bits keep the bias within {error}",
        gamma,
        "Use RandomFeatures, whose codes are made for one gamma.",
    )


@lru_cache(maxsize=4096)
def _largest(bits: int, gamma: float, low: float, high: float) -> float:
    """The maximum on a grid of angles, where the bias is smooth, and then within the best cell."""
    kernel = fourier_moments(bits, gamma)

    def bias(angle: Floats | float) -> Floats:
        rho = np.clip(np.cos(angle), -1.0, 1.0)
        return np.abs(kernel.mean(rho) - np.exp(-2 * gamma * (1 - rho)))

    start, stop = math.acos(high), math.acos(low)
    # The exact kernel falls within an angle of 1/sqrt(2 gamma): the grid is finer there.
    near = np.linspace(start, min(stop, start + 6 / math.sqrt(2 * gamma)), 129)
    angles = np.unique(np.concatenate([near, np.linspace(start, stop, 257)]))
    values = bias(angles)
    i = int(np.argmax(values))
    ends = float(angles[max(i - 1, 0)]), float(angles[min(i + 1, len(angles) - 1)])
    best = minimize_scalar(lambda angle: -float(bias(angle)), bounds=ends, method="bounded")
    return max(float(values[i]), -float(best.fun))
