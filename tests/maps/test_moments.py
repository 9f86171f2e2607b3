"""Feature maps: what the full side looks like to the theory."""

import numpy as np
import pytest
from reference.quantizer_fourier import coefficients

from lowtide.errors import ParameterError
from lowtide.maps import FEATURE_MAPS, N_HARMONICS, Cosine, CosSin, FeatureMap

MAPS = [Cosine(), CosSin()]


def component(feature_map, k):
    return lambda t: np.cos(t + 2 * np.pi * feature_map.shifts[k])


def padded(given, n_harmonics):
    out = np.zeros(n_harmonics + 1, dtype=complex)
    out[: len(given)] = given[: n_harmonics + 1]
    return out


@pytest.mark.parametrize("feature_map", MAPS, ids=repr)
def test_mean_coefficients_match_quadrature(feature_map):
    moments = feature_map.moments()
    assert moments.mean.dtype == np.complex128
    for i in range(feature_map.width):
        expected = coefficients(component(feature_map, i), 6, n_samples=64)
        np.testing.assert_allclose(padded(moments.mean[i], 6), expected, atol=1e-15)


@pytest.mark.parametrize("feature_map", MAPS, ids=repr)
def test_product_coefficients_match_quadrature(feature_map):
    moments = feature_map.moments(N_HARMONICS)
    for i in range(feature_map.width):
        for j in range(feature_map.width):
            f, g = component(feature_map, i), component(feature_map, j)
            expected = coefficients(lambda t, f=f, g=g: f(t) * g(t), 6, n_samples=64)
            np.testing.assert_allclose(padded(moments.product[i, j], 6), expected, atol=1e-15)


def test_cos_sin_components_are_the_cosine_and_the_sine():
    t = np.linspace(-7, 7, 101)
    np.testing.assert_allclose(component(CosSin(), 0)(t), np.cos(t), atol=1e-14)
    np.testing.assert_allclose(component(CosSin(), 1)(t), np.sin(t), atol=1e-14)


def test_first_keeps_the_moments_of_the_cosine_alone():
    first = CosSin().moments().first(1)
    np.testing.assert_array_equal(first.mean, Cosine().moments().mean)
    np.testing.assert_array_equal(first.product, Cosine().moments().product)
    assert first.width == 1


@pytest.mark.parametrize(("n_components", "single", "pair"), [(1, 1, 1), (2, 2, 1), (5, 5, 3), (1024, 1024, 512)])
def test_n_frequencies_rounds_up(n_components, single, pair):
    assert Cosine().n_frequencies(n_components) == single
    assert CosSin().n_frequencies(n_components) == pair


def test_maps_by_name():
    assert FEATURE_MAPS.resolve("cosine") == Cosine()
    assert FEATURE_MAPS.resolve("cos_sin") == CosSin()
    with pytest.raises(ParameterError, match="feature_map must be one of 'cos_sin', 'cosine' or a FeatureMap object"):
        FEATURE_MAPS.resolve("sin")


@pytest.mark.parametrize("feature_map", MAPS, ids=repr)
def test_config_round_trip(feature_map):
    assert FEATURE_MAPS.from_config(feature_map.to_config()) == feature_map
    assert isinstance(feature_map, FeatureMap)
