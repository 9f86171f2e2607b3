"""What a uniform bound must know: how smooth a periodic map is on average, and how a measure spreads.

A map with jumps moves far under a small step of its phase, but rarely. Its mean Lipschitz constant is an average:

    L_f = sup over delta of (1/delta) E_t sup_{|r| <= delta} |f(t+r) - f(t)|.

Maps of several values, and complex ones, are curves: |.| is their Euclidean length. With the variation TV of f over a
period (its length as a curve, jumps included), |f(t+r) - f(t)| is at most the variation on [t-delta, t+delta], whose
mean over t is delta TV/pi. So L_f <= TV/pi, attained as delta falls to 0 where all variation is in jumps; a smooth f
has the limit TV/(2 pi), so TV/pi is never more than twice too large.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_interval, check_option, check_positive, fail
from lowtide.errors import ParameterError
from lowtide.kernels import MeasureKernel
from lowtide.maps import Cosine, CosSin, FeatureMap
from lowtide.quantizers import DrawnPeriodic, DrawnQuantizer, PhaseSteps, Quantizer

Floats = NDArray[np.float64]
Function = Callable[[Floats], Any]

# The cosine's is the maximum over d of (2/pi)(sin d + 1 - cos d)/d, at d = 1.17504...
_COSINE = 0.8328323608303538
_SAMPLES = 4096  # of a period, for maps without a closed form: 0.1 s, and bounds within a few percent
_HALVINGS = 30  # a cell is then 4e-13 wide, where what is left of its rise is a jump
_JUMP = 1e-9  # of the largest value


class _Constants(NamedTuple):
    """The mean Lipschitz constant of a map, a bound on it, a bound on |f|, whether f is real, values per frequency."""

    lipschitz: float
    bound: float
    sup_norm: float
    real: bool = True
    width: int = 1


_NAMED: dict[str, tuple[_Constants, Function]] = {
    "cosine": (_Constants(_COSINE, _COSINE, 1.0), np.cos),
    "cos_sin": (_Constants(1.0, 1.0, 1.0, width=2), lambda t: np.stack([np.cos(t), np.sin(t)])),
    "exponential": (_Constants(1.0, 1.0, 1.0, real=False), lambda t: np.exp(1j * t)),
    "square_wave": (_Constants(4 / math.pi, 4 / math.pi, 1.0), lambda t: np.where(np.cos(t) >= 0, 1.0, -1.0)),
}


@dataclass(frozen=True)
class Side:
    """State what a guarantee needs of one side, a periodic map f of the phase: its size and its smoothness on average.

    Parameters
    ----------
    lipschitz : float
        A bound on the mean Lipschitz constant L_f, as from `mean_lipschitz`; infinite for a map that has none (values
        rounded at random), which leaves the pairwise bounds.
    sup_norm : float, default 1.0
        A bound on |f(t)|.
    real : bool, default True
        Whether products with f are real numbers, or only their real part is used.
    printed_lipschitz : float, optional
        L_f as the paper has it, where that differs: 1 for the cosine.
    width : int, optional
        Values a frequency, where they are known: only sides of one width can meet.

    Examples
    --------
    >>> from lowtide.quantizers import LloydMax
    >>> from lowtide.theory import Side
    >>> Side.of("exponential")
    Side(lipschitz=1.0, sup_norm=1.0, real=False, printed_lipschitz=None, width=1)
    >>> one_bit = Side.of(LloydMax(1))                  # the levels -pi/4 and pi/4
    >>> round(one_bit.lipschitz, 12), round(one_bit.sup_norm, 6)
    (1.0, 0.785398)
    """

    lipschitz: float
    sup_norm: float = 1.0
    real: bool = True
    printed_lipschitz: float | None = None
    width: int | None = None

    def __post_init__(self) -> None:
        """Refuse constants that no map has."""
        check_interval("Side", "lipschitz", self.lipschitz, 0.0, math.inf)
        check_positive("Side", "sup_norm", self.sup_norm)

    @classmethod
    def of(cls, side: Any, minus: Any = None) -> Side:
        """Return the constants of a side, or of the difference of two.

        A side is what `mean_lipschitz` takes, or a `Side` already.
        """
        if minus is not None:
            f, g = _function(side), _function(minus)
            found = _measured(lambda t: _difference(f(t), g(t)))
            return cls(found.bound, found.sup_norm, found.real, None, found.width)
        if isinstance(side, Side):
            return side
        found = _constants(side)
        printed = 1.0 if found.lipschitz == _COSINE else None
        return cls(found.bound, found.sup_norm, found.real, printed, found.width)


@overload
def mean_lipschitz(function: Any, *, order: int = 1, return_bound: Literal[False] = False) -> float: ...


@overload
def mean_lipschitz(function: Any, *, order: int = 1, return_bound: Literal[True]) -> tuple[float, float]: ...


def mean_lipschitz(function: Any, *, order: int = 1, return_bound: bool = False) -> float | tuple[float, float]:
    """Return the mean Lipschitz constant of a periodic map, and on request a number that it does not exceed.

    Parameters
    ----------
    function : str, list of numbers, callable, FeatureMap, Quantizer or DrawnQuantizer
        A name: "cosine", 0.83283 (the paper uses 1, a valid bound), "exponential" (exp(i t)) and "cos_sin" (the pair
        cos t, sin t), 1, or "square_wave", 4/pi. The values of a piecewise-constant map in the order of the phase, (n,)
        real or complex, the last one followed by the first: the sum of the jumps over pi. A callable that takes phases
        in radians, (n,), to values (n,) or (w, n), real or complex. Or a side: a map, a quantizer drawn for one, or a
        quantizer, drawn here for the cosine (for the pair, where it needs that); then in the units of its codebook.
    order : int, default=1
        k, not 0: the constant of f(k t), |k| times that of f.
    return_bound : bool, default=False
        Whether to return a bound too. It equals the constant where that has a closed form.

    Returns
    -------
    lipschitz : float
        Infinite for values rounded at random: the smallest step may change them.
    bound : float
        Only with `return_bound`.

    Notes
    -----
    A callable is measured at 4096 phases, its jumps found by halving cells. The bound follows from the samples for
    every map whose slope, in a cell without a jump, varies by at most twice what the cells around it show. With the
    variation of the jumps, TV_j, that of the rest, TV_c, and that of the slope, D, the mean w of the largest change has

        w(delta)/delta <= min(TV_j/pi + TV_c/(2 pi) + delta D/(4 pi), (TV_j + TV_c)/pi),

    the first because of max(a, b) = (a+b)/2 + |a-b|/2, a and b the variations on both sides of t. For delta beyond a
    cell there is also the largest change on the grid, with what a cell can hide. The bound is within a few percent for
    piecewise smooth maps, and about twice the constant at worst.

    References
    ----------
    Asymmetric RPF (Schellekens and Jacques), Definition 3, Proposition 6 for the square wave; the rest is derived.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.theory import mean_lipschitz
    >>> mean_lipschitz([1, -1]) == 4 / np.pi
    True
    >>> round(mean_lipschitz("cosine"), 6), round(mean_lipschitz("cosine", order=-3), 6)
    (0.832832, 2.498497)
    >>> value, bound = mean_lipschitz(lambda t: np.arcsin(np.sin(t)), return_bound=True)   # a triangle wave of slope 1
    >>> round(value, 3), 1 <= bound < 1.1
    (1.0, True)
    """
    if order == 0:
        raise fail("mean_lipschitz", "order must not be 0 (a constant has no period)", order)
    k = abs(check_integer("mean_lipschitz", "order", order, low=-(2**31), high=2**31))
    found = _constants(function)
    return (k * found.lipschitz, k * found.bound) if return_bound else k * found.lipschitz


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
    """Return how many frequencies per block keep the three-block form within an error, for all data of a diameter.

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


