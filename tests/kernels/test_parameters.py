"""Kernels as specs: names, configurations, and what they refuse."""

import json
import math

import numpy as np
import pytest
from sklearn.base import clone

from lowtide.errors import LowtideError, ParameterError
from lowtide.kernels import (
    KERNELS,
    Bessel,
    CoshGaussian,
    Gaussian,
    Laplace,
    Matern,
    ShiftGaussian,
    SinhGaussian,
    Stable,
)

OBJECTS = [Gaussian(0.3), Laplace(2), Matern(1.5, nu=np.float32(0.75)), Stable(np.float64(0.1), alpha=1), Bessel(7.0)]


@pytest.mark.parametrize("kernel", OBJECTS, ids=repr)
def test_config_survives_json(kernel):
    config = json.loads(json.dumps(kernel.to_config()))
    back = KERNELS.from_config(config)
    assert type(back) is type(kernel)
    assert back == kernel
    assert hash(back) == hash(kernel)


@pytest.mark.parametrize("kernel", OBJECTS, ids=repr)
def test_repr_builds_the_same_kernel(kernel):
    names = {cls.__name__: cls for cls in (Gaussian, Laplace, Matern, Stable, Bessel)}
    assert eval(repr(kernel), {**names, "np": np}) == kernel


def test_whole_numbers_and_floats_are_one_kernel():
    assert Gaussian(2) == Gaussian(2.0)
    assert Gaussian(2).to_config() == Gaussian(np.int64(2)).to_config()


def test_kernels_of_different_parameters_or_classes_differ():
    assert Gaussian(1.0) != Gaussian(1.5)
    assert Gaussian(1.0) != Laplace(1.0)
    assert Matern(nu=1.5) != Matern(nu=2.5)
    assert Gaussian() != "rbf"


@pytest.mark.parametrize("kernel", OBJECTS, ids=repr)
def test_clone_gives_an_equal_and_separate_kernel(kernel):
    copy = clone(kernel)
    assert copy == kernel
    assert copy is not kernel


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("rbf", Gaussian(bandwidth=1 / math.sqrt(2 * 0.3))),
        ("laplacian", Laplace(bandwidth=1 / 0.3)),
        ("matern", Matern(length_scale=1 / math.sqrt(2 * 0.3), nu=1.5)),
    ],
)
def test_from_gamma_is_scikit_learns_gamma(name, kernel):
    assert KERNELS[name].from_gamma(0.3) == kernel


@pytest.mark.parametrize("name", ["stable", "bessel"])
def test_from_gamma_of_a_kernel_without_one_asks_for_an_object(name):
    with pytest.raises(ParameterError, match="Pass the kernel as an object"):
        KERNELS[name].from_gamma(1.0)


BAD = [0, -1.0, math.nan, math.inf, "1", None, True, 1j, [1.0]]


@pytest.mark.parametrize("value", BAD, ids=repr)
@pytest.mark.parametrize(
    ("cls", "name"),
    [(Gaussian, "bandwidth"), (Laplace, "bandwidth"), (Matern, "length_scale"), (Stable, "scale"), (Bessel, "scale")],
)
def test_a_scale_must_be_a_positive_number(cls, name, value):
    with pytest.raises(ParameterError, match=f"^{cls.__name__}: {name} must be a finite number above 0") as caught:
        cls(**{name: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("nu", [0, -1, math.inf, 81, "2"])
def test_matern_refuses_an_order_outside_its_limits(nu):
    with pytest.raises(ParameterError, match="^Matern: nu must be"):
        Matern(nu=nu)


@pytest.mark.parametrize("alpha", [0.99, 2.01, math.nan, None, True])
def test_stable_refuses_an_index_outside_one_to_two(alpha):
    with pytest.raises(ParameterError, match=r"^Stable: alpha must be a number from 1.0 to 2.0, got"):
        Stable(alpha=alpha)


def test_set_params_is_checked_and_all_or_nothing():
    kernel = Matern(2.0, nu=1.5)
    assert kernel.set_params(nu=2.5) is kernel
    with pytest.raises(ParameterError):
        kernel.set_params(length_scale=3.0, nu=-1)
    assert kernel == Matern(2.0, nu=2.5)


def test_set_params_names_the_parameters_there_are():
    with pytest.raises(ParameterError, match="parameter must be one of length_scale, nu, got 'gamma'"):
        Matern().set_params(gamma=1.0)


def test_an_unknown_kernel_name_lists_the_known_ones():
    with pytest.raises(LowtideError, match="kernel must be one of 'rbf', 'laplacian', .* got 'gauss'"):
        KERNELS["gauss"]


LENGTHS = [(Gaussian, "bandwidth"), (Laplace, "bandwidth"), (Matern, "length_scale"), (Stable, "scale")]
LENGTHS += [(Bessel, "scale"), (ShiftGaussian, "bandwidth"), (SinhGaussian, "bandwidth"), (CoshGaussian, "bandwidth")]


@pytest.mark.parametrize("value", [1e300, 1e31, 1e-31, 1e-300])
@pytest.mark.parametrize(("kernel", "name"), LENGTHS)
def test_lengths_whose_frequencies_leave_float32_are_refused(kernel, name, value):
    with pytest.raises(ParameterError, match=rf"^{kernel.__name__}: {name} must be a number from 1e-30 to 1e\+30, got"):
        kernel(**{name: value})


@pytest.mark.parametrize("value", [1e30, 1e-30, np.float32(1e20)])
@pytest.mark.parametrize(("kernel", "name"), LENGTHS[:4])
def test_lengths_at_the_limits_have_frequencies_in_float32(kernel, name, value):
    frequencies = kernel(**{name: value}).sample(np.random.default_rng(0), 3, 1000).astype(np.float32)
    assert np.isfinite(frequencies).all()


@pytest.mark.parametrize("gamma", [1e300, 1e-300, 0.0, -1.0, np.inf, np.nan, "scale"])
@pytest.mark.parametrize("kernel", [Gaussian, Laplace, Matern])
def test_gamma_that_stands_for_no_length_is_refused(kernel, gamma):
    with pytest.raises(ParameterError, match=f"^{kernel.__name__}: gamma must be a"):
        kernel.from_gamma(gamma)


@pytest.mark.parametrize("gamma", [5e59, 5e-61])
def test_gamma_at_the_limits_is_a_kernel(gamma):
    assert Gaussian.from_gamma(gamma).bandwidth == pytest.approx((2 * gamma) ** -0.5, rel=1e-15)
