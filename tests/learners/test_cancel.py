"""Fits, predictions and appends that are stopped leave what was there before."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import lowtide as lt
from lowtide.errors import CancelledError

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
    "pca": lt.CodePCA(n_components=3, features=features()),
}


def stop_after(seconds, work):
    """Run work under a deadline until it is stopped: sooner on a machine that is done before."""
    while True:
        try:
            with lt.CancelToken(seconds=seconds):
                work()
        except CancelledError:
            return
        seconds /= 2


@pytest.mark.parametrize("name", MODELS)
def test_stopped_fit_leaves_the_model_as_it_was(name):
    model = clone(MODELS[name]).fit(X, Y)
    answer = getattr(model, "predict", getattr(model, "transform", None))
    before, attributes = answer(X), dict(vars(model))
    for seconds in (0.0005, 0.005, 0.02):
        stop_after(seconds, lambda: model.fit(X[::-1] + 1.0, Y[::-1]))
        assert vars(model) == attributes
        np.testing.assert_array_equal(answer(X), before)


@pytest.mark.parametrize("name", ["squared", "logistic", "regressor"])
def test_first_fit_that_is_stopped_leaves_the_model_not_fitted(name):
    model = clone(MODELS[name])
    stop_after(0.002, lambda: model.fit(X, Y))
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
    stop_after(0.005, lambda: model.predict(many))
    np.testing.assert_array_equal(model.predict(many), expected)


def test_stopped_append_leaves_the_store_as_it_was(tmp_path):
    encoder, many = features().fit(X), np.tile(X, (40, 1))
    with lt.CodeStore.create(tmp_path / "store", encoder, chunk_rows=256, shard_chunks=4) as store:
        store.append(X)
        files = sorted(path.name for path in (tmp_path / "store").rglob("*"))
        for seconds in (0.002, 0.02, 0.05):
            before = store.n_rows

            def append_one_time_only():
                store.append(many)
                raise AssertionError("an append was not stopped")

            with pytest.raises((CancelledError, AssertionError)), lt.CancelToken(seconds=seconds):
                append_one_time_only()
            assert store.n_rows in (before, before + len(many))
            if store.n_rows == len(X):
                assert sorted(path.name for path in (tmp_path / "store").rglob("*")) == files
        n = store.n_rows
        store.append(X[:100])
        assert store.n_rows == n + 100
    with lt.CodeStore.open(tmp_path / "store") as store:
        np.testing.assert_array_equal(store[n : n + 100].packed, encoder.encode(X[:100]).packed)
