"""Where classes meet: the border of two classes and the mixture of more, against slow references."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax

from lowtide.learners.borders import class_losses, fit_mixture, mixed_left_out, settled
from lowtide.learners.calibration import Machine
from lowtide.learners.classes import ClassIndex
from lowtide.learners.dual import dense_design
from lowtide.learners.losses import LOSSES
from lowtide.learners.problem import Problem

EXACT = 1e-9


def scores_of(n, k=3, seed=0, twist=1.0):
    """Scores that tell the class when they are mixed by a matrix, and labels drawn by softmax of that."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n, k))
    mixing = 2.0 * np.eye(k) + twist * rng.standard_normal((k, k))
    chances = np.exp(scores @ mixing)
    chances /= chances.sum(axis=1, keepdims=True)
    return scores, (rng.uniform(size=(n, 1)) > np.cumsum(chances, axis=1)).sum(axis=1).clip(max=k - 1)


def problem_of(scores, labels, k):
    """The scores as rows of a problem of k classes, which gives them hashes."""
    rows = dense_design(scores.astype(np.float32))
    return Problem(rows, rows, labels, None, True).relabel(
        ClassIndex(np.arange(k)), LOSSES.resolve("squared").targets(k)
    )


@pytest.mark.parametrize(
    "weights", [np.ones(200), np.random.default_rng(3).uniform(0.3, 3.0, 200)], ids=["ones", "any"]
)
def test_mixture_is_the_minimum_of_its_formula(weights):
    scores, labels = scores_of(200)
    center = np.average(scores, axis=0, weights=weights)
    size = np.sqrt(np.average(np.mean((scores - center) ** 2, axis=1), weights=weights))

    def loss_of_slope(slope):
        logs = slope * (scores - center) / size
        own = logs[np.arange(200), labels]
        return np.sum(weights * (np.log(np.sum(np.exp(logs), axis=1)) - own))

    slope = minimize_scalar(loss_of_slope, bounds=(0.01, 100.0), method="bounded", options={"xatol": 1e-10}).x

    def objective(flat):
        M, total = flat.reshape(4, 3), 0.0
        for row, label, weight in zip((scores - center) / size, labels, weights):
            logs = row @ M[:-1] + M[-1]
            total += weight * (np.log(np.sum(np.exp(logs))) - logs[label])
        return total + 1.5 * np.sum((M[:-1] - slope * np.eye(3)) ** 2) + 0.5 * np.sum(M[-1] ** 2)

    found = fit_mixture(scores, labels, weights, EXACT)
    inner = np.vstack([found[:-1] * size, found[-1] + center @ found[:-1]])
    best = minimize(objective, inner.ravel() + 0.05, method="BFGS")
    # Finite differences of the reference end at slopes of about 1e-3; the objective bends by at least 1.
    np.testing.assert_allclose(inner.ravel(), best.x, rtol=0, atol=2e-3)
    assert objective(inner.ravel()) <= best.fun + 1e-9


def test_mixture_of_weighted_rows_is_that_of_repeated_rows_in_any_order():
    scores, labels = scores_of(150, k=4)
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 4, 150)
    order = rng.permutation(np.repeat(np.arange(150), counts))
    one = fit_mixture(scores, labels, counts.astype(float), EXACT)
    many = fit_mixture(scores[order], labels[order], np.ones(len(order)), EXACT)
    np.testing.assert_allclose(one, many, rtol=0, atol=1e-6)


def test_there_is_no_left_out_mixture_where_a_half_lacks_a_class():
    scores, labels = scores_of(100)
    keys = np.arange(100, dtype=np.uint64)
    labels[::2][labels[::2] == 2] = 0  # even keys have no third class
    assert mixed_left_out(scores, labels, np.ones(100), keys) is None
    given, plain = (class_losses(scores, labels, np.ones(100), each) for each in (keys, None))
    np.testing.assert_array_equal(given, plain)


