"""Gaussian moments of activations: closed forms, quadrature, names."""

import math

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.testing import check_spec
from lowtide.theory import (
    TARGETS,
    Bump,
    CallableActivation,
    Cosine,
    Exponential,
    FourierPair,
    GaussianMoments,
    GivenMoments,
    LeakyReLU,
    Quadratic,
    Sine,
    gaussian_moments,
    resolve_target,
)

ROWS = [
    *(TARGETS[name]() for name in TARGETS if name != "rbf"),
    LeakyReLU(1.5, 0.3),
    LeakyReLU(-0.2, 2.0),
    Quadratic(0.7, -0.4, 0.2),
    Quadratic(0.0, 3.0, 1.0),
]


def assert_equal_share(found, exact, tau, rtol=1e-11):
    """Compare in units of the variance, of which tau d1 and 2 tau^2 d2 are parts."""
    unit = exact.variance(tau)
    parts = [(m.d0 / unit, tau * m.d1 / unit, 2 * tau**2 * m.d2 / unit) for m in (found, exact)]
    np.testing.assert_allclose(*parts, rtol=0, atol=rtol)


@pytest.mark.parametrize("tau", [0.05, 0.5, 1.3, 6.0])
@pytest.mark.parametrize("activation", ROWS, ids=repr)
def test_every_row_of_the_table_agrees_with_quadrature(activation, tau):
    assert_equal_share(gaussian_moments(lambda t: activation(t), tau), activation.moments(tau), tau)


@pytest.mark.parametrize("tau", [0.5, 1.3])
def test_fourier_pair_is_the_sum_of_cosine_and_sine(tau):
    pair, cosine, sine = (cls().moments(tau) for cls in (FourierPair, Cosine, Sine))
    for name in ("d0", "d1", "d2"):
        assert getattr(pair, name) == pytest.approx(getattr(cosine, name) + getattr(sine, name), rel=1e-14)
    np.testing.assert_array_equal(FourierPair()([0.3, 1.0]), [[np.cos(0.3), np.sin(0.3)], [np.cos(1.0), np.sin(1.0)]])


@pytest.mark.parametrize(
    ("activation", "power", "factor"),
    [(FourierPair(), 2, 2), (Cosine(), 2, 2), (Sine(), 3, 6), (Bump(), 2, 2), (Exponential(), 2, 2)],
    ids=repr,
)
def test_diagonal_of_smooth_activations_keeps_its_digits_at_small_tau(activation, power, factor):
    assert activation.moments(1e-7).d0 == pytest.approx(1e-7**power / factor, rel=1e-6)
    below, above = activation.moments(0.3 - 1e-9).d0, activation.moments(0.3 + 1e-9).d0
    assert below == pytest.approx(above, rel=1e-7)


@pytest.mark.parametrize("activation", ROWS, ids=repr)
def test_moments_are_those_of_a_sample(activation):
    tau, n = 0.8, 400_000
    z = np.random.default_rng(1).standard_normal(n)
    moments = activation.moments(tau)
    values = activation(math.sqrt(tau) * z)
    values = values - values.mean()
    for terms, exact in (
        (values**2, moments.variance(tau)),
        (z * values, math.sqrt(tau * moments.d1)),
        ((z * z - 1) * values, 2 * tau * math.sqrt(moments.d2)),
    ):
        mean, error = terms.mean(), terms.std() / math.sqrt(n)
        assert min(abs(mean - exact), abs(mean + exact)) < 4.5 * error


def test_quadrature_finds_jumps_anywhere():
    tau = 1.3
    found = gaussian_moments(lambda t: np.where(t > 0.737, 1.0, np.where(t < -1.19, -1.0, 0.0)), tau)
    a, b = 0.737 / math.sqrt(tau), -1.19 / math.sqrt(tau)
    p, q = math.exp(-a * a / 2), math.exp(-b * b / 2)
    assert found.d1 == pytest.approx((p + q) ** 2 / (2 * math.pi * tau), rel=1e-9)
    assert found.d2 == pytest.approx((a * p + b * q) ** 2 / (8 * math.pi * tau**2), rel=1e-8)


def test_quadrature_does_not_depend_on_offset_and_scale():
    plain = gaussian_moments(np.tanh, 1.0)
    moved = gaussian_moments(lambda t: 1e-9 * np.tanh(t) + 1e-4, 1.0)
    assert moved.d1 == pytest.approx(1e-18 * plain.d1, rel=1e-6)
    assert plain.d2 == 0.0


def test_function_without_finite_moments_is_refused():
    with pytest.raises(ParameterError, match="finite Gaussian moments at tau = 1"):
        gaussian_moments(lambda t: np.exp(t * t), 1.0)


@pytest.mark.parametrize("function", [lambda t: 1.0, lambda t: np.stack([t, t]), lambda t: t * np.nan])
def test_function_that_is_not_elementwise_is_refused(function):
    with pytest.raises(ParameterError, match="one finite number for each number"):
        gaussian_moments(function, 1.0)


