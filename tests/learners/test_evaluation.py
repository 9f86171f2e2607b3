"""Evaluations agree with scikit-learn's metrics, whatever the model answers from and however its rows come."""

import json

import numpy as np
import pytest
from learners.samples import classes, classifier, curve, regressor, weights
from scipy import sparse
from sklearn import metrics
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, OneClassSVM

import lowtide as lt
from lowtide.errors import ParameterError
from lowtide.learners import Tally

CLASSES = classes(n=240)
CURVE = curve(n=160)


@pytest.fixture(scope="module")
def model():
    X, y = CLASSES
    return classifier(n_components=64, random_state=0).fit(X[:150], y[:150])


@pytest.fixture(scope="module")
def numbers():
    X, y = CURVE
    return regressor(n_components=64, random_state=0).fit(X[:100], y[:100])


@pytest.fixture
def held():
    X, y = CLASSES
    return X[150:], y[150:]


@pytest.mark.parametrize("weight", [None, weights(90)])
def test_scores_of_classes_are_those_of_scikit_learn(model, held, weight):
    X, y = held
    said, shares = model.predict(X), model.predict_proba(X)
    found = lt.evaluate(model, X, y, weight)
    weighted = {"sample_weight": weight}
    assert found.n_rows == 90
    assert found.accuracy == pytest.approx(metrics.accuracy_score(y, said, **weighted))
    assert found.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(y, said, **weighted))
    assert found.log_loss == pytest.approx(metrics.log_loss(y, shares, **weighted))
    one_hot = np.eye(3)[y]
    assert found.brier_score == pytest.approx(np.average(((shares - one_hot) ** 2).sum(axis=1), weights=weight))
    np.testing.assert_allclose(found.confusion, metrics.confusion_matrix(y, said, **weighted))
    own = [(each.precision, each.recall, each.f1, each.support) for each in found.per_class]
    np.testing.assert_allclose(np.transpose(own), metrics.precision_recall_fscore_support(y, said, **weighted))


def test_the_brier_score_of_two_classes_is_that_of_one_probability():
    X, y = classes(k=2)
    model = classifier(n_components=32, random_state=0).fit(X, y)
    expected = metrics.brier_score_loss(y, model.predict_proba(X)[:, 1])
    assert lt.evaluate(model, X, y).brier_score == pytest.approx(expected)


def test_the_error_of_an_accuracy_counts_one_more_row_of_each_kind(model, held):
    X, y = held
    wrong = ((model.predict(X) != y).sum() + 1) / 92
    assert lt.evaluate(model, X, y).accuracy_error == pytest.approx(np.sqrt(wrong * (1 - wrong) / 90))
    # Rows that all count twice tell no more than rows that count once.
    assert lt.evaluate(model, X, y, np.full(90, 2.0)).accuracy_error == pytest.approx(np.sqrt(wrong * (1 - wrong) / 90))


def test_reliability_compares_the_probability_of_the_predicted_class_with_how_often_it_was_right(model, held):
    X, y = held
    sure, right = model.predict_proba(X).max(axis=1), model.predict(X) == y
    found = lt.evaluate(model, X, y)
    assert sum(each.count for each in found.reliability) == 90
    rows = (sure >= 0.95) & (sure <= 1.0)
    last = found.reliability[-1]
    assert last.count == rows.sum()
    assert last.probability == pytest.approx(sure[rows].mean())
    assert last.frequency == pytest.approx(right[rows].mean())
    distance = sum(each.count * abs(each.probability - each.frequency) for each in found.reliability) / 90
    assert found.calibration_error == pytest.approx(distance)


@pytest.mark.parametrize("weight", [None, weights(60)])
def test_scores_of_numbers_are_those_of_scikit_learn(numbers, weight):
    X, y = CURVE[0][100:], CURVE[1][100:]
    said = numbers.predict(X)
    found = lt.evaluate(numbers, X, y, weight)
    weighted = {"sample_weight": weight}
    assert found.r2 == pytest.approx(metrics.r2_score(y, said, **weighted))
    assert found.rmse == pytest.approx(metrics.root_mean_squared_error(y, said, **weighted))
    assert found.mae == pytest.approx(metrics.mean_absolute_error(y, said, **weighted))
    assert found.median_absolute_error == pytest.approx(metrics.median_absolute_error(y, said, **weighted))
    assert found.residual_quantiles["0.0"] == pytest.approx((y - said).min())
    assert found.residual_quantiles["1.0"] == pytest.approx((y - said).max())
    if weight is None:
        assert found.residual_quantiles["0.25"] == pytest.approx(np.quantile(y - said, 0.25))


