"""Quantizers whose moments come from samples of a period: stochastic rounding, and a user's own periodic map."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
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
    """Any real function f of period 2 pi on the coded side, against the cosine on the full side.

    The coded side is f(t + a) / (2 |F_1|), F_1 = (1/2pi) int f(t) e^{-it} dt and a = -arg F_1, so its product with the
    full side is unbiased. A piecewise-constant f of at most 256 values packs into codes; any other f gives float32
    features.

    Parameters
    ----------
    f : callable or array of complex
        A vectorized function of the phase in radians, or its Fourier coefficients F_0, F_1, .. F_K (those at -k are the
        conjugates), complex or as pairs of real and imaginary part. Pieces of a piecewise-constant f must be at
        least 1/8192 of a period wide.

    Notes
    -----
    A map given as a callable is not saved to files; its coefficients are: `PeriodicMap(map.coefficients())`.

    Examples
    --------
    >>> from lowtide.maps import Cosine
    >>> square = PeriodicMap(lambda t: np.sign(np.sin(t)))
    >>> square.draw(Cosine(), np.random.default_rng(0)).codebook.round(4)
    array([-0.7854,  0.7854])
    """

    f: Any

    def check(self) -> None:
        """Refuse what is neither a function nor coefficients."""
        if not callable(self.f) and _given(self.f) is None:
            raise fail("PeriodicMap", "f must be a callable or a list of finite Fourier coefficients", self.f)

    def to_config(self) -> dict[str, Any]:
        """Return the coefficients; a callable has no configuration."""
        if callable(self.f):
            raise ParameterError(
                "PeriodicMap: a saved map must be given by Fourier coefficients, got a callable. "
                "Use PeriodicMap(map.coefficients()), which keeps its first 2048 harmonics."
            )
        return {"type": "PeriodicMap", "f": [[float(c.real), float(c.imag)] for c in self.coefficients()]}

    def comparison_key(self) -> str:
        """Return a text that is equal for equal maps; not what f prints as, which may be the same for two functions."""
        return f"callable {id(self.f)}" if callable(self.f) else super().comparison_key()

    def coefficients(self) -> NDArray[np.complex128]:
        """Return F_0 .. F_2048, or those that were given."""
        given = _given(self.f)
        if given is not None:
            return given
        steps = self._steps()
        return _coefficients(self._at(_MIDDLES), N_HARMONICS) if steps is None else steps.coefficients(N_HARMONICS)

    def draw(self, feature_map: FeatureMap, rng: np.random.Generator) -> DrawnQuantizer:
        """Return packed steps for a piecewise-constant map, a float map otherwise; nothing is random."""
        if feature_map.width != 1:
            raise fail("PeriodicMap", "feature_map must be 'cosine'", type(feature_map).__name__)
        coefficients = self.coefficients()
        first = coefficients[1] if len(coefficients) > 1 else 0.0
        if abs(first) < 1e-9 * max(float(np.max(np.abs(coefficients))), 1e-300):
            remedy = "The product would carry no kernel."
            raise fail("PeriodicMap", "f must have a first harmonic, F_1 != 0", complex(first), remedy)
        shift, scale = -float(np.angle(first)) / (2 * math.pi), 2.0 * abs(first)
        steps = self._steps() if callable(self.f) else None
        if steps is not None:
            return _pack_steps(steps, shift, scale)
        turn = np.exp(2j * math.pi * shift * np.arange(len(coefficients)))
        return DrawnPeriodic(self, shift, scale, coefficients * turn / scale)

    def _at(self, turns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate f at phases in turns and refuse what is not finite and real."""
        values = np.asarray(self.f(2 * math.pi * turns)) if callable(self.f) else _evaluate(self.coefficients(), turns)
        if np.iscomplexobj(values) or values.shape != turns.shape or not np.all(np.isfinite(values)):
            need = "f must map an array to finite real values of its shape"
            raise fail("PeriodicMap", need, f"{values.dtype} {values.shape}")
        return values.astype(np.float64)

    def _steps(self) -> StepFunction | None:
        """Return f as a step function with breaks found by bisection, or None when it takes too many values."""
        middle = (np.arange(_GRID) + 0.5) / _GRID
        values = self._at(middle)
        changes = np.flatnonzero(values != np.roll(values, 1))
        if len(np.unique(values)) > _MOST_VALUES or len(changes) < 2 or len(changes) > 2 * _MOST_VALUES:
            return None
        low, high = middle[changes] - 1.0 / _GRID, middle[changes]
        for _ in range(52):
            half = (low + high) / 2
            before = self._at(half % 1.0) == values[changes - 1]
            low, high = np.where(before, half, low), np.where(before, high, half)
        breaks = high % 1.0
        order = np.argsort(breaks)
        return StepFunction(breaks[order], values[changes][order])


