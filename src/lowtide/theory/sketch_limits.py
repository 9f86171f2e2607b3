"""How far the kernel of a sketch is from the exact one: its largest bias, the bits that keep it near, and bounds.

Theorem 2 bounds the kernel from the distortions of its sine and cosine; Theorem 3 counts projections from their
smoothness. Gamma is scikit-learn's throughout, half the square of the paper's.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_interval, check_positive, fail
from lowtide.quantizers import LineSteps, line_quantizer_by_name
from lowtide.theory.sketch import as_steps, check_correlations, coded_fourier_moments, paper_gamma

Floats = NDArray[np.float64]

_MOST_BITS = 8
_EVERYWHERE = (-1.0, 1.0)


def sketch_bias(steps: int | LineSteps, gamma: float, *, correlations: tuple[float, float] = _EVERYWHERE) -> float:
    """Return the largest distance of a sketch's kernel from exp(-gamma |x-y|^2) over all correlations of rows.

    Parameters
    ----------
    steps : int or LineSteps
        The quantizer; 1 to 8 are the bits of Lloyd-Max.
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
    steps = as_steps("sketch_bias", steps)
    gamma = check_positive("sketch_bias", "gamma", gamma)
    low, high = (float(r) for r in check_correlations("sketch_bias", correlations))
    if not low < high:
        raise fail("sketch_bias", "correlations must be (low, high) with low < high", correlations)
    return _largest(steps, gamma, low, high)


def sketch_bits_needed(
    gamma: float, error: float, *, correlations: tuple[float, float] = _EVERYWHERE, quantizer: str = "lloyd_max"
) -> int:
    """Return the fewest bits whose kernel stays within `error` of exp(-gamma |x-y|^2) at all correlations.

    Parameters
    ----------
    gamma : float
        Scikit-learn's, above 0; half the square of the paper's. To serve a grid of them give the largest.
    error : float
        Largest bias allowed, above 0.
    correlations : (float, float), default (-1, 1)
        The range that can occur. Rows without negative entries have (0, 1).
    quantizer : str, default="lloyd_max"
        The name of one that takes bits; "uniform" is the other.

    Returns
    -------
    int
        1 to 8; an error when 8 are too few.

    Notes
    -----
    This is about the mean. The spread around it (the variance of `fourier_moments` over k) is nearly the same for all
    bits.

    Examples
    --------
    >>> from lowtide.theory import sketch_bits_needed
    >>> [sketch_bits_needed(gamma, 0.1) for gamma in (0.05, 0.5, 2.0, 8.0)]
    [1, 2, 3, 4]
    """
    error = check_positive("sketch_bits_needed", "error", error)
    for bits in range(1, _MOST_BITS + 1):
        steps = line_quantizer_by_name(quantizer, bits).steps()
        if sketch_bias(steps, gamma, correlations=correlations) <= error:
            return steps.bits
    must = f"gamma must be one at which {_MOST_BITS} bits keep the bias within {error}"
    raise fail("sketch_bits_needed", must, gamma, "Use RandomFeatures, whose codes are made for one gamma.")


@lru_cache(maxsize=4096)
def _largest(steps: LineSteps, gamma: float, low: float, high: float) -> float:
    """The maximum on a grid of angles, where the bias is smooth, and then within the best cell."""
    kernel = coded_fourier_moments(steps, gamma)

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
    best = scipy.optimize.minimize_scalar(lambda angle: -float(bias(angle)), bounds=ends, method="bounded")
    return max(float(values[i]), -float(best.fun))


class SketchBounds(NamedTuple):
    """What `sketch_bounds` returns."""

    sine_distortion: float
    cosine_distortion: float
    sine_covariance: float
    cosine_covariance: float
    cosine_offset: float
    kernel: float
    lower: float
    upper: float


