"""Every registered part, and every combination that is allowed, passes the suite of its stage."""

import numpy as np
import pytest

from lowtide import (
    ActivationFeatures,
    AsymmetricFeatures,
    LearnedFeatures,
    PeriodicMap,
    RandomFeatures,
    Sketch,
    TernaryFeatures,
)
from lowtide.kernels import KERNELS, Bessel, Gaussian, Kernel, Laplace, Matern, ShiftGaussian, Stable
from lowtide.maps import FEATURE_MAPS
from lowtide.projections import PROJECTIONS
from lowtide.quantizers import QUANTIZERS, GivenSteps, Phase
from lowtide.testing import check_encoder, check_feature_map, check_kernel, check_projection, check_quantizer

X = np.random.default_rng(0).standard_normal((8, 5))


def ramp(t):
    return np.mod(t, 2 * np.pi) - np.pi


def stairs(t):
    return np.round(3 * np.cos(t - 1.0))


@pytest.mark.parametrize("name", list(KERNELS.of(Kernel)))
def test_default_kernel_passes(name):
    check_kernel(KERNELS[name]())


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.01),
        Laplace(50.0),
        Matern(nu=0.15),
        Matern(0.3, nu=2.5),
        Matern(nu=40.0),
        Stable(alpha=1.0),
        Stable(3.0, alpha=1.1),
        Stable(alpha=2.0),
        Bessel(20.0),
    ],
    ids=repr,
)
def test_kernel_passes_far_from_its_defaults(kernel):
    check_kernel(kernel)


CARRIED = [
    (name, kernel)
    for name in PROJECTIONS
    for kernel in (Gaussian(2.0), Matern(nu=0.7), Laplace(), Stable(alpha=1.6), Bessel(0.5))
    if kernel.law in PROJECTIONS[name].laws
]


@pytest.mark.parametrize(("name", "kernel"), CARRIED, ids=repr)
def test_projection_passes_with_every_kernel_it_carries(name, kernel):
    check_projection(PROJECTIONS[name](), kernel)


@pytest.mark.parametrize("name", list(FEATURE_MAPS))
def test_feature_map_passes(name):
    check_feature_map(FEATURE_MAPS[name]())


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("map_name", list(FEATURE_MAPS))
@pytest.mark.parametrize("name", list(QUANTIZERS))
def test_quantizer_passes_with_every_map_it_stands_against(name, map_name, bits):
    quantizer, feature_map = QUANTIZERS[name](bits=bits), FEATURE_MAPS[map_name]()
    if isinstance(quantizer, Phase) and feature_map.width == 1:
        return  # refused: tests/quantizers/test_phase.py
    check_quantizer(quantizer, feature_map)


@pytest.mark.parametrize("f", [ramp, stairs, [0.0, 0.3 + 0.1j, 0.05]], ids=["ramp", "stairs", "series"])
def test_periodic_map_passes(f):
    check_quantizer(PeriodicMap(f), FEATURE_MAPS["cosine"]())


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"bits": 4, "n_components": 999},
        {"quantizer": "phase", "bits": 3},
        {"quantizer": "stochastic", "bits": 2, "feature_map": "cosine"},
        {"quantizer": "stochastic", "bits": 7},
        {"kernel": "laplacian", "projection": "iid", "quantizer": "uniform", "bits": 3},
        {"kernel": "matern", "projection": "orthogonal"},
        {"quantizer": PeriodicMap(stairs), "feature_map": "cosine"},
        {"quantizer": PeriodicMap(ramp), "feature_map": "cosine"},
    ],
    ids=lambda p: "-".join(map(str, p)) or "default",
)
def test_random_features_pass(parameters):
    check_encoder(RandomFeatures(**{"gamma": 0.2, "n_components": 1024, "random_state": 0, **parameters}), X)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"bits": 1},
        {"bits": 7, "n_components": 99},
        {"gamma": 0.5},
        {"projection": "iid", "store_norms": True},
        {"quantizer": "uniform"},
        {"quantizer": GivenSteps([-0.5, 0.6], [-1.0, 0.1, 1.2])},
    ],
    ids=lambda p: "-".join(map(str, p)) or "default",
)
def test_sketch_passes(parameters):
    check_encoder(Sketch(**{"n_components": 512, "random_state": 0, **parameters}), X)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"target": "relu", "n_components": 999},
        {"target": "abs"},
        {"target": (0.3, 0.1)},
        {"sparsity": 0.9},
        {"gamma": 5.0},
    ],
    ids=lambda p: "-".join(map(str, p)) or "default",
)
def test_ternary_features_pass(parameters):
    # As many columns as it takes for sums to be close to normal.
    rows = np.random.default_rng(0).standard_normal((8, 400)) / 20
    check_encoder(TernaryFeatures(**{"n_components": 1024, "sparsity": 0.5, "random_state": 0, **parameters}), rows)


@pytest.mark.parametrize("parameters", [{}, {"activation": "abs", "projection": "iid", "bits": 1}, {"bits": 8}])
def test_activation_features_pass(parameters):
    check_encoder(ActivationFeatures(**{"n_components": 512, "random_state": 0, **parameters}), X)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"form": "phase"},
        {"kernel": "sinh", "allocation": "optimal", "bits": 3},
        {"kernel": "sinh", "form": "phase", "quantizer": "phase", "bits": 2},
        {"kernel": "cosh", "n_components": 1001},
        {"kernel": "signed", "quantizer": "stochastic", "bits": 2},
        {"kernel": Laplace(3.0), "bits": 5},
        {"kernel": ShiftGaussian(0.2, 2.0), "projection": "orthogonal", "form": "auto"},
    ],
    ids=lambda p: "-".join(map(str, p)) or "default",
)
def test_asymmetric_features_pass(parameters):
    check_encoder(AsymmetricFeatures(**{"n_components": 1024, "random_state": 0, **parameters}), X)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_bytes": 8, "bits": 3},
        {"kernel": "laplacian"},
        {"kernel": Matern(2.0, nu=0.7), "n_components": 1001},
        {"measure": "kernel"},
        {"measure": "kernel", "kernel": "laplacian", "n_bytes": 8, "landmarks": 5},
    ],
    ids=lambda p: "-".join(map(str, p)) or "default",
)
def test_learned_features_pass(parameters):
    check_encoder(LearnedFeatures(**{"n_components": 1024, "random_state": 0, **parameters}), X)
