"""Quantizers of a normal projection: steps on the line, found by least distortion, evenly spaced, or given by hand.

A *spec* (`NormalLloydMax`, `UniformSteps`, `SignSteps`, `GivenSteps`) says which steps; `LineSteps` are the steps
themselves, with the few moments that everything else follows from.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import check_integer, check_positive, fail
from lowtide.maps import Normal
from lowtide.quantizers.base import on_grid
from lowtide.quantizers.lloyd_max import lloyd_max_normal
from lowtide.spec import Spec, registry_of

Floats = NDArray[np.float64]

_NORMAL = Normal()
_MOST_LEVELS = 256
# A projection that passes a border less often than this says nothing.
_RARE = 1e-6


@dataclass(frozen=True, eq=False)
class LineSteps:
    """Steps on the line: a value z of N(0, 1) has the level c = #{i : t_i <= z} over the borders t, read as mu_c.

    Attributes
    ----------
    borders : ndarray of float64, shape (n - 1,)
        Ascending, n from 2 to 256 levels.
    values : ndarray of float64, shape (n,)
        mu_i, ascending.

    Examples
    --------
    >>> steps = LineSteps(np.array([-1.0, 1.0]), np.array([-1.5, 0.0, 1.5]))
    >>> steps.bits, steps.levels(np.array([[-2.0, 0.3, 1.0]], dtype=np.float32))
    (2, array([[0, 1, 2]], dtype=uint8))
    >>> round(steps.unit, 4), round(steps.distortion, 4)
    (0.7259, 0.2621)
    """

    borders: Floats
    values: Floats

    def __post_init__(self) -> None:
        borders, values = (np.array(each, dtype=np.float64) for each in (self.borders, self.values))
        if borders.ndim != 1 or values.shape != (len(borders) + 1,) or not 2 <= len(values) <= _MOST_LEVELS:
            need = f"there must be 2 to {_MOST_LEVELS} values, and borders between them, one fewer"
            raise fail("LineSteps", need, f"shapes {values.shape} and {borders.shape}")
        for name, each in (("borders", borders), ("values", values)):
            if not np.all(np.isfinite(each)) or not np.all(np.diff(each) > 0.0):
                remedy = "Levels count upwards: sort them."
                raise fail("LineSteps", f"{name} must be finite and ascend", each.tolist()[:8], remedy)
            each.flags.writeable = False
            object.__setattr__(self, name, each)
        if not np.any(_NORMAL.cdf(-np.abs(borders)) > _RARE):
            remedy = "Projections of rows of norm 1 are from N(0, 1)."
            raise fail("LineSteps", "a border must lie within 4.7 of 0", borders.tolist()[:8], remedy)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LineSteps) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[bytes, bytes]:
        return self.borders.tobytes(), self.values.tobytes()

    @property
    def n_levels(self) -> int:
        """Levels, 2 to 256."""
        return len(self.values)

    @property
    def bits(self) -> int:
        """Bits that hold a level, 1 to 8."""
        return (self.n_levels - 1).bit_length()

    @cached_property
    def mass(self) -> Floats:
        """Probability of each level, (n,): differences of small numbers only, on either side of 0."""
        t = self.borders
        low, high = _NORMAL.cdf(t[t <= 0.0]), _NORMAL.cdf(-t[t > 0.0])
        middle = 1.0 - (low[-1] if len(low) else 0.0) - (high[0] if len(high) else 0.0)
        return np.concatenate([np.diff(low, prepend=0.0), [middle], -np.diff(high, append=0.0)])

    def mean(self, values: ArrayLike) -> Floats:
        """Return E of functions of the level, (n, ...) along the first axis."""
        return np.asarray(np.tensordot(self.mass, np.asarray(values, dtype=np.float64), axes=1))

    @cached_property
    def unit(self) -> float:
        """E[z Q(z)] = E[Q'(z)], above 0; of centroids also E[Q(z)^2]."""
        return float(np.diff(self.values) @ _NORMAL.pdf(self.borders))

    @cached_property
    def distortion(self) -> float:
        """D = E(z - Q(z))^2; of centroids E[z Q(z)] is 1 - D."""
        return 1.0 - 2.0 * self.unit + float(self.mean(self.values**2))

    @cached_property
    def linear(self) -> Floats:
        """(mu_i - E Q)/E[z Q(z)], (n,): times another projection its mean is the correlation, with least variance.

        mu_i - E Q are whole multiples of a 2047th of the largest, so that products of codes add whole numbers, and the
        divisor is theirs. Not so values too close together for that, nor those whose mean would not stay 0.
        """
        centered = self.values - self.mean(self.values)
        rounded = on_grid(centered)
        if np.max(np.abs(rounded - centered)) > np.min(np.diff(centered)) / 4 or abs(self.mean(rounded)) > 1e-12:
            rounded = centered
        return np.asarray(rounded / (np.diff(rounded) @ _NORMAL.pdf(self.borders)))

    def padded(self, values: Floats) -> Floats:
        """Return values of the levels, (n, ...), with as many as the bits can name: the last one again."""
        more = 2**self.bits - len(values)
        return np.concatenate([values, np.repeat(values[-1:], more, axis=0)])

    @cached_property
    def mirrored(self) -> NDArray[np.float32] | None:
        """The positive borders in float32, (2^(bits-1) - 1,), where 0 is a border and the others mirror each other.

        Then c = #{i : t_i <= |z|} over them decides a level, mirrored where z < 0: what compiled loops know. None for
        other steps.
        """
        t, half = self.borders, len(self.borders) // 2
        if self.n_levels != 2**self.bits or t[half] != 0.0 or not np.array_equal(t, -t[::-1]):
            return None
        positive = t[half + 1 :].astype(np.float32)
        positive.flags.writeable = False
        # Borders that float32 can hardly tell apart, or from 0, are for the readable truth.
        return positive if np.all(np.diff(positive, prepend=np.float32(0.0)) > 1e-6 * positive) else None

    def levels(self, Z: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the levels of values: the readable truth."""
        if self.mirrored is None:
            return np.searchsorted(self.borders.astype(np.float32), Z, side="right").astype(np.uint8)
        half = len(self.mirrored) + 1
        reached = np.searchsorted(self.mirrored, np.abs(Z), side="right")
        return np.where(Z < 0, half - 1 - reached, half + reached).astype(np.uint8)


class LineQuantizer(Spec):
    """Round a normal projection to small integers of a few bits, by steps on the line.

    A parameter named `bits` is checked, 1 to 8, and is what a quantizer given by name is built with.
    """

    def check(self) -> None:
        """Refuse bits outside 1 to 8, where there are bits."""
        params = self.get_params()
        if "bits" in params:
            remedy = "For float features: RandomFeatures(bits=None)."
            check_integer(type(self).__name__, "bits", params["bits"], 1, 8, remedy)

    @abstractmethod
    def steps(self) -> LineSteps:
        """Return the steps; nothing is random."""


def line_quantizer_by_name(name: str, bits: int) -> LineQuantizer:
    """Return the registered quantizer of projections with that many bits; one without bits has its own.

    Examples
    --------
    >>> line_quantizer_by_name("uniform", 3), line_quantizer_by_name("sign", 3)
    (UniformSteps(bits=3, reach=None), SignSteps())
    """
    family: Any = registry_of(LineQuantizer)[name]
    quantizer: LineQuantizer = family(bits=bits) if "bits" in family().get_params() else family()
    return quantizer


@dataclass(eq=False, repr=False)
class NormalLloydMax(LineQuantizer):
    """Lloyd-Max steps of N(0, 1), of least distortion: values are the means within cells, borders halfway.

    Parameters
    ----------
    bits : int, default=4
        1 to 8.

    Examples
    --------
    >>> NormalLloydMax(2).steps().values.round(4)
    array([-1.5104, -0.4528,  0.4528,  1.5104])
    """

    bits: int = 4

    def steps(self) -> LineSteps:
        """Return the steps, solved once."""
        return normal_steps(self.bits)


@dataclass(eq=False, repr=False)
class UniformSteps(LineQuantizer):
    """2^bits equal cells of [-reach, reach], the outer ones open, read as their middles: what converters give.

    Parameters
    ----------
    bits : int, default=4
        1 to 8.
    reach : float, optional
        Above 0; None for the one of least distortion, 1.60 for one bit and 2.68 for four.

    Examples
    --------
    >>> UniformSteps(2).steps().values.round(3)
    array([-1.494, -0.498,  0.498,  1.494])
    >>> UniformSteps(2, reach=4.0).steps().borders
    array([-2.,  0.,  2.])
    """

    bits: int = 4
    reach: float | None = None

    def check(self) -> None:
        """Refuse a reach that is not above 0."""
        super().check()
        if self.reach is not None:
            check_positive("UniformSteps", "reach", self.reach, "None is the one of least distortion.")

    def steps(self) -> LineSteps:
        """Return the steps."""
        return _even_steps(self.bits, _best_reach(self.bits) if self.reach is None else float(self.reach))


@dataclass(eq=False, repr=False)
class SignSteps(LineQuantizer):
    """The sign of a projection, read as -1 and 1: one bit. One-bit Lloyd-Max reads it as -0.798 and 0.798.

    Examples
    --------
    >>> SignSteps().steps().values
    array([-1.,  1.])
    """

    def steps(self) -> LineSteps:
        """Return the steps."""
        return LineSteps(np.zeros(1), np.array([-1.0, 1.0]))


@dataclass(eq=False, repr=False)
class GivenSteps(LineQuantizer):
    """Steps of your own: what a sensor or a converter does to a projection.

    Parameters
    ----------
    borders : sequence of float, length n - 1
        Ascending; need not be symmetric. Projections of rows of norm 1 are from N(0, 1).
    values : sequence of float, length n
        Ascending, 2 to 256; what each level is read as.

    Notes
    -----
    Steps with 2^b levels whose borders mirror each other about a border at 0 are found by a compiled loop; others by a
    search that takes some twenty times longer.

    Examples
    --------
    >>> GivenSteps(borders=[-0.6, 0.6], values=[-1.2, 0.0, 1.2]).steps().bits
    2
    """

    borders: Sequence[float]
    values: Sequence[float]

    def check(self) -> None:
        """Refuse what are no steps."""
        self.steps()

    def steps(self) -> LineSteps:
        """Return the steps."""
        return LineSteps(_numbers("borders", self.borders), _numbers("values", self.values))


def _numbers(name: str, given: Any) -> Floats:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise fail("GivenSteps", f"{name} must be numbers", given) from error


@cache
def normal_steps(bits: int) -> LineSteps:
    """Return the Lloyd-Max steps of N(0, 1) for 1 to 8 bits.

    Examples
    --------
    >>> steps = normal_steps(2)
    >>> steps.values.round(4)
    array([-1.5104, -0.4528,  0.4528,  1.5104])
    >>> steps.levels(np.array([[-2.0, -0.1, 0.0, 0.5, 1.0]], dtype=np.float32))
    array([[0, 1, 2, 2, 3]], dtype=uint8)
    """
    values, borders = lloyd_max_normal(check_integer("normal_steps", "bits", bits, 1, 8))
    return LineSteps(borders, values)


def _even_steps(bits: int, reach: float) -> LineSteps:
    half = 2 ** (bits - 1)
    places = np.arange(1, half) * (reach / half)
    middles = (np.arange(half) + 0.5) * (reach / half)
    borders = np.concatenate([-places[::-1], [0.0], places])
    return LineSteps(borders, np.concatenate([-middles[::-1], middles]))


@cache
def _best_reach(bits: int) -> float:
    """Return the reach of least distortion, rounded: where it is flat, digits would depend on the search."""
    low, high = 1.0 + 0.3 * bits, 1.8 + 0.6 * bits
    found = scipy.optimize.minimize_scalar(
        lambda reach: _even_steps(bits, reach).distortion, bounds=(low, high), method="bounded"
    )
    return round(float(found.x), 4)
