"""What encoders take as rows, and what they refuse."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from lowtide import RandomFeatures, Sketch, TernaryFeatures
from lowtide.encoders.rows import warn_when_float32_loses_the_signal
from lowtide.errors import LowtideError, ParameterError, PrecisionWarning

RNG = np.random.default_rng(3)
X = np.where(RNG.random((40, 9)) < 0.5, 0.0, RNG.standard_normal((40, 9)))
X.flags.writeable = False
LAYOUTS = ["hadamard", "iid", "orthogonal"]


def fitted(**parameters):
    return RandomFeatures(**{"gamma": 0.1, "n_components": 50, "random_state": 0, **parameters}).fit(X)


def both_sides(encoder, rows):
    return encoder.transform(rows), np.asarray(encoder.encode(rows))


@pytest.mark.parametrize("projection", LAYOUTS)
@pytest.mark.parametrize(
    "form",
    [
        sparse.csr_array,
        sparse.csr_matrix,
        sparse.csc_array,
        lambda A: sparse.coo_array(A),
        lambda A: A.tolist(),
        lambda A: np.asfortranarray(A),
        lambda A: np.repeat(A, 2, axis=1)[:, ::2],
        lambda A: A[::-1][::-1],
        lambda A: A.astype(object),
        lambda A: pd.DataFrame(A).to_numpy(),
    ],
    ids=["csr_array", "csr_matrix", "csc", "coo", "list", "fortran", "strided", "reversed", "object", "frame"],
)
def test_every_form_of_the_same_rows_gives_the_same_sides(projection, form):
    encoder = fitted(projection=projection)
    for got, expected in zip(both_sides(encoder, form(X)), both_sides(encoder, X)):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("gamma", ["scale", "median", 0.3])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_fit_on_sparse_rows_is_fit_on_dense_rows(kernel, gamma):
    parameters = {"kernel": kernel, "projection": "iid", "gamma": gamma, "n_components": 16, "random_state": 0}
    dense, packed = (RandomFeatures(**parameters).fit(rows) for rows in (X, sparse.csr_array(X)))
    assert dense.gamma_ == packed.gamma_
    assert dense.fingerprint_ == packed.fingerprint_


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64, np.uint8, bool])
def test_number_types_are_taken_as_float32(dtype):
    rows = (np.abs(X) * 3).astype(dtype)
    encoder = RandomFeatures(gamma=0.1, n_components=30, random_state=0).fit(rows)
    np.testing.assert_array_equal(encoder.transform(rows), encoder.transform(rows.astype(np.float32)))
    assert encoder.transform(rows).dtype == np.float32


def test_float64_rows_are_rounded_to_float32_before_projection():
    encoder = fitted()
    np.testing.assert_array_equal(encoder.transform(X), encoder.transform(X.astype(np.float32)))


def test_read_only_and_memory_mapped_rows(tmp_path):
    encoder = fitted()
    for dtype in (np.float32, np.float64):
        path = tmp_path / f"{np.dtype(dtype).name}.npy"
        np.save(path, X.astype(dtype))
        mapped = np.load(path, mmap_mode="r")
        for got, expected in zip(both_sides(encoder, mapped), both_sides(encoder, X.astype(dtype))):
            np.testing.assert_array_equal(got, expected)
        RandomFeatures(n_components=4).fit(mapped)


def test_data_frames_keep_names_and_check_their_order():
    frame = pd.DataFrame(X, columns=list("abcdefghi"))
    encoder = RandomFeatures(n_components=5, random_state=0).fit(frame)
    assert list(encoder.feature_names_in_) == list("abcdefghi")
    np.testing.assert_array_equal(encoder.encode(frame).levels().shape, (40, 5))
    for call in (encoder.transform, encoder.encode, encoder.kernel_estimate):
        with pytest.raises(ValueError, match="feature names should match"):
            call(frame[frame.columns[::-1]])


def test_set_output_names_the_components():
    encoder = RandomFeatures(n_components=3, random_state=0).set_output(transform="pandas")
    out = encoder.fit_transform(X)
    assert list(out.columns) == ["randomfeatures0", "randomfeatures1", "randomfeatures2"]
    assert list(out.dtypes) == [np.float32] * 3
    assert list(encoder.get_feature_names_out()) == list(out.columns)


@pytest.mark.parametrize("sides", [("full", "full"), ("codes", "full"), ("full", "codes"), ("codes", "codes")])
def test_estimates_are_arrays_whatever_the_output_setting(sides):
    plain, framed = fitted(), fitted().set_output(transform="pandas")
    K = framed.kernel_estimate(X[:3], X[3:7], sides=sides)
    assert isinstance(K, np.ndarray)
    np.testing.assert_array_equal(K, plain.kernel_estimate(X[:3], X[3:7], sides=sides))


@pytest.mark.parametrize("projection", LAYOUTS)
@pytest.mark.parametrize("rows", [np.zeros((0, 9)), np.zeros((0, 9), np.float32), sparse.csr_array((0, 9))])
def test_zero_rows_are_valid_everywhere_but_fit(projection, rows):
    encoder = fitted(projection=projection, bits=2)
    assert encoder.transform(rows).shape == (0, 50)
    assert encoder.encode(rows).shape == (0, 50)
    K, std = encoder.kernel_estimate(rows, X, sides=("codes", "full"), return_std=True)
    assert K.shape == std.shape == (0, 40)
    assert encoder.kernel_estimate(X, rows, sides=("codes", "codes")).shape == (40, 0)
    assert encoder.expected_kernel(X, rows).shape == (40, 0)
    assert encoder.distance_estimate(rows).shape == (0, 0)
    with pytest.raises(ValueError, match="0 sample"):
        RandomFeatures().fit(rows)


def test_one_row_and_one_column():
    encoder = RandomFeatures(n_components=10, random_state=0).fit([[3.0]])
    assert encoder.gamma_ == 1.0
    assert encoder.transform([[3.0]]).shape == (1, 10)
    assert encoder.encode([[3.0]]).shape == (1, 10)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 + 0.1, -7.0])
def test_constant_columns_are_valid_without_a_warning(value):
    rows = np.column_stack([X, np.full(40, value)])
    encoder = RandomFeatures(n_components=20).fit(rows)
    assert np.isfinite(encoder.transform(rows)).all()
    assert RandomFeatures(n_components=20).fit(np.full((5, 2), value)).gamma_ == 1.0


def test_a_column_that_float32_cannot_follow_warns_and_says_which():
    rows = X.copy()
    rows[:, 4] += 1e7
    with pytest.warns(PrecisionWarning, match=r"1 column\(s\) .* \(column 4: mean 1e\+07.*StandardScaler"):
        RandomFeatures(n_components=8).fit(rows)


def test_an_offset_that_float32_can_follow_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RandomFeatures(n_components=8).fit(X + 1000.0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_values_beyond_float32_are_refused(form):
    rows = X.copy()
    rows[2, 3] = 1e200
    encoder = fitted()
    for call in (RandomFeatures(gamma=0.1).fit, encoder.transform, encoder.encode, encoder.kernel_estimate):
        with pytest.raises(ParameterError, match=r"at most 3.4e38 in size, got 1e\+200. Scale the columns"):
            call(form(rows))


@pytest.mark.parametrize("projection", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_overflow_when_projected_are_refused(projection, dtype):
    encoder = fitted(projection=projection, gamma=10.0)
    rows = np.full((3, 9), 1e38, dtype=dtype)
    for call in (encoder.transform, encoder.encode):
        with pytest.raises(LowtideError, match="Scale the columns first"):
            call(rows)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_and_infinite_values_are_refused(bad, dtype):
    rows = X.astype(dtype)
    rows[5, 2] = bad
    encoder = fitted()
    for call in (RandomFeatures().fit, encoder.transform, encoder.encode, encoder.kernel_estimate):
        for form in (np.asarray, sparse.csr_array):
            with pytest.raises(ValueError, match="NaN|infinity"):
                call(form(rows))


@pytest.mark.parametrize("rows", [X[:, :3], np.ones((2, 10)), sparse.csr_array(X[:, :3])], ids=["3", "10", "sparse"])
def test_rows_of_another_width_are_refused(rows):
    encoder = fitted()
    for call in (encoder.transform, encoder.encode, encoder.kernel_estimate, encoder.expected_kernel):
        with pytest.raises(ValueError, match=r"X has \d+ features, but RandomFeatures is expecting 9"):
            call(rows)


@pytest.mark.parametrize(
    ("rows", "message"), [(X[0], "2D array"), (X[None], "dim"), ([["a"] * 9], "numeric"), (X + 1j, "Complex")]
)
def test_what_is_not_a_table_of_numbers_is_refused(rows, message):
    for call in (fitted().transform, RandomFeatures().fit):
        with pytest.raises(ValueError, match=message):
            call(rows)


@pytest.mark.parametrize(
    "encoder", [RandomFeatures(n_components=9), Sketch(9), TernaryFeatures(n_components=9, sparsity=0)]
)
def test_codes_of_the_encoder_are_not_taken_for_rows(encoder):
    # As many components as columns: nothing but the type tells such codes from rows.
    codes = encoder.fit(X).encode(X)
    for method in (encoder.encode, encoder.transform):
        with pytest.raises(ParameterError, match="X must be rows, not what this encoder made of them"):
            method(codes)


def test_expected_kernel_asks_for_rows():
    encoder = fitted(n_components=9)
    with pytest.raises(ParameterError, match="raw rows on both sides"):
        encoder.expected_kernel(X, encoder.encode(X))


def test_nothing_works_before_fit():
    encoder = RandomFeatures()
    calls = [encoder.transform, encoder.encode, encoder.kernel_estimate, encoder.expected_kernel]
    for call in (*calls, encoder.distance_estimate, lambda rows: encoder.random_weights_):
        with pytest.raises(NotFittedError):
            call(X)


@pytest.mark.parametrize("encoder", [RandomFeatures(n_components=16), TernaryFeatures(n_components=16, sparsity=0.0)])
def test_negative_weights_are_refused(encoder):
    weight = np.ones(40)
    weight[3] = -2.0
    with pytest.raises(ValueError, match="[Nn]egative"):
        encoder.fit(X, sample_weight=weight)


def test_weighted_rows_are_repeated_rows():
    weight = RNG.integers(0, 3, 40)
    weighted = RandomFeatures("laplacian", projection="iid", random_state=0)
    repeated = RandomFeatures("laplacian", projection="iid", random_state=0)
    weighted.fit(X, sample_weight=weight)
    assert weighted.fingerprint_ == repeated.fit(np.repeat(X, weight, axis=0)).fingerprint_


@pytest.mark.parametrize("projection", ["hadamard", "iid"])
def test_fit_warns_when_phases_are_too_large_for_float32(projection):
    X = np.random.default_rng(0).standard_normal((50, 8))
    with pytest.warns(PrecisionWarning, match="cannot tell well where"):
        RandomFeatures(gamma=1e13, n_components=64, projection=projection, random_state=0).fit(X)
    with pytest.raises(ParameterError, match=r"must be below 1.7e\+07 turns.*lower gamma"):
        RandomFeatures(gamma=1e20, n_components=64, projection=projection, random_state=0).fit(X)


def test_a_category_that_few_rows_have_is_no_lost_signal():
    X = np.zeros((20_000, 2))
    X[:, 0] = np.random.default_rng(0).standard_normal(len(X))
    X[5, 1] = 1.0  # constant in any small sample
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_when_float32_loses_the_signal(scaled)
    with pytest.warns(PrecisionWarning, match="1 column"):
        warn_when_float32_loses_the_signal(scaled + np.array([0.0, 1e8]))
