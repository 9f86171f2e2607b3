"""Dask: the same codes and models as in one process, on a real cluster of two worker processes that may be killed."""

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_samples import Deadly, half_missing, keep_at_most
from distributed import Client, LocalCluster
from learners.samples import classes, curve, weights
from sklearn.frozen import FrozenEstimator

import lowtide as lt
from lowtide.distributed import encode, fit, predict, top_k
from lowtide.distributed.cluster import connected, ship, unship
from lowtide.errors import FingerprintMismatchError, ParameterError

# Sockets and pipes of workers that were killed are closed by the garbage collector, whenever it comes.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

X, Y = classes(n=230, d=5, k=3)
S = weights(len(Y))
ROWS, LABELS = da.from_array(X, chunks=(50, 3)), da.from_array(Y, chunks=70)
FRAME = pd.DataFrame(X, columns=list("abcde"))
PARTED = dd.from_pandas(FRAME.assign(y=Y), npartitions=2)
# As many rows and partitions, but not the same rows in each.
UNLIKE = dd.concat([dd.from_pandas(pd.Series(Y[:90] + 1)), dd.from_pandas(pd.Series(Y[90:] + 1))])
ENCODER = lt.RandomFeatures(gamma=0.1, n_components=48, random_state=0).fit(X)
CODES = ENCODER.encode(X)


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as opened,
    ):
        yield opened


@contextmanager
def never_without_workers(cluster):
    """Start more workers when none has come back for long: a nanny may give up, and Dask then waits without end."""
    ended = threading.Event()

    def watch():
        since = time.monotonic()
        while not ended.wait(1.0):
            if cluster.scheduler.workers:
                since = time.monotonic()
            elif time.monotonic() - since > 30:
                since = time.monotonic()
                cluster.scale(len(cluster.workers) + 2)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "codes.zarr"
    with lt.CodeStore.create(path, ENCODER, chunk_rows=16, shard_chunks=2) as store:
        store.append(X, y=Y, s=S)
    return lt.CodeStore.open(path)


def classifier(**settings):
    given = {"gamma": 0.1, "n_components": 48, "metric": None, "C": 1.0, "loss": "squared", "random_state": 0}
    return lt.KernelClassifier(**{**given, **settings})


def same_weights(model, memory, tolerance=1e-9):
    scale = np.abs(memory.coef_).max()
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(model.intercept_, memory.intercept_, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("rows", [ROWS, dd.from_pandas(FRAME, npartitions=4)], ids=["array", "frame"])
def test_codes_are_bit_equal_to_those_of_one_process(rows, client):
    here = X if isinstance(rows, da.Array) else FRAME
    encoder = lt.RandomFeatures(gamma=0.1, n_components=48, random_state=0).fit(here)
    codes = encode(encoder, rows)
    expected = encoder.encode(here)
    assert lt.concatenate(client.gather(client.compute(list(codes.parts)))) == expected
    assert codes.compute(scheduler="synchronous") == expected
    np.testing.assert_array_equal(client.compute(codes.to_dask_array()).result(), expected.packed)


@pytest.mark.parametrize(
    "settings",
    [{"metric": np.linspace(0, 1, X.shape[1])}, {"metric": np.eye(X.shape[1], 2)}, {"kept": np.arange(3, 99, 4)}],
    ids=["factors", "matrix", "kept"],
)
def test_codes_of_a_metric_and_of_kept_frequencies_are_those_of_one_process(settings):
    encoder = lt.RandomFeatures(gamma=0.1, n_components=48, random_state=0, **settings).fit(X)
    assert encode(encoder, ROWS).compute(scheduler="synchronous") == encoder.encode(X)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_learned_codes_are_expanded_where_they_are(loss, client):
    encoder = lt.LearnedFeatures(n_bytes=8, n_components=48, random_state=0).fit(X, Y)
    codes = encode(encoder, ROWS)
    assert codes.compute(scheduler="synchronous") == encoder.encode(X)
    # Held-out rows, by which C is chosen, are drawn with the random state: without one each fit has its own.
    memory = lt.KernelClassifier(FrozenEstimator(encoder), loss=loss, random_state=0).fit(X, Y)
    model = fit(lt.KernelClassifier(encoder, loss=loss, random_state=0), codes, LABELS, client=client)
    same_weights(model, memory, 1e-9 if loss == "squared" else 1e-5)
    np.testing.assert_array_equal(model.predict(X), memory.predict(X))


def test_encoder_travels_as_its_specification():
    wide = lt.RandomFeatures(n_components=4096, random_state=0).fit(np.zeros((2, 500)))
    shipped = ship(wide)
    assert len(shipped) < 20_000 < 4 * 500 * 2048
    assert unship(shipped).fingerprint_ == wide.fingerprint_
    assert unship(shipped) is unship(ship(wide))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"C": "auto"},
        {"class_weight": "balanced"},
        {"loss": "logistic"},
        {"loss": "squared_hinge", "C": 0.01},
        {"loss": "hinge"},
        {"multi_class": "ovo"},
    ],
    ids=str,
)
def test_classifier_of_a_dask_array_is_the_one_in_memory(settings, client):
    memory = classifier(**settings).fit(X, Y)
    model = fit(classifier(**settings), ROWS, LABELS, client=client)
    same_weights(model, memory, 1e-9 if "loss" not in settings else 1e-5)
    assert pytest.approx(memory.C_) == model.C_
    # Weights of the other losses are a minimum that is known to 1e-5 of them.
    tolerance = 1e-6 if "loss" not in settings else 1e-5
    np.testing.assert_allclose(model.predict_proba(X), memory.predict_proba(X), rtol=0, atol=tolerance)
    assert model.get_params() == memory.get_params()


