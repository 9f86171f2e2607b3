"""The chosen map: exact, scaled or even, its residuals and its diagonal."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from lowtide.errors import ParameterError
from lowtide.theory import (
    TARGETS,
    GaussianMoments,
    TernaryMap,
    even_solution,
    gaussian_moments,
    match_moments,
    scaled_solution,
)


def phi(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def diagonal_on_the_branch(r, n=4001):
    """Return b, a and alpha^2 d0/(tau d1) along b in [(r - sqrt(r^2+4))/2, r], for both a that belong to each b."""
    b = np.linspace((r - math.sqrt(r * r + 4)) / 2, r, n)
    turn = (r + math.sqrt(r * r + 4)) / 2
    height = (r - b) * np.exp(-b * b / 2)
    points = []
    for low, high in ((r, turn), (turn, r + 12)):
        a = np.linspace(low, high, 200_001)
        rise = (a - r) * np.exp(-a * a / 2)
        order = np.argsort(rise)
        reached = height <= rise.max()
        points.append((b[reached], np.interp(height[reached], rise[order], a[order])))
    b, a = np.hstack(points)
    above, below = ndtr(-a), ndtr(b)
    return b, a, (above + below - (above - below) ** 2) / (phi(a) + phi(b)) ** 2 - 1


@pytest.mark.parametrize("name", list(TARGETS))
@pytest.mark.parametrize("tau", [0.05, 0.3, 1.0, 2.0, 5.0, 20.0])
def test_chosen_map_has_the_targets_moments(name, tau):
    match = match_moments(name, tau)
    assert max(abs(residual) for residual in match.residuals) < 1e-11
    assert match.moments == match.map.moments(tau)
    assert match.diagonal_shift == match.target.d0 - match.moments.d0


@pytest.mark.parametrize(("name", "case"), [("rbf", "scaled"), ("relu", "exact"), ("cos", "even"), ("abs", "even")])
def test_case_at_unit_norm(name, case):
    assert match_moments(name, 1.0).case == case


@pytest.mark.parametrize(("name", "tau"), [("rbf", 1.0), ("rbf", 0.7), ("relu", 2.0), ("linear", 1.0), ("rbf", 12.0)])
def test_scaled_map_without_matching_d0_has_the_least_one(name, tau):
    target = gaussian_moments(name, tau)
    sigma = scaled_solution(GaussianMoments(0.0, target.d1, target.d2), tau)
    found = sigma.moments(tau).d0 / (tau * target.d1)
    _, _, diagonal = diagonal_on_the_branch(2 * math.sqrt(tau * target.d2 / target.d1))
    assert diagonal.min() * (1 - 2e-4) < found <= diagonal.min()  # the grid steps over the minimum


def test_scaled_map_takes_the_targets_d0_where_it_can():
    match = match_moments("rbf", 2.0)
    assert match.diagonal_shift == pytest.approx(0, abs=1e-13)
    assert (match.map.s_minus, match.map.s_plus) == pytest.approx((1.9283, 2.0838), abs=5e-5)


@pytest.mark.parametrize(("name", "tau"), [("rbf", 2.0), ("sin", 0.3), ("cos", 5.0), ("bump", 5.0)])
def test_least_diagonal_matches_the_same_kernel_with_less_noise(name, tau):
    near, least = (match_moments(name, tau, diagonal=diagonal) for diagonal in ("target", "least"))
    assert max(abs(residual) for residual in least.residuals) < 1e-11
    assert least.moments.d0 <= near.moments.d0
    assert least.case == near.case
    if name != "sin":
        assert least.moments.d0 < 0.95 * near.moments.d0


def test_scaled_map_is_a_sign_function_where_only_that_has_the_targets_d0():
    tau, r = 1.0, 1.0
    at_r = float(ndtr(r) * ndtr(-r) / phi(r) ** 2 - 1)
    sigma = scaled_solution(GaussianMoments(at_r * (1 - 1e-9), 1.0, r * r / 4), tau)
    assert sigma.s_plus - sigma.s_minus < 1e-5
    assert sigma.s_plus == pytest.approx(r, abs=1e-5)


def test_exact_thresholds_can_be_passed_over_for_a_smaller_diagonal():
    exact, scaled = match_moments("relu", 1.0), match_moments("relu", 1.0, method="scaled")
    assert scaled.case == "scaled"
    assert scaled.moments.d0 < exact.moments.d0
    assert scaled.map.alpha == pytest.approx(1.03514, abs=1e-5)


def test_even_map_has_the_least_diagonal_or_the_targets():
    least = even_solution(GaussianMoments(0.0, 0.0, 1.0), 1.0)
    a = np.linspace(0.5, 3, 100_001)
    share = 2 * ndtr(-a)
    diagonal = share * (1 - share) / (a * phi(a)) ** 2
    assert least.moments(1.0).d0 == pytest.approx(diagonal.min(), rel=1e-8)
    assert least.s_plus == pytest.approx(a[diagonal.argmin()], abs=1e-4)
    assert (least.low, least.s_minus) == (least.high, -least.s_plus)
    assert match_moments("cos", 5.0).diagonal_shift == pytest.approx(0, abs=1e-12)


def test_even_map_can_stand_for_the_even_part_only():
    match = match_moments("relu", 1.0, method="even")
    assert match.residuals[0] == -1
    assert abs(match.residuals[1]) < 1e-12


@pytest.mark.parametrize("tau", [50.0, 300.0, 690.0])
def test_moments_stay_right_where_levels_hardly_change(tau):
    match = match_moments("rbf", tau)
    assert match.moments.d0 > 0
    assert max(abs(residual) for residual in match.residuals) < 1e-11
    assert match.map.probabilities(tau)[0] > 1 - 1e-10


def test_ternary_map_has_the_moments_of_a_sample():
    tau, n = 1.3, 400_000
    z = np.random.default_rng(3).standard_normal(n)
    for sigma in (TernaryMap(-0.3, 0.8), TernaryMap(0.2, 0.9, -1.5, 1.5), TernaryMap(-1.0, 1.0, 2.0, 2.0)):
        values, moments = sigma(math.sqrt(tau) * z), sigma.moments(tau)
        for share, level in zip(sigma.probabilities(tau), (sigma.low, 0.0, sigma.high), strict=True):
            if sigma.low != sigma.high:
                assert abs((values == level).mean() - share) < 4.5 * math.sqrt(share / n)
        first, second = z * (values - values.mean()), (z * z - 1) * (values - values.mean())
        assert abs(abs(first.mean()) - math.sqrt(tau * moments.d1)) < 4.5 * first.std() / math.sqrt(n)
        assert abs(abs(second.mean()) - 2 * tau * math.sqrt(moments.d2)) < 4.5 * second.std() / math.sqrt(n)
        spread = (values - values.mean()) ** 2
        assert abs(spread.mean() - moments.variance(tau)) < 4.5 * spread.std() / math.sqrt(n)


def test_infinite_threshold_silences_its_level():
    step = TernaryMap(-math.inf, 0.0)
    assert step.probabilities(2.0) == (0.0, 0.5, 0.5)
    assert step.moments(2.0).d1 == pytest.approx(gaussian_moments("step", 2.0).d1)


def test_callable_target_is_matched():
    match = match_moments(np.tanh, 0.4)
    assert match.case == "exact"
    assert abs(match.residuals[0]) < 1e-11


def test_constant_target_is_refused():
    with pytest.raises(ParameterError, match="d1 or d2 above 0"):
        match_moments(lambda t: 0 * t + 3, 1.0)
    with pytest.raises(ParameterError, match="decrease gamma"):
        match_moments("rbf", 800.0)


def test_method_that_has_no_solution_is_refused():
    with pytest.raises(ParameterError, match="method='scaled'"):
        match_moments("rbf", 1.0, method="exact")
    with pytest.raises(ParameterError, match="even_solution"):
        match_moments("cos", 1.0, method="scaled")
    with pytest.raises(ParameterError, match="d2 must be above 0"):
        match_moments("sin", 1.0, method="even")
    with pytest.raises(ParameterError, match="one of 'auto'"):
        match_moments("sin", 1.0, method="best")
    with pytest.raises(ParameterError, match="one of 'target', 'least'"):
        match_moments("sin", 1.0, diagonal="none")


@pytest.mark.parametrize("arguments", [(1.0, 0.0), (math.nan, 1.0), (0.0, 1.0, -math.inf, 1.0), (0, 1, -1, math.nan)])
def test_impossible_map_is_refused(arguments):
    with pytest.raises(ParameterError, match="TernaryMap"):
        TernaryMap(*arguments)
