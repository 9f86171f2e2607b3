"""Numbered results of the papers on which functions rest without computing them: held to slow sums and integrals."""

from itertools import product

import numpy as np
import pytest
from scipy.special import jn_zeros

from lowtide import kernels
from lowtide.projections import SparseTernary
from lowtide.theory import mean_lipschitz, orf_ranges, true_ranges

WAVES = {
    "square": (lambda t: np.where(np.cos(t) >= 0, 1.0, -1.0), mean_lipschitz([1, -1])),
    "cosine": (np.cos, mean_lipschitz("cosine")),
    "triple": (lambda t: np.cos(3 * t), mean_lipschitz("cosine", order=3)),
    "steps": (lambda t: np.array([1.0, 0.5, -1.0, -0.5])[(t // (np.pi / 2)).astype(int) % 4], 3 / np.pi + 1 / np.pi),
}


@pytest.mark.parametrize(("f", "g"), list(product(WAVES, WAVES)))
def test_correlation_of_two_maps_is_no_steeper_than_either_is_on_average(f, g):
    t = (np.arange(4096) + 0.5) * 2 * np.pi / 4096
    transforms = [np.fft.fft(WAVES[name][0](t)) / len(t) for name in (f, g)]
    h = np.fft.ifft(transforms[0] * transforms[1].conj()).real * len(t)
    steepest = np.abs(np.diff(h)).max() / (2 * np.pi / len(t))
    assert steepest <= min(WAVES[f][1], WAVES[g][1]) * (1 + 1e-9)


SIGMA, SHIFT, BETA = 1.3, 0.7, 0.6
AMPLITUDE = np.exp((SIGMA * BETA) ** 2 / 2)
MEASURES = {
    "shift": (kernels.ShiftGaussian(SHIFT, SIGMA), lambda w: np.exp(1j * SHIFT * w)),
    "sinh": (kernels.SinhGaussian(BETA, SIGMA), lambda w: 1 - 1j * AMPLITUDE * np.sin(SIGMA**2 * BETA * w)),
    "cosh": (kernels.CoshGaussian(BETA, SIGMA), lambda w: AMPLITUDE * np.exp(-1j * SIGMA**2 * BETA * w)),
}


@pytest.mark.parametrize("name", MEASURES)
def test_transforms_of_asymmetric_kernels_are_even_and_odd_and_give_the_kernel_back(name):
    kernel, factor = MEASURES[name]
    grid = np.linspace(-15, 15, 3001)
    step = grid[1] - grid[0]
    values = kernel.gram(grid[:, None], np.zeros((1, 1)))[:, 0]
    w = np.linspace(-6, 6, 601)
    measure = np.exp(-1j * w[:, None] * grid) @ values * step / (2 * np.pi)
    printed = SIGMA / np.sqrt(2 * np.pi) * np.exp(-((SIGMA * w) ** 2) / 2) * factor(w)
    np.testing.assert_allclose(measure, printed, rtol=0, atol=1e-12)
    np.testing.assert_allclose(measure.real, measure.real[::-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(measure.imag, -measure.imag[::-1], rtol=0, atol=1e-12)
    some = np.array([-2.0, -0.4, 0.0, 0.3, 1.7])
    waves = some[:, None] * w
    back = (np.cos(waves) @ measure.real - np.sin(waves) @ measure.imag) * (w[1] - w[0])
    np.testing.assert_allclose(back, kernel.gram(some[:, None], np.zeros((1, 1)))[:, 0], rtol=0, atol=1e-11)
    masses = [np.maximum(part, 0).sum() * (w[1] - w[0]) for part in (measure.real, -measure.real, measure.imag)]
    # Corners of max(., 0) between grid points leave an error of the step's square.
    exact = kernel.masses(1)
    np.testing.assert_allclose(masses, [exact.positive, exact.negative, exact.imaginary], rtol=0, atol=1e-4)


@pytest.mark.parametrize("dimension", [4, 10, 16])
def test_bessel_kernel_is_the_product_over_its_zeros(dimension):
    zeros = jn_zeros(dimension // 2 - 1, 4000)
    # Zeros are pi apart far out: what is left of the sum is 1/(pi times the last zero), nearly.
    rest = 1 / (np.pi * (zeros[-1] + np.pi / 2))
    assert abs(np.sum(zeros**-2.0) + rest - 1 / (2 * dimension)) < 1e-9
    z = np.array([0.5, 2.0, 5.0, 9.0])
    expected = kernels.normalized_bessel(dimension, z)
    found = np.prod(1 - (z[:, None] / zeros) ** 2, axis=1) * np.exp(-rest * z**2)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("dimension", [2, 3, 5, 8, 34, 300])
def test_lower_bound_reaches_as_far_as_the_first_zero_says(dimension):
    ranges = orf_ranges(dimension)
    assert ranges.first_zero > 2**0.25 * dimension**0.75
    assert ranges.first_zero > np.sqrt(dimension**2 / 4 - 1)
    reach = ranges.first_zero * np.sqrt(1 - 4 / (2 * ranges.first_zero**2 - dimension))
    assert true_ranges(dimension)[0] >= reach


@pytest.mark.parametrize("sparsity", [0.0, 0.5, 0.9])
def test_fourth_moment_of_a_projection_is_the_corrected_one(sparsity):
    x = np.array([1.0, -0.5, 2.0, 0.25])
    high = (1 - sparsity) ** -0.5
    chances = {0.0: sparsity, high: (1 - sparsity) / 2, -high: (1 - sparsity) / 2}
    exact = sum(np.prod([chances[value] for value in w]) * np.dot(w, x) ** 4 for w in product(chances, repeat=len(x)))
    fourth = 1 / (1 - sparsity)
    assert abs(exact - ((fourth - 3) * np.sum(x**4) + 3 * np.sum(x**2) ** 2)) < 1e-10
    weights = SparseTernary(sparsity).draw(len(x), 200_000, seed=1).weights()
    powers = (x @ weights) ** 4
    assert abs(powers.mean() - exact) < 4 * powers.std() / np.sqrt(len(powers))
