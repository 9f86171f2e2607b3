"""A loaded learner predicts as the saved one, to the rounding of how its weights were kept."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from given import given_classifier, given_regressor
from persist.samples import classifier, encoder, rows
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR, OneClassSVM

import lowtide as lt
from lowtide.errors import FingerprintMismatchError, ParameterError
from lowtide.persist.files import small_weights

LABELS = {
    "int64": np.arange(40) % 3,
    "int8": (np.arange(40) % 3 - 1).astype(np.int8),
    "uint64": np.array([2**64 - 1, 5, 7], dtype=np.uint64)[np.arange(40) % 3],
    "float32": np.array([1.0, 2.0, 3.0], dtype=np.float32)[np.arange(40) % 3],
    "bool": np.arange(40) % 2 == 0,
    "texts": np.array(["cat", "häßlich", 'a "quoted" \\ name'])[np.arange(40) % 3],
    "objects": np.array(["b", "a", ""], dtype=object)[np.arange(40) % 3],
    "series": pd.Series(["b", "a"] * 20),
}


def _round_trip(thing, folder, **options):
    lt.save(thing, folder / "x.lowtide", **options)
    return lt.load(folder / "x.lowtide")


def _absolute_features(model):
    """Return the sum over features of |D_i|, for each row."""
    features = model.features_.transform if model.predict_on == "full" else model.features_.encode
    return np.abs(np.asarray(features(rows()), dtype=np.float64))


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_loaded_classifier_scores_bit_by_bit(loss, n_classes, tmp_path):
    saved = classifier(np.arange(40) % n_classes, loss=loss)
    loaded = _round_trip(saved, tmp_path)
    for method in ("decision_function", "predict", "predict_proba"):
        assert np.array_equal(getattr(loaded, method)(rows()), getattr(saved, method)(rows()))
    assert np.array_equal(loaded.intercept_, saved.intercept_)


@pytest.mark.parametrize("multi", [False, True])
def test_loaded_regressor_predicts_bit_by_bit(multi, tmp_path):
    y = rows()[:, :2] if multi else rows()[:, 0]
    saved = given_regressor(n_components=64, alpha="auto", random_state=0).fit(rows(), y)
    loaded = _round_trip(saved, tmp_path)
    assert loaded.predict(rows()).shape == y.shape
    assert np.array_equal(loaded.predict(rows()), saved.predict(rows()))
    assert loaded.alpha_ == saved.alpha_


@pytest.mark.parametrize("form", ["float64", "float32", "float16", "int8"])
def test_scores_move_by_no_more_than_the_form_of_the_weights_allows(form, tmp_path):
    saved = classifier()
    loaded = _round_trip(saved, tmp_path, weights=form)
    size, largest = np.abs(saved.decision_.weights), np.abs(saved.decision_.weights).max(axis=0)
    error = {"float64": 0.0 * size, "float32": 2.0**-24 * size, "int8": largest / 254 + 0.0 * size}
    error["float16"] = np.maximum(2.0**-11 * size, 2.0**-25 * largest)
    bound = _absolute_features(saved) @ error[form]
    moved = np.abs(loaded.decision_function(rows()) - saved.decision_function(rows()))
    assert np.all(moved <= bound * (1 + 1e-9) + 1e-15 * _absolute_features(saved) @ size)
    assert loaded.decision_.weights.dtype == saved.decision_.weights.dtype


def test_smaller_forms_make_smaller_files(tmp_path):
    model, sizes = classifier(n_components=256), []
    for form in ("float64", "float32", "float16", "int8"):
        lt.save(model, tmp_path / form, weights=form)
        sizes.append(os.path.getsize(tmp_path / form))
    n_weights = 256 * 3
    # Scales, one float64 a column, and their line in the header come with the last two.
    assert sizes[0] - sizes[1] == pytest.approx(4 * n_weights, abs=16)
    assert sizes[1] - sizes[2] == pytest.approx(2 * n_weights, abs=120)
    assert sizes[2] - sizes[3] == pytest.approx(n_weights, abs=16)


@pytest.mark.parametrize("form", ["float16", "int8"])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_forms_with_a_scale_hold_weights_of_any_size(form, scale):
    weights = scale * np.array([[1.0, 0.0, -3.0], [0.5, 0.0, 2.0]])
    stored, factors = small_weights(weights, form)
    back = stored * factors
    np.testing.assert_allclose(back, weights, rtol=0, atol=3 * scale / (254 if form == "int8" else 2**12))
    assert not back[:, 1].any()


@pytest.mark.parametrize("weights", [np.array([[np.nan]]), np.array([[np.inf]]), np.array([[1e300]])])
def test_weights_that_a_form_cannot_hold_are_refused(weights):
    with pytest.raises(ParameterError, match="weights must"):
        small_weights(weights, "float32")


def test_unknown_form_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="weights must be one of 'float64'"):
        lt.save(classifier(), tmp_path / "m.lowtide", weights="float8")


@pytest.mark.parametrize("name", LABELS)
def test_class_labels_come_back_with_their_type(name, tmp_path):
    saved = classifier(LABELS[name])
    loaded = _round_trip(saved, tmp_path)
    assert loaded.classes_.dtype.kind == saved.classes_.dtype.kind
    assert loaded.classes_.tolist() == saved.classes_.tolist()
    if saved.classes_.dtype.kind not in "OU":
        assert loaded.classes_.dtype == saved.classes_.dtype
    assert np.array_equal(loaded.predict(rows()), saved.predict(rows()))


def test_labels_that_json_has_not_are_refused(tmp_path):
    model = classifier()
    days = np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[D]")
    model.decision_ = replace(model.decision_, classes=days)
    with pytest.raises(ParameterError, match="class labels must be numbers, booleans or texts"):
        lt.save(model, tmp_path / "m.lowtide")


@pytest.mark.parametrize("train_on", ["codes", "full"])
@pytest.mark.parametrize("predict_on", ["codes", "full"])
def test_sides_come_back(train_on, predict_on, tmp_path):
    saved = classifier(train_on=train_on, predict_on=predict_on)
    loaded = _round_trip(saved, tmp_path, weights="float64")
    assert np.array_equal(loaded.predict_proba(rows()), saved.predict_proba(rows()))
    assert (loaded.train_on, loaded.decision_.side) == (train_on, predict_on)


@pytest.mark.parametrize(
    "params",
    [
        {"class_weight": {0: 1.0, 1: 2.5, 2: np.float64(3)}},
        {"class_weight": "balanced", "C": "auto", "fit_intercept": False},
        {"loss": "logistic", "max_iter": np.int64(500), "tol": 1e-3, "warm_start": True},
        {"bits": None},
        {"budget": 64, "prune": 2, "metric": "diagonal"},
        {"budget": {"item": 64, "model": np.int64(100_000), "seconds": 1.5}, "n_components": "auto"},
        {"kernel": lt.kernels.Matern(length_scale=2.0, nu=2.5), "gamma": "auto"},
        {"features": lt.RandomFeatures("laplacian", projection="iid", n_components=32, random_state=1)},
    ],
)
def test_parameters_and_attributes_come_back(params, tmp_path):
    saved = classifier(**params)
    loaded = _round_trip(saved, tmp_path, weights="float64")
    assert vars(loaded).keys() == vars(saved).keys()
    plain = {name: value for name, value in saved.get_params().items() if name != "features"}
    assert {name: value for name, value in loaded.get_params().items() if name != "features"} == plain
    assert (loaded.C_, loaded.n_iter_, loaded.features_.fingerprint_) == (
        saved.C_,
        saved.n_iter_,
        saved.features_.fingerprint_,
    )
    again = clone(loaded).fit(rows(), np.arange(40) % 3)
    assert np.array_equal(again.predict(rows()), saved.predict(rows()))


@pytest.mark.parametrize(
    "learner",
    [
        lt.KernelClassifier(n_components=64, budget=8, random_state=0),
        lt.KernelRegressor(n_components=64, metric="full", random_state=0),
        lt.KernelClassifier(encoder(), random_state=0),
    ],
    ids=["classifier", "regressor", "given features"],
)
def test_choice_comes_back_with_all_that_was_tried(learner, tmp_path):
    saved = clone(learner).fit(rows(), np.arange(40) % 2)
    assert saved.choice_.trials
    loaded = _round_trip(saved, tmp_path)
    assert loaded.choice_ == saved.choice_
    assert str(loaded.choice_) == str(saved.choice_)


def test_choice_of_one_row_has_errors_that_nobody_knows_and_comes_back(tmp_path):
    saved = lt.KernelRegressor(n_components=64, random_state=0).partial_fit(rows()[:1], [1.0])
    assert any(np.isinf(trial.error) for trial in saved.choice_.trials)
    assert _round_trip(saved, tmp_path).choice_ == saved.choice_


STRANGE = [
    {"settings": {}},
    {"settings": [["C"]]},
    {"settings": [["C", [1.0]]]},
    {"settings": [["C", True]]},
    {"settings": [["\x1b[2J", 1.0]]},
    {"trials": {}},
    {"trials": [["C", 1.0, 0.5, 0.0]]},
    {"trials": [["C", 1.0, 0.5, 0.0, 1]]},
    {"trials": [["C", 1.0, "0.5", 0.0, True]]},
    {"trials": [["C", 1.0, True, 0.0, True]]},
    {"trials": [["C", {}, 0.5, 0.0, True]]},
    {"trials": [[3, 1.0, 0.5, 0.0, True]]},
    {"judged_by": -1},
    {"judged_by": 0.5},
    {"source": "rows\n"},
    {"source": "r" * 201},
    {"more": 1},
]


@pytest.mark.parametrize("strange", STRANGE, ids=str)
def test_choice_that_nobody_made_is_refused(strange):
    state = classifier().to_state()
    part = state["choice"]
    lt.KernelClassifier.from_state(state)
    with pytest.raises(ParameterError, match="Choice: "):
        lt.KernelClassifier.from_state({**state, "choice": replace(part, spec={**part.spec, **strange})})


@pytest.mark.parametrize("budget", ["64", [64], {"item": "64"}, {"item": 0}, {"bytes": 64}, {"seconds": -1.0}], ids=str)
def test_budget_that_nobody_could_give_is_refused(budget):
    state = classifier().to_state()
    own = state["estimator"]
    spec = {**own.spec, "params": {**own.spec["params"], "budget": budget}}
    with pytest.raises(ParameterError, match="budget"):
        lt.KernelClassifier.from_state({**state, "estimator": replace(own, spec=spec)})


@pytest.mark.parametrize("frozen", [False, True])
def test_encoder_that_was_given_fitted_is_shared_again(frozen, tmp_path):
    given = encoder()
    saved = given_classifier(FrozenEstimator(given) if frozen else given).fit(given.encode(rows()), np.arange(40) % 2)
    loaded = _round_trip(saved, tmp_path, weights="float64")
    kept = loaded.features.estimator if frozen else loaded.features
    assert kept is loaded.features_
    assert np.array_equal(loaded.decision_function(rows()), saved.decision_function(rows()))
    loaded.fit(given.encode(rows()), np.arange(40) % 2)


def test_model_fitted_on_codes_alone_still_wants_codes_of_its_encoder(tmp_path):
    codes = encoder().encode(rows())
    saved = given_classifier().fit(codes, np.arange(40) % 2)
    loaded = _round_trip(saved, tmp_path, weights="float64")
    assert np.array_equal(loaded.decision_function(codes), saved.decision_function(codes))
    with pytest.raises(FingerprintMismatchError):
        loaded.predict(encoder("stochastic").encode(rows()))
    with pytest.raises(ParameterError, match="predicts on Codes"):
        loaded.predict(rows())


def test_columns_keep_their_names(tmp_path):
    frame = pd.DataFrame(rows(), columns=list("abcde"))
    saved = given_regressor(n_components=64, random_state=0).fit(frame, rows()[:, 0])
    loaded = _round_trip(saved, tmp_path, weights="float64")
    assert np.array_equal(loaded.predict(frame), saved.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[list("bacde")])


def test_pickle_works_for_saved_and_loaded_learners(tmp_path):
    saved = classifier(LABELS["texts"])
    for thing in (saved, _round_trip(saved, tmp_path, weights="float64")):
        again = pickle.loads(pickle.dumps(thing))
        assert np.array_equal(again.decision_function(rows()), saved.decision_function(rows()))


def test_loaded_learner_can_be_saved_to_the_same_bytes(tmp_path):
    for form in ("float32", "float64"):
        lt.save(classifier(), tmp_path / "a", weights=form)
        lt.save(lt.load(tmp_path / "a"), tmp_path / "b", weights=form)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_save_of_a_learner_that_is_not_fitted_to_the_end_says_to_fit_it(tmp_path):
    with pytest.raises(ParameterError, match="unfitted KernelClassifier"):
        lt.save(lt.KernelClassifier(), tmp_path / "m.lowtide")
    half = lt.KernelRegressor()
    half.features_ = encoder()  # as when a fit was interrupted
    with pytest.raises(ParameterError, match="unfitted KernelRegressor"):
        lt.save(half, tmp_path / "m.lowtide")
    with pytest.raises(NotFittedError):
        half.predict(rows())


def test_learner_with_an_encoder_of_a_user_is_refused(tmp_path):
    class Own(lt.RandomFeatures):
        pass

    model = given_classifier(Own(n_components=64)).fit(rows(), np.arange(40) % 2)
    with pytest.raises(ParameterError, match="features must be one of RandomFeatures"):
        lt.save(model, tmp_path / "m.lowtide")


EXACT = {
    "svc": lambda: SVC(gamma=0.2).fit(rows(), LABELS["texts"]),
    "svc_two_classes": lambda: SVC(gamma=0.2).fit(rows(), LABELS["bool"]),
    "svr": lambda: SVR(gamma=0.2).fit(rows(), rows()[:, 0]),
    "two_targets": lambda: KernelRidge(kernel="rbf", gamma=0.2).fit(rows(), rows()[:, :2]),
    "scaled_columns": lambda: GaussianProcessRegressor(RBF([1, 2, 3, 4, 5]), alpha=0.1, optimizer=None).fit(
        rows(), rows()[:, 0]
    ),
    "one_class": lambda: OneClassSVM(gamma=0.2).fit(rows()),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("form", ["float32", "int8"])
def test_compressed_machine_comes_back(name, form, tmp_path):
    saved = lt.compress(EXACT[name](), n_components=8192, random_state=0)
    loaded = _round_trip(saved, tmp_path, weights=form)
    assert vars(loaded).keys() == vars(saved).keys()
    assert (loaded.report_, loaded.get_params()) == (saved.report_, saved.get_params())
    if form == "float32":  # what its weights are
        assert np.array_equal(loaded.decision_.scores(rows()), saved.decision_.scores(rows()))
        assert np.array_equal(loaded.predict(rows()), saved.predict(rows()))
        assert np.array_equal(loaded.decision_std(rows()), saved.decision_std(rows()))


@pytest.mark.parametrize("whiten", [False, True])
def test_loaded_components_project_bit_by_bit(whiten, tmp_path):
    saved = lt.CodePCA(3, features=lt.RandomFeatures(n_components=64, random_state=0), whiten=whiten).fit(rows())
    loaded = _round_trip(saved, tmp_path)
    assert np.array_equal(loaded.transform(rows()), saved.transform(rows()))
    # Weights times the scale that they were divided by: a rounding each.
    np.testing.assert_allclose(loaded.components_, saved.components_, rtol=2.0**-51, atol=0)
    for name in ("mean_", "singular_values_", "explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(saved, name))
    assert (loaded.n_samples_, loaded.whiten, loaded.n_components) == (40, whiten, 3)
    assert loaded.get_feature_names_out().tolist() == saved.get_feature_names_out().tolist()
    exact = _round_trip(saved, tmp_path, weights="float64")
    np.testing.assert_array_equal(exact.transform(rows()), saved.transform(rows()))


def test_components_of_codes_alone_are_kept(tmp_path):
    codes = encoder().encode(rows())
    saved = lt.CodePCA(2, random_state=0).fit(codes)
    loaded = _round_trip(saved, tmp_path, weights="float64")
    np.testing.assert_array_equal(loaded.transform(codes), saved.transform(codes))


@pytest.mark.parametrize(
    "broken", [{"mean": np.zeros(3)}, {"spectrum": -np.ones((3, 2))}, {"spectrum": np.ones((2, 2))}]
)
def test_components_of_another_shape_are_refused(broken):
    state = lt.CodePCA(2, random_state=0).fit(encoder().encode(rows())).to_state()
    pca = state["pca"]
    with pytest.raises(ParameterError, match="mean and spectrum must be finite"):
        lt.CodePCA.from_state({**state, "pca": replace(pca, arrays={**pca.arrays, **broken})})
