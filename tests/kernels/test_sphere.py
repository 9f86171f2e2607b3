"""The normalized Bessel function, and kernels of the angle."""

import mpmath
import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.kernels import ArcCosine, Bessel, log_normalized_bessel, normalized_bessel


def exact(d, z):
    """Return 0F1(d/2; -z^2/4) to 40 digits."""
    with mpmath.workdps(60):
        return float(mpmath.hyp0f1(mpmath.mpf(d) / 2, -(mpmath.mpf(z) ** 2) / 4))


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 30, 200, 201, 300, 784, 1000, 5000])
def test_normalized_bessel_matches_forty_digits(d):
    z = both_sides_of_every_change_of_formula(d)
    expected = [exact(d, value) for value in z]
    np.testing.assert_allclose(normalized_bessel(d, z), expected, rtol=1e-12, atol=1e-15)


def both_sides_of_every_change_of_formula(d):
    """Return distances at z^2 = 2d and nu (1 - (z/nu)^2)^1.5 = 65, up to the first zero, just above nu."""
    nu = max(d / 2 - 1, 65.0)
    border = nu * np.sqrt(1 - (65 / nu) ** (2 / 3))
    steps = np.array([0.999, 1.001])
    z = np.concatenate([[0, 1e-9, 0.3, d / 4, d / 3], np.sqrt(2 * d) * np.array([0.5, 2]), np.sqrt(2 * d) * steps])
    return np.unique(np.concatenate([z, border * steps]))


@pytest.mark.parametrize("d", [2, 3, 60, 62, 200, 1000, 5000])
def test_logarithm_and_sign_are_those_of_forty_digits(d):
    z = np.append(both_sides_of_every_change_of_formula(d), [0.6 * d, 1.1 * d])
    sign, log = log_normalized_bessel(d, z)
    with mpmath.workdps(60):
        values = [mpmath.hyp0f1(mpmath.mpf(d) / 2, -(mpmath.mpf(x) ** 2) / 4, maxprec=20_000) for x in z]
        np.testing.assert_array_equal(sign, [float(mpmath.sign(value)) for value in values])
        np.testing.assert_allclose(log, [float(mpmath.log(abs(value))) for value in values], rtol=0, atol=1e-12)


def test_logarithm_keeps_its_shape_and_is_finite_at_the_ends():
    sign, log = log_normalized_bessel(500, [[0.0], [1e300]])
    assert sign.shape == log.shape == (2, 1)
    assert np.all(np.isfinite(log))


def test_normalized_bessel_is_even_and_keeps_its_shape():
    z = np.array([[0.0, 1.0, -2.0], [3.0, -40.0, 500.0]])
    np.testing.assert_array_equal(normalized_bessel(5, z), normalized_bessel(5, -z))
    assert normalized_bessel(5, z).shape == (2, 3)
    assert normalized_bessel(5, 1.0).shape == ()
    assert normalized_bessel(5, np.zeros(0)).shape == (0,)


@pytest.mark.parametrize("d", [2, 3, 50, 784])
def test_bessel_kernel_vanishes_far_out(d):
    # |j| falls as z^-(d-1)/2.
    value = Bessel().radial([1e9, 1e300, np.inf], d)
    assert np.all(np.abs(value) < 1e-4)


@pytest.mark.parametrize("d", [64, 784, 4096])
def test_bessel_kernel_of_scaled_length_approaches_the_gaussian(d):
    # j_d(sqrt(d) s) = exp(-s^2/2 - s^4/(4(d+2)) + O(d^-2)): the largest gap is 4 e^-2/(d+2), at s = 2.
    s = np.linspace(0, 4, 41)
    gap = np.abs(Bessel(scale=d**-0.5).radial(s, d) - np.exp(-(s**2) / 2)).max()
    assert gap == pytest.approx(4 * np.exp(-2) / (d + 2), rel=4 / d)


@pytest.mark.parametrize("d", [0, -3, 2.5, "3"])
def test_normalized_bessel_refuses_a_dimension_that_is_none(d):
    with pytest.raises(ParameterError, match="dimension must be an integer"):
        normalized_bessel(d, 1.0)


@pytest.mark.parametrize("order", [0, 1])
def test_arc_cosine_kernel_is_twice_the_mean_product_of_its_units(order):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((6, 4)), rng.standard_normal((200_000, 4))
    unit = (W @ X.T > 0) * (W @ X.T) ** order
    K = ArcCosine(order).gram(X[:3], X[3:])
    products = 2 * unit[:, :3, None] * unit[:, None, 3:]
    error = products.std(axis=0) / np.sqrt(len(W))
    assert np.all(np.abs(K - products.mean(axis=0)) < 5 * error)
    np.testing.assert_allclose(np.diag(ArcCosine(order).gram(X)), np.sum(X**2, axis=1) ** order, rtol=1e-7)


def test_arc_cosine_kernel_takes_rows_of_zeros_and_refuses_other_orders():
    assert np.array_equal(ArcCosine(1).gram(np.zeros((2, 3))), np.zeros((2, 2)))
    assert ArcCosine(0).gram(np.zeros((1, 3)), np.ones((1, 3)))[0, 0] == 0.0
    with pytest.raises(ParameterError, match="order"):
        ArcCosine(2)