def _constants(side: Any) -> _Constants:
    """Return the constants of a side: in closed form for names, cosines and steps, else measured."""
    if isinstance(side, str):
        return _NAMED[check_option("mean_lipschitz", "function", side, tuple(_NAMED))][0]
    if isinstance(side, FeatureMap):
        wave = np.exp(2j * math.pi * np.array(side.shifts))
        axes = np.linalg.svd(np.stack([wave.real, wave.imag]), compute_uv=False)  # of the ellipse that it runs on
        long, short = float(axes[0]), float(axes[1:].sum())
        if short < 1e-12 * long:  # a line, passed as a cosine
            return _Constants(long * _COSINE, long * _COSINE, long, width=len(wave))
        circle = long - short < 1e-12 * long
        return _Constants(long, long, long, width=len(wave)) if circle else _measured(_function(side))
    if isinstance(side, Quantizer):
        return _constants(_drawn(side))
    if isinstance(side, PhaseSteps):
        breaks = np.unique(np.concatenate([step.breaks for step in side.components]))
        middles = (breaks + np.append(breaks[1:], breaks[0] + 1.0)) / 2
        return _steps(np.stack([step.at(middles) for step in side.components]))
    if isinstance(side, DrawnPeriodic) or callable(side):
        return _measured(_function(side))
    if getattr(side, "codebook", None) is not None:  # levels that are no function of the phase: rounded at random
        largest = float(np.max(np.abs(side.codebook))) * math.sqrt(len(side.shifts))
        return _Constants(math.inf, math.inf, largest, width=len(side.shifts))
    try:
        values = np.asarray(side)
        valid = values.ndim == 1 and values.size > 0 and bool(np.isfinite(values).all())
    except (TypeError, ValueError):
        valid = False
    if not valid:
        need = "a map must be a name, a side, a function of the phase, or a non-empty list of finite values"
        raise fail("mean_lipschitz", need, side)
    return _steps(values[None])


