"""Probabilities of classes: the fit of the curve that makes them of scores, and the rows that it is fitted on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from lowtide.cancel import Later, ready
from lowtide.learners.classes import Pair
from lowtide.learners.problem import Change, Problem, Reading, SummedProblem
from lowtide.learners.ridge import RidgeSolution
from lowtide.learners.rules import Calibration, Rule, class_scores

Array = NDArray[Any]

# Rows that are kept to fit a curve on, and scores of theirs that it is fitted on: fewer rows of many classes.
_MOST_ROWS = 20_000
_MOST_SCORES, _LEAST_ROWS = 1 << 18, 10_000
# Sorted at once when more rows come than can be kept: so many times as many, if their keys are that small.
_NEAR = 4
# Knots on either side of zero, bins that they are read from, and the part of the weight that all bins share.
_KNOTS, _BINS, _EVEN = 6, 1024, 1e-3
# How strongly a slope is drawn to what it starts from, in rows: the common one, and that of a piece.
_COMMON_PRIOR, _PIECE_PRIOR = 0.1, 1.0
_MOST_STEPS = 100
_BLOCK_ROWS = 4096
# Below this gain Newton's full steps double the digits; two more are enough.
_NEAR_MINIMUM = 1e-6


def fit_calibration(scores: Array, labels: Array, weight: Array, *, straight: bool = False) -> Calibration:
    """Return the curve of least log loss on scores that rows would have had without having been learned from.

    Slopes are positive by a term u - log u for each, u the slope over what it starts from: first one slope for all,
    then those of the pieces, which so differ from the common one as far as rows ask for it. Targets keep 1/(n + 2) for
    a class drawn at random: n right scores say no more than that, and without it the curve of separated classes would
    have no end. Knots hold equal parts of the information, s p (1 - p), of scores by their size.

    Every step is a continuous function of scores and weights, and rows enter by sums: their order does not matter.

    Parameters
    ----------
    scores : ndarray (n, 1 or n_classes)
    labels : ndarray (n,) of positions among the classes
    weight : ndarray (n,), above 0
        How many rows each one stands for.
    straight : bool, default=False
        Whether one slope is enough: half of the work, for those who only compare scores.
    """
    size = float(np.sqrt(np.average(np.mean(scores**2, axis=1), weights=weight))) if len(scores) else 0.0
    if size == 0.0:
        return Calibration()
    columns = class_scores(scores)
    (slope,) = _fitted(_Line(columns, labels, weight), 1, 1.0 / size, _COMMON_PRIOR)
    if straight:
        return Calibration((), (float(slope),))
    expected = scipy.special.softmax(slope * columns, axis=1)[:, -scores.shape[1] :]
    information = weight[:, None] * expected * (1.0 - expected)
    knots = _knots(np.abs(scores).ravel(), information.ravel())
    slopes = _fitted(_Pieces(columns, labels, weight, knots), len(knots) + 1, slope, _PIECE_PRIOR)
    return Calibration(tuple(knots.tolist()), tuple(slopes.tolist()))


def _knots(sizes: Array, weight: Array) -> Array:
    """Return zero and quantiles of sizes on either side of it.

    A size counts in the two bins around it, and all bins have some weight, so that quantiles are continuous in both.
    """
    place = sizes * ((_BINS - 1) / sizes.max())
    low = np.minimum(place.astype(np.intp), _BINS - 2)
    part = weight * (place - low)
    mass = np.bincount(low, weight - part, _BINS) + np.bincount(low + 1, part, _BINS)
    mass += (_EVEN * mass.sum() + np.finfo(float).tiny) / _BINS
    below = np.concatenate([[0.0], np.cumsum(0.5 * (mass[1:] + mass[:-1]))])
    shares = np.arange(1, _KNOTS + 1) / (_KNOTS + 1)
    found = np.interp(shares * below[-1], below, np.linspace(0.0, sizes.max(), _BINS))
    return np.concatenate([-found[::-1], [0.0], found])


def _fitted(curve: _Line | _Pieces, n_slopes: int, start: float, prior: float) -> Array:
    """Return the slopes that minimize the log loss and the prior, by Newton's method."""
    ratio, left = np.ones(n_slopes), 2
    value, gradient, hessian = curve.sums(start, ratio, prior)
    for _ in range(_MOST_STEPS):
        step = -np.linalg.solve(hessian, gradient)
        gain = float(-gradient @ step)
        if gain < _NEAR_MINIMUM:
            left -= 1
        # Ratios stay above zero.
        length = min(1.0, 0.95 / max(float(np.max(-step / ratio)), 0.95))
        found = curve.sums(start, ratio + length * step, prior)
        while gain >= _NEAR_MINIMUM and found[0] > value - 1e-4 * length * gain and length > 1e-6:
            length *= 0.5
            found = curve.sums(start, ratio + length * step, prior)
        ratio = ratio + length * step
        value, gradient, hessian = found
        if left == 0:
            break
    return start * ratio


