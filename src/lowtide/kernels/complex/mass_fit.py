"""Masses of a complex measure by least squares on a small kernel matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from lowtide._checks import fail
from lowtide.kernels.complex.masses import Masses

__all__ = ["fit_masses"]

Floats = NDArray[np.float64]


def fit_masses(
    K: ArrayLike, positive: ArrayLike, negative: ArrayLike, imaginary: ArrayLike, value_at_zero: float
) -> Masses:
    """Fit min |K - xi_1 G_+ + xi_2 G_- + 2 xi_3 G_I|_F with xi >= 0 and xi_1 - xi_2 = k(0).

    With xi_1 = k(0) + xi_2 (or xi_2 = xi_1 - k(0) where k(0) < 0) two unknowns are left: a non-negative least squares
    problem.

    Parameters
    ----------
    K : array (n, n_y)
        Exact kernel values of a few pairs of rows.
    positive, negative : array (n, n_y)
        Mean cosine of w.(x - y) over frequencies of the positive and of the negative real part; zeros for a part that
        does not exist.
    imaginary : array (n, n_y)
        Mean sine of w.(x - y) over frequencies of the positive imaginary part.
    value_at_zero : float
        k(0).

    Returns
    -------
    Masses

    References
    ----------
    AsK-RFF (He, He, Liu and Huang), (12), with the sign of its last term corrected.

    Examples
    --------
    >>> import numpy as np
    >>> P, N, S = (np.random.default_rng(i).standard_normal((5, 5)) for i in range(3))
    >>> fitted = fit_masses(0.7 * P - 0.1 * N - 2 * 0.3 * S, P, N, S, value_at_zero=0.6)
    >>> round(fitted.positive, 6), round(fitted.negative, 6), round(fitted.imaginary, 6)
    (0.7, 0.1, 0.3)
    """
    target, plus, minus, skew = (np.asarray(G, dtype=np.float64).ravel() for G in (K, positive, negative, imaginary))
    if not target.size == plus.size == minus.size == skew.size:
        raise fail(
            "fit_masses", "the four matrices must have one shape", [np.shape(G) for G in (K, positive, negative)]
        )
    zero = float(value_at_zero)
    known = zero * (plus if zero >= 0 else minus)
    both = plus - minus if np.any(minus) and np.any(plus) else np.zeros_like(plus)
    solution, _ = nnls(np.stack([both, -2.0 * skew], axis=1), target - known)
    common, imaginary_mass = float(solution[0]), float(solution[1])
    return Masses(max(zero, 0.0) + common, max(-zero, 0.0) + common, imaginary_mass)
