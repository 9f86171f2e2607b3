"""Where classes meet: left-out scores settle the border of two classes, the mixture of more, and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from lowtide.learners.calibration import Machine, fit_calibration, slope_sums
from lowtide.learners.cholesky import suitable_threads
from lowtide.learners.rules import Calibration

__all__ = ["best_threshold", "class_losses", "fit_mixture", "settled"]

Array = NDArray[Any]

_MOST_STEPS = 100
# Of Newton's method in log-odds, where the curve is still far from its best.
_LONGEST_STEP = 5.0
# How strongly a mixture of scores is drawn to a multiple of the identity, in rows; and the gradient that ends its fit.
_MIXTURE_PRIOR, _MIXED = 3.0, 1e-3
# Steps to the multiple of the identity that it starts from.
_SLOPE_STEPS = 8
# Rows that a mixture is fitted on, at the most, and how many a class there must be.
_MOST_MIXED, _ROWS_A_CLASS = 4096, 10


def settled(machine: Machine, *, moves: bool, mixes: bool | None) -> tuple[Array, Array, Calibration]:
    """Return weights, intercepts and the curve of probabilities that left-out scores of a machine ask for.

    Parameters
    ----------
    machine : Machine
        With scores of some rows as if left out; without, all stays as it is.
    moves : bool
        Whether the border of two classes may move: it does where clearly fewer rows are wrong.
    mixes : bool or None
        Whether scores of three classes or more are mixed, see `fit_mixture`; None where there are rows enough, ten a
        class.

    Notes
    -----
    Predictions and probabilities move together: all goes into weights and intercepts.
    """
    _, intercept, rows, scores = machine
    if rows is None or scores is None:
        return machine.coef, intercept, Calibration()
    mixture: Array | None = None
    labels, weights = rows.labels, rows.weights
    with suitable_threads(1):
        few, k = slice(_MOST_MIXED), scores.shape[1]
        is_enough = mixes or (mixes is None and len(labels) >= _ROWS_A_CLASS * k)
        if k > 1 and is_enough and len(np.unique(labels[few])) == k:
            M = fit_mixture(scores[few], labels[few], weights[few])
            mixture, intercept, scores = M[:-1], intercept @ M[:-1] + M[-1], scores @ M[:-1] + M[-1]
        border = best_threshold(scores, labels, weights) if moves else 0.0
        curve = fit_calibration(scores - border, labels, weights)
        # Last: until here they may still be in the making.
        coef = machine.coef
        return coef if mixture is None else coef @ mixture, intercept - border, curve


def best_threshold(scores: Array, labels: Array, weight: Array) -> float:
    """Return where single scores of two classes are best divided, in place of 0; 0 unless clearly fewer rows are wrong.

    The place is where a logistic curve of the scores is at one half: least squares puts the border between classes of
    unequal size too far into the smaller one. It is taken when the rows that it decides otherwise are decided right
    more often by two standard errors. Scores are those of rows that were not learned from, as for `fit_calibration`.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.linspace(-1.0, 1.0, 2001)[:, None]
    >>> round(best_threshold(scores, (scores[:, 0] > -0.3).astype(int), np.ones(2001)), 2)
    -0.3
    """
    if scores.shape[1] != 1 or not len(scores):
        return 0.0
    single, second = scores[:, 0], labels == 1
    totals = np.array([weight[~second].sum(), weight[second].sum()])
    if not np.all(totals > 0.0) or np.ptp(single) == 0.0:
        return 0.0
    # A row less than certain, as in `fit_calibration`: separated classes would have no finite curve.
    targets = np.where(second, 1.0 - 1.0 / (totals[1] + 2.0), 1.0 / (totals[0] + 2.0))
    columns = np.stack([single / np.abs(single).max(), np.ones(len(single))], axis=1)
    curve = np.array([0.0, float(np.log(totals[1] / totals[0]))])
    for _ in range(_MOST_STEPS):
        expected = expit(columns @ curve)
        gradient = columns.T @ (weight * (targets - expected))
        hessian = (columns.T * (weight * expected * (1.0 - expected))) @ columns
        step = np.linalg.solve(hessian + 1e-12 * np.trace(hessian) * np.eye(2), gradient)
        curve += step / max(1.0, float(np.abs(step).max()) / _LONGEST_STEP)
        if np.abs(step).max() <= 1e-12 * np.abs(curve).max():
            break
    if not curve[0] > 0.0:
        return 0.0
    place = float(-curve[1] / curve[0] * np.abs(single).max())
    moved = (single > 0.0) != (single > place)
    gain = np.where((single > place) == second, weight, -weight)[moved]
    return place if gain.sum() > 2.0 * np.sqrt(np.sum(gain**2)) else 0.0


def fit_mixture(scores: Array, labels: Array, weight: Array, tolerance: float = _MIXED) -> Array:
    """Return how scores of three classes or more are mixed, M (k + 1, k): s -> s M[:-1] + M[-1], most probable there.

    A machine for each class against the rest knows nothing of how its score hangs together with those of the others.
    This is the multinomial logistic model on scores of rows that were not learned from, drawn to a multiple of the
    identity: the sum of log losses and 3/2 |M - slope I|^2 is least, for scores less their
    means and of standard deviation 1, with half the square of the new intercepts.

    Parameters
    ----------
    scores : ndarray (n, k)
    labels : ndarray (n,) of positions among the classes
    weight : ndarray (n,), above 0
    tolerance : float
        Of the gradient, per row.

    Examples
    --------
    Scores that are right when the second is doubled:

    >>> import numpy as np
    >>> scores = np.random.default_rng(0).normal(size=(3000, 3))
    >>> labels = np.argmax(scores * [1.0, 2.0, 1.0], axis=1)
    >>> M = fit_mixture(scores, labels, np.ones(3000))
    >>> [float(np.mean(np.argmax(s, axis=1) == labels).round(2)) for s in (scores, scores @ M[:-1] + M[-1])]
    [0.9, 0.99]
    """
    k, total = scores.shape[1], float(weight.sum())
    center = weight @ scores / total
    size = float(np.sqrt(np.sum(weight @ (scores - center) ** 2) / (k * total))) or 1.0
    unit = (scores - center) / size
    wanted = np.zeros_like(scores)
    wanted[np.arange(len(labels)), labels] = weight
    start = _slope(unit, wanted, weight) * np.eye(k)

    def loss(flat: Array) -> tuple[float, Array]:
        change = flat.reshape(k + 1, k)
        logs = log_softmax(unit @ (start + change[:-1]) + change[-1], axis=1)
        slopes = weight[:, None] * np.exp(logs) - wanted
        gradient = np.vstack([unit.T @ slopes + _MIXTURE_PRIOR * change[:-1], slopes.sum(axis=0) + change[-1]])
        value = 0.5 * (_MIXTURE_PRIOR * float(np.sum(change[:-1] ** 2)) + float(np.sum(change[-1] ** 2)))
        return (value - float(np.vdot(wanted, logs))) / total, gradient.ravel() / total

    limits = {"maxiter": _MOST_STEPS, "gtol": tolerance, "ftol": 0.0}
    found = minimize(loss, np.zeros((k + 1) * k), jac=True, method="L-BFGS-B", options=limits).x.reshape(k + 1, k)
    mixture = (start + found[:-1]) / size
    return np.vstack([mixture, found[-1] - center @ mixture])


def _slope(scores: Array, wanted: Array, weight: Array) -> float:
    """Return about the factor of scores at which their log loss is least: Newton's method, held above zero."""
    slope = 1.0
    # Less a row's largest, which changes no probability.
    scores = scores - scores.max(axis=1, keepdims=True)
    right = float(np.vdot(wanted, scores))
    for _ in range(_SLOPE_STEPS):
        _, mean, spread = slope_sums(scores, weight, slope)
        step = (right - mean) / max(spread, np.finfo(float).tiny)
        slope = float(np.clip(slope + step, 0.5 * slope, 2.0 * slope))
    return slope