def sketch_bounds(steps: int | LineSteps, gamma: float, rho: float) -> SketchBounds:
    """Return bounds on the kernel of a sketch around the exact kernel, from Theorem 2 as corrected.

    Parameters
    ----------
    steps : int or LineSteps
        The quantizer; 1 to 8 are the bits of Lloyd-Max.
    gamma : float
        Scikit-learn's, above 0; half the square of the paper's.
    rho : float
        Correlation of the rows, in [-1, 1].

    Returns
    -------
    sine_distortion, cosine_distortion : float
        D_s = E(sin Q - sin z)^2 and D_c likewise; z is N(0, 2 gamma), Q its quantizer.
    sine_covariance, cosine_covariance : float
        zeta_s = Cov(sin Q - sin z, sin z) and zeta_c likewise.
    cosine_offset : float
        Delta_c = E[cos Q] - E[cos z].
    kernel : float
        The exact kernel.
    lower, upper : float
        Bounds on K_Q, clipped to [-1, 1].

    Notes
    -----
    As printed the theorem takes roots of negative covariances. The bounds are loose for few bits: use the mean of
    `fourier_moments`, which is exact, and `sketch_bias`.

    References
    ----------
    One-Sketch (Li and Li), Theorem 2, corrected.

    Examples
    --------
    >>> from lowtide.theory import fourier_moments, sketch_bounds
    >>> bounds = sketch_bounds(4, 0.5, 0.9)
    >>> round(bounds.lower, 4), float(fourier_moments(4, 0.5).mean(0.9).round(4)), round(bounds.upper, 4)
    (0.8793, 0.8986, 0.9151)
    """
    quantizer = as_steps("sketch_bounds", steps)
    g = paper_gamma("sketch_bounds", gamma)
    rho, g2 = check_interval("sketch_bounds", "rho", rho, -1.0, 1.0), g**2
    phase, cells = g * quantizer.values, _cell_transforms(quantizer.borders, g)
    (v_s, v_c), (V_s, V_c) = _variances(g2), _variances(rho**2 * g2)
    D_s, Delta_s, zeta_s = _error_moments(quantizer, np.sin(phase), cells.imag, v_s, 0.0)
    D_c, Delta_c, zeta_c = _error_moments(quantizer, np.cos(phase), cells.real, v_c, math.exp(-g2 / 2))
    near, far = math.exp(-g2 * (1 - rho) ** 2 / 2), math.exp(-g2 * (1 + rho) ** 2 / 2)
    covariance_s, covariance_c = (near - far) / 2, (near + far) / 2 - math.exp(-g2 * (1 + rho**2) / 2)
    # The known part of E[e_s sin(rho z)] + Cov(e_c, cos(rho z)), and how far the unknown part can go.
    sine = _partial_correlation(D_s - Delta_s**2, zeta_s, v_s, covariance_s, V_s)
    cosine = _partial_correlation(D_c - Delta_c**2, zeta_c, v_c, covariance_c, V_c)
    middle, spread = sine[0] + cosine[0] + math.exp(-(rho**2) * g2 / 2) * Delta_c, sine[1] + cosine[1]
    kernel, damping = math.exp(-g2 * (1 - rho)), 2 * math.exp(-g2 * (1 - rho**2) / 2)
    lower = kernel - (D_s + D_c) + damping * (middle - spread)
    upper = kernel + (D_s + D_c) + damping * (middle + spread)
    return SketchBounds(D_s, D_c, zeta_s, zeta_c, Delta_c, kernel, max(-1.0, lower), min(1.0, upper))


def _error_moments(
    quantizer: LineSteps, values: Floats, cells: Floats, variance: float, center: float
) -> tuple[float, float, float]:
    """Return E e^2, E e and Cov(e, f(z)) of e = f(Q) - f(z), f(z) of this mean and variance, in closed form.

    `values` are those of f at the levels, `cells` the integrals of f(z) over the cells.
    """
    product, square = float(values @ cells), variance + center**2
    offset = float(quantizer.mean(values)) - center
    return float(quantizer.mean(values**2)) - 2 * product + square, offset, product - square - offset * center


def _variances(g2: float) -> tuple[float, float]:
    """Variances of sin z and cos z for z of variance g2."""
    return -math.expm1(-2 * g2) / 2, math.expm1(-g2) ** 2 / 2


def _cell_transforms(borders: Floats, gamma: float) -> NDArray[np.complex128]:
    """Integral of exp(i gamma u) phi(u) over each cell; no overflow at any gamma.

    Beyond t >= 0 it is exp(i gamma t - t^2/2) w((gamma + i t)/sqrt2)/2, w the Faddeeva function; below t <= 0 the
    conjugate of that beyond -t.
    """

    def beyond(t: Floats) -> NDArray[np.complex128]:
        return np.asarray(np.exp(1j * gamma * t - t**2 / 2) * scipy.special.wofz((gamma + 1j * t) / math.sqrt(2)) / 2)

    low, high = beyond(-borders[borders <= 0.0]).conj(), beyond(borders[borders > 0.0])
    middle = math.exp(-(gamma**2) / 2) - low[-1:].sum() - high[:1].sum()
    return np.concatenate([np.diff(low, prepend=0.0), [middle], -np.diff(high, append=0.0)])


