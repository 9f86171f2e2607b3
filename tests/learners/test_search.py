"""SketchSearchCV: the scores of scikit-learn's search from one sketch and shared sums."""

import pickle

import matplotlib as mpl
import numpy as np
import pytest
from learners.samples import classes, classifier, curve, regressor
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold

import lowtide as lt
from lowtide.errors import BiasWarning, CodeLayoutError, FingerprintMismatchError, MissingExtraError, ParameterError
from lowtide.quantizers import GivenSteps

mpl.use("Agg")
GRID = {"gamma": [0.2, 1.0, 5.0], "C": [0.1, 1.0, 100.0]}
FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)


def sketch_of(X, **parameters):
    return lt.Sketch(**{"n_components": 40, "random_state": 0, **parameters}).fit(X)


def one_by_one(model, S, y, grid, cv, scoring=None):
    """Mean scores by scikit-learn's own search, a gamma at a time."""
    others = {name: values for name, values in grid.items() if name != "gamma"}
    found = []
    for gamma in grid["gamma"]:
        search = GridSearchCV(model, others, cv=cv, scoring=scoring).fit(lt.fourier_codes(S, gamma), y)
        found.append([search.cv_results_[f"split{i}_test_score"] for i in range(search.n_splits_)])
    return np.concatenate(found, axis=1).T


def scores(search):
    return np.stack([search.cv_results_[f"split{i}_test_score"] for i in range(search.n_splits_)], axis=1)


@pytest.mark.parametrize("cv", [FOLDS, 3, KFold(2), ShuffleSplit(3, test_size=0.3, random_state=0)], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_are_those_of_scikit_learns_search(n_classes, cv):
    X, y = classes(n=120, k=n_classes)
    S = sketch_of(X).encode(X)
    search = lt.SketchSearchCV(param_grid=GRID, cv=cv).fit(S, y)
    np.testing.assert_allclose(scores(search), one_by_one(classifier(), S, y, GRID, cv), atol=1e-12)


def test_folds_that_test_a_row_twice_are_summed_anew():
    X, y = classes(n=80)
    S = sketch_of(X).encode(X)
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    search = lt.SketchSearchCV(param_grid=GRID, cv=cv).fit(S, y)
    np.testing.assert_allclose(scores(search), one_by_one(classifier(), S, y, GRID, cv), atol=1e-12)


def test_folds_that_train_on_the_rows_they_test_are_summed_anew():
    X, y = classes(n=80)
    S = sketch_of(X).encode(X)
    cv = [(half, half) for half in np.split(np.arange(80), 2)]
    search = lt.SketchSearchCV(param_grid=GRID, cv=cv).fit(S, y)
    np.testing.assert_allclose(scores(search), one_by_one(classifier(), S, y, GRID, cv), atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_targets", [None, 2])
def test_regression_scores_are_those_of_scikit_learns_search(n_targets, fit_intercept):
    X, y = curve(n=90)
    y = y if n_targets is None else np.column_stack([y, y**2])
    grid = {"gamma": [0.3, 3.0], "alpha": [1e-3, 0.1, 10.0]}
    S = sketch_of(np.column_stack([X, np.ones(len(X))])).encode(np.column_stack([X, np.ones(len(X))]))
    model = regressor(fit_intercept=fit_intercept)
    search = lt.SketchSearchCV(model, param_grid=grid, cv=5).fit(S, y)
    np.testing.assert_allclose(scores(search), one_by_one(model, S, y, grid, 5), rtol=1e-7, atol=1e-7)
    assert search.predict(S[:4]).shape == y[:4].shape


@pytest.mark.parametrize(
    ("model", "grid", "scoring"),
    [
        (classifier(loss="logistic"), GRID, None),
        (classifier(class_weight="balanced"), GRID, None),
        (classifier(), {"gamma": [1.0], "loss": ["squared", "squared_hinge"], "C": [1.0]}, None),
        (classifier(), {"gamma": [1.0], "C": ["auto", 1.0]}, None),
        (classifier(), GRID, "neg_log_loss"),
        (classifier(), GRID, "balanced_accuracy"),
        (classifier(C=3.0), {"gamma": [0.1, 1.0]}, "roc_auc_ovr"),
        (classifier(), GRID, "f1_macro"),
    ],
    ids=str,
)
def test_other_losses_weights_and_scorers_agree_with_scikit_learn(model, grid, scoring):
    X, y = classes(n=90, k=3)
    S = sketch_of(X).encode(X)
    search = lt.SketchSearchCV(model, param_grid=grid, cv=FOLDS, scoring=scoring).fit(S, y)
    np.testing.assert_allclose(scores(search), one_by_one(model, S, y, grid, FOLDS, scoring), atol=1e-7)


def test_scorer_of_decision_values_agrees_with_scikit_learn():
    X, y = classes(n=90, k=2)
    S = sketch_of(X).encode(X)
    for scoring in ("roc_auc", make_scorer(lambda a, b: float(np.sum(a == b)))):
        search = lt.SketchSearchCV(param_grid=GRID, cv=FOLDS, scoring=scoring).fit(S, y)
        np.testing.assert_allclose(scores(search), one_by_one(classifier(), S, y, GRID, FOLDS, scoring), atol=1e-9)
        assert search.score(S, y) == pytest.approx(float(search.scorer_(search.best_estimator_, S, y)))


def test_results_have_the_form_of_scikit_learns():
    X, y = classes(n=80)
    S = sketch_of(X).encode(X)
    ours = lt.SketchSearchCV(param_grid=GRID, cv=FOLDS).fit(S, y)
    theirs = GridSearchCV(classifier(), {"C": GRID["C"]}, cv=FOLDS).fit(lt.fourier_codes(S, 1.0), y)
    assert set(ours.cv_results_) == {*theirs.cv_results_, "param_gamma"}
    assert ours.cv_results_["params"] == [{"gamma": g, "C": C} for g in GRID["gamma"] for C in GRID["C"]]
    mean = scores(ours).mean(axis=1)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], mean)
    np.testing.assert_allclose(ours.cv_results_["std_test_score"], scores(ours).std(axis=1))
    assert ours.best_index_ == np.argmax(mean)
    assert ours.best_score_ == mean.max()
    assert ours.best_params_ == ours.cv_results_["params"][ours.best_index_]
    assert ours.cv_results_["rank_test_score"][ours.best_index_] == 1
    assert np.all(ours.cv_results_["mean_fit_time"] > 0)