def _coefficients(samples: NDArray[np.float64], n_harmonics: int) -> NDArray[np.complex128]:
    """Return Fourier coefficients 0 .. n_harmonics of functions sampled at the middles, along the last axis."""
    half_a_cell = np.exp(-1j * math.pi * np.arange(n_harmonics + 1) / _SAMPLES)
    coefficients = np.fft.rfft(samples, axis=-1)[..., : n_harmonics + 1] / _SAMPLES * half_a_cell
    # Round-off of the transform would otherwise look like a slowly falling tail.
    return np.where(np.abs(coefficients) < 1e-13 * np.max(np.abs(samples)), 0.0, coefficients)


def _given(f: Any) -> NDArray[np.complex128] | None:
    """Return Fourier coefficients given as complex numbers, or as pairs of real and imaginary part; None for others."""
    try:
        given = np.asarray(f, dtype=complex)
    except (TypeError, ValueError):
        return None
    if given.ndim == 2 and given.shape[1] == 2:
        given = given[:, 0] + 1j * given[:, 1]
    valid = given.ndim == 1 and 0 < len(given) <= _SAMPLES // 2 and np.isfinite(given).all()
    return given if valid else None


def _evaluate(coefficients: NDArray[np.complex128], turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the real trigonometric polynomial F_0 + 2 Re sum_k F_k e^{2 pi i k u} by Horner's rule."""
    z = np.exp(2j * math.pi * turns)
    total = np.zeros(z.shape, dtype=complex)
    for coefficient in coefficients[:0:-1]:
        total = (total + coefficient) * z
    return np.asarray(coefficients[0].real + 2.0 * total.real)


def _pack_steps(steps: StepFunction, shift: float, scale: float) -> PhaseSteps:
    """Return the packed quantizer of a step function."""
    values, levels = np.unique(steps.values, return_inverse=True)
    bits = max(1, (len(values) - 1).bit_length())
    codebook = np.zeros(2**bits)
    codebook[: len(values)] = values / scale
    borders = steps.breaks.astype(np.float32)
    # Levels before the first border are those of the last piece, unless a piece starts at 0.
    table = np.concatenate([levels[-1:], levels])
    inside = (borders > 0.0) & (borders < 1.0)
    if borders[0] == 0.0:
        table[0] = levels[0]
    return PhaseSteps(
        bits=bits,
        shifts=np.array([shift], dtype=np.float32),
        codebook=codebook,
        borders=borders[inside],
        table=table[np.concatenate([[True], inside])].astype(np.uint8),
        even=False,
        components=(StepFunction(steps.breaks, steps.values / scale).shifted(shift),),
    )


@dataclass(frozen=True)
class DrawnPeriodic:
    """A continuous map: float features in place of levels."""

    source: PeriodicMap
    shift: float
    scale: float
    series: NDArray[np.complex128]
    bits: ClassVar[None] = None
    codebook: ClassVar[None] = None
    op: ClassVar[str] = "turns"
    op_arguments: ClassVar[tuple[Any, ...]] = ()

    @property
    def shifts(self) -> NDArray[np.float32]:
        """One component a frequency."""
        return np.array([self.shift], dtype=np.float32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Nothing is random."""
        return {}

    def levels(self, turns: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Refuse: a continuous map has no levels."""
        raise fail("PeriodicMap", "levels exist only for piecewise-constant maps", "a continuous map")

    def values(self, turns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the decoded features at phases in turns."""
        phase = (turns.astype(np.float64) + self.shift) % 1.0
        return (self.source._at(phase) / self.scale).astype(np.float32)

    def moments(self, n_harmonics: int = N_HARMONICS) -> Moments:
        """Return the coefficients of the map and of its square."""
        square = _coefficients(self._samples() ** 2, n_harmonics)
        return Moments(self.series[None, : n_harmonics + 1], square[None, None])

    def _samples(self) -> NDArray[np.float64]:
        """Return the decoded map at the middles; a series is summed by one transform."""
        if callable(self.source.f):
            return self.source._at((_MIDDLES + self.shift) % 1.0) / self.scale
        padded = np.zeros(_SAMPLES // 2 + 1, dtype=complex)
        padded[: len(self.series)] = self.series * np.exp(1j * math.pi * np.arange(len(self.series)) / _SAMPLES)
        return np.fft.irfft(padded * _SAMPLES, _SAMPLES)
