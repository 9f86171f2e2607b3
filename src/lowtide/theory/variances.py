"""Variance per frequency of the estimators of a kernel through periodic features and through blocks of a measure.

Every estimator that is unbiased because one side is a full cosine (or a full sin/cos pair) has the same form,

    variance = constant + slope kappa2 - kappa^2,        kappa = kernel at x - y, kappa2 = kernel at 2(x - y),

because only the second harmonic of the squared features meets the full side. Divide by the number of independent
frequencies; orthogonal layouts add `layout_variance`.

A block of a measure estimates M E cos(w.Delta + theta(w)) by the mean over its frequencies. With
chi_k = E e^{ik(w.Delta + theta)}, one frequency has the variance

    V(Delta) = M^2 (1 + Re chi_2)/2 - (M Re chi_1)^2,

and independent blocks of p_b frequencies the variance sum_b V_b / p_b.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, check_option, fail
from lowtide.kernels import Kernel, MeasureBlock, MeasureKernel
from lowtide.quantizers import lloyd_max_arcsine
from lowtide.theory.pairs import HarmonicSeries

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class UnbiasedVariance:
    """Evaluate the variance constant + slope kappa2 - kappa^2 of one frequency."""

    constant: float
    slope: float

    def __call__(self, kappa: ArrayLike, kappa2: ArrayLike) -> Floats:
        """Return the variance from the kernel at x - y and at 2(x - y), elementwise."""
        k, k2 = np.asarray(kappa, dtype=np.float64), np.asarray(kappa2, dtype=np.float64)
        return np.asarray(self.constant + self.slope * k2 - k**2)

    def at(self, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
        """Return the variance at the distances (X's units, the kernel's own norm), elementwise.

        It is that of the full pair, which vanishes at 0, and what the estimator adds to it: nothing is lost near 0.
        """
        s = np.asarray(distance, dtype=np.float64)
        added = (self.constant - 0.5) + (self.slope - 0.5) * kernel.radial(2 * s, n_features)
        return np.asarray(kernel.cosine_variance(s, n_features) + added)


_FIXED = {
    "cosine": UnbiasedVariance(1.0, 0.5),
    "pair": UnbiasedVariance(0.5, 0.5),
    "complex": UnbiasedVariance(1.0, 0.0),
    "square_wave": UnbiasedVariance(math.pi**2 / 8, 0.0),
    "sign_pair": UnbiasedVariance(math.pi**2 / 16, math.pi / 8),
    "square_wave_complex": UnbiasedVariance(math.pi**2 / 4, 0.0),
}
_BY_BITS = ("phase", "lloyd_max", "lloyd_max_pair", "stochastic")


def unbiased_variance(estimator: str, bits: int = 1) -> UnbiasedVariance:
    """Return the variance per frequency of an estimator with one full side, by name.

    Parameters
    ----------
    estimator : str
        ``"cosine"`` 2 cos cos; ``"pair"`` full sin/cos; ``"complex"`` full exp(i.), complex variance;
        ``"square_wave"`` (pi/2) q cos, one bit; ``"sign_pair"`` signs of cos and sin against the full pair, two bits;
        ``"square_wave_complex"`` (pi/2) q exp(-i.), complex variance: its imaginary part is noise, drop it;
        ``"phase"``, ``"lloyd_max"``, ``"stochastic"`` with b bits a frequency, ``"lloyd_max_pair"`` with 2b.
    bits : int, default 1
        b, 1 to 8; used by the last four.

    Returns
    -------
    UnbiasedVariance
        Call it with (kappa, kappa2), or use its `at(kernel, distance, n_features)`; its `constant` is what distant
        points cost, its `slope` the weight of kappa2.

    Notes
    -----
    The square wave beats the full cosine when kappa2 > pi^2/4 - 2 and costs 23.4% more features as kappa tends to 0.
    The sign pair beats two square waves when kappa2 < (4/pi) kappa^2: always, for Gaussian and Laplace.

    References
    ----------
    Derived; estimators of Asymmetric RPF (Schellekens and Jacques).

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import unbiased_variance
    >>> float(unbiased_variance("square_wave").at(Gaussian(), 1.0, n_features=3).round(6))
    0.865821
    >>> float(unbiased_variance("phase", bits=3).at(Gaussian(), 1.0, n_features=3).round(6))
    0.222788
    """
    check_option("unbiased_variance", "estimator", estimator, (*_FIXED, *_BY_BITS))
    if estimator in _FIXED:
        return _FIXED[estimator]
    bits = check_integer("unbiased_variance", "bits", bits, low=1, high=8)
    if estimator == "phase":  # M phases against the full pair: Re exp(i(Q(t) - t'))/F_1
        M, twice = 2**bits, 2 * phase_F1(2**bits) ** 2
        return UnbiasedVariance(1 / twice, M / (2 * math.pi) * math.sin(2 * math.pi / M) / twice)
    if estimator == "stochastic":
        g = stochastic_coefficients(bits, 2)
        return UnbiasedVariance(2 * float(g[0]), float(g[1]))
    table = lloyd_max_table(bits)  # scale 1/F_1
    if estimator == "lloyd_max":
        return UnbiasedVariance(1 / (2 * table.F1), table.S2 / (2 * table.F1**2))
    return UnbiasedVariance(1 / (4 * table.F1), (table.S2 + table.P2) / (4 * table.F1**2))


def gap_variance(kappa2: ArrayLike) -> Floats:
    """Return the variance per frequency of (pi/2) q cos minus 2 cos cos, whose mean is 0: pi^2/8 - 1 - kappa2/6.

    Parameters
    ----------
    kappa2 : array-like of float
        Kernel at 2(x - y).

    Returns
    -------
    ndarray of float64
        What Corollary 1 bounds: how far the one-bit estimate is from the full one on the same frequencies.

    Examples
    --------
    >>> from lowtide.theory import gap_variance
    >>> float(gap_variance(0.0).round(4))
    0.2337
    """
    return np.asarray(math.pi**2 / 8 - 1 - np.asarray(kappa2, dtype=np.float64) / 6)


def stochastic_codes_variance(bits: int, kernel: Kernel, distance: ArrayLike, n_features: int) -> Floats:
    """Return the variance per cosine when both sides are stochastically rounded.

    4[g_0^2 + sum_n g_n^2 kappa(2ns)/2] - kappa^2, g_n the cosine coefficients of E[Q^2 | cos t] at frequency 2n.

    Parameters
    ----------
    bits : int
        b, 1 to 8.
    kernel : Kernel
        Any kernel.
    distance : array-like of float
        Distances s in X's units. The rounding of the two sides is taken as independent.
    n_features : int
        Dimension of X.

    Returns
    -------
    ndarray of float64
        Same shape as `distance`. One bit: 4 - kappa^2.

    References
    ----------
    Derived; the StocQ baseline of One-Sketch (Li and Li).

    Examples
    --------
    >>> from lowtide.kernels import Gaussian
    >>> from lowtide.theory import stochastic_codes_variance
    >>> float(stochastic_codes_variance(2, Gaussian(), 0.3, n_features=3).round(6))
    0.731284
    """
    g = stochastic_coefficients(bits)
    coefficients = np.zeros(2 * g.size - 1)
    coefficients[::2] = g**2  # 4 (g_n^2/2) kappa(2ns) is 2 c_2n kappa(2ns) with c_2n = g_n^2
    coefficients[0] = 4 * g[0] ** 2
    second = HarmonicSeries(coefficients)(kernel, distance, n_features)
    return np.asarray(second - kernel.radial(distance, n_features) ** 2)


@dataclass(frozen=True)
class LloydMaxTable:
    """What `lloyd_max_table` returns."""

    levels: Floats
    borders: Floats
    distortion: float
    F1: float
    S2: float
    P2: float


@cache
def lloyd_max_table(bits: int) -> LloydMaxTable:
    """Return levels, borders and moments of the b-bit Lloyd-Max quantizer of a dithered cosine.

    Parameters
    ----------
    bits : int
        1 to 8.

    Returns
    -------
    levels : ndarray of float64, shape (2^b,)
        Levels, ascending; for features sqrt2 cos multiply levels and borders by sqrt2.
    borders : ndarray of float64, shape (2^b - 1,)
        Borders between the cells, ascending.
    distortion : float
        E(cos U - Q)^2, U uniform; exact to 1e-12 like all that follow: integrals of cosines between the borders.
    F1 : float
        First Fourier coefficient, E[Q cos U] = E[Q^2] = 1/2 - distortion. 1/F1 is the unbiased scale.
    S2, P2 : float
        E[Q(cos U)^2 cos 2U] and E[Q(cos U) Q(sin U) sin 2U].

    References
    ----------
    Derived; the quantizer of LM-RFF in One-Sketch (Li and Li).

    Examples
    --------
    >>> from lowtide.theory import lloyd_max_table
    >>> table = lloyd_max_table(2)
    >>> round(table.distortion, 6), round(table.F1, 6), round(table.S2, 6)
    (0.020905, 0.479095, 0.192117)
    """
    bits = check_integer("lloyd_max_table", "bits", bits, low=1, high=8)
    levels, borders = lloyd_max_arcsine(bits)
    # Cells of t in (0, pi), cos falling: from the highest level down.
    edges = np.concatenate([[0.0], np.arccos(borders[::-1]), [math.pi]])
    value = levels[::-1]
    first = float(np.sum(value * np.diff(np.sin(edges)))) / math.pi
    second = float(np.sum(value**2 * np.diff(np.sin(2 * edges)))) / (2 * math.pi)
    return LloydMaxTable(levels, borders, 0.5 - first, first, second, _cross_moment(levels, borders))


def phase_F1(n_phases: int) -> float:  # noqa: N802  (the paper's symbol)
    """Return the first Fourier coefficient of the phase quantizer with M equal arcs, F_1 = (M/pi) sin(pi/M).

    Parameters
    ----------
    n_phases : int
        M, at least 2; b bits give 2^b.

    Returns
    -------
    float
        The unbiased scale is its inverse.

    Examples
    --------
    >>> from lowtide.theory import phase_F1
    >>> round(phase_F1(4), 6)
    0.900316
    """
    phases = check_integer("phase_F1", "n_phases", n_phases, low=2)
    return phases / math.pi * math.sin(math.pi / phases)


def stochastic_coefficients(bits: int, count: int = 512) -> Floats:
    """Return g_0..g_{count-1} of E[Q^2 | cos t] = sum_n g_n cos 2nt for stochastic rounding of cos t, exact.

    Q rounds to the grid -1 + i Delta, Delta = 2/(2^b - 1), up or down without bias, so E[Q^2 | z] is the chord
    z (lo + hi) - lo hi of the parabola between the two grid points around z. b = 1 gives g = 1, 0, 0, ...; they fall
    as n^-2.
    """
    bits = check_integer("stochastic_coefficients", "bits", bits, low=1, high=8)
    grid = np.linspace(-1, 1, 2**bits)
    slope, offset = (grid[:-1] + grid[1:])[::-1], -(grid[:-1] * grid[1:])[::-1]
    edges = np.arccos(grid[::-1])
    n = np.arange(1, count)[:, None]
    below, above = (2 * n - 1) * edges, (2 * n + 1) * edges
    chord = np.diff(np.sin(below) / (2 * n - 1) + np.sin(above) / (2 * n + 1)) / 2 @ slope
    flat = np.diff(np.sin(2 * n * edges) / (2 * n)) @ offset
    g_0 = (np.diff(np.sin(edges)) @ slope + np.diff(edges) @ offset) / math.pi
    return np.concatenate([[g_0], 2 / math.pi * (chord + flat)])


def _cross_moment(levels: Floats, borders: Floats) -> float:
    """E[Q(cos U) Q(sin U) sin 2U]: by symmetry four times the quarter 0 < U < pi/2."""
    cos_edges, sin_edges = np.arccos(borders), np.arcsin(borders)
    edges = np.concatenate([[0.0], cos_edges, sin_edges, [math.pi / 2]])
    edges = np.unique(edges[(edges >= 0) & (edges <= math.pi / 2)])
    middle = (edges[:-1] + edges[1:]) / 2
    q_cos = levels[np.searchsorted(borders, np.cos(middle))]
    q_sin = levels[np.searchsorted(borders, np.sin(middle))]
    return float(np.sum(q_cos * q_sin * np.diff(-np.cos(2 * edges)))) / math.pi


def block_variance(block: MeasureBlock, difference: ArrayLike) -> Floats:
    """Return the variance of one frequency's estimate of a block of a measure, cosine and sine used.

    Parameters
    ----------
    block : MeasureBlock
        Of a kernel in closed form.
    difference : array-like (..., n_features)
        x - y, along the last axis.

    Returns
    -------
    ndarray of float64, shape (...)

    Examples
    --------
    >>> from lowtide.kernels import Gaussian, MeasureBlock
    >>> block_variance(MeasureBlock(1.0, Gaussian()), [[1.0, 0.0]]).round(6)
    array([0.199788])
    """
    law = block.frequencies
    if isinstance(law, Kernel) and block.carried is None and block.turn in (0.0, 0.5):
        # Half a turn is a sign, which a variance does not see.
        delta = np.asarray(difference, dtype=np.float64) + (0.0 if block.shift is None else block.shift)
        distance = np.linalg.norm(delta, ord=law.norm, axis=-1)
        return np.asarray(block.mass**2 * law.cosine_variance(distance, delta.shape[-1]))
    first = block.characteristic(difference).real
    second = block.characteristic(difference, order=2).real
    return np.asarray(block.mass**2 * np.maximum((1.0 + second) / 2 - first**2, 0.0))


def measure_variance(kernel: MeasureKernel, difference: ArrayLike, form: str = "blocks") -> Floats:
    """Return M times the variance of an estimate with M independent frequencies per block.

    Three blocks have no variance at x = y, the phase form none where the shift-Gaussian kernel peaks; far away they
    have (m_+^2 + m_-^2 + 4 m_I^2)/2 and |mu|^2/2.

    Parameters
    ----------
    kernel : MeasureKernel
        In closed form.
    difference : array-like (..., n_features)
        x - y.
    form : {"blocks", "phase"}, default="blocks"
        One block a part of the measure, or one block that carries its phase.

    Returns
    -------
    ndarray of float64, shape (...)

    References
    ----------
    Derived, for the estimator (7) of AsK-RFF (He, He, Liu and Huang) and for its alternative with one block.

    Examples
    --------
    >>> from lowtide.kernels import ShiftGaussian
    >>> kernel = ShiftGaussian(shift=[1.0, 0.0])
    >>> [float(measure_variance(kernel, [2.0, 1.0], form).round(6)) for form in ("blocks", "phase")]
    [0.316923, 0.499955]
    """
    n_features = np.shape(difference)[-1]
    return np.asarray(sum(block_variance(block, difference) for block in measure_blocks(kernel, n_features, form)))


def measure_blocks(kernel: MeasureKernel, n_features: int, form: str) -> tuple[MeasureBlock, ...]:
    """Return the blocks of frequencies that one form of an asymmetric kernel is estimated from.

    Parameters
    ----------
    kernel : MeasureKernel
    n_features : int
    form : {"blocks", "phase"}

    Returns
    -------
    tuple of MeasureBlock

    Examples
    --------
    >>> from lowtide.kernels import ShiftGaussian
    >>> [len(measure_blocks(ShiftGaussian(0.5), 4, form)) for form in ("blocks", "phase")]
    [3, 1]
    """
    check_option("form", "form", form, ("blocks", "phase"))
    if form == "blocks":
        return kernel.measures(n_features)
    block = kernel.phase_measure(n_features)
    if block is None:
        raise fail(type(kernel).__name__, "a kernel must have a phase form for form='phase'", form, "Use 'blocks'.")
    return (block,)
