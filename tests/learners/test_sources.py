"""Learners on a source of codes that is read block by block: the same models as in memory, in flat memory."""

import tracemalloc

import numpy as np
import pytest
from learners.samples import classes, classifier, curve, encoder, regressor, weights
from learners.sources import Blocks
from sklearn.svm import SVC

import lowtide as lt
from lowtide.errors import FingerprintMismatchError, ParameterError
from lowtide.learners import training
from lowtide.learners.design import SourceDesign

X, Y = classes(n=200, d=5, k=3)
ENCODER = encoder(X, n_components=48)
CODES = ENCODER.encode(X)
SOURCE = Blocks(CODES, {"y": Y, "s": weights(len(Y)), "name": np.array(["a", "b", "c"])[Y]}, ENCODER)
R, T = curve(n=200)
CURVE_ENCODER = encoder(R, n_components=48)
CURVE = Blocks(CURVE_ENCODER.encode(R), {"y": T, "s": weights(len(T))}, CURVE_ENCODER)

SETTINGS = [
    {},
    {"C": "auto"},
    {"class_weight": "balanced"},
    {"fit_intercept": False},
    {"loss": "logistic"},
    {"loss": "logistic", "C": "auto", "random_state": 0},
    {"loss": "squared_hinge", "C": 0.1},
    {"loss": "hinge"},
    {"loss": "hinge", "multi_class": "ovo"},
    {"multi_class": "ovo"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("weight", [None, "s"])
def test_classifier_on_a_source_is_the_one_in_memory(settings, weight):
    s = None if weight is None else SOURCE.columns[weight]
    memory = classifier(**settings).fit(CODES, Y, s)
    model = classifier(**settings).fit(SOURCE, sample_weight=weight)
    tolerance = 1e-10 if "loss" not in settings else 1e-5
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=0, atol=tolerance * np.abs(memory.coef_).max())
    np.testing.assert_allclose(model.predict_proba(SOURCE), memory.predict_proba(CODES), rtol=0, atol=tolerance)
    np.testing.assert_array_equal(model.predict(SOURCE), memory.predict(CODES))
    assert pytest.approx(memory.C_, rel=1e-12) == model.C_
    assert model.score(SOURCE) == memory.score(CODES, Y)


@pytest.mark.parametrize("alpha", [1.0, "auto"])
def test_regressor_on_a_source_is_the_one_in_memory(alpha):
    memory = regressor(alpha=alpha).fit(CURVE.codes, T, CURVE.columns["s"])
    model = regressor(alpha=alpha).fit(CURVE, sample_weight="s")
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict(CURVE), memory.predict(CURVE.codes), rtol=1e-9)
    assert model.score(CURVE) == pytest.approx(memory.score(CURVE.codes, T), abs=1e-12)
    two = np.column_stack([T, -T])
    assert regressor().fit(CURVE, two).predict(CURVE).shape == (200, 2)


def test_labels_of_a_source_may_be_texts_or_given_or_another_column():
    by_name = classifier().fit(SOURCE, "name")
    assert by_name.classes_.tolist() == ["a", "b", "c"]
    assert by_name.score(SOURCE, "name") == classifier().fit(SOURCE, Y).score(SOURCE, Y)


def test_encoder_of_a_source_lets_the_model_predict_raw_rows():
    model = classifier().fit(SOURCE)
    np.testing.assert_array_equal(model.predict(X), model.predict(SOURCE))
    alone = classifier().fit(Blocks(CODES), Y)
    assert alone.features_ is None
    with pytest.raises(ParameterError, match="a model fitted on Codes alone predicts on Codes"):
        alone.predict(X)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_partial_fit_takes_a_source_block_by_block(loss):
    model = classifier(loss=loss).partial_fit(SOURCE, classes=[0, 1, 2]).partial_fit(SOURCE)
    blocks = classifier(ENCODER, loss=loss)
    for _ in range(2):
        for start in range(0, 200, SOURCE.most):
            part = slice(start, start + SOURCE.most)
            blocks.partial_fit(CODES[part], Y[part], classes=[0, 1, 2])
    if loss == "squared":
        np.testing.assert_allclose(model.coef_, blocks.coef_, rtol=1e-9, atol=1e-12)
    else:
        # Steps of 64 rows at the most: blocks of 37 are one each.
        np.testing.assert_array_equal(model.coef_, blocks.coef_)
    line = regressor().partial_fit(CURVE)
    np.testing.assert_allclose(line.coef_, regressor().fit(CURVE).coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [2, 48])
