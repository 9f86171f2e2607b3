"""Judge draws of an estimate and of its error bar: how much of each tolerance do bias, spread and coverage use?

Every tolerance is 4.5 standard errors, from the draws themselves. Means of skewed draws need more on one side: a
studentized mean t of n draws of skewness g has the quantile z - g (2 z^2 + 1) / (6 sqrt n) (Cornish and Fisher), which
is also what a Poisson count of a few events needs. What is beyond chance is stated where it enters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

Floats = NDArray[np.float64]

# Some 10,000 comparisons are made in a sweep; a normal variable exceeds this once in 150,000.
LIMIT = 4.5
CHANCE = float(norm.sf(LIMIT))
# How often a normal variable is more than two standard errors off.
NORMAL_MISSES = 2 * float(norm.sf(2.0))
# Bars from codes may be wider than the spread of what they belong to by this factor.
WIDEST = 3.0


@dataclass(frozen=True)
class Draws:
    """An estimate of one pair of rows and its error bar over independent encoders, beside what it should be."""

    values: Floats
    std: Floats
    truth: float
    differ: bool = True  # whether the two rows do
    raw: bool = True  # whether the bar is that of rows, not of what codes show
    slack: float = 0.0  # of the closed form, relative to the variance
    rounding: float = 0.0  # what float32 arithmetic may move a value by
    stated: float = 0.0  # the standard error of the closed form, where there is one
    long: float = 0.0  # by how much of the variance a bar may be too long, as its closed form says


@dataclass(frozen=True)
class Finding:
    """How much of a tolerance something uses: more than 1 is a failure."""

    what: str
    used: float
    figures: str


def allowance(sample: Floats, sign: float) -> float:
    """Return how far the mean of draws may be from its expectation by chance, above (sign 1) or below (sign -1)."""
    n, spread = len(sample), float(np.std(sample, ddof=1))
    if spread == 0.0:
        return 0.0
    skewness = float(np.mean((sample - sample.mean()) ** 3)) / spread**3
    widened = max(0.0, -sign * skewness) * (2 * LIMIT**2 + 1) / (6 * math.sqrt(n))
    return (LIMIT + widened) * spread / math.sqrt(n)


def judge(draws: Draws) -> list[Finding]:
    """Return a finding for everything that is judged of a kernel estimate: bias, spread or width, coverage."""
    broken = broken_bars(draws)
    if broken:
        return broken
    findings = [bias(draws), coverage(draws)]
    # One value in all draws but for rounding: events too rare to be seen, or none at all, so no spread to compare with.
    seen = np.ptp(draws.values) > 4 * draws.rounding
    if draws.raw:
        return [*findings, spread_above(draws), *([spread_below(draws)] if seen else [])]
    return [*findings, *([width(draws)] if seen else [])]


def broken_bars(draws: Draws) -> list[Finding]:
    """Return what makes bars no bars at all."""
    if not np.isfinite(draws.values).all() or not np.isfinite(draws.std).all() or np.any(draws.std < 0):
        return [Finding("not finite", math.inf, "an estimate or its bar is not a number of 0 or more")]
    share = float(np.mean(draws.std == 0))
    if draws.differ and share:
        return [Finding("bar is 0", math.inf, f"rows differ, and {share:.0%} of the bars are 0")]
    return []


def bias(draws: Draws) -> Finding:
    """Compare the mean with the truth in its own standard error.

    Events so rare that few were seen say little of their own frequency: there the closed form's standard error counts.
    """
    n, gap = len(draws.values), float(draws.values.mean() - draws.truth)
    chance = max(allowance(draws.values, np.sign(gap)), LIMIT * draws.stated / math.sqrt(n))
    used = ratio(abs(gap), chance + draws.rounding)
    error = float(np.std(draws.values, ddof=1)) / math.sqrt(n)
    return Finding("bias", used, f"mean {draws.values.mean():.6g} +- {error:.2g}, expected {draws.truth:.6g}")


def squared_scores(draws: Draws) -> Floats:
    """Return ((value - truth) / std)^2; 0 where both are 0."""
    gap = draws.values - draws.truth
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(gap == 0, 0.0, gap / draws.std)
    return np.minimum(scores**2, np.finfo(np.float32).max)


def spread_above(draws: Draws) -> Finding:
    """Compare the mean squared score with 1 from above: bars that are too short."""
    scores = squared_scores(draws)
    used = ratio(scores.mean() - 1, allowance(scores, 1.0) + draws.slack)
    return Finding("bars too short", used, f"spread {math.sqrt(scores.mean()):.4g} bars")


def spread_below(draws: Draws) -> Finding:
    """Compare the mean squared score with 1 from below: bars that are too long, but for rounding that they include."""
    scores = squared_scores(draws)
    floor = float(np.mean((draws.rounding / np.maximum(draws.std, np.finfo(np.float32).tiny)) ** 2))
    used = ratio(1 - scores.mean(), allowance(scores, -1.0) + draws.slack + draws.long + floor)
    return Finding("bars too long", used, f"spread {math.sqrt(scores.mean()):.4g} bars")


def coverage(draws: Draws) -> Finding:
    """Count what is more than two bars off, against what a normal law or a bar of the true length would leave.

    Few events make a law that is not normal. How many of its values are two standard deviations off is measured on the
    draws themselves: no bar of one length can do better. Rows have bars of one length, so events that come in whole
    steps may lie just within or just beyond all of them: the standard deviation counts as small as chance admits.
    """
    gap = np.abs(draws.values - draws.truth)
    square = float(np.mean(gap**2))
    if draws.raw:
        square = max(0.0, square - allowance(gap**2, 1.0) - draws.slack * square)
    best = float(np.mean(gap > 2 * math.sqrt(square)))
    return miss_count(int(np.sum(gap > 2 * draws.std)), len(gap), max(NORMAL_MISSES, best))


def miss_count(misses: int, n: int, chance: float) -> Finding:
    """Compare how many of n bars miss with the largest count that has a chance.

    Where a bar of the true length would leave most values out there is nothing to count.
    """
    if chance >= 0.5:
        return Finding("coverage", 0.0, "too few events to tell")
    most = float(binom.isf(CHANCE, n, chance))
    used = ratio(misses - n * chance, most - n * chance)
    return Finding("coverage", used, f"two bars cover {1 - misses / n:.1%}, at best {1 - chance:.1%}")


def width(draws: Draws) -> Finding:
    """Compare the median bar with the spread of the values, as large as that may be by chance, and one event more.

    Codes that agree show none of the events that make others differ, so an honest bar has room for one. Its size is
    what the fourth cumulant over the second shows: exactly that of a Poisson law's events, 0 of a normal law.
    """
    squares = (draws.values - draws.values.mean()) ** 2
    variance = float(squares.mean())
    event = max(0.0, float(np.mean(squares**2)) - 3 * variance**2) / variance
    largest = math.sqrt(variance + allowance(squares, -1.0) + event)
    middle = float(np.median(draws.std))
    used = ratio(middle, WIDEST * largest + draws.rounding)
    return Finding("bars too long", used, f"median bar {middle:.3g}, spread {math.sqrt(variance):.3g}")


def judge_distances(draws: Draws, tellable: bool) -> list[Finding]:
    """Return findings for distances: two bars cover, and are finite and not too long where the distance can be told.

    An infinite bar says that the rows are too far apart to tell, NaN that the estimate is past the range. Both are
    honest where the kernel is within the error of its end, and misses where it is clear of it.
    """
    told = np.isfinite(draws.values) & np.isfinite(draws.std)
    if not told.any():
        used = math.inf if tellable else 0.0
        return [Finding("distance", used, "no distance is told")]
    gap = np.abs(draws.values - draws.truth)[told]
    if draws.differ and np.any(draws.std[told] <= 0):
        return [Finding("bar is 0", math.inf, "rows differ, and a distance's bar is 0")]
    misses = int(np.sum(gap > 2 * draws.std[told])) + (int(np.sum(~told)) if tellable else 0)
    best = float(np.mean(gap > 2 * np.sqrt(np.mean(gap**2))))
    found = [miss_count(misses, len(told), max(NORMAL_MISSES, best))]
    seen = Draws(draws.values[told], draws.std[told], draws.truth)
    # Distances of equal rows end at 0, where estimates above the kernel's largest value all lie.
    return [*found, width(seen)] if tellable and draws.differ and np.ptp(seen.values) > 0 else found


def ratio(part: float, whole: float) -> float:
    """Return part / whole, 0 for a part that is not positive, infinite for one of nothing."""
    if part <= 0:
        return 0.0
    return float(part / whole) if whole > 0 else math.inf
