"""The planner."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from lowtide.errors import LowtideError, ParameterError
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern
from lowtide.maps import Cosine
from lowtide.quantizers import LloydMax, Phase
from lowtide.theory import features_needed, plan_features, unbiased_variance


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
    ],
)
def test_bad_arguments_are_refused(bad):
    with pytest.raises(LowtideError, match="must be|may be"):
        features_needed(**{"error": 0.05, **bad})
