"""Blocks of a kernel's measure: frequencies and mass of each, features and codes of all in few passes, and errors.

The errors are those of a kernel that is a sum of several blocks; `estimation` has those of a kernel in one.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option, fail
from lowtide.codes import pack_levels, row_bytes, stored_bits, unpack_levels
from lowtide.encoders.rows import dense_rows, encode_rows, feature_rows, projected_rows
from lowtide.kernels import KERNELS, MeasureBlock, MeasureKernel, ShiftGaussian, fit_masses
from lowtide.projections import Blocks, DenseProjection, DrawnProjection, Iid, Projection
from lowtide.quantizers import DrawnQuantizer
from lowtide.theory import PairMoments, block_variance, measure_blocks

if TYPE_CHECKING:
    from lowtide.encoders.estimation import LaidBlock, Pair, Rule

Floats = NDArray[np.float64]

# Harmonics of codes against codes; the rest is taken at the level of the last ones.
_MOST_HARMONICS = 512
# A pair whose last eight characteristic values are below this has no more to add.
_NEGLIGIBLE = 1e-9
# What an estimate may be off, in standard errors, for a row to count as one that it may come from. With 1.6 two bars
# cover a Poisson number of differing levels at least 95% of the time, however few are seen: none is seen of 3.2
# expected ones with probability exp(-3.2) = 4%.
PLAUSIBLE = 1.6

_SHIFTS = (0.0, -0.25)
# Rows whose kernel values masses are fitted to. With the 50 of the paper a fit is now and then worse than none.
_MASS_ROWS = 200
# A fitted mass is at least this share of the exact one, so that no column is empty.
_LEAST_SHARE = 1e-3


def directed_kernel(given: str | MeasureKernel | None) -> MeasureKernel:
    """Return the kernel that is named or given, a shifted Gaussian for None; a copy, which no set_params reaches."""
    return copy(KERNELS.resolve(ShiftGaussian(shift=0.5, bandwidth=1.0) if given is None else given))


def allocate(blocks: tuple[MeasureBlock, ...], n_frequencies: int, rule: str) -> tuple[int, ...]:
    """Return frequencies per block, at least one each: equally many, or as many as its mass is worth.

    Far away a block's variance is M^2/2 over its frequencies, which frequencies in proportion to M make least.
    """
    check_option("AsymmetricFeatures", "allocation", rule, ("equal", "optimal"))
    masses = np.array([block.mass for block in blocks])
    wish = masses / masses.sum() if rule == "optimal" else np.full(len(blocks), 1.0 / len(blocks))
    spare = max(n_frequencies - len(blocks), 0)
    # One each, and the rest by largest remainder, so that the counts add up; heavier blocks win ties.
    share = np.maximum(wish * max(n_frequencies, len(blocks)) - 1.0, 0.0)
    share *= spare / share.sum() if spare else 0.0
    counts = 1 + np.floor(share + 1e-9).astype(int)
    left = max(n_frequencies, len(blocks)) - int(counts.sum())
    order = np.lexsort((-masses, -np.round(share - np.floor(share + 1e-9), 9)))
    counts[order[:left]] += 1
    return tuple(int(count) for count in counts)


def choose_form(kernel: MeasureKernel, rows: NDArray[np.float64], n_frequencies: int, rule: str) -> str:
    """Return the form of less mean variance over pairs of rows, in closed form; blocks where there is no choice."""
    d = rows.shape[1]
    if kernel.phase_measure(d) is None:
        return "blocks"
    difference = (rows[:, None] - rows[None]).reshape(-1, d)
    mean = {}
    for form in ("blocks", "phase"):
        blocks = measure_blocks(kernel, d, form)
        counts = allocate(blocks, n_frequencies, rule)
        mean[form] = sum(float(block_variance(b, difference).mean()) / p for b, p in zip(blocks, counts))
    return "phase" if mean["phase"] < mean["blocks"] else "blocks"


def block_layout(block: MeasureBlock, wish: Projection) -> Projection:
    """Return the layout that is wished for where the block's law can be laid out so, else independent draws."""
    return wish if block.frequencies.law in wish.laws else Iid()


