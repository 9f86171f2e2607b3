"""The contract of a quantizer and of what it becomes once drawn; and quantizers whose levels are steps of the phase."""

from __future__ import annotations

import math
from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, fail
from lowtide.maps import N_HARMONICS, FeatureMap, Moments
from lowtide.quantizers.lloyd_max import lloyd_max
from lowtide.spec import Spec, registry_of

# Steps of the largest value: 256 products of pairs of such numbers add up within 32 bits. Ops look for this number, and
# for those up to 255.
_STEPS = 2047
_FEW_STEPS = np.arange(1, 256)


class Quantizer(Spec):
    """Round the components of a feature map to small integers of a few bits.

    Steps of the phase are drawn as `PhaseSteps`, by `even_steps` where they are steps of the cosine. A parameter named
    `bits` is checked, 1 to 8, and is what a quantizer given by name is built with.
    """

    def check(self) -> None:
        """Refuse bits outside 1 to 8, where there are bits."""
        params = self.get_params()
        if "bits" in params:
            remedy = "Above 8 bits keep float features: bits=None."
            check_integer(type(self).__name__, "bits", params["bits"], 1, 8, remedy)

    @abstractmethod
    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> DrawnQuantizer:
        """Return the frozen quantizer of this map's components."""

    def restore(self, feature_map: FeatureMap, arrays: dict[str, NDArray[Any]]) -> DrawnQuantizer:
        """Return the quantizer whose `arrays()` were kept; drawn again where nothing is random."""
        return self.draw(feature_map, np.random.default_rng(0))