def _partial_correlation(D: float, zeta: float, v: float, covariance: float, V: float) -> tuple[float, float]:
    """Middle and half width of Cov(e, s) given Var e = D, Cov(e, z) = zeta, Var z = v, Cov(z, s), Var s = V."""
    if min(D, v, V) <= 0:  # below the rounding of the distortions, or rho = 0
        return 0.0, 0.0
    first, second = zeta / math.sqrt(D * v), covariance / math.sqrt(v * V)
    root = math.sqrt(max(0.0, 1 - first**2) * max(0.0, 1 - second**2))
    scale = math.sqrt(D * V)
    return first * second * scale, root * scale


def sketch_lipschitz(steps: int | LineSteps, gamma: float, printed: bool = False) -> float:
    """Return a bound on the mean Lipschitz constant of the quantized sine and cosine.

    (2/(g sqrt(2 pi))) max_f sum_i |f(g mu_{i+1}) - f(g mu_i)|, f = sin, cos and g = sqrt(2 gamma); as printed,
    4 (2^b - 1)/(g sqrt(2 pi)).

    Parameters
    ----------
    steps : int or LineSteps
        The quantizer; 1 to 8 are the bits of Lloyd-Max.
    gamma : float
        Scikit-learn's, above 0.
    printed : bool, default=False
        Whether to take the bound of Proposition 1 as printed: valid too, up to 20 times larger for 4 bits and a small
        gamma.

    Returns
    -------
    float
        A bound on E sup_{|r| <= delta} |f(Q(t + r)) - f(Q(t))|/delta for all delta, t of variance 2 gamma. A jump
        counts with its height, where Proposition 1 counts 2.

    References
    ----------
    One-Sketch (Li and Li), Definition 2 and Proposition 1; the sharper bound is derived.

    Examples
    --------
    >>> from lowtide.theory import sketch_lipschitz
    >>> round(sketch_lipschitz(3, 0.125), 6), round(sketch_lipschitz(1, 0.5, printed=True), 6)
    (2.808721, 1.595769)
    """
    steps = as_steps("sketch_lipschitz", steps)
    g = paper_gamma("sketch_lipschitz", gamma)
    phase = g * steps.values
    variation = max(float(np.abs(np.diff(f)).sum()) for f in (np.sin(phase), np.cos(phase)))
    return (4 * len(steps.borders) if printed else 2 * variation) / (g * math.sqrt(2 * math.pi))


def sketch_features_printed(error: float, dimension: int, gamma: float, lipschitz: float) -> float:
    """Return the projections of Theorem 3, as printed, for a uniform error over the sphere.

    (512 d/eps^2) log(64 L g/eps + 1), g = sqrt(2 gamma), which cancels with the constant of Proposition 1.

    Parameters
    ----------
    error : float
        eps, above 0, around the mean of `fourier_moments`.
    dimension : int
        d, dimension of the rows.
    gamma : float
        Scikit-learn's, above 0.
    lipschitz : float
        L, from `sketch_lipschitz`.

    Returns
    -------
    float
        Number of projections k, not rounded: millions. They fail with `sketch_failure_printed`. The proof has the gap
        of the printed `Guarantee`; plan with the variance of `fourier_moments`.

    References
    ----------
    One-Sketch (Li and Li), Theorem 3.

    Examples
    --------
    >>> from lowtide.theory import sketch_features_printed, sketch_lipschitz
    >>> round(sketch_features_printed(0.1, 10, 0.5, sketch_lipschitz(1, 0.5, printed=True)))
    3548059
    """
    eps = check_positive("sketch_features_printed", "error", error)
    d = check_integer("sketch_features_printed", "dimension", dimension, low=1)
    L = check_positive("sketch_features_printed", "lipschitz", lipschitz)
    return 512 * d / eps**2 * math.log1p(64 * L * paper_gamma("sketch_features_printed", gamma) / eps)


def sketch_failure_printed(n_projections: float, error: float) -> float:
    """Return the probability that Theorem 3 fails, as printed: 4 exp(-k eps^2/256), at most 1.

    The union bound of its proof would make it 6 exp(-k eps^2/256).

    Parameters
    ----------
    n_projections : float
        k, at least the count of `sketch_features_printed`.
    error : float
        eps, above 0.

    Returns
    -------
    float

    References
    ----------
    One-Sketch (Li and Li), Theorem 3.

    Examples
    --------
    >>> from lowtide.theory import sketch_failure_printed
    >>> round(sketch_failure_printed(200_000, 0.1), 6)
    0.001619
    """
    eps = check_positive("sketch_failure_printed", "error", error)
    return min(1.0, 4 * math.exp(-n_projections * eps**2 / 256))
