"""Cosines and kernel values of a sketch, for inputs of every kind."""

import inspect
import itertools
import math

import numpy as np
import pytest
from benchmarks.errors.judgement import allowance
from sklearn.exceptions import NotFittedError

import lowtide as lt
from lowtide.errors import BiasWarning, FingerprintMismatchError, ParameterError
from lowtide.quantizers import GivenSteps

RNG = np.random.default_rng(1)
X = RNG.standard_normal((25, 20)) * RNG.uniform(0.3, 2.0, (25, 1))
Y = RNG.standard_normal((7, 20))


def sketch(**parameters):
    return lt.Sketch(**{"n_components": 256, "random_state": 0, **parameters}).fit(X)


def test_kernel_estimate_is_the_product_of_fourier_codes():
    fitted = sketch()
    a, b = fitted.encode(X), fitted.encode(Y)
    expected = fitted.fourier(a, 0.8).dot(fitted.fourier(b, 0.8))
    at = fitted.with_gamma(0.8)
    np.testing.assert_array_equal(at.kernel_estimate(a, b), expected)
    np.testing.assert_array_equal(at.kernel_estimate(X, Y, sides=("codes", "codes")), expected)
    np.testing.assert_array_equal(at.kernel_estimate(a), at.kernel_estimate(a, a))
    np.testing.assert_allclose(at.kernel_estimate(X, Y), at.transform(X) @ at.transform(Y).T, atol=1e-6)


@pytest.mark.parametrize("store_norms", [False, True])
def test_kernel_of_a_linear_sketch_is_the_cosine_or_with_norms_the_inner_product(store_norms):
    fitted = sketch(store_norms=store_norms, n_components=2048)
    a = fitted.encode(X)
    for left, sides in ((X, ("full", "full")), (X, ("codes", "full")), (a, ("codes", "full"))):
        K, std = fitted.kernel_estimate(left, Y, sides=sides, return_std=True)
        expected = fitted.expected_kernel(X, Y, sides=sides)
        lengths = np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Y, axis=1))
        np.testing.assert_allclose(expected, X @ Y.T / (1.0 if store_norms else lengths), atol=1e-12)
        assert np.all(np.abs(K - expected) < 5 * std)
        normal, error = fitted.kernel_estimate(left, Y, sides=sides, return_std=True, normalize=True)
        scale = lengths if store_norms else 1.0
        np.testing.assert_allclose(normal * scale, K, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(error * scale, std, rtol=1e-3)


@pytest.mark.parametrize("parameters", [{}, {"gamma": 0.3}, {"store_norms": True}, {"gamma": 0.3, "store_norms": True}])
def test_distances_of_a_sketch_come_from_cosines_and_lengths(parameters):
    fitted = sketch(n_components=4096, **parameters)
    norms = parameters.get("store_norms", False)
    left, right = (rows if norms else rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, Y))
    exact = np.linalg.norm(left[:, None] - right[None], axis=2)
    for first, sides in ((X, ("full", "full")), (fitted.encode(X), ("codes", "full")), (X, ("codes", "codes"))):
        distance, std = fitted.distance_estimate(first, Y, sides=sides, return_std=True)
        np.testing.assert_array_equal(distance, fitted.distance_estimate(first, Y, sides=sides))
        assert np.all(np.abs(distance - exact) < 5 * std)
        assert np.all(std < 0.1 * exact.max())
    assert np.all(np.diag(fitted.distance_estimate(fitted.encode(X))) < 0.2 * exact.max())
    unit = sketch(n_components=4096).distance_estimate(X, Y)
    np.testing.assert_allclose(fitted.distance_estimate(X, Y, normalize=True), unit, atol=1e-6)


def test_all_encoders_ask_for_estimates_in_the_same_words():
    encoders = (lt.RandomFeatures, lt.Sketch, lt.TernaryFeatures, lt.AsymmetricFeatures)
    for name in ("kernel_estimate", "expected_kernel", "distance_estimate"):
        signatures = {str(inspect.signature(getattr(encoder, name))) for encoder in encoders}
        assert len(signatures) == 1, signatures