class DrawnQuantizer(Protocol):
    """A frozen quantizer: no randomness left."""

    @property
    def bits(self) -> int | None:
        """Bits a level, 1 to 8; None when the coded side is float features, not levels."""

    @property
    def shifts(self) -> NDArray[np.float32]:
        """Phase shifts in turns, one for each level of a frequency."""

    @property
    def codebook(self) -> NDArray[np.float64] | None:
        """Decoded value of each level, (2^bits,) or cos and sin (2^bits, 2), unbiased against the full side cos t."""

    @property
    def op(self) -> str:
        """The compiled op that encodes with it."""

    @property
    def op_arguments(self) -> tuple[Any, ...]:
        """What the op takes besides rows and shifts; with `shifts`, all that decides a level."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was drawn at random; empty when the spec and the map decide everything."""

    def levels(self, turns: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return levels (n, frequencies x len(shifts)) of phases in turns (n, frequencies): the readable truth."""

    def moments(self, n_harmonics: int = N_HARMONICS) -> Moments:
        """Return the moments of the coded side up to n_harmonics."""


@runtime_checkable
class ContinuousQuantizer(Protocol):
    """A drawn quantizer without levels, `bits` None: its coded side is float features."""

    def values(self, turns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the decoded features at phases in turns, (n, frequencies)."""


def quantizer_by_name(name: str, bits: int) -> Quantizer:
    """Return the registered quantizer with that many bits.

    Examples
    --------
    >>> quantizer_by_name("phase", 3)
    Phase(bits=3)
    """
    family: Any = registry_of(Quantizer)[name]
    if "bits" not in family().get_params():
        need = f"a quantizer given by name must have a parameter bits, as {family.__name__} has not"
        raise fail("quantizer", need, name, "Pass the quantizer as an object.")
    quantizer: Quantizer = family(bits=bits)
    return quantizer


def resolve_quantizer(owner: str, bits: int | None, quantizer: str | Quantizer) -> Quantizer | None:
    """Return the quantizer with its bits, or None when there is no coded side.

    Parameters
    ----------
    owner : str
        Who refuses bits that cannot be.
    bits : int or None
        1 to 8, of a quantizer by name; an object's own bits win. None for no coded side.
    quantizer : str or Quantizer

    Examples
    --------
    >>> resolve_quantizer("RandomFeatures", 2, "uniform"), resolve_quantizer("RandomFeatures", None, "uniform")
    (Uniform(bits=2), None)
    """
    if bits is None:
        return None
    if isinstance(quantizer, Quantizer):
        return copy(quantizer)  # a later set_params must not reach what was fitted
    check_integer(owner, "bits", bits, 1, 8, "For float features alone: bits=None.")
    return quantizer_by_name(quantizer, bits)


def count_levels(
    owner: str, spec: Quantizer | None, quantizer: DrawnQuantizer | None, feature_map: FeatureMap, n_components: int
) -> int:
    """Return the levels of a row: a level holds one component, or both of a frequency; 0 without a quantizer.

    Parameters
    ----------
    owner : str
        Who refuses a number of components that the levels do not divide.
    spec : Quantizer or None
    quantizer : DrawnQuantizer or None
        What was drawn of it.
    feature_map : FeatureMap
    n_components : int

    Examples
    --------
    >>> from lowtide.maps import CosSin
    >>> spec, pairs = Phase(bits=2), CosSin()
    >>> count_levels("RandomFeatures", spec, spec.draw(pairs, np.random.default_rng(0)), pairs, 64)
    32
    """
    if quantizer is None:
        return 0
    per_level = feature_map.width // len(quantizer.shifts)
    if n_components % per_level:
        need = f"n_components must be a multiple of {per_level} with {spec!r}"
        raise fail(owner, need, n_components)
    return n_components // per_level


@dataclass(frozen=True)
class StepFunction:
    """A function of period one turn that is `values[i]` on [breaks[i], breaks[i+1]), the last piece wrapping around.

    Attributes
    ----------
    breaks : ndarray of float64, shape (n,)
        Ascending, in [0, 1).
    values : ndarray of float64, shape (n,)
    """

    breaks: NDArray[np.float64]
    values: NDArray[np.float64]

    def at(self, turns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function at phases in turns."""
        piece = np.searchsorted(self.breaks, turns - np.floor(turns), side="right") - 1
        return self.values[piece]

    def shifted(self, turns: float) -> Self:
        """Return t -> f(t + turns)."""
        breaks = (self.breaks - turns) % 1.0
        order = np.argsort(breaks, kind="stable")
        return type(self)(breaks[order], self.values[order])

    def __mul__(self, other: Self) -> Self:
        """Return the product, a step function on the union of the breaks."""
        breaks = np.unique(np.concatenate([self.breaks, other.breaks]))
        # Evaluated in the middle of each piece: a break that rounding has split in two cannot pick a wrong value.
        ends = np.append(breaks[1:], breaks[0] + 1.0)
        middle = (breaks + ends) / 2
        return type(self)(breaks, self.at(middle) * other.at(middle))

    def coefficients(self, n_harmonics: int) -> NDArray[np.complex128]:
        """Return F_k = int_0^1 f(u) e^{-2 pi i k u} du for k = 0 .. n_harmonics, exact, O(breaks x harmonics)."""
        ends = np.append(self.breaks[1:], self.breaks[0] + 1.0)
        jumps = self.values - np.roll(self.values, 1)
        k = np.arange(1, n_harmonics + 1)
        out = np.empty(n_harmonics + 1, dtype=np.complex128)
        out[0] = np.sum(self.values * (ends - self.breaks))
        # k = 64 q + r: exponentials of q and of r alone, and a matrix product in place of one of each k.
        coarse = np.exp(-2j * math.pi * np.outer(np.arange(0, n_harmonics + 1, 64), self.breaks))
        fine = np.exp(-2j * math.pi * np.outer(np.arange(min(64, n_harmonics + 1)), self.breaks))
        out[1:] = ((coarse * jumps) @ fine.T).ravel()[1 : n_harmonics + 1] / (2j * math.pi * k)
        return out


@dataclass(frozen=True)
class PhaseSteps:
    """Levels that are constant between borders on the circle of phases.

    With u = turn + shift, an `even` quantizer counts the borders at or beyond f = |u - round(u)|, in [0, 1/2], so a
    level grows with cos(2 pi u); otherwise it counts the borders at or below f = u - floor(u). The count indexes
    `table`, which gives the level.

    Attributes
    ----------
    borders : ndarray of float32, ascending
    table : ndarray of uint8, shape (len(borders) + 1,)
    components : tuple of StepFunction
        The decoded value of each component of a frequency as a function of its turn.
    """

    bits: int
    shifts: NDArray[np.float32]
    codebook: NDArray[np.float64]
    borders: NDArray[np.float32]
    table: NDArray[np.uint8]
    even: bool
    components: tuple[StepFunction, ...]
    op: ClassVar[str] = "encode"

    @property
    def op_arguments(self) -> tuple[Any, ...]:
        """Return borders, table and evenness."""
        return (self.borders, self.table, self.even)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return no arrays: nothing is random."""
        return {}

    def levels(self, turns: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the levels of phases in turns, in the float32 order of the compiled op."""
        u = turns[:, :, None] + self.shifts
        if self.even:
            f = np.abs(u - np.rint(u))
            count = np.searchsorted(-self.borders[::-1], -f, side="right")
        else:
            f = u - np.floor(u)
            f[f >= 1.0] = 0.0
            count = np.searchsorted(self.borders, f, side="right")
        return self.table[count].reshape(len(turns), -1)

    def moments(self, n_harmonics: int = N_HARMONICS) -> Moments:
        """Return the exact coefficients of the components and of their products."""
        mean = np.stack([f.coefficients(n_harmonics) for f in self.components])
        product = [[(f * g).coefficients(n_harmonics) for g in self.components] for f in self.components]
        return Moments(mean, np.array(product))


def on_grid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a codebook as whole numbers times a step, of which the largest value has 2047.

    Products of codes with codes then add whole numbers, exactly, and twice as many at a time as floats. A value moves
    by at most 1/4094 of the largest. Values that are multiples of a 255th of the largest, or of more, stay as they are:
    evenly spaced levels are whole numbers already.

    Parameters
    ----------
    values : ndarray of float64, of any shape
        Not all zero.

    Examples
    --------
    >>> on_grid(np.array([-1.0, -0.25, 0.25, 1.0]))
    array([-1.  , -0.25,  0.25,  1.  ])
    >>> (on_grid(np.array([-1.0, -0.3141, 0.3141, 1.0])) * 2047).round(9)
    array([-2047.,  -643.,   643.,  2047.])
    """
    relative = values / np.max(np.abs(values))
    multiples = np.multiply.outer(_FEW_STEPS, relative.ravel())
    if np.any(np.all(np.abs(multiples - np.rint(multiples)) < 1e-10, axis=1)):
        return values
    return np.asarray(np.rint(relative * _STEPS) * (np.max(np.abs(values)) / _STEPS))


def even_steps(
    values: NDArray[np.float64], borders: NDArray[np.float64], feature_map_shifts: tuple[float, ...]
) -> PhaseSteps:
    """Return the quantizer cos t -> values[count of borders <= cos t], scaled so that E[Q cos] = E[cos^2].

    values (2^b,) ascending and borders (2^b - 1,) ascending are in units of the cosine.
    """
    # cos falls as the folded turn grows: cos >= c exactly when the folded turn <= arccos(c) / 2 pi.
    folded = np.arccos(borders[::-1]) / (2 * np.pi)
    breaks = np.concatenate([folded, 1.0 - folded[::-1]])
    pieces = np.concatenate([values[-2::-1], values[1:]])
    scale = 2.0 * StepFunction(breaks, pieces).coefficients(1)[1].real
    shape = StepFunction(breaks, pieces / scale)
    return PhaseSteps(
        bits=(len(values) - 1).bit_length(),
        shifts=np.asarray(feature_map_shifts, dtype=np.float32),
        codebook=values / scale,
        borders=folded.astype(np.float32),
        table=np.arange(len(values), dtype=np.uint8),
        even=True,
        components=tuple(shape.shifted(shift) for shift in feature_map_shifts),
    )


@dataclass(eq=False, repr=False)
class LloydMax(Quantizer):
    """Round to the 2^bits values with the least squared error (Lloyd-Max): centroids as levels, midpoints as borders.

    On the arcsine law of a dithered cosine it also has the least variance against the full side. One bit is the square
    wave sign(cos t). Centroids are rounded to whole multiples of a 2047th of the largest, so that products of codes add
    whole numbers; their scale and moments are those of what they were rounded to, and the variance grows by less than
    1e-7 of itself.

    Parameters
    ----------
    bits : int, default=1
        1 to 8.

    Examples
    --------
    >>> from lowtide.maps import Cosine
    >>> drawn = LloydMax(bits=1).draw(Cosine(), np.random.default_rng(0))
    >>> drawn.codebook.round(4)                     # -pi/4 and pi/4
    array([-0.7854,  0.7854])
    """

    bits: int = 1

    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> PhaseSteps:
        """Return the quantizer of the map's components; nothing is random."""
        levels, borders = lloyd_max(feature_map.density, self.bits)
        return even_steps(on_grid(levels), borders, feature_map.shifts)


@dataclass(eq=False, repr=False)
class Uniform(Quantizer):
    """2^bits equal cells of the map's interval, decoded at their middles up to the unbiased scale.

    Parameters
    ----------
    bits : int, default=1
        1 to 8.

    Examples
    --------
    >>> from lowtide.maps import Cosine
    >>> drawn = Uniform(bits=2).draw(Cosine(), np.random.default_rng(0))
    >>> (drawn.codebook / drawn.codebook[-1]).round(4)
    array([-1.    , -0.3333,  0.3333,  1.    ])
    """

    bits: int = 1

    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> PhaseSteps:
        """Return the quantizer of the map's components; nothing is random."""
        low, high = feature_map.density.interval
        edges = np.linspace(low, high, 2**self.bits + 1)
        return even_steps((edges[:-1] + edges[1:]) / 2, edges[1:-1], feature_map.shifts)


@dataclass(eq=False, repr=False)
class Phase(Quantizer):
    """M = 2^bits equal arcs of the circle: one level a frequency, decoded to (cos, sin) of the arc's middle over F_1.

    F_1 = (M/pi) sin(pi/M). Two bits are the signs of the cosine and of the sine; three come within 5.3% of the
    variance of full precision for distant points. Cosines and sines are rounded to whole multiples of a 2047th of the
    largest, so that products of codes add whole numbers, and F_1 is that of the rounded ones.

    Parameters
    ----------
    bits : int, default=2
        1 to 8, per frequency, that is for two components.

    Examples
    --------
    >>> from lowtide.maps import CosSin
    >>> Phase(bits=2).draw(CosSin(), np.random.default_rng(0)).codebook.round(4)
    array([[ 0.7854,  0.7854],
           [-0.7854,  0.7854],
           [-0.7854, -0.7854],
           [ 0.7854, -0.7854]])
    """

    bits: int = 2

    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> PhaseSteps:
        """Return the quantizer; it needs a map with both quadratures."""
        if feature_map.width != 2:
            raise fail("Phase", "feature_map must be 'cos_sin'", type(feature_map).__name__, "Or use LloydMax.")
        n = 2**self.bits
        breaks = np.arange(n) / n
        middle = 2 * math.pi * (breaks + 0.5 / n)
        rounded = on_grid(np.stack([np.cos(middle), np.sin(middle)], axis=1))
        # The mean over an arc of the product with (cos t, sin t) is (n / pi) sin(pi / n) times that with its middle.
        arc = (n / math.pi) * math.sin(math.pi / n)
        codebook = rounded / (arc * np.mean(rounded[:, 0] * np.cos(middle) + rounded[:, 1] * np.sin(middle)))
        return PhaseSteps(
            bits=self.bits,
            shifts=np.zeros(1, dtype=np.float32),
            codebook=codebook,
            borders=breaks[1:].astype(np.float32),
            table=np.arange(n, dtype=np.uint8),
            even=False,
            components=(StepFunction(breaks, codebook[:, 0]), StepFunction(breaks, codebook[:, 1])),
        )
