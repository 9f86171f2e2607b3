from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from lowtide.learners.borders import class_losses
from lowtide.learners.strength import choose_strength, paired_gain, squared_losses

STEP = 10.0**0.25


def as_they_are(scores: np.ndarray) -> np.ndarray:
    return scores


def valley(lowest: float, n: int = 400, noise: float = 0.1) -> Callable[[float], np.ndarray]:
    """Scores that are losses: a parabola over log alpha, and noise that is the same at every alpha."""
    base = np.random.default_rng(0).normal(2.0, noise, (n, 1))
    return lambda alpha: base + np.log10(alpha / lowest) ** 2


def ridge_left_out(X: np.ndarray, y: np.ndarray) -> Callable[[float], np.ndarray]:
    """Left-out scores of ridge regression without intercept, each by leaving out one of its row's repetitions."""

    def scores(alpha: float) -> np.ndarray:
        inverse = np.linalg.inv(X.T @ X + alpha * np.eye(X.shape[1]))
        residual = y - X @ (inverse @ (X.T @ y))
        return y - residual / (1.0 - np.sum((X @ inverse) * X, axis=1))[:, None]

    return scores


@pytest.mark.parametrize("decades", [-3.0, -1.25, -0.5, 0.0, 0.25, 1.0, 2.5])
def test_choice_is_within_a_quarter_decade_of_the_lowest_loss(decades: float) -> None:
    lowest = 0.5 * 10.0**decades
    found = choose_strength(valley(lowest), as_they_are, np.ones(400), 0.5)
    # Half decades are walked and then quarters tried: of a symmetric valley the nearest quarter is found, or one whose
    # loss is within a thousandth of that.
    assert abs(np.log10(found.chosen / lowest)) <= 0.125 + 1e-9
    assert found.mean(found.chosen) == min(map(found.mean, found.tried))


def test_choice_stays_at_the_first_for_noise() -> None:
    # Every candidate has losses of its own that differ by chance alone. Two standard errors are exceeded with
    # probability 0.024 by each of the two steps and two quarters (Student's t of 99 degrees): at the most 0.096 of the
    # choices move.
    moved, rng = 0, np.random.default_rng(0)
    for _ in range(2000):
        found = choose_strength(lambda _: rng.normal(1.0, 0.1, (100, 1)), as_they_are, np.ones(100), 0.5)
        moved += found.chosen != 0.5
    assert moved / 2000 < 0.096 + 3.0 * np.sqrt(0.096 * 0.904 / 2000)


def test_choice_stays_at_the_first_when_candidates_tie() -> None:
    found = choose_strength(lambda _: np.ones((10, 1)), as_they_are, np.ones(10), 0.5)
    assert found.chosen == 0.5
    assert list(found.tried) == pytest.approx([0.5, 0.5 * STEP**2, 0.5 / STEP**2, 0.5 * STEP, 0.5 / STEP])


def test_choice_stays_at_the_first_for_gains_that_are_certain_but_tiny() -> None:
    def losses(alpha: float) -> np.ndarray:
        return np.full((50, 1), 1.0 - 5e-4 * np.log10(alpha / 0.5))

    assert choose_strength(losses, as_they_are, np.ones(50), 0.5).chosen == 0.5


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_walk_ends_four_decades_from_the_first(sign: float) -> None:
    def losses(alpha: float) -> np.ndarray:
        return np.full((50, 1), 100.0 + 10.0 * sign * np.log10(alpha))

    found = choose_strength(losses, as_they_are, np.ones(50), 0.5)
    assert found.chosen == pytest.approx(0.5 * 10.0 ** (-4.0 * sign), rel=1e-12)


@pytest.mark.parametrize("n", [0, 1])
def test_choice_is_the_first_when_rows_are_too_few_to_tell(n: int) -> None:
    found = choose_strength(valley(100.0, n=n), as_they_are, np.ones(n), 0.5)
    assert found.chosen == 0.5


def test_choice_stays_at_the_first_when_another_loss_would_grow() -> None:
    def losses(alpha: float, price: float) -> np.ndarray:
        return np.tile([10.0 - np.log10(alpha / 0.5), 1.0 + price * np.log10(alpha / 0.5)], (50, 1))

    held, free = (choose_strength(partial(losses, price=p), as_they_are, np.ones(50), 0.5) for p in (0.01, 0.0))
    assert held.chosen == 0.5
    assert free.chosen == pytest.approx(0.5e4, rel=1e-12)


def test_every_candidate_is_asked_for_once() -> None:
    asked: list[float] = []
    scores = valley(30.0)

    def left_out(alpha: float) -> np.ndarray:
        asked.append(alpha)
        return scores(alpha)

    found = choose_strength(left_out, as_they_are, np.ones(400), 0.5)
    assert asked == list(found.tried)
    assert len(set(asked)) == len(asked)