def _doubted(labels: Array, weight: Array, k: int) -> Array:
    """Return the weight of each row (n, k) at its class, but for a doubt that all classes share."""
    doubt = 1.0 / (weight.sum() + 2.0)
    targets = np.full((len(labels), k), doubt / k)
    targets[np.arange(len(labels)), labels] += 1.0 - doubt
    targets *= weight[:, None]
    return targets


def slope_sums(scores: Array, weight: Array, slope: float) -> tuple[float, float, float]:
    """Return weighted sums over rows: log sum_c e^{slope f_c}, and its first and second derivative in the slope.

    These are mean and variance of a row's scores f under softmax(slope f). No score may be above 0.
    """
    expected = np.exp(slope * scores)
    total = expected.sum(axis=1)
    expected *= scores
    means = expected.sum(axis=1) / total
    squares = np.einsum("ij,ij->i", expected, scores) / total
    return float(weight @ np.log(total)), float(weight @ means), float(weight @ (squares - means**2))


class _Line:
    """Scores with a column a class, for the log loss of one slope, whose sums are means and variances of scores."""

    def __init__(self, scores: Array, labels: Array, weight: Array) -> None:
        # Less a row's largest, which changes no probability.
        self.scores, self.weight = scores - scores.max(axis=1, keepdims=True), weight
        self.wanted = float(np.vdot(_doubted(labels, weight, scores.shape[1]), self.scores))

    def sums(self, start: float, ratio: Array, prior: float) -> tuple[float, Array, Array]:
        """Return the value at the slope start * ratio, with its gradient and Hessian in the ratio."""
        slope = start * ratio[0]
        logs, mean, spread = slope_sums(self.scores, self.weight, slope)
        value = logs - slope * self.wanted
        gradient = start * (mean - self.wanted) + prior * (1.0 - 1.0 / ratio)
        hessian = start**2 * spread + prior / ratio**2
        return value + prior * float(np.sum(ratio - np.log(ratio))), gradient, hessian[:, None]


