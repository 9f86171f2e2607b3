"""Kernel values, their error bars, expectations and distances, from any pair of sides."""

import numpy as np
import pytest

from lowtide import RandomFeatures
from lowtide.errors import FingerprintMismatchError, ParameterError
from lowtide.kernels import Bessel, Gaussian, Laplace, Matern
from lowtide.quantizers import Phase

X = np.random.default_rng(1).standard_normal((12, 7))
Y = np.random.default_rng(2).standard_normal((9, 7))
SIDES = [("full", "full"), ("codes", "full"), ("full", "codes"), ("codes", "codes")]


def fitted(*args, **parameters):
    return RandomFeatures(*args, **{"gamma": 0.1, "n_components": 512, "random_state": 0, **parameters}).fit(X)


def side(encoder, name, rows):
    return encoder.transform(rows) if name == "full" else np.asarray(encoder.encode(rows))


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("parameters", [{}, {"bits": 3}, {"quantizer": "phase", "bits": 4}, {"n_components": 501}])
def test_kernel_estimate_is_the_product_of_the_two_sides(sides, parameters):
    encoder = fitted(**parameters)
    expected = side(encoder, sides[0], X).astype(np.float64) @ side(encoder, sides[1], Y).T
    K = encoder.kernel_estimate(X, Y, sides=sides)
    assert K.dtype == np.float32
    # A float32 sum of 512 terms of at most 2/512 each, in any order.
    np.testing.assert_allclose(K, expected, atol=512 * 2**-24 * 2)


@pytest.mark.parametrize("sides", SIDES)
def test_codes_stand_in_for_raw_rows(sides):
    encoder = fitted()
    expected = encoder.kernel_estimate(X, Y, sides=sides)
    left = encoder.encode(X) if sides[0] == "codes" else X
    right = encoder.encode(Y) if sides[1] == "codes" else Y
    np.testing.assert_array_equal(encoder.kernel_estimate(left, right, sides=sides), expected)
    # Codes are codes, whatever the name of their side.
    if sides[0] == "codes":
        np.testing.assert_array_equal(encoder.kernel_estimate(left, Y, sides=("full", sides[1])), expected)


@pytest.mark.parametrize("sides", SIDES)
def test_one_argument_means_both(sides):
    encoder = fitted()
    np.testing.assert_array_equal(encoder.kernel_estimate(X, sides=sides), encoder.kernel_estimate(X, X, sides=sides))
    np.testing.assert_array_equal(encoder.expected_kernel(X, sides=sides), encoder.expected_kernel(X, X, sides=sides))


@pytest.mark.parametrize("sides", SIDES[:3])
def test_expected_kernel_is_the_exact_kernel_when_a_side_is_full(sides):
    for encoder in (fitted(), fitted("matern"), fitted("laplacian", projection="iid", bits=4)):
        expected = encoder.expected_kernel(X, Y, sides=sides)
        assert expected.dtype == np.float64
        np.testing.assert_allclose(expected, encoder.kernel_.gram(X, Y), atol=2e-9)


def test_expected_kernel_of_one_bit_codes_is_the_triangle_wave_series():
    encoder = fitted()
    s = np.sqrt(((X[:, None] - Y[None]) ** 2).sum(axis=2)) * np.sqrt(0.2)
    k = np.arange(1, 4001, 2)[:, None, None]
    # kappa_qq = (8/pi^2) sum over odd k of kappa(k s)/k^2, here times the decoded scale pi^2/8.
    series = (np.exp(-((k * s) ** 2) / 2) / k**2).sum(axis=0)
    np.testing.assert_allclose(encoder.expected_kernel(X, Y, sides=("codes", "codes")), series, atol=1e-7)


@pytest.mark.parametrize(
    ("parameters", "value"), [({}, np.pi**2 / 8), ({"bits": None}, 1.0), ({"feature_map": "cosine"}, np.pi**2 / 8)]
)
def test_value_at_zero(parameters, value):
    encoder = fitted(**parameters)
    sides = ("full", "full") if encoder.bits is None else ("codes", "codes")
    np.testing.assert_allclose(np.diag(encoder.expected_kernel(X, sides=sides)), value, rtol=1e-6)