def test_weights_choose_as_repeated_rows_do() -> None:
    rng = np.random.default_rng(1)
    X, counts = rng.standard_normal((120, 30)), rng.integers(1, 5, 120)
    y = np.sign(X @ rng.standard_normal((30, 1)) + 3.0 * rng.standard_normal((120, 1)))
    labels, group = (y[:, 0] > 0).astype(int), np.repeat(np.arange(120), counts)
    repeated = ridge_left_out(X[group], y[group])
    first_of_group = np.searchsorted(group, np.arange(120))
    ones = np.ones(len(group))
    judge, judge_each = (
        partial(class_losses, labels=own, weights=s) for own, s in ((labels, counts), (labels[group], ones))
    )
    one = choose_strength(lambda alpha: repeated(alpha)[first_of_group], judge, counts, 0.5)
    many = choose_strength(repeated, judge_each, ones, 0.5)
    assert one.chosen == many.chosen != 0.5
    # Sums in another order, through Newton steps that end when the gain is rounding.
    assert [one.mean(a) for a in one.tried] == pytest.approx([many.mean(a) for a in many.tried], rel=1e-9)


def test_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 150))
    y = np.sign(X @ rng.standard_normal((150, 1)) + 4.0 * rng.standard_normal((200, 1)))
    order = rng.permutation(200)
    found = []
    for rows in (np.arange(200), order):
        judge = partial(class_losses, labels=(y[rows, 0] > 0).astype(int), weights=np.ones(200))
        found.append(choose_strength(ridge_left_out(X[rows], y[rows]), judge, np.ones(200), 0.5))
    assert found[0].chosen == found[1].chosen != 0.5
    means = [[walk.mean(alpha) for alpha in walk.tried] for walk in found]
    assert means[0] == pytest.approx(means[1], rel=1e-9)


def test_noisy_targets_are_given_a_stronger_penalty_than_clean_ones() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 100))
    signal = X @ rng.standard_normal((100, 1))
    for noise in (0.3, 10.0, 30.0):
        y = signal + noise * rng.standard_normal((300, 1))
        found = choose_strength(ridge_left_out(X, y), partial(squared_losses, targets=y), np.ones(300), 10.0)
        # Weights are normal of variance 1, so the best penalty is the variance of the noise. The loss is flat about it:
        # a decade off costs a few percent, less than its standard error over 300 rows.
        assert abs(np.log10(found.chosen / noise**2)) <= 1.0


def test_brier_scores_are_those_of_the_probabilities() -> None:
    rng = np.random.default_rng(4)
    true = rng.dirichlet(np.ones(3), 4000)
    labels = (rng.uniform(size=(4000, 1)) > np.cumsum(true, axis=1)).sum(axis=1)
    losses = class_losses(np.log(true), labels, np.ones(4000))[:, 0]
    expected = np.sum((true - np.eye(3)[labels]) ** 2, axis=1)
    # The true probabilities have the least score; those of a fitted curve exceed it by about its parameters over n.
    gain, error = paired_gain(losses, expected, np.ones(4000))
    assert abs(gain) <= 4.0 * error + 20.0 / 4000


def test_class_losses_do_not_depend_on_the_scale_of_scores() -> None:
    rng = np.random.default_rng(5)
    scores, labels = rng.standard_normal((500, 4)), rng.integers(0, 4, 500)
    scores[np.arange(500), labels] += 1.0
    one, other = (class_losses(size * scores, labels, np.ones(500)) for size in (1.0, 8.0))
    np.testing.assert_allclose(other, one, rtol=1e-8)


def test_class_losses_move_the_border_of_two_classes_of_unequal_size() -> None:
    scores = np.linspace(-1.0, 1.0, 2001)[:, None]
    labels = (scores[:, 0] > -0.3).astype(int)
    assert class_losses(scores, labels, np.ones(2001))[:, 1].mean() < 0.02
    assert np.mean((scores[:, 0] > 0.0) != labels) > 0.14


def test_paired_gain_counts_a_weight_as_so_many_rows() -> None:
    rng = np.random.default_rng(6)
    losses, others, counts = rng.uniform(size=40), rng.uniform(size=40), rng.integers(1, 4, 40)
    repeated = paired_gain(np.repeat(losses, counts), np.repeat(others, counts), np.ones(counts.sum()))
    assert paired_gain(losses, others, counts) == pytest.approx(repeated, rel=1e-12)
    gains = np.repeat(losses - others, counts)
    assert repeated == pytest.approx((gains.mean(), gains.std(ddof=1) / np.sqrt(len(gains))), rel=1e-12)


def test_squared_losses_sum_over_targets() -> None:
    assert squared_losses(np.zeros((2, 2)), np.array([[1.0, 2.0], [3.0, 0.0]])).tolist() == [[5.0], [9.0]]
