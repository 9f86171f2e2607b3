"""Masses of complex measures."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from lowtide.errors import ParameterError
from lowtide.kernels import (
    CoshGaussian,
    Masses,
    ShiftGaussian,
    SinhGaussian,
    fit_masses,
    gauss_trig_segment,
    mean_abs_cos,
    mean_abs_sin,
    shift_masses,
)

STRENGTHS = [1e-4, 0.05, 0.2, 0.29, 0.31, 0.49, 0.51, 1.0, 2.0, 5.0, 40.0]


def phi(u):
    return math.exp(-u * u / 2) / math.sqrt(2 * math.pi)


def integral(weight, s):
    """Return E weight(su), piece by piece between the quarters of a period."""
    edges = np.unique(np.concatenate([[0, 1, 2, 4, 10], np.arange(0, 10, max(math.pi / (2 * s), 0.02))]))
    edges = edges[edges <= 10]
    return 2 * sum(quad(lambda u: weight(s * u) * phi(u), a, b, epsabs=1e-14)[0] for a, b in pairwise(edges))


@pytest.mark.parametrize("s", STRENGTHS)
def test_mean_absolute_cosine_and_sine_are_their_integrals(s):
    assert mean_abs_cos(s) == pytest.approx(integral(lambda t: abs(math.cos(t)), s), rel=1e-9)
    assert mean_abs_sin(s) == pytest.approx(integral(lambda t: abs(math.sin(t)), s), rel=1e-9)


@pytest.mark.parametrize("s", [0.08, 0.15, 0.3, 0.45])
def test_small_negative_mass_keeps_its_relative_accuracy(s):
    c = math.pi / (2 * s)
    # With the Gaussian of the lobe's start taken out, the integrand is of order one.
    lobe = quad(lambda x: math.exp(-c * x - x * x / 2) * max(math.sin(s * x), 0), 0, min(60 / c, 2 * c), epsrel=1e-12)
    exact = 2 * phi(c) * lobe[0]
    assert shift_masses(s).negative == pytest.approx(exact, rel=1e-10, abs=0)


@pytest.mark.parametrize(("s", "a", "b"), [(0.7, -3.0, -1.0), (0.7, -1.0, math.inf), (2.0, -math.inf, 0.5), (0, 1, 1)])
def test_segment_is_its_integral(s, a, b):
    value = gauss_trig_segment(s, a, b)
    assert value.real == pytest.approx(quad(lambda u: math.cos(s * u) * phi(u), a, b)[0], abs=1e-10)
    assert value.imag == pytest.approx(quad(lambda u: math.sin(s * u) * phi(u), a, b)[0], abs=1e-10)


def test_segment_refuses_limits_in_the_wrong_order():
    with pytest.raises(ParameterError, match="a <= b"):
        gauss_trig_segment(1.0, 2.0, 1.0)


@pytest.mark.parametrize("n_features", [57, 22, 16])
def test_negligible_negative_block_is_dropped_and_the_value_at_zero_kept(n_features):
    """The settings of the paper, whose negative mass no plain rejection loop ever reaches."""
    kernel = ShiftGaussian(shift=2 / n_features, bandwidth=2.0)
    assert kernel.masses(n_features).negative < 1e-10
    positive, imaginary = kernel.measures(n_features)
    assert (positive.turn, imaginary.turn) == (0.0, 0.25)
    assert positive.mass == pytest.approx(float(kernel.at(np.zeros(n_features))), rel=1e-14)


def test_kernel_without_a_shift_is_one_gaussian_block():
    for kernel in (ShiftGaussian(0.0), SinhGaussian(0.0), CoshGaussian(0.0)):
        (block,) = kernel.measures(4)
        assert block.mass == 1.0
        assert block.frequencies.law == "gaussian_mixture"
        assert not kernel.phase_measure(4).is_skew


@pytest.mark.parametrize("family", [SinhGaussian, CoshGaussian])
def test_strength_whose_mass_leaves_float32_is_refused(family):
    with pytest.raises(ParameterError, match="at most 12"):
        family(beta=13.0).measures(1)


def test_cosh_is_a_scaled_shift():
    beta, sigma = np.array([0.4, -0.7]), 1.6
    cosh, shift = CoshGaussian(beta, sigma), ShiftGaussian(-(sigma**2) * beta, sigma)
    D = np.random.default_rng(0).standard_normal((20, 2))
    np.testing.assert_allclose(cosh.at(D), np.exp((sigma * np.linalg.norm(beta)) ** 2 / 2) * shift.at(D), rtol=1e-12)


def fitted(printed):
    """Return masses fitted on 4000 frequencies a block of a shift-Gaussian of strength 1, with either sign in (12)."""
    rng = np.random.default_rng(3)
    X, kernel = rng.standard_normal((50, 1)), ShiftGaussian(1.0)
    blocks = kernel.measures(1)
    waves = [np.exp(1j * X @ block.frequencies.sample(rng, 1, 4000)) for block in blocks]
    means = [wave @ wave.conj().T / 4000 for wave in waves]
    parts = (means[0].real, means[1].real, means[2].imag)
    return fit_masses(kernel.gram(X), *parts, value_at_zero=math.exp(-0.5), printed=printed)


def test_fitted_masses_are_the_exact_ones():
    exact, found = shift_masses(1.0), fitted(printed=False)
    # 4000 frequencies know a mean cosine to 0.01, and the masses are fitted to 2500 of them.
    assert found.positive == pytest.approx(exact.positive, abs=0.02)
    assert found.negative == pytest.approx(exact.negative, abs=0.02)
    assert found.imaginary == pytest.approx(exact.imaginary, abs=0.02)


def test_the_printed_sign_loses_the_skew_part():
    assert fitted(printed=True).imaginary == 0.0


def test_fit_keeps_a_negative_value_at_zero():
    P, N, S = (np.random.default_rng(i).standard_normal((6, 6)) for i in range(3))
    found = fit_masses(0.1 * P - 0.4 * N - 2 * 0.2 * S, P, N, S, value_at_zero=-0.3)
    np.testing.assert_allclose([found.positive, found.negative, found.imaginary], [0.1, 0.4, 0.2], atol=1e-12)


def test_fit_refuses_matrices_of_different_shapes():
    with pytest.raises(ParameterError, match="one shape"):
        fit_masses(np.eye(2), np.eye(3), np.eye(3), np.eye(3), 1.0)


def test_total_mass_counts_the_imaginary_part_twice():
    assert Masses(0.5, 0.1, 0.2).total == pytest.approx(1.0)