def rows_to_fit_masses(rows: Any, wish: str, rng: np.random.Generator) -> NDArray[np.float64] | None:
    """Return at most 200 rows to fit masses to, drawn without repetition; None where masses stay exact."""
    n = rows.shape[0]
    if wish == "exact" or (wish == "auto" and n < _MASS_ROWS):
        return None
    few = dense_rows(rows[np.sort(rng.choice(n, size=min(n, _MASS_ROWS), replace=False))])
    if np.all(few == few[0]):
        if wish == "auto":
            return None
        remedy = "Fit on rows like those to come, or take masses='exact'."
        raise fail("AsymmetricFeatures", "masses='fitted' needs rows that differ", f"n_samples={n}, all equal", remedy)
    return few


def fit_block_masses(
    blocks: tuple[MeasureBlock, ...], products: list[NDArray[np.float64]], K: NDArray[np.float64], at_zero: float
) -> NDArray[np.float64] | None:
    """Return the masses of blocks with which products of drawn features fit K best; None where k(0) decides them all.

    The products are those with exact masses. What is fitted is the total mass of the positive, of the negative and of
    the skew blocks; blocks of one kind keep their shares.
    """
    masses = np.array([block.mass for block in blocks])
    kinds = np.array([2 if block.is_skew else int(block.turn == 0.5) for block in blocks])
    totals = np.array([masses[kinds == kind].sum() for kind in range(3)])
    if totals[2] == 0.0 and 0.0 in totals[:2]:
        return None
    plus, minus, skew = (
        sum((products[i] for i in np.flatnonzero(kinds == kind)), np.zeros_like(K)) / (totals[kind] or 1.0)
        for kind in range(3)
    )
    # Products have the sign of their block in them; half of a skew block's mass is that of the imaginary part.
    found = fit_masses(K, plus, -minus, -skew, at_zero)
    fitted = np.array([found.positive, found.negative, 2.0 * found.imaginary])
    lacking = np.maximum(_LEAST_SHARE * totals - fitted, 0.0)
    fitted += [lacking[:2].max(), lacking[:2].max(), lacking[2]]  # both real masses by one amount, which keeps k(0)
    return np.asarray(masses * (fitted / np.where(totals > 0, totals, 1.0))[kinds])


def pair_of_fitted_masses(
    pair: Pair, back: NDArray[np.float64], make: tuple[Callable[[Any], Any], Callable[[Any], Any]]
) -> Pair:
    """Return the pair of features with fitted masses from that with exact ones, given exact over fitted mass a column.

    Its variance is that with exact masses, and beside it the square of what the fit moved the estimate by, as if the
    two had nothing to do with each other. The fit is there to make them cancel, so the error is seldom as large.
    """

    def moved(made: tuple[Any, Any]) -> NDArray[np.float64]:
        left, right = (np.asarray(side, dtype=np.float64) for side in made)
        return np.asarray(((left * (back - 1.0)) @ right.T) ** 2)

    def variance(X: Any, Y: Any) -> NDArray[np.float64] | None:
        known = None if pair.variance is None else pair.variance(X, Y)
        return None if known is None else known + moved((make[0](X), make[1](Y)))

    def variance_seen(given: Any, made: tuple[Any, Any], K: NDArray[Any]) -> NDArray[np.float64]:
        exactly = (np.asarray(made[0], dtype=np.float64) * back, made[1])
        return pair.variance_seen(given, exactly, K) + moved(made)

    return replace(pair, variance=variance, variance_seen=variance_seen)


def kept_masses(owner: str, kept: NDArray[Any], n_blocks: int) -> NDArray[np.float64]:
    """Return kept masses as an array of its own, or refuse them."""
    if kept.dtype != np.float64 or kept.shape != (n_blocks,) or not np.all(np.isfinite(kept) & (kept > 0)):
        raise fail(owner, f"masses must be {n_blocks} finite float64 above 0", f"{kept.dtype} {kept.shape}")
    return np.array(kept)