@pytest.mark.parametrize("sides", SIDES)
def test_normalize_divides_everything_by_the_value_at_zero(sides):
    encoder = fitted(bits=2)
    at_zero = encoder.expected_kernel(X[:1], X[:1], sides=sides)[0, 0]
    K, std = encoder.kernel_estimate(X, Y, sides=sides, return_std=True)
    Kn, stdn = encoder.kernel_estimate(X, Y, sides=sides, return_std=True, normalize=True)
    np.testing.assert_allclose(Kn * at_zero, K, rtol=1e-5)
    np.testing.assert_allclose(stdn * at_zero, std, rtol=1e-5)
    np.testing.assert_allclose(encoder.kernel_estimate(X, Y, sides=sides, normalize=True), Kn, rtol=1e-6)
    normalized = encoder.expected_kernel(X, X, sides=sides, normalize=True)
    np.testing.assert_allclose(np.diag(normalized), 1.0, rtol=1e-6)


def test_codes_against_themselves_are_one_after_normalizing():
    encoder = fitted()
    np.testing.assert_allclose(
        np.diag(encoder.kernel_estimate(X, sides=("codes", "codes"), normalize=True)), 1.0, rtol=1e-5
    )


@pytest.mark.parametrize(
    ("parameters", "sides", "variance"),
    [
        ({"feature_map": "cosine"}, ("full", "full"), lambda k, k2: 1 + k2 / 2 - k**2),
        ({"feature_map": "cosine"}, ("codes", "full"), lambda k, k2: np.pi**2 / 8 - k**2),
        ({}, ("full", "full"), lambda k, k2: (1 + k2) - 2 * k**2),
        ({}, ("codes", "full"), lambda k, k2: 2 * (np.pi**2 / 16 + np.pi / 8 * k2 - k**2)),
        ({"quantizer": Phase(2)}, ("full", "codes"), lambda k, k2: 2 * (np.pi**2 / 16 + np.pi / 8 * k2 - k**2)),
    ],
)
def test_std_of_independent_frequencies_is_the_table_of_variances(parameters, sides, variance):
    # Per component: a pair is one frequency for two of them.
    encoder = fitted(projection="iid", **parameters)
    kappa = Gaussian.from_gamma(0.1).gram(X, Y)
    _, std = encoder.kernel_estimate(X, Y, sides=sides, return_std=True)
    assert std.dtype == np.float32
    np.testing.assert_allclose(std**2, variance(kappa, kappa**4) / 512, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("projection", ["iid", "orthogonal", "hadamard"])
@pytest.mark.parametrize("sides", SIDES)
def test_error_bars_shrink_as_components_grow(projection, sides):
    small, large = (
        fitted(projection=projection, n_components=m).kernel_estimate(X, Y, sides=sides, return_std=True)[1]
        for m in (128 * 7, 128 * 28)
    )
    # Whole blocks of 64 and of 7: exactly four times the frequencies, half the standard error.
    np.testing.assert_allclose(small, 2 * large, rtol=1e-4)


def test_std_with_codes_is_taken_at_the_estimated_distance():
    encoder = fitted(n_components=8192)
    _, exact = encoder.kernel_estimate(X, Y, sides=("codes", "full"), return_std=True)
    _, estimated = encoder.kernel_estimate(encoder.encode(X), Y, sides=("codes", "full"), return_std=True)
    assert np.isfinite(estimated).all()
    # Var = pi^2/16 + (pi/8) kappa2 - kappa^2 moves by at most 2 dK near any kappa; dK is within 5 standard errors.
    slack = 2 * 5 * exact / (8192 / 2) / (2 * exact)
    assert np.all(np.abs(estimated - exact) < slack + 1e-6)


@pytest.mark.parametrize(
    ("kernel", "projection", "sides"),
    [
        *[(Gaussian(2.0), "hadamard", sides) for sides in SIDES],
        *[(Laplace(6.0), "iid", sides) for sides in SIDES],
        *[(Matern(2.0), "orthogonal", sides) for sides in SIDES[2:]],
        (Bessel(1.0), "haar", ("codes", "full")),
    ],
    ids=repr,
)
def test_distance_estimate_inverts_the_expected_kernel(kernel, projection, sides):
    encoder = fitted(kernel, projection=projection)
    # Exact expectations in place of estimates: distances must come back, in the kernel's norm.
    near = X[:1] + 0.3 * np.random.default_rng(5).standard_normal((6, 7))
    exact = np.linalg.norm(near - X[0], ord=kernel.norm, axis=1)
    distance = encoder.drawn_.pair(sides).distance
    K = encoder.expected_kernel(X[:1], near, sides=sides)
    np.testing.assert_allclose(distance(K, (X[:1], near))[0], exact, rtol=1e-5)


@pytest.mark.parametrize("sides", SIDES)
def test_distance_estimate_is_near_the_distance(sides):
    encoder = fitted("rbf", n_components=65536, bits=1)
    near = X[:1] + 0.5 * np.random.default_rng(5).standard_normal((6, 7))
    exact = np.linalg.norm(near - X[0], axis=1)
    distance, std = encoder.distance_estimate(X[:1], near, sides=sides, return_std=True)
    np.testing.assert_array_equal(distance, encoder.distance_estimate(X[:1], near, sides=sides))
    assert np.all(np.abs(distance[0] - exact) < 5 * std[0])
    assert np.all(std[0] < 0.05 * exact)


def test_errors_of_distances_are_infinite_where_they_may_be_any_and_missing_past_the_range():
    encoder = fitted(gamma=5.0)
    distance, std = encoder.distance_estimate(X[:1], X[:1] + np.linspace(0.0, 60, 40)[:, None], return_std=True)
    assert std[0, 0] < 0.01
    far = np.isnan(distance[0])
    # An estimate far above 0 by chance has an end within two errors: one in twenty of them.
    assert np.isinf(std[0, 5:]).mean() > 0.8
    assert np.all(np.isinf(std[0][far]))


def test_errors_of_distances_know_that_an_oscillating_kernel_comes_back():
    encoder = fitted(Bessel(1.0), projection="haar", n_components=4096)
    s = np.linspace(0.1, 9.0, 60)
    d, std = encoder.distance_estimate(X[:1], X[:1] + s[:, None] * np.eye(7)[0], return_std=True)
    within = np.isfinite(std[0])
    assert within[:10].all()
    assert not within[s > 6.0].any()
    assert np.all(np.abs(d[0][within] - s[within]) < 5 * std[0][within])


def test_distance_of_a_row_to_itself_is_zero_and_of_a_far_row_unknown():
    encoder = fitted(gamma=5.0)
    D = encoder.distance_estimate(X, sides=("full", "full"))
    # cos^2 + sin^2: the estimate at x = y is 1 up to rounding, whose root is the distance.
    assert np.all(np.diag(D) < 0.01)
    codes = encoder.encode(X)
    np.testing.assert_array_equal(np.diag(encoder.distance_estimate(codes)), 0.0)
    far = encoder.distance_estimate(X[:1], X[:1] + np.linspace(50, 60, 40)[:, None])
    # The estimate is 0 on average: about half lie at or below the infimum.
    assert 5 <= np.isnan(far).sum() <= 35
    assert np.all(far[~np.isnan(far)] > 0.5)


def test_codes_of_another_encoder_are_refused_naming_both():
    ours, theirs = fitted(), fitted(random_state=1)
    for call in (ours.kernel_estimate, ours.distance_estimate):
        with pytest.raises(FingerprintMismatchError) as caught:
            call(theirs.encode(X), Y)
        assert ours.fingerprint_.hex() in str(caught.value)
        assert theirs.fingerprint_.hex() in str(caught.value)


@pytest.mark.parametrize("sides", ["codes", ("codes",), ("full", "codes", "full"), ("full", "float"), None, (1, 2)])
def test_bad_sides_are_refused(sides):
    for call in (fitted().kernel_estimate, fitted().expected_kernel, fitted().distance_estimate):
        with pytest.raises(ParameterError, match="sides must be"):
            call(X, sides=sides)
