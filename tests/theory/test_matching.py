"""The map that stands for a target: every exact solution, the choice among maps, and how well it matches."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

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
    ternary_kernel,
    ternary_solutions,
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
    sigma = match_moments((target.d1, target.d2, 0.0), tau, method="scaled").map
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
    sigma = match_moments((1.0, r * r / 4, at_r * (1 - 1e-9)), tau, method="scaled").map
    assert sigma.s_plus - sigma.s_minus < 1e-5
    assert sigma.s_plus == pytest.approx(r, abs=1e-5)


def test_exact_thresholds_can_be_passed_over_for_a_smaller_diagonal():
    exact, scaled = match_moments("relu", 1.0), match_moments("relu", 1.0, method="scaled")
    assert scaled.case == "scaled"
    assert scaled.moments.d0 < exact.moments.d0
    assert scaled.map.alpha == pytest.approx(1.03514, abs=1e-5)


def test_even_map_has_the_least_diagonal_or_the_targets():
    least = match_moments((0.0, 1.0, 0.0), 1.0, method="even").map
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
    with pytest.raises(ParameterError, match="method='even'"):
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


@pytest.mark.parametrize("tau", [1.0, 8.0, 50.0])
def test_windows_have_the_mean_moments_of_their_centers_and_a_kernel_of_one_at_equal_rows(tau):
    match = match_moments("rbf", tau, method="windows")
    rng = np.random.default_rng(0)
    each = [match.map.moved(c).moments(tau) for c in match.spread * rng.standard_normal(2000)]
    for name in ("d0", "d1", "d2"):
        drawn = np.array([getattr(one, name) for one in each])
        assert abs(getattr(match.moments, name) - drawn.mean()) < 4 * drawn.std() / math.sqrt(len(drawn))
    square = tau + match.spread**2
    mean, _ = ternary_kernel(match.map, [square], [square], [[square]])
    assert mean[0, 0] == pytest.approx(1.0, rel=1e-7)  # half the digits, at a correlation of 1


def test_kernel_of_windows_with_far_centers_is_their_mean_overlap():
    """With centers far beyond the rows only the overlap is left: the first tooth of a triangle wave."""
    window, far = match_moments("rbf", 8.0, method="windows").map, 1e3
    v = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0])  # squared distances of scaled rows
    square = 2 * far**2
    mean, _ = ternary_kernel(window, [square], np.full(len(v), square), (square - v / 2)[None])
    z = np.linspace(-9, 9, 20_001)
    overlap = np.maximum(0.0, 1 - np.sqrt(v)[:, None] * np.abs(z) / (2 * window.s_plus)) @ phi(z) * (z[1] - z[0])
    np.testing.assert_allclose(mean[0] / mean[0, 0], overlap, atol=1e-5)  # (h/far)^2 and digits of 1 - rho are left


def test_entropy_and_kept_share_tell_a_collapse():
    near, far = match_moments("rbf", 0.5), match_moments("rbf", 16.0, diagonal="least")
    assert near.kept > 0.95
    assert near.entropy > 1.0
    assert far.kept < 1e-4
    assert far.entropy < 0.01
    windows = match_moments("rbf", 16.0, method="windows")
    assert windows.kept == far.kept
    assert windows.entropy > 0.5
    for target in ("relu", "linear", "quadratic"):
        assert match_moments(target, 1.0).kept > 0.95
    assert math.isnan(match_moments((0.3, 0.1), 1.0).kept)


def test_windows_are_of_the_gaussian_kernel_only():
    with pytest.raises(ParameterError, match="is for target='rbf', got 'relu'"):
        match_moments("relu", 1.0, method="windows")
