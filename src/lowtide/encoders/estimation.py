"""Estimate kernels from the products of two sides, with means and error bars from the moments of the sides."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail, is_sparse
from lowtide.cancel import matmul
from lowtide.codes import Codes
from lowtide.encoders.blocks import (
    PLAUSIBLE,
    by_harmonics,
    largest_step,
    rounding_of_parts,
    spread_over_frequencies,
)  # fmt: skip
from lowtide.encoders.rows import dense_rows
from lowtide.errors import BranchWarning
from lowtide.kernels import Kernel, MeasureBlock, distances
from lowtide.maps import FeatureMap, Moments
from lowtide.projections import Blocks
from lowtide.quantizers import DrawnQuantizer, Quantizer
from lowtide.theory import Curve, PairMoments, covariance, kernel_reach

if TYPE_CHECKING:
    from lowtide.encoders.drawn.base import DrawnEncoder

Side = Literal["full", "codes"]
Floats = NDArray[np.float64]
Two = tuple[Any, Any]

# Of the mean of codes against codes, relative to the first: smaller ones change the variance by less than 0.1%.
_SMALLEST_HARMONIC = 1e-3
# Values of differences in flight: 64 MB.
_CHUNK = 1 << 23
# Nodes of the table of plausible errors.
_N_SEEN = 513
# Noise of phases, in radians, that tables of a kernel are too coarse for.
_LITTLE_NOISE = 1e-3
# Relative error of a float32 product of features.
_ROUNDING = 2.0**-22


@dataclass(frozen=True)
class Pair:
    """What the moments of two sides say of their product P."""

    mean: Callable[[Any, Any], Floats]  # E P of validated rows X, Y, (n, n_y)
    # Of the same; None, or of rows for which there is no closed form a None, where the sides themselves show it.
    variance: Callable[[Any, Any], Floats | None] | None
    # From what was given (rows or Codes), the two sides made of it, and the estimates K; for rows that are not there.
    variance_seen: Callable[[Two, Two, NDArray[Any]], Floats]
    value_at_zero: Callable[[], float]  # E P at x = y, as the limit of rows that come together
    # Distances from estimates and what was given; None where the mean is no function of the distance.
    distance: Callable[[NDArray[Any], Two], Floats] | None = None
    ambiguous: float = -np.inf  # estimates down to this one belong to one distance only
    sign: float = 1.0  # by which estimates are multiplied before distances are read: -1 where the kernel is negative
    largest: Callable[[Two], Any] | None = None  # E P at x = y of what was given, where that is not the value at zero
    # From rows X, Y and their phase noise in radians (n,), (n_y,): the square of the error that rounding adds.
    rounding: Callable[[Any, Any, Floats, Floats], Floats] | None = None

    def of_rows(self, change: Callable[[Any], Any]) -> Pair:
        """Return the same for rows that are changed first: what is said of them here is said of what they become."""

        def changed(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda X, Y, *noise: function(change(X), change(Y), *noise)

        variance, rounding = (None if each is None else changed(each) for each in (self.variance, self.rounding))
        return replace(self, mean=changed(self.mean), variance=variance, rounding=rounding)


def kernel_estimate(
    drawn: DrawnEncoder, X: Any, Y: Any, sides: tuple[Any, Any], *, return_std: bool = False, normalize: bool = False
) -> Any:
    """Return the product of two sides of validated rows or Codes, float32 (n, n_y); with its standard error on request.

    The error is at the exact rows where both are there, and from what the sides show otherwise.
    """
    drawn = drawn.normalized if normalize else drawn
    left, right = two_sides(drawn, X, Y, sides)
    K = drawn.product(left, right)
    if not (return_std or normalize):
        return K
    pair = drawn.pair(sides)
    scale = _scale_of(drawn, pair) if normalize else 1.0
    estimate = K if scale == 1.0 else (K / scale).astype(np.float32)
    if not return_std:
        return estimate
    return estimate, (standard_error(drawn, pair, (X, Y), (left, right), K) / abs(scale)).astype(np.float32)


def expected_kernel(drawn: DrawnEncoder, X: Any, Y: Any, sides: tuple[Any, Any], *, normalize: bool = False) -> Floats:
    """Return the mean of the product of two sides of validated rows, float64 (n, n_y)."""
    if isinstance(X, Codes) or isinstance(Y, Codes):
        raise fail(drawn.kind, "expected values need raw rows on both sides", "Codes")
    drawn = drawn.normalized if normalize else drawn
    pair = drawn.pair(sides)
    value = pair.mean(X, Y)
    return value / _scale_of(drawn, pair) if normalize else value


def distance_estimate(drawn: DrawnEncoder, X: Any, Y: Any, sides: tuple[Any, Any], return_std: bool = False) -> Any:
    """Return the distances at which the mean of the product is what was estimated, float64 (n, n_y), and their errors.

    The error is infinite where the distance may be any larger one.
    """
    pair = drawn.pair(sides)
    if pair.distance is None:
        need = "distances need a symmetric kernel of distances"
        raise fail(drawn.kind, need, "one that is not", "Use kernel_estimate.")
    left, right = two_sides(drawn, X, Y, sides)
    product = drawn.product(left, right)
    K, read, ambiguous = pair.sign * product, pair.distance, pair.ambiguous
    found = read(K, (X, Y))
    if not return_std:
        _warn_of_branches(found, ambiguous >= K)
        return found

    def surely(values: Floats) -> Floats:
        return np.where(values > ambiguous, read(values, (X, Y)), np.nan)

    top = pair.sign * pair.value_at_zero() if pair.largest is None else pair.largest((X, Y))
    step = standard_error(drawn, pair, (X, Y), (left, right), product)
    return found, inverted(surely, np.minimum(K, top), step)


def _warn_of_branches(distance: Floats, several: NDArray[np.bool_]) -> None:
    """Warn of distances that were read on the first branch of a kernel that takes their value again farther out."""
    count = int(np.sum(several & ~np.isnan(distance)))
    if count:
        warnings.warn(
            f"{count} of {distance.size} estimates belong to several distances, since the expected kernel rises again; "
            "the nearest is returned. With return_std=True the error of such a distance is infinite.",
            BranchWarning,
            stacklevel=4,
        )


def inverted(read: Callable[[Floats], Floats], K: NDArray[Any], step: Floats) -> Floats:
    """Return the standard error of what `read` makes of estimates, infinite where it gives NaN: too far to tell.

    An estimate within one or two standard errors of its mean then stands for a value within one or two of the error.
    Estimates beyond those that mean anything are to be given as the last that do.
    """
    value = read(K.astype(np.float64))
    error = np.zeros_like(value)
    for many in (-2.0, -1.0, 1.0, 2.0):
        error = np.maximum(error, np.nan_to_num(np.abs(read(K + many * step) - value) / abs(many), nan=np.inf))
    return error


def two_sides(drawn: DrawnEncoder, X: Any, Y: Any, sides: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the left side of X and the right side of Y; Codes are what they are."""
    left = X if isinstance(X, Codes) else drawn.left(X, sides[0])
    return left, Y if isinstance(Y, Codes) else drawn.right(Y, sides[1])


