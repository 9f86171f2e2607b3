"""The hinge loss, that of a support vector machine: Newton's method on its rounded corner, to a known duality gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.learners.losses import RoundedHinge
from lowtide.learners.problem import Problem, SummedProblem
from lowtide.learners.ridge import ErrorSum, RidgeSolution
from lowtide.learners.smooth import Report, Solution

Array = NDArray[Any]
# Least squares of rows in memory with a penalty alpha.
Ridge = Callable[[Problem, float], RidgeSolution]

# The widest corner, which the first steps are taken on, and the part that is left of it when it is narrowed.
FIRST_WIDTH, _NARROWER = 1.0, 0.1
# How often it may turn out that no step of a column goes down, and how much wider its corner then is.
_MOST_TRIES, _WIDER = 6, 3.0
# The gap beyond that of the corner, as a part of it, below which steps are good enough, and as good as exact; and what
# rounding leaves of a relative gap.
_SETTLED, _EXACTLY, _ROUNDING = 0.1, 1e-4, 1e-13
# Lengths of a step, all of them tried in one pass.
_LENGTHS = np.array([0.0, 1.0, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.02, 0.005, 0.001, 0.0001])


@dataclass
class MarginSums:
    """What a step depends on: sums over rows, a column of weights each, and the rows in the corner themselves.

    With u = 1 - y f and a in [0, s] the slope of a row's rounded loss they are, for the rows of y = 1 and of y = -1,
    sum a, sum a u and D'(y a); the sum of s max(0, u); and by how much the intercept may rise, and fall, before a row
    comes to the margin.
    """

    hinge: Array
    slope: Array
    along: Array
    pull: Array
    room: Array
    rows: Problem
    scores: Array

    @classmethod
    def of(cls, part: Problem, coef: Array, intercept: Array, width: Array) -> MarginSums:
        """Return those of rows in memory, at weights (m, k) and an intercept (k,), for corners of these widths (k,)."""
        scores = part.train.matmul(coef) + intercept
        targets, weights = part.targets, part.weights[:, None]
        short = 1.0 - targets * scores
        slope = RoundedHinge.slope(short, width) * weights
        signs = (targets > 0.0, targets < 0.0)
        both = [np.where(sign, slope, 0.0) for sign in signs]
        pull = part.train.rmatmul(np.ascontiguousarray(np.hstack([both[0], -both[1]])))
        near = np.flatnonzero(np.any((np.abs(short) < 0.5 * width) & (weights > 0.0), axis=1))
        side = np.where(weights > 0.0, targets * short, 0.0)
        rooms = [
            np.min(side, axis=0, initial=np.inf, where=side > 0.0),
            np.min(-side, axis=0, initial=np.inf, where=side < 0.0),
        ]
        return cls(
            hinge=np.sum(weights * np.maximum(short, 0.0), axis=0),
            slope=np.array([each.sum(axis=0) for each in both]),
            along=np.array([np.sum(each * short, axis=0) for each in both]),
            pull=np.moveaxis(pull.reshape(len(coef), 2, -1), 1, 0),
            room=np.array(rooms),
            rows=part.take(near),
            scores=scores[near],
        )

    def merge(self, part: MarginSums) -> None:
        """Add those of other rows."""
        for name in ("hinge", "slope", "along", "pull"):
            setattr(self, name, getattr(self, name) + getattr(part, name))
        self.room = np.minimum(self.room, part.room)
        self.rows, self.scores = self.rows.joined(part.rows), np.concatenate([self.scores, part.scores])


def _values(part: Problem, coef: Array, intercept: Array, width: Array) -> ErrorSum:
    """Return sums of the rounded loss at weights and after steps of all lengths, (n_lengths, k); steps come second."""
    scores = part.train.matmul(coef) + intercept
    k = len(width)
    short, change = 1.0 - part.targets * scores[:, :k], part.targets * scores[:, k:]
    return ErrorSum(np.array([part.weights @ RoundedHinge.value(short - t * change, width) for t in _LENGTHS]))


@dataclass(frozen=True)
class Margin:
    """How far each column is: its relative duality gap, and the part of it that the corner accounts for."""

    gap: Array
    corner: Array

    def is_settled(self, part: float) -> Array:
        """Whether steps on this corner are done: what the gap has beyond the corner's part is small beside that."""
        return np.asarray(self.gap - self.corner <= part * self.corner + _ROUNDING)


