"""Zeros of the normalized Bessel function, the kernel that unit-norm orthogonal frequencies estimate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import jv

from lowtide._checks import check_integer

Floats = NDArray[np.float64]


def bessel_zeros(dimension: int, count: int = 2) -> Floats:
    """First positive zeros of j in dimension d: those of J_{d/2-1}.

    Parameters
    ----------
    dimension : int
        d, at least 2.
    count : int, default 2
        How many zeros, at least 1.

    Returns
    -------
    ndarray of float64, shape (count,)
        In ascending order, to about 1e-14 relative.

    Notes
    -----
    Consecutive zeros of J_nu, nu >= 0, are more than 3.1 apart and the first lies above nu, so a scan from nu
    with step 1/2 cannot step over a pair.

    Examples
    --------
    >>> from lowtide.theory import bessel_zeros
    >>> bessel_zeros(2).round(4).tolist()
    [2.4048, 5.5201]
    """
    dim = check_integer("bessel_zeros", "dimension", dimension, low=2)
    count = check_integer("bessel_zeros", "count", count, low=1)
    nu = dim / 2 - 1
    zeros: list[float] = []
    low = max(nu, 0.5)
    sign = 1.0
    while len(zeros) < count:
        high = low + 0.5
        if sign * jv(nu, high) < 0:
            zeros.append(float(brentq(lambda t: jv(nu, t), low, high, xtol=1e-13, rtol=1e-15)))
            sign = -sign
        low = high
    return np.array(zeros)