@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan, math.inf, "1"])
def test_tau_that_is_not_a_positive_number_is_refused(tau):
    with pytest.raises(ParameterError, match="tau must be a finite number above 0"):
        gaussian_moments("relu", tau)


@pytest.mark.parametrize("name", list(TARGETS))
def test_target_survives_its_configuration(name):
    target = resolve_target(name)
    assert TARGETS.from_config(target.to_config()) == target
    assert resolve_target(target) is target


@pytest.mark.parametrize(
    "activation", [*ROWS, FourierPair(), GivenMoments(0.1, 0.2), CallableActivation(np.tanh)], ids=repr
)
def test_activation_is_a_spec(activation):
    check_spec(activation)


def test_given_moments_stay_as_they_are():
    target = resolve_target((0.25, 0.04))
    assert target == GivenMoments(0.25, 0.04)
    assert TARGETS.from_config(target.to_config()) == target
    assert resolve_target((0.25, 0.04, 0.1)).moments(3.0) == GaussianMoments(0.1, 0.25, 0.04)
    with pytest.raises(ParameterError, match="an activation, a name or a callable"):
        target([1.0])


@pytest.mark.parametrize("target", ["gelu", 3, (1.0,), (1.0, 2.0, 3.0, 4.0), None])
def test_unknown_target_is_refused_with_the_known_ones(target):
    with pytest.raises(ParameterError, match="'relu'"):
        resolve_target(target)


@pytest.mark.parametrize("values", [(-1.0, 0.1), (0.0, 0.0), (math.nan, 1.0), (1.0, 1.0, -0.1)])
def test_impossible_moments_are_refused(values):
    with pytest.raises(ParameterError, match="GivenMoments"):
        GivenMoments(*values)


@pytest.mark.parametrize("build", [lambda: LeakyReLU(0, 0), lambda: Quadratic(0, 0, 1), lambda: Quadratic(math.inf)])
def test_constant_activation_is_refused(build):
    with pytest.raises(ParameterError):
        build()


def test_callable_target_compares_by_its_function_and_has_no_configuration():
    assert resolve_target(np.tanh) == CallableActivation(np.tanh)
    assert hash(resolve_target(np.tanh)) == hash(CallableActivation(np.tanh))
    assert resolve_target(np.tanh) != CallableActivation(np.sin)
    np.testing.assert_array_equal(resolve_target(np.tanh)([0.5]), np.tanh([0.5]))
    with pytest.raises(ParameterError, match="saved must be a name"):
        resolve_target(np.tanh).to_config()
    with pytest.raises(ParameterError, match="must be callable"):
        CallableActivation(3)


def test_exponential_beyond_float64_is_refused():
    with pytest.raises(ParameterError, match="at most 350"):
        gaussian_moments("exp", 400.0)


def mean_product(sigma, a, b, rho):
    """Return E[sigma(u) sigma(v)] in polar coordinates, cut at the angles where u or v is 0 and a kink may be."""
    angle = math.asin(rho)
    cuts = np.sort(np.array([-math.pi / 2, math.pi / 2, -angle, math.pi - angle]) % (2 * math.pi))
    nodes, weights = np.polynomial.legendre.leggauss(60)
    radius = 6 * (nodes + 1)
    along = 6 * weights * radius * np.exp(-(radius**2) / 2) / (2 * math.pi)
    total = np.zeros(())
    for low, high in zip(cuts, [*cuts[1:], cuts[0] + 2 * math.pi]):
        theta = (low + high) / 2 + (high - low) / 2 * nodes
        u = a * np.cos(theta)[:, None] * radius
        v = b * np.sin(theta + angle)[:, None] * radius
        values = sigma(u) * sigma(v)
        values = values.sum(axis=-1) if values.ndim == 3 else values
        total = total + (high - low) / 2 * weights @ values @ along
    return float(total)


@pytest.mark.parametrize("activation", [*ROWS, FourierPair()], ids=repr)
@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.4, 0.99])
def test_kernel_of_an_activation_is_the_mean_of_its_products(activation, rho):
    a, b = 0.8, 1.3
    found = activation.kernel(np.array([[a * a]]), np.array([b * b]), np.array([[rho * a * b]]))
    assert found[0, 0] == pytest.approx(mean_product(activation, a, b, rho), rel=1e-8, abs=1e-9)


def test_kernel_of_rows_of_zeros_is_that_of_the_value_at_zero():
    zero, one = np.zeros((1, 1)), np.ones((1, 1))
    for activation in ROWS:
        expected = activation(np.zeros(1))[0] ** 2
        assert activation.kernel(zero, zero[0], zero)[0, 0] == pytest.approx(expected, abs=1e-15), activation
    for name in ("relu", "step", "sign", "abs"):
        assert resolve_target(name).kernel(zero, one[0], zero)[0, 0] == 0.0


def test_kernels_without_a_closed_form_are_refused():
    with pytest.raises(ParameterError, match="closed form"):
        CallableActivation(np.tanh).kernel(np.ones((1, 1)), np.ones(1), np.ones((1, 1)))
