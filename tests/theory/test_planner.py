"""The planner, and guarantees."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from lowtide.errors import LowtideError, ParameterError
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, Stable
from lowtide.maps import Cosine, CosSin
from lowtide.quantizers import LloydMax, PeriodicMap, Phase, Stochastic
from lowtide.theory import (
    Ball,
    Box,
    DistanceMap,
    Entropy,
    FiniteSet,
    Guarantee,
    LowRank,
    PairMoments,
    Side,
    SparseSet,
    UnionOfSubspaces,
    features_needed,
    kappa_qq,
    plan_features,
    unbiased_variance,
)


@pytest.mark.parametrize(
    ("arguments", "row", "width"),
    [
        ({}, ("sign_pair", 1), 2),
        ({"bits": None}, ("pair", 1), 2),
        ({"bits": 3}, ("lloyd_max_pair", 3), 2),
        ({"bits": 3, "quantizer": "phase"}, ("phase", 3), 2),
        ({"bits": 2, "feature_map": "cosine"}, ("lloyd_max", 2), 1),
        ({"bits": 2, "feature_map": "cosine", "quantizer": "stochastic"}, ("stochastic", 2), 1),
    ],
)
def test_worst_case_is_the_variance_of_distant_points(arguments, row, width):
    constant = unbiased_variance(*row).constant
    p = math.ceil(constant * (norm.ppf(0.975) / 0.03) ** 2 - 1e-9)
    assert features_needed(0.03, **arguments) == width * p


@pytest.mark.parametrize("kappa", [0.99, 0.7, 0.2])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern"])
def test_plan_for_a_kernel_value_uses_the_variance_there(kernel, kappa):
    plan = plan_features(0.01, kernel=kernel, kappa=kappa)
    spec = {"rbf": Gaussian(), "laplacian": Laplace(), "matern": Matern()}[kernel]
    variance = float(unbiased_variance("sign_pair").at(spec, plan.distance, 1))
    assert float(spec.radial(plan.distance, 1)) == pytest.approx(kappa, abs=1e-8)
    assert plan.n_frequencies == math.ceil(variance * (norm.ppf(0.975) / 0.01) ** 2)


def test_plan_for_a_distance_depends_on_the_scale_and_the_worst_case_does_not():
    near, far = (features_needed(0.05, kernel=Gaussian(sigma), distance=1.0) for sigma in (10.0, 1.0))
    assert near < far
    assert features_needed(0.05, kernel=Gaussian(10.0)) == features_needed(0.05, kernel=Gaussian(1.0))


def test_plan_is_the_smallest_that_meets_the_error():
    quantile = norm.ppf(0.95)
    for error in (0.2, 0.031, 0.007):
        plan = plan_features(error, confidence=0.9)
        variance = plan.standard_error**2 * plan.n_frequencies
        assert quantile * math.sqrt(variance / plan.n_frequencies) <= error * (1 + 1e-9)
        assert quantile * math.sqrt(variance / (plan.n_frequencies - 1)) > error


def test_worst_case_of_codes_against_codes_lies_at_a_finite_distance_or_far_away():
    for bits in (1, 2, 4):
        plan = plan_features(0.05, bits=bits, sides=("codes", "codes"))
        grid = [
            plan_features(0.05, bits=bits, sides=("codes", "codes"), distance=s).n_components for s in (0.3, 1, 2, 9)
        ]
        assert plan.n_components >= max(grid)


def test_simulated_errors_stay_within_the_plan():
    plan = plan_features(0.1, kappa=0.5, confidence=0.95)
    rng = np.random.default_rng(0)
    n, s = 4000, plan.distance
    u = rng.uniform(0, 2 * np.pi, (n, plan.n_frequencies))
    t = u + s * rng.standard_normal(u.shape)
    estimate = np.pi / 4 * (np.sign(np.cos(t)) * np.cos(u) + np.sign(np.sin(t)) * np.sin(u)).mean(axis=1)
    inside = np.mean(np.abs(estimate - 0.5) <= 0.1)
    assert abs(inside - 0.95) < 4.5 * math.sqrt(0.95 * 0.05 / n)
    assert abs(estimate.std() / plan.standard_error - 1) < 4.5 / math.sqrt(2 * n)


def test_bits_per_item_count_levels_not_components():
    assert plan_features(0.05, bits=3).bits_per_item == 3 * features_needed(0.05, bits=3)
    phase = plan_features(0.05, quantizer=Phase(3))
    assert phase.bits_per_item == 3 * phase.n_frequencies == 3 * phase.n_components // 2
    full = plan_features(0.05, bits=None)
    assert full.bits_per_item == 32 * full.n_components
    assert plan_features(0.05, sides=("full", "full")).bits_per_item == full.bits_per_item


def test_objects_stand_for_names():
    assert features_needed(0.05, kernel=Gaussian(), quantizer=LloydMax(2), feature_map=Cosine()) == features_needed(
        0.05, bits=2, feature_map="cosine"
    )


def test_sides_may_be_quantizers_of_different_bits():
    mixed = plan_features(0.05, sides=(LloydMax(1), LloydMax(4)))
    same_bits = [plan_features(0.05, bits=b, sides=("codes", "codes")) for b in (1, 4)]
    assert same_bits[1].n_components < mixed.n_components < same_bits[0].n_components
    assert mixed.bits_per_item == mixed.n_components
    assert plan_features(0.05, sides=(LloydMax(4), "codes")).bits_per_item == 4 * mixed.n_components
    assert plan_features(0.05, sides=("full", LloydMax(2))) == plan_features(0.05, bits=2)


def test_bessel_kernel_needs_its_dimension():
    with pytest.raises(ParameterError, match="n_features must be given"):
        features_needed(0.05, kernel=Bessel())
    assert features_needed(0.05, kernel=Bessel(), n_features=64) == features_needed(0.05)


def test_worst_case_of_an_oscillating_kernel_is_where_the_variance_peaks():
    # (1 + j(2z))/2 - j(z)^2 exceeds its limit 1/2 where j(z) is near 0 and j(2z) is not.
    plan = plan_features(0.02, kernel=Bessel(), n_features=3, bits=None)
    z = np.linspace(0, 60, 60_001)
    variance = unbiased_variance("pair").at(Bessel(), z, 3)
    assert plan.distance == pytest.approx(z[np.argmax(variance)], abs=2e-3)
    assert plan.n_frequencies == math.ceil(variance.max() * (norm.ppf(0.975) / 0.02) ** 2)
    assert variance.max() > 0.54


def test_same_point_at_full_precision_needs_one_frequency():
    assert features_needed(0.05, bits=None, distance=0.0) == 2


@pytest.mark.parametrize(
    "bad",
    [
        {"error": 0.0},
        {"error": math.nan},
        {"confidence": 1.0},
        {"confidence": 0.0},
        {"kappa": 0.5, "distance": 1.0},
        {"kappa": 1.5},
        {"kappa": -0.5},
        {"distance": -1.0},
        {"bits": 9},
        {"kernel": "poly"},
        {"quantizer": "none"},
        {"feature_map": "sin"},
        {"sides": ("codes", "raw")},
        {"n_features": 0},
        {"guarantee": "certain"},
        {"guarantee": "uniform"},
        {"guarantee": "uniform", "signals": 5},
        {"guarantee": "uniform", "signals": Ball(5), "kappa": 0.5},
        {"guarantee": "pairwise", "signals": Ball(5)},
        {"guarantee": "pairwise", "distance": 1.0},
        {"signals": Ball(5)},
    ],
)
def test_bad_arguments_are_refused(bad):
    with pytest.raises(LowtideError, match="must be|may be"):
        features_needed(**{"error": 0.05, **bad})


def test_front_takes_its_count_from_the_guarantee():
    points = FiniteSet(50)
    one_bit = LloydMax(1).draw(CosSin(), np.random.default_rng(0))
    for signals, guarantee in ((None, "pairwise"), (points, "pairwise"), (points, "uniform"), (Ball(4), "uniform")):
        plan = plan_features(0.2, guarantee=guarantee, signals=signals, confidence=0.9, kernel=Gaussian(2.0))
        bound = Guarantee(one_bit, CosSin(), signals, Gaussian(2.0))
        assert plan.n_frequencies == math.ceil(bound.features(0.2, failure=0.1))
        assert plan.n_components == plan.bits_per_item == 2 * plan.n_frequencies
        assert plan.standard_error < 0.2
    assert features_needed(0.2, guarantee="pairwise") > features_needed(0.2)
    single = features_needed(0.2, guarantee="pairwise", feature_map="cosine", quantizer=PeriodicMap([0, 0.5, 0, 0.1]))
    assert single == math.ceil(Guarantee(PeriodicMap([0, 0.5, 0, 0.1]), "cosine", scale=2.0).features(0.2, 1 - 0.95))


def test_front_takes_the_dimension_of_a_bessel_kernel_from_the_set():
    assert features_needed(0.2, kernel=Bessel(), guarantee="uniform", signals=Ball(64)) > 1e6


# One frequency's terms at phases t and u, its mean at a distance by the Gaussian kernel, the sides and their scale.
def kappa(s):
    return np.exp(-(s**2) / 2)


def sign_cos(t):
    return np.where(np.cos(t) >= 0, 1.0, -1.0)


ESTIMATES = {
    "q_cos": (lambda t, u: np.pi / 2 * sign_cos(t) * np.cos(u), kappa, ("square_wave", "cosine"), np.pi / 2),
    "q_q": (lambda t, u: sign_cos(t) * sign_cos(u), lambda s: kappa_qq(Gaussian(), s, 2), ("square_wave",) * 2, 1.0),
    "cos_cos": (lambda t, u: 2 * np.cos(t) * np.cos(u), kappa, (Cosine(), Cosine()), 2.0),
    "pair": (lambda t, u: np.cos(t - u), kappa, (CosSin(), CosSin()), 1.0),
    "exp_exp": (lambda t, u: np.exp(1j * (t - u)), kappa, ("exponential", "exponential"), 1.0),
    "gap": (
        lambda t, u: (np.pi / 2 * sign_cos(t) - 2 * np.cos(t)) * np.cos(u),
        lambda s: 0 * s,
        (Side.of(LloydMax(1), minus="cosine"), "cosine"),
        2.0,
    ),
}


@pytest.mark.parametrize("name", ESTIMATES)
def test_measured_failures_of_a_finite_set_stay_below_the_bound(name):
    term, mean, sides, scale = ESTIMATES[name]
    n_draws, rng = 400, np.random.default_rng(0)
    X = rng.uniform(-1, 1, (5, 2))
    bound = Guarantee(*sides, FiniteSet(5), Gaussian(), scale=scale)
    error = bound.error(60, failure=0.5)
    assert bound.failure(error, 60) == pytest.approx(0.5)
    phases = np.einsum("nd,rdm->rnm", X, rng.standard_normal((n_draws, 2, 60)))
    phases += rng.uniform(0, 2 * np.pi, (n_draws, 1, 60))
    estimates = term(phases[:, :, None], phases[:, None]).mean(axis=-1)
    errors = np.abs(estimates - mean(np.linalg.norm(X[:, None] - X[None], axis=-1)))
    assert np.mean(errors.max(axis=(1, 2)) > error) <= 0.5
    one = Guarantee(*sides, scale=scale)
    # A single pair at an error that the bound gives 0.9 for.
    error = one.error(60, failure=0.9)
    assert np.mean(errors[:, 0, 1] > error) <= 0.9


def test_measured_distances_stay_within_corollary_2():
    n_draws, n, rng = 300, 400, np.random.default_rng(1)
    X = rng.uniform(-1, 1, (4, 2))
    bound = Guarantee("square_wave", "cosine", FiniteSet(4), Gaussian(), of="distance")
    error = bound.error(n, failure=0.3)
    phases = np.einsum("nd,rdm->rnm", X, rng.standard_normal((n_draws, 2, n)))
    phases += rng.uniform(0, 2 * np.pi, (n_draws, 1, n))
    squared = ((sign_cos(phases)[:, :, None] - np.cos(phases)[:, None]) ** 2).mean(axis=-1)
    mean = DistanceMap("q_cos", Gaussian(), 2)(np.linalg.norm(X[:, None] - X[None], axis=-1))
    assert np.mean(np.abs(squared - mean).max(axis=(1, 2)) > error) <= 0.3


def test_measured_errors_of_a_whole_interval_stay_below_the_sharp_bound():
    bound = Guarantee("square_wave", "cosine", Ball(1), Gaussian(), form="sharp")
    m, n_draws, rng = 400, 40, np.random.default_rng(2)
    error = bound.error(m, failure=0.2)
    assert error < 1
    x = np.linspace(-1, 1, 41)[:, None]
    failures = 0
    for _ in range(n_draws):
        t = x * rng.standard_normal(m) + rng.uniform(0, 2 * np.pi, m)
        estimates = np.einsum("im,jm->ij", sign_cos(t), np.cos(t)) / m
        failures += np.abs(estimates - 2 / np.pi * kappa(x - x.T)).max() > error
    assert failures / n_draws <= 0.2


def test_largest_change_in_a_ball_needs_the_mean_length_of_frequencies():
    """The printed proof takes C_Lambda: 0.064 at d = 10 and eta = 0.05, where the mean change is 0.197."""
    d, eta, n, rng = 10, 0.05, 100_000, np.random.default_rng(0)
    reach = eta * np.linalg.norm(rng.standard_normal((n, d)), axis=1)
    to_jump = rng.uniform(0, np.pi / 2, n)  # of the square wave, from a uniform phase
    change = 2.0 * (to_jump <= reach)
    error = change.std() / np.sqrt(n)
    printed, corrected = (4 / np.pi * eta * c for c in (1.0, Gaussian().mean_frequency_norm(d)))
    assert change.mean() > printed + 4 * error
    assert change.mean() < corrected + 4 * error
    assert change.mean() == pytest.approx(0.197, abs=4 * error + 5e-4)


def test_pairwise_count_solves_hoeffdings_inequality():
    real, complex_ = Guarantee("cosine", "square_wave"), Guarantee("exponential", "square_wave")
    assert 2 * math.exp(-real.features(0.1, 0.02) * 0.1**2 / 2) == pytest.approx(0.02)
    assert 4 * math.exp(-complex_.features(0.1, 0.02) * 0.1**2 / 4) == pytest.approx(0.02)
    # The paper states the real constant for both.
    assert complex_.with_form("printed").features(0.1, 0.02) == real.features(0.1, 0.02)


def test_points_share_the_failure_among_their_pairs():
    one, all_pairs = Guarantee("cosine", "cosine"), Guarantee("cosine", "cosine", FiniteSet(10))
    assert all_pairs.features(0.1, 0.02) == pytest.approx(one.features(0.1, 0.02 / 100), rel=1e-14)
    some = Guarantee("cosine", "cosine", FiniteSet(10, pairs=7))
    assert some.failure(0.3, 100) == pytest.approx(7 * one.failure(0.3, 100))


FORMS = ["corrected", "printed", "sharp"]
SIGNALS = [None, FiniteSet(9), Ball(3), Box(3, 0.5), SparseSet(30, 2), UnionOfSubspaces(4, 2, 30), LowRank(5, 6, 1)]


@pytest.mark.parametrize("of", ["kernel", "distance"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("signals", SIGNALS, ids=repr)
def test_count_failure_and_error_are_inverse_to_each_other(signals, form, of):
    bound = Guarantee("square_wave", "cosine", signals, Gaussian(), scale=1.3, of=of, form=form)
    for error, failure in ((0.4, 0.3), (0.05, 1e-6)):
        m = bound.features(error, failure)
        assert bound.failure(error, m * (1 + 1e-9)) <= failure
        assert bound.failure(error, m * 0.98) > bound.failure(error, m * (1 + 1e-9))
        assert bound.error(m, failure) == pytest.approx(error, rel=1e-9)
        assert bound.features(error, failure / 10) >= m
        assert bound.features(error / 2, failure) > 3.9 * m
    assert bound.failure(0.1, 1) == 1


def same(value, expected):
    """Equal to rounding, however small."""
    return value == pytest.approx(expected, rel=1e-9, abs=0)


def test_uniform_count_is_that_of_proposition_5():
    d, eps, sigma = 6, 0.2, 0.7
    kernel, L = Gaussian(sigma), (4 / math.pi, 0.9)
    sides = Side(L[0]), Side(L[1])
    corrected = Guarantee(*sides, Ball(d), kernel)
    c = 4 * (sum(L) * kernel.mean_frequency_norm(d) + 2 * min(L) * kernel.mean_projection(d))
    m = 128 / eps**2 * d * math.log1p(2 * c / eps)
    assert same(corrected.features(eps, 1.0), m)
    assert same(corrected.failure(eps, 1.1 * m), 4 * math.exp(-1.1 * m * eps**2 / 64))
    complex_ = Guarantee(Side(L[0], real=False), sides[1], Ball(d), kernel)
    assert same(complex_.features(eps, 1.0), 2 * m)
    assert same(complex_.failure(eps, 2.2 * m), 6 * math.exp(-2.2 * m * eps**2 / 128))
    printed = corrected.with_form("printed")
    c = 4 / sigma * (sum(L) + 2 * min(L))
    m = 128 / eps**2 * d * math.log1p(2 * c / eps)
    assert same(printed.features(eps, 1.0), m)
    assert same(printed.failure(eps, 1.1 * m), 3 * math.exp(-1.1 * m * eps**2 / 64))


def test_corollary_3_is_the_one_bit_estimate():
    eps, d, C = 0.2, 6, 1.3
    bound = Guarantee("square_wave", "cosine", Ball(d), Gaussian(1 / C), scale=math.pi / 2, form="printed")
    corollary = 32 * math.pi**2 / eps**2 * d * math.log1p(2 * (8 + 6 * math.pi) * C / eps)
    assert bound.features(eps, 1.0) == pytest.approx(corollary, rel=1e-12)
    assert same(bound.failure(eps, 1e6), 3 * math.exp(-1e6 * eps**2 / (16 * math.pi**2)))
    # Levels of pi/4 against the cosine, and the scale 2 of one component, are the same estimate.
    levels = Guarantee(LloydMax(1), Cosine(), Ball(d), Gaussian(1 / C), scale=2.0, form="printed")
    assert levels.features(eps, 1.0) == pytest.approx(corollary, rel=1e-12)


def test_corollary_2_takes_the_largest_of_three_constants():
    f, g, ball, kernel = Side(4 / math.pi), Side(0.8), Ball(3), Gaussian()
    distance = Guarantee(f, g, ball, kernel, of="distance")
    three = [Guarantee(*pair, ball, kernel).features(0.1, 1.0) for pair in ((f, g), (f, f), (g, g))]
    assert distance.features(0.4, 1.0) == pytest.approx(max(three))
    assert max(three) == three[1] > three[0]
    assert same(distance.failure(0.4, 1e6), 12 * math.exp(-1e6 * 0.1**2 / 64))
    printed = distance.with_form("printed")
    assert printed.features(0.4, 1.0) == pytest.approx(Guarantee(f, g, ball, kernel, form="printed").features(0.1, 1.0))
    assert same(printed.failure(0.4, 1e6), 9 * math.exp(-1e6 * 0.1**2 / 64))


def test_corollary_1_compares_two_estimates_of_one_kernel():
    # Unit levels and 4/pi cos: the difference has sup-norm 1, as the corollary asks.
    settings = {"signals": Ball(5), "kernel": Gaussian()}
    between = Guarantee.between("square_wave", lambda t: 4 / np.pi * np.cos(t), "cosine", **settings, scale=np.pi / 2)
    exact = Guarantee(Side(4 / np.pi + 8 / np.pi**2), "cosine", **settings, scale=np.pi / 2)
    assert exact.features(0.1) <= between.features(0.1) <= 1.01 * exact.features(0.1)
    # In the units of the encoder it has sup-norm pi/4 and the estimate is doubled: the same.
    encoder = Guarantee.between(LloydMax(1), "cosine", "cosine", **settings, scale=2.0)
    assert encoder.features(0.1) == pytest.approx(between.features(0.1), rel=1e-4)
    # By the triangle inequality each would have to be within half the error.
    apart = [Guarantee(side, "cosine", **settings, scale=2.0).features(0.05) for side in (LloydMax(1), "cosine")]
    assert between.features(0.1) < max(apart)


def test_only_the_product_of_sizes_counts():
    unit = Guarantee(Side(0.9), Side(0.7), Ball(4), Gaussian())
    for a, b, scale in ((2.0, 0.5, 1.0), (3.0, 1.0, 1 / 3), (0.2, 1.0, 5.0)):
        scaled = Guarantee(Side(0.9 * a, a), Side(0.7 * b, b), Ball(4), Gaussian(), scale=scale)
        for form in FORMS:
            assert scaled.with_form(form).features(0.1) == pytest.approx(unit.with_form(form).features(0.1), rel=1e-12)


def test_sharp_form_takes_fewer_features_than_the_corrected_one():
    for signals in (Ball(2), Ball(500), SparseSet(1000, 3), Entropy(lambda eta: math.log1p(1 / eta), 40)):
        for sides in (("square_wave", "cosine"), ("exponential", "exponential")):
            bound = Guarantee(*sides, signals, Gaussian())
            assert bound.with_form("sharp").features(0.1) < bound.features(0.1) / 2.5


def test_frequencies_count_by_their_part_in_the_pieces_of_a_set():
    d, s, L = 50, 3, 4 / math.pi

    gaussian, stable = Gaussian(), Stable(alpha=1.5)
    for kernel, signals, dimension in (
        (gaussian, Ball(d), d),
        (gaussian, SparseSet(d, s), s),
        (gaussian, UnionOfSubspaces(5, s, d), s),
        (gaussian, LowRank(10, 5, 1), d),
        (stable, SparseSet(d, s), s),
        (stable, UnionOfSubspaces(5, s, d), d),
        (Bessel(), SparseSet(d, s), d),
    ):
        c = 4 * 2 * L * (kernel.mean_frequency_norm(dimension) + kernel.mean_projection(d))
        bound = Guarantee(Side(L), Side(L), signals, kernel)
        assert bound.features(0.1, 1.0) == pytest.approx(128 / 0.1**2 * signals.entropy(0.1 / c), rel=1e-12)


def test_largest_error_needs_no_features_to_be_kept():
    assert Guarantee("cosine", "cosine", Ball(3), Gaussian()).error(1, 0.1) == pytest.approx(2.0)
    assert Guarantee("cosine", "square_wave", scale=3.0).error(1e-3, 0.1) == pytest.approx(6.0)


@pytest.mark.parametrize("kernel", [Laplace(), Stable(alpha=1.0), Matern(nu=0.5)], ids=repr)
@pytest.mark.parametrize("form", FORMS)
def test_frequencies_without_a_mean_have_no_uniform_guarantee(kernel, form):
    with pytest.raises(ParameterError, match="frequencies with a finite mean.*FiniteSet"):
        Guarantee("square_wave", "cosine", Ball(4), kernel, form=form)
    finite = Guarantee("square_wave", "cosine", FiniteSet(100), kernel, form=form)
    assert finite.features(0.1) == Guarantee("square_wave", "cosine", FiniteSet(100)).features(0.1)


def test_values_rounded_at_random_have_pairwise_guarantees_only():
    assert Guarantee(Stochastic(2), Cosine(), FiniteSet(10)).features(0.1) > 0
    with pytest.raises(ParameterError, match="mean Lipschitz constant"):
        Guarantee(Stochastic(2), Cosine(), Ball(2), Gaussian())


def test_printed_form_takes_the_variance_of_a_frequency_where_it_has_one():
    heavy = Matern(nu=0.8)
    bound = Guarantee(Side(1.0), Side(1.0), Ball(3), heavy, form="printed")
    c = 4 * heavy.mean_projection(3) * 4
    assert bound.features(0.1, 1.0) == pytest.approx(128 / 0.01 * 3 * math.log1p(2 * c / 0.1), rel=1e-12)


def test_constant_maps_need_one_ball():
    bound = Guarantee(Side(0.0), Side(0.0), Ball(3), Gaussian())
    assert bound.features(0.1, 0.05) == pytest.approx(64 / 0.01 * math.log(4 / 0.05))


def test_explanation_says_what_is_guaranteed():
    bound = Guarantee("square_wave", "cosine", Ball(5), Gaussian(), scale=math.pi / 2)
    text = bound.explain(0.1, 0.01)
    for part in ("within 0.1", "0.99", "Ball(dimension=5, radius=1.0)", "1,041,374", "corrected", "balls of radius"):
        assert part in text
    assert repr(bound).startswith("Guarantee('square_wave', 'cosine', Ball(dimension=5, radius=1.0), Gaussian(")
    drawn = LloydMax(4).draw(Cosine(), np.random.default_rng(0))
    assert len(repr(Guarantee(drawn, np.cos))) < 120
    assert "one fixed pair" in Guarantee("cosine", "cosine").explain(0.1)
    assert "squared distance" in Guarantee("cosine", "cosine", of="distance").explain(0.1)


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (("cosine", "tangent"), {}),
        (("cosine", "cosine", Ball(3)), {}),
        (("cosine", "cosine", Ball(3), "rbf"), {}),
        (("cosine", "cosine", 3), {}),
        (("cosine", "cos_sin"), {}),
        ((CosSin(), LloydMax(1)), {}),
        (("cosine", "cosine"), {"scale": 0.0}),
        (("cosine", "cosine"), {"of": "angle"}),
        (("cosine", "cosine"), {"form": "best"}),
    ],
)
def test_guarantees_refuse_bad_arguments(arguments, settings):
    with pytest.raises(ParameterError, match="must be"):
        Guarantee(*arguments, **settings)


@pytest.mark.parametrize(("error", "failure"), [(0, 0.1), (-1, 0.1), (0.1, 0), (0.1, 1.5), (math.nan, 0.1)])
def test_guarantees_refuse_bad_errors_and_failures(error, failure):
    bound = Guarantee("cosine", "cosine")
    with pytest.raises(ParameterError, match="must be"):
        bound.features(error, failure)
    for call in (lambda: bound.failure(0.1, -1), lambda: bound.failure(0.1, math.nan), lambda: bound.error(0)):
        with pytest.raises(ParameterError, match="must be"):
            call()


def test_sides_of_a_quantizer_have_the_mean_of_their_pair():
    """What a guarantee bounds is the error around the mean that the pair's moments give."""
    drawn = LloydMax(2).draw(Cosine(), np.random.default_rng(0))
    pair = PairMoments(drawn.moments(), drawn.moments())
    bound = Guarantee(drawn, drawn, scale=pair.scale)
    n, m, s, rng = 300, 200, 0.8, np.random.default_rng(3)
    turns = rng.uniform(0, 1, (n, m))
    left, right = (
        drawn.components[0].at(turns + shift) for shift in (0, s * rng.standard_normal((n, m)) / (2 * np.pi))
    )
    errors = np.abs(2 * (left * right).mean(axis=1) - 2 * float(pair.mean(Gaussian(), s, 3)))
    error = bound.error(m, failure=0.5)
    assert np.mean(errors > error) <= 0.5
