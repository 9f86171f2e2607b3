"""Any two sides on the same frequencies and dither meet, with the mean and the error that their moments give."""

import numpy as np
import pytest

import lowtide as lt
from lowtide.errors import BranchWarning, FingerprintMismatchError, ParameterError
from lowtide.kernels import Bessel, Gaussian, ShiftGaussian
from lowtide.quantizers import LloydMax, Modulo, PeriodicMap, Phase, Stochastic, Uniform, base

X = np.random.default_rng(3).standard_normal((7, 6))
Y = X[:5] + 0.3 * np.random.default_rng(4).standard_normal((5, 6))


def fitted(kernel=None, n_components=130, **parameters):
    return lt.RandomFeatures(kernel or Gaussian(2.0), n_components=n_components, random_state=1, **parameters).fit(X)


def square(t):
    return np.sign(np.cos(t))


def triangle(t):
    return np.abs((t / np.pi) % 2 - 1) * 2 - 1


def as_it_is(f):
    return PeriodicMap(f, aligned=False)


def slow_mean(f, g, kernel, X, Y):
    """Return 2 sum_k F_k conj(G_k) kappa(k |x-y|) over the harmonics of two sampled functions."""
    t = 2 * np.pi * (np.arange(4096) + 0.5) / 4096
    k = np.arange(-300, 301)
    F, G = (np.exp(-1j * np.outer(k, t)) @ h(t) / len(t) for h in (f, g))
    distance = np.linalg.norm(X[:, None] - Y[None], axis=2)
    return 2 * sum((F[i] * np.conj(G[i])).real * kernel.radial(abs(order) * distance, 6) for i, order in enumerate(k))


QUANTIZERS = [LloydMax(1), LloydMax(4), Uniform(3), Stochastic(2), Modulo(3), PeriodicMap(triangle)]


@pytest.mark.parametrize("quantizer", QUANTIZERS, ids=lambda value: type(value).__name__)
def test_a_side_has_the_frequencies_of_its_encoder_and_codes_of_its_own(quantizer):
    encoder = fitted(bits=2)
    side = encoder.side(quantizer)
    assert side.fingerprint_ == encoder.fingerprint_
    np.testing.assert_array_equal(side.transform(X), encoder.transform(X))
    if isinstance(quantizer, PeriodicMap):
        assert side.encode(X).dtype == np.float32
    else:
        assert side.encode(X).side == side.side_ != encoder.side_
        again = fitted(bits=2).side(quantizer).encode(X)
        np.testing.assert_array_equal(again.packed, side.encode(X).packed)


def test_a_side_may_be_named():
    named, given = fitted().side("lloyd_max", bits=3), fitted().side(LloydMax(3))
    np.testing.assert_array_equal(named.encode(X).packed, given.encode(X).packed)


