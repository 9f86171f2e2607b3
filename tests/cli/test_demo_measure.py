import dataclasses

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from lowtide.cli.demo_measure import (
    WIDTHS,
    Plan,
    compare,
    fit_ridge,
    predict_class,
)
from lowtide.encoders import RandomFeatures

ODD_PLAN = Plan(n_components=100, seed=3, n_draws=1)
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