def test_rows_of_zeros_have_no_expected_cosine():
    fitted = sketch(gamma=0.5)
    zeros = np.vstack([Y, np.zeros((1, 20))])
    assert np.isfinite(fitted.kernel_estimate(X, zeros)).all()
    for call in (fitted.expected_kernel, lambda *rows: fitted.kernel_estimate(*rows, return_std=True)):
        with pytest.raises(ParameterError, match="rows must not be all zeros .*row 7"):
            call(X, zeros)
    with_lengths = sketch(gamma=0.5, store_norms=True)
    K = with_lengths.kernel_estimate(zeros[-1:], Y, sides=("codes", "codes"))
    np.testing.assert_allclose(with_lengths.expected_kernel(zeros[-1:], Y, sides=("codes", "codes")), K, atol=0.3)


def test_kernel_estimate_of_norms_reads_each_row_with_its_own_codebook():
    fitted = sketch(bits=3, store_norms=True)
    a, b = fitted.encode(X), fitted.encode(Y)
    mu = lt.quantizers.normal_steps(3).values
    left, right = (codes.norms[:, None] * mu[codes.levels()] for codes in (a, b))
    phase = math.sqrt(2 * 0.1) * (left[:, None] - right[None])
    at = fitted.with_gamma(0.1)
    K, std = at.kernel_estimate(a, b, return_std=True)
    np.testing.assert_allclose(K, np.cos(phase).mean(axis=2), atol=2e-5)
    # Beside the spread there is what a few levels that nobody saw change would add.
    spread = np.cos(phase).std(axis=2) / math.sqrt(256)
    assert np.all(std > 0.99 * spread)
    assert np.all(std < 1.01 * np.hypot(spread, 1.6 * 2 / 256) + 1e-5)
    np.testing.assert_array_equal(at.kernel_estimate(X, Y, sides=("codes", "codes")), K)


def test_a_sketch_with_norms_wants_them_on_both_sides_unless_rows_count_as_of_norm_one():
    plain, kept = sketch(gamma=0.5), sketch(gamma=0.5, store_norms=True)
    a, b = plain.encode(X), kept.encode(Y)
    np.testing.assert_array_equal(plain.kernel_estimate(a, b), kept.kernel_estimate(a, b, normalize=True))
    with pytest.raises(ParameterError, match=r"need the norms beside the codes.*normalize=True"):
        kept.kernel_estimate(a, b)
    with pytest.raises(ParameterError, match="needs raw rows on both sides"):
        kept.kernel_estimate(b, X, sides=("codes", "full"), return_std=True)


def test_one_bit_cosine_is_that_of_the_share_of_equal_signs():
    fitted = sketch(bits=1)
    a, b = fitted.encode(X), fitted.encode(Y)
    share = (a.levels()[:, None] == b.levels()[None]).mean(axis=2)
    np.testing.assert_allclose(fitted.cosine_similarity(a, b), np.cos(math.pi * (1 - share)), atol=1e-5)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_a_row_is_like_itself(bits):
    fitted = sketch(bits=bits)
    cosine, std = fitted.cosine_similarity(fitted.encode(X), return_std=True)
    own, error = np.diag(cosine), np.diag(std)
    assert np.all((own <= 1) & (own >= 1 - 5 * error - 1e-6))
    assert np.all(error >= 0)
    assert np.all(np.abs(cosine) <= 1)


def test_sides_of_cosines():
    fitted = sketch()
    a = fitted.encode(X)
    full = fitted.transform(Y)
    np.testing.assert_allclose(
        fitted.cosine_similarity(a, Y, sides=("codes", "full")), np.clip(np.asarray(a) @ full.T, -1, 1), atol=1e-5
    )
    np.testing.assert_allclose(
        fitted.cosine_similarity(Y, a, sides=("full", "full")).T,
        fitted.cosine_similarity(a, Y, sides=("codes", "full")),
        atol=1e-5,
    )
    np.testing.assert_allclose(
        fitted.cosine_similarity(Y, X, sides=("full", "full")), np.clip(full @ fitted.transform(X).T, -1, 1), atol=1e-5
    )
    np.testing.assert_array_equal(fitted.cosine_similarity(a, Y), fitted.cosine_similarity(a, fitted.encode(Y)))


@pytest.mark.parametrize("sides", ["codes", ("codes",), ("codes", "half"), None])
def test_sides_that_are_none_are_refused(sides):
    with pytest.raises(ParameterError, match="sides must be"):
        sketch().cosine_similarity(X, Y, sides=sides)


