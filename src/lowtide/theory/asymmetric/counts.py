"""How many features guarantee an error: one pair, N points, and uniformly over the unit ball.

The uniform counts are worst cases, 10^5 and up. For planning use `features_needed`, which takes the exact variance.
Bounds are real numbers; round up. In all of them features have sup-norm 1 (periodic class PF of the paper).
"""

from __future__ import annotations

import math

from lowtide._checks import check_integer, check_interval, check_positive


def pair_features(error: float, failure: float, n_points: int = 1, complex_maps: bool = False) -> float:
    """Features for one pair, or all pairs of N points, to err by more than `error` with probability <= `failure`.

    Hoeffding: (2/eps^2) ln(2/delta) for real maps, (4/eps^2) ln(4/delta) for complex ones; delta/N^2 for N points.

    Parameters
    ----------
    error : float
        eps, above 0.
    failure : float
        delta, in (0, 1].
    n_points : int, default 1
        N; 1 means a single pair.
    complex_maps : bool, default False
        Whether a side is complex. The paper's (17) is the real case, stated for both.

    Returns
    -------
    float
        Smallest number of features, not rounded.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Proposition 4; the complex constant is corrected.

    Examples
    --------
    >>> from lowtide.theory import pair_features
    >>> round(pair_features(0.1, 0.01), 4)
    1059.6635
    """
    eps = check_positive("pair_features", "error", error)
    delta = _probability("pair_features", failure)
    n = check_integer("pair_features", "n_points", n_points, low=1)
    factor = 4 if complex_maps else 2
    return factor / eps**2 * math.log(factor * n**2 / delta)


def unit_ball_entropy(dimension: int, radius: float) -> float:
    """Bound d log(1 + 2/eta) on the log of the number of balls of radius eta that cover the unit ball of R^d.

    Parameters
    ----------
    dimension : int
        d, at least 1.
    radius : float
        eta, above 0.

    Returns
    -------
    float
        Natural logarithm.

    Examples
    --------
    >>> from lowtide.theory import unit_ball_entropy
    >>> round(unit_ball_entropy(5, 2.0), 4)
    3.4657
    """
    d = check_integer("unit_ball_entropy", "dimension", dimension, low=1)
    return d * math.log1p(2 / check_positive("unit_ball_entropy", "radius", radius))


def uniform_features_printed(
    error: float, dimension: int, lipschitz: tuple[float, float], mean_projection: float
) -> float:
    """Features for a uniform error over the unit ball, as Proposition 5 is printed; its proof has a gap.

    128 eps^-2 H(eps/c), c = 4 C_Lambda (L_f + L_g + 2 min(L_f, L_g)), failure at most `uniform_failure_printed`.

    Parameters
    ----------
    error : float
        eps, above 0.
    dimension : int
        d of the unit ball.
    lipschitz : (float, float)
        Mean Lipschitz constants L_f and L_g (`lipschitz_steps`, `lipschitz_cosine`, ...).
    mean_projection : float
        C_Lambda, ``kernel.mean_projection(d)`` or a bound on it; the paper takes 1/sigma for the Gaussian. Infinite
        for frequencies without a mean (Laplace, stable with alpha = 1, Matern with nu <= 1/2).

    Returns
    -------
    float
        Infinite when C_Lambda is: no uniform bound applies to that kernel.

    Notes
    -----
    The supremum over a ball stands inside the expectation, so E|omega| is needed where the paper has C_Lambda:
    `uniform_features_corrected`.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Proposition 5.

    Examples
    --------
    >>> import math
    >>> from lowtide.theory import uniform_features_printed
    >>> round(uniform_features_printed(0.1, 5, lipschitz=(4 / math.pi, 1.0), mean_projection=1.0))
    373588
    """
    f, g = lipschitz
    return _uniform("uniform_features_printed", error, dimension, 4 * mean_projection * (f + g + 2 * min(f, g)))


