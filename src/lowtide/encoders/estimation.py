"""Estimate kernels from the products of two sides, with means and error bars from the moments of the sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.encoders.rows import dense_rows
from lowtide.kernels import Kernel, MeasureBlock, distances
from lowtide.maps import FeatureMap, Moments
from lowtide.projections import Blocks
from lowtide.quantizers import DrawnQuantizer, Quantizer
from lowtide.theory import Curve, PairMoments, covariance, kernel_reach

if TYPE_CHECKING:
    from lowtide.encoders.encoder import DrawnEncoder

Side = Literal["full", "codes"]
Floats = NDArray[np.float64]

# Of the mean of codes against codes, relative to the first: smaller ones change the variance by less than 0.1%.
_SMALLEST_HARMONIC = 1e-3
# Harmonics of codes against codes; the rest is taken at the level of the last ones.
_MOST_HARMONICS = 512
# A pair whose last eight characteristic values are below this has no more to add.
_NEGLIGIBLE = 1e-9
# Values of differences in flight: 64 MB.
_CHUNK = 1 << 23


@dataclass(frozen=True)
class Pair:
    """What the moments of two sides say of their product P."""

    mean: Callable[[Any, Any], Floats]  # E P of validated rows X, Y, (n, n_y)
    variance: Callable[[Any, Any], Floats] | None  # of the same; None where it has no closed form
    # From left, right and the estimates K, for codes whose rows are not there; None where only the rows tell.
    variance_seen: Callable[[Any, Any, NDArray[Any]], Floats] | None
    value_at_zero: Callable[[], float]  # E P at x = y
    distance: Callable[[ArrayLike], Floats] | None = None  # of estimates; None where the mean is no function of it


def kernel_estimate(
    drawn: DrawnEncoder, X: Any, Y: Any, sides: tuple[Side, Side], *, return_std: bool = False, normalize: bool = False
) -> Any:
    """Return the product of two sides of validated rows or Codes, float32 (n, n_y); with its standard error on request.

    The error is at the exact rows where both are there, and from what the sides show otherwise.
    """
    left, right = (
        rows if isinstance(rows, Codes) else make(rows, side)
        for rows, side, make in zip((X, Y), sides, (drawn.left, drawn.right))
    )
    K = product(left, right)
    if not (return_std or normalize):
        return K
    pair = drawn.pair(sides)
    scale = pair.value_at_zero() if normalize else 1.0
    estimate = K if scale == 1.0 else (K / scale).astype(np.float32)
    if not return_std:
        return estimate
    raw = not isinstance(X, Codes) and not isinstance(Y, Codes)
    if raw and pair.variance is not None:
        variance = pair.variance(X, Y)
    elif pair.variance_seen is not None:
        variance = pair.variance_seen(left, right, K)
    else:
        raise fail(drawn.kind, "the standard error needs raw rows on both sides", "Codes")
    return estimate, (np.sqrt(np.maximum(variance, 0.0)) / scale).astype(np.float32)


def expected_kernel(
    drawn: DrawnEncoder, X: Any, Y: Any, sides: tuple[Side, Side], *, normalize: bool = False
) -> Floats:
    """Return the mean of the product of two sides of validated rows, float64 (n, n_y)."""
    if isinstance(X, Codes) or isinstance(Y, Codes):
        raise fail(drawn.kind, "expected values need raw rows on both sides", "Codes")
    pair = drawn.pair(sides)
    value = pair.mean(X, Y)
    return value / pair.value_at_zero() if normalize else value


def distance_estimate(drawn: DrawnEncoder, X: Any, Y: Any, sides: tuple[Side, Side]) -> Floats:
    """Return the distances at which the mean of the product is what was estimated, float64 (n, n_y)."""
    distance = drawn.pair(sides).distance
    if distance is None:
        need = "distances need a symmetric kernel of distances"
        raise fail(drawn.kind, need, "one that is not", "Use kernel_estimate.")
    return distance(kernel_estimate(drawn, X, Y, sides))


def product(left: Any, right: Any) -> NDArray[np.float32]:
    """Return left right' whichever of the two is packed."""
    if isinstance(left, Codes):
        return left.dot(right) if isinstance(right, Codes) else left @ np.ascontiguousarray(right.T)
    if isinstance(right, Codes):
        return np.ascontiguousarray((right @ np.ascontiguousarray(left.T)).T)
    return np.asarray(left @ right.T)


