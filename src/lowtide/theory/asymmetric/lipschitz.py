"""Mean Lipschitz constants: smoothness after averaging over the phase.

L_f = sup over delta of (1/delta) E_t sup_{|r| <= delta} |f(t+r) - f(t)|. They are what uniform bounds need of a
map, and they are finite for maps with jumps.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lowtide._checks import check_integer, fail
from lowtide.theory.asymmetric.tables import lloyd_max_table

# Maximum over d of (2/pi)(sin d + 1 - cos d)/d, at d = 1.17504...; the paper uses the valid bound 1.
_COSINE = 0.8328323608303538


def lipschitz_steps(values: ArrayLike) -> float:
    """Mean Lipschitz constant of a piecewise-constant map: its total variation over a period, divided by pi.

    Parameters
    ----------
    values : array-like of float or complex, shape (n,)
        The values in the order of the phase over one period; the last one wraps around to the first.

    Returns
    -------
    float
        Attained as delta tends to 0.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Proposition 6, for the square wave; the general form is derived.

    Examples
    --------
    >>> import math
    >>> from lowtide.theory import lipschitz_steps
    >>> lipschitz_steps([1, -1]) == 4 / math.pi
    True
    """
    steps = np.asarray(values)
    if steps.ndim != 1 or steps.size == 0:
        raise fail("lipschitz_steps", "values must be a non-empty list of numbers", values)
    return float(np.sum(np.abs(np.diff(steps, append=steps[:1])))) / math.pi


def lipschitz_lloyd_max(bits: int) -> float:
    """Mean Lipschitz constant of the Lloyd-Max cosine: 4 mu_max/pi, mu_max its largest level.

    Parameters
    ----------
    bits : int
        1 to 8. One bit has levels 2/pi; the square wave of height 1 has the constant 4/pi.

    Returns
    -------
    float
        Up and down twice mu_max in a period.

    Examples
    --------
    >>> from lowtide.theory import lipschitz_lloyd_max
    >>> round(lipschitz_lloyd_max(2), 6)
    1.087445
    """
    return 4 * float(lloyd_max_table(bits).levels[-1]) / math.pi


def lipschitz_cosine(order: int = 1) -> float:
    """Mean Lipschitz constant of cos(k t): 0.83283 |k|.

    Parameters
    ----------
    order : int, default 1
        k, not 0.

    Returns
    -------
    float
        |k| times the maximum over d of (2/pi)(sin d + 1 - cos d)/d. The paper uses |k|, a valid bound.

    Examples
    --------
    >>> from lowtide.theory import lipschitz_cosine
    >>> round(lipschitz_cosine(), 6), round(lipschitz_cosine(-3), 6)
    (0.832832, 2.498497)
    """
    return abs(_order("lipschitz_cosine", order)) * _COSINE


def lipschitz_exponential(order: int = 1) -> float:
    """Mean Lipschitz constant of exp(i k t): |k|.

    Parameters
    ----------
    order : int, default 1
        k, not 0.

    Returns
    -------
    float
        |k|, as delta tends to 0.

    Examples
    --------
    >>> from lowtide.theory import lipschitz_exponential
    >>> lipschitz_exponential(2)
    2.0
    """
    return float(abs(_order("lipschitz_exponential", order)))


def lipschitz_square_wave_gap() -> float:
    """Mean Lipschitz constant of q - (4/pi) cos: 4/pi + 8/pi^2.

    What Corollary 1 needs to compare the one-bit estimate with the full one: the difference of the normalized maps
    (pi/2) q - 2 cos is not of sup-norm 1 and must be divided by pi/2 first.

    Returns
    -------
    float
        The small-delta limit; values on a grid of delta fall from it.

    Examples
    --------
    >>> from lowtide.theory import lipschitz_square_wave_gap
    >>> round(lipschitz_square_wave_gap(), 4)
    2.0838
    """
    return 4 / math.pi + 8 / math.pi**2


def _order(owner: str, order: int) -> int:
    """Refuse what is not an integer other than 0."""
    if order == 0:
        raise fail(owner, "order must not be 0 (a constant has no period)", order)
    return check_integer(owner, "order", order, low=-(2**31), high=2**31)