def test_pca_on_a_source_is_the_one_in_memory(k):
    memory = lt.CodePCA(k, random_state=0).fit(CODES)
    model = lt.CodePCA(k, random_state=0).fit(SOURCE)
    np.testing.assert_allclose(model.explained_variance_, memory.explained_variance_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        np.abs(model.transform(SOURCE)[:, :2]), np.abs(memory.transform(CODES)[:, :2]), atol=1e-7
    )
    assert lt.CodePCA(2, random_state=0).fit_transform(SOURCE).shape == (200, 2)


@pytest.mark.parametrize("scoring", [None, "accuracy", "neg_log_loss", "own"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_search_on_a_source_finds_what_it_finds_in_memory(scoring, loss):
    sketch = lt.Sketch(32, random_state=0).fit(X)
    codes = sketch.encode(X)
    scoring = (lambda model, rows, y: np.mean(model.predict(rows) == y)) if scoring == "own" else scoring
    model = classifier(loss=loss)
    grid = {"gamma": [0.5, 2.0], "C": [0.1, 1.0]}
    options = {"param_grid": grid, "cv": 3, "scoring": scoring}
    memory = lt.SketchSearchCV(model, **options).fit(codes, Y)
    found = lt.SketchSearchCV(model, **options).fit(Blocks(codes, {"y": Y}, sketch))
    expected = memory.cv_results_["mean_test_score"]
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], expected, rtol=1e-5)
    assert found.best_params_ == memory.best_params_
    np.testing.assert_array_equal(found.predict(X), memory.predict(codes))
    assert found.score(Blocks(codes, {"y": Y})) == pytest.approx(memory.score(codes, Y), rel=1e-5)


def test_search_of_a_regressor_scores_by_sums():
    sketch = lt.Sketch(32, random_state=0).fit(R)
    codes, targets = sketch.encode(R), np.column_stack([T, np.ones_like(T)])
    grid = {"gamma": [1.0], "alpha": [0.1, 1.0]}
    search = lt.SketchSearchCV(regressor(), param_grid=grid, cv=4)
    memory = search.fit(codes, targets).cv_results_["mean_test_score"].copy()
    named = search.set_params(scoring="r2").fit(Blocks(codes), targets).cv_results_["mean_test_score"]
    np.testing.assert_allclose(memory, named, rtol=1e-9)


def test_compressed_machines_predict_sources():
    exact = SVC(gamma=0.1).fit(X, Y)
    small = lt.compress(exact, n_components=1024, bits=1, random_state=0)
    codes = small.encode(X)
    np.testing.assert_array_equal(small.predict(Blocks(codes)), small.predict(codes))
    np.testing.assert_allclose(small.decision_function(Blocks(codes)), small.decision_function(codes), atol=1e-12)


def test_a_source_of_no_rows_is_predicted_as_nothing_and_refused_by_fit():
    empty = Blocks(CODES[:0], {"y": Y[:0]}, ENCODER)
    model = classifier().fit(SOURCE)
    assert model.predict(empty).shape == (0,)
    assert model.predict_proba(empty).shape == (0, 3)
    for learner in (classifier(), regressor(), lt.CodePCA()):
        with pytest.raises(ParameterError, match="must have at least"):
            learner.fit(empty)


def test_bad_sources_are_refused_by_name():
    other = encoder(X, n_components=48, gamma=0.7)
    with pytest.raises(FingerprintMismatchError, match=other.fingerprint_.hex()):
        classifier(other).fit(SOURCE)
    with pytest.raises(FingerprintMismatchError):
        classifier().fit(SOURCE).predict(Blocks(other.encode(X)))
    with pytest.raises(ParameterError, match="y must be passed, a value a row of the codes, got None"):
        classifier().fit(NoColumns(CODES))
    with pytest.raises(ParameterError, match="y must have a value a row, 200, got 199"):
        classifier().fit(SOURCE, Y[:-1])
    with pytest.raises(ParameterError, match="train_on must be 'codes'"):
        classifier(train_on="full").fit(SOURCE)


