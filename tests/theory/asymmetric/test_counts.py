"""Feature counts."""

import math

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.kernels import Gaussian, Laplace, Matern, Stable
from lowtide.theory import (
    corollary3_features_printed,
    pair_features,
    uniform_failure_corrected,
    uniform_failure_printed,
    uniform_features_corrected,
    uniform_features_printed,
    unit_ball_entropy,
)

LIPSCHITZ = (4 / math.pi, 1.0)


def test_pair_count_solves_hoeffdings_inequality():
    m = pair_features(0.1, 0.02)
    assert abs(2 * math.exp(-m * 0.1**2 / 2) - 0.02) < 1e-12
    m = pair_features(0.1, 0.02, complex_maps=True)
    assert abs(4 * math.exp(-m * 0.1**2 / 4) - 0.02) < 1e-12


def test_points_share_the_failure_among_their_pairs():
    assert pair_features(0.1, 0.02, n_points=10) == pytest.approx(pair_features(0.1, 0.02 / 100), rel=1e-14)


def test_simulated_failures_stay_below_the_bound():
    eps, delta, n_draws = 0.3, 0.2, 2000
    m = math.ceil(pair_features(eps, delta))
    rng = np.random.default_rng(0)
    u = rng.uniform(0, 2 * np.pi, (n_draws, m))
    t = u + rng.standard_normal((n_draws, m))
    estimates = np.mean(np.sign(np.cos(t)) * np.cos(u), axis=1)
    failures = np.abs(estimates - 2 / np.pi * np.exp(-0.5)) > eps
    assert failures.mean() <= delta


def test_corrected_count_is_larger_and_grows_with_dimension():
    for d in (2, 10, 100):
        kernel = Gaussian(0.8)
        printed = uniform_features_printed(0.1, d, LIPSCHITZ, kernel.mean_projection(d))
        corrected = uniform_features_corrected(
            0.1, d, LIPSCHITZ, kernel.mean_projection(d), kernel.mean_frequency_norm(d)
        )
        assert corrected > printed


def test_the_two_counts_agree_in_one_dimension():
    kernel = Gaussian()
    constants = kernel.mean_projection(1), kernel.mean_frequency_norm(1)
    printed = uniform_features_printed(0.1, 1, LIPSCHITZ, constants[0])
    assert uniform_features_corrected(0.1, 1, LIPSCHITZ, *constants) == pytest.approx(printed, rel=1e-12)


@pytest.mark.parametrize("kernel", [Laplace(), Stable(alpha=1.0), Matern(nu=0.5)], ids=repr)
def test_frequencies_without_a_mean_have_no_uniform_count(kernel):
    constants = kernel.mean_projection(4), kernel.mean_frequency_norm(4)
    assert uniform_features_printed(0.1, 4, LIPSCHITZ, constants[0]) == math.inf
    assert uniform_features_corrected(0.1, 4, LIPSCHITZ, *constants) == math.inf
    assert corollary3_features_printed(0.1, 4, constants[0]) == math.inf


def test_corollary_3_follows_from_proposition_5_as_printed():
    # q and cos with error 2 eps/pi, because the estimate is scaled by pi/2.
    eps, d = 0.2, 6
    direct = uniform_features_printed(2 * eps / math.pi, d, LIPSCHITZ, 1.3)
    assert corollary3_features_printed(eps, d, 1.3) == pytest.approx(direct, rel=1e-12)


def test_failure_probabilities_are_probabilities():
    assert uniform_failure_printed(0, 0.1) == uniform_failure_corrected(0, 0.1) == 1
    ratio = uniform_failure_corrected(1e5, 0.1) / uniform_failure_printed(1e5, 0.1)
    assert ratio == pytest.approx(4 / 3)


def test_entropy_bounds_the_covering_of_an_interval():
    # The unit ball of R is covered by ceil(1/eta) intervals of radius eta.
    for eta in (0.01, 0.3, 1.0):
        assert math.log(math.ceil(1 / eta)) <= unit_ball_entropy(1, eta)


@pytest.mark.parametrize(("error", "failure"), [(0, 0.1), (-1, 0.1), (0.1, 0), (0.1, 1.5), (math.nan, 0.1)])
def test_bad_arguments_are_refused(error, failure):
    with pytest.raises(ParameterError, match="must be"):
        pair_features(error, failure)