def test_weights_and_frames_are_taken_by_partition(client):
    frame = dd.from_pandas(FRAME.assign(y=Y, s=S), npartitions=3)
    model = fit(classifier(), frame[list("abcde")], frame["y"], frame["s"], client=client)
    same_weights(model, classifier().fit(FRAME, Y, S))
    assert model.feature_names_in_.tolist() == list("abcde")
    labels = predict(model, frame[list("abcde")])
    np.testing.assert_array_equal(client.compute(labels).result(), model.predict(FRAME))


@pytest.mark.parametrize("most", [60, 20_000])
def test_probabilities_do_not_depend_on_partitions_or_the_order_of_rows(most, client):
    # Workers have a module of their own, which a task changes.
    client.run(keep_at_most, most)
    keep_at_most(most)
    try:
        memory = classifier().fit(X, Y, S).predict_proba(X)
        for seed, size in ((0, 23), (1, 115)):
            order = np.random.default_rng(seed).permutation(len(X))
            rows, labels, weight = (da.from_array(each[order], chunks=size) for each in (X, Y, S))
            model = fit(classifier(), rows.rechunk((size, 5)), labels, weight, client=client)
            np.testing.assert_allclose(model.predict_proba(X), memory, rtol=0, atol=1e-6)
    finally:
        client.run(keep_at_most, 20_000)
        keep_at_most(20_000)


def test_regressor_takes_labels_that_are_here(client):
    R, T = curve(n=120)
    targets = np.column_stack([T, -T])
    settings = {"gamma": 0.1, "n_components": 32, "metric": None, "alpha": "auto", "random_state": 0}
    memory, model = lt.KernelRegressor(**settings).fit(R, targets), lt.KernelRegressor(**settings)
    fit(model, da.from_array(R, chunks=(50, 3)), targets, client=client)
    same_weights(model, memory)
    assert predict(model, da.from_array(R, chunks=(50, 3))).shape == (120, 2)


@pytest.mark.parametrize("rows", [ROWS, dd.from_pandas(FRAME, npartitions=5)], ids=["array", "frame"])
def test_settings_left_to_the_data_are_chosen_by_rows_and_labels_of_a_sample(rows, client):
    # The sample is all of so few rows, so the choice is that of one process.
    memory = lt.KernelClassifier(n_components=48, random_state=0).fit(X, Y)
    labels = LABELS if isinstance(rows, da.Array) else dd.from_pandas(pd.Series(Y), npartitions=5)
    model = fit(lt.KernelClassifier(n_components=48, random_state=0), rows, labels, client=client)
    assert model.choice_.source == "rows of a sample"
    assert model.choice_.settings == pytest.approx(memory.choice_.settings)
    tried = [(each.setting, each.chosen) for each in memory.choice_.trials]
    assert [(each.setting, each.chosen) for each in model.choice_.trials] == tried
    assert {name for name, _ in tried} >= {"gamma", "metric", "C"}
    assert model.features_.fingerprint_ == memory.features_.fingerprint_
    found = model.predict(X if isinstance(rows, da.Array) else FRAME)
    np.testing.assert_array_equal(found, memory.predict(X))


