"""Thresholds with given moments: every root, and only roots."""

import math

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.theory import (
    TARGETS,
    GaussianMoments,
    LeakyReLU,
    TernaryMap,
    equation_constants,
    gaussian_moments,
    match_moments,
    resolve_target,
    tau_limit,
    ternary_solutions,
)


def moments_of(A, B, tau):
    """Return d1 and d2 that make the two equations have these right-hand sides."""
    return GaussianMoments(0.0, A**2 / (2 * math.pi * tau), B**2 / (8 * math.pi * tau**2))


def roots_counted_on_a_grid(A, B):
    """Return how often a fine grid of p changes sign, both branches together."""
    low, high = max(0.0, A - 1), min(1.0, A)
    p = low + (high - low) * (1 - np.cos(np.linspace(0, np.pi, 40_001))) / 2

    def weighted(p):
        p = np.clip(p, 1e-300, 1)
        return p * np.sqrt(-2 * np.log(p))

    same = (weighted(p) + weighted(A - p) - B)[p >= A / 2]
    opposite = weighted(p) - weighted(A - p) - B
    return sum(int(np.sum(np.sign(f[1:]) * np.sign(f[:-1]) < 0)) for f in (same, opposite))


@pytest.mark.parametrize("A", [0.05, 0.5, 0.9, 0.968, 0.975, 0.99, 1.001, 1.05, 1.15, 1.21, 1.214, 1.5, 1.95])
@pytest.mark.parametrize("share", [1e-5, 0.01, 0.05, 0.12, 0.2, 0.205, 0.23, 0.5, 0.9, 0.999])
def test_solver_finds_as_many_roots_as_a_fine_grid(A, share):
    tau = 0.7
    B = share * A * math.sqrt(2 * math.log(2 / A))
    solutions = ternary_solutions(moments_of(A, B, tau), tau)
    assert len(solutions) == roots_counted_on_a_grid(A, B)
    assert len(solutions) == 1 or 0.96 < A < 1.2131


@pytest.mark.parametrize("seed", range(40))
def test_every_root_has_the_moments_and_the_order(seed):
    rng = np.random.default_rng(seed)
    A, tau = rng.uniform(0.01, 2.0), 10.0 ** rng.uniform(-2, 2)
    wanted = moments_of(A, rng.uniform(0, 1) * A * math.sqrt(2 * math.log(2 / A)), tau)
    solutions = ternary_solutions(wanted, tau)
    assert solutions
    for sigma in solutions:
        found = sigma.moments(tau)
        assert found.d1 == pytest.approx(wanted.d1, rel=1e-12)
        # B is a sum of terms of size A: that is the scale of its rounding.
        assert found.d2 == pytest.approx(wanted.d2, rel=1e-11, abs=1e-13 * wanted.d1 / tau)
        assert sigma.s_minus <= sigma.s_plus
    lower = [sigma.s_minus for sigma in solutions]
    assert lower == sorted(lower, reverse=True)


@pytest.mark.parametrize("seed", range(10))
def test_thresholds_of_a_ternary_map_are_found_again(seed):
    rng = np.random.default_rng(seed)
    tau = rng.uniform(0.2, 3)
    b, a = np.sort(rng.normal(size=2))
    if a * math.exp(-a * a / 2) + b * math.exp(-b * b / 2) < 0:
        a, b = -b, -a
    s_minus, s_plus = math.sqrt(tau) * b, math.sqrt(tau) * a
    found = ternary_solutions(TernaryMap(s_minus, s_plus).moments(tau), tau)
    assert min(abs(sigma.s_minus - s_minus) + abs(sigma.s_plus - s_plus) for sigma in found) < 1e-9


@pytest.mark.parametrize("name", ["rbf", "relu", "leaky_relu", "linear", "exp"])
def test_solutions_exist_up_to_the_limit_and_not_beyond(name):
    limit = tau_limit(name)
    assert ternary_solutions(gaussian_moments(name, limit * (1 - 1e-9)), limit * (1 - 1e-9))
    assert not ternary_solutions(gaussian_moments(name, limit * (1 + 1e-9)), limit * (1 + 1e-9))


