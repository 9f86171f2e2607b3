"""Mean and variance of the sin/cos estimate over orthogonal frequencies, and of its iid counterpart.

One block of p <= d orthogonal frequencies in R^d has variance (v + (p-1) c)/p: v the variance of one frequency,
c the covariance of two. p > d takes independent blocks of d and one of the rest:

    Var = (1/p^2) sum_blocks size (v + (size-1) c).

All distances z are in units of the frequencies: |x-y| for unit rows, |x-y|/sigma for the Gaussian.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer
from lowtide.kernels import normalized_bessel
from lowtide.theory.orthogonal.chi import chi_covariance

Floats = NDArray[np.float64]


def rff_variance(n_frequencies: int, z: ArrayLike) -> Floats:
    """Variance of the sin/cos estimate of exp(-z^2/2) over iid Gaussian frequencies: (1 - exp(-z^2))^2/(2p).

    Parameters
    ----------
    n_frequencies : int
        Number of frequencies p (two features each).
    z : array-like of float
        Distances divided by the bandwidth.

    Returns
    -------
    ndarray of float64
        Same shape as `z`; relative error a few roundings.

    References
    ----------
    ORF (Demni and Kadri), Theorem 1, with the exponent corrected to -z^2.

    Examples
    --------
    >>> from lowtide.theory import rff_variance
    >>> float(rff_variance(10, 0.5).round(8))
    0.00244645
    """
    p = check_integer("rff_variance", "n_frequencies", n_frequencies, low=1)
    return np.asarray(np.expm1(-np.square(np.asarray(z, dtype=np.float64))) ** 2 / (2 * p))


def haar_covariance(dimension: int, z: ArrayLike) -> Floats:
    """Covariance of cos(w_1.u), cos(w_2.u) for two columns of a Haar matrix: j(sqrt2 z) - j(z)^2.

    Parameters
    ----------
    dimension : int
        d, at least 2.
    z : array-like of float
        Distances |u|.

    Returns
    -------
    ndarray of float64
        Same shape as `z`, absolute error about 1e-15.

    Examples
    --------
    >>> from lowtide.theory import haar_covariance
    >>> float(haar_covariance(5, 2.0).round(6))
    -0.028929
    """
    dim = check_integer("haar_covariance", "dimension", dimension, low=2)
    z = np.asarray(z, dtype=np.float64)
    return normalized_bessel(dim, np.sqrt(2.0) * z) - normalized_bessel(dim, z) ** 2


def orf_variance(dimension: int, n_frequencies: int, z: ArrayLike) -> Floats:
    """Variance of the sin/cos estimate over unit-norm orthogonal frequencies, whose mean is the Bessel kernel.

    For p <= d it is (1/p)[(1 + j(2z))/2 + (p-1) j(sqrt2 z) - p j(z)^2]; for p > d the blocks are independent.

    Parameters
    ----------
    dimension : int
        d, at least 2.
    n_frequencies : int
        Number of frequencies p, at least 1; may exceed d.
    z : array-like of float
        Distances |x - y|.

    Returns
    -------
    ndarray of float64
        Same shape as `z`; never negative; absolute error about 1e-15.

    References
    ----------
    ORF (Demni and Kadri), Theorem 4; the block form is derived.

    Examples
    --------
    >>> from lowtide.theory import orf_variance
    >>> float(orf_variance(5, 3, 2.0).round(6))
    0.019716
    """
    dim = check_integer("orf_variance", "dimension", dimension, low=2)
    z = np.asarray(z, dtype=np.float64)
    single = (1 + normalized_bessel(dim, 2 * z)) / 2 - normalized_bessel(dim, z) ** 2
    return _over_blocks("orf_variance", single, haar_covariance(dim, z), dim, n_frequencies)


def orf_chi_variance(dimension: int, n_frequencies: int, z: ArrayLike) -> Floats:
    """Variance of the sin/cos estimate of exp(-z^2/2) over orthogonal frequencies with chi lengths.

    For p <= d it is (1 - exp(-z^2))^2/(2p) + ((p-1)/p) [1F1(d; d/2; -z^2/2) - exp(-z^2)]: unbiased, and below
    the iid variance except far out, where the two agree to a percent.

    Parameters
    ----------
    dimension : int
        Dimension d of a block, at least 2.
    n_frequencies : int
        Number of frequencies p, at least 1; may exceed d.
    z : array-like of float
        Distances divided by the bandwidth.

    Returns
    -------
    ndarray of float64
        Same shape as `z`; never negative.

    References
    ----------
    Derived; the SO variant of ORF (Demni and Kadri), Section 2.

    Examples
    --------
    >>> from lowtide.theory import orf_chi_variance
    >>> float(orf_chi_variance(4, 4, 1.0).round(6))
    0.020441
    """
    dim = check_integer("orf_chi_variance", "dimension", dimension, low=2)
    return _over_blocks("orf_chi_variance", rff_variance(1, z), chi_covariance(dim, z), dim, n_frequencies)


def block_sizes(dimension: int, n_frequencies: int) -> list[int]:
    """Sizes of the orthogonal blocks that hold p frequencies: full blocks of d, then the rest.

    Parameters
    ----------
    dimension : int
        Largest block d.
    n_frequencies : int
        Number of frequencies p.

    Returns
    -------
    list of int
        They sum to `n_frequencies`.

    Examples
    --------
    >>> from lowtide.theory import block_sizes
    >>> block_sizes(5, 12)
    [5, 5, 2]
    """
    dim = check_integer("block_sizes", "dimension", dimension, low=1)
    p = check_integer("block_sizes", "n_frequencies", n_frequencies, low=1)
    rest = [p % dim] if p % dim else []
    return [dim] * (p // dim) + rest


def _over_blocks(owner: str, single: Floats, covariance: Floats, dim: int, n_frequencies: int) -> Floats:
    """Return (1/p^2) sum over blocks of size (v + (size - 1) c), clipped at the rounding error's zero."""
    p = check_integer(owner, "n_frequencies", n_frequencies, low=1)
    pairs = sum(size * (size - 1) for size in block_sizes(dim, p))
    return np.maximum(single / p + covariance * (pairs / p**2), 0.0)