def test_weights_of_a_sample_have_a_say_in_the_choice(client):
    # Rows of no weight are as good as not there: labels that mean nothing do not move the choice.
    noise = np.random.default_rng(0).integers(0, 3, len(Y))
    labels, share = np.concatenate([Y, noise]), np.repeat([1.0, 0.0], len(Y))
    twice = da.from_array(np.vstack([X, X]), chunks=(115, 5))
    memory = classifier(gamma="auto").fit(X, Y)
    model = fit(classifier(gamma="auto"), twice, labels, share, client=client)
    assert model.choice_.settings["gamma"] == pytest.approx(memory.choice_.settings["gamma"])
    assert model.choice_.judged_by == memory.choice_.judged_by


def test_a_sample_of_one_class_chooses_nothing_and_the_fit_goes_on(client):
    # Of 18 partitions every second one is looked at.
    labels = np.zeros(len(X), dtype=int)
    labels[13:26] = 1
    rows = da.from_array(X, chunks=(13, 5))
    model = fit(lt.KernelClassifier(random_state=0), rows, labels, client=client)
    assert {**model.choice_.settings, "C": 0, "loss": ""} == {
        "gamma": "scale",
        "n_components": 1024,
        "metric": None,
        "prune": None,
        "loss": "",
        "C": 0,
    }
    assert model.classes_.tolist() == [0, 1]


def test_codes_choose_regularization_and_loss_alone(client, store):
    two = Y > 0
    for codes in (store, encode(ENCODER, ROWS)):
        model = fit(lt.KernelClassifier(random_state=0), codes, two, client=client)
        assert set(model.choice_.settings) == {"C", "loss"}
        assert {each.setting for each in model.choice_.trials} == {"C", "loss"}
        assert model.choice_.source == "codes"
    regressor = fit(lt.KernelRegressor(), store, Y.astype(float), client=client)
    assert set(regressor.choice_.settings) == {"alpha"}


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_store_is_fitted_where_it_lies(loss, client, store):
    settings = {"loss": loss, "C": 1.0}
    memory = lt.KernelClassifier(ENCODER, **settings).fit(CODES, Y, S)
    model = fit(lt.KernelClassifier(**settings), store, sample_weight="s", client=client)
    same_weights(model, memory, 1e-9 if loss == "squared" else 1e-6)
    same_weights(fit(lt.KernelClassifier(**settings), store, Y, S, client=client), model, 1e-12)
    np.testing.assert_allclose(model.predict_proba(X), memory.predict_proba(X), rtol=0, atol=1e-6)
    found = predict(model, store, method="predict_proba")
    np.testing.assert_array_equal(client.compute(found).result(), model.predict_proba(store))


@pytest.mark.parametrize("rows", [ROWS, dd.from_pandas(FRAME, npartitions=3)], ids=["array", "frame"])
def test_store_written_by_the_cluster_is_the_one_of_one_process(rows, client, tmp_path):
    # Shards of 64 rows, so that partitions and shards overlap in every way.
    layout = {"chunk_rows": 16, "shard_chunks": 4}
    array = isinstance(rows, da.Array)
    encoder = lt.RandomFeatures(gamma=0.1, n_components=48, random_state=0).fit(X if array else FRAME)
    labels = LABELS if array else dd.from_pandas(pd.Series(Y), npartitions=3)
    made = encode(encoder, rows).to_store(tmp_path / "dask.zarr", labels, client=client, **layout)
    made.verify()
    assert made[:] == encoder.encode(X if array else FRAME)
    np.testing.assert_array_equal(made.y, Y)
    with lt.CodeStore.create(tmp_path / "here.zarr", encoder, **layout) as here:
        here.append(X if array else FRAME, y=Y)
    files = [path.relative_to(made.path) for path in (made.path / "codes").rglob("*") if path.is_file()]
    assert len(files) == 5
    assert all((made.path / file).read_bytes() == (here.path / file).read_bytes() for file in files)


def test_store_that_fails_leaves_nothing(client, tmp_path):
    bad = encode(ENCODER, ROWS.map_blocks(half_missing))
    with pytest.raises(ValueError, match="NaN"):
        bad.to_store(tmp_path / "codes.zarr", LABELS, client=client)
    assert not (tmp_path / "codes.zarr").exists()
    with pytest.raises(ParameterError, match="y must hold numbers"):
        encode(ENCODER, ROWS).to_store(tmp_path / "codes.zarr", np.array(["a", "b", "c"])[Y], client=client)


@pytest.mark.parametrize("dtype", ["str", "category", "Int64"])
def test_store_refuses_types_that_only_a_data_frame_has(dtype, client, tmp_path):
    with pytest.raises(ParameterError, match="y must hold numbers or truth values"):
        encode(ENCODER, PARTED[list("abcde")]).to_store(tmp_path / "s", PARTED["y"].astype(dtype), client=client)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("more", [0, 30])
