"""gamma as scikit-learn has it."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from lowtide.errors import ParameterError
from lowtide.kernels import resolve_gamma

X, Y = load_iris(return_X_y=True)
X.flags.writeable = False


def resolve(gamma, data=X, norm=2.0, sample_weight=None, seed=0):
    return resolve_gamma(gamma, data, norm, np.random.default_rng(seed), sample_weight)


def test_scale_is_scikit_learns():
    assert resolve("scale") == pytest.approx(SVC(gamma="scale").fit(X, Y)._gamma, rel=1e-9)


def test_scale_for_the_l1_norm_takes_the_standard_deviation():
    assert resolve("scale", norm=1.0) == pytest.approx(1 / (4 * X.std()), rel=1e-9)


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_scale_of_weighted_rows_equals_that_of_repeated_rows(norm):
    weight = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    assert resolve("scale", norm=norm, sample_weight=weight) == resolve("scale", repeated, norm)


@pytest.mark.parametrize("name", ["scale", "median"])
@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_sparse_rows_give_the_gamma_of_dense_rows(name, norm):
    data = np.where(np.random.default_rng(2).random((5000, 6)) < 0.6, 0.0, 1.5)
    assert resolve(name, sparse.csr_array(data), norm) == pytest.approx(resolve(name, data, norm), rel=1e-9)


def test_scale_over_several_blocks_equals_the_variance_of_the_whole():
    data = np.random.default_rng(3).standard_normal((9000, 3)) + np.linspace(0, 50, 9000)[:, None]
    assert resolve("scale", data) == pytest.approx(1 / (3 * data.var()), rel=1e-9)


def test_scale_survives_a_large_offset():
    # Squares of 1e8 would leave no digit of a variance of 1 in double precision.
    data = np.random.default_rng(4).standard_normal((5000, 2))
    assert resolve("scale", data + 1e8) == pytest.approx(resolve("scale", data), rel=1e-6)


def test_scale_has_ten_digits():
    gamma = resolve("scale")
    assert gamma == float(f"{gamma:.10g}")


def test_median_is_that_of_the_distances():
    assert resolve("median") == pytest.approx(1 / (2 * np.median(pdist(X)) ** 2), rel=1e-9)
    assert resolve("median", norm=1.0) == pytest.approx(1 / np.median(pdist(X, "cityblock")), rel=1e-9)


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_median_of_float32_rows_is_that_of_the_same_rows_in_float64(norm):
    some = X.astype(np.float32)
    assert resolve("median", some, norm) == resolve("median", some.astype(np.float64), norm)


def test_median_of_many_rows_is_seeded_and_near_that_of_all():
    data = np.random.default_rng(5).standard_normal((3000, 8))
    assert resolve("median", data, seed=1) == resolve("median", data, seed=1)
    assert resolve("median", data, seed=1) != resolve("median", data, seed=2)
    # 1000 rows: the median distance has a relative standard error of about sd / (2 density median) / sqrt(1000) < 1%.
    assert resolve("median", data, seed=1) == pytest.approx(1 / (2 * np.median(pdist(data)) ** 2), rel=0.1)


@pytest.mark.parametrize("name", ["scale", "median"])
@pytest.mark.parametrize("data", [np.full((5, 3), 7.0), np.ones((1, 2)), np.zeros((4, 1))])
def test_constant_data_have_gamma_one(name, data):
    assert resolve(name, data) == 1.0


@pytest.mark.parametrize("gamma", [0.25, 3, np.float32(0.5), np.int64(2)])
def test_a_number_is_taken_as_it_is(gamma):
    assert resolve(gamma) == float(gamma)


@pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, "auto", "Scale", None, True, [1.0]])
def test_a_bad_gamma_is_refused_with_what_came(gamma):
    with pytest.raises(ParameterError, match="gamma must be") as caught:
        resolve(gamma)
    assert repr(gamma) in str(caught.value)


@pytest.mark.parametrize("gamma", [1e300, 1e-300])
@pytest.mark.parametrize(("norm", "limits"), [(1.0, r"1e-30 to 1e\+30"), (2.0, r"5e-61 to 5e\+59")])
def test_gamma_that_stands_for_no_length_of_float32_rows_is_refused(norm, limits, gamma):
    with pytest.raises(ParameterError, match=f"gamma must be a number from {limits}, got .* Scale the columns of X"):
        resolve(gamma, norm=norm)


@pytest.mark.parametrize("unit", [1e35, 1e-35])
def test_scale_of_rows_in_such_units_is_refused(unit):
    for name in ("scale", "median"):
        with pytest.raises(ParameterError, match="gamma must be a number from .* Scale the columns of X"):
            resolve(name, unit * X)


@pytest.mark.parametrize("unit", [1e307, 1e-307])
def test_scale_of_weights_is_that_of_their_ratios(unit):
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    assert resolve("scale", sample_weight=unit * weight) == resolve("scale", sample_weight=weight)