def standard_error(
    drawn: DrawnEncoder, pair: Pair, rows: tuple[Any, Any], made: tuple[Any, Any], K: NDArray[Any]
) -> Floats:
    """Return the standard error of each entry, that of float32 included: never 0 where rows differ."""
    raw = not any(isinstance(side, Codes) for side in rows)
    variance = pair.variance(*rows) if raw and pair.variance is not None else None
    if variance is None:
        variance = pair.variance_seen(rows, made, K)
    elif pair.rounding is not None:
        variance = variance + pair.rounding(*rows, *(drawn.phase_noise(side) for side in rows))
    return np.sqrt(np.maximum(variance, 0.0) + (_ROUNDING * np.maximum(np.abs(K), 0.5)) ** 2)


def _scale_of(drawn: DrawnEncoder, pair: Pair) -> float:
    """Return the mean at x = y, by which estimates are divided."""
    scale = pair.value_at_zero()
    if abs(scale) < 1e-12:
        raise fail(drawn.kind, "normalize=True needs a kernel that is not 0 at x = y", scale, "Take normalize=False.")
    return scale


def product(left: Any, right: Any) -> NDArray[np.float32]:
    """Return left right' whichever of the two is packed."""
    if isinstance(left, Codes):
        return left.dot(right) if isinstance(right, Codes) else left @ np.ascontiguousarray(right.T)
    if isinstance(right, Codes):
        return np.ascontiguousarray((right @ np.ascontiguousarray(left.T)).T)
    return np.asarray(left @ right.T if is_sparse(left) or is_sparse(right) else matmul(left, right.T))


