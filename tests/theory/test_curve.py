"""Tabulated functions of distance and their inverse."""

from functools import cache

import numpy as np
import pytest

from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, Stable
from lowtide.maps import Cosine
from lowtide.quantizers import LloydMax
from lowtide.theory import Curve, PairMoments, kernel_reach

ONE_BIT = LloydMax(1).draw(Cosine(), np.random.default_rng(0)).moments()
PAIR = PairMoments(ONE_BIT, ONE_BIT)


def mean(kernel, d):
    return lambda s: 2 * PAIR.mean(kernel, s, d)


@cache
def curve(kernel, d=3):
    return Curve(mean(kernel, d), kernel_reach(kernel, d)[0])


def spread_distances(table, seed=0):
    """Return distances dense near zero, and some past the table's end."""
    return np.random.default_rng(seed).uniform(0, 1.2 * table.s_max**0.25, 500) ** 4


@pytest.mark.parametrize("bandwidth", [0.01, 1.0, 300.0])
def test_curve_of_the_gaussian_is_exact_to_1e_8(bandwidth):
    table = curve(Gaussian(bandwidth))
    s = spread_distances(table)
    assert np.abs(table(s) - mean(Gaussian(bandwidth), 3)(s)).max() < 1e-8
    assert table.error < 1e-9


@pytest.mark.parametrize(
    ("kernel", "d"),
    [(Laplace(), 3), (Matern(nu=0.5), 3), (Matern(), 3), (Matern(nu=0.25), 3), (Stable(alpha=1.2), 3), (Bessel(), 16)],
    ids=str,
)
def test_curve_of_every_kernel_is_exact_to_1e_7(kernel, d):
    table = curve(kernel, d)
    s = spread_distances(table)
    assert np.abs(table(s) - mean(kernel, d)(s)).max() < 1e-7


def test_curve_past_its_end_is_its_limit_or_the_function_itself():
    assert curve(Gaussian()).settled
    assert float(curve(Gaussian())(1e9)) == curve(Gaussian()).limit == 0.0
    wave = Curve(lambda s: np.cos(s), unit=1.0)
    assert not wave.settled
    far = wave.s_max * np.array([1.5, 7.0])
    np.testing.assert_array_equal(wave(far), np.cos(far))


def test_curve_reports_an_error_it_cannot_reach():
    step = Curve(lambda s: np.where(s < 1, 1.0, np.exp(-(s**2))), unit=1.0)
    assert step.error > 0.01


@pytest.mark.parametrize("shape", [(), (0,), (4,), (2, 3)])
def test_curve_and_inverse_keep_the_shape(shape):
    values = curve(Gaussian())(np.full(shape, 0.5))
    assert values.shape == curve(Gaussian()).inverse(values).shape == shape


@pytest.mark.parametrize(("kernel", "d"), [(Gaussian(2.0), 3), (Laplace(), 3), (Bessel(), 16)], ids=str)
def test_inverse_returns_the_distance_on_the_first_branch(kernel, d):
    table = curve(kernel, d)
    half = kernel_reach(kernel, d)[0]
    s = np.concatenate([np.geomspace(1e-6, 1, 60) * half, np.linspace(0.1, 1.8, 40) * half])
    # The spline's own root: the error is rounding of the value over the slope.
    tolerance = 1e-12 + 1e-14 / np.abs(table.slope(s))
    assert np.all(np.abs(table.inverse(table(s)) - s) < tolerance + 1e-9 * s)


def test_inverse_is_zero_at_or_above_the_top_and_nan_at_or_below_the_infimum():
    table = curve(Gaussian())
    top = float(table(0.0))
    np.testing.assert_array_equal(table.inverse([top, top + 1e-9, 5.0]), [0, 0, 0])
    assert np.isnan(table.inverse([0.0, -1e-12, -3.0])).all()
    assert np.isfinite(table.inverse([1e-6, top - 1e-9])).all()


def test_inverse_of_an_oscillating_kernel_ends_at_its_first_minimum():
    # j_3(z) = sin z / z has its first minimum at tan z = z: -0.2172336 at 4.4934095.
    table = Curve(lambda s: Bessel().radial(s, 3), unit=1.9)
    lowest = -0.21723362821122164
    assert np.isnan(table.inverse(lowest - 1e-8))
    assert abs(float(table.inverse(lowest + 1e-6)) - 4.493409457909064) < 0.01
    assert np.isnan(table.inverse(lowest - 0.1))


def test_inverse_of_a_constant_knows_no_distance():
    flat = Curve(lambda s: np.full_like(s, 0.3), unit=1.0)
    assert float(flat.inverse(0.3)) == 0.0
    assert np.isnan(flat.inverse(0.2))


def test_slope_is_the_derivative():
    table = curve(Gaussian())
    s = np.array([0.05, 0.5, 1.0, 2.0])
    h = 1e-4
    central = (table(s + h) - table(s - h)) / (2 * h)
    # Central differences of a smooth function err by h^2/6 times its third derivative, here below 3.
    np.testing.assert_allclose(table.slope(s), central, rtol=0, atol=h**2 + 1e-10 / h)
    assert float(table.slope(1e6)) == 0.0
