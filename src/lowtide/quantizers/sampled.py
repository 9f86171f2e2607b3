"""Quantizers whose moments come from samples of a period: stochastic rounding, and a user's own periodic map."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.errors import ParameterError
from lowtide.maps import N_HARMONICS, FeatureMap, Moments, SharedRounding
from lowtide.quantizers.base import DrawnQuantizer, PhaseSteps, Quantizer, StepFunction

_GRID = 8192
_SAMPLES = 1 << 16
# Middles of equal cells: a jump between two cells then costs the square of a cell's width, not the width.
_MIDDLES = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
_MOST_VALUES = 256

Function = Callable[[NDArray[np.float64]], ArrayLike]


@dataclass(eq=False, repr=False)
class Stochastic(Quantizer):
    """Rounding of the cosine to the grid -1 + i Delta, Delta = 2/(2^bits - 1), up or down at random, unbiased.

    The random number is a hash of a seed, the component and the phase, so the same row always gives the same bits.
    It is the quantizer of the low-precision random Fourier features of the literature, here as the baseline: its
    variance is above Lloyd-Max's at every bit count.

    Parameters
    ----------
    bits : int, default=1
        1 to 8.

    Examples
    --------
    >>> from lowtide.maps import Cosine
    >>> Stochastic(bits=2).draw(Cosine(), np.random.default_rng(0)).codebook.round(4)
    array([-1.    , -0.3333,  0.3333,  1.    ])
    """

    bits: int = 1

    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> DrawnStochastic:
        """Draw the seed of the rounding."""
        return self._with_seed(feature_map, int(rng.integers(0, 2**63)))

    def restore(self, feature_map: FeatureMap, arrays: dict[str, NDArray[Any]]) -> DrawnStochastic:
        """Return the rounding of a kept seed."""
        kept = arrays["seed"]
        if kept.dtype != np.int64 or kept.shape != (1,) or kept[0] < 0:
            raise fail("Stochastic", "seed must be one int64 of at least 0", f"{kept.dtype} {kept.shape}")
        return self._with_seed(feature_map, int(kept[0]))

    def _with_seed(self, feature_map: FeatureMap, seed: int) -> DrawnStochastic:
        shifts = np.asarray(feature_map.shifts, dtype=np.float32)
        return DrawnStochastic(self.bits, shifts, np.linspace(-1.0, 1.0, 2**self.bits), seed)


@dataclass(frozen=True)
class DrawnStochastic:
    """Stochastic rounding with a fixed seed."""

    bits: int
    shifts: NDArray[np.float32]
    codebook: NDArray[np.float64]
    seed: int
    op: ClassVar[str] = "encode_stochastic"

    @property
    def op_arguments(self) -> tuple[Any, ...]:
        """Return the seed and the bits of the grid, which may be stored in more."""
        return (self.seed, self.bits)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the seed."""
        return {"seed": np.array([self.seed], dtype=np.int64)}

    def levels(self, turns: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return levels with random numbers of numpy's: equal to the op in law, not bit by bit."""
        u = turns[:, :, None].astype(np.float64) + self.shifts
        position = (np.cos(2 * math.pi * u) + 1.0) / 2.0 * (2**self.bits - 1)
        noise = np.random.default_rng(self.seed).random(u.shape)
        return np.floor(position + noise).astype(np.uint8).reshape(len(turns), -1)

    def moments(self, n_harmonics: int = N_HARMONICS) -> Moments:
        """Return the coefficients of cos(t + shift), of E[Q^2 | t] and of products of independent roundings."""
        mean = np.cos(2 * math.pi * (_MIDDLES + self.shifts.astype(np.float64)[:, None]))
        product = mean[:, None] * mean[None]
        step = 2.0 / (2**self.bits - 1)
        low = np.floor((mean + 1.0) / step) * step - 1.0
        second = mean * (2 * low + step) - low * (low + step)
        product[np.arange(len(mean)), np.arange(len(mean))] = second
        # E[Q^4 | t] is a chord too, of the fourth power.
        fourth = low**4 + (mean - low) / step * ((low + step) ** 4 - low**4)
        squares = second.mean(axis=1)
        covariance = second @ second.T / _SAMPLES - np.outer(squares, squares)
        covariance[np.diag_indices_from(covariance)] = fourth.mean(axis=1) - squares**2
        shared = SharedRounding(squares, covariance)
        return Moments(_coefficients(mean, n_harmonics), _coefficients(product, n_harmonics), shared)


@dataclass(eq=False, repr=False)
class PeriodicMap(Quantizer):
    """Any function f of period 2 pi on a side: a sensor's own response, a wave, a harmonic.

    A real f has the component f(t) for the feature map "cosine", f(t) and f(t - pi/2) for "cos_sin". A complex f, such
    as exp(i t), needs "cos_sin": its real and imaginary part are the two components, and a product of two sides is the
    real part of the complex one.

    Parameters
    ----------
    f : callable or array of complex
        A vectorized function of the phase in radians, or its Fourier coefficients F_0, F_1, .. F_K (those at -k are the
        conjugates), complex or as pairs of real and imaginary part; of a complex f two rows of them, for its real and
        its imaginary part. Pieces of a piecewise-constant f must be at least 1/8192 of a period wide.
    aligned : bool, default=True
        Whether the phase is turned and the value divided so that the product with the full side is unbiased for the
        kernel, which needs F_1 != 0. False takes f as it is, with its phase, sign and size, in units in which the full
        side is cos t: then two sides f and g have the mean 2 sum_k F_k conj(G_k) kappa(k (x - y)), k over all integers,
        and f against -f a negative kernel.

    Notes
    -----
    A piecewise-constant f of at most 256 values gives packed codes, any other f float features. A map given as a
    callable is not saved to files; its coefficients are: `PeriodicMap(map.coefficients())`.

    Examples
    --------
    >>> from lowtide.maps import Cosine
    >>> square = PeriodicMap(lambda t: np.sign(np.sin(t)))
    >>> square.draw(Cosine(), np.random.default_rng(0)).codebook.round(4)
    array([-0.7854,  0.7854])
    >>> PeriodicMap(lambda t: np.sign(np.sin(t)), aligned=False).draw(Cosine(), np.random.default_rng(0)).codebook
    array([-1.,  1.])
    """

    f: Any
    aligned: bool = True

    def check(self) -> None:
        """Refuse what is neither a function nor coefficients."""
        if not callable(self.f) and _given(self.f) is None:
            raise fail("PeriodicMap", "f must be a callable or a list of finite Fourier coefficients", self.f)
        if not isinstance(self.aligned, (bool, np.bool_)):
            raise fail("PeriodicMap", "aligned must be True or False", self.aligned)

    def to_config(self) -> dict[str, Any]:
        """Return the coefficients; a callable has no configuration."""
        if callable(self.f):
            raise ParameterError(
                "PeriodicMap: a saved map must be given by Fourier coefficients, got a callable. "
                "Use PeriodicMap(map.coefficients()), which keeps its first 2048 harmonics."
            )
        kept = self.coefficients()
        return {"type": "PeriodicMap", "f": np.stack([kept.real, kept.imag], axis=-1).tolist(), "aligned": self.aligned}

    def comparison_key(self) -> str:
        """Return a text that is equal for equal maps; not what f prints as, which may be the same for two functions."""
        return f"callable {id(self.f)} {self.aligned}" if callable(self.f) else super().comparison_key()

    def coefficients(self) -> NDArray[np.complex128]:
        """Return F_0 .. F_2048, or those that were given; of a complex f, two rows: of real and of imaginary part."""
        given = _given(self.f)
        return self._looked_at[1] if given is None else given

    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> DrawnQuantizer:
        """Return packed steps for a piecewise-constant map, a float map otherwise; nothing is random."""
        rows = np.atleast_2d(self.coefficients())
        if len(rows) > 1 and feature_map.width != 2:
            need = "a complex f needs feature_map='cos_sin', its real and imaginary part are two columns"
            raise fail("PeriodicMap", need, type(feature_map).__name__)
        first = (rows[:, 1] @ np.array([1.0, 1j])[: len(rows)]) if rows.shape[1] > 1 else 0.0
        turn, scale = (0.0, 1.0) if not self.aligned else _alignment(complex(first), rows, "PeriodicMap")
        # A complex map has both components of itself; a real one has a shift of the feature map for each.
        shifts = turn + np.array([0.0] if len(rows) > 1 else feature_map.shifts)
        steps = self._looked_at[0] if callable(self.f) else None
        if steps is not None:
            return _pack_steps(steps, shifts, scale)
        return DrawnPeriodic(self, shifts, scale, rows)

    @property
    def _looked_at(self) -> tuple[StepFunction | None, NDArray[np.complex128]]:
        """The steps and the coefficients of a callable, found once where it can be remembered."""
        try:
            return _remembered(self.f)
        except TypeError:  # not hashable
            return _look_at(self)

    def _at(self, turns: NDArray[np.float64]) -> NDArray[Any]:
        """Evaluate f at phases in turns, (...) or of a complex f (2, ...), and refuse what is not finite."""
        if not callable(self.f):
            parts = [_evaluate(row, turns) for row in np.atleast_2d(self.coefficients())]
            return np.stack(parts) if len(parts) == 2 else parts[0]
        values = np.asarray(self.f(2 * math.pi * turns))
        if values.shape != turns.shape or values.dtype.kind not in "fiubc" or not np.all(np.isfinite(values)):
            need = "f must map an array to finite values of its shape"
            raise fail("PeriodicMap", need, f"{values.dtype} {values.shape}")
        if np.iscomplexobj(values):
            return np.stack([values.real, values.imag]).astype(np.float64)
        return values.astype(np.float64)

    def _steps(self) -> StepFunction | None:
        """Return f as a step function with breaks found by bisection, or None when it takes too many values."""
        middle = (np.arange(_GRID) + 0.5) / _GRID
        values = self._values(middle)
        changes = np.flatnonzero(values != np.roll(values, 1))
        if len(np.unique(values)) > _MOST_VALUES or len(changes) < 2 or len(changes) > 2 * _MOST_VALUES:
            return None
        low, high = middle[changes] - 1.0 / _GRID, middle[changes]
        for _ in range(52):
            half = (low + high) / 2
            before = self._values(half % 1.0) == values[changes - 1]
            low, high = np.where(before, half, low), np.where(before, high, half)
        breaks = high % 1.0
        order = np.argsort(breaks)
        return StepFunction(breaks[order], values[changes][order])

    def _values(self, turns: NDArray[np.float64]) -> NDArray[Any]:
        """Return f at phases in turns, real or complex."""
        values = self._at(turns)
        return values if values.shape == turns.shape else values[0] + 1j * values[1]


@dataclass(eq=False, repr=False)
class Modulo(Quantizer):
    """The staircase of a modulo sensor: 2^bits equal steps of the phase, of values that rise from -1 to 1 and wrap.

    It is what is left of a uniform quantizer of the projection when only its last `bits` bits are kept; one bit, the
    least significant one, is universal quantization, the square wave.

    Parameters
    ----------
    bits : int, default=1
        1 to 8.
    aligned : bool, default=True
        As in `PeriodicMap`.

    Examples
    --------
    >>> from lowtide.maps import Cosine
    >>> Modulo(bits=2, aligned=False).draw(Cosine(), np.random.default_rng(0)).codebook.round(4)
    array([-1.    , -0.3333,  0.3333,  1.    ])
    """

    bits: int = 1
    aligned: bool = True

    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> PhaseSteps:
        """Return the quantizer of the map's components; nothing is random."""
        n = 2**self.bits
        steps = StepFunction(np.arange(n) / n, np.linspace(-1.0, 1.0, n))
        rows = steps.coefficients(1)[None]
        turn, scale = _alignment(complex(rows[0, 1]), rows, "Modulo") if self.aligned else (0.0, 1.0)
        return _pack_steps(steps, turn + np.array(feature_map.shifts), scale)


@lru_cache(maxsize=64)
def _remembered(f: Function) -> tuple[StepFunction | None, NDArray[np.complex128]]:
    return _look_at(PeriodicMap(f))


def _look_at(periodic: PeriodicMap) -> tuple[StepFunction | None, NDArray[np.complex128]]:
    """Return the steps of a callable map, None for a continuous one, and its coefficients F_0 .. F_2048."""
    steps = periodic._steps()
    if steps is None:
        return None, _coefficients(periodic._at(_MIDDLES), N_HARMONICS)
    parts = (steps.values.real, steps.values.imag) if np.iscomplexobj(steps.values) else (steps.values,)
    kept = np.stack([StepFunction(steps.breaks, part).coefficients(N_HARMONICS) for part in parts])
    return steps, kept if len(kept) == 2 else kept[0]


def _alignment(first: complex, rows: NDArray[np.complex128], owner: str) -> tuple[float, float]:
    """Return the turn and the divisor that make a map unbiased against the full side, of its first coefficient.

    A real map has |F_1| of a component's cosine, which must be 1/2, a complex one |F_1| of both, which must be 1.
    """
    if abs(first) < 1e-9 * max(float(np.max(np.abs(rows))), 1e-300):
        remedy = "The product with the full side would carry no kernel; aligned=False takes f as it is."
        raise fail(owner, "f must have a first harmonic, F_1 != 0", first, remedy)
    return -float(np.angle(first)) / (2 * math.pi), (2.0 if len(rows) == 1 else 1.0) * abs(first)


def _coefficients(samples: NDArray[np.float64], n_harmonics: int) -> NDArray[np.complex128]:
    """Return Fourier coefficients 0 .. n_harmonics of functions sampled at the middles, along the last axis."""
    half_a_cell = np.exp(-1j * math.pi * np.arange(n_harmonics + 1) / _SAMPLES)
    coefficients = np.fft.rfft(samples, axis=-1)[..., : n_harmonics + 1] / _SAMPLES * half_a_cell
    # Round-off of the transform would otherwise look like a slowly falling tail.
    return np.where(np.abs(coefficients) < 1e-13 * np.max(np.abs(samples)), 0.0, coefficients)


def _given(f: Any) -> NDArray[np.complex128] | None:
    """Return Fourier coefficients given as complex numbers, or as pairs of real and imaginary part; None for others.

    They have one row of a real map and two, of its real and its imaginary part, of a complex one.
    """
    try:
        given = np.asarray(f, dtype=complex)
        pairs = not np.iscomplexobj(np.asarray(f)) and given.ndim in (2, 3) and given.shape[-1] == 2
    except (TypeError, ValueError):
        return None
    if pairs:
        given = given[..., 0] + 1j * given[..., 1]
    shaped = given.ndim == 1 or (given.ndim == 2 and len(given) == 2)
    return given if shaped and 0 < given.shape[-1] <= _SAMPLES // 2 and np.isfinite(given).all() else None


def _evaluate(coefficients: NDArray[np.complex128], turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the real trigonometric polynomial F_0 + 2 Re sum_k F_k e^{2 pi i k u} by Horner's rule."""
    z = np.exp(2j * math.pi * turns)
    total = np.zeros(z.shape, dtype=complex)
    for coefficient in coefficients[:0:-1]:
        total = (total + coefficient) * z
    return np.asarray(coefficients[0].real + 2.0 * total.real)


def _pack_steps(steps: StepFunction, shifts: NDArray[np.float64], scale: float) -> PhaseSteps:
    """Return the packed quantizer of a step function; of complex values one level is for both components."""
    values, levels = np.unique(steps.values, return_inverse=True)
    bits = max(1, (len(values) - 1).bit_length())
    both = np.iscomplexobj(values)
    decoded = np.stack([values.real, values.imag], axis=1) if both else values
    codebook = np.zeros((2**bits, *decoded.shape[1:]))
    codebook[: len(values)] = decoded / scale
    borders = steps.breaks.astype(np.float32)
    # Levels before the first border are those of the last piece, unless a piece starts at 0.
    table = np.concatenate([levels[-1:], levels])
    inside = (borders > 0.0) & (borders < 1.0)
    if borders[0] == 0.0:
        table[0] = levels[0]
    shape = StepFunction(steps.breaks, steps.values / scale)
    if both:
        moved = shape.shifted(float(shifts[0]))
        components = tuple(StepFunction(moved.breaks, part) for part in (moved.values.real, moved.values.imag))
    else:
        components = tuple(shape.shifted(float(shift)) for shift in shifts)
    return PhaseSteps(
        bits=bits,
        shifts=shifts.astype(np.float32),
        codebook=codebook,
        borders=borders[inside],
        table=table[np.concatenate([[True], inside])].astype(np.uint8),
        even=False,
        components=components,
    )


@dataclass(frozen=True)
class DrawnPeriodic:
    """A continuous map: float features in place of levels."""

    source: PeriodicMap
    turns: NDArray[np.float64]  # what is added to the phase: a number a component, or one for both of a complex map
    scale: float
    rows: NDArray[np.complex128]  # coefficients of the map, or of its real and its imaginary part
    bits: ClassVar[None] = None
    codebook: ClassVar[None] = None
    op: ClassVar[str] = "turns"
    op_arguments: ClassVar[tuple[Any, ...]] = ()

    @property
    def shifts(self) -> NDArray[np.float32]:
        """What is added to the phase, in turns."""
        return self.turns.astype(np.float32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return no arrays: nothing is random."""
        return {}

    def levels(self, turns: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Refuse: a continuous map has no levels."""
        raise fail("PeriodicMap", "levels exist only for piecewise-constant maps", "a continuous map")

    def values(self, turns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the decoded features at phases in turns (n, frequencies), the components of each side by side."""
        phase = turns.astype(np.float64)
        parts = [self.source._at((phase + turn) % 1.0) for turn in self.turns]
        both = np.stack(list(parts[0]) if len(self.rows) == 2 else parts, axis=-1)
        return (both / self.scale).reshape(len(turns), turns.shape[1] * both.shape[-1]).astype(np.float32)

    def moments(self, n_harmonics: int = N_HARMONICS) -> Moments:
        """Return the coefficients of the components and of their products."""
        samples = self._samples()
        orders = np.arange(min(self.rows.shape[1], n_harmonics + 1))
        waves = np.exp(2j * math.pi * np.outer(self.turns, orders))
        mean = self.rows[:, : len(orders)] * waves / self.scale
        return Moments(mean, _coefficients(samples[:, None] * samples[None], n_harmonics))

    def _samples(self) -> NDArray[np.float64]:
        """Return the components at the middles, (width, samples); a series is summed by one transform."""
        if callable(self.source.f):
            parts = [self.source._at((_MIDDLES + turn) % 1.0) for turn in self.turns]
            return (parts[0] if len(self.rows) == 2 else np.stack(parts)) / self.scale
        orders = np.arange(self.rows.shape[1])
        rows = self.rows * np.exp(2j * math.pi * np.outer(self.turns, orders))
        padded = np.zeros((len(rows), _SAMPLES // 2 + 1), dtype=complex)
        padded[:, : len(orders)] = rows / self.scale * np.exp(1j * math.pi * orders / _SAMPLES)
        return np.fft.irfft(padded * _SAMPLES, _SAMPLES)