class _Pieces:
    """Scores with a column a class by their places on a curve of straight pieces, for the log loss of its slopes.

    A score between two points of the curve is at t of the way from one to the next, so the heights of these two are all
    that its log-odds depend on: g = (1 - t) h_j + t h_(j+1). Heights are linear in the slopes.
    """

    def __init__(self, scores: Array, labels: Array, weight: Array, knots: Array) -> None:
        top = float(np.abs(scores).max())
        points = np.concatenate([[-top], knots, [top]])
        low, high = points[:-1], points[1:]
        self.at = np.searchsorted(knots, scores)
        self.part = (scores - low[self.at]) / (high - low)[self.at]
        self.apart = self.part * (1.0 - self.part)
        self.heights = np.clip(points[:, None], low, high) - np.clip(0.0, low, high)
        self.weight = weight[:, None]
        self.targets = _doubted(labels, weight, scores.shape[1])
        self.wanted = _sum_at(self.at, self.targets, self.part, len(points))

    def sums(self, start: float, ratio: Array, prior: float) -> tuple[float, Array, Array]:
        """Return the value at slopes start * ratio, with its gradient and Hessian in the ratios."""
        of_ratio, t, size = start * self.heights, self.part, len(self.heights)
        heights = of_ratio @ ratio
        logs = np.diff(heights).take(self.at)
        logs *= t
        logs += heights.take(self.at)
        logs -= logs.max(axis=1, keepdims=True)
        expected = np.exp(logs)
        total = expected.sum(axis=1, keepdims=True)
        expected /= total
        # Targets of a row sum to its weight.
        loss = float(self.weight[:, 0] @ np.log(total[:, 0])) - float(np.vdot(self.targets, logs))
        squared = self._squared_means(expected, size)
        expected *= self.weight
        at_points = _sum_at(self.at, expected, t, size)
        between = np.bincount(self.at.ravel(), (expected * self.apart).ravel(), size - 1)
        # A score's own two heights: (1 - t)^2 and t^2 are 1 - t and t less t (1 - t).
        alone = at_points - np.append(between, 0.0) - np.append(0.0, between)
        curvature = np.diag(alone) + np.diag(between, 1) + np.diag(between, -1) - squared
        value = loss + prior * float(np.sum(ratio - np.log(ratio)))
        gradient = of_ratio.T @ (at_points - self.wanted) + prior * (1.0 - 1.0 / ratio)
        return value, gradient, of_ratio.T @ curvature @ of_ratio + np.diag(prior / ratio**2)

    def _squared_means(self, expected: Array, size: int) -> Array:
        """Return sum_i s_i m_i m_i', m_i the mean over classes of the parts that heights have in a row's scores."""
        total = np.zeros((size, size))
        for begin in range(0, len(expected), _BLOCK_ROWS):
            rows = slice(begin, begin + _BLOCK_ROWS)
            part = self.part[rows]
            own = self.at[rows] + size * np.arange(len(part))[:, None]
            means = _sum_at(own, expected[rows], part, size * len(part)).reshape(-1, size)
            total += (self.weight[rows] * means).T @ means
        return total


def _sum_at(places: Array, values: Array, part: Array, size: int) -> Array:
    """Return sums (size,) of values that are shared between a place and the next, a part of each for the latter."""
    later = values * part
    return np.bincount(places.ravel(), (values - later).ravel(), size) + np.bincount(
        places.ravel() + 1, later.ravel(), size
    )


