"""Tabulated functions of distance, for millions of entries, and their inverse on the first decreasing branch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

Floats = NDArray[np.float64]

_FIRST_NODES = 257
_MOST_NODES = 4097
_LONGEST = 2.0**14  # in units; a monotone kernel has settled long before
_OSCILLATING = 32.0  # in units; a spline over more oscillations would need too many nodes
_NOISE = 1e-11  # rises smaller than this are rounding, not a new branch


class Curve:
    """A smooth function of distance s >= 0 as a cubic spline in t = s^(1/4).

    The fourth root is for kernels with a cusp: their expected kernels start like s log s, which is smooth enough
    in t. Nodes are doubled until the spline meets the function between them.

    Parameters
    ----------
    function : callable
        float64 array of distances to array of values; must be elementwise.
    unit : float
        A distance over which the function changes, as from `kernel_reach`.
    tolerance : float, default 1e-9
        Largest absolute error aimed at.

    Attributes
    ----------
    error : float
        Largest error seen half way between the nodes of the last but one grid; the final spline is better.
        Above `tolerance` when 4097 nodes do not reach it (functions with kinks: coded pairs of a Bessel kernel
        in fewer than five dimensions).
    s_max : float
        End of the table. Beyond it the value is `limit` when the function has settled there to 1e-9; else
        (oscillating functions) the function itself is called.
    limit : float
        Value far out.

    Notes
    -----
    About 0.1 microseconds a value (inverse: 1) after construction, which takes 500 to 4000 function values.

    Examples
    --------
    >>> import numpy as np
    >>> from lowtide.theory import Curve
    >>> curve = Curve(lambda s: np.exp(-s), unit=1.0)
    >>> float(curve(0.5).round(8)), float(curve.inverse(np.exp(-0.5)).round(6))
    (0.60653066, 0.5)
    """

    def __init__(self, function: Callable[[Floats], Floats], unit: float, tolerance: float = 1e-9) -> None:
        self._function = function
        self.s_max, self.settled = _extent(function, unit)
        self.limit = float(function(np.array([4 * self.s_max]))[0])
        t, values, self.error = _refine(function, self.s_max**0.25, tolerance)
        self._spline = CubicSpline(t, values)
        self._branch_t, self._branch_values = _decreasing_branch(self._spline, t, values)
        whole = self._branch_t[-1] == t[-1]
        self._infimum = min(self.limit, float(values[-1])) if whole else float(self._branch_values[-1])

    def __call__(self, distance: ArrayLike) -> Floats:
        """Values at the distances, elementwise; float64 of the same shape."""
        s = np.asarray(distance, dtype=np.float64)
        values = np.asarray(self._spline(np.sqrt(np.sqrt(np.minimum(np.abs(s), self.s_max)))), dtype=np.float64)
        far = np.abs(s) > self.s_max
        if far.any():
            values = np.where(far, self.limit, values)
            if not self.settled:
                values[far] = self._function(np.abs(s)[far])
        return values

    def slope(self, distance: ArrayLike) -> Floats:
        """Derivative with respect to distance, elementwise, for 0 < s; zero past a settled end.

        A value known to within eps gives the distance to first order within eps/abs(slope).
        """
        s = np.abs(np.asarray(distance, dtype=np.float64))
        t = np.minimum(s, self.s_max) ** 0.25
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = self._spline(t, 1) / (4 * t**3)
        return np.where(s > self.s_max, 0.0 if self.settled else np.nan, slope)

    def inverse(self, values: ArrayLike) -> Floats:
        """Distance at which the curve first takes each value, on its first decreasing branch.

        Parameters
        ----------
        values : array-like of float
            Any shape.

        Returns
        -------
        ndarray of float64
            0 at or above the value at 0; NaN at or below the branch's infimum (its limit, or its first minimum).
        """
        v = np.asarray(values, dtype=np.float64)
        out = np.where(v >= self._branch_values[0], 0.0, np.nan)
        inside = (v < self._branch_values[0]) & (v > self._infimum)
        out[inside] = self._solve(v[inside]) ** 4
        return out

    def _solve(self, v: Floats) -> Floats:
        """Root t of spline(t) = v on the branch, from the cubic of the cell that holds it."""
        cell = np.clip(np.searchsorted(-self._branch_values, -v, side="left"), 1, len(self._branch_t) - 1) - 1
        left = self._branch_t[cell]
        cubic = self._spline.c[:, cell].copy()
        cubic[3] -= v
        return np.asarray(left + _falling_root(cubic, self._branch_t[cell + 1] - left), dtype=np.float64)


def _falling_root(cubic: Floats, width: Floats) -> Floats:
    """Roots in [0, width] of cubics (4, n), highest power first, that fall through zero there.

    Newton steps, replaced by halving when they leave the bracket; what has converged is left alone.
    """
    root = width / 2
    active = np.arange(width.size)
    low, high = np.zeros_like(width), width.copy()
    for _ in range(50):
        x, (c3, c2, c1, c0) = root[active], cubic[:, active]
        value = ((c3 * x + c2) * x + c1) * x + c0
        low[active] = np.where(value > 0, x, low[active])
        high[active] = np.where(value > 0, high[active], x)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = x - value / ((3 * c3 * x + 2 * c2) * x + c1)
        inside = (step >= low[active]) & (step <= high[active])
        root[active] = np.where(inside, step, (low[active] + high[active]) / 2)
        active = active[np.abs(root[active] - x) > 1e-14]
        if active.size == 0:
            break
    return root


def _extent(function: Callable[[Floats], Floats], unit: float) -> tuple[float, bool]:
    """End of the table, and whether the function has settled there to 1e-9."""
    spread = 2 ** (np.arange(8) / 8)
    end = 2.0
    previous = function(unit * end * spread)
    while end < _LONGEST:
        following = function(unit * 2 * end * spread)
        if np.ptp(np.concatenate([previous, following])) < 1e-9:
            return unit * end, True
        rising = np.any(np.diff(previous) > _NOISE) and np.any(np.diff(previous) < -_NOISE)
        if rising and end >= _OSCILLATING:
            break
        end, previous = 2 * end, following
    return unit * min(end, _OSCILLATING), False


def _refine(function: Callable[[Floats], Floats], t_max: float, tolerance: float) -> tuple[Floats, Floats, float]:
    """Double uniform nodes in t until a spline through every other one meets the rest."""
    t = np.linspace(0, t_max, _FIRST_NODES)
    values = function(t**4)
    while True:
        middle = (t[:-1] + t[1:]) / 2
        truth = function(middle**4)
        error = float(np.max(np.abs(CubicSpline(t, values)(middle) - truth)))
        t, values = _interleave(t, middle), _interleave(values, truth)
        if error < tolerance or t.size >= _MOST_NODES:
            return t, values, error


def _interleave(even: Floats, odd: Floats) -> Floats:
    """Merge two arrays, the first one longer by one."""
    out = np.empty(even.size + odd.size)
    out[::2], out[1::2] = even, odd
    return out


def _decreasing_branch(spline: CubicSpline, t: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Nodes of the first decreasing branch, ended by the spline's own minimum when it turns up again."""
    rises = np.flatnonzero(np.diff(values) > _NOISE)
    if rises.size == 0:
        return t, np.minimum.accumulate(values)
    last = int(rises[0])
    turn = spline.derivative().roots(discontinuity=False, extrapolate=False)
    near = turn[(turn > t[max(last - 1, 0)]) & (turn < t[last + 1])]
    t, values = t[: last + 1], values[: last + 1]
    if near.size and float(spline(near[0])) < values[-1]:
        keep = t < near[0]
        t, values = np.append(t[keep], near[0]), np.append(values[keep], float(spline(near[0])))
    return t, np.minimum.accumulate(values)