@pytest.mark.parametrize("pair", [(LloydMax(1), LloydMax(4)), (Phase(3), LloydMax(2)), (Modulo(2), Phase(1))], ids=repr)
def test_codes_of_different_bits_multiply_as_decoded(pair):
    encoder = fitted()
    left, right = (encoder.side(quantizer) for quantizer in pair)
    A, B = left.encode(X), right.encode(Y)
    K = encoder.kernel_estimate(A, B, sides=(left, right))
    np.testing.assert_allclose(K, np.asarray(A) @ np.asarray(B).T, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(K, encoder.kernel_estimate(X, Y, sides=pair))
    np.testing.assert_array_equal(K, A.dot(B))
    found = B.top_k(A, 2)[1]
    np.testing.assert_allclose(found, -np.sort(-K, axis=1)[:, :2], rtol=0, atol=1e-6)


def test_equal_rows_of_equal_sides_share_their_random_rounding_and_of_others_do_not():
    encoder, rounded = fitted(bits=2, n_components=20_000, projection="iid"), Stochastic(2)
    shared = encoder.expected_kernel(X[:1], X[:1], sides=(rounded, rounded))
    apart = encoder.expected_kernel(X[:1], X[:1], sides=(rounded, Stochastic(3)))
    assert shared[0, 0] > 1.05
    assert apart[0, 0] == pytest.approx(1.0, abs=1e-6)
    for sides, expected in (((rounded, rounded), shared), ((rounded, Stochastic(3)), apart)):
        K, std = encoder.kernel_estimate(X[:1], X[:1], sides=sides, return_std=True)
        assert abs(K[0, 0] - expected[0, 0]) < 5 * std[0, 0]


@pytest.mark.parametrize("feature_map", ["cosine", "cos_sin"])
@pytest.mark.parametrize(("f", "g"), [(square, triangle), (square, lambda t: -square(t)), (np.cos, square)])
def test_the_expected_kernel_is_the_sum_over_harmonics(feature_map, f, g):
    encoder = fitted(feature_map=feature_map)
    sides = as_it_is(f), as_it_is(g)
    expected = encoder.expected_kernel(X, Y, sides=sides)
    np.testing.assert_allclose(expected, slow_mean(f, g, Gaussian(2.0), X, Y), rtol=0, atol=2e-3)
    at_zero = slow_mean(f, g, Gaussian(2.0), X[:1], X[:1])
    normalized = encoder.expected_kernel(X, Y, sides=sides, normalize=True)
    np.testing.assert_allclose(normalized, expected / at_zero, rtol=0, atol=4e-3)


def test_f_against_minus_f_has_a_negative_kernel_and_distances_all_the_same():
    encoder = fitted(feature_map="cosine", n_components=4096)
    sides = as_it_is(square), as_it_is(lambda t: -square(t))
    for x, y in zip(X[:3, None], Y[:3, None]):
        assert encoder.kernel_estimate(x, y, sides=sides) < 0
        assert encoder.kernel_estimate(x, y, sides=sides, normalize=True) > 0
        distance, std = encoder.distance_estimate(x, y, sides=sides, return_std=True)
        assert abs(distance - np.linalg.norm(x - y)) < 5 * std < 1


def test_the_exponential_is_the_full_side_of_the_pair():
    encoder = fitted()
    turning = encoder.side(PeriodicMap(lambda t: np.exp(1j * t)))
    np.testing.assert_allclose(turning.encode(X), encoder.transform(X), rtol=0, atol=2e-6)
    both = encoder.expected_kernel(X, Y, sides=(turning, "codes"))
    np.testing.assert_allclose(both, Gaussian(2.0).gram(X, Y), rtol=0, atol=1e-9)


def test_complex_steps_are_packed_and_kept_in_files(tmp_path, monkeypatch):
    # Values of a map of the user's own are not rounded to whole numbers.
    monkeypatch.setattr(base, "on_grid", lambda values: values)
    eight = PeriodicMap(lambda t: np.exp(1j * (np.floor(4 * t / np.pi) + 0.5) * np.pi / 4))
    encoder = fitted()
    codes, phases = encoder.side(eight).encode(X), encoder.side(Phase(3)).encode(X)
    assert codes.n_levels == phases.n_levels == 65
    np.testing.assert_allclose(np.asarray(codes), np.asarray(phases), rtol=0, atol=1e-6)
    smooth = encoder.side(PeriodicMap(eight.coefficients()))
    lt.save(smooth, tmp_path / "side.lowtide")
    np.testing.assert_array_equal(lt.load(tmp_path / "side.lowtide").encode(X), smooth.encode(X))
    lt.save(encoder.side(Modulo(3, aligned=False)), tmp_path / "modulo.lowtide")
    modulo = lt.load(tmp_path / "modulo.lowtide")
    np.testing.assert_array_equal(modulo.encode(X).packed, encoder.side(Modulo(3, aligned=False)).encode(X).packed)


def test_a_harmonic_reads_codes_at_another_scale():
    encoder = fitted(Gaussian(6.0), bits=1)
    for order in (1, 3, 5):
        expected = encoder.expected_kernel(X, Y, sides=("codes", encoder.harmonic(order)))
        np.testing.assert_allclose(expected, Gaussian(6.0 / order).gram(X, Y), rtol=0, atol=1e-8)
    with pytest.raises(ParameterError, match="order must be a harmonic of the codes: 1, 3, 5, 7 and so on, got 2"):
        encoder.harmonic(2)
    assert encoder.side(Phase(2)).harmonic(5).encode(X).shape == (7, 130)


@pytest.mark.parametrize(
    ("sides", "definite"),
    [
        (("codes", "codes"), True),
        (("codes", "full"), True),
        ((LloydMax(1), LloydMax(4)), False),
        ((as_it_is(square), as_it_is(lambda t: -square(t))), False),
        ((PeriodicMap(triangle), "full"), True),
        ((PeriodicMap(triangle), LloydMax(1)), False),
    ],
)
def test_an_encoder_says_whether_a_pair_is_positive_definite(sides, definite):
    encoder = fitted(feature_map="cosine", n_components=64)
    assert encoder.is_positive_definite(sides) is definite


@pytest.mark.parametrize("sides", [("codes", "full"), ("codes", "codes"), (Modulo(3), LloydMax(2))], ids=repr)
def test_feature_distances_have_the_mean_of_the_distance_map(sides):
    encoder = fitted(n_components=40_000, projection="iid")
    near = X[:1] + np.array([0.3, 0.7, 1.0])[:, None] * np.eye(6)[2]
    true = np.array([[0.3, 0.7, 1.0]])
    measured, gamma = encoder.feature_distances(X[:1], near, sides=sides), encoder.distance_map(sides)
    # Twice the standard deviation of a product of values up to 1.6, over 20,000 frequencies, and five of these.
    np.testing.assert_allclose(measured, gamma(true), rtol=0, atol=5 * 2 * 2.5 / np.sqrt(20_000))
    # An estimate off by eps gives a distance off by the error of the inverse.
    off = np.abs(gamma.inverse(measured) - true)
    assert np.all(off <= gamma.inverse_error(gamma(true), np.abs(measured - gamma(true)) + 1e-9) + 1e-6)


def test_distances_past_the_first_branch_come_with_a_warning():
    plane, sides = X[:1, :2], ("codes", "full")
    waves = lt.RandomFeatures(Bessel(1.0), projection="haar", n_components=400, random_state=0).fit(plane)
    far = plane + np.array([5.52, 0.0])  # the second zero of J_0
    with pytest.warns(BranchWarning, match="1 of 1 estimates belong to several distances"):
        waves.distance_estimate(plane, far, sides=sides)
    assert waves.distance_estimate(plane, far, sides=sides, return_std=True)[1] == np.inf
    waves.distance_estimate(plane, plane + 0.1, sides=sides)  # near: no warning


def test_both_sides_of_asymmetric_features_have_further_sides():
    encoder = lt.AsymmetricFeatures(ShiftGaussian(0.3, 2.0), n_components=4096, form="phase", random_state=0).fit(X)
    four = encoder.side(LloydMax(4))
    A, B = encoder.encode(X), four.encode_right(Y)
    K, std = encoder.kernel_estimate(A, B, sides=("codes", four), return_std=True)
    expected = encoder.expected_kernel(X, Y, sides=("codes", LloydMax(4)))
    assert np.all(np.abs(K - expected) < 5 * std)
    with pytest.raises(ParameterError, match="distances need a symmetric kernel"):
        encoder.distance_map()


def test_codes_of_another_side_must_be_told_and_of_other_frequencies_never_meet():
    encoder = fitted()
    four = encoder.side(LloydMax(4))
    with pytest.raises(FingerprintMismatchError, match="name their side in `sides`"):
        encoder.kernel_estimate(four.encode(X), Y)
    stranger = lt.RandomFeatures(Gaussian(2.0), n_components=130, random_state=2).fit(X)
    with pytest.raises(FingerprintMismatchError, match="on the frequencies of this encoder"):
        encoder.kernel_estimate(X, Y, sides=(stranger, "full"))
    with pytest.raises(FingerprintMismatchError):
        four.encode(X).dot(stranger.encode(X))


def test_what_is_no_side_is_refused():
    encoder = fitted()
    for wrong in (3, "float", np.cos, None):
        with pytest.raises(ParameterError, match="sides must be 'full', 'codes', a quantizer, or an encoder"):
            encoder.kernel_estimate(X, Y, sides=("full", wrong))
    with pytest.raises(ParameterError, match="sides must be"):
        encoder.side(np.cos)
    with pytest.raises(ParameterError, match="n_components must be a multiple of 2 with Phase"):
        fitted(n_components=129).side(Phase(2))
    with pytest.raises(ParameterError, match="F_1 != 0"):
        encoder.side(PeriodicMap([0, 0, 1]))
    with pytest.raises(ParameterError, match="aligned must be True or False"):
        PeriodicMap(np.cos, aligned="yes")
    sketch = lt.Sketch(n_components=64, random_state=0).fit(X)
    with pytest.raises(ParameterError, match="each 'full' or 'codes'"):
        sketch.kernel_estimate(X, Y, sides=(LloydMax(2), "full"))
