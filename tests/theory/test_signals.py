"""Covering numbers of signal sets."""

import math
from itertools import pairwise

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.theory import Ball, Box, Entropy, FiniteSet, LowRank, SparseSet, UnionOfSubspaces

SETS = [
    FiniteSet(7),
    Ball(4),
    Ball(1, 3.0),
    Box(3, 2.0),
    SparseSet(20, 3),
    UnionOfSubspaces(6, 2, 9, radius=0.5),
    LowRank(4, 5, 2),
    Entropy(lambda eta: 3 * math.log1p(1 / eta), 8),
]


@pytest.mark.parametrize("signals", SETS, ids=lambda value: type(value).__name__)
def test_entropy_falls_as_balls_grow_and_is_never_negative(signals):
    values = [signals.entropy(eta) for eta in np.geomspace(1e-9, 1e9, 200)]
    assert values[-1] >= 0
    assert all(a >= b for a, b in pairwise(values))
    assert signals.entropy(math.inf) >= 0


@pytest.mark.parametrize("eta", [1e-3, 0.0101, 0.3, 0.99, 1.0, 5.0])
def test_bounds_cover_an_interval(eta):
    # An interval of length 2 is covered by ceil(1/eta) balls of radius eta, and by no fewer.
    exact = math.log(math.ceil(1 / eta))
    assert Box(1, 2.0).entropy(eta) == pytest.approx(exact, abs=1e-12)
    assert exact <= Ball(1).entropy(eta)
    assert exact <= LowRank(1, 1, 1).entropy(eta)


@pytest.mark.parametrize("signals", [Ball(3, 2.0), Box(3, 2.0)], ids=repr)
def test_bounds_exceed_the_ratio_of_volumes(signals):
    volume = {Ball: 4 / 3 * math.pi * 2.0**3, Box: 2.0**3}[type(signals)]
    for eta in (0.01, 0.1, 0.5):
        assert signals.entropy(eta) >= math.log(volume / (4 / 3 * math.pi * eta**3))


def in_ball(rng, n, d):
    direction = rng.standard_normal((n, d))
    return direction / np.linalg.norm(direction, axis=1, keepdims=True) * rng.uniform(0, 1, (n, 1)) ** (1 / d)


def sparse(rng, n):
    return np.concatenate([in_ball(rng, n, 2) @ np.eye(4)[[i, j]] for i in range(4) for j in range(i)])


def rank_one(rng, n):
    factors = [A / np.linalg.norm(A, axis=1, keepdims=True) for A in rng.standard_normal((2, n, 2))]
    return (rng.uniform(0, 1, (n, 1, 1)) * factors[0][:, :, None] * factors[1][:, None]).reshape(n, 4)


@pytest.mark.parametrize(
    ("signals", "draw"),
    [
        (Ball(2), lambda rng, n: in_ball(rng, n, 2)),
        (Box(2, 2.0), lambda rng, n: rng.uniform(0, 2, (n, 2))),
        (SparseSet(4, 2), sparse),
        (UnionOfSubspaces(6, 2, 4), sparse),
        (LowRank(2, 2, 1), rank_one),
    ],
    ids=lambda value: type(value).__name__,
)
def test_points_far_apart_need_balls_of_their_own(signals, draw):
    for eta in (0.1, 0.3):
        X, n_apart = draw(np.random.default_rng(0), 3000), 0
        while len(X):
            X, n_apart = X[np.linalg.norm(X - X[0], axis=1) > 2 * eta], n_apart + 1
        assert math.log(n_apart) <= signals.entropy(eta)


def test_radius_only_sets_the_unit():
    for make in (
        lambda r: Ball(5, r),
        lambda r: Box(5, r),
        lambda r: SparseSet(9, 2, r),
        lambda r: LowRank(3, 4, 1, r),
    ):
        assert make(7.0).entropy(0.7) == pytest.approx(make(1.0).entropy(0.1), rel=1e-12)


def test_special_cases_are_each_other():
    for eta in (0.01, 0.4, 2.0):
        ball = Ball(6).entropy(eta)
        assert SparseSet(6, 6).entropy(eta) == pytest.approx(ball, rel=1e-12)
        assert UnionOfSubspaces(1, 6, 6).entropy(eta) == ball
        assert LowRank(2, 3, 2).entropy(eta) <= ball
        supports = math.comb(10, 3)
        sparse, union = SparseSet(10, 3).entropy(eta), UnionOfSubspaces(supports, 3, 10).entropy(eta)
        assert sparse == pytest.approx(union, rel=1e-12)


def test_low_rank_matrices_have_far_less_entropy_than_all_matrices():
    assert LowRank(100, 100, 1).entropy(0.01) < 0.05 * Ball(10_000).entropy(0.01)


def test_low_rank_matrices_move_by_no_more_than_their_factors():
    """Nets of radius eta/3 for the three factors are one of radius eta: the step that gives 6/eta in the bound."""
    rng = np.random.default_rng(1)
    for step in (0.01, 0.1, 1.0):
        U, V = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (5, 4))
        near_U, near_V = (np.linalg.qr(A + step * rng.standard_normal(A.shape))[0] for A in (U, V))
        s, t = in_ball(rng, 2, 2)
        moved = np.linalg.norm((U * s) @ V.T - (near_U * t) @ near_V.T)
        columns = [np.linalg.norm(A - B, axis=0).max() for A, B in ((U, near_U), (V, near_V))]
        assert moved <= sum(columns) + np.linalg.norm(s - t)


def test_pairs_of_a_finite_set_can_be_fewer_than_all():
    assert FiniteSet(10).pairs == 100
    assert FiniteSet(110, pairs=10 * 100).pairs == 1000


@pytest.mark.parametrize(
    "make",
    [
        lambda: FiniteSet(0),
        lambda: FiniteSet(3, pairs=-1),
        lambda: Ball(0),
        lambda: Ball(2.5),
        lambda: Ball(2, -1.0),
        lambda: Box(2, math.inf),
        lambda: SparseSet(3, 4),
        lambda: SparseSet(3, 0),
        lambda: UnionOfSubspaces(0, 1, 2),
        lambda: UnionOfSubspaces(2, 3, 2),
        lambda: LowRank(3, 2, 3),
        lambda: Entropy(3.0, 2),
        lambda: Entropy(lambda eta: -1.0, 2).entropy(0.1),
        lambda: Entropy(lambda eta: math.nan, 2).entropy(0.1),
        lambda: Ball(2).entropy(0.0),
        lambda: Box(2).entropy(math.nan),
        lambda: LowRank(2, 2, 1).entropy(-1.0),
    ],
)
def test_bad_sets_and_radii_are_refused(make):
    with pytest.raises(ParameterError, match="must be"):
        make()
