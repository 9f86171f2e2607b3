"""Stochastic rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.maps import N_HARMONICS, FeatureMap, Moments
from lowtide.quantizers.base import Quantizer

# Samples of a period for coefficients of a continuous, piecewise smooth function: aliasing stays below 1e-9.
_SAMPLES = 1 << 16


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
        return DrawnStochastic(
            bits=self.bits,
            shifts=np.asarray(feature_map.shifts, dtype=np.float32),
            codebook=np.linspace(-1.0, 1.0, 2**self.bits),
            seed=seed,
        )


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
        t = np.arange(_SAMPLES) / _SAMPLES
        mean = np.stack([np.cos(2 * math.pi * (t + shift)) for shift in self.shifts.astype(np.float64)])
        product = mean[:, None] * mean[None]
        step = 2.0 / (2**self.bits - 1)
        low = np.floor((mean + 1.0) / step) * step - 1.0
        second = mean * (2 * low + step) - low * (low + step)
        product[np.arange(len(mean)), np.arange(len(mean))] = second
        return Moments(_coefficients(mean, n_harmonics), _coefficients(product, n_harmonics))


def _coefficients(samples: NDArray[np.float64], n_harmonics: int) -> NDArray[np.complex128]:
    """Return Fourier coefficients 0 .. n_harmonics of functions sampled over one period along the last axis."""
    coefficients = np.fft.rfft(samples, axis=-1)[..., : n_harmonics + 1] / samples.shape[-1]
    # Round-off of the transform, far below any true coefficient, would otherwise look like a slowly falling tail.
    return np.where(np.abs(coefficients) < 1e-13, 0.0, coefficients)
