"""How many features guarantee an error: for one pair, for N points, and uniformly over a set.

The uniform counts are worst cases, 10^5 and up. For planning use `features_needed`, which takes the exact variance.
Bounds are real numbers; round up. Periodic features have sup-norm 1 (class PF of the paper), and enter by their mean
Lipschitz constants, smoothness after averaging over the phase, which are finite for maps with jumps:

    L_f = sup over delta of (1/delta) E_t sup_{|r| <= delta} |f(t+r) - f(t)|.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lowtide._checks import check_integer, check_interval, check_option, check_positive, fail
from lowtide.kernels import MeasureKernel
from lowtide.theory.variances import lloyd_max_table

# The cosine's is the maximum over d of (2/pi)(sin d + 1 - cos d)/d, at d = 1.17504...
_LIPSCHITZ = {"cosine": 0.8328323608303538, "exponential": 1.0, "square_wave_gap": 4 / math.pi + 8 / math.pi**2}
# Factor c and divisor n of the failure probability c exp(-m eps^2/n).
_FAILURES = {"corrected": (4, 64), "printed": (3, 64), "sketch": (4, 256)}


def pair_features(error: float, failure: float, n_points: int = 1, complex_maps: bool = False) -> float:
    """Return how many features keep one pair, or all pairs of N points, within `error` but for a probability.

    Hoeffding: (2/eps^2) ln(2/delta) for real maps, (4/eps^2) ln(4/delta) for complex ones; delta/N^2 for N points.

    Parameters
    ----------
    error : float
        eps, above 0.
    failure : float
        delta, in (0, 1]: probability of a larger error.
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


def uniform_features(
    error: float,
    dimension: int,
    lipschitz: tuple[float, float],
    mean_projection: float,
    mean_norm: float | None = None,
) -> float:
    """Return how many features keep the error of every pair of points in the unit ball below `error`.

    128 eps^-2 H(eps/c), H(eta) = d log(1 + 2/eta) a bound on the log of the number of balls of radius eta that cover
    the unit ball, and c = 4[(L_f + L_g) E|omega| + 2 min(L_f, L_g) C_Lambda]. They fail with `uniform_failure`.

    Parameters
    ----------
    error : float
        eps, above 0.
    dimension : int
        d of the unit ball.
    lipschitz : (float, float)
        Mean Lipschitz constants L_f and L_g, from `mean_lipschitz`.
    mean_projection : float
        C_Lambda, ``kernel.mean_projection(d)`` or a bound on it; the paper takes 1/sigma for the Gaussian.
    mean_norm : float, optional
        E|omega|, ``kernel.mean_frequency_norm(d)``; sqrt(d) times larger than C_Lambda for the Gaussian. Without it
        C_Lambda stands in its place, as Proposition 5 is printed: there the supremum over a ball is moved out of the
        expectation, so its proof has a gap.

    Returns
    -------
    float
        Infinite when a constant is (Laplace, stable with alpha = 1, Matern with nu <= 1/2): frequencies without a mean
        move a small ball arbitrarily far, so no uniform bound of this kind applies.

    Notes
    -----
    The one-bit estimate (pi/2) q cos multiplies features of sup-norm 1 by pi/2: give 2 eps/pi and L = (4/pi, 1). As
    printed that is Corollary 3, 32 pi^2 eps^-2 H(eps/((8 + 6 pi) C_Lambda)), failure 3 exp(-m eps^2/(16 pi^2)).

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Proposition 5 and Corollary 3, corrected; as printed without `mean_norm`.

    Examples
    --------
    >>> import math
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import uniform_features
    >>> k = Gaussian()
    >>> round(uniform_features(0.1, 5, (4 / math.pi, 1.0), k.mean_projection(5), k.mean_frequency_norm(5)))
    399701
    >>> round(uniform_features(0.1, 5, (4 / math.pi, 1.0), mean_projection=1.0))
    373588
    """
    eps = check_positive("uniform_features", "error", error)
    f, g = lipschitz
    norm = mean_projection if mean_norm is None else mean_norm
    constant = 4 * ((f + g) * norm + 2 * min(f, g) * mean_projection)
    d = check_integer("uniform_features", "dimension", dimension, low=1)
    return math.inf if math.isinf(constant) else 128 / eps**2 * d * math.log1p(2 * constant / eps)