def uniform_features_corrected(
    error: float, dimension: int, lipschitz: tuple[float, float], mean_projection: float, mean_norm: float
) -> float:
    """Features for a uniform error over the unit ball, with the proof of Proposition 5 repaired.

    128 eps^-2 H(eps/c), c = 4[(L_f + L_g) E|omega| + 2 min(L_f, L_g) C_Lambda], failure at most
    `uniform_failure_corrected`.

    Parameters
    ----------
    error : float
        eps, above 0.
    dimension : int
        d of the unit ball.
    lipschitz : (float, float)
        Mean Lipschitz constants L_f and L_g.
    mean_projection : float
        C_Lambda, ``kernel.mean_projection(d)``.
    mean_norm : float
        E|omega|, ``kernel.mean_frequency_norm(d)``; sqrt(d) times larger than C_Lambda for the Gaussian.

    Returns
    -------
    float
        Infinite when either constant is (Laplace, stable with alpha = 1, Matern with nu <= 1/2): frequencies without
        a mean move a small ball arbitrarily far, so no uniform bound of this kind applies.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Proposition 5, corrected.

    Examples
    --------
    >>> import math
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import uniform_features_corrected
    >>> k = Gaussian()
    >>> m = uniform_features_corrected(0.1, 5, (4 / math.pi, 1.0), k.mean_projection(5), k.mean_frequency_norm(5))
    >>> round(m)
    399701
    """
    f, g = lipschitz
    constant = 4 * ((f + g) * mean_norm + 2 * min(f, g) * mean_projection)
    return _uniform("uniform_features_corrected", error, dimension, constant)


def uniform_failure_printed(n_features: float, error: float) -> float:
    """Failure probability that Proposition 5 states: 3 exp(-m eps^2/64), at most 1.

    Parameters
    ----------
    n_features : float
        m, at least the count of `uniform_features_printed`.
    error : float
        eps.

    Returns
    -------
    float
        The union bound over pairs is counted once too few: `uniform_failure_corrected`.

    Examples
    --------
    >>> from lowtide.theory import uniform_failure_printed
    >>> uniform_failure_printed(400_000, 0.1) < 1e-26
    True
    """
    return min(1.0, 3 * math.exp(-n_features * error**2 / 64))


def uniform_failure_corrected(n_features: float, error: float) -> float:
    """Failure probability of the corrected Proposition 5: 4 exp(-m eps^2/64), at most 1.

    Parameters
    ----------
    n_features : float
        m, at least the count of `uniform_features_corrected`.
    error : float
        eps.

    Returns
    -------
    float
        A probability.

    Examples
    --------
    >>> from lowtide.theory import uniform_failure_corrected
    >>> uniform_failure_corrected(400_000, 0.1) < 1e-26
    True
    """
    return min(1.0, 4 * math.exp(-n_features * error**2 / 64))


def corollary3_features_printed(error: float, dimension: int, mean_projection: float) -> float:
    """Features for a uniform error of the one-bit estimate (pi/2) q cos over the unit ball, Corollary 3 as printed.

    32 pi^2 eps^-2 H(eps/((8 + 6 pi) C_Lambda)), failure 3 exp(-m eps^2/(16 pi^2)). The constants follow from
    Proposition 5 as printed, with its gap.

    Parameters
    ----------
    error : float
        eps, above 0.
    dimension : int
        d of the unit ball.
    mean_projection : float
        C_Lambda; the paper takes 1/sigma for the Gaussian.

    Returns
    -------
    float
        Infinite when C_Lambda is.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Corollary 3.

    Examples
    --------
    >>> from lowtide.theory import corollary3_features_printed
    >>> round(corollary3_features_printed(0.1, 5, mean_projection=1.0))
    992936
    """
    eps = check_positive("corollary3_features_printed", "error", error)
    if math.isinf(mean_projection):
        return math.inf
    radius = eps / ((8 + 6 * math.pi) * mean_projection)
    return 32 * math.pi**2 / eps**2 * unit_ball_entropy(dimension, radius)


def _uniform(owner: str, error: float, dimension: int, constant: float) -> float:
    """Return 128 eps^-2 H(eps/c) of the unit ball."""
    eps = check_positive(owner, "error", error)
    return math.inf if math.isinf(constant) else 128 / eps**2 * unit_ball_entropy(dimension, eps / constant)


def _probability(owner: str, value: float) -> float:
    """Return a failure probability in (0, 1]."""
    check_positive(owner, "failure", value)
    return check_interval(owner, "failure", value, 0.0, 1.0)
