"""Variances of both forms against simulation, for every kernel and dimension, and where each is zero."""

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.kernels import CoshGaussian, Gaussian, ShiftGaussian, SignedMeasureKernel, SinhGaussian
from lowtide.theory import block_variance, measure_blocks, measure_bound, measure_variance, rff_variance

N_DRAWS = 40_000


@pytest.mark.parametrize("form", ["blocks", "phase"])
@pytest.mark.parametrize("n_features", [1, 8, 57])
@pytest.mark.parametrize("family", [ShiftGaussian, SinhGaussian, CoshGaussian])
def test_simulated_variance_is_the_closed_form(family, n_features, form):
    rng = np.random.default_rng(n_features)
    kernel = family(0.8 / np.sqrt(n_features) * np.sign(rng.standard_normal(n_features)), 1.1)
    D = rng.standard_normal((4, n_features)) * np.array([[0.1], [0.5], [1.0], [3.0]]) / np.sqrt(n_features)
    total = np.zeros((N_DRAWS, 4))
    for block in measure_blocks(kernel, n_features, form):
        W = block.frequencies.sample(rng, n_features, N_DRAWS)
        total += block.mass * np.cos(W.T @ D.T + 2 * np.pi * block.phases(W)[:, None])
    centered = (total - total.mean(axis=0)) ** 2
    closed = measure_variance(kernel, D, form)
    # 72 comparisons of skewed statistics, at fixed seeds.
    assert np.all(np.abs(centered.mean(axis=0) - closed) < 5 * centered.std(axis=0) / np.sqrt(N_DRAWS))


def test_blocks_have_no_variance_at_equal_rows_and_the_phase_form_none_at_the_peak():
    kernel = ShiftGaussian([0.7, -0.2], 1.3)
    at_zero, at_peak = np.zeros(2), np.array([-0.7, 0.2])
    assert measure_variance(kernel, at_zero) == pytest.approx(0.0, abs=1e-12)
    assert measure_variance(kernel, at_peak, form="phase") == pytest.approx(0.0, abs=1e-12)
    assert measure_variance(kernel, at_zero, form="phase") > 0.02
    assert measure_variance(kernel, at_peak) > 0.02


def test_variances_far_away_are_half_the_squares_of_the_masses():
    kernel = SinhGaussian(0.7)
    masses, far = kernel.masses(1), np.array([60.0])
    expected = (masses.positive**2 + masses.negative**2 + 4 * masses.imaginary**2) / 2
    # The kinks of the imaginary measure leave a tail that falls as 1/difference^2.
    assert measure_variance(kernel, far) == pytest.approx(expected, rel=1e-3)
    assert measure_variance(kernel, far, form="phase") == pytest.approx(kernel.phase_measure(1).mass ** 2 / 2, rel=1e-9)


def test_symmetric_kernel_has_the_variance_of_random_fourier_features():
    D = np.array([[0.3, 0.1], [2.0, -1.0]])
    expected = rff_variance(1, np.linalg.norm(D, axis=1) / 1.4)
    np.testing.assert_allclose(measure_variance(Gaussian(1.4), D), expected, atol=1e-15)
    (block,) = Gaussian(1.4).measures(2)
    np.testing.assert_allclose(block_variance(block, D), expected, atol=1e-15)


def test_phase_form_of_a_kernel_without_one_is_refused():
    with pytest.raises(ParameterError, match="phase form"):
        measure_variance(SignedMeasureKernel(), [0.0], form="phase")
    with pytest.raises(ParameterError, match="'blocks', 'phase'"):
        measure_variance(Gaussian(), [0.0], form="both")


def test_bound_of_a_symmetric_kernel_counts_one_block():
    bound = measure_bound(Gaussian(2.0), n_features=4, diameter=1.0, error=0.1, failure=0.1)
    assert (bound.total_mass, bound.second_moment, bound.alpha) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("bad", [{"diameter": 0.0}, {"error": -1.0}, {"failure": 0.0}, {"n_features": 0}])
def test_bound_refuses_bad_arguments(bad):
    with pytest.raises(ParameterError):
        measure_bound(Gaussian(), **{"n_features": 2, "diameter": 1.0, "error": 0.1, "failure": 0.1, **bad})


def test_bound_holds_with_room_to_spare():
    """Proposition 6 is a worst case: the measured uniform error is far below the one it guarantees."""
    kernel, rng = ShiftGaussian(0.5), np.random.default_rng(0)
    error = 0.5
    M = int(np.ceil(measure_bound(kernel, 1, diameter=2.0, error=error, failure=0.05).count))
    D = np.linspace(-2, 2, 401)[:, None]
    total = np.zeros(len(D))
    for block in kernel.measures(1):
        total += block.mass * np.cos(D @ block.frequencies.sample(rng, 1, M) + 2 * np.pi * block.turn).mean(axis=1)
    assert np.max(np.abs(total - kernel.at(D))) < error
