"""Make pairs of rows that try an encoder: near, far, equal, along an axis, on a grid, sparse, heavy-tailed, shifted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rng = np.random.Generator

N_PAIRS = 3
# Rows beside the pairs that an encoder is fitted on.
N_AROUND = 16


@dataclass(frozen=True)
class Pairs:
    """One row, the rows that it is compared with, and the rows that an encoder is fitted on."""

    x: Floats  # (1, n_features)
    Y: Floats  # (n_pairs, n_features)
    around: Floats

    @property
    def to_fit(self) -> Floats:
        """All rows."""
        return np.vstack([self.x, self.Y, self.around])

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Which rows of Y are not x."""
        return np.any(self.x != self.Y, axis=1)

    def times(self, scale: float) -> Pairs:
        """Return all rows times a number."""
        return Pairs(self.x * scale, self.Y * scale, self.around * scale)


@dataclass(frozen=True)
class Kind:
    """A way to draw pairs: base rows, steps from them in bandwidths, and a factor of the common offset."""

    steps: Callable[[Rng, int, float], Floats]
    base: Callable[[Rng, int], Floats] | None = None
    offset: Callable[[Rng], float] = lambda _rng: 0.0
    fewest_columns: int = 1
    most_columns: int = 1 << 20

    def draw(self, rng: Rng, n_features: int, norm: float = 2.0) -> Pairs:
        """Return pairs whose steps are in units of the bandwidth, of the given l_p norm; base rows have length 1."""
        base = self.base or normal_base
        x = base(rng, n_features)
        steps = self.steps(rng, n_features, norm)
        around = x + np.vstack([base(rng, n_features) for _ in range(N_AROUND)])
        shift = self.offset(rng) / np.sqrt(n_features)
        return Pairs(x + shift, x + steps + shift, around + shift)


def to_length(directions: Floats, lengths: Floats, norm: float) -> Floats:
    """Return directions with the given lengths in the l_p norm."""
    own = np.linalg.norm(directions, ord=norm, axis=1, keepdims=True)
    return directions / own * lengths[:, None]


def log_uniform(low: float, high: float, size: int = N_PAIRS) -> Callable[[Rng], Floats]:
    """Return a sampler of lengths, increasing."""
    return lambda rng: np.sort(np.exp(rng.uniform(np.log(low), np.log(high), size)))


def any_direction(lengths: Callable[[Rng], Floats]) -> Callable[[Rng, int, float], Floats]:
    """Return steps in any direction."""

    def steps(rng: Rng, n_features: int, norm: float) -> Floats:
        sizes = lengths(rng)
        return to_length(rng.standard_normal((len(sizes), n_features)), sizes, norm)

    return steps


def equal_coordinates(count: int, lengths: Callable[[Rng], Floats]) -> Callable[[Rng, int, float], Floats]:
    """Return steps along the first few axes, equally far along each."""

    def steps(rng: Rng, n_features: int, norm: float) -> Floats:
        sizes = lengths(rng)
        directions = np.zeros((len(sizes), n_features))
        directions[:, :count] = 1.0
        return to_length(directions, sizes, norm)

    return steps


def no_steps(_rng: Rng, n_features: int, _norm: float) -> Floats:
    """Return one step of length 0."""
    return np.zeros((1, n_features))


def grid_steps(rng: Rng, n_features: int, norm: float) -> Floats:
    """Return integers times a power of two, 0.3 to 20 bandwidths long."""
    integers = rng.integers(-2, 3, (N_PAIRS, n_features)).astype(np.float64)
    integers[:, 0] += 3
    lengths = np.linalg.norm(integers, ord=norm, axis=1, keepdims=True)
    return integers * 2.0 ** np.round(np.log2(log_uniform(0.3, 20.0)(rng)[:, None] / lengths))


def sparse_steps(rng: Rng, n_features: int, norm: float) -> Floats:
    """Return steps with one entry in twenty."""
    return to_length(sparse_entries(rng, N_PAIRS, n_features), log_uniform(0.3, 3.0)(rng), norm)


def heavy_steps(rng: Rng, n_features: int, norm: float) -> Floats:
    """Return steps that a few large entries make up."""
    return to_length(rng.standard_t(1.2, (N_PAIRS, n_features)), log_uniform(0.3, 3.0)(rng), norm)


def sparse_entries(rng: Rng, size: int, n_features: int) -> Floats:
    """Return rows of which one entry in twenty is not 0, and one at least."""
    entries = np.where(rng.random((size, n_features)) < 0.05, rng.standard_normal((size, n_features)), 0.0)
    entries[np.arange(size), rng.integers(0, n_features, size)] = 1.0
    return entries


def normal_base(rng: Rng, n_features: int) -> Floats:
    """Return a normal row of length 1."""
    return to_length(rng.standard_normal((1, n_features)), np.ones(1), 2.0)


def grid_base(rng: Rng, n_features: int) -> Floats:
    """Return a row of integers times a power of two."""
    return rng.integers(0, 8, (1, n_features)) * 2.0 ** np.round(np.log2(0.25 / np.sqrt(n_features)))


def sparse_base(rng: Rng, n_features: int) -> Floats:
    """Return a sparse row of length 1."""
    return to_length(sparse_entries(rng, 1, n_features), np.ones(1), 2.0)


def heavy_base(rng: Rng, n_features: int) -> Floats:
    """Return a heavy-tailed row of length 3."""
    return to_length(rng.standard_t(1.2, (1, n_features)), np.full(1, 3.0), 2.0)


WIDE = log_uniform(0.1, 100.0)
TYPICAL = any_direction(log_uniform(0.3, 3.0))

KINDS = {
    "near": Kind(any_direction(log_uniform(1e-4, 0.1))),
    "typical": Kind(TYPICAL),
    "far": Kind(any_direction(log_uniform(3.0, 100.0))),
    "equal": Kind(no_steps),
    "axis": Kind(equal_coordinates(1, WIDE)),
    "two equal": Kind(equal_coordinates(2, WIDE), fewest_columns=2),
    "grid": Kind(grid_steps, grid_base),
    "sparse": Kind(sparse_steps, sparse_base, fewest_columns=16),
    "heavy": Kind(heavy_steps, heavy_base, fewest_columns=5),
    "offset": Kind(TYPICAL, offset=lambda rng: 10.0 ** rng.uniform(3.0, 6.0)),
    "one column": Kind(any_direction(WIDE), most_columns=1),
}
