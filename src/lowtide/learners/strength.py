"""How strongly to regularize: candidates are compared by the losses that rows would have had if left out.

Everything here is a function of left-out scores, so it does not matter which solver gave them. They have to be exact in
the leverage of each row: where a fit nearly passes through its rows, an error of the leverages is one of the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.learners.calibration import best_threshold, fit_calibration

__all__ = ["Choice", "choose_strength", "class_losses", "lowest", "paired_gain", "squared_losses"]

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
# Sums of equal losses differ by less, in whatever order.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Choice:
    """A strength, and what decided for it.

    Attributes
    ----------
    strength : float
        The penalty alpha of the chosen candidate.
    losses : dict of float to float
        Mean of the first left-out loss of every candidate that was tried, by its alpha, in the order of trial.
    """

    strength: float
    losses: dict[float, float]


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


def class_losses(scores: Array, labels: Array, weights: Array) -> Array:
    """Return the Brier score of every row, sum_c (p_c - [c is its class])^2, and 1 where it is wrong, else 0.

    Probabilities and predictions are those that a model with these scores would give: divided where `best_threshold`
    says, and through the curve of `fit_calibration`. The squared error of scores would punish those beyond 1, and the
    log loss hangs on the few rows that are wrong and certain; the Brier score is at most 2, and least at the truth.

    Parameters
    ----------
    scores : ndarray (n, 1 or n_classes)
        As if each row had been left out; one column for two classes.
    labels : ndarray (n,) of positions among the classes
    weights : ndarray (n,), above 0
        How many rows each one stands for.

    Returns
    -------
    ndarray (n, 2)

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.tile([0, 1], 500)
    >>> scores = np.where(labels == 1, 1.0, -1.0)[:, None]
    >>> bool(np.all(class_losses(scores, labels, np.ones(1000)) < 1e-4))
    True
    """
    moved = scores - best_threshold(scores, labels, weights)
    wrong = fit_calibration(moved, labels, weights).probabilities(moved)
    is_wrong = np.argmax(wrong, axis=1) != labels
    wrong[np.arange(len(labels)), labels] -= 1.0
    return np.stack([np.sum(wrong**2, axis=1), is_wrong], axis=1)


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


def choose_strength(
    left_out: Callable[[float], Array], judge: Callable[[Array], Array], weights: Array, first: float
) -> Choice:
    """Walk from a first penalty to one whose left-out losses are clearly less, and stay where none is.

    Steps are half decades: to stronger penalties while each is clearly better than the one before, or else to weaker
    ones; then a quarter of a decade to either side. Clearly better is by more than two standard errors of the mean
    difference over rows and a thousandth of the loss, and in no other loss worse. Four to seven candidates are usual.

    Parameters
    ----------
    left_out : callable
        Takes a penalty alpha and returns scores (n, k) of rows, each as if it had been left out; always of the same
        rows.
    judge : callable
        Takes such scores and returns losses (n, q). The first decides; the mean of none of the others may grow.
    weights : ndarray (n,)
        How many rows each one stands for.
    first : float, above 0
        The penalty to start from, which noise alone does not move.

    Returns
    -------
    Choice

    Notes
    -----
    Losses enter by weighted sums over rows, so neither their order matters, nor whether equal rows come one by one or
    as one row of their joint weight, as far as that holds for `left_out` and `judge`.

    Examples
    --------
    Losses that are least at a penalty of 20:

    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(1.0, 0.1, (1000, 1))
    >>> found = choose_strength(lambda a: noise + np.log10(a / 20.0) ** 2, lambda scores: scores, np.ones(1000), 0.5)
    >>> round(found.strength, 1), len(found.losses)
    (15.8, 7)
    """
    search = _Search(left_out, judge, weights, first)
    at = search.walk(0, _STEP)
    at = at if at != 0 else search.walk(0, -_STEP)
    at = next((side for side in (at + 1, at - 1) if search.is_better(side, at)), at)
    return Choice(search.alpha(at), {search.alpha(i): search.mean(i) for i in search.losses})


class _Search:
    """Losses of the candidates that were tried, first * factor^i by i."""

    def __init__(
        self, left_out: Callable[[float], Array], judge: Callable[[Array], Array], weights: Array, first: float
    ) -> None:
        self.left_out, self.judge, self.weights, self.first = left_out, judge, weights, first
        self.losses: dict[int, Array] = {}

    def alpha(self, i: int) -> float:
        return self.first * _FACTOR**i

    def at(self, i: int) -> Array:
        if i not in self.losses:
            self.losses[i] = self.judge(self.left_out(self.alpha(i)))
        return self.losses[i]

    def mean(self, i: int) -> float:
        """Return the mean of the first loss; of no rows it is 0."""
        return float(self.weights @ self.at(i)[:, 0]) / (float(self.weights.sum()) or 1.0)

    def is_better(self, i: int, here: int) -> bool:
        """Whether one candidate is clearly better than another."""
        if abs(i) > _FARTHEST:
            return False
        gains = [paired_gain(old, new, self.weights) for old, new in zip(self.at(here).T, self.at(i).T)]
        gain, error = gains[0]
        is_clear = gain > max(_CERTAINTY * error, _WORTH * self.mean(here))
        return is_clear and all(other > -_ROUNDING for other, _ in gains[1:])

    def walk(self, i: int, step: int) -> int:
        """Return where steps in one direction come to rest."""
        while self.is_better(i + step, i):
            i += step
        return i


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