def _steps(values: NDArray[Any]) -> _Constants:
    """Return the constants of the piecewise-constant map with these values (w, n) in the order of the phase."""
    variation = float(np.linalg.norm(np.diff(values, axis=1, append=values[:, :1]), axis=0).sum())
    largest = float(np.linalg.norm(values, axis=0).max()) or 1.0
    return _Constants(variation / math.pi, variation / math.pi, largest, not np.iscomplexobj(values), len(values))


def _function(side: Any) -> Function:
    """Return a side as a function of the phase in radians, (n,) to (n,) or (w, n)."""
    if isinstance(side, str):
        return _NAMED[check_option("Side", "side", side, tuple(_NAMED))][1]
    if isinstance(side, Quantizer):
        side = _drawn(side)
    if isinstance(side, FeatureMap):
        shifts = 2 * math.pi * np.array(side.shifts)[:, None]
        return lambda t: np.cos(t + shifts)
    if isinstance(side, PhaseSteps):
        return lambda t: np.stack([step.at(t / (2 * math.pi)) for step in side.components])
    if isinstance(side, DrawnPeriodic):
        return lambda t: _periodic_values(side, t)
    if callable(side):
        return side
    raise fail("Side", "a difference must be one of names, maps, quantizers of the phase and functions", side)


def _drawn(quantizer: Quantizer) -> DrawnQuantizer:
    """Return a quantizer drawn for the cosine, or for the pair of cosine and sine where it needs both."""
    try:
        return quantizer.draw(Cosine(), np.random.default_rng(0))
    except ParameterError:
        return quantizer.draw(CosSin(), np.random.default_rng(0))


def _periodic_values(side: DrawnPeriodic, t: Floats) -> Floats:
    """Return the components (w, n) of a continuous map; a complex one has its real and imaginary part."""
    phases = t + 2 * math.pi * side.turns[:, None]
    if callable(side.source.f):
        values = np.stack([np.asarray(side.source.f(np.remainder(phase, 2 * math.pi))) for phase in phases])
        parts = np.concatenate([values.real, values.imag]) if np.iscomplexobj(values) else values
    else:
        z = np.exp(1j * np.broadcast_to(phases, (max(len(phases), len(side.rows)), t.size)))
        rows = np.broadcast_to(side.rows, (len(z), side.rows.shape[1]))
        parts = np.stack([row[0].real + 2 * np.real(np.polyval(row[:0:-1], w) * w) for row, w in zip(rows, z)])
    return np.asarray(parts / side.scale)


def _difference(left: Any, right: Any) -> NDArray[Any]:
    """Return the difference of two sides' values, which must have as many components."""
    first, second = np.atleast_2d(left), np.atleast_2d(right)
    if first.shape != second.shape:
        raise fail("Side", "two sides must have as many values a frequency", (len(first), len(second)))
    return np.asarray(first - second)