def test_best_model_is_the_one_fitted_on_all_rows():
    X, y = classes(n=100)
    S = sketch_of(X).encode(X)
    search = lt.SketchSearchCV(param_grid=GRID, cv=FOLDS).fit(S, y)
    gamma, C = search.best_params_["gamma"], search.best_params_["C"]
    model = classifier(C=C).fit(lt.fourier_codes(S, gamma), y)
    np.testing.assert_allclose(search.decision_function(S), model.decision_function(lt.fourier_codes(S, gamma)))
    np.testing.assert_array_equal(search.predict(S), model.predict(lt.fourier_codes(S, gamma)))
    np.testing.assert_allclose(search.predict_proba(S), model.predict_proba(lt.fourier_codes(S, gamma)))
    np.testing.assert_array_equal(search.classes_, model.classes_)


def test_raw_rows_are_sketched_once_and_predict_like_their_codes():
    X, y = classes(n=100)
    search = lt.SketchSearchCV(param_grid=GRID, sketch=lt.Sketch(40, random_state=0), cv=FOLDS).fit(X, y)
    codes = sketch_of(X).encode(X)
    assert search.codes_ == codes
    np.testing.assert_allclose(
        scores(search), scores(lt.SketchSearchCV(param_grid=GRID, cv=FOLDS).fit(codes, y)), atol=1e-12
    )
    np.testing.assert_array_equal(search.predict(X), search.predict(codes))
    # Codes with any codebook of the sketch give the same answer: the model has its own.
    np.testing.assert_array_equal(search.predict(lt.fourier_codes(codes, 4.0)), search.predict(codes))
    assert search.score(X, y) == search.score(codes, y)