def mixed_left_out(scores: Array, labels: Array, weight: Array, keys: Array) -> Array | None:
    """Return scores mixed as `fit_mixture` says for the other half of the rows; halves are those of the keys.

    None where a half lacks a class.
    """
    half, mixed = (keys & np.uint64(1)).astype(bool), np.empty_like(scores)
    if any(len(np.unique(labels[part])) < scores.shape[1] for part in (half, ~half)):
        return None
    for part, other in ((half, ~half), (~half, half)):
        M = fit_mixture(scores[other], labels[other], weight[other])
        mixed[part] = scores[part] @ M[:-1] + M[-1]
    return mixed


def class_losses(scores: Array, labels: Array, weights: Array, keys: Array | None = None) -> Array:
    """Return the Brier score of every row, sum_c (p_c - [c is its class])^2, and 1 where it is wrong, else 0.

    Probabilities and predictions are those that a model with these scores would give: divided where `best_threshold`
    says, and through the curve of `fit_calibration`, of one slope for three classes or more. The squared error of
    scores would punish those beyond 1, and the log loss hangs on the few rows that are wrong and certain; the Brier
    score is at most 2, and least at the truth.

    Parameters
    ----------
    scores : ndarray (n, 1 or n_classes)
        As if each row had been left out; one column for two classes.
    labels : ndarray (n,) of positions among the classes
    weights : ndarray (n,), above 0
        How many rows each one stands for.
    keys : ndarray of uint64 (n,), optional
        Hashes of the rows, where scores of three classes or more will be mixed: then each half of the rows is judged
        as mixed by the other.

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
    mixed = None if keys is None or scores.shape[1] == 1 else mixed_left_out(scores, labels, weights, keys)
    if mixed is not None:
        wrong = softmax(mixed, axis=1)  # these are log-odds already
    else:
        moved = scores - best_threshold(scores, labels, weights)
        wrong = fit_calibration(moved, labels, weights, straight=scores.shape[1] > 1).probabilities(moved)
    is_wrong = np.argmax(wrong, axis=1) != labels
    wrong[np.arange(len(labels)), labels] -= 1.0
    return np.stack([np.sum(wrong**2, axis=1), is_wrong], axis=1)