def test_limits_are_those_derived():
    W = 0.658839619  # Lambert W(4/pi)
    assert tau_limit("rbf") == pytest.approx(2 / math.pi, rel=1e-12)
    assert tau_limit("linear") == pytest.approx(2 / math.pi, rel=1e-12)
    assert tau_limit("relu") == pytest.approx(8 / math.pi * math.exp(-2 / math.pi), rel=1e-12)
    assert tau_limit("exp") == pytest.approx(W / 2, rel=1e-8)
    a, b = 1.5, 0.3
    exact = 8 / (math.pi * (a - b) ** 2) * math.exp(-2 / math.pi * ((a + b) / (a - b)) ** 2)
    assert tau_limit(LeakyReLU(a, b)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("name", ["sin", "sign", "step"])
def test_bounded_odd_targets_are_solvable_at_every_tau(name):
    assert tau_limit(name) == math.inf
    for tau in (1e-3, 0.6, 1.0, 30.0):
        assert match_moments(name, tau).case == "exact"


@pytest.mark.parametrize("name", ["abs", "cos", "bump", "quadratic"])
def test_even_targets_are_never_solvable(name):
    assert tau_limit(name) == 0
    assert not ternary_solutions(gaussian_moments(name, 0.5), 0.5)


def test_at_the_limit_both_thresholds_meet():
    (sigma,) = ternary_solutions(gaussian_moments("rbf", 2 / math.pi), 2 / math.pi)
    assert (
        sigma.s_minus
        == sigma.s_plus
        == pytest.approx(math.sqrt(4 / math.pi * math.log(2 / (2 * math.exp(-1 / math.pi)))))
    )


def test_step_and_sign_match_themselves():
    for tau in (0.1, 1.0, 7.0):
        step, sign = match_moments("step", tau), match_moments("sign", tau)
        assert (step.map.s_minus, step.map.s_plus) == (-math.inf, 0.0)
        assert (sign.map.s_minus, sign.map.s_plus) == (0.0, 0.0)
        assert step.diagonal_shift == pytest.approx(0, abs=1e-15)
        assert sign.diagonal_shift == pytest.approx(0, abs=1e-15)
        assert len(step.solutions) == 3


def test_root_nearest_in_d0_is_taken():
    match = match_moments("sin", 0.3)
    assert len(match.solutions) == 3
    errors = [abs(sigma.moments(0.3).d0 - match.target.d0) for sigma in match.solutions]
    assert match.map == match.solutions[int(np.argmin(errors))]
    open_d0 = match_moments((match.target.d1, match.target.d2), 0.3)
    assert open_d0.moments.d0 == min(sigma.moments(0.3).d0 for sigma in match.solutions)
    farther = match.solutions[0].moments(0.3)
    assert match_moments((farther.d1, farther.d2, farther.d0), 0.3).moments.d0 == pytest.approx(farther.d0)


@pytest.mark.parametrize("name", list(TARGETS))
def test_constants_state_solvability(name):
    for tau in (0.2, 0.6, 0.7, 1.3, 1.4, 5.0):
        moments = resolve_target(name).moments(tau)
        _, B, B_max = equation_constants(moments, tau)
        solvable = moments.d1 > 0 and B_max * (1 + 1e-12) >= B
        assert bool(ternary_solutions(moments, tau)) == solvable
        if moments.d1 > 0:
            assert solvable == (
                math.pi * tau / 2 * moments.d1 <= math.exp(-4 * tau * moments.d2 / moments.d1) * (1 + 1e-12)
            )


def test_tau_is_checked():
    with pytest.raises(ParameterError, match="tau must be"):
        equation_constants(GaussianMoments(0, 1, 1), -1.0)
