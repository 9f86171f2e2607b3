"""AsymmetricNystroem: two sides from landmarks, for any function of two rows, and what it refuses."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import lowtide as lt
from lowtide import AsymmetricNystroem
from lowtide.errors import LowtideError, ParameterError
from lowtide.kernels import ShiftGaussian, SinhGaussian

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((150, 3)), RNG.standard_normal((40, 3))
KERNEL = SinhGaussian(0.3, 3.0)


def directed(A, B):
    """Return a kernel that is no function of differences: attention of A to B."""
    return np.exp(A @ np.array([[0.3, 0.2, 0.0], [-0.2, 0.3, 0.1], [0.0, 0.1, 0.2]]) @ B.T)


def test_product_of_the_sides_is_the_formula():
    fitted = AsymmetricNystroem(KERNEL, n_components=8, random_state=0).fit(X)
    L = fitted.landmarks_
    expected = KERNEL.gram(Y, L) @ np.linalg.pinv(KERNEL.gram(L, L)) @ KERNEL.gram(L, X)
    np.testing.assert_allclose(fitted.transform(Y) @ fitted.transform_right(X).T, expected, atol=1e-4)
    np.testing.assert_array_equal(fitted.kernel_estimate(Y, X), fitted.transform(Y) @ fitted.transform_right(X).T)


@pytest.mark.parametrize("kernel", [KERNEL, ShiftGaussian(0.5, 2.0), directed], ids=["sinh", "shift", "own"])
def test_kernel_is_exact_between_landmarks_and_near_elsewhere(kernel):
    values = kernel if callable(kernel) else kernel.gram
    fitted = AsymmetricNystroem(kernel, n_components=80, random_state=0).fit(X)
    L = fitted.landmarks_
    np.testing.assert_allclose(fitted.kernel_estimate(L), values(L, L), rtol=1e-3, atol=1e-3)
    inner = 0.5 * Y  # among the landmarks: a row outside of them is extrapolated to
    K = values(inner, inner)
    assert np.linalg.norm(fitted.kernel_estimate(inner) - K) < 1e-3 * np.linalg.norm(K)
    assert np.linalg.norm(fitted.kernel_estimate(inner) - K.T) > 0.9 * np.linalg.norm(K - K.T)


def test_error_falls_with_landmarks_far_below_that_of_frequencies():
    K = KERNEL.gram(Y)
    errors = [
        np.linalg.norm(AsymmetricNystroem(KERNEL, n_components=n, random_state=0).fit(X).kernel_estimate(Y) - K)
        for n in (10, 30, 90)
    ]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    random = lt.AsymmetricFeatures(KERNEL, n_components=90, bits=None, random_state=0).fit(X)
    assert 20 * errors[2] < np.linalg.norm(random.kernel_estimate(Y) - K)


def test_right_rows_of_another_kind_give_landmarks_of_their_own():
    other = 0.5 * RNG.standard_normal((200, 3)) + 1.0
    fitted = AsymmetricNystroem(KERNEL, n_components=40, random_state=0).fit(X, right=other)
    assert (len(fitted.landmarks_), len(fitted.landmarks_right_)) == (40, 80)
    K = KERNEL.gram(Y, other)
    assert np.linalg.norm(fitted.kernel_estimate(Y, other) - K) < 1e-2 * np.linalg.norm(K)
    with pytest.raises(ParameterError, match="the 3 columns of X"):
        AsymmetricNystroem().fit(X, right=other[:, :2])


def test_small_singular_values_are_left_out():
    twice = np.repeat(X[:10], 2, axis=0)
    fitted = AsymmetricNystroem(KERNEL, n_components=20, random_state=0).fit(twice)
    assert fitted.transform(Y).shape == fitted.transform_right(Y).shape == (40, 10)
    assert len(fitted.get_feature_names_out()) == 10
    assert np.all(fitted.singular_values_ > 1e-10 * fitted.singular_values_[0])


def test_sparse_rows_are_dense_ones():
    dense = AsymmetricNystroem(n_components=20, random_state=0).fit(X)
    some = AsymmetricNystroem(n_components=20, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_allclose(some.kernel_estimate(sparse.csr_array(Y)), dense.kernel_estimate(Y), atol=1e-4)


def test_clone_and_pickle_keep_the_landmarks():
    fitted = AsymmetricNystroem(KERNEL, n_components=20, random_state=3).fit(X)
    for same in (clone(fitted).fit(X), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(same.kernel_estimate(Y), fitted.kernel_estimate(Y))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"rcond": 2.0}, "rcond"),
        ({"kernel": "tilted"}, "kernel must be one of"),
        ({"kernel": lambda A, B: np.zeros((len(A), len(B)))}, "must not be 0"),
        ({"kernel": lambda A, B: A}, "finite values"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "finite values"),
    ],
)
def test_bad_parameters_are_refused_at_fit(parameters, message):
    with pytest.raises(ParameterError, match=message):
        AsymmetricNystroem(**parameters).fit(X)


def test_it_is_not_saved_and_says_so(tmp_path):
    with pytest.raises(LowtideError, match="AsymmetricNystroem"):
        lt.save(AsymmetricNystroem(n_components=5).fit(X), tmp_path / "x.lowtide")
