"""Rows multiplied by a metric, and encoders that keep some of their frequencies."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import lowtide as lt
from lowtide.codes import unpack_levels
from lowtide.encoders.metric import MultipliedRows, multiplied
from lowtide.errors import ParameterError
from lowtide.kernels import Bessel

X = np.random.default_rng(0).standard_normal((60, 20))
FACTORS = np.r_[0.0, np.linspace(0.1, 2.0, 19)]
MATRIX = np.random.default_rng(1).standard_normal((20, 7))
METRICS = {"factors": FACTORS, "matrix": MATRIX}
LAYOUTS = ["hadamard", "orthogonal", "iid"]
PLACES = np.r_[0, 5, 63, 64, 200:230, 700]

each_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
each_layout = pytest.mark.parametrize("projection", LAYOUTS)


def features(n_components=512, **parameters):
    return lt.RandomFeatures(n_components=n_components, random_state=0, **{"gamma": 0.05, **parameters})


def times(rows, metric):
    return rows * metric if metric.ndim == 1 else rows @ metric


# A metric --------------------------------------------------------------------------------------------------------


@each_metric
@each_layout
def test_a_metric_encodes_the_multiplied_rows(projection, metric):
    scaled = features(projection=projection, metric=metric).fit(X)
    plain = features(projection=projection).fit(times(X, metric))
    # Phases of some turns, in float32: a product and a sum more, off by 20 roundings of a term.
    slack = 20 * 2**-24 * np.abs(X @ scaled.random_weights_).max() * np.sqrt(2 / 512)
    assert np.abs(scaled.transform(X) - plain.transform(times(X, metric))).max() < slack
    assert scaled.projection_.n_features == 20


@each_layout
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("gamma", ["scale", "median"])
@each_metric
def test_gamma_is_resolved_on_the_multiplied_rows(projection, kernel, gamma, metric):
    if kernel == "laplacian":
        projection = "iid"
    weight = np.linspace(0.1, 2, len(X))
    found = features(kernel=kernel, gamma=gamma, projection=projection, metric=metric).fit(X, sample_weight=weight)
    plain = features(kernel=kernel, gamma=gamma, projection=projection).fit(
        times(X, np.float32(metric).astype(float)), sample_weight=weight
    )
    assert found.gamma_ == pytest.approx(plain.gamma_, rel=1e-9)


@each_metric
def test_factors_of_one_and_the_unit_matrix_change_no_kernel(metric):
    unit = np.ones(20) if metric.ndim == 1 else np.eye(20)
    plain, scaled = features().fit(X), features(metric=unit).fit(X)
    assert np.abs(plain.transform(X) - scaled.transform(X)).max() < 1e-5
    assert plain.fingerprint_ != scaled.fingerprint_
    if metric.ndim == 1:
        assert plain.encode(X).packed.tobytes() == scaled.encode(X).packed.tobytes()


@each_metric
@each_layout
def test_sparse_rows_and_rows_alone_give_the_same_codes(projection, metric):
    encoder = features(projection=projection, metric=metric).fit(sparse.csr_array(X))
    codes = encoder.encode(X)
    assert encoder.encode(sparse.csr_array(X)) == codes
    assert encoder.encode(X[7:8]) == codes[7:8]
    assert encoder.encode(X.astype(np.float32)) == codes
    assert len(encoder.encode(X[:0])) == 0


@each_metric
def test_estimates_and_distances_are_about_the_multiplied_rows(metric):
    encoder = features(n_components=4096, metric=metric, gamma=0.002).fit(X)
    Z = times(X, metric)
    K, std = encoder.kernel_estimate(X[:9], X[9:19], sides=("codes", "full"), return_std=True)
    exact = encoder.kernel_.gram(Z[:9], Z[9:19])
    assert np.abs((K - exact) / std).max() < 5
    np.testing.assert_allclose(encoder.expected_kernel(X[:9], X[9:19]), exact, atol=1e-6)
    np.testing.assert_allclose(encoder.expected_kernel(sparse.csr_array(X[:9]), X[9:19]), exact, atol=1e-6)
    found, error = encoder.distance_estimate(X[:9], X[9:19], return_std=True)
    apart = np.linalg.norm(Z[:9, None] - Z[None, 9:19], axis=2)
    told = np.isfinite(error)
    assert told.any()
    assert np.abs((found - apart) / error)[told].max() < 5
    read = encoder.distance_map(("full", "full"))
    np.testing.assert_allclose(read.inverse(read(apart[apart < 4])), apart[apart < 4], rtol=1e-3)


def test_rows_that_differ_where_the_factor_is_0_are_equal():
    encoder = features(metric=FACTORS).fit(X)
    other = X.copy()
    other[:, 0] += 5
    assert encoder.encode(other) == encoder.encode(X)
    K, std = encoder.kernel_estimate(X[:1], other[:1], return_std=True)
    assert abs(K[0, 0] - 1) < 5 * std[0, 0]


def test_bars_know_what_a_matrix_cancels():
    # A takes the difference of two columns: rows that share a step in both are equal, and their estimate is off by the
    # rounding of the large terms alone.
    A = np.array([[1.0], [-1.0]])
    rows = np.round(np.random.default_rng(2).standard_normal((200, 2)) * 64) / 64
    encoder = features(n_components=64, gamma=0.5, metric=A, projection="iid").fit(rows)
    found = [encoder.kernel_estimate(row[None], row[None] + 2.0**17, return_std=True) for row in rows]
    off = np.array([abs(K[0, 0] - 1) for K, _ in found])
    bars = np.array([std[0, 0] for _, std in found])
    assert np.mean(off < 2 * bars) > 0.9
    assert off.max() > 2e-6
    assert bars.max() < 100 * off.max()


def test_a_kernel_of_a_sphere_takes_the_columns_of_the_product():
    encoder = features(kernel=Bessel(1.0), projection="haar", metric=MATRIX, n_components=4096).fit(X)
    Z = X @ MATRIX
    K, std = encoder.kernel_estimate(X[:5], X[5:10], return_std=True)
    assert np.abs((K - Bessel(1.0).gram(Z[:5], Z[5:10])) / std).max() < 5


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (np.ones(19), r"numbers of shape \(20,\) or \(20, r\)"),
        (np.ones((19, 20)), "numbers of shape"),
        (np.ones((20, 0)), "numbers of shape"),
        (np.ones((20, 2, 2)), "numbers of shape"),
        (2.0, "numbers of shape"),
        (["a"] * 20, "numbers of shape"),
        (np.ones(20, bool), "numbers of shape"),
        (np.ones(20, complex), "numbers of shape"),
        (np.zeros(20), "must not be 0"),
        (np.full(20, 1e-60), "must not be 0 in float32"),
        (np.zeros((20, 3)), "must not be 0"),
        (-FACTORS, "0 or above"),
        (np.r_[np.nan, FACTORS[1:]], "must be finite"),
        (np.full((20, 2), np.inf), "must be finite"),
        (np.full(20, 1e39), "must be finite in float32"),
    ],
)
def test_a_metric_that_cannot_be_is_refused(metric, words):
    with pytest.raises(ParameterError, match=words):
        features(metric=metric).fit(X)


@each_metric
def test_rows_that_leave_float32_are_refused(metric):
    encoder = features(metric=1e30 * metric, gamma=1e-60).fit(X)
    for bad in (np.full((1, 20), 1e38), np.full((1, 20), np.nan), np.full((1, 20), np.inf)):
        with pytest.raises(ValueError, match="float32|NaN"):
            encoder.encode(bad)


def test_multiplied_rows_are_those_that_are_asked_for():
    for rows in (X, sparse.csr_array(X)):
        for metric in (np.float32(FACTORS), np.float32(MATRIX)):
            lazy = MultipliedRows(rows, metric)
            assert lazy.shape == (60, metric.shape[-1])
            part = multiplied(rows, metric)[3:9]
            found = lazy[3:9]
            dense = [each.toarray() if sparse.issparse(each) else each for each in (found, part)]
            np.testing.assert_array_equal(*dense)
            np.testing.assert_allclose(dense[0], times(X[3:9], metric.astype(float)), rtol=1e-12, atol=1e-14)


# Kept frequencies ------------------------------------------------------------------------------------------------


def columns(places, n_components):
    return np.stack([2 * places, 2 * places + 1], axis=1).ravel()[:n_components]


@each_layout
@pytest.mark.parametrize("n_components", [70, 69])
@pytest.mark.parametrize("metric", [None, *METRICS.values()], ids=["no metric", *METRICS])
def test_kept_frequencies_are_those_of_a_larger_encoder(projection, n_components, metric):
    shared = {"projection": projection, "metric": metric, "bits": 2}
    large, small = features(2048, **shared).fit(X), features(n_components, kept=PLACES, **shared).fit(X)
    chosen = columns(PLACES, n_components)
    scale = np.float32(np.sqrt(2048 / n_components))
    # A float32 feature, and its factor in float32.
    np.testing.assert_allclose(small.transform(X), large.transform(X)[:, chosen] * scale, atol=4 * 2**-24)
    codes, every = small.encode(X), large.encode(X)
    np.testing.assert_array_equal(_levels(codes), _levels(every)[:, chosen])
    np.testing.assert_array_equal(small.kept_, PLACES)


def _levels(codes):
    return unpack_levels(codes.packed, codes.bits, codes.n_levels)


@each_layout
@pytest.mark.parametrize("metric", [None, *METRICS.values()], ids=["no metric", *METRICS])
def test_keep_is_the_encoder_that_was_drawn_with_kept(projection, metric):
    shared = {"projection": projection, "metric": metric}
    drawn = features(2048, **shared).fit(X).drawn_
    kept = drawn.keep(PLACES)
    assert (kept.n_frequencies, kept.n_components) == (35, 70)
    again = features(70, kept=PLACES, **shared).fit(X).drawn_
    assert kept.encode(X).packed.tobytes() == again.encode(X).packed.tobytes()
    # A matrix is rounded as it is multiplied, with more columns in another order.
    assert kept.fingerprint == again.fingerprint or (metric is not None and metric.ndim == 2)
    some = kept.keep([1, 3, 34])
    np.testing.assert_array_equal(some.kept, [5, 64, 700])
    assert some.encode(X).packed.tobytes() == drawn.keep([5, 64, 700]).encode(X).packed.tobytes()


def test_all_frequencies_are_the_encoder_itself():
    drawn = features(64).fit(X).drawn_
    assert drawn.keep(np.arange(32)) is drawn
    assert features(64, kept=np.arange(32)).fit(X).fingerprint_ == drawn.fingerprint


def test_the_last_frequency_keeps_its_cosine_alone():
    drawn = features(65).fit(X).drawn_
    assert drawn.keep([0, 32]).n_components == 3
    assert drawn.keep([0, 31]).n_components == 4


@pytest.mark.parametrize("quantizer", ["stochastic", "phase"])
def test_other_quantizers_and_scores_take_kept_frequencies(quantizer):
    encoder = features(70, kept=PLACES, quantizer=quantizer, bits=2).fit(X)
    codes, weights = encoder.encode(X), np.random.default_rng(3).standard_normal((70, 2))
    scores = encoder.drawn_.scores(X, weights, np.ones(2))
    np.testing.assert_allclose(scores, np.asarray(codes, dtype=float) @ weights + 1, atol=1e-9)


def test_a_pruned_encoder_states_no_errors():
    encoder = features(70, kept=PLACES).fit(X)
    np.testing.assert_allclose(
        encoder.kernel_estimate(X[:5], X), encoder.transform(X[:5]) @ encoder.transform(X).T, atol=1e-6
    )
    encoder.feature_distances(X[:5])
    for call in (
        lambda: encoder.kernel_estimate(X, return_std=True),
        lambda: encoder.kernel_estimate(X, normalize=True),
        lambda: encoder.expected_kernel(X),
        lambda: encoder.distance_estimate(X),
        lambda: encoder.distance_map(),
    ):
        with pytest.raises(ParameterError, match="drawn by chance"):
            call()


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (PLACES[::-1], "integers that rise"),
        (np.r_[PLACES[:-1], 229], "integers that rise"),
        (PLACES - 1, "from 0 to"),
        (PLACES + (1 << 24), "from 0 to 16777215"),
        (PLACES / 2, "integers that rise"),
        (PLACES > 4, "integers that rise"),
        (PLACES[:, None], "integers that rise"),
        ([], "integers that rise"),
        (PLACES[1:], "35 places that n_components=70 needs"),
    ],
)
def test_places_that_cannot_be_are_refused(kept, words):
    with pytest.raises(ParameterError, match=words):
        features(70, kept=kept).fit(X)


@pytest.mark.parametrize("places", [[], [32], [-1], [3, 3], [0.5]])
def test_keep_refuses_places_that_are_not_there(places):
    with pytest.raises(ParameterError, match="places must be integers that rise, from 0 to 31"):
        features(64).fit(X).drawn_.keep(places)


# Both, through the house -----------------------------------------------------------------------------------------


@each_metric
def test_learners_keep_an_encoder_with_both(metric, tmp_path):
    y = X[:, 1] > 0
    model = lt.KernelClassifier(features(70, kept=PLACES, metric=metric), loss="squared", C=1.0).fit(X, y)
    lt.save(model, tmp_path / "model.lowtide")
    loaded = lt.load(tmp_path / "model.lowtide")
    np.testing.assert_allclose(loaded.decision_function(X), model.decision_function(X), atol=1e-6)  # float32 weights
    again = clone(loaded).fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), rtol=1e-6)
