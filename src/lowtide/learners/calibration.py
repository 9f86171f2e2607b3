"""Probabilities of classes: the curve that makes them of scores, and its fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.learners.rules import largest

Array = NDArray[Any]

# Knots on either side of zero, bins that they are read from, and the part of the weight that all bins share.
_KNOTS, _BINS, _EVEN = 6, 1024, 1e-3
# How strongly a slope is drawn to what it starts from, in rows: the common one, and that of a piece.
_COMMON_PRIOR, _PIECE_PRIOR = 0.1, 1.0
_MOST_STEPS = 100
_BLOCK_ROWS = 4096
# Below this gain Newton's full steps double the digits; two more are enough.
_NEAR_MINIMUM = 1e-6


@dataclass(frozen=True)
class Calibration:
    """An increasing curve g of scores, g(0) = 0, in straight pieces: probabilities are softmax(g(scores)).

    All classes share the curve; of two classes with a single score s the scores are 0 and s, so g(s) are the log-odds
    of the second. A common increasing curve keeps the order of scores, so the most probable class is the predicted one.

    Parameters
    ----------
    knots : tuple of float
        Where pieces meet, rising.
    slopes : tuple of float
        Of every piece, above 0: one more than knots. The first and the last have no end.

    Examples
    --------
    >>> import numpy as np
    >>> curve = Calibration(knots=(0.0,), slopes=(4.0, 1.0))
    >>> curve.log_odds(np.array([-0.5, 0.0, 2.0]))
    array([-2.,  0.,  2.])
    >>> curve.probabilities(np.array([[-0.5], [2.0]])).round(3)
    array([[0.881, 0.119],
           [0.119, 0.881]])
    """

    knots: tuple[float, ...] = ()
    slopes: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        knots, slopes = np.asarray(self.knots, dtype=np.float64), np.asarray(self.slopes, dtype=np.float64)
        if not np.isfinite(knots).all() or np.any(np.diff(knots) <= 0.0):
            raise fail("Calibration", "knots must be finite numbers that rise", self.knots)
        if len(slopes) != len(knots) + 1 or not np.all((slopes > 0.0) & (slopes < np.inf)):
            need = f"slopes must be {len(knots) + 1} finite numbers above 0, one more than knots"
            raise fail("Calibration", need, self.slopes)

    def log_odds(self, scores: Array) -> Array:
        """Return g of scores of any shape."""
        return self._height(scores) - self._height(np.zeros(()))

    def probabilities(self, scores: Array) -> Array:
        """Return the probabilities of scores (n, 1 or n_classes), (n, n_classes)."""
        return _put_ahead(scipy.special.softmax(self.log_odds(_class_scores(scores)), axis=1), scores)

    def log_probabilities(self, scores: Array) -> Array:
        """Return the logarithms of `probabilities`, finite also where one is too small for a float."""
        return _put_ahead(scipy.special.log_softmax(self.log_odds(_class_scores(scores)), axis=1), scores)

    def to_config(self) -> dict[str, list[float]]:
        """Return knots and slopes as JSON has them."""
        return {"knots": list(self.knots), "slopes": list(self.slopes)}

    @classmethod
    def from_config(cls, config: Any) -> Self:
        """Return the calibration of what `to_config` gave; anything else is refused."""
        if not isinstance(config, dict) or set(config) != {"knots", "slopes"}:
            raise fail("Calibration", "a calibration must have knots and slopes", config)
        for name, values in config.items():
            numbers = isinstance(values, list) and all(type(value) in (int, float) for value in values)
            if not numbers:
                raise fail("Calibration", f"{name} must be a list of numbers", values)
        return cls(tuple(map(float, config["knots"])), tuple(map(float, config["slopes"])))

    def _height(self, scores: Array) -> Array:
        """Return the curve but for a constant."""
        if not self.knots:
            return self.slopes[0] * scores
        knots, slopes = np.asarray(self.knots), np.asarray(self.slopes)
        piece = np.searchsorted(knots, scores)
        heights = np.concatenate([[0.0, 0.0], np.cumsum(slopes[1:-1] * np.diff(knots))])
        return np.asarray(heights[piece] + slopes[piece] * (scores - np.concatenate([knots[:1], knots])[piece]))


def _class_scores(scores: Array) -> Array:
    """Return a column a class: a single score s of two classes stands for 0 and s."""
    return scores if scores.shape[1] > 1 else np.hstack([np.zeros_like(scores), scores])


def _put_ahead(values: Array, scores: Array) -> Array:
    """Put the class of the largest score ahead, in place, where rounding made another one equal to it."""
    ahead = largest(scores)
    rows = np.flatnonzero(np.argmax(values, axis=1) != ahead)
    values[rows, ahead[rows]] = np.nextafter(values[rows].max(axis=1), np.inf)
    return values


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
    columns = _class_scores(scores)
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
