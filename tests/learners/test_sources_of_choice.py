"""Where rows come as codes, in a store or in blocks, `choice_` says what was left to choose, and by which rows."""

from __future__ import annotations

import numpy as np
import pytest
from learners.samples import classes

import lowtide as lt

X, Y = classes(n=240, d=4, k=2)
ENCODER = lt.RandomFeatures(gamma=0.1, n_components=48, random_state=0).fit(X)
LEARNERS = {
    "classifier": (lt.KernelClassifier, {"loss", "C"}),
    "regressor": (lt.KernelRegressor, {"alpha"}),
}


@pytest.fixture
def store(tmp_path):
    with lt.CodeStore.create(tmp_path / "s.zarr", ENCODER, chunk_rows=16, shard_chunks=2) as made:
        made.append(X, y=Y)
    return lt.CodeStore.open(tmp_path / "s.zarr")


@pytest.mark.parametrize("kind", LEARNERS)
def test_codes_and_stores_choose_regularization_and_loss_alone(kind, store):
    learner, names = LEARNERS[kind]
    models = [learner(random_state=0).fit(ENCODER.encode(X), Y), learner(random_state=0).fit(store)]
    for model in models:
        assert set(model.choice_.settings) == names
        assert {trial.setting for trial in model.choice_.trials} <= names
        # Equal codes of one label count as one.
        n_unlike = len(np.unique(np.column_stack([store[:].packed, Y]), axis=0))
        assert (model.choice_.source, model.choice_.judged_by) == ("codes", n_unlike)
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", LEARNERS)
def test_given_features_choose_regularization_and_loss_alone(kind):
    learner, names = LEARNERS[kind]
    model = learner(ENCODER, random_state=0).fit(X, Y)
    assert set(model.choice_.settings) == names
    assert model.choice_.source == "rows"


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("way", ["partial_fit", "iterator"])
def test_first_block_chooses_and_is_named(kind, way):
    learner, names = LEARNERS[kind]
    first, rest = slice(0, 200), slice(200, None)
    model = learner(n_components=64, random_state=0)
    if way == "iterator":
        model.fit(iter([(X[first], Y[first]), (X[rest], Y[rest])]))
    else:
        known = {"classes": [0, 1]} if kind == "classifier" else {}
        model.partial_fit(X[first], Y[first], **known).partial_fit(X[rest], Y[rest])
    alone = learner(n_components=64, random_state=0, **({"loss": "squared"} if kind == "classifier" else {}))
    alone.fit(X[first], Y[first])
    assert model.choice_.source == "rows of the first block"
    assert "rows of the first block" in str(model.choice_)
    # What a fit on the block alone would have chosen; classes in blocks have the squared loss.
    assert model.choice_.settings == pytest.approx(alone.choice_.settings)
    assert model.features_.fingerprint_ == alone.features_.fingerprint_
    assert names <= set(model.choice_.settings)


def test_first_block_of_codes_is_named():
    codes = ENCODER.encode(X)
    model = lt.KernelClassifier().partial_fit(codes[:100], Y[:100], classes=[0, 1])
    assert model.choice_.source == "codes of the first block"
    assert set(model.choice_.settings) == {"loss", "C"}


@pytest.mark.parametrize("way", ["partial_fit", "iterator"])
def test_first_block_of_one_class_leaves_features_as_an_encoder_has_them(way):
    one = X[Y == 0]
    model = lt.KernelClassifier(random_state=0)
    if way == "iterator":
        model.fit(iter([(one, np.zeros(len(one), int)), (X, Y)]))
    else:
        model.partial_fit(one, np.zeros(len(one), int), classes=[0, 1]).partial_fit(X, Y)
    given = {name: model.choice_.settings[name] for name in ("gamma", "n_components", "metric", "prune")}
    assert given == {"gamma": "scale", "n_components": 1024, "metric": None, "prune": None}
    assert model.features_.fingerprint_ == lt.RandomFeatures(random_state=0).fit(one).fingerprint_
    assert model.score(X, Y) > 0.8


def test_candidates_share_a_draw_when_no_seed_is_given():
    # What is kept of a draw is worth nothing in another: the kept frequencies must be of the draw that chose them.
    model = lt.KernelClassifier(gamma=0.1, n_components=8, metric=None, prune=8, C=1.0, loss="squared").fit(X, Y)
    many = lt.RandomFeatures(gamma=0.1, n_components=64, random_state=model.features_.random_state).fit(X)
    kept = model.features_.drawn_.kept
    assert len(kept) == 4
    np.testing.assert_array_equal(model.features_.random_weights_, many.random_weights_[:, kept])
