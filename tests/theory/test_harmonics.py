"""Sums over harmonics."""

import numpy as np
import pytest

from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, Stable
from lowtide.maps import Cosine, CosSin
from lowtide.quantizers import LloydMax, Phase, Uniform
from lowtide.theory import HarmonicSeries, kappa_qq_gaussian, kappa_qq_laplace, kernel_reach, universal_Qk

SQUARE_WAVE = universal_Qk(np.arange(2049)) ** 2
SMALL = np.array([0.0, 1e-7, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.1, 0.5, 1.0, 3.0])


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 5), (2, 0)])
def test_series_keeps_the_shape_of_distances(shape):
    values = HarmonicSeries(SQUARE_WAVE)(Gaussian(), np.full(shape, 0.7), 3)
    assert values.shape == shape
    assert np.all(np.abs(values - kappa_qq_gaussian(0.7)) < 1e-14)


def test_finite_series_is_the_sum_as_written():
    c = np.array([0.3, 0.2 - 0.5j, 0.0, -0.1 + 0.2j])
    s = np.linspace(0, 4, 50)
    kappa = Laplace(2.0).radial
    expected = 0.3 + 2 * 0.2 * kappa(s, 2) - 2 * 0.1 * kappa(3 * s, 2)
    np.testing.assert_allclose(HarmonicSeries(c)(Laplace(2.0), s, 2), expected, rtol=0, atol=1e-15)


def test_short_array_is_never_continued():
    assert HarmonicSeries(1 / np.arange(1.0, 1000.0) ** 2).amplitude == 0
    assert HarmonicSeries(np.r_[0.0, 1.0, np.zeros(2047)]).amplitude == 0


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_square_wave_matches_the_closed_form_of_the_gaussian(scale):
    found = HarmonicSeries(SQUARE_WAVE)(Gaussian(scale), scale * SMALL, 3)
    np.testing.assert_allclose(found, kappa_qq_gaussian(SMALL), rtol=0, atol=1e-12)


def test_square_wave_matches_the_dilogarithm_of_the_laplace_kernel():
    found = HarmonicSeries(SQUARE_WAVE)(Laplace(), SMALL, 3)
    np.testing.assert_allclose(found, kappa_qq_laplace(SMALL), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "d"), [(Bessel(), 2), (Bessel(), 3), (Matern(nu=0.3), 2), (Matern(), 2), (Stable(alpha=1.3), 2)]
)
@pytest.mark.parametrize("s", [1e-3, 3e-3, 0.03, 0.5])
def test_series_continued_past_its_cut_matches_a_very_long_sum(kernel, d, s):
    k = np.arange(1.0, 1 << 19, 2)
    long_sum = 8 / np.pi**2 * np.sum(kernel.radial(k * s, d) / k**2)
    # The long sum leaves out at most (4/pi^2)/k_last of the largest later kernel value.
    last = np.abs(kernel.radial(k[-1] * s * np.linspace(1, 1.1, 50), d)).max()
    tolerance = 1e-10 + last / k[-1]
    assert abs(float(HarmonicSeries(SQUARE_WAVE)(kernel, s, d)) - long_sum) < tolerance


@pytest.mark.parametrize("quantizer", [LloydMax, Uniform, Phase])
@pytest.mark.parametrize(("bits", "error"), [(1, 1e-12), (2, 1e-12), (4, 1e-12), (6, 1e-8), (7, 1e-7), (8, 1e-6)])
def test_series_at_zero_is_parsevals_sum(quantizer, bits, error):
    moments = quantizer(bits).draw(Cosine() if quantizer is not Phase else CosSin(), np.random.default_rng(0)).moments()
    power = np.sum(np.abs(moments.mean) ** 2, axis=0)
    parseval = np.einsum("iik->k", moments.product)[0].real
    assert abs(float(HarmonicSeries(power)(Gaussian(), 0.0, 2)) - parseval) < error


def test_reach_brackets_where_the_kernel_lives():
    for kernel in (Gaussian(3.0), Laplace(0.01), Matern(20.0, 2.5), Stable(2.0, 1.2)):
        half, reach = kernel_reach(kernel, 4)
        assert 0.45 <= float(kernel.radial(half, 4)) <= 0.5
        assert float(kernel.radial(reach, 4)) < 1e-17
    assert kernel_reach(Bessel(), 2)[1] == np.inf