def _measured(function: Function) -> _Constants:
    """Return the constants of a function of the phase from its samples; `mean_lipschitz` states the bound."""
    n, cell = _SAMPLES, 2 * math.pi / _SAMPLES
    t: Floats = cell * (
        np.arange(n, dtype=np.float64) + 0.382
    )  # off the round phases, where a jump would be met exactly
    F, real = _sampled(function, t)
    width = len(F) if real else len(F) // 2
    after = np.roll(F, -1, axis=1)
    before_jump, after_jump = _steepest(function, t, F, after, cell)
    rise, jump = _norm(after - F), _norm(after_jump - before_jump)
    largest = max(float(_norm(F).max()), 1e-300)
    jumps = jump > _JUMP * largest
    left, right = _norm(before_jump - F)[jumps], _norm(after - after_jump)[jumps]
    small = (jump[jumps].sum() + (rise[~jumps].sum() + left.sum() + right.sum()) / 2) / math.pi
    # From here on upper bounds. All that a cell with a jump rises besides counts as jumps: it may hold several.
    jump_variation = float(np.sum(jump[jumps] + left + right))
    slopes = ((after - F) / cell)[:, ~jumps]
    seen = _norm(slopes - np.roll(slopes, 1, axis=1))
    bend, slope = 2 * (seen + np.roll(seen, -1)), _norm(slopes)
    # In a cell f' is the chord's slope and a part of mean 0 and length up to `bend`, along it if there is one column.
    steepness = np.maximum(slope, bend) if len(F) == 1 else np.hypot(slope, bend)
    smooth_variation = cell * float(np.sum(steepness))
    slope_variation = 2 * float(seen.sum())
    hidden = cell * float(bend.max(initial=0.0))  # how far a cell's values may lie from those at its ends
    ends = np.concatenate([_norm(before_jump)[jumps], _norm(after_jump)[jumps], [largest]])
    variation = jump_variation + smooth_variation
    k = np.arange(1, n // 2 + 1)
    change = _largest_changes(F)
    value = max(float(small), float(np.max(change / (k * cell))))
    # Within [k, k+1] cells; the first entry is for less than one.
    in_a_cell = float(np.concatenate([rise[~jumps], left, right]).max()) + hidden
    reached = np.append(change[2:], [change[-1]] * 2) + in_a_cell + variation / n
    by_grid = np.append(math.inf, reached / (k * cell))
    by_slope = np.arange(1, n // 2 + 2) * cell * slope_variation / (4 * math.pi)
    by_slope += (jump_variation + smooth_variation / 2) / math.pi
    bound = float(np.max(np.minimum(np.minimum(by_grid, by_slope), variation / math.pi)))
    return _Constants(min(value, bound), bound, float(ends.max()) + hidden, real, width)


def _sampled(function: Function, t: Floats) -> tuple[Floats, bool]:
    """Return values as real columns (w, n), a complex one as two, and whether they were real."""
    values = np.atleast_2d(np.asarray(function(t)))
    numbers = np.issubdtype(values.dtype, np.number) or values.dtype == np.bool_
    if values.ndim != 2 or values.shape[1] != t.size or not numbers or not np.isfinite(values).all():
        need = "a function must take phases (n,) to finite values (n,) or (w, n)"
        raise fail("mean_lipschitz", need, f"{values.dtype} {values.shape} for n = {t.size}")
    real = not np.iscomplexobj(values)
    columns = values if real else np.concatenate([values.real, values.imag])
    return columns.astype(np.float64), real


def _steepest(function: Function, t: Floats, low: Floats, high: Floats, cell: float) -> tuple[Floats, Floats]:
    """Return the values on both sides of the steepest place of each cell, found by halving towards the larger rise."""
    left, right = t.copy(), t + cell
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        values, _ = _sampled(function, middle)
        upper = _norm(high - values) > _norm(values - low)
        left, right = np.where(upper, middle, left), np.where(upper, right, middle)
        low, high = np.where(upper, values, low), np.where(upper, high, values)
    return low, high


def _largest_changes(F: Floats) -> Floats:
    """Return the mean over i of max_{|j| <= k} |F_{i+j} - F_i| for k = 1 .. n/2, around the circle."""
    n = F.shape[1]
    around = np.concatenate([F, F, F], axis=1)
    largest, means = np.zeros(n), np.empty(n // 2)
    for k in range(1, n // 2 + 1):
        for start in (n - k, n + k):
            step = around[:, start : start + n] - F
            np.maximum(largest, np.einsum("wn,wn->n", step, step), out=largest)
        means[k - 1] = np.sqrt(largest).mean()
    return means


def _norm(values: Floats) -> Floats:
    """Return Euclidean lengths of columns."""
    return np.asarray(np.sqrt(np.einsum("wn,wn->n", values, values)))


def _probability(owner: str, value: float) -> float:
    """Return a failure probability in (0, 1]."""
    return check_interval(owner, "failure", check_positive(owner, "failure", value), 0.0, 1.0)