def plausible_variance(mean: Floats, std: Floats) -> Callable[[NDArray[Any]], Floats]:
    """Return the variance of estimates whose rows are not known: the largest of all pairs they may come from.

    `mean` and `std` are those of the estimate at many pairs of rows. An estimate may come from pairs whose mean is
    within 1.6 standard errors of it; where there are none, from the one that is least far. At the estimate itself
    alone, rows whose codes agree would have no error, and kernels that rise again the error of the wrong branch.
    """
    values = np.unique(np.concatenate([mean - std, mean, mean + std]))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(values[:, None] - mean) / std
    apart[np.isnan(apart)] = 0.0  # the mean itself, without error
    largest = np.max(np.where(apart <= PLAUSIBLE, std, -1.0), axis=1)
    found = np.where(largest >= 0.0, largest, std[np.argmin(apart, axis=1)]) ** 2
    return lambda K: np.asarray(np.interp(K, values, found))


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

    def rounds_as(self, other: Rule) -> bool:
        """Whether equal rows are rounded alike: the same quantizer, with all that it drew at random."""
        if self.drawn is None or other.drawn is None or self.quantizer != other.quantizer:
            return False
        left, right = self.drawn.arrays(), other.drawn.arrays()
        return all(np.array_equal(left[name], right[name]) for name in left)


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

    @property
    def sign(self) -> float:
        """The sign of the kernel: minus for a phase of half a turn."""
        return 1.0 if self.block.turn == 0.0 else -1.0

    def law(self, rules: tuple[Rule, Rule], n_features: int) -> DistanceLaw:
        """Return mean and standard error of the block's estimate over distance, for a block that is a kernel."""
        assert self.kernel is not None
        alike = rules[0].rounds_as(rules[1])
        return _distance_law(self.kernel, self.layout, rules, self.n_columns, n_features, alike)

    def distances(self, X: Any, Y: Any) -> Floats:
        """Return the distances that the block's kernel is a function of, for a block that is a kernel."""
        assert self.kernel is not None
        return distances(X if self.block.shift is None else dense_rows(X) + self.block.shift, Y, self.kernel.norm)


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
    part = parts[0] if len(parts) == 1 and parts[0].kernel is not None else None
    is_plain = part is not None and part.is_plain

    def moments(X: Any, Y: Any) -> tuple[Floats, Floats]:
        rows = (X, Y) if is_plain else (dense_rows(X), dense_rows(Y))
        means, variances = zip(*(_part_moments(part, rules, *rows) for part in parts))
        return np.asarray(sum(means)), np.asarray(sum(variances))

    def mean(X: Any, Y: Any) -> Floats:
        if exact is None and not closed_form:
            need, got = "expected_kernel needs a kernel in closed form", "another with codes on both sides"
            raise fail("AsymmetricFeatures", need, got, "Keep a side full.")
        return moments(X, Y)[0] if exact is None else exact(X, Y)

    def variance(X: Any, Y: Any) -> Floats:
        return moments(X, Y)[1]

    if part is None:
        origin = np.zeros((1, n_features))
        seen = partial(spread_over_frequencies, [part.n_columns for part in parts], max(map(largest_step, rules)))
        return Pair(
            mean,
            variance if closed_form else None,
            seen,
            lambda: float(mean(origin, origin)[0, 0]),
            rounding=partial(rounding_of_parts, parts, both_coded=all(rule.drawn is not None for rule in rules)),
        )
    law = part.law(rules, n_features)
    signed = part.sign * part.block.mass

    def at_estimate(_given: Two, _made: Two, K: NDArray[Any]) -> Floats:
        return part.block.mass**2 * law.seen(K / signed)

    def rounding(X: Any, Y: Any, noise_X: Floats, noise_Y: Floats) -> Floats:
        return part.block.mass**2 * law.rounding(part.distances(X, Y), np.hypot(noise_X[:, None], noise_Y))

    at_zero = part.block.shift if part.block.shift is not None else np.zeros(n_features)
    return Pair(
        mean,
        variance,
        at_estimate,
        lambda: float(signed * law.mean(float(np.linalg.norm(at_zero, ord=law.kernel.norm)))),
        (lambda K, _given: law.falling.inverse(K)) if is_plain else None,
        law.falling.ambiguous if is_plain else -np.inf,
        law.sign,
        rounding=rounding,
    )