def test_store_refuses_columns_in_other_partitions(more, client, tmp_path):
    encoder = lt.RandomFeatures(n_components=48, random_state=0).fit(FRAME)
    labels = dd.from_pandas(pd.Series(np.arange(230 + more)), npartitions=2) if more else UNLIKE
    with pytest.raises(ParameterError, match="y must have a value a row of each partition, 115"):
        encode(encoder, PARTED[list("abcde")]).to_store(tmp_path / "s", labels, client=client)
    assert not (tmp_path / "s").exists()


def test_store_without_rows_has_no_predictions(tmp_path):
    model = lt.KernelClassifier(ENCODER).fit(CODES, Y)
    lt.CodeStore.create(tmp_path / "s", ENCODER).close()
    store = lt.CodeStore.open(tmp_path / "s")
    assert predict(model, store).compute(scheduler="synchronous").shape == (0,)
    shares = predict(model, store, method="predict_proba")
    assert shares.shape == shares.compute(scheduler="synchronous").shape == (0, 3)


def test_search_over_bandwidths_runs_on_the_cluster(client):
    options = {"sketch": lt.Sketch(32, random_state=0), "param_grid": {"gamma": [0.5, 2.0], "C": [0.1, 1.0]}, "cv": 3}
    memory = lt.SketchSearchCV(**options).fit(X, Y)
    search = fit(lt.SketchSearchCV(**options), ROWS, LABELS, client=client)
    for name in ("mean_test_score", "rank_test_score"):
        np.testing.assert_allclose(search.cv_results_[name], memory.cv_results_[name], rtol=1e-9)
    np.testing.assert_array_equal(search.predict(X), memory.predict(X))
    assert search.codes_ is None
    with pytest.raises(ParameterError, match="scoring must ask for decision values"):
        fit(lt.SketchSearchCV(**options, scoring=lambda *parts: 0.0), ROWS, LABELS, client=client)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_fit_that_loses_two_workers_ends_with_the_same_model(loss, client, tmp_path):
    lt.save(CODES, tmp_path / "codes.lowtide")
    settings = {"loss": loss, "C": 0.1}
    calm = fit(lt.KernelClassifier(**settings), Deadly(tmp_path / "codes.lowtide", Y, tmp_path, ()), client=client)
    (tmp_path / "reads").unlink()
    before = set(client.run(os.getpid).values())
    deaths = (1, 2) if loss == "squared" else (5, 9)
    deadly = Deadly(tmp_path / "codes.lowtide", Y, tmp_path, deaths)
    with never_without_workers(client.cluster):
        model = fit(lt.KernelClassifier(**settings), deadly, client=client)
    client.wait_for_workers(1)
    after = set(client.run(os.getpid).values())
    assert (tmp_path / "reads").stat().st_size > deaths[1]
    assert before != after
    np.testing.assert_array_equal(model.coef_, calm.coef_)
    np.testing.assert_array_equal(model.intercept_, calm.intercept_)
    assert model.n_iter_ == calm.n_iter_


def test_predictions_are_lazy_and_know_their_shape(client):
    model = classifier(loss="logistic").fit(X, np.array(["no", "maybe", "yes"])[Y])
    labels, shares = predict(model, ROWS), predict(model, ROWS, method="predict_proba")
    assert labels.chunks == ((50, 50, 50, 50, 30),)
    assert (labels.dtype, shares.shape) == (model.classes_.dtype, (230, 3))
    np.testing.assert_array_equal(client.compute(labels).result(), model.predict(X))
    codes = predict(model, encode(model.features_, ROWS), method="decision_function")
    np.testing.assert_array_equal(client.compute(codes).result(), model.decision_function(X))


def test_client_may_be_an_address_or_the_current_one(client, store):
    address = client.scheduler.address
    by_address = fit(lt.KernelClassifier(random_state=0), store, client=address)
    same_weights(by_address, lt.KernelClassifier(random_state=0).fit(store), 1e-12)
    with client.as_current(), connected(None) as used:
        assert used is client