def test_codes_with_their_sketch_predict_raw_rows():
    X, y = classes(n=100)
    sketch = sketch_of(X)
    for given in (sketch, FrozenEstimator(sketch)):
        search = lt.SketchSearchCV(param_grid=GRID, sketch=given, cv=FOLDS).fit(sketch.encode(X), y)
        np.testing.assert_array_equal(search.predict(X), search.predict(sketch.encode(X)))
        assert search.n_features_in_ == X.shape[1]
    alone = lt.SketchSearchCV(param_grid=GRID, cv=FOLDS).fit(sketch.encode(X), y)
    with pytest.raises(ParameterError, match="fitted on Codes alone predicts on Codes"):
        alone.predict(X)


def test_codes_of_steps_of_ones_own_are_searched_with_their_sketch():
    X, y = classes()
    sketch = sketch_of(X, quantizer=GivenSteps([-1.0, -0.1, 0.8], [-1.5, -0.5, 0.4, 1.4]))
    S, grid = sketch.encode(X), {"gamma": [0.1, 0.2], "C": [1.0]}
    search = lt.SketchSearchCV(param_grid=grid, sketch=sketch, cv=2).fit(S, y)
    np.testing.assert_array_equal(search.predict(X), search.predict(S))
    with pytest.raises(CodeLayoutError, match="need quantizer="):
        lt.SketchSearchCV(param_grid=grid, cv=2).fit(S, y)


def test_frozen_sketch_is_kept_for_raw_rows():
    X, y = classes(n=100)
    sketch = sketch_of(X)
    search = lt.SketchSearchCV(param_grid=GRID, sketch=FrozenEstimator(sketch), cv=FOLDS).fit(X, y)
    assert search.sketch_ is sketch
    assert sketch.gamma_ is None


def test_best_model_can_be_saved_and_says_its_gamma(tmp_path):
    X, y = classes(n=100)
    search = lt.SketchSearchCV(param_grid=GRID, sketch=lt.Sketch(40, random_state=0), cv=FOLDS).fit(X, y)
    lt.save(search.best_estimator_, tmp_path / "tuned.lowtide", weights="float64")
    loaded = lt.load(tmp_path / "tuned.lowtide")
    np.testing.assert_array_equal(loaded.decision_function(X), search.decision_function(X))
    assert loaded.features_.gamma_ == search.best_params_["gamma"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict(X), search.predict(X))


def test_default_grid_and_sketch():
    X, y = classes(n=60)
    search = lt.SketchSearchCV(cv=2, sketch=lt.Sketch(16, random_state=0)).fit(X, y)
    assert len(search.cv_results_["params"]) == 80
    one = lt.SketchSearchCV(param_grid={"gamma": [1.0]}, cv=2, random_state=0).fit(X, y)
    assert (one.sketch_.n_components, one.sketch_.bits) == (1024, 4)
    values = lt.SketchSearchCV(regressor(), cv=2, sketch=lt.Sketch(16, random_state=0)).fit(X, X[:, 0])
    assert set(values.best_params_) == {"gamma", "alpha"}


def test_search_is_a_classifier_or_a_regressor_as_its_model_is():
    assert is_classifier(lt.SketchSearchCV())
    assert is_regressor(lt.SketchSearchCV(regressor()))
    assert not hasattr(lt.SketchSearchCV(regressor()), "predict_proba")


def test_a_best_gamma_beyond_the_bits_is_warned_of():
    X, y = classes(n=60)
    S = sketch_of(X, bits=1).encode(X)
    with pytest.warns(BiasWarning, match="1-bit sketch"):
        lt.SketchSearchCV(param_grid={"gamma": [8.0], "C": [1.0]}, cv=2).fit(S, y)


def test_without_refit_there_is_no_model():
    X, y = classes(n=60)
    search = lt.SketchSearchCV(param_grid=GRID, cv=2, refit=False).fit(sketch_of(X).encode(X), y)
    assert search.best_score_ > 0.5
    with pytest.raises(ParameterError, match="refit must be True to predict"):
        search.predict(X)