# Sides of random Fourier features -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """A rule from phases to values: a feature map, or a quantizer of it, which moments do not tell from its draws."""

    feature_map: FeatureMap
    quantizer: Quantizer | None = None
    drawn: DrawnQuantizer | None = field(default=None, compare=False)

    def moments(self) -> Moments:
        """Return the Fourier coefficients of the values and of their products."""
        return self.feature_map.moments() if self.drawn is None else self.drawn.moments()


class LaidBlock(NamedTuple):
    """One block of a kernel's measure: its frequencies, how they are laid out, and the columns made of them."""

    block: MeasureBlock
    layout: Blocks
    n_columns: int

    @property
    def kernel(self) -> Kernel | None:
        """The symmetric kernel that the block is, moved by a shift and turned by a sign; None for other laws."""
        law = self.block.frequencies
        return law if isinstance(law, Kernel) and self.block.turn in (0.0, 0.5) else None

    @property
    def is_plain(self) -> bool:
        """Whether the block is a symmetric kernel as it is."""
        return self.kernel is not None and self.block.turn == 0.0 and self.block.shift is None


def feature_pair(
    parts: tuple[LaidBlock, ...],
    rules: tuple[Rule, Rule],
    n_features: int,
    exact: Callable[[Any, Any], Floats] | None = None,
    closed_form: bool = True,
) -> Pair:
    """Return the pair of two rules on the frequencies of some parts, whose kernels add up.

    `exact` is the mean, where one side is full and the product is unbiased for a kernel that is known better. Where the
    characteristic function of the blocks is not known in closed form the sides themselves must show the error.
    """
    is_plain = len(parts) == 1 and parts[0].is_plain

    def moments(X: Any, Y: Any) -> tuple[Floats, Floats]:
        rows = (X, Y) if is_plain else (dense_rows(X), dense_rows(Y))
        means, variances = zip(*(_part_moments(part, rules, *rows) for part in parts))
        return np.asarray(sum(means)), np.asarray(sum(variances))

    def mean(X: Any, Y: Any) -> Floats:
        if exact is not None:
            return exact(X, Y)
        if not closed_form:
            need, got = "expected_kernel needs a kernel in closed form", "another with codes on both sides"
            raise fail("AsymmetricFeatures", need, got, "Keep a side full.")
        return moments(X, Y)[0]

    def variance(X: Any, Y: Any) -> Floats:
        return moments(X, Y)[1]

    if not is_plain:
        origin = np.zeros((1, n_features))
        seen = partial(_spread_over_frequencies, [part.n_columns for part in parts])
        return Pair(mean, variance if closed_form else None, seen, lambda: float(mean(origin, origin)[0, 0]))
    mean_curve, variance_curve = _curves(parts[0], rules, n_features)

    def at_estimate(_left: Any, _right: Any, K: NDArray[Any]) -> Floats:
        # Too far to tell counts as infinitely far.
        return variance_curve(np.nan_to_num(mean_curve.inverse(K), nan=np.inf))

    return Pair(mean, variance, at_estimate, lambda: float(mean_curve(0.0)), mean_curve.inverse)