def uniform_failure(n_features: float, error: float, bound: str = "corrected") -> float:
    """Return the probability that a uniform bound fails: 4 exp(-m eps^2/64), at most 1.

    Parameters
    ----------
    n_features : float
        m, at least the count of `uniform_features` (of `sketch_features_printed` for "sketch").
    error : float
        eps, above 0.
    bound : {"corrected", "printed", "sketch"}, default="corrected"
        The corrected Proposition 5; as printed, 3 exp(-m eps^2/64), which counts the union bound over pairs once too
        few; or Theorem 3 of One-Sketch as printed, 4 exp(-m eps^2/256), where the proof's union bound would make it 6.

    Returns
    -------
    float

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Proposition 5; One-Sketch (Li and Li), Theorem 3.

    Examples
    --------
    >>> from lowtide.theory import uniform_failure
    >>> uniform_failure(400_000, 0.1) < 1e-26
    True
    >>> round(uniform_failure(200_000, 0.1, bound="sketch"), 6)
    0.001619
    """
    eps = check_positive("uniform_failure", "error", error)
    factor, divisor = _FAILURES[check_option("uniform_failure", "bound", bound, tuple(_FAILURES))]
    return min(1.0, factor * math.exp(-n_features * eps**2 / divisor))


def measure_beta(dimension: int) -> float:
    """Return the constant beta_d = ((d/2)^{-d/(d+2)} + (d/2)^{2/(d+2)}) 2^{(6d+2)/(d+2)}: 12 at d = 1, at most 66.

    Parameters
    ----------
    dimension : int
        d, at least 1.

    Examples
    --------
    >>> round(measure_beta(1), 10), round(measure_beta(64), 10)
    (12.0, 66.0)
    """
    d = check_integer("measure_beta", "dimension", dimension, 1)
    half = d / 2
    return (half ** (-d / (d + 2)) + half ** (2 / (d + 2))) * 2 ** ((6 * d + 2) / (d + 2))


@dataclass(frozen=True)
class MeasureBound:
    """What `measure_bound` returns."""

    total_mass: float
    second_moment: float
    alpha: float
    count: float


def measure_bound(
    kernel: MeasureKernel, n_features: int, diameter: float, error: float, failure: float
) -> MeasureBound:
    """Return how many frequencies a block keep the three-block form within an error, uniformly over data of a diameter.

    M >= 4 (d+2) |mu|^2 eps^-2 (log(beta_d/delta) + (2d/(d+2)) log(alpha l/eps)).

    Parameters
    ----------
    kernel : MeasureKernel
        In closed form.
    n_features : int
        d.
    diameter : float
        l, of the rows; their differences, up to 2 l, are already counted.
    error : float
        eps, above 0.
    failure : float
        delta, in (0, 1].

    Returns
    -------
    total_mass : float
        |mu| = m_R+ + m_R- + 2 m_I+.
    second_moment : float
        E|w|^2 + E|zeta|^2 + 2 E|nu|^2 over the three blocks; one without mass counts 0.
    alpha : float
        Square root of (m_R+^2 + m_R-^2 + 2 m_I+^2) times that.
    count : float
        Frequencies a block, not rounded.

    Notes
    -----
    A worst case: tens of thousands of frequencies for an error of 0.1, where `measure_variance` asks for hundreds.

    References
    ----------
    AsK-RFF (He, He, Liu and Huang), Proposition 6, beta_d corrected.

    Examples
    --------
    >>> from lowtide.kernels import ShiftGaussian
    >>> bound = measure_bound(ShiftGaussian(0.35), n_features=4, diameter=2.0, error=0.1, failure=0.05)
    >>> math.ceil(bound.count), round(bound.second_moment, 6)
    (48574, 24.262783)
    """
    d = check_integer("measure_bound", "n_features", n_features, 1)
    length = check_positive("measure_bound", "diameter", diameter)
    eps = check_positive("measure_bound", "error", error)
    delta = _probability("measure_bound", failure)
    blocks = kernel.measures(d)
    # The imaginary block has mass 2 m_I: it counts twice its moment and, squared and halved, 2 m_I^2.
    twice = [2.0 if block.turn == 0.25 else 1.0 for block in blocks]
    total = sum(block.mass for block in blocks)
    moment = sum(n * block.frequencies.second_moment(d) for n, block in zip(twice, blocks))
    squares = sum(block.mass**2 / n for n, block in zip(twice, blocks))
    alpha = math.sqrt(squares * moment)
    logs = math.log(measure_beta(d) / delta) + 2 * d / (d + 2) * math.log(alpha * length / eps)
    return MeasureBound(total, moment, alpha, 4 * (d + 2) * total**2 / eps**2 * logs)


