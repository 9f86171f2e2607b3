"""Smoothness of a quantized sine and cosine, and the printed count of projections that follows from it."""

from __future__ import annotations

import math

import numpy as np

from lowtide._checks import check_integer, check_positive
from lowtide.theory.sketch.level_product import sketch_quantizer
from lowtide.theory.sketch.moments import paper_gamma


def sketch_lipschitz_printed(bits: int, gamma: float) -> float:
    """Mean Lipschitz constant of Proposition 1 as printed, 4 (2^b - 1)/(g sqrt(2 pi)), g = sqrt(2 gamma).

    Parameters
    ----------
    bits : int
        b, 1 to 8.
    gamma : float
        Scikit-learn's, above 0; half the square of the paper's.

    Returns
    -------
    float
        A valid bound; `sketch_lipschitz` is sharper, up to 20 times for 4 bits and a small gamma.

    References
    ----------
    One-Sketch (Li and Li), Proposition 1.

    Examples
    --------
    >>> from lowtide.theory import sketch_lipschitz_printed
    >>> round(sketch_lipschitz_printed(1, 0.5), 6)
    1.595769
    """
    bits = check_integer("sketch_lipschitz_printed", "bits", bits, low=1, high=8)
    return 4 * (2**bits - 1) / (paper_gamma("sketch_lipschitz_printed", gamma) * math.sqrt(2 * math.pi))


def sketch_lipschitz(bits: int, gamma: float) -> float:
    """Sharper mean Lipschitz constant, (2/(g sqrt(2 pi))) max_f sum_i |f(g mu_{i+1}) - f(g mu_i)|, f = sin, cos.

    Parameters
    ----------
    bits : int
        b, 1 to 8.
    gamma : float
        Scikit-learn's, above 0; g = sqrt(2 gamma).

    Returns
    -------
    float
        A bound on E sup_{|r| <= delta} |f(Q(t + r)) - f(Q(t))|/delta for all delta, t of variance 2 gamma. A jump
        counts with its height, where Proposition 1 counts 2.

    References
    ----------
    Derived; One-Sketch (Li and Li), Definition 2.

    Examples
    --------
    >>> from lowtide.theory import sketch_lipschitz
    >>> round(sketch_lipschitz(3, 0.125), 6)
    2.808721
    """
    bits = check_integer("sketch_lipschitz", "bits", bits, low=1, high=8)
    g = paper_gamma("sketch_lipschitz", gamma)
    phase = g * sketch_quantizer(bits).levels
    variation = max(float(np.abs(np.diff(f)).sum()) for f in (np.sin(phase), np.cos(phase)))
    return 2 * variation / (g * math.sqrt(2 * math.pi))


def sketch_features_printed(error: float, dimension: int, gamma: float, lipschitz: float) -> float:
    """Projections for a uniform error over the sphere, as Theorem 3 is printed: (512 d/eps^2) log(64 L g/eps + 1).

    Parameters
    ----------
    error : float
        eps, above 0, around `sketch_kernel`.
    dimension : int
        d, dimension of the rows.
    gamma : float
        Scikit-learn's, above 0; g = sqrt(2 gamma). It cancels with the constant of Proposition 1.
    lipschitz : float
        L, from `sketch_lipschitz` or `sketch_lipschitz_printed`.

    Returns
    -------
    float
        Number of projections k, not rounded: millions. Its proof has the gap of `uniform_features_printed`; plan with
        `sketch_variance`.

    References
    ----------
    One-Sketch (Li and Li), Theorem 3.

    Examples
    --------
    >>> from lowtide.theory import sketch_features_printed, sketch_lipschitz_printed
    >>> round(sketch_features_printed(0.1, 10, 0.5, sketch_lipschitz_printed(1, 0.5)))
    3548059
    """
    eps = check_positive("sketch_features_printed", "error", error)
    d = check_integer("sketch_features_printed", "dimension", dimension, low=1)
    L = check_positive("sketch_features_printed", "lipschitz", lipschitz)
    return 512 * d / eps**2 * math.log1p(64 * L * paper_gamma("sketch_features_printed", gamma) / eps)


def sketch_failure_printed(n_projections: int, error: float) -> float:
    """Bound 4 exp(-k eps^2/256) of Theorem 3 on the probability that the uniform error is exceeded, as printed.

    Parameters
    ----------
    n_projections : int
        k, at least `sketch_features_printed`.
    error : float
        eps, above 0.

    Returns
    -------
    float
        At most 1. With the union bound of the proof the factor would be 6.

    References
    ----------
    One-Sketch (Li and Li), Theorem 3.

    Examples
    --------
    >>> from lowtide.theory import sketch_failure_printed
    >>> round(sketch_failure_printed(200_000, 0.1), 6)
    0.001619
    """
    k = check_integer("sketch_failure_printed", "n_projections", n_projections, low=1)
    return min(1.0, 4 * math.exp(-k * check_positive("sketch_failure_printed", "error", error) ** 2 / 256))
