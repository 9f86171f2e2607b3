import dataclasses

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from lowtide.cli.demo_measure import (
    WIDTHS,
    Plan,
    calibrate,
    compare,
    estimate_pairs,
    fit_ridge,
    kernel_error,
    predict_class,
)
from lowtide.encoders import RandomFeatures
from lowtide.kernels import Gaussian

ODD_PLAN = Plan(n_components=100, seed=3, n_draws=1)
N_ROWS = 120
N_PAIRS = N_ROWS * (N_ROWS - 1) // 2
ALPHA = 0.1


def test_comparison_has_every_width_at_the_planned_size(comparison):
    assert [o.bits for o in comparison.same_components] == list(WIDTHS)
    assert {o.n_components for o in comparison.same_components} == {256}
    assert [o.bytes_per_item for o in comparison.same_components] == [1024, 128, 64, 32]


def test_same_bytes_are_the_same_bytes(comparison):
    assert [o.n_components for o in comparison.same_bytes] == [8, 64, 128, 256]
    assert {o.bytes_per_item for o in comparison.same_bytes} == {32}


def test_rows_of_the_table_have_their_kernel_error(comparison):
    assert all(o.kernel_error is not None for o in comparison.same_components + comparison.same_bytes)
    assert comparison.exact.kernel_error is None


def test_one_bit_beats_float32_at_equal_bytes(comparison):
    gain, error = comparison.one_bit.gain_over(comparison.same_bytes[0])
    assert gain > 4 * error


def test_finer_codes_are_closer_to_the_kernel_at_equal_components(comparison):
    # The draws share their frequencies over widths, so the order is that of the rounding alone.
    measured = [o.kernel_error["measured"] for o in comparison.same_components if o.bits in (4, 2, 1)]
    assert measured == sorted(measured)


def test_curves_run_from_few_components_to_the_planned_number(comparison):
    for bits in WIDTHS:
        sizes = [o.n_components for o in comparison.curve(bits)]
        assert sizes == sorted(set(sizes))
        assert sizes[-1] == 256
        assert len(sizes) > 1


@pytest.fixture(scope="module")
def odd_run():
    """One draw at a size that fills no byte, with what was reported and how many threads each library had meanwhile."""
    steps, threads = [], {}

    def report(done, total, what):
        steps.append((done, total))
        threads.update({pool["user_api"]: pool["num_threads"] for pool in threadpool_info()})

    return compare(ODD_PLAN, report), steps, threads


def test_compare_reports_every_step(odd_run):
    result, steps, _ = odd_run
    assert steps == [(done, len(result.outcomes) + 1) for done in range(len(result.outcomes) + 1)]


def test_compare_times_every_library_on_one_thread(odd_run):
    _, _, threads = odd_run
    assert {"lowtide", "blas"} <= set(threads)
    assert set(threads.values()) == {1}


def test_same_bytes_hold_at_a_size_that_fills_no_byte(odd_run):
    assert [o.bytes_per_item for o in odd_run[0].same_bytes] == [16, 16, 16, 16]


def test_compare_repeats_itself(odd_run):
    for one, other in zip(odd_run[0].outcomes, compare(ODD_PLAN).outcomes, strict=True):
        assert np.array_equal(one.correct, other.correct)
        assert one.kernel_error == other.kernel_error


def test_gain_has_the_standard_error_of_paired_rows(comparison):
    right, wrong = np.ones(100), np.zeros(100)
    half = np.repeat([1.0, 0.0], 50)
    outcome = comparison.exact
    ours, theirs = (dataclasses.replace(outcome, correct=correct) for correct in (right, half))
    assert ours.gain_over(theirs) == pytest.approx((0.5, np.std(right - half, ddof=1) / 10))
    assert ours.gain_over(dataclasses.replace(outcome, correct=wrong)) == (1.0, 0.0)


