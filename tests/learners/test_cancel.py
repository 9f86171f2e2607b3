"""Fits, predictions and appends that are stopped leave what was there before."""

import contextlib
from copy import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import lowtide as lt
from lowtide.errors import CancelledError
from lowtide.store import writing

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1500, 8)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


def features(seed=0):
    return lt.RandomFeatures(n_components=512, bits=1, gamma=0.1, random_state=seed)


MODELS = {
    "squared": lt.KernelClassifier(features=features(), loss="squared", C=1.0),
    "dual": lt.KernelClassifier(features=features(), loss="squared", C=1.0, solver="dual"),
    "iterative": lt.KernelClassifier(features=features(), loss="squared", C=1.0, solver="iterative"),
    "squared_hinge": lt.KernelClassifier(features=features(), loss="squared_hinge", C=1.0),
    "logistic": lt.KernelClassifier(features=features(), loss="logistic", C=1.0),
    "hinge": lt.KernelClassifier(features=features(), loss="hinge", C=1.0),
    "full": lt.KernelClassifier(features=features(), loss="squared", C=1.0, train_on="full", predict_on="full"),
    "regressor": lt.KernelRegressor(features=features(), alpha=1.0),
    "asymmetric": lt.AsymmetricLSSVC(random_state=0),
    "pca": lt.CodePCA(n_components=3, features=features()),
}


def stopped_after(seconds, work, model=None):
    """Return a copy of a model after work on it that a deadline stopped: a sooner one where work was done before."""
    while True:
        tried = copy(model)
        try:
            with lt.CancelToken(seconds=seconds):
                work(tried)
        except CancelledError:
            return tried
        seconds /= 2


@pytest.mark.parametrize("name", MODELS)
def test_stopped_fit_leaves_the_model_as_it_was(name):
    model = clone(MODELS[name]).fit(X, Y)
    answer = type(model).predict if hasattr(model, "predict") else type(model).transform
    before = answer(model, X)
    for seconds in (0.0005, 0.005, 0.02):
        stopped = stopped_after(seconds, lambda tried: tried.fit(X[::-1] + 1.0, Y[::-1]), model)
        assert vars(stopped) == vars(model)
        np.testing.assert_array_equal(answer(stopped, X), before)


@pytest.mark.parametrize("name", ["squared", "logistic", "regressor"])
def test_first_fit_that_is_stopped_leaves_the_model_not_fitted(name):
    model = stopped_after(0.002, lambda tried: tried.fit(X, Y), clone(MODELS[name]))
    with pytest.raises(NotFittedError):
        model.predict(X)
    np.testing.assert_array_equal(model.fit(X, Y).predict(X), clone(MODELS[name]).fit(X, Y).predict(X))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_partial_fit_that_is_stopped_while_it_adds_leaves_the_model_not_fitted(loss, monkeypatch):
    model = lt.KernelClassifier(features=features(), loss=loss, C=1.0).partial_fit(X, Y, classes=[0, 1])
    before = model.predict(X)
    token = lt.CancelToken()
    token.cancel()
    with pytest.raises(CancelledError), token:
        model.partial_fit(X, Y)
    # Rows were stopped before they were codes: nothing was added.
    np.testing.assert_array_equal(model.predict(X), before)

    def stopped(*_):
        raise CancelledError

    monkeypatch.setattr(type(model._stream), "add", stopped)
    with pytest.raises(CancelledError):
        model.partial_fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_stopped_prediction_raises_and_the_next_is_right():
    model = clone(MODELS["squared"]).fit(X, Y)
    many = np.tile(X, (20, 1))
    expected = model.predict(many)
    stopped_after(0.005, lambda _: model.predict(many))
    np.testing.assert_array_equal(model.predict(many), expected)


def test_stopped_append_leaves_the_store_as_it_was(tmp_path):
    encoder, many = features().fit(X), np.tile(X, (40, 1))
    with lt.CodeStore.create(tmp_path / "store", encoder, chunk_rows=256, shard_chunks=4) as store:
        store.append(X)
        files = sorted(path.name for path in (tmp_path / "store").rglob("*"))
        for seconds in (0.002, 0.01, 0.03):
            before = store.n_rows
            with contextlib.suppress(CancelledError), lt.CancelToken(seconds=seconds):
                store.append(many)
            # A machine may be done before the time is out.
            assert store.n_rows in (before, before + len(many))
            if store.n_rows == len(X):
                assert sorted(path.name for path in (tmp_path / "store").rglob("*")) == files
        n = store.n_rows
        store.append(X[:100])
        assert store.n_rows == n + 100
    with lt.CodeStore.open(tmp_path / "store") as store:
        np.testing.assert_array_equal(store[n : n + 100].packed, encoder.encode(X[:100]).packed)


def test_append_is_not_stopped_once_its_rows_are_committed(tmp_path, monkeypatch):
    token, encoder = lt.CancelToken(), features().fit(X)

    def commit_late(root, manifest):
        token.cancel()
        commit(root, manifest)

    commit = writing.commit
    with lt.CodeStore.create(tmp_path / "store", encoder) as store:
        monkeypatch.setattr(writing, "commit", commit_late)
        with token:
            store.append(X)
        assert store.n_rows == len(X)
    with lt.CodeStore.open(tmp_path / "store") as store:
        np.testing.assert_array_equal(store[:].packed, encoder.encode(X).packed)
