"""Exact kernel matrices: against scikit-learn, against formulas written out, and against each other."""

import numpy as np
import pytest
from reference import kernel_gram as slow
from scipy import sparse
from scipy.special import j0
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from lowtide.kernels import Bessel, Gaussian, Laplace, Matern, Stable, distances

RNG = np.random.default_rng(20)
X = RNG.standard_normal((7, 4))
Y = RNG.standard_normal((5, 4)) * 2
for data in (X, Y):
    data.flags.writeable = False

SLOW = [
    (Gaussian(0.8), lambda s: slow.gaussian(s, 0.8), 2),
    (Laplace(1.7), lambda s: slow.laplace(s, 1.7), 1),
    (Matern(1.3, nu=0.3), lambda s: slow.matern(s, 1.3, 0.3), 2),
    (Matern(1.3, nu=1.5), lambda s: slow.matern(s, 1.3, 1.5), 2),
    (Matern(0.6, nu=4.2), lambda s: slow.matern(s, 0.6, 4.2), 2),
    (Stable(2.0, alpha=1.3), lambda s: slow.stable(s, 2.0, 1.3), 1.3),
    (Bessel(0.7), lambda s: slow.bessel(s, 0.7, 4), 2),
]


@pytest.mark.parametrize(("kernel", "kappa", "p"), SLOW, ids=lambda v: repr(v) if isinstance(v, Gaussian) else None)
def test_gram_matches_the_formula_entry_by_entry(kernel, kappa, p):
    np.testing.assert_allclose(kernel.gram(X, Y), slow.gram(kappa, X, Y, p), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("kernel", "kappa", "p"), SLOW, ids=lambda v: repr(v) if isinstance(v, Gaussian) else None)