class NormalErrors:
    """Stands in for an encoder: each estimate is the exact value and an independent normal error of known size."""

    bits = None
    kernel_ = Gaussian(bandwidth=2.0)

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def kernel_estimate(self, X, Y, return_std):
        exact = self.kernel_.gram(X, Y)
        std = 0.01 + 0.02 * self._rng.random(exact.shape)
        return exact + std * self._rng.standard_normal(exact.shape), std


def collect(n_draws):
    rows = np.random.default_rng(0).standard_normal((N_ROWS, 3))
    return [estimate_pairs(NormalErrors(seed), rows) for seed in range(n_draws)]


def test_summary_agrees_with_errors_of_known_size():
    summary = kernel_error(collect(n_draws=2))
    ratio = (summary["measured"] / summary["predicted"]) ** 2
    # A mean of N squared normals, weighted by std^2: relative variance 2 E std^4 / (N (E std^2)^2).
    std = 0.01 + 0.02 * np.linspace(0, 1, 10001)
    spread = np.sqrt(2 * np.mean(std**4) / (2 * N_PAIRS)) / np.mean(std**2)
    assert abs(ratio - 1) < 4 * spread
    expected = 0.9545
    assert abs(summary["coverage"] - expected) < 4 * np.sqrt(expected * (1 - expected) / (2 * N_PAIRS))


def test_calibration_density_counts_every_pair():
    calibration = calibrate(collect(n_draws=2), seed=0)
    inside = np.sum(calibration.density * np.diff(calibration.edges))
    outside = 6.3e-5  # probability beyond 4 standard errors
    assert 1 - inside < outside + 4 * np.sqrt(outside / (2 * N_PAIRS))


def test_calibration_shows_pairs_over_the_whole_range_of_the_kernel():
    calibration = calibrate(collect(n_draws=1), seed=0)
    exact = Gaussian(bandwidth=2.0).gram(np.random.default_rng(0).standard_normal((N_ROWS, 3)))
    values = exact[np.triu_indices(N_ROWS, 1)]
    bin_width = np.ptp(values) / 24
    assert calibration.exact.min() <= values.min() + bin_width
    assert calibration.exact.max() >= values.max() - bin_width
    assert len(calibration.exact) == len(calibration.estimate) == len(calibration.std)


def test_codes_are_judged_without_the_exact_distances():
    rows = np.random.default_rng(0).standard_normal((10, 5))
    encoder = RandomFeatures(gamma=0.2, n_components=64, random_state=0).fit(rows)
    found = kernel_error([estimate_pairs(encoder, rows)])
    _, from_codes = encoder.kernel_estimate(encoder.encode(rows), rows, return_std=True)
    pairs = np.triu_indices(10, 1)
    assert found["predicted"] == np.sqrt(np.mean(from_codes[pairs].astype(np.float64) ** 2))


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((80, 6)), rng.integers(0, 3, 80)
    encoder = RandomFeatures(gamma=0.1, n_components=64, random_state=0).fit(X)
    return encoder, X, labels


@pytest.mark.parametrize("side", ["transform", "encode"])
def test_weights_solve_the_normal_equations(problem, side):
    encoder, X, labels = problem
    features = getattr(encoder, side)(X)
    weights = fit_ridge(features, labels, ALPHA)
    dense = np.asarray(features, dtype=np.float64)
    targets = 2.0 * (labels[:, None] == np.arange(3)) - 1.0
    residual = dense.T @ (dense @ weights - targets) + ALPHA * weights
    # The Gram matrix comes in float32: each of its entries is off by at most n ulps of the largest row sum.
    rounding = np.finfo(np.float32).eps * len(X) * np.abs(dense.T @ dense).sum(axis=1).max() * np.abs(weights).max()
    assert np.abs(residual).max() <= rounding


def test_codes_and_their_decoded_values_predict_the_same_classes(problem):
    encoder, X, labels = problem
    codes = encoder.encode(X)
    decoded = np.asarray(codes)
    weights = fit_ridge(codes, labels, ALPHA)
    assert np.array_equal(predict_class(codes, weights), np.argmax(decoded @ weights, axis=1))