def _part_moments(part: LaidBlock, rules: tuple[Rule, Rule], X: Any, Y: Any) -> tuple[Floats, Floats]:
    """Return mean and variance of a part's product for every pair of rows, (n, n_y) each.

    A block whose frequencies are those of a symmetric kernel is an estimate of that kernel; the layout's covariance
    comes with it. Other laws have independent frequencies, and their moments are sums over harmonics of the
    characteristic function.
    """
    block, kernel = part.block, part.kernel
    if kernel is not None:
        mean, variance = _curves(part, rules, X.shape[1])
        distance = distances(X if block.shift is None else X + block.shift, Y, kernel.norm)
        sign = 1.0 if block.turn == 0.0 else -1.0
        return sign * block.mass * mean(distance), block.mass**2 * np.maximum(variance(distance), 0.0)
    step = max(1, _CHUNK // max(1, Y.size))
    groups = _groups(rules, part.n_columns)
    pieces = [_by_harmonics(part, groups, X[i : i + step, None] - Y[None]) for i in range(0, len(X), step)]
    empty = np.zeros((0, len(Y)))
    means, variances = zip(*pieces) if pieces else ((empty,), (empty,))
    return np.concatenate(means), np.concatenate(variances)


def _curves(part: LaidBlock, rules: tuple[Rule, Rule], n_features: int) -> tuple[Curve, Curve]:
    """Return mean and variance of a symmetric kernel's part, tabulated over distance."""
    assert part.kernel is not None
    return _pair_curves(part.kernel, part.layout, rules, part.n_columns, n_features)


@lru_cache(maxsize=64)
def _pair_curves(
    kernel: Kernel, blocks: Blocks, rules: tuple[Rule, Rule], n_components: int, n_features: int
) -> tuple[Curve, Curve]:
    """Tabulate the estimate (2/m) sum_j sum_i f_i(x) g_i(y) over frequencies j and their components i.

    Frequencies of one block are orthogonal, so beside the variance of each there is the covariance of pairs within a
    block: exact for Haar blocks; a Hadamard block has up to 11% more variance when rows are padded from a few columns.
    """
    groups = _groups(rules, n_components)
    factor = 2.0 / n_components

    def mean(s: Floats) -> Floats:
        return factor * np.sum([count * pair.mean(kernel, s, n_features) for pair, count in groups], axis=0)

    # The coefficient of kappa(s) in the mean of each frequency's product; its products with others of the same block.
    firsts = [float(2.0 * np.vdot(pair.right.mean[:, 1], pair.left.mean[:, 1]).real) for pair, _ in groups]
    shares = np.repeat(factor * np.array(firsts), [count for _, count in groups])
    starts = np.cumsum((0, *blocks.sizes))[:-1]
    pairs = float(np.sum(np.add.reduceat(shares, starts) ** 2) - np.sum(shares**2))
    amplitudes = groups[0][0].amplitudes
    harmonics = np.where(np.abs(amplitudes) > _SMALLEST_HARMONIC, amplitudes, 0.0)

    def variance(s: Floats) -> Floats:
        own = factor**2 * np.sum([count * pair.variance(kernel, s, n_features) for pair, count in groups], axis=0)
        return own + pairs * covariance(kernel, blocks, s, harmonics)

    unit, _ = kernel_reach(kernel, n_features)
    return Curve(mean, unit), Curve(variance, unit)


def _groups(rules: tuple[Rule, Rule], n_components: int) -> list[tuple[PairMoments, int]]:
    """Return whole frequencies and, when the last sine was dropped, the one that is used in part."""
    left, right = (rule.moments() for rule in rules)
    whole, rest = divmod(n_components, rules[0].feature_map.width)
    groups = [(PairMoments(left, right), whole)] if whole else []
    if rest:
        groups.append((PairMoments(left.first(rest), right.first(rest)), 1))
    return groups


def _by_harmonics(part: LaidBlock, groups: list[tuple[PairMoments, int]], difference: Floats) -> tuple[Floats, Floats]:
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


def _spread_over_frequencies(columns: list[int], left: Any, right: Any, _K: NDArray[Any]) -> Floats:
    """Return the variance that the spread of a product over its frequencies shows, taken as independent.

    With P_j the part of frequency j, sum_j P_j^2 is a product of features too: of cos^2, sqrt2 cos sin and sin^2.
    """
    total = np.zeros((len(left), len(right)))
    ends = np.cumsum(columns)[:-1]
    for L, R in zip(*(np.split(np.asarray(side, dtype=np.float64), ends, axis=1) for side in (left, right))):
        count = -(-L.shape[1] // 2)
        square = _squares(L) @ _squares(R).T
        total += np.maximum(square - (L @ R.T) ** 2 / count, 0.0) * count / max(count - 1, 1)
    return total


def _squares(F: Floats) -> Floats:
    """Return cos^2, sqrt2 cos sin and sin^2 of interleaved pairs; a cosine alone counts as a pair with sine 0."""
    padded = F if F.shape[1] % 2 == 0 else np.pad(F, ((0, 0), (0, 1)))
    c, s = padded[:, ::2], padded[:, 1::2]
    return np.hstack([c * c, np.sqrt(2.0) * c * s, s * s])