def test_a_cluster_is_started_and_closed_when_there_is_none():
    with connected(None) as opened:
        assert len(opened.scheduler_info()["workers"]) == len(os.sched_getaffinity(0))
        pids = opened.run(os.getpid).values()
    assert opened.status == "closed"
    end = time.monotonic() + 60
    while [pid for pid in pids if Path(f"/proc/{pid}").exists()]:  # ended, and perhaps not yet collected
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: fit(lt.CodePCA(), ROWS, client=c), "model must be one of KernelClassifier"),
        (lambda c: fit(classifier(train_on="full"), ROWS, LABELS, client=c), "train_on must be 'codes' on a cluster"),
        (lambda c: fit(classifier(), X, Y, client=c), "X must be a Dask array or data frame"),
        (lambda c: fit(classifier(), ROWS, client=c), "y must be passed"),
        (lambda c: fit(classifier(), ROWS, Y[:-1], client=c), "y: must have a value a row, 230, got 229"),
        (lambda c: fit(classifier(), ROWS, LABELS[:-1], client=c), "y: must have a value a row, 230, got 229"),
        (lambda c: fit(classifier(), ROWS, np.zeros(230), client=c), "y must have at least two classes"),
        (lambda c: fit(classifier(bits=None), ROWS, LABELS, client=c), "encoder must have a coded side"),
        (lambda c: fit(classifier(), ROWS.map_blocks(half_missing), LABELS, client=c), "NaN"),
        (lambda c: fit(classifier(), ROWS, LABELS, da.from_array(-S, chunks=50), client=c), "[Nn]egative"),
        (
            lambda c: fit(classifier(gamma="auto"), ROWS, LABELS, 0 * S, client=c),
            "must have a value above 0",
        ),
        (lambda c: fit(classifier(), ROWS, LABELS, client=3), "client must be a distributed.Client"),
        (lambda c: fit(classifier(), ROWS, "label", client=c), "y: must have a value a row, 230, got 'label'"),
        (lambda c: fit(classifier(), ROWS[:, 0], LABELS, client=c), "X: must be 2-D, rows by columns, got '1-D'"),
        (lambda c: fit(classifier(), PARTED, UNLIKE, client=c), "y must have a value a row of each partition, 1"),
        (
            lambda c: fit(classifier(), PARTED, PARTED["y"], UNLIKE, client=c),
            "sample_weight must have a value a row of",
        ),
        (lambda c: encode(ENCODER, ROWS[:, 0]), "X: must be 2-D, rows by columns, got '1-D'"),
        (lambda c: predict(classifier().fit(X, Y), ROWS[:, 0]), "X: must be 2-D, rows by columns, got '1-D'"),
        (lambda c: encode(lt.RandomFeatures(), ROWS), "encoder must be a fitted encoder"),
        (lambda c: encode(ENCODER, X), "X: must be a Dask array"),
        (lambda c: predict(classifier().fit(X, Y), X), "X must be a Dask array or data frame"),
        (lambda c: predict(classifier().fit(X, Y), ROWS, method="transform"), "must have the method transform"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, message, client):
    with pytest.raises(ValueError, match=message):
        call(client)


def test_codes_of_another_encoder_are_refused(client, store):
    other = lt.RandomFeatures(gamma=0.7, n_components=48, random_state=0).fit(X)
    with pytest.raises(FingerprintMismatchError):
        fit(lt.KernelClassifier(FrozenEstimator(other)), store, client=client)


def test_missing_dask_names_the_extra():
    code = "import sys; sys.modules['dask'] = None\nimport lowtide.distributed"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError" in run.stderr
    assert "lowtide[distributed]" in run.stderr


@pytest.fixture(scope="module")
def vectors_store(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "vectors.zarr"
    encoder = lt.VectorCodes(bits=2, metric="l2", random_state=0).fit(X)
    with lt.CodeStore.create(path, encoder, chunk_rows=16, shard_chunks=2) as store:
        store.append(X, y=Y)
    return lt.CodeStore.open(path)


@pytest.mark.parametrize(
    "options",
    [{}, {"where": np.arange(len(X)) % 3 == 0, "ids": "y"}, {"where": [5], "return_std": True}, {"return_std": True}],
    ids=["all", "some", "one", "errors"],
)
def test_a_search_on_workers_finds_what_the_store_finds(options, client, vectors_store):
    found, here = top_k(vectors_store, X[:7], 4, client=client, **options), vectors_store.top_k(X[:7], 4, **options)
    np.testing.assert_array_equal(found.indices, here.indices)
    np.testing.assert_array_equal(found.scores, here.scores)
    if "return_std" in options:
        np.testing.assert_array_equal(found.std, here.std)


def test_only_a_store_of_vectors_is_searched_on_workers(client, store):
    with pytest.raises(ParameterError, match="store must be a CodeStore of VectorCodes"):
        top_k(store, X[:2], client=client)