class NoColumns:
    """The bare protocol."""

    def __init__(self, codes):
        self.n_rows, self.shape, self.blocks = len(codes), codes.shape, codes.blocks


def taken(design):
    return np.concatenate([np.asarray(part.codes) for part in design.parts()])


def test_rows_of_a_source_are_taken_in_order_and_once():
    design = SourceDesign(SOURCE)
    rows = np.array([3, 40, 41, 199])
    np.testing.assert_array_equal(taken(design.take(rows)), np.asarray(CODES[rows]))
    inner = design.take(slice(None, None, 3)).take(np.array([0, 2, 66]))
    np.testing.assert_array_equal(taken(inner), np.asarray(CODES[[0, 6, 198]]))
    assert design.take(np.array([], dtype=int)).shape == (0, 48)
    for wrong in ([1, 1], [2, 1]):
        with pytest.raises(ParameterError, match="once and in order"):
            design.take(np.array(wrong))


def test_products_of_a_source_are_those_of_its_codes():
    design, rng = SourceDesign(SOURCE), np.random.default_rng(0)
    W, Q, s = rng.standard_normal((48, 2)), rng.standard_normal((200, 2)), weights(200)
    D = np.asarray(CODES, dtype=np.float64)
    np.testing.assert_allclose(design.matmul(W), D @ W, atol=1e-12)
    np.testing.assert_allclose(design.rmatmul(Q), D.T @ Q, atol=1e-12)
    np.testing.assert_allclose(design.gram(s, np.float64), D.T @ (s[:, None] * D), atol=1e-11)
    np.testing.assert_allclose(design.squares(), np.sum(D**2, axis=0), rtol=1e-12)


def test_weights_agree_where_memory_sums_in_float32_and_a_source_in_float64():
    rows, features = classes(n=17_000, d=10, k=2)[0], lt.RandomFeatures(gamma=0.05, n_components=1024, random_state=0)
    y = (rows[:, :2].sum(axis=1) > 0).astype(int)
    codes = features.fit(rows).encode(rows)
    memory = classifier(C=10.0).fit(codes, y)
    source = classifier(C=10.0).fit(Blocks(codes, {"y": y}, most=3000))
    np.testing.assert_allclose(source.coef_, memory.coef_, rtol=0, atol=1e-6 * np.abs(memory.coef_).max())


def _peak(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.filterwarnings("ignore:L-BFGS stopped at max_iter")
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_memory_grows_by_labels_alone(loss, monkeypatch):
    """Four times the rows: a few bytes a row more, not the 40 of their codes, nor the 80 of scores of ten classes."""
    # Landmarks for both, or for the longer fit only they would be new.
    monkeypatch.setattr(training, "_MANY_PRODUCTS", 1)
    n, features = 20_000, lt.RandomFeatures(gamma=0.05, n_components=320, random_state=0)
    rows = np.random.default_rng(0).standard_normal((n, 10)).astype(np.float32)
    codes, y = features.fit(rows).encode(rows), rows.argmax(axis=1).astype(np.int8)

    def fit(times):
        source = Blocks(Repeated(codes, times), {"y": np.tile(y, times)}, most=5_000)
        model = classifier(features, loss=loss, max_iter=2).fit(source)
        model.predict(source)
        assert source.largest == 5_000

    assert _peak(lambda: fit(4)) - _peak(lambda: fit(1)) < 3 * n * 30


class Repeated:
    """Codes several times over, without memory for them."""

    def __init__(self, codes, times):
        self.codes, self.times = codes, times
        self.shape = (times * len(codes), codes.shape[1])

    def __len__(self):
        return self.shape[0]

    def blocks(self, size):
        for _ in range(self.times):
            yield from self.codes.blocks(size)