@dataclass(frozen=True)
class NewtonSteps:
    """Newton's method for |w|^2/2 + C sum_i s_i max(0, 1 - y_i f_i), each column of targets by itself.

    The corner of the loss is rounded, and narrowed as the solution comes near. On a corner of width h the loss is
    (y (1 + h/2) - f)^2 / (2 h) but for a constant for the rows within, and straight on either side, so a step is the
    least squares of the rows within, moved by what the rows at their bound pull. Near the end few rows are within: the
    free support vectors.

    Slopes a of the rounded loss, scaled so that both classes have the same sum, are feasible in the dual. The gap
    between the two values is |w - v|^2/2 + C sum (s max(0, u) - a u), u = 1 - y f and v = C D'(y a): it proves how far
    the minimum can be. Products are float64: slopes are differences from the margin, over the width.

    Parameters
    ----------
    problem : SummedProblem
        A pass over its rows tells where the corner is and brings the rows within it into memory; another tries steps.
    C : float
    ridge : callable
        Solves least squares of the rows within.
    goal : float
        The relative gap to reach.
    is_exact : bool
        Whether the last corner is to be settled to rounding.
    """

    problem: SummedProblem
    C: float
    ridge: Ridge
    goal: float
    is_exact: bool

    def solve(self, start: Array, max_iter: int, each_iteration: Report | None) -> tuple[Solution, Array]:
        """Return the solution from stacked weights and intercept (m + 1, k), and the relative gap of each column."""
        coef, intercept = start[:-1].copy(), start[-1].copy()
        width, factor = np.full(len(intercept), FIRST_WIDTH), np.full(len(intercept), _NARROWER)
        tries = np.full(len(intercept), _MOST_TRIES)
        best, gap = start.copy(), np.full(len(intercept), np.inf)
        n_iter = 0
        while True:
            sums = self.problem.sum(MarginSums.of, np.ascontiguousarray(coef), intercept, width)
            margin = self._margin(coef, sums)
            is_better = margin.gap <= gap
            best[:, is_better] = np.vstack([coef, self._centered(intercept, sums, width)])[:, is_better]
            is_near = margin.gap <= self.goal
            tries[(margin.gap < gap) & ~is_near] = _MOST_TRIES
            gap = np.minimum(gap, margin.gap)
            is_open = (tries > 0) & ~(is_near & (margin.is_settled(_EXACTLY) | (not self.is_exact)))
            if not np.any(is_open) or n_iter >= max_iter:
                break
            is_narrowed = is_open & margin.is_settled(_SETTLED) & ~is_near
            wanted = np.where(is_narrowed, factor * width, width)
            length = self._step(coef, intercept, sums, width, wanted, is_open)
            # Where no length goes down the corner was narrowed by too much, or is too narrow for the rows around it.
            stuck = is_open & (length == 0.0)
            factor = np.where(stuck, np.sqrt(factor), np.maximum(factor**1.5, _NARROWER))
            # Near the goal a step is exact, or rounding is all that is left.
            tries -= np.where(is_near, _MOST_TRIES // 3, stuck.astype(int))
            width = np.where(stuck & ~is_near, np.where(is_narrowed, width, _WIDER * width), wanted)
            n_iter += 1
            if each_iteration is not None:
                try:
                    each_iteration(lambda: np.vstack([coef, intercept]).ravel())
                except StopIteration:
                    break
        return Solution(best[:-1], best[-1], n_iter, bool(np.all(gap <= self.goal))), gap

    def _margin(self, coef: Array, sums: MarginSums) -> Margin:
        """Return the relative duality gap of each column, and the part that the corner accounts for."""
        ratio = np.ones_like(sums.slope)
        if self.problem.fit_intercept:
            ratio = np.divide(sums.slope.min(axis=0), sums.slope, out=np.zeros_like(ratio), where=sums.slope > 0.0)
        residual = coef - self.C * np.einsum("pk,pmk->mk", ratio, sums.pull)
        gap = 0.5 * np.sum(residual**2, axis=0) + self.C * (sums.hinge - np.sum(ratio * sums.along, axis=0))
        corner = np.maximum(self.C * (sums.hinge - np.sum(sums.along, axis=0)), 0.0)
        value = np.maximum(0.5 * np.sum(coef**2, axis=0) + self.C * sums.hinge, np.finfo(float).tiny)
        return Margin(gap / value, corner / value)

    def _step(
        self, coef: Array, intercept: Array, sums: MarginSums, width: Array, wanted: Array, is_open: Array
    ) -> Array:
        """Move open columns towards the minimum of the loss as it curves here, and return how far, 0 to 1.

        The rows within a corner of `width` are those within the one of the `wanted` width at its solution: along with
        the width their distances from the margin shrink.
        """
        change, shift = np.zeros_like(coef), np.zeros_like(intercept)
        for column in np.flatnonzero(is_open).tolist():
            aim, level = self._aim(sums, column, float(width[column]), float(wanted[column]), float(intercept[column]))
            change[:, column], shift[column] = aim - coef[:, column], level - intercept[column]
        both = np.ascontiguousarray(np.hstack([coef, change]))
        losses = np.asarray(self.problem.sum(_values, both, np.concatenate([intercept, shift]), wanted).total)
        penalties = np.array([0.5 * np.sum((coef + t * change) ** 2, axis=0) for t in _LENGTHS])
        length: Array = _LENGTHS[np.argmin(penalties + self.C * losses, axis=0)]
        coef += length * change
        intercept += length * shift
        return length

    def _aim(self, sums: MarginSums, column: int, width: float, wanted: float, level: float) -> tuple[Array, float]:
        """Return weights (m,) and intercept that minimize the loss of one column as it curves here.

        With force and base the sums of C s y and of C s y x over rows at their bound, it is the minimum of
        |w|^2/2 - w.base - b force + C / (2 h) sum s (y (1 + h/2) - f)^2 over the rows within. From a base of rows less
        the mean row within it is ridge regression, with targets moved by alpha force / sum s.
        """
        y = sums.rows.targets[:, column]
        short = 1.0 - y * sums.scores[:, column]
        near = np.flatnonzero(np.abs(short) < 0.5 * width)
        y, rows, alpha = y[near], sums.rows.take(near), wanted / self.C
        weights = rows.weights
        slope = weights * y * RoundedHinge.slope(short[near], width)
        pulls = rows.train.rmatmul(np.column_stack([slope, weights]))
        base = self.C * (sums.pull[:, :, column].sum(axis=0) - pulls[:, 0])
        if not len(near):
            return base, level
        targets = y * (1.0 + 0.5 * wanted)
        if self.problem.fit_intercept:
            force = self.C * float(sums.slope[0, column] - sums.slope[1, column] - slope.sum())
            total = float(weights.sum())
            base -= force / total * pulls[:, 1]
            targets += alpha * force / total
        targets -= rows.train.matmul(base[:, None])[:, 0]
        found = self.ridge(replace(rows, labels=targets[:, None], reading=None), alpha)
        return base + found.coef[:, 0], float(found.intercept[0])

    def _centered(self, intercept: Array, sums: MarginSums, width: Array) -> Array:
        """Return intercepts, in the middle of where they may be where no row is in the corner to hold them."""
        up, down = sums.room
        is_loose = (np.minimum(up, down) > 0.5 * width) & np.isfinite(up) & np.isfinite(down)
        if not self.problem.fit_intercept:
            return intercept
        with np.errstate(invalid="ignore"):
            return np.where(is_loose, intercept + 0.5 * (up - down), intercept)