@dataclass
class CalibrationRows:
    """The rows of a fit that probabilities are calibrated on, the same however rows come.

    They are those with the smallest keys, hashes of their codes, at most 20,000, so the rows of blocks, stores and
    workers are merged as sums are. Equal rows with equal labels are one of their joint weight; rows without weight are
    left out.

    Parameters
    ----------
    rows : Problem
        In memory, in the order of keys and of labels.
    keys : ndarray of uint64 (n,)
    counts : ndarray (n,)
        How many rows with weight each one stands for.
    places : ndarray (n,)
        Where each is among the rows that were looked at, if they were all in memory; else among these themselves.
    """

    rows: Problem
    keys: Array
    counts: Array
    places: Array

    @classmethod
    def of(cls, part: Problem, n_rows: int | None = None) -> CalibrationRows:
        """Return the rows to calibrate on of rows in memory, at most n_rows."""
        return cls._smallest(part, part.keys(), np.ones(part.shape[0]), n_rows)

    @classmethod
    def with_more(cls, rows: CalibrationRows | None, problem: SummedProblem) -> CalibrationRows:
        """Return the rows to calibrate on of all rows so far, if there were any, and of a problem."""
        more = problem.sum(cls.of)
        if rows is not None:
            more.merge(rows)
        return more if rows is None and problem.is_whole else replace(more, places=np.arange(len(more.keys)))

    def relabel(self, change: Change, reading: Reading) -> CalibrationRows:
        """Return the same rows with labels that are read as targets."""
        return replace(self, rows=self.rows.relabel(change, reading))

    def merge(self, part: CalibrationRows) -> None:
        """Take in the rows to calibrate on of other rows."""
        keys, counts = (np.concatenate(both) for both in ((self.keys, part.keys), (self.counts, part.counts)))
        both = self._smallest(self.rows.joined(part.rows), keys, counts)
        self.rows, self.keys, self.counts, self.places = both.rows, both.keys, both.counts, both.places

    def first(self, n_rows: int) -> CalibrationRows:
        """Return the n_rows of the smallest keys; all of them where there are no more."""
        part = slice(n_rows)
        if len(self.keys) <= n_rows:
            return self
        return CalibrationRows(self.rows.take(part), self.keys[part], self.counts[part], self.places[part])

    def rest(self, n_rows: int) -> CalibrationRows:
        """Return the rows that `first` leaves out."""
        part = slice(n_rows, None)
        return CalibrationRows(self.rows.take(part), self.keys[part], self.counts[part], self.places[part])

    def for_scores(self, n_columns: int) -> tuple[Problem, float]:
        """Return the rows to fit on when each has so many scores, weighted by how many they count as; and one's weight.

        Weights count as rows, unless they are smaller than that, as shares of one are.
        """
        n_rows = max(_LEAST_ROWS, _MOST_SCORES // n_columns)
        rows = self.rows if n_rows >= len(self.keys) else self.rows.take(slice(n_rows))
        unit = min(1.0, rows.total_weight / float(self.counts[:n_rows].sum()))
        return replace(rows, weight=rows.weights / unit), unit

    @classmethod
    def _smallest(cls, rows: Problem, keys: Array, counts: Array, n_rows: int | None = None) -> CalibrationRows:
        """Return one row of each key and label, those of the smallest keys."""
        most = _MOST_ROWS if n_rows is None else n_rows
        chosen = np.flatnonzero(rows.weights > 0.0)
        if len(chosen) > _NEAR * most:
            # Keys are spread evenly, so this many are below; unless many are equal, that is enough.
            near = chosen[keys[chosen] <= np.uint64(_NEAR * most / len(chosen) * 2.0**64)]
            chosen = near if len(np.unique(keys[near])) >= most else chosen
        # Labels are positions among classes, or rows of targets.
        rank = np.unique(rows.labels[chosen], axis=0, return_inverse=True)[1].ravel()
        own = keys[chosen]
        order = np.lexsort((rank, own))
        own, rank, chosen = own[order], rank[order], chosen[order]
        is_first = np.append(True, (np.diff(own) != 0) | (np.diff(rank) != 0))[: len(own)]
        taken, group = np.flatnonzero(is_first)[:most], np.cumsum(is_first) - 1
        weight, counts = (np.bincount(group, each[chosen])[:most] for each in (rows.weights, counts))
        places = chosen[taken]
        return cls(replace(rows.take(places), weight=weight), own[taken], counts, places)


class Machine(NamedTuple):
    """Weights (m, k), an intercept (k,), and scores of some of the rows, each as if it had been left out.

    There are no such scores where the loss makes probabilities itself.
    """

    weights: Array | Later[Array]
    intercept: Array
    rows: Problem | None = None
    scores: Array | None = None

    @property
    def coef(self) -> Array:
        """The weights, waited for if they have to be."""
        return ready(self.weights)

    @classmethod
    def of_ridge(cls, solution: RidgeSolution, kept: CalibrationRows | None) -> Machine:
        """Return a closed-form solution, with left-out scores of the rows that were kept."""
        assert kept is not None
        rows, unit = kept.for_scores(len(solution.intercept))
        scores = solution.left_out(rows, kept.places[: len(rows.labels)], unit)
        return cls(solution.weights, solution.intercept, rows, scores)

    @classmethod
    def of_pairs(
        cls, machines: list[Machine], pairs: list[Pair], kept: CalibrationRows, rule: Rule, n_classes: int
    ) -> Machine:
        """Return the machines of pairs as one, a column a pair, positive for its first class as votes are counted.

        A row was not learned from by the pairs of other classes; its own pairs have kept it too, in the same order.
        Scores are those of the classes, by the rule.
        """
        coef = -np.hstack([each.coef for each in machines])
        intercept = -np.hstack([each.intercept for each in machines])
        rows, _ = kept.for_scores(n_classes)
        scores = rows.predict.matmul(np.ascontiguousarray(coef)) + intercept
        for column, (machine, pair) in enumerate(zip(machines, pairs)):
            own = np.flatnonzero(pair.of(rows.labels))
            if machine.scores is not None:
                scores[own, column] = -machine.scores[: len(own), 0]
        return cls(coef, intercept, rows, rule.class_scores(scores, np.arange(n_classes)))