def test_gamma_of_the_sketch_does_not_matter_to_estimates():
    plain, fourier = sketch(), sketch(gamma=3.0)
    S = fourier.encode(X)
    np.testing.assert_array_equal(fourier.cosine_similarity(S), plain.cosine_similarity(plain.encode(X)))
    np.testing.assert_array_equal(
        fourier.with_gamma(0.5).kernel_estimate(S), plain.with_gamma(0.5).kernel_estimate(plain.encode(X))
    )


def test_no_rows_give_empty_estimates():
    fitted = sketch(store_norms=True)
    assert fitted.cosine_similarity(X[:0], Y).shape == (0, 7)
    for sides in (("full", "full"), ("codes", "full"), ("codes", "codes")):
        for each in (fitted, fitted.with_gamma(1.0), sketch(gamma=1.0)):
            assert each.kernel_estimate(X, Y[:0], sides=sides).shape == (25, 0)
            assert each.kernel_estimate(X[:0], Y, sides=sides, return_std=True)[1].shape == (0, 7)
            assert each.expected_kernel(X[:0], Y, sides=sides).shape == (0, 7)
            assert each.distance_estimate(X[:0], Y, sides=sides, return_std=True)[1].shape == (0, 7)


def test_unfitted_and_foreign_inputs_are_refused():
    with pytest.raises(NotFittedError):
        lt.Sketch().cosine_similarity(X)
    with pytest.raises(NotFittedError):
        lt.Sketch(gamma=1.0).kernel_estimate(X)
    with pytest.raises(FingerprintMismatchError, match="must come from this encoder"):
        sketch(gamma=1.0).kernel_estimate(sketch(random_state=2).encode(X))
    with pytest.raises(ParameterError, match="gamma must be a finite number above 0"):
        sketch().with_gamma(-1.0)


def test_long_rows_are_warned_of_in_terms_of_rows_of_norm_one():
    fitted = sketch(bits=1, gamma=0.1, store_norms=True)
    with pytest.warns(BiasWarning, match=r"gamma=0.1 of rows as long as these, which is for rows of norm 1 gamma=\d"):
        fitted.kernel_estimate(10 * X, Y, sides=("codes", "codes"))


LOPSIDED = GivenSteps(borders=[-1.1, -0.2, 0.3, 0.9, 2.0], values=[-1.7, -0.5, 0.1, 0.6, 1.3, 2.4])
DEAD_ZONE = GivenSteps([-0.6, 0.6], [-1.2, 0.0, 1.2])
N_DRAWS = 40


@pytest.mark.parametrize("gamma", [None, 0.4])
@pytest.mark.parametrize("quantizer", ["uniform", DEAD_ZONE, LOPSIDED], ids=repr)
def test_error_bars_of_every_quantizer_cover(quantizer, gamma):
    rows = 0.2 * np.vstack([X[:4], X[0] + 0.3 * X[1], -X[2]])
    for sides, norms in itertools.product((("codes", "codes"), ("codes", "full")), (False, True)):
        scores = []
        for seed in range(100, 100 + N_DRAWS):
            fitted = lt.Sketch(
                128, bits=3, quantizer=quantizer, gamma=gamma, projection="iid", store_norms=norms, random_state=seed
            ).fit(rows)
            K, std = fitted.kernel_estimate(rows[:3], rows[3:], sides=sides, return_std=True)
            if seed == 100:
                expected = fitted.expected_kernel(rows[:3], rows[3:], sides=sides)
            scores.append(((K - expected) / std).ravel())
        S = np.array(scores)
        # One number a draw: the entries of a draw share its projections.
        for found, target in ((S.mean(axis=1), 0.0), ((S**2).mean(axis=1), 1.0)):
            off = found.mean() - target
            assert abs(off) < allowance(found, math.copysign(1.0, off)), (sides, norms, target)


@pytest.mark.parametrize("quantizer", ["uniform", LOPSIDED], ids=repr)
def test_cosines_and_distances_of_every_quantizer_come_with_their_errors(quantizer):
    fitted = sketch(quantizer=quantizer, n_components=2048)
    S, T = fitted.encode(X), fitted.encode(Y)
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, Y)]
    exact = unit[0] @ unit[1].T
    for right, sides in ((T, ("codes", "codes")), (Y, ("codes", "full"))):
        cosine, std = fitted.cosine_similarity(S, right, sides=sides, return_std=True)
        assert np.all(np.abs(cosine - exact) < 5 * std)
        distance, error = fitted.distance_estimate(S, right, sides=sides, return_std=True)
        assert np.all(np.abs(distance - np.sqrt(2 - 2 * exact)) < 5 * error)