@dataclass(frozen=True)
class SideBySide:
    """Projections one after the other, dense neighbors as one matrix, and how many columns each has."""

    projections: tuple[DrawnProjection, ...]
    n_columns: tuple[int, ...]

    @classmethod
    def of(cls, drawn: list[DrawnProjection], n_features_out: int) -> SideBySide:
        """Return the parts of drawn blocks; the last has one column less where a sine was dropped."""
        merged: list[DrawnProjection] = []
        for projection in drawn:
            last = merged[-1] if merged else None
            if isinstance(projection, DenseProjection) and isinstance(last, DenseProjection):
                matrix = np.ascontiguousarray(np.hstack([last.matrix, projection.matrix]))
                sizes = (1,) * matrix.shape[1]
                merged[-1] = DenseProjection(matrix, Blocks("iid", matrix.shape[0], sizes))
            else:
                merged.append(projection)
        columns = [2 * projection.n_frequencies for projection in merged]
        columns[-1] -= sum(columns) - n_features_out
        return cls(tuple(merged), tuple(columns))

    def _offsets(self, offset: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        parts = np.split(offset, np.cumsum([p.n_frequencies for p in self.projections])[:-1])
        return [np.ascontiguousarray(part) for part in parts]

    def features(self, rows: Any, offset: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return cosine and sine of every phase times the scale of its column, float32 (n, n_features_out)."""
        parts = zip(self.projections, self._offsets(offset), self.n_columns)
        pieces = [feature_rows(rows, projection, own, _SHIFTS, n) for projection, own, n in parts]
        amplitude = np.repeat(np.sqrt(2.0 / np.array(self.n_columns)), self.n_columns)
        out = pieces[0] if len(pieces) == 1 else np.hstack(pieces)
        out *= (scale / amplitude).astype(np.float32)
        return out

    def encode(
        self, rows: Any, offset: NDArray[np.float32], quantizer: DrawnQuantizer, per_level: int
    ) -> NDArray[np.uint8]:
        """Return packed levels of every phase, uint8 (n, row bytes)."""
        levels, bits = [n // per_level for n in self.n_columns], quantizer.bits or 1
        parts = zip(self.projections, self._offsets(offset), levels)
        packed = [
            encode_rows(rows, projection, own, quantizer, (n, stored_bits(bits), row_bytes(n, bits)))
            for projection, own, n in parts
        ]
        return packed[0] if len(packed) == 1 else _joined(packed, levels, bits)

    def phases(self, rows: Any) -> NDArray[np.float32]:
        """Return phases in turns without dither, (n, n_frequencies)."""
        return np.hstack([projected_rows(rows, projection) for projection in self.projections])


def _joined(packed: list[NDArray[np.uint8]], n_levels: list[int], bits: int) -> NDArray[np.uint8]:
    """Return rows of packed levels side by side: whole bytes as they are, others by unpacking."""
    stored, total = stored_bits(bits), sum(n_levels)
    if any(n * stored % 8 for n in n_levels[:-1]):
        return pack_levels(np.hstack([unpack_levels(p, bits, n) for p, n in zip(packed, n_levels)]), bits)
    out = np.zeros((len(packed[0]), row_bytes(total, bits)), dtype=np.uint8)
    start = 0
    for rows, n in zip(packed, n_levels):
        size = -(-n * stored // 8)
        out[:, start : start + size] = rows[:, :size]
        start += size
    return out


# What the moments of several parts say of their product -----------------------------------------------------------


def rounding_of_parts(
    parts: tuple[LaidBlock, ...], _X: Any, _Y: Any, noise_X: Floats, noise_Y: Floats, both_coded: bool
) -> Floats:
    """Return the square of what phase noise adds: a cosine moves by its square, codes change in proportion to it."""
    noise = np.minimum(np.hypot(noise_X[:, None], noise_Y), 1.0)
    masses = np.array([part.block.mass for part in parts])
    counts = np.array([part.n_columns / 2 for part in parts])
    first, spread = (noise, noise) if both_coded else (noise**2 / 2, noise**2)
    return np.asarray((masses.sum() * first) ** 2 + float(np.sum(masses**2 / counts)) * spread)


def by_harmonics(part: LaidBlock, groups: list[tuple[PairMoments, int]], difference: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of independent frequencies at differences (..., n_features)."""
    factor = 2.0 * part.block.mass / part.n_columns
    delta = difference.reshape(-1, difference.shape[-1])
    mean, variance = np.zeros(len(delta)), np.zeros(len(delta))
    for pair, count in groups:
        first, second = _pair_sums(part.block, pair, delta)
        mean += factor * count * first
        variance += factor**2 * count * np.maximum(second - first**2, 0.0)
    return mean.reshape(difference.shape[:-1]), variance.reshape(difference.shape[:-1])


def _pair_sums(block: MeasureBlock, pair: PairMoments, delta: Floats) -> tuple[Floats, Floats]:
    """Return E P and E P^2 of one frequency's product P: sums over k of c_k Re chi_k for two series c."""
    series = (pair.mean_series, pair.second_series)
    coefficients = np.zeros((2, max(len(c.coefficients) for c in series)))
    for row, c in zip(coefficients, series):
        row[: len(c.coefficients)] = c.coefficients
    orders = np.flatnonzero(np.any(np.abs(coefficients) > 1e-15, axis=0))
    orders = orders[(orders > 0) & (orders <= _MOST_HARMONICS)]
    sums = np.repeat(coefficients[:, :1], len(delta), axis=1)
    active, quiet = np.arange(len(delta)), np.zeros(len(delta), dtype=int)
    recent: list[Floats] = []
    for k in orders:
        value = np.zeros(len(delta))
        value[active] = block.characteristic(delta[active], order=int(k)).real
        sums += 2 * coefficients[:, k, None] * value
        recent = [*recent[-7:], value]
        quiet = np.where(np.abs(value) < _NEGLIGIBLE, quiet + 1, 0)
        active = np.flatnonzero(quiet < 8)
        if not active.size:
            break
    else:
        for total, c, row in zip(sums, series, coefficients):
            rest = 2 * row[_MOST_HARMONICS + 1 :].sum() + 2 * c.amplitude / len(row)
            weight = np.abs(row[orders[-len(recent) :]])
            if rest and weight.any():
                total += rest * np.average(recent, axis=0, weights=weight)
    return sums[0], sums[1]


def largest_step(rule: Rule) -> float:
    """Return how much of a frequency's product changes when a level does by one: all of it for one bit, at most.

    Levels that stand for both components turn the code, which changes products of equal rows by the square alone.
    """
    book = None if rule.drawn is None else rule.drawn.codebook
    if book is None:
        return 0.0
    values = book.reshape(len(book), -1)
    steps = float(np.linalg.norm(np.diff(values, axis=0), axis=1).max() / np.sqrt(np.mean(np.sum(values**2, axis=1))))
    return min(1.0, (steps if book.ndim == 1 else steps**2) / 2.0)


def spread_over_frequencies(
    columns: list[int], step: float, _given: Any, made: tuple[Any, Any], _K: NDArray[Any]
) -> Floats:
    """Return the variance that the spread of a product over its frequencies shows, taken as independent.

    With P_j the part of frequency j, sum_j P_j^2 is a product of features too: of cos^2, sqrt2 cos sin and sin^2. A few
    frequencies more may differ than are seen to: as many as in `plausible_variance`, each by a step of its part.
    """
    total = np.zeros((len(made[0]), len(made[1])))
    ends = np.cumsum(columns)[:-1]
    for L, R in zip(*(np.split(np.asarray(side, dtype=np.float64), ends, axis=1) for side in made)):
        count = -(-L.shape[1] // 2)
        square = _squares(L) @ _squares(R).T
        total += np.maximum(square - (L @ R.T) ** 2 / count, 0.0) * count / max(count - 1, 1)
        total += (PLAUSIBLE * step) ** 2 * square / count
    return total


def _squares(F: Floats) -> Floats:
    """Return cos^2, sqrt2 cos sin and sin^2 of interleaved pairs; a cosine alone counts as a pair with sine 0."""
    padded = F if F.shape[1] % 2 == 0 else np.pad(F, ((0, 0), (0, 1)))
    c, s = padded[:, ::2], padded[:, 1::2]
    return np.hstack([c * c, np.sqrt(2.0) * c * s, s * s])