def test_left_out_rows_are_better_off_mixed_when_scores_hang_together():
    scores, labels = scores_of(600, twist=1.5)
    keys = problem_of(scores, labels, 3).keys()
    plain, mixed = (class_losses(scores, labels, np.ones(600), given)[:, 0].mean() for given in (None, keys))
    assert mixed < 0.9 * plain


@pytest.mark.parametrize("mixes", [None, True, False])
def test_settled_weights_score_as_mixed_scores_do(mixes):
    scores, labels = scores_of(600, twist=1.5)
    rows = problem_of(scores, labels, 3)
    machine = Machine(np.eye(3), np.array([0.1, 0.2, 0.3]), rows, scores)
    coef, intercept, _ = settled(machine, moves=True, mixes=mixes)
    if mixes is False:
        np.testing.assert_array_equal(coef, machine.coef)
        np.testing.assert_array_equal(intercept, machine.intercept)
        return
    M = fit_mixture(scores, labels, np.ones(600))
    np.testing.assert_allclose(coef, M[:-1], rtol=1e-12)
    np.testing.assert_allclose(intercept, machine.intercept @ M[:-1] + M[-1], rtol=1e-12)


def test_scores_are_mixed_where_a_class_has_ten_rows_on_average_or_when_asked():
    for n, mixes, is_mixed in ((29, None, False), (29, True, True), (30, None, True), (30, False, False)):
        scores, labels = scores_of(n)
        labels[:3] = [0, 1, 2]
        machine = Machine(np.eye(3), np.zeros(3), problem_of(scores, labels, 3), scores)
        coef, *_ = settled(machine, moves=True, mixes=mixes)
        assert np.array_equal(coef, np.eye(3)) is not is_mixed


def test_a_mixture_of_scores_that_are_right_costs_other_rows_next_to_nothing():
    # Labels are drawn by softmax of twice the scores: the best mixture is twice the identity. Three slopes and three
    # intercepts, and six entries that are drawn to 0, cost at most 12 / 2 of a log loss in all, of 300 rows 0.02 each.
    costs = []
    for seed in range(30):
        scores, labels = scores_of(600, seed=seed, twist=0.0)
        M = fit_mixture(scores[:300], labels[:300], np.ones(300))
        plain, mixed = (log_softmax(each, axis=1) for each in (2.0 * scores[300:], scores[300:] @ M[:-1] + M[-1]))
        own = np.arange(300), labels[300:]
        costs.append(np.mean(plain[own] - mixed[own]))
    assert np.mean(costs) < 0.02 + 3.0 * np.std(costs) / np.sqrt(30)


def test_settled_leaves_a_class_that_is_absent_alone():
    scores, labels = scores_of(100)
    labels[labels == 1] = 0
    machine = Machine(np.eye(3), np.zeros(3), problem_of(scores, labels, 3), scores)
    for mixes in (None, True):
        coef, intercept, _ = settled(machine, moves=True, mixes=mixes)
        np.testing.assert_array_equal(coef, np.eye(3))
        np.testing.assert_array_equal(intercept, np.zeros(3))


def test_settled_moves_the_border_of_two_classes_only_where_it_may():
    scores = np.linspace(-1.0, 1.0, 801)[:, None]
    labels = (scores[:, 0] > -0.3).astype(int)
    machine = Machine(np.ones((1, 1)), np.zeros(1), problem_of(scores, labels, 2), scores)
    moved, kept = (settled(machine, moves=moves, mixes=None)[1][0] for moves in (True, False))
    assert moved == pytest.approx(0.3, abs=0.02)
    assert kept == 0.0


def test_settled_without_left_out_scores_changes_nothing():
    coef, intercept, curve = settled(Machine(np.eye(3), np.ones(3)), moves=True, mixes=True)
    np.testing.assert_array_equal(coef, np.eye(3))
    np.testing.assert_array_equal(intercept, np.ones(3))
    assert curve.slopes == (1.0,)
