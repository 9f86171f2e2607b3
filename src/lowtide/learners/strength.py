"""How strongly to regularize: candidates are compared by the losses that rows would have had if left out.

Everything here is a function of left-out scores, so it does not matter which solver gave them. They have to be exact in
the leverage of each row: where a fit nearly passes through its rows, an error of the leverages is one of the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Walk", "choose_strength", "is_better", "is_usual_weight", "lowest", "paired_gain", "squared_losses"]

Array = NDArray[Any]

# Candidates are the first times powers of this: two of them, half a decade, a step of the walk, one a refinement.
_FACTOR = 10.0**0.25
_STEP = 2
# Four decades on either side of the first.
_FARTHEST = 16
# How many standard errors a gain must be above zero. One follows noise where losses are flat, three move too seldom.
_CERTAINTY = 2.0
# The part of the loss that is not worth a candidate: with more rows ever smaller gains on flat ground are certain.
_WORTH = 1e-3
# Mean weights up to this, and down to one over it, may be counts of rows.
_USUAL_WEIGHT = 100.0
# Sums of equal losses differ by less, in whatever order.
_ROUNDING = 1e-12


def squared_losses(scores: Array, targets: Array) -> Array:
    """Return the squared error of every row, summed over its targets: what regression is judged by.

    Parameters
    ----------
    scores, targets : ndarray (n, k)

    Returns
    -------
    ndarray (n, 1)
    """
    losses: Array = np.sum((targets - scores) ** 2, axis=1, keepdims=True)
    return losses


def paired_gain(losses: Array, others: Array, weights: Array) -> tuple[float, float]:
    """Return by how much other losses of the same rows are less on average, and the standard error of that.

    Parameters
    ----------
    losses, others : ndarray (n,)
    weights : ndarray (n,)
        How many rows each one stands for; of one row or less in all the error is infinite.

    Returns
    -------
    gain, error : float

    Examples
    --------
    >>> import numpy as np
    >>> paired_gain(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 1.0]))
    (1.0, 0.408248290463863)
    """
    total = float(weights.sum())
    if not total > 1.0:
        return 0.0, np.inf
    gains = losses - others
    gain = float(weights @ gains) / total
    return gain, float(np.sqrt(weights @ (gains - gain) ** 2 / (total - 1.0) / total))


class Walk:
    """A walk over candidates first * factor^i to one whose left-out losses are clearly less.

    Steps are two factors: upwards while each is clearly better than the one before, or else downwards; then one factor
    to either side. Clearly better is by more than so many standard errors of the mean difference over rows, and a
    thousandth of the loss, and in no other loss worse. So noise alone does not move away from the first.

    Parameters
    ----------
    losses : callable
        Takes a candidate and returns losses (n, q) of rows that were left out; always of the same rows. The first
        column decides; the mean of none of the others may grow.
    weights : ndarray (n,)
        How many rows each one stands for.
    first, factor : float, above 0
    certainty : float
        Standard errors.
    farthest : int
        Factors from the first, at the most.

    Attributes
    ----------
    chosen : float
        The candidate that the walk came to rest at.
    tried : dict of float to ndarray (n, q)
        Losses of every candidate that was tried, in the order of trial.

    Notes
    -----
    Losses enter by weighted sums over rows, so neither their order matters, nor whether equal rows come one by one or
    as one row of their joint weight, as far as that holds for `losses`.

    Examples
    --------
    Losses that are least at 20:

    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(1.0, 0.1, (1000, 1))
    >>> walk = Walk(lambda a: noise + np.log10(a / 20.0) ** 2, np.ones(1000), 0.5, 10.0**0.25)
    >>> round(walk.chosen, 1), len(walk.tried)
    (15.8, 7)
    """

    def __init__(
        self,
        losses: Callable[[float], Array],
        weights: Array,
        first: float,
        factor: float,
        certainty: float = _CERTAINTY,
        farthest: int = _FARTHEST,
    ) -> None:
        self._losses, self.weights, self._first, self._factor = losses, weights, first, factor
        self._certainty, self._farthest = certainty, farthest
        self.tried: dict[float, Array] = {}
        self._at(0)
        at = self._walked(0, _STEP)
        at = at if at != 0 else self._walked(0, -_STEP)
        at = next((side for side in (at + 1, at - 1) if self._is_better(side, at)), at)
        self.chosen = self._candidate(at)
        # It holds the sums of all rows, which nobody needs any longer.
        del self._losses

    def mean(self, candidate: float) -> float:
        """Return the mean of the first loss of a candidate that was tried; of no rows it is 0."""
        return float(self.weights @ self.tried[candidate][:, 0]) / (float(self.weights.sum()) or 1.0)

    def _candidate(self, i: int) -> float:
        return self._first * self._factor**i

    def _at(self, i: int) -> Array:
        candidate = self._candidate(i)
        if candidate not in self.tried:
            self.tried[candidate] = self._losses(candidate)
        return self.tried[candidate]

    def _is_better(self, i: int, here: int) -> bool:
        if abs(i) > self._farthest:
            return False
        return is_better(self._at(here), self._at(i), self.weights, self._certainty)

    def _walked(self, i: int, step: int) -> int:
        """Return where steps in one direction come to rest."""
        while self._is_better(i + step, i):
            i += step
        return i


def is_better(losses: Array, others: Array, weights: Array, certainty: float = _CERTAINTY) -> bool:
    """Return whether other losses (n, q) of the same rows are clearly less: in the first column, and in none more."""
    gains = [paired_gain(old, new, weights) for old, new in zip(losses.T, others.T)]
    gain, error = gains[0]
    mean = float(weights @ losses[:, 0]) / (float(weights.sum()) or 1.0)
    is_clear = gain > max(certainty * error, _WORTH * mean)
    return is_clear and all(other > -_ROUNDING for other, _ in gains[1:])


def choose_strength(
    left_out: Callable[[float], Array],
    judge: Callable[[Array], Array],
    weights: Array,
    first: float,
    farthest: int = _FARTHEST,
) -> Walk:
    """Return the walk to a penalty whose left-out losses are clearly less than those of the first, if there is one.

    Steps are half decades, then a quarter of one. Four to seven candidates are usual.

    Parameters
    ----------
    left_out : callable
        Takes a penalty alpha and returns scores (n, k) of rows, each as if it had been left out.
    judge : callable
        Takes such scores and returns losses (n, q).
    weights : ndarray (n,)
        How many rows each one stands for.
    first : float, above 0
        The penalty to start from, which noise alone does not move.
    farthest : int
        Quarters of a decade from the first, at the most.
    """
    return Walk(lambda alpha: judge(left_out(alpha)), weights, first, _FACTOR, farthest=farthest)


def is_usual_weight(mean: float) -> bool:
    """Return whether the mean weight of rows may be a count of them; others only scale the loss and the penalty."""
    return 1.0 / _USUAL_WEIGHT < mean < _USUAL_WEIGHT


def lowest(error: Callable[[int], float], size: int, start: int, strides: tuple[int, ...] = (1,)) -> int:
    """Return where an error with one valley is least among 0..size-1, walking downhill from `start`.

    Strides are walked one after the other, each from where the one before came to rest, first in its own direction.
    """
    known: dict[int, float] = {}

    def at(i: int) -> float:
        if not 0 <= i < size:
            return np.inf
        if i not in known:
            known[i] = error(i)
        return known[i]

    i = start
    for stride in strides:
        step = stride if at(i + stride) < at(i) else -stride
        while at(i + step) < at(i):
            i += step
    return i