def _part_moments(part: LaidBlock, rules: tuple[Rule, Rule], X: Any, Y: Any) -> tuple[Floats, Floats]:
    """Return mean and variance of a part's product for every pair of rows, (n, n_y) each.

    A block whose frequencies are those of a symmetric kernel is an estimate of that kernel; the layout's covariance
    comes with it. Other laws have independent frequencies, and their moments are sums over harmonics of the
    characteristic function.
    """
    if part.kernel is not None:
        law, distance = part.law(rules, X.shape[1]), part.distances(X, Y)
        mean, variance = law.mean(distance), law.std(distance) ** 2
        if law.shared is not None and part.is_plain:
            same = _equal_rows(X, Y)
            mean, variance = (np.where(same, value, other) for value, other in zip(law.shared, (mean, variance)))
        return part.sign * part.block.mass * mean, part.block.mass**2 * variance
    step = max(1, _CHUNK // max(1, Y.size))
    groups = _groups(rules, part.n_columns)
    pieces = [by_harmonics(part, groups, X[i : i + step, None] - Y[None]) for i in range(0, len(X), step)]
    empty = np.zeros((0, len(Y)))
    means, variances = zip(*pieces) if pieces else ((empty,), (empty,))
    return np.concatenate(means), np.concatenate(variances)


def is_unbiased(rules: tuple[Rule, Rule]) -> bool:
    """Whether the mean of two sides' product is the kernel itself: one is full, and the other aligned with it."""
    if all(rule.drawn is not None for rule in rules):
        return False
    series = PairMoments(*(rule.moments() for rule in rules))
    return abs(float(series.amplitudes[0]) - 1.0) < 1e-9


def _equal_rows(X: Any, Y: Any) -> NDArray[np.bool_]:
    """Return which rows are equal in float32, in which they are encoded: then all random rounding is shared."""
    rows = np.vstack([dense_rows(side).astype(np.float32) for side in (X, Y)]) + np.float32(0.0)  # -0 becomes 0
    places = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    return np.asarray(places[: X.shape[0], None] == places[X.shape[0] :])


class DistanceLaw:
    """Mean and standard error of the estimate (2/m) sum_j sum_i f_i(x) g_i(y), tabulated over distance.

    Frequencies j of one block are orthogonal, so beside the variance of each there is the covariance of pairs within a
    block: exact for Haar blocks, to 5% for Hadamard blocks. Given the frequency, the product of frequency j has the
    mean a_j h(w_j.(x - y)), with one h for all but the last one, which may lack its sine; there only the weight a_j
    counts.
    """

    def __init__(
        self,
        kernel: Kernel,
        blocks: Blocks,
        rules: tuple[Rule, Rule],
        n_components: int,
        n_features: int,
        alike: bool = False,
    ) -> None:
        self.kernel, self._n_features = kernel, n_features
        groups, factor = _groups(rules, n_components), 2.0 / n_components
        counts = [count for _, count in groups]
        # All frequencies have one h but for the last one, whose share is that of the largest harmonic.
        largest = 1 + int(np.argmax(np.abs(groups[0][0].mean_series.coefficients[1:])))
        firsts = np.array([float(pair.mean_series.coefficients[largest]) for pair, _ in groups])
        shares = np.repeat(factor * firsts / (firsts[0] or 1.0), counts)
        starts = np.cumsum((0, *blocks.sizes))[:-1]
        pairs = float(np.sum(np.add.reduceat(shares, starts) ** 2) - np.sum(shares**2))
        harmonics = 2.0 * groups[0][0].mean_series.coefficients[1:]
        harmonics = np.where(np.abs(harmonics) > _SMALLEST_HARMONIC * np.abs(harmonics).max(), harmonics, 0.0)

        def mean(s: Floats) -> Floats:
            return factor * np.sum([count * pair.mean(kernel, s, n_features) for pair, count in groups], axis=0)

        def std(s: Floats) -> Floats:
            own = factor**2 * np.sum([count * pair.variance(kernel, s, n_features) for pair, count in groups], axis=0)
            return np.sqrt(np.maximum(own + pairs * covariance(kernel, blocks, s, harmonics), 0.0))

        self.unit, _ = kernel_reach(kernel, n_features)
        # The standard error, not the variance: the errors of near rows are the square of a small number.
        self.mean = Curve(mean, self.unit)
        self.std = Curve(std, self.unit, 1e-6 * max(float(std(np.array([self.unit]))[0]), 1e-6))
        self.shared = _shared_rounding(rules[0], n_components) if alike else None
        self.sign = -1.0 if self.mean(0.0) < min(self.mean.limit, 0.0) else 1.0

    @cached_property
    def falling(self) -> Curve:
        """The mean times its sign, which falls as rows move apart: distances are read from it."""
        return self.mean if self.sign > 0 else Curve(lambda s: -self.mean(s), self.unit)

    @cached_property
    def _kernel(self) -> Curve:
        return Curve(lambda s: self.kernel.radial(s, self._n_features), self.unit)

    @cached_property
    def seen(self) -> Callable[[NDArray[Any]], Floats]:
        """Return the variance that estimates show, of rows that are not there."""
        end = max(self.mean.s_max, self.std.s_max)
        s = np.append(np.linspace(0.0, end**0.25, _N_SEEN) ** 4, 4.0 * end)
        mean, std = self.mean(s), np.maximum(self.std(s), 0.0)
        if self.shared is not None:  # rows that are equal are a pair like others
            mean, std = np.append(mean, self.shared[0]), np.append(std, np.sqrt(self.shared[1]))
        return plausible_variance(mean, std)

    def rounding(self, distance: Floats, noise: Floats) -> Floats:
        """Return the square of what phase noise in radians adds: rows that noise moves apart look like distant ones."""
        if not noise.size or noise.max() < _LITTLE_NOISE:
            moved = np.hypot(distance, noise * self.unit)
        else:
            # A phase that is off by noise has e^(-noise^2/2) of its cosine left.
            weaker = self._kernel(distance) * np.exp(-(noise**2) / 2.0)
            moved = np.fmax(self._kernel.inverse(weaker), distance)
        more = np.maximum(self.std(moved) ** 2 - self.std(distance) ** 2, 0.0)
        return np.asarray((self.mean(moved) - self.mean(distance)) ** 2 + more)


@lru_cache(maxsize=64)
def _distance_law(
    kernel: Kernel, blocks: Blocks, rules: tuple[Rule, Rule], n_components: int, n_features: int, alike: bool
) -> DistanceLaw:
    """Return the law of an estimate, made once; `alike` says whether equal rows are rounded alike on both sides."""
    return DistanceLaw(kernel, blocks, rules, n_components, n_features, alike)


def _shared_rounding(rule: Rule, n_components: int) -> tuple[float, float] | None:
    """Return mean and variance of a row's codes against themselves where rounding is random, and so the same twice."""
    shared = rule.moments().shared
    if shared is None:
        return None
    whole, rest = divmod(n_components, len(shared.mean))
    mean = whole * shared.mean.sum() + shared.mean[:rest].sum()
    variance = whole * shared.covariance.sum() + shared.covariance[:rest, :rest].sum()
    return float(2.0 / n_components * mean), float((2.0 / n_components) ** 2 * variance)


def _groups(rules: tuple[Rule, Rule], n_components: int) -> list[tuple[PairMoments, int]]:
    """Return whole frequencies and, when the last sine was dropped, the one that is used in part."""
    left, right = (rule.moments() for rule in rules)
    whole, rest = divmod(n_components, rules[0].feature_map.width)
    groups = [(PairMoments(left, right), whole)] if whole else []
    if rest:
        groups.append((PairMoments(left.first(rest), right.first(rest)), 1))
    return groups
