"""Total masses of complex measures: shift-, sinh- and cosh-Gaussian in closed form, others by least squares.

Against the normal law N(0, I/sigma^2) these measures are functions of one normal variable u along the shift, so a mass
is an expectation over u: E|cos(su)|, E|sin(su)|, with s the length of the shift in bandwidths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail

Floats = NDArray[np.float64]
# Below this s the lobes of one sign are so far apart that the closed form of a single one is exact in double precision.
_SMALL = 0.5
# Where 2 k^2 s^2 passes 49 * 2 a term is below 1e-42.
_REACH = 7.0
# exp(s^2/2) of sinh and cosh must stay well within float32, in which features are kept.
_LARGEST = 12.0


@dataclass(frozen=True)
class Masses:
    """Total masses of the parts of a complex measure.

    Parameters
    ----------
    positive, negative : float
        m_R+ and m_R-, of the real part; their difference is k(0).
    imaginary : float
        m_I+, of the positive imaginary part; the negative one has the same.

    Examples
    --------
    >>> Masses(0.6, 0.1, 0.2).total
    1.1
    """

    positive: float
    negative: float
    imaginary: float

    @property
    def total(self) -> float:
        """Total mass m_R+ + m_R- + 2 m_I+."""
        return self.positive + self.negative + 2.0 * self.imaginary


def gauss_trig_segment(s: float, a: float, b: float) -> complex:
    """Return the integral of e^{isu} phi(u) over [a, b], phi the standard normal density: cosine and i times sine.

    e^{-s^2/2} [Phi(b - is) - Phi(a - is)], through the scaled complementary error function: no overflow, and tails keep
    their relative accuracy.

    Parameters
    ----------
    s : float
        Frequency.
    a, b : float
        Limits, a <= b; may be infinite.

    Returns
    -------
    complex

    Examples
    --------
    >>> value = gauss_trig_segment(1.2, 0.3, 1.7)
    >>> round(value.real, 10), round(value.imag, 10)
    (0.1608150789, 0.258669028)
    """
    if not a <= b:
        raise fail("gauss_trig_segment", "a <= b must hold", (a, b))
    if b <= 0:  # mirrored, so that both tails are small
        return complex(np.conj(_upper_tail(s, -b) - _upper_tail(s, -a)))
    return _upper_tail(s, a) - _upper_tail(s, b)


def _upper_tail(s: float, a: float) -> complex:
    """Return the integral of e^{isu} phi(u) from a to infinity."""
    if math.isinf(a):
        return 0j if a > 0 else complex(math.exp(-s * s / 2))
    if a < 0:
        return complex(math.exp(-s * s / 2) - np.conj(_upper_tail(s, -a)))
    return complex(0.5 * np.exp(-a * a / 2 + 1j * a * s) * scipy.special.wofz((s + 1j * a) / math.sqrt(2)))


def mean_abs_cos(s: float) -> float:
    """Return E|cos(su)| over a standard normal u: 2/pi + (4/pi) sum_k (-1)^{k+1} e^{-2k^2s^2}/(4k^2-1).

    Parameters
    ----------
    s : float
        Any number.

    Examples
    --------
    >>> round(mean_abs_cos(1.0), 12)
    0.694029376108
    """
    s = abs(float(s))
    if s < _SMALL:
        return math.exp(-s * s / 2) + 2.0 * _negative_lobes(s)
    k = np.arange(1, math.ceil(_REACH / s) + 1)
    return float(2 / math.pi + 4 / math.pi * np.sum(-((-1.0) ** k) * np.exp(-2.0 * (k * s) ** 2) / (4.0 * k * k - 1)))


def mean_abs_sin(s: float) -> float:
    """Return E|sin(su)| over a standard normal u: 2/pi - (4/pi) sum_k e^{-2k^2s^2}/(4k^2-1).

    Below s = 0.3 it is (2/sqrt pi) Dawson(s/sqrt 2): the sine changes sign past |u| = 10 only.

    Parameters
    ----------
    s : float
        Any number.

    Examples
    --------
    >>> round(mean_abs_sin(1.0), 12)
    0.579153218723
    """
    s = abs(float(s))
    if s < 0.3:
        return float(2 / math.sqrt(math.pi) * scipy.special.dawsn(s / math.sqrt(2)))
    k = np.arange(1, math.ceil(_REACH / s) + 1)
    return float(2 / math.pi - 4 / math.pi * np.sum(np.exp(-2.0 * (k * s) ** 2) / (4.0 * k * k - 1)))


def shift_masses(s: float) -> Masses:
    """Return the masses of the shift-Gaussian measure e^{i r.w} N(dw), s = |r|/sigma; cosh-Gaussian: times e^{s^2/2}.

    m_R+- = (E|cos(su)| +- e^{-s^2/2})/2, m_I+ = E|sin(su)|/2. For small s the negative mass, a difference of nearly
    equal numbers, is summed over the lobes where the cosine is negative instead.

    Parameters
    ----------
    s : float
        Length of the shift in bandwidths.

    Examples
    --------
    >>> shift_masses(0.35).negative
    5.1296062947...e-07
    """
    s = abs(float(s))
    if s < _SMALL:
        negative = _negative_lobes(s)
        positive = math.exp(-s * s / 2) + negative
    else:
        absolute, mean = mean_abs_cos(s), math.exp(-s * s / 2)
        positive, negative = (absolute + mean) / 2, (absolute - mean) / 2
    return Masses(positive, negative, mean_abs_sin(s) / 2)


def sinh_masses(s: float) -> Masses:
    """Return the masses of the sinh-Gaussian measure (1 - i e^{s^2/2} sin(su)) N(dw), s = sigma |beta|.

    They are 1, 0 and e^{s^2/2} E|sin(su)|/2.

    Parameters
    ----------
    s : float
        At most 12.

    Examples
    --------
    >>> round(sinh_masses(1.5).imaginary, 10)
    0.9732021624
    """
    return Masses(1.0, 0.0, amplitude(s) * mean_abs_sin(s) / 2)


def amplitude(s: float) -> float:
    """Return e^{s^2/2}; refuse an s at which features would leave float32."""
    if abs(s) > _LARGEST:
        remedy = "The kernel grows as exp(s^2/2): lower beta or the bandwidth."
        raise fail("sinh and cosh kernels", f"s = bandwidth * |beta| must be at most {_LARGEST:g}", float(s), remedy)
    return math.exp(s * s / 2)


def _negative_lobes(s: float) -> float:
    """Return the integral of max(-cos(su), 0) phi(u), lobe by lobe, without cancellation."""
    if s == 0.0:
        return 0.0
    quarter = math.pi / (2 * s)
    lobes = [-gauss_trig_segment(s, k * quarter, (k + 2) * quarter).real for k in (1, 5, 9)]
    return 2.0 * max(sum(lobes), 0.0)


def fit_masses(
    K: ArrayLike,
    positive: ArrayLike,
    negative: ArrayLike,
    imaginary: ArrayLike,
    value_at_zero: float,
    printed: bool = False,
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
    printed : bool, default=False
        Whether the last term has the sign that it has in the paper, with which a skew part is not found.

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
        got = [np.shape(G) for G in (K, positive, negative, imaginary)]
        raise fail("fit_masses", "the four matrices must have one shape", got)
    zero = float(value_at_zero)
    known = zero * (plus if zero >= 0 else minus)
    both = plus - minus if np.any(minus) and np.any(plus) else np.zeros_like(plus)
    sign = 1.0 if printed else -1.0
    solution, _ = scipy.optimize.nnls(np.stack([both, sign * 2.0 * skew], axis=1), target - known)
    common, imaginary_mass = float(solution[0]), float(solution[1])
    return Masses(max(zero, 0.0) + common, max(-zero, 0.0) + common, imaginary_mass)