def test_plot_draws_a_line_a_strength_and_marks_the_best():
    X, y = classes(n=60)
    search = lt.SketchSearchCV(param_grid=GRID, cv=2).fit(sketch_of(X).encode(X), y)
    ax = search.plot()
    assert [line.get_label() for line in ax.lines[:3]] == ["C=0.1", "C=1", "C=100"]
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), GRID["gamma"])
    assert ax.lines[-1].get_ydata()[0] == search.best_score_
    assert search.plot(ax) is ax


def test_plot_without_matplotlib_names_the_extra(monkeypatch):
    X, y = classes(n=60)
    search = lt.SketchSearchCV(param_grid=GRID, cv=2).fit(sketch_of(X).encode(X), y)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"lowtide\[report\]"):
        search.plot()


def test_progress_is_a_step_a_gamma_and_one_for_the_refit():
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")
    from learners.test_machine import Recorder

    X, y = classes(n=60)
    recorder = Recorder()
    lt.SketchSearchCV(param_grid=GRID, cv=2).set_callbacks(recorder).fit(sketch_of(X).encode(X), y)
    assert recorder.ended == ["gamma"] * 3 + ["refit", "fit"]


def test_verbose_shows_a_bar(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    X, y = classes(n=60)
    lt.SketchSearchCV(param_grid=GRID, cv=2, verbose=1).fit(sketch_of(X).encode(X), y)
    assert "SketchSearchCV.fit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"param_grid": {"C": [1.0]}}, "param_grid must be a dict with values of 'gamma'"),
        ({"param_grid": [{"gamma": [1.0]}]}, "param_grid must be a dict"),
        ({"param_grid": {"gamma": []}}, "at least one gamma"),
        ({"param_grid": {"gamma": [-1.0]}}, "each gamma must be a finite number above 0"),
        ({"param_grid": {"gamma": ["scale"]}}, "each gamma must be a finite number above 0"),
        ({"param_grid": {"gamma": [1.0], "depth": [3]}}, "must name gamma and parameters of the estimator"),
        ({"param_grid": {"gamma": [1.0], "C": [0.0]}}, "C must be a finite number above 0"),
        ({"estimator": classifier(lt.RandomFeatures())}, "without features"),
        ({"estimator": "svm"}, "must be a KernelClassifier or KernelRegressor"),
        ({"sketch": lt.RandomFeatures()}, "sketch must be a Sketch"),
    ],
    ids=str,
)
def test_parameters_that_do_not_fit_are_refused(parameters, message):
    X, y = classes(n=40)
    with pytest.raises(ParameterError, match=message):
        lt.SketchSearchCV(**parameters).fit(X, y)


@pytest.mark.parametrize("values", [1.0, "auto"])
def test_values_of_the_grid_must_be_lists(values):
    X, y = classes()
    with pytest.raises(TypeError, match="'C' needs to be a list or"):
        lt.SketchSearchCV(param_grid={"gamma": [1.0], "C": values}).fit(X, y)


def test_codes_that_do_not_fit_are_refused():
    X, y = classes(n=40)
    S = sketch_of(X).encode(X)
    with pytest.raises(CodeLayoutError, match="codes must come from a Sketch"):
        lt.SketchSearchCV().fit(lt.RandomFeatures(n_components=32).fit(X).encode(X), y)
    with pytest.raises(FingerprintMismatchError, match="must come from the given sketch"):
        lt.SketchSearchCV(sketch=sketch_of(X, random_state=5)).fit(S, y)
    with pytest.raises(ParameterError, match="a value a row, 40"):
        lt.SketchSearchCV().fit(S, y[:30])
    with pytest.raises(ParameterError, match="y a value a row"):
        lt.SketchSearchCV().fit(S)
    with pytest.raises(ParameterError, match="codes must have rows"):
        lt.SketchSearchCV().fit(S[:0], y[:0])
    with pytest.raises(NotFittedError):
        lt.SketchSearchCV(sketch=lt.Sketch()).fit(S, y)
    with pytest.raises(NotFittedError):
        lt.SketchSearchCV().predict(X)