def mean_lipschitz(function: str | ArrayLike, *, bits: int = 1, order: int = 1) -> float:
    """Return the mean Lipschitz constant of a periodic map.

    Parameters
    ----------
    function : array-like of float or complex, or {"cosine", "exponential", "square_wave_gap", "lloyd_max"}
        The values of a piecewise-constant map in the order of the phase over one period, (n,), the last one followed by
        the first: its total variation over a period, divided by pi; [1, -1] is the square wave q, 4/pi. Or a name.
        cos(k t): |k| times the maximum over d of (2/pi)(sin d + 1 - cos d)/d, 0.83283 (the paper uses |k|, a valid
        bound). exp(i k t): |k|. q - (4/pi) cos: 4/pi + 8/pi^2, what Corollary 1 needs to compare the one-bit estimate
        with the full one (the difference of the normalized maps (pi/2) q - 2 cos is not of sup-norm 1 and must be
        divided by pi/2 first). Lloyd-Max cosine: 4 mu_max/pi, mu_max its largest level.
    bits : int, default=1
        1 to 8, of "lloyd_max". One bit has levels 2/pi; the square wave has height 1.
    order : int, default=1
        k, not 0, of the harmonic: every constant grows as |k|.

    Returns
    -------
    float
        The small-delta limit, but for the cosine; values on a grid of delta fall from it.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Proposition 6 for the square wave, Corollary 1; the rest is derived.

    Examples
    --------
    >>> import math
    >>> from lowtide.theory import mean_lipschitz
    >>> mean_lipschitz([1, -1]) == 4 / math.pi
    True
    >>> round(mean_lipschitz("cosine"), 6), round(mean_lipschitz("cosine", order=-3), 6)
    (0.832832, 2.498497)
    >>> round(mean_lipschitz("lloyd_max", bits=2), 6)
    1.087445
    """
    if order == 0:
        raise fail("mean_lipschitz", "order must not be 0 (a constant has no period)", order)
    k = abs(check_integer("mean_lipschitz", "order", order, low=-(2**31), high=2**31))
    if isinstance(function, str):
        check_option("mean_lipschitz", "function", function, (*_LIPSCHITZ, "lloyd_max"))
        if function == "lloyd_max":
            return k * 4 * float(lloyd_max_table(bits).levels[-1]) / math.pi
        return k * _LIPSCHITZ[function]
    steps = np.asarray(function)
    if steps.ndim != 1 or steps.size == 0:
        raise fail("mean_lipschitz", "the values of a map must be a non-empty list of numbers", function)
    return k * float(np.sum(np.abs(np.diff(steps, append=steps[:1])))) / math.pi


def _probability(owner: str, value: float) -> float:
    """Return a failure probability in (0, 1]."""
    return check_interval(owner, "failure", check_positive(owner, "failure", value), 0.0, 1.0)