def test_the_error_of_r2_is_the_spread_over_samples_of_the_rows(numbers):
    X, y = CURVE[0][100:], CURVE[1][100:]
    said, rng = numbers.predict(X), np.random.default_rng(0)
    draws = (rng.integers(0, 60, 60) for _ in range(400))
    spread = np.std([metrics.r2_score(y[rows], said[rows]) for rows in draws])
    assert lt.evaluate(numbers, X, y).r2_error == pytest.approx(spread, rel=0.25)


def test_several_targets_have_the_mean_of_their_scores():
    X, y = CURVE
    both = np.column_stack([y, X[:, 0] ** 2])
    model = regressor(n_components=64, random_state=0).fit(X, both)
    found, said = lt.evaluate(model, X, both), model.predict(X)
    assert found.r2 == pytest.approx(metrics.r2_score(both, said))
    assert found.rmse == pytest.approx(metrics.root_mean_squared_error(both, said))
    with pytest.raises(ParameterError, match="y must have 2 values a row, as the model has, got 1"):
        lt.evaluate(model, X, y)


def test_rows_codes_and_sparse_rows_are_the_same(model, held):
    X, y = held
    expected = str(lt.evaluate(model, X, y))
    assert str(lt.evaluate(model, model.features_.encode(X), y)) == expected
    assert str(lt.evaluate(model, sparse.csr_matrix(X), y)) == expected
    assert str(lt.evaluate(make_pipeline("passthrough", model), X, y)) == expected


def test_blocks_of_any_size_give_the_same(model, held):
    X, y = held
    tally = Tally(model.decision_)
    for rows in np.array_split(np.arange(90), [0, 1, 40]):
        tally.add(X[rows], y[rows])
    found, whole = tally.evaluation(), lt.evaluate(model, X, y)
    assert found.log_loss == pytest.approx(whole.log_loss)
    assert str(found) == str(whole)


def test_a_pipeline_takes_the_rows_that_its_first_step_takes(held):
    X, y = held
    pipeline = make_pipeline(StandardScaler(), classifier(n_components=32, random_state=0)).fit(X, y)
    assert lt.evaluate(pipeline, X, y).accuracy == pytest.approx(pipeline.score(X, y))


def test_models_without_probabilities_have_no_calibration(held):
    X, y = held
    small = lt.compress(SVC(gamma=0.1).fit(X, y), n_components=512, random_state=0)
    found = lt.evaluate(small, X, y)
    assert found.accuracy == pytest.approx(np.mean(small.predict(X) == y))
    assert (found.log_loss, found.brier_score, found.calibration_error, found.reliability) == (None,) * 4
    assert "log-loss" not in str(found)


def test_a_detector_has_the_classes_minus_one_and_one(held):
    X, _ = held
    small = lt.compress(OneClassSVM(gamma=0.1, nu=0.2).fit(X), n_components=8192, random_state=0)
    y = np.where(np.arange(90) % 3, 1, -1)
    found = lt.evaluate(small, X, y)
    assert (found.task, found.classes) == ("detection", (-1, 1))
    assert found.accuracy == pytest.approx(np.mean(small.predict(X) == y))


def test_rows_of_unknown_classes_are_wrong_and_in_no_matrix(model, held):
    X, y = held
    other = y.copy()
    other[:10] = 7
    found = lt.evaluate(model, X, other)
    assert found.n_unknown == 10
    assert found.confusion.sum() == 80
    assert found.accuracy == pytest.approx(np.mean(model.predict(X) == other))
    assert found.log_loss == pytest.approx(lt.evaluate(model, X[10:], y[10:]).log_loss)
    assert lt.evaluate(model, X[:10], other[:10]).accuracy == 0.0


