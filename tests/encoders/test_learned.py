"""Learned features: what is measured, what a code keeps and loses, and how codes are read."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

import lowtide as lt
from lowtide import LearnedFeatures, _core
from lowtide.encoders.learned import drawn_reader, target_columns
from lowtide.encoders.measures import Relevance
from lowtide.encoders.reading import FourierReading
from lowtide.errors import FingerprintMismatchError, ParameterError
from lowtide.kernels import Gaussian

RNG = np.random.default_rng(0)
# Twenty columns of which six directions hold nearly everything, off center.
X = RNG.standard_normal((400, 6)) * np.arange(6, 0, -1) @ np.linalg.qr(RNG.standard_normal((20, 6)))[0].T
X += 0.05 * RNG.standard_normal((400, 20)) + 3.0
Y = (X[:, 0] > 3.0).astype(int) + (X[:, 1] > 3.0)


def fitted(y=None, **parameters):
    few = {"n_bytes": 8, "n_components": 256, "landmarks": 64, "random_state": 0}
    return LearnedFeatures(**{**few, **parameters}).fit(X, y)


def decoded_rows(encoder, rows):
    """Return what codes say of the rows themselves, by the directions of a fit without labels."""
    measures = encoder.drawn_.measures
    z = np.asarray(encoder.encode(rows), dtype=np.float64) + measures.center
    return X.mean(axis=0) + (z - X.mean(axis=0) @ encoder.directions_) @ encoder.directions_.T


@pytest.mark.parametrize("n_bytes", [8, 16, 32])
def test_rows_take_no_more_than_the_bytes_they_may(n_bytes):
    encoder = fitted(n_bytes=n_bytes)
    assert encoder.encode(X).packed.shape[1] <= n_bytes
    assert sum(encoder.bits_) <= 8 * n_bytes
    assert set(encoder.bits_) <= set(range(1, 9))
    assert len(encoder.bits_) == encoder.directions_.shape[1]


def test_budget_beyond_what_rows_hold_is_not_used():
    few = RNG.integers(0, 4, (100, 3)).astype(float)
    encoder = LearnedFeatures(n_bytes=64, n_components=16, random_state=0).fit(few)
    assert encoder.bits_ == (2, 2, 2)  # the columns themselves, exactly
    assert encoder.encode(few).packed.shape == (100, 8)
    assert encoder.reconstruction_error_ < 1e-12
    np.testing.assert_allclose(np.asarray(encoder.encode(few)), few - few.mean(axis=0), atol=1e-6)


def test_share_lost_is_that_of_decoded_rows_and_falls_with_the_bytes():
    lost = []
    for n_bytes in (8, 16, 32):
        encoder = fitted(n_bytes=n_bytes)
        missed = np.sum((X - decoded_rows(encoder, X)) ** 2) / np.sum((X - X.mean(axis=0)) ** 2)
        # Levels are settled to 1e-5 of the error a round, and directions kept in float32.
        assert encoder.reconstruction_error_ == pytest.approx(missed, rel=1e-2, abs=1e-6)
        lost.append(encoder.reconstruction_error_)
    assert lost == sorted(lost, reverse=True)
    assert lost[0] < 0.02


def test_directions_are_principal():
    encoder = fitted()
    _, _, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    alike = np.abs(Vt[: len(encoder.bits_)] @ encoder.directions_)
    np.testing.assert_allclose(np.max(alike, axis=0), 1.0, atol=1e-5)


@pytest.mark.parametrize("measure", ["rows", "kernel"])
def test_bits_do_not_depend_on_the_batch_or_the_threads(measure):
    encoder, before = fitted(measure=measure), _core.thread_count()
    codes, Z = encoder.encode(X).packed, encoder.transform(X)
    for size in (1, 7, 64):
        batches = [X[start : start + size] for start in range(0, 400, size)]
        np.testing.assert_array_equal(np.vstack([encoder.encode(batch).packed for batch in batches]), codes)
        np.testing.assert_array_equal(np.vstack([encoder.transform(batch) for batch in batches]), Z)
    try:
        for count in (1, 3):
            _core.set_thread_count(count)
            np.testing.assert_array_equal(encoder.encode(X).packed, codes)
    finally:
        _core.set_thread_count(before)


@pytest.mark.parametrize("measure", ["rows", "kernel"])
def test_order_and_repetition_of_rows_do_not_matter(measure):
    order = RNG.permutation(400)
    given = LearnedFeatures(n_bytes=8, n_components=256, measure=measure, landmarks=64, random_state=0)
    one, other = clone(given).fit(X, Y), clone(given).fit(X[order], Y[order])
    twice = clone(given).fit(np.vstack([X, X[:50]]), np.append(Y, Y[:50]))
    weighted = clone(given).fit(X, Y, sample_weight=1.0 + (np.arange(400) < 50))
    assert one.fingerprint_ == other.fingerprint_
    assert twice.fingerprint_ == weighted.fingerprint_ != one.fingerprint_
    assert one.encode(X) == other.encode(X)


def test_large_data_are_learned_from_the_rows_of_smallest_hash(monkeypatch):
    monkeypatch.setattr("lowtide.encoders.learned._MOST_ROWS", 150)
    order = RNG.permutation(400)
    one, other = fitted(), LearnedFeatures(n_bytes=8, n_components=256, random_state=0).fit(X[order])
    assert one.encode(X) == other.encode(X)
    assert one.reconstruction_error_ < 0.05


def test_sparse_rows_give_the_codes_of_dense_ones():
    rows = np.where(X > 3.0, X, 0.0)
    dense = LearnedFeatures(n_bytes=8, n_components=64, random_state=0).fit(rows)
    other = LearnedFeatures(n_bytes=8, n_components=64, random_state=0).fit(sparse.csr_matrix(rows))
    assert dense.encode(rows) == other.encode(sparse.csr_matrix(rows))


@pytest.mark.parametrize("columns", [1, 3000])
def test_one_column_and_more_columns_than_rows_are_learned(columns):
    rows = RNG.standard_normal((30, columns))
    encoder = LearnedFeatures(n_bytes=8, n_components=64, random_state=0).fit(rows, rows[:, 0])
    assert encoder.transform(rows).shape == (30, 64)
    assert 0.0 <= encoder.reconstruction_error_ < 1.0


def test_rows_that_are_all_equal_have_a_code():
    encoder = LearnedFeatures(n_components=8, random_state=0).fit(np.ones((5, 3)), [0, 1, 0, 1, 0])
    assert encoder.reconstruction_error_ == 0.0
    assert len(np.unique(encoder.encode(np.ones((4, 3))).packed, axis=0)) == 1


def test_expanded_codes_are_random_features_of_decoded_coordinates():
    encoder = fitted(bits=2)
    codes, reader = encoder.encode(X), encoder.drawn_.reading.drawn
    assert encoder.expand(codes) == reader.encode(np.asarray(codes))
    assert encoder.expand(codes).shape == encoder.transform(X).shape
    coordinates = X.astype(np.float32) @ encoder.directions_ - encoder.drawn_.measures.center
    np.testing.assert_allclose(encoder.transform(X), reader.transform(coordinates), atol=1e-4)
    with pytest.raises(FingerprintMismatchError, match="must come from this encoder"):
        encoder.expand(fitted(random_state=1).encode(X))


def test_estimates_are_those_of_the_kernel_of_decoded_coordinates_with_true_errors():
    encoder, n_draws = fitted(Y, gamma=0.02), 200
    assert encoder.drawn_.reading.mix is not None
    A, B, sides = X[:6], X[6:12], ("codes", "full")
    moved = encoder.drawn_.reading.moved
    left, right = moved(encoder.drawn_.seen(A, "codes")), moved(encoder.drawn_.seen(B, "full"))
    truth = Gaussian.from_gamma(0.02).gram(left, right)
    np.testing.assert_allclose(encoder.expected_kernel(A, B, sides=sides), truth, atol=1e-6)
    estimates = []
    for seed in range(n_draws):
        reader = drawn_reader(encoder.kernel_, 256, 4, seed, np.zeros((1, left.shape[1])))
        reading = FourierReading(reader, encoder.drawn_.reading.mix)
        drawn = encoder.with_drawn(replace(encoder.drawn_, reading=reading))
        K, std = drawn.kernel_estimate(A, B, sides=sides, return_std=True)
        estimates.append(K)
    error = np.array(estimates) - truth
    assert np.all(np.abs(error.mean(axis=0)) < 4.5 * std / np.sqrt(n_draws))
    # The standard deviation of 200 draws is known to 1/sqrt(400) of itself.
    np.testing.assert_allclose(error.std(axis=0), std, rtol=4.5 / np.sqrt(2 * n_draws))


def test_kernel_of_decoded_coordinates_is_near_that_of_rows():
    for y in (None, Y):  # with labels bits move, and decoded distances stay those of rows
        encoder = fitted(y, n_bytes=16)
        expected = encoder.expected_kernel(X[:50], sides=("codes", "codes"), normalize=True)
        exact = fitted(y, n_bytes=16, bits=8).expected_kernel(X[:50], sides=("full", "codes"))
        truth = encoder.kernel_.gram(X[:50])
        assert np.abs(exact - truth).max() < 0.05
        assert np.abs(expected - truth).max() < 0.08


def test_labels_move_bits_to_what_they_depend_on():
    # The class is in the column of least variance, which plain codes leave out.
    rows = RNG.standard_normal((2000, 60)) * np.where(np.arange(60) == 7, 0.75, 1.0)
    y = rows[:, 7] > 0
    plain, aware = (LearnedFeatures(n_bytes=8, random_state=0).fit(rows, labels) for labels in (None, y))
    share = [
        np.sum(np.array(e.bits_) * e.directions_[7] ** 2 / np.sum(e.directions_**2, axis=0)) for e in (plain, aware)
    ]
    assert share[1] > share[0] + 0.5
    assert plain.drawn_.reading.mix is None


def test_metric_is_the_ridge_weights_and_mild():
    rows, targets = RNG.standard_normal((50, 7)), RNG.standard_normal((50, 2))
    metric = Relevance.of(rows, targets)
    G = rows.T @ rows
    W = np.linalg.solve(G + 0.1 * np.trace(G) / 7 * np.eye(7), rows.T @ targets)
    values, U = np.linalg.eigh(W @ W.T)
    T = U * (values / values[-1] + 0.1) ** 0.25 @ U.T
    np.testing.assert_allclose(metric.times(np.eye(7)), T, atol=1e-9)
    np.testing.assert_allclose(metric.inverse_times(T), np.eye(7), atol=1e-9)
    np.testing.assert_allclose(metric.diagonal, np.diag(T @ T.T), atol=1e-9)
    wide = Relevance.of(rows[:4], targets[:4])  # more columns than rows: the same weights by another way
    G = rows[:4].T @ rows[:4]
    W = np.linalg.solve(G + 0.1 * np.trace(G) / 7 * np.eye(7), rows[:4].T @ targets[:4])
    expected = W @ W.T / np.linalg.norm(W, 2) ** 2
    found = wide.vectors * (wide.sizes**4 - 0.1) @ wide.vectors.T
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("y", "n_columns"),
    [
        (["a", "b", "a", "a"], 1),
        ([3, 1, 2, 2], 3),
        ([0.5, 1.5, 0.25, 9.0], 1),
        ([[0.5, 1.0], [1.5, 2.0], [0.25, 3.0], [9.0, 4.5]], 2),
        ([[1], [2], [1], [1]], 1),
        ([5, 5, 5, 5], 0),
        ([[1, 0], [0, 1], [1, 1], [0, 0]], 0),
    ],
    ids=["texts", "classes", "numbers", "two targets", "a column", "one class", "several labels"],
)
def test_targets_are_columns_without_their_means(y, n_columns):
    weight = np.array([0.4, 0.3, 0.2, 0.1])
    columns = target_columns(np.array(y), weight)
    assert columns.shape == (4, n_columns)
    np.testing.assert_allclose(weight @ columns, 0.0, atol=1e-12)


def test_many_whole_numbers_are_no_classes():
    assert target_columns(np.arange(200), np.full(200, 1 / 200)).shape == (200, 1)


def test_another_gamma_reads_the_same_codes():
    encoder = fitted(Y)
    other = encoder.with_gamma(0.5)
    assert other.encode(X) == encoder.encode(X)
    assert other.gamma_ == 0.5
    fresh = fitted(Y, gamma=0.5)
    assert fresh.expand(fresh.encode(X)) == other.expand(encoder.encode(X))


@pytest.mark.parametrize("parameters", [{"measure": "kernel"}, {"kernel": Gaussian(2.0)}], ids=["kernel", "object"])
def test_another_gamma_is_refused_where_it_would_be_another_code(parameters):
    with pytest.raises(ParameterError, match="with_gamma needs measure='rows' and a kernel by name"):
        fitted(**parameters).with_gamma(0.5)


def test_kernel_coordinates_multiply_to_the_kernel():
    encoder = fitted(measure="kernel", gamma=0.02, n_bytes=64, landmarks=200)
    K, truth = encoder.kernel_estimate(X[:60], sides=("full", "codes")), Gaussian.from_gamma(0.02).gram(X[:60])
    lost = encoder.reconstruction_error_
    # The share of k(x, x) = 1 that is lost bounds the mean square of a row's missing part.
    assert np.sqrt(np.mean((K - truth) ** 2)) < lost
    assert 0.0 < lost < 0.2
    with pytest.raises(ParameterError, match="a standard error needs measure='rows'"):
        encoder.kernel_estimate(X[:5], return_std=True)
    np.testing.assert_array_equal(
        encoder.expected_kernel(X[:5], sides=("codes", "full")), encoder.kernel_estimate(X[:5], sides=("codes", "full"))
    )


def test_landmarks_are_as_many_as_asked_for_at_most():
    assert fitted(measure="kernel", landmarks=30).directions_.shape[0] == 30
    assert LearnedFeatures(measure="kernel").fit(X[:90]).directions_.shape[0] == 90


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_bytes": 0}, "n_bytes must be"),
        ({"n_bytes": 12}, "multiple of 8"),
        ({"n_bytes": 8.0}, "n_bytes must be"),
        ({"measure": "columns"}, "measure must be"),
        ({"bits": None}, "bits must be"),
        ({"bits": 9}, "bits must be"),
        ({"landmarks": 0}, "landmarks must be"),
        ({"n_components": 0}, "n_components must be"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"kernel": "shift"}, "shift"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(**parameters)


def test_labels_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LearnedFeatures().fit(X, Y[:7])


@pytest.mark.parametrize("measure", ["rows", "kernel"])
def test_models_are_the_same_on_rows_codes_stores_and_blocks(measure, tmp_path):
    encoder = fitted(Y, measure=measure)
    codes, model = encoder.encode(X), lt.KernelClassifier(FrozenEstimator(encoder), loss="squared", C=1.0)
    scores = model.fit(X, Y).decision_function(X)
    assert model.score(X, Y) > 0.8
    near = {"rtol": 1e-6, "atol": 1e-6 * np.abs(scores).max()}  # sums in another order
    np.testing.assert_allclose(model.decision_function(codes), scores, **near)
    np.testing.assert_allclose(model.decision_function(X[:1]), scores[:1], **near)
    np.testing.assert_allclose(model.fit(codes, Y).decision_function(X), scores, **near)
    with lt.CodeStore.create(tmp_path / "s.zarr", encoder, chunk_rows=16, shard_chunks=4) as store:
        store.append(X, y=Y)
    store = lt.CodeStore.open(tmp_path / "s.zarr")
    assert store.nbytes == 400 * 8
    own = lt.KernelClassifier(loss="squared", C=1.0).fit(store)  # a store brings its encoder
    np.testing.assert_allclose(own.decision_function(store), scores, **near)
    np.testing.assert_allclose(own.decision_function(X), scores, **near)
    blocks = ((codes[i : i + 150], Y[i : i + 150]) for i in range(0, 400, 150))
    np.testing.assert_allclose(model.fit(blocks).decision_function(X), scores, **near)
    for loss in ("logistic", "squared_hinge"):
        both = [lt.KernelClassifier(FrozenEstimator(encoder), loss=loss, C=1.0).fit(rows, Y) for rows in (X, codes)]
        np.testing.assert_allclose(*(each.decision_function(X[:9]) for each in both), **near)


def test_a_fit_hands_labels_to_the_encoder_and_a_file_keeps_all(tmp_path):
    model = lt.KernelClassifier(LearnedFeatures(n_bytes=8, n_components=256, random_state=0)).fit(X, Y)
    assert model.features_.fingerprint_ == fitted(Y).fingerprint_ != fitted().fingerprint_
    lt.save(model, tmp_path / "m.lowtide")
    kept = lt.load(tmp_path / "m.lowtide")
    # Weights are kept in float32.
    np.testing.assert_allclose(kept.decision_function(X), model.decision_function(X), rtol=0, atol=1e-5)
    codes = lt.wire.unpack(lt.wire.pack(model.features_.encode(X)), kept.features_)
    np.testing.assert_array_equal(kept.predict(codes), model.predict(X))
    regressor = lt.KernelRegressor(LearnedFeatures(n_bytes=16, random_state=0)).fit(X, X[:, 0])
    assert regressor.score(X, X[:, 0]) > 0.95


def test_full_sides_may_train_or_predict():
    encoder = FrozenEstimator(fitted(n_bytes=16))
    for sides in ({"train_on": "full"}, {"predict_on": "full"}, {"train_on": "full", "predict_on": "full"}):
        assert lt.KernelClassifier(encoder, **sides).fit(X, Y).score(X, Y) > 0.9


def test_codes_without_their_encoder_are_what_they_decode_to():
    encoder = fitted()
    codes = encoder.encode(X)
    alone = lt.KernelRegressor().fit(codes, X[:, 0])
    assert alone.coef_.shape == (1, len(encoder.bits_))
    with pytest.raises(lt.errors.LowtideError, match="Codes alone"):
        alone.predict(X)


def test_message_of_a_row_has_no_more_bytes_than_its_bits():
    encoder = LearnedFeatures(n_bytes=8, n_components=16, random_state=0).fit(RNG.integers(0, 4, (50, 3)).astype(float))
    codes = encoder.encode(np.zeros((10, 3)))
    assert len(lt.wire.pack(codes)) - len(lt.wire.pack(codes[:0])) == 10  # six bits of a byte
    damaged = bytearray(lt.wire.pack(codes))
    with pytest.raises(lt.errors.WireFormatError):
        lt.wire.unpack(bytes(damaged[:-1]), encoder)