def test_gram_does_not_lose_its_digits_to_a_common_offset(kernel, kappa, p):
    # Multiples of 1/64 below 2^42 are exact, and so are their differences.
    left, right = (np.round(64 * rows) / 64 + 2.0**40 for rows in (X, Y))
    np.testing.assert_allclose(kernel.gram(left, right), slow.gram(kappa, left, right, p), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kernel", [kernel for kernel, _, _ in SLOW], ids=repr)
def test_gram_of_float32_rows_is_that_of_the_same_rows_in_float64(kernel):
    left, right = X.astype(np.float32), Y.astype(np.float32)
    np.testing.assert_array_equal(kernel.gram(left, right), kernel.gram(left.astype(float), right.astype(float)))


@pytest.mark.parametrize("kernel", [kernel for kernel, _, _ in SLOW], ids=repr)
def test_gram_of_sparse_rows_adds_entries_that_are_stored_twice(kernel):
    columns = np.tile(np.arange(4), 2)
    twice = sparse.csr_matrix((np.hstack([X - 1.0, np.ones_like(X)]).ravel(), np.tile(columns, 7), 8 * np.arange(8)))
    stored = twice.data.copy()
    np.testing.assert_allclose(kernel.gram(twice, Y), kernel.gram(X, Y), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(twice.data, stored)


@pytest.mark.parametrize("gamma", [0.05, 1.0, 3.0])
def test_gaussian_gram_matches_scikit_learn(gamma):
    np.testing.assert_allclose(Gaussian.from_gamma(gamma).gram(X, Y), rbf_kernel(X, Y, gamma=gamma), rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.05, 1.0, 3.0])
def test_laplace_gram_matches_scikit_learn(gamma):
    np.testing.assert_allclose(Laplace.from_gamma(gamma).gram(X, Y), laplacian_kernel(X, Y, gamma=gamma), rtol=1e-12)


@pytest.mark.parametrize("nu", [0.2, 0.5, 0.9, 1.5, 2.0, 2.5, 3.7, 7.5])
def test_matern_gram_matches_scikit_learn(nu):
    expected = SklearnMatern(length_scale=1.4, nu=nu)(X, Y)
    np.testing.assert_allclose(Matern(1.4, nu=nu).gram(X, Y), expected, rtol=1e-10)


def test_matern_of_large_order_approaches_the_gaussian():
    # The correction is s^4 / (8 nu) exp(-s^2/2) to first order, at most 0.271 / nu.
    s = np.linspace(0, 5, 50)
    gap = np.abs(Matern(nu=79.3).radial(s, 3) - Gaussian().radial(s, 3)).max()
    assert gap < 0.271 / 79.3


@pytest.mark.parametrize("nu", [0.1, 1.2, 30.0, 80.0])
def test_matern_is_finite_from_zero_to_infinity(nu):
    s = np.concatenate([[0.0], np.geomspace(1e-300, 1e300, 400), [np.inf]])
    value = Matern(nu=nu).radial(s, 2)
    assert np.isfinite(value).all()
    assert value[0] == 1.0
    assert value[-1] == 0.0
    # Each value comes from logarithms of size nu log nu: 1e-13 of rounding at nu = 80.
    assert np.all(np.diff(value) <= 2e-13)


def test_matern_near_zero_of_large_order_follows_its_parabola():
    # 1 - s^2 nu / (2 (nu - 1)) + O(s^4), where K_nu itself overflows.
    s, nu = np.array([1e-5, 1e-4, 3e-4]), 79.0
    np.testing.assert_allclose(Matern(nu=nu).radial(s, 2), 1 - s**2 * nu / (2 * (nu - 1)), rtol=2e-13)


def test_stable_of_index_one_is_laplace():
    np.testing.assert_allclose(Stable(1.7, alpha=1.0).gram(X, Y), Laplace(1.7).gram(X, Y), rtol=1e-13)


def test_stable_of_index_two_is_gaussian():
    expected = Gaussian(1.7 / np.sqrt(2)).gram(X, Y)
    np.testing.assert_allclose(Stable(1.7, alpha=2.0).gram(X, Y), expected, rtol=1e-11)


def test_bessel_in_two_dimensions_is_j0():
    s = np.linspace(0, 60, 301)
    np.testing.assert_allclose(Bessel().radial(s, 2), j0(s), atol=1e-14)


def test_bessel_in_three_dimensions_is_sinc():
    s = np.linspace(0, 60, 301)
    np.testing.assert_allclose(Bessel(0.5).radial(s, 3), np.sinc(2 * s / np.pi), atol=1e-14)


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Laplace(), Matern(nu=0.7), Stable(), Bessel()], ids=repr)
class TestEveryKernel:
    def test_gram_of_one_argument_is_symmetric_with_unit_diagonal(self, kernel):
        K = kernel.gram(X)
        assert K.shape == (7, 7)
        np.testing.assert_allclose(K, K.T, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(np.diag(K), 1.0)

    def test_gram_of_sparse_rows_equals_dense(self, kernel):
        np.testing.assert_allclose(kernel.gram(sparse.csr_array(X), sparse.csr_array(Y)), kernel.gram(X, Y), rtol=1e-12)

    def test_gram_is_positive_semidefinite(self, kernel):
        smallest = np.linalg.eigvalsh(kernel.gram(np.vstack([X, Y]))).min()
        assert smallest > -12 * np.finfo(float).eps * 12

    def test_gram_of_lists_and_float32_is_float64(self, kernel):
        K = kernel.gram(X.astype(np.float32).tolist())
        assert K.dtype == np.float64
        np.testing.assert_allclose(kernel.gram(X.astype(np.float32)), K, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("p", [1.0, 1.4, 2.0])
def test_distances_match_the_norm(p):
    expected = [[np.linalg.norm(x - y, p) for y in Y] for x in X]
    np.testing.assert_allclose(distances(X, Y, p), expected, rtol=1e-12)


@pytest.mark.parametrize("p", [1.0, 1.4, 2.0])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_distances_of_no_rows_are_empty(p, shape):
    left, right = np.ones((shape[0], 4)), np.ones((shape[1], 4))
    assert distances(left, right, p).shape == shape
