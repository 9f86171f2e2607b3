"""The decision is all that a learner keeps: it scores rows, codes, features and tables by itself."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from given import given_classifier
from learners.samples import classes, classifier, curve, regressor
from learners.sources import Blocks
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import lowtide as lt
from lowtide.errors import FileFormatError, FingerprintMismatchError, LowtideError
from lowtide.learners import LEARNERS, Decision, as_model
from lowtide.spec import Part
from lowtide.tables import Number, Recipe

X, Y = classes(n=90)
_, TARGET = curve(n=90)
CODES = lt.RandomFeatures(gamma=0.1, n_components=24, random_state=0).fit(X).encode(X)
SKETCH = lt.Sketch(24, bits=3, random_state=0).fit(X)


def fitted():
    """Models of every kind, side and rule."""
    small = {"gamma": 0.1, "n_components": 24, "random_state": 0}
    return {
        "classes": classifier(**small).fit(X, Y),
        "two-classes": classifier(**small, loss="logistic").fit(X, np.where(Y > 0, "b", "a")),
        "full": classifier(**small, bits=None).fit(X, Y),
        "codes-full": classifier(**small, predict_on="full").fit(X, Y),
        "codes-alone": classifier().fit(CODES, Y),
        "sketch": classifier(SKETCH, C=3.0).fit(SKETCH.fourier(SKETCH.encode(X), 0.7), Y),
        "frame": classifier(**small).fit(pd.DataFrame(X, columns=list("abcde")), Y),
        "values": regressor(**small).fit(X, TARGET),
        "targets": regressor(**small).fit(X, np.column_stack([TARGET, -TARGET])),
        "two-sided": lt.AsymmetricLSSVC(n_components=24, random_state=0).fit(X, Y),
        "two-sided-codes": lt.AsymmetricLSSVC(
            lt.AsymmetricFeatures(n_components=24, bits=2, random_state=0), role="target"
        ).fit(X, Y),
        "votes": lt.compress(SVC().fit(X, Y), n_components=1024, random_state=0),
        "svr": lt.compress(SVR().fit(X, TARGET), n_components=1024, query="full", random_state=0),
        "sign": lt.compress(OneClassSVM().fit(X), n_components=1024, random_state=0),
        "scaled": lt.compress(
            GaussianProcessRegressor(RBF([1.0, 2.0, 3.0, 4.0, 5.0]), optimizer=None, alpha=0.5).fit(X, TARGET),
            n_components=1024,
            random_state=0,
        ),
    }  # fmt: skip


MODELS = fitted()
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def rows_of(model):
    """Rows, or codes for a model that has no encoder."""
    return CODES if model.decision_.encoder is None else X


def answers(model, rows):
    methods = {"predictions": "predict", "scores": "decision_function", "probabilities": "predict_proba"}
    return {name: getattr(model, methods[name])(rows) for name in model.decision_.outputs}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@each_model
def test_decision_answers_as_its_learner_does(model):
    decision, rows = model.decision_, rows_of(model)
    expected = answers(model, rows)
    assert expected
    scores = decision.scores(rows)
    for name, values in expected.items():
        np.testing.assert_array_equal(decision.answer(name, scores), values)
    np.testing.assert_array_equal(decision.predict(rows), expected["predictions"])
    np.testing.assert_array_equal(decision.values(rows), expected.get("scores", expected["predictions"]))
    if "probabilities" in expected:
        np.testing.assert_array_equal(decision.probabilities(rows), expected["probabilities"])
        np.testing.assert_array_equal(decision.log_probabilities(rows), model.predict_log_proba(rows))
    assert scores.dtype == np.float64
    assert scores.shape == (len(X), len(decision.intercept))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@each_model
def test_decision_and_learner_come_back_from_their_state(model):
    rows = rows_of(model)
    scores = model.decision_.scores(rows)
    kept = model.decision_.to_state()
    again = Decision.from_state(kept)
    np.testing.assert_array_equal(again.scores(rows), scores)
    assert (again.task, again.outputs, again.columns, again.fingerprint, again.n_features, again.nbytes) == (
        model.decision_.task,
        model.decision_.outputs,
        model.decision_.columns,
        model.decision_.fingerprint,
        model.n_features_in_,
        model.decision_.nbytes,
    )
    learner = type(model).from_state(model.to_state())
    for name, values in answers(model, rows).items():
        np.testing.assert_array_equal(answers(learner, rows)[name], values)
    assert LEARNERS[type(model).__name__] is type(model)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model.decision_)).scores(rows), scores)


def test_decision_is_frozen():
    with pytest.raises(FrozenInstanceError):
        MODELS["classes"].decision_.intercept = np.zeros(3)


@each_model
def test_one_row_has_the_score_that_it_has_among_others(model):
    rows = rows_of(model)
    scores = model.decision_.scores(rows)
    alone = np.concatenate([model.decision_.scores(rows[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(alone, scores[:5], rtol=1e-12, atol=1e-12)
    assert model.decision_.scores(rows[:0]).shape == (0, scores.shape[1])


@pytest.mark.parametrize("rows", [X[:1], X[:3].astype(np.float32), X[10:25], X[:0], X[:9:2], sparse.csr_matrix(X[:2])])
@pytest.mark.parametrize(
    "features",
    [
        {},
        {"bits": 3},
        {"bits": 6},
        {"bits": 2, "quantizer": "phase"},
        {"bits": 2, "quantizer": "stochastic"},
        {"projection": "iid", "feature_map": "cosine"},
    ],
    ids=str,
)
def test_few_rows_score_as_their_codes(features, rows):
    encoder = lt.RandomFeatures(gamma=0.1, n_components=150, random_state=0, **features)
    decision = classifier(encoder).fit(X, Y).decision_
    codes = decision.encode(rows)
    np.testing.assert_array_equal(decision.scores(rows), decision.scores(codes))
    # Either is a sum of 150 products and an intercept: 152 roundings of each term, in whatever order.
    D, W = np.asarray(codes, dtype=np.float64), decision.weights
    bound = 152 * 2.0**-53 * (np.abs(D) @ np.abs(W) + np.abs(decision.intercept))
    assert (np.abs(decision.scores(rows) - (D @ W + decision.intercept)) <= 2 * bound).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e39])
def test_one_row_that_is_no_number_is_refused(bad):
    row = X[:1].copy()
    row[0, 2] = bad
    for ask in (MODELS["classes"].predict, MODELS["classes"].decision_.scores):
        with pytest.raises(ValueError, match="NaN|float32"):
            ask(row)


def test_codes_and_their_sources_score_as_their_rows():
    model = MODELS["classes"]
    codes = model.decision_.encode(X)
    expected = model.decision_.scores(X)
    np.testing.assert_array_equal(model.decision_.scores(codes), expected)
    np.testing.assert_array_equal(model.decision_.scores(Blocks(codes)), expected)
    np.testing.assert_array_equal(model.decision_.predict(Blocks(codes)), model.predict(X))
    sketch = MODELS["sketch"].decision_
    levels = SKETCH.encode(X)
    np.testing.assert_array_equal(sketch.scores(levels), sketch.scores(SKETCH.fourier(levels, 0.2)))


def test_decision_says_what_it_takes():
    takes = {name: (m.decision_.takes_codes, m.decision_.takes_features) for name, m in MODELS.items()}
    assert takes["classes"] == (True, True)
    assert takes["full"] == (False, True)
    assert takes["codes-alone"] == (True, False)
    assert takes["two-sided"] == takes["two-sided-codes"] == (False, False)


def test_features_of_the_full_side_are_scored_in_place_of_rows():
    for name in ("full", "codes-full"):
        model = MODELS[name]
        np.testing.assert_allclose(
            model.decision_.scores_of_features(model.features_.transform(X)), model.decision_.scores(X), rtol=1e-12
        )
    coded = MODELS["classes"]
    F = coded.features_.transform(X)
    np.testing.assert_allclose(coded.decision_.scores_of_features(F), F @ coded.coef_.T + coded.intercept_, rtol=1e-5)
    with pytest.raises(LowtideError, match="24 columns"):
        coded.decision_.scores_of_features(F[:, :7])
    with pytest.raises(LowtideError, match="a row a feature of the full side"):
        MODELS["codes-alone"].decision_.scores_of_features(F)


def test_what_cannot_be_scored_is_refused():
    decision = MODELS["classes"].decision_
    with pytest.raises(FingerprintMismatchError, match="must come from the model's encoder, fingerprint"):
        decision.scores(lt.RandomFeatures(n_components=24, random_state=9).fit(X).encode(X))
    finer = lt.RandomFeatures(gamma=0.1, n_components=24, bits=2, random_state=0).fit(X)
    assert finer.fingerprint_ == decision.fingerprint
    with pytest.raises(FingerprintMismatchError, match="must come from the model's encoder, side"):
        decision.scores(finer.encode(X))
    with pytest.raises(LowtideError, match="5 columns, got 3"):
        decision.scores(X[:, :3].astype(np.float16))
    with pytest.raises(ValueError, match="NaN"):
        decision.scores(np.full((2, 5), np.nan))
    with pytest.raises(LowtideError, match="must not be coded"):
        MODELS["full"].decision_.scores(CODES)
    with pytest.raises(LowtideError, match="rows, which have two sides"):
        MODELS["two-sided-codes"].decision_.scores(CODES)
    with pytest.raises(LowtideError, match=r"columns must be \['a', 'b', 'c', 'd', 'e'\]"):
        MODELS["frame"].decision_.scores(pd.DataFrame(X, columns=list("edcba")))
    with pytest.raises(LowtideError, match="output must be one of 'predictions'"):
        MODELS["values"].decision_.answer("probabilities", np.zeros((2, 1)))
    with pytest.raises(LowtideError, match="calibrated"):
        MODELS["votes"].decision_.probabilities(X)
    with pytest.raises(LowtideError, match="two maps"):
        decision.map_scores(X, "source")


@pytest.mark.parametrize(
    ("name", "changes", "arrays"),
    [
        ("classes", {"classes": None}, {}),
        ("classes", {"calibration": 1.5}, {}),
        ("classes", {"calibration": {"knots": [0.0], "slopes": [1.0, -1.0]}}, {}),
        ("classes", {"columns": ["a"]}, {}),
        ("classes", {"fingerprint": "00" * 16}, {}),
        ("classes", {"side": "both"}, {}),
        ("classes", {"rule": {"type": "Values", "flat": True}}, {}),
        ("classes", {"rule": {"type": "Dice"}}, {}),
        ("full", {"side": "codes"}, {}),
        ("classes", {}, {"weights": np.zeros((24, 2))}),
        ("classes", {}, {"weights": np.full((24, 3), np.nan)}),
        ("classes", {}, {"intercept": np.zeros(2)}),
        ("two-sided", {"role": "middle"}, {}),
        ("two-sided", {}, {"right_weights": np.zeros((2, 3))}),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(name, changes, arrays):
    state = MODELS[name].decision_.to_state()
    part = state["decision"]
    state["decision"] = Part(part.version, {**part.spec, **changes}, {**part.arrays, **arrays})
    with pytest.raises(LowtideError):
        Decision.from_state(state)


def test_unknown_parts_and_versions_are_refused_by_name():
    state = MODELS["classes"].decision_.to_state()
    with pytest.raises(FileFormatError, match="'rotations'"):
        Decision.from_state({**state, "rotations": Part(1, {})})
    with pytest.raises(FileFormatError, match="'decision' must be of version 2, got version 3"):
        Decision.from_state({**state, "decision": replace(state["decision"], version=3)})
    with pytest.raises(FileFormatError, match="'encoder'"):
        Decision.from_state({**state, "encoder": replace(state["encoder"], version=99)})


def test_recipe_takes_rows_of_a_table():
    model = MODELS["classes"]
    scaled = model.decision_.with_recipe(Recipe.scaled(list("abcde"), [2.0, 1.0, 0.5, 3.0, 1.0]))
    assert (scaled.n_features, scaled.columns) == (5, tuple("abcde"))
    expected = model.decision_.scores(X * [2.0, 1.0, 0.5, 3.0, 1.0])
    frame = pd.DataFrame(X, columns=list("abcde"))
    for table in (
        frame,
        frame[list("ecbda")],
        {name: frame[name].to_numpy() for name in "abcde"},
        X,
        sparse.csr_array(X),
    ):
        np.testing.assert_array_equal(scaled.scores(table), expected)
    np.testing.assert_array_equal(scaled.with_recipe(None).scores(X), model.decision_.scores(X))
    with pytest.raises(LowtideError, match="must give 5 columns"):
        model.decision_.with_recipe(Recipe.plain(4))
    kept = Decision.from_state(scaled.to_state())
    np.testing.assert_array_equal(kept.scores(frame), expected)


TABLE = pd.DataFrame(
    {"age": 40 + 9 * X[:, 0], "income": 1e4 * X[:, 1] ** 2, "city": np.array(["Bern", "Oslo", "Rome"])[Y]}
)


def table_pipeline(model):
    columns = make_column_transformer((StandardScaler(), ["age", "income"]), (OneHotEncoder(), ["city"]))
    return make_pipeline(columns, model).fit(TABLE, Y)


def test_pipeline_of_known_steps_becomes_a_learner_that_takes_its_rows():
    pipeline = table_pipeline(classifier(n_components=64, random_state=0))
    model = as_model(pipeline)
    assert model is not pipeline[-1]
    assert (model.n_features_in_, list(model.feature_names_in_)) == (3, ["age", "income", "city"])
    assert pipeline[-1].n_features_in_ == 5
    assert pipeline[-1].decision_.recipe is None
    for name in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        np.testing.assert_array_equal(getattr(model, name)(TABLE), getattr(pipeline, name)(TABLE))
    np.testing.assert_array_equal(model.predict(TABLE.to_dict("list")), pipeline.predict(TABLE))
    np.testing.assert_array_equal(model.predict(TABLE.to_numpy(dtype=object)), pipeline.predict(TABLE))
    assert model.score(TABLE, Y) == pipeline.score(TABLE, Y)
    again = lt.KernelClassifier.from_state(model.to_state())
    np.testing.assert_array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))
    assert list(again.feature_names_in_) == ["age", "income", "city"]
    codes = model.decision_.encode(TABLE)
    np.testing.assert_array_equal(model.predict(codes), pipeline.predict(TABLE))


def test_pipeline_of_a_scaled_model_does_one_after_the_other():
    exact = make_pipeline(
        StandardScaler(), GaussianProcessRegressor(RBF([1.0, 2.0, 3.0, 4.0, 5.0]), optimizer=None, alpha=0.5)
    ).fit(X, TARGET)
    small = lt.compress(exact, n_components=1024, random_state=0)
    np.testing.assert_array_equal(as_model(small).predict(X), small.predict(X))


def test_learners_are_models_as_they_are_and_others_are_refused():
    model = MODELS["classes"]
    assert as_model(model) is model
    assert as_model(make_pipeline(model)) is model
    with pytest.raises(LowtideError, match="PCA"):
        as_model(make_pipeline(PCA(2), classifier(n_components=16)).fit(X, Y))
    with pytest.raises(LowtideError, match="a learner of lowtide or a Pipeline that ends in one, got 'SVC'"):
        as_model(make_pipeline(StandardScaler(), SVC()).fit(X, Y))
    with pytest.raises(ValueError, match="not fitted"):
        as_model(classifier())


def test_bytes_of_a_code_stand_beside_those_of_its_row():
    X = np.random.default_rng(0).standard_normal((30, 3))
    model = given_classifier(n_components=200, random_state=0).fit(X, X[:, 0] > 0)
    decision = model.decision_
    assert (decision.code_bytes, decision.row_bytes) == (25, 12)
    table = Recipe.of_features("abcde", [(Number(j), ()) for j in (0, 2, 4)])
    assert decision.with_recipe(table).row_bytes == 20
    full = given_classifier(lt.RandomFeatures(n_components=8, bits=None, random_state=0)).fit(X, X[:, 0] > 0)
    assert full.decision_.code_bytes is None
