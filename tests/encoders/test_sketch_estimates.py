"""Cosines and kernel values of a sketch, for inputs of every kind."""

import math

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import lowtide as lt
from lowtide.errors import BiasWarning, FingerprintMismatchError, ParameterError

RNG = np.random.default_rng(1)
X = RNG.standard_normal((25, 20)) * RNG.uniform(0.3, 2.0, (25, 1))
Y = RNG.standard_normal((7, 20))


def sketch(**parameters):
    return lt.Sketch(**{"n_components": 256, "random_state": 0, **parameters}).fit(X)


def test_kernel_estimate_is_the_product_of_fourier_codes():
    fitted = sketch()
    a, b = fitted.encode(X), fitted.encode(Y)
    expected = fitted.fourier(a, 0.8).dot(fitted.fourier(b, 0.8))
    np.testing.assert_array_equal(fitted.kernel_estimate(a, b, gamma=0.8), expected)
    np.testing.assert_array_equal(fitted.kernel_estimate(X, Y, gamma=0.8, normalized=True), expected)
    np.testing.assert_array_equal(fitted.kernel_estimate(a, gamma=0.8), fitted.kernel_estimate(a, a, gamma=0.8))


def test_kernel_estimate_of_norms_reads_each_row_with_its_own_codebook():
    fitted = sketch(bits=3, store_norms=True)
    a, b = fitted.encode(X), fitted.encode(Y)
    mu = lt.quantizers.normal_steps(3).values
    left, right = (codes.norms[:, None] * mu[codes.levels()] for codes in (a, b))
    phase = math.sqrt(2 * 0.1) * (left[:, None] - right[None])
    K, std = fitted.kernel_estimate(a, b, gamma=0.1, return_std=True)
    np.testing.assert_allclose(K, np.cos(phase).mean(axis=2), atol=2e-5)
    np.testing.assert_allclose(std, np.cos(phase).std(axis=2) / math.sqrt(256), rtol=0.01, atol=1e-4)
    np.testing.assert_array_equal(fitted.kernel_estimate(X, Y, gamma=0.1), K)


def test_norms_are_used_only_where_both_sides_have_them():
    plain, kept = sketch(), sketch(store_norms=True)
    a, b = plain.encode(X), kept.encode(Y)
    np.testing.assert_array_equal(
        plain.kernel_estimate(a, b, gamma=0.5), kept.kernel_estimate(X, b, gamma=0.5, normalized=True)
    )
    with pytest.raises(ParameterError, match="normalized must be True for codes without norms"):
        plain.kernel_estimate(a, b, gamma=0.5, normalized=False)


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
    np.testing.assert_array_equal(fourier.kernel_estimate(S, gamma=0.5), plain.kernel_estimate(S, gamma=0.5))


def test_no_rows_give_empty_estimates():
    fitted = sketch(store_norms=True)
    assert fitted.cosine_similarity(X[:0], Y).shape == (0, 7)
    assert fitted.kernel_estimate(X, Y[:0], gamma=1.0).shape == (25, 0)
    assert fitted.kernel_estimate(X[:0], Y, gamma=1.0, normalized=True, return_std=True)[1].shape == (0, 7)


def test_unfitted_and_foreign_inputs_are_refused():
    with pytest.raises(NotFittedError):
        lt.Sketch().cosine_similarity(X)
    with pytest.raises(NotFittedError):
        lt.Sketch().kernel_estimate(X, gamma=1.0)
    with pytest.raises(FingerprintMismatchError, match="must come from this encoder"):
        sketch().kernel_estimate(sketch(random_state=2).encode(X), gamma=1.0)
    with pytest.raises(ParameterError, match="gamma must be a finite number above 0"):
        sketch().kernel_estimate(X, gamma=-1.0)


def test_long_rows_are_warned_of_in_terms_of_rows_of_norm_one():
    fitted = sketch(bits=1)
    with pytest.warns(BiasWarning, match=r"gamma=0.1 of rows as long as these, which is for rows of norm 1 gamma=\d"):
        fitted.kernel_estimate(10 * X, Y, gamma=0.1)
