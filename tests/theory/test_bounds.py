"""Feature counts and mean Lipschitz constants."""

import math

import numpy as np
import pytest
from reference.mean_lipschitz import quotient

from lowtide.errors import ParameterError
from lowtide.kernels import Gaussian, Laplace, Matern, ShiftGaussian, Stable
from lowtide.theory import (
    lloyd_max_table,
    mean_lipschitz,
    measure_bound,
    pair_features,
    uniform_failure,
    uniform_features,
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
        printed = uniform_features(0.1, d, LIPSCHITZ, kernel.mean_projection(d))
        corrected = uniform_features(0.1, d, LIPSCHITZ, kernel.mean_projection(d), kernel.mean_frequency_norm(d))
        assert corrected > printed


def test_the_two_counts_agree_in_one_dimension():
    kernel = Gaussian()
    constants = kernel.mean_projection(1), kernel.mean_frequency_norm(1)
    printed = uniform_features(0.1, 1, LIPSCHITZ, constants[0])
    assert uniform_features(0.1, 1, LIPSCHITZ, *constants) == pytest.approx(printed, rel=1e-12)


@pytest.mark.parametrize("kernel", [Laplace(), Stable(alpha=1.0), Matern(nu=0.5)], ids=repr)
def test_frequencies_without_a_mean_have_no_uniform_count(kernel):
    constants = kernel.mean_projection(4), kernel.mean_frequency_norm(4)
    assert uniform_features(0.1, 4, LIPSCHITZ, constants[0]) == math.inf
    assert uniform_features(0.1, 4, LIPSCHITZ, *constants) == math.inf


def test_corollary_3_follows_from_proposition_5_as_printed():
    # q and cos with error 2 eps/pi, because the estimate is scaled by pi/2.
    eps, d = 0.2, 6
    direct = uniform_features(2 * eps / math.pi, d, LIPSCHITZ, 1.3)
    corollary = 32 * math.pi**2 / eps**2 * d * math.log1p(2 * (8 + 6 * math.pi) * 1.3 / eps)
    assert corollary == pytest.approx(direct, rel=1e-12)


def test_failure_probabilities_are_probabilities():
    assert uniform_failure(0, 0.1) == uniform_failure(0, 0.1, bound="printed") == 1
    ratio = uniform_failure(1e5, 0.1) / uniform_failure(1e5, 0.1, bound="printed")
    assert ratio == pytest.approx(4 / 3)
    assert uniform_failure(10, 0.01, bound="sketch") == 1.0
    assert uniform_failure(25600, 1.0, bound="sketch") == pytest.approx(4 * math.exp(-100))
    with pytest.raises(ParameterError, match="must be"):
        uniform_failure(10, 0.0)


def test_count_bounds_the_covering_of_an_interval():
    # The unit ball of R is covered by ceil(1/eta) intervals of radius eta; eta = eps/c, c = 4 (L_f + L_g + 2 min).
    constant = 4 * (sum(LIPSCHITZ) + 2 * min(LIPSCHITZ))
    for eta in (0.01, 0.3, 1.0):
        entropy = uniform_features(eta * constant, 1, LIPSCHITZ, 1.0) * (eta * constant) ** 2 / 128
        assert math.log(math.ceil(1 / eta)) <= entropy


@pytest.mark.parametrize(("error", "failure"), [(0, 0.1), (-1, 0.1), (0.1, 0), (0.1, 1.5), (math.nan, 0.1)])
def test_bad_arguments_are_refused(error, failure):
    with pytest.raises(ParameterError, match="must be"):
        pair_features(error, failure)


DELTAS = np.array([0.01, 0.05, 0.2, 0.39, 0.6, 1.0, 1.175, 1.4, 2.0, 3.0])


def lloyd_max(t, bits):
    table = lloyd_max_table(bits)
    return table.levels[np.searchsorted(table.borders, np.cos(t))]


@pytest.mark.parametrize(
    ("f", "constant"),
    [
        (lambda t: np.sign(np.cos(t)), mean_lipschitz([1, -1])),
        (np.cos, mean_lipschitz("cosine")),
        (lambda t: np.cos(3 * t), mean_lipschitz("cosine", order=3)),
        (lambda t: np.exp(2j * t), mean_lipschitz("exponential", order=-2)),
        (lambda t: lloyd_max(t, 2), mean_lipschitz("lloyd_max", bits=2)),
        (lambda t: lloyd_max(t, 3), mean_lipschitz("lloyd_max", bits=3)),
        (lambda t: np.sign(np.cos(t)) - 4 / np.pi * np.cos(t), mean_lipschitz("square_wave_gap")),
    ],
    ids=["square", "cos", "cos3", "exp2", "lloyd_max2", "lloyd_max3", "gap"],
)
def test_constant_bounds_the_definition_and_is_nearly_attained(f, constant):
    quotients = [quotient(f, delta) for delta in DELTAS]
    # On the grid a jump counts for up to one step of t more than it should.
    slack = 1 + 2 * 2 * np.pi / (1 << 14) / DELTAS[0]
    assert max(quotients) <= constant * slack
    assert max(quotients) >= 0.97 * constant


def test_cosine_constant_is_the_maximum_of_its_closed_form():
    d = np.linspace(1.17, 1.18, 200_001)
    assert abs((2 / np.pi * (np.sin(d) + 1 - np.cos(d)) / d).max() - mean_lipschitz("cosine")) < 1e-12


def test_one_bit_lloyd_max_is_a_scaled_square_wave():
    assert abs(mean_lipschitz("lloyd_max", bits=1) - 2 / np.pi * mean_lipschitz([1, -1])) < 1e-14


def test_lipschitz_constants_refuse_bad_arguments():
    with pytest.raises(ParameterError, match="order must not be 0"):
        mean_lipschitz("cosine", order=0)
    with pytest.raises(ParameterError, match="non-empty"):
        mean_lipschitz([])


def test_measure_bound_of_a_symmetric_kernel_counts_one_block():
    bound = measure_bound(Gaussian(2.0), n_features=4, diameter=1.0, error=0.1, failure=0.1)
    assert (bound.total_mass, bound.second_moment, bound.alpha) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("bad", [{"diameter": 0.0}, {"error": -1.0}, {"failure": 0.0}, {"n_features": 0}])
def test_measure_bound_refuses_bad_arguments(bad):
    with pytest.raises(ParameterError):
        measure_bound(Gaussian(), **{"n_features": 2, "diameter": 1.0, "error": 0.1, "failure": 0.1, **bad})


def test_measure_bound_holds_with_room_to_spare():
    """Proposition 6 is a worst case: the measured uniform error is far below the one it guarantees."""
    kernel, rng = ShiftGaussian(0.5), np.random.default_rng(0)
    error = 0.5
    M = int(np.ceil(measure_bound(kernel, 1, diameter=2.0, error=error, failure=0.05).count))
    D = np.linspace(-2, 2, 401)[:, None]
    total = np.zeros(len(D))
    for block in kernel.measures(1):
        total += block.mass * np.cos(D @ block.frequencies.sample(rng, 1, M) + 2 * np.pi * block.turn).mean(axis=1)
    assert np.max(np.abs(total - kernel.at(D))) < error
