import threading

import numpy as np
import pytest

from lowtide.learners.cholesky import Factor, factorize

each_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def definite(n, dtype):
    Z = np.random.default_rng(n).standard_normal((2 * n, n))
    return np.asfortranarray((Z.T @ Z).astype(dtype))


@each_type
@pytest.mark.parametrize("n", [1, 2, 63, 200, 1300])
def test_lower_triangle_is_the_factor_and_the_upper_one_stays(n, dtype):
    gram = definite(n, dtype)
    found = gram.copy(order="F")
    assert factorize(found) == 0
    scale = np.sqrt(gram.diagonal().max())
    np.testing.assert_allclose(
        np.tril(found), np.linalg.cholesky(gram.astype(np.float64)), rtol=0, atol=n * np.finfo(dtype).eps * scale
    )
    np.testing.assert_array_equal(np.triu(found, 1), np.triu(gram, 1))


@each_type
def test_a_minor_that_is_not_positive_is_named(dtype):
    matrix = np.asfortranarray(np.diag([2.0, 1.0, -1.0, 3.0]).astype(dtype))
    assert factorize(matrix) == 3
    # In a later block of columns too.
    assert factorize(np.asfortranarray(np.diag(np.where(np.arange(1500) == 1100, -1.0, 1.0)).astype(dtype))) == 1101


def test_no_rows_are_no_work():
    assert factorize(np.empty((0, 0), order="F")) == 0


@pytest.mark.parametrize(
    "matrix",
    [np.ones((3, 2), order="F"), np.arange(9.0).reshape(3, 3), np.ones(4)],
    ids=["oblong", "C order", "vector"],
)
def test_another_layout_is_refused(matrix):
    with pytest.raises(ValueError, match="square and in Fortran's order"):
        factorize(matrix)


def test_other_threads_run_meanwhile():
    # Nine billion operations: time for a hundred ticks.
    gram, ticks, done = np.asfortranarray(np.ones((3000, 3000)) + np.eye(3000)), [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(None)
            done.wait(0.0005)

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        before = len(ticks)
        factorize(gram)
        during = len(ticks) - before
    finally:
        done.set()
        ticker.join()
    assert during > 2, "the lock was held"


@each_type
@pytest.mark.parametrize("n", [1, 255, 257, 600])
def test_inverse_diagonal_is_that_of_the_inverse(n, dtype):
    gram = definite(n, dtype) / n
    expected = np.diagonal(np.linalg.inv(gram.astype(np.float64) + 0.5 * np.eye(n)))
    found = Factor(gram.copy(order="F"), 0.5).inverse_diagonal()
    # Backward stable: an error of n roundings of the matrix, times the condition number.
    condition = np.linalg.cond(gram.astype(np.float64) + 0.5 * np.eye(n))
    np.testing.assert_allclose(found, expected, rtol=n * np.finfo(dtype).eps * condition)