def test_classes_may_be_texts_however_they_come(held):
    X, y = held
    names = np.array(["low", "mid", "höher"])[y]
    model = classifier(n_components=32, random_state=0).fit(X, names)
    found = lt.evaluate(model, X, names.astype(object))
    assert found.classes == ("höher", "low", "mid")
    assert str(found) == str(lt.evaluate(model, X, list(names)))


def test_a_config_is_json_of_the_fields_of_the_task(model, numbers, held):
    found = json.loads(json.dumps(lt.evaluate(model, *held).to_config(), allow_nan=False))
    assert found["task"] == "classification"
    assert np.sum(found["confusion"]) == 90
    assert found["per_class"][0].keys() == {"label", "precision", "recall", "f1", "support"}
    assert "rmse" not in found
    found = json.loads(json.dumps(lt.evaluate(numbers, *CURVE).to_config(), allow_nan=False))
    assert found.keys() == {
        *("task", "n_rows", "r2", "r2_error", "rmse", "mae", "median_absolute_error", "residual_quantiles"),
    }


def test_one_row_has_no_r2(numbers):
    X, y = CURVE
    found = lt.evaluate(numbers, X[:1], y[:1])
    assert (found.n_rows, found.r2, found.r2_error) == (1, None, None)
    assert "R^2" not in str(found)


def test_many_classes_are_printed_as_the_pairs_that_are_confused():
    X, y = classes(n=320, k=40)
    model = classifier(n_components=32, random_state=0).fit(X, y)
    text = str(lt.evaluate(model, X, y))
    assert "... and 10 more classes, of a higher F1" in text
    assert "true  predicted  rows" in text
    assert len(text.splitlines()) < 80


def test_names_of_classes_move_no_cursor(held):
    X, y = held
    model = classifier(n_components=32, random_state=0).fit(X, np.array(["a\nb", "\x1b[2J", "c" * 60])[y])
    text = str(lt.evaluate(model, X, np.array(["a\nb", "\x1b[2J", "c" * 60])[y]))
    assert "\x1b" not in text
    assert "'a\\nb'" in text
    assert "c" * 60 not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda X, y: (X[:0], y[:0]),
            "there must be rows with a true answer and a weight above 0, one at least, got 0",
        ),
        (lambda X, y: (X, y[:5]), "y must have an answer a row, 90, got .5,"),
        (lambda X, y: (X, y.astype(str)), "y must be one class a row, as .0, 1, 2. are, got"),
        (
            lambda X, y: (X, np.where(y == 0, np.nan, y)),
            "y must have an answer a row, finite where it is a number, got nan",
        ),
        (lambda X, y: (X, "y"), "y must be an array, or name a column of a CodeStore"),
        (lambda X, y: (X, y, y[:5]), "sample_weight must have a number a row"),
        (lambda X, y: (X, y, -np.ones(90)), "sample_weight must be finite and not negative, got -1.0"),
        (lambda X, y: (X, y, np.zeros(90)), "a weight above 0, one at least, got 0"),
    ],
)
def test_bad_answers_are_refused(model, held, change, message):
    with pytest.raises(ParameterError, match=message):
        lt.evaluate(model, *change(*held))


def test_what_predicts_nothing_is_refused(held):
    X, y = held
    pca = lt.CodePCA(n_components=2, features=lt.RandomFeatures(gamma=0.1, n_components=64, random_state=0)).fit(X)
    with pytest.raises(ParameterError, match="model must predict classes or numbers, got 'components'"):
        lt.evaluate(pca, X, y)
    with pytest.raises(ParameterError, match="must be a learner of lowtide"):
        lt.evaluate(SVC().fit(X, y), X, y)


def test_a_store_is_evaluated_with_a_column_of_its_own(model, held, tmp_path):
    X, y = held
    with lt.CodeStore.create(tmp_path / "s.zarr", model.features_, chunk_rows=16) as store:
        store.append(model.features_.encode(X), y)
    stored = lt.CodeStore.open(tmp_path / "s.zarr")
    assert str(lt.evaluate(model, stored, "y")) == str(lt.evaluate(model, X, y))
    with pytest.raises(ParameterError, match="'z'"):
        lt.evaluate(model, stored, "z")
