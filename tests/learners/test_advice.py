"""Advice on codes: what is compared, by which rows, and what is taken."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import r2_score

import lowtide as lt
from lowtide.errors import ParameterError, ScaleWarning
from lowtide.learners import AdvisedCode
from lowtide.learners.advice import _guessed, _Sample

RNG = np.random.default_rng


def blobs(n=160, d=24, seed=0):
    """Two overlapping classes in many columns that few directions explain."""
    rng = RNG(seed)
    y = rng.integers(0, 2, n)
    hidden = rng.standard_normal((n, 3)) + 2.0 * y[:, None]
    return hidden @ rng.standard_normal((3, d)) + 0.1 * rng.standard_normal((n, d)), y


def slopes(n=160, d=24, seed=0):
    """Numbers that depend on few directions; they are quicker to fit than classes."""
    X, y = blobs(n, d, seed)
    return X, X[:, 0] + np.sin(X[:, 1]) + y


@pytest.fixture(scope="module")
def advice():
    return lt.advise(*slopes(), bytes=(8, 16))


def test_every_encoder_is_tried_at_every_size(advice):
    found = {(each.encoder, each.item_bytes) for each in advice.rows}
    sized = {(name, size) for name in ("random", "sketch", "ternary", "learned") for size in (8, 16)}
    assert found == sized | {("rows", 96), ("rows", 24)}  # 24 columns, in float32 and in a byte each
    assert (advice.n_learned, advice.n_held, advice.task) == (120, 40, "regression")


def test_bytes_are_those_of_the_fitted_model(advice):
    X, y = slopes()
    model = advice.model
    assert "decision_" not in vars(model)
    model = model.fit(X, y)
    assert model.features_.encode(X).packed.nbytes == advice.best.item_bytes * len(X)
    # Weights and what was drawn have the shapes of the table; a learned code may give its bits to other directions.
    assert model.decision_.nbytes == pytest.approx(advice.best.model_bytes, rel=0.2)
    assert advice.best.cost >= model.decision_.weights.size


def test_front_is_what_no_other_beats(advice):
    def measures(each):
        return np.array([-each.score, each.item_bytes, each.model_bytes, each.cost])

    for each in advice.rows:
        own = measures(each)
        beaten = [np.all(measures(o) <= own) and np.any(measures(o) < own) for o in advice.rows]
        assert each.on_front is not any(beaten)


def test_best_is_small_and_as_good_as_any(advice):
    (best,) = (each for each in advice.rows if each.is_best)
    assert best == advice.best
    top = max(each.score for each in advice.rows)
    # The difference of two scores has at most the sum of their errors.
    assert best.score >= top - 2 * max(each.error for each in advice.rows)
    assert not advice.keeps_rows
    assert best.item_bytes == 8


def test_text_is_a_table_with_a_recommendation(advice):
    lines = str(advice).splitlines()
    assert lines[0].split()[:2] == ["encoder", "settings"]
    assert sum("best" in line for line in lines[1 : 1 + len(advice.rows)]) == 1
    assert lines[-1] == advice.recommendation
    assert f"Take {advice.best.encoder} codes of 8 bytes" in lines[-1]
    assert advice.to_rows()[0]["encoder"] == "rows"
    assert [AdvisedCode(**row) for row in advice.to_rows()] == advice.rows


def test_order_of_rows_does_not_matter(advice):
    X, y = slopes()
    order = RNG(1).permutation(len(y))
    assert lt.advise(X[order], y[order], bytes=(8, 16)).to_rows() == advice.to_rows()


def test_classes_are_judged_by_accuracy():
    X, y = blobs(80)
    advice = lt.advise(X, np.array(["no", "yes"])[y], bytes=(8,))
    assert isinstance(advice.model, lt.KernelClassifier)
    assert advice.rows[0].score > 0.85  # of 20 rows, nearly all of which can be told
    assert "accuracy" in str(advice)


def test_equal_rows_are_on_one_side():
    rng = RNG(2)
    X, y = np.repeat(rng.standard_normal((50, 3)), 4, axis=0), np.repeat(rng.standard_normal(50), 4)
    sample = _Sample.of(X, y, "regression", 0)
    assert len(sample.held[1]) % 4 == len(sample.learned[1]) % 4 == 0
    assert not set(map(tuple, sample.held[0])) & set(map(tuple, sample.learned[0]))
    assert len(sample.held[1]) + len(sample.learned[1]) == 200


def test_held_rows_do_not_teach():
    X, y = RNG(2).standard_normal((80, 3)), RNG(3).standard_normal(80)
    whole = lt.advise(X, y, bytes=(8,)).rows[0]
    # Targets mean nothing: R^2 of held rows is 0 or less but for chance, and 1 for rows that were learned by heart.
    assert whole.score < 3 * whole.error


def test_rows_of_few_columns_are_kept():
    X = RNG(3).uniform(-2, 2, (100, 2))
    y = np.hypot(*X.T)
    advice = lt.advise(X, y, bytes=(8,))
    assert advice.keeps_rows
    assert advice.best.settings == {"as": "int8"}
    assert advice.best.item_bytes == 2
    assert advice.recommendation.startswith("Keep your rows as they are, in int8 (2 bytes an item)")
    assert advice.model.fit(X, y).features_.bits is None


def test_rows_that_are_bytes_already_stay_so():
    X, y = slopes(80, d=12)
    whole = np.clip(20 * X + 128, 0, 255).astype(np.uint8)
    rows = [each for each in lt.advise(whole, y, bytes=(8,)).rows if each.encoder == "rows"]
    assert [(each.settings["as"], each.item_bytes) for each in rows] == [("uint8", 12)]


def test_sparse_rows_are_counted_by_their_entries():
    X, y = slopes(80)
    X[np.abs(X) < np.quantile(np.abs(X), 0.5)] = 0.0
    advice = lt.advise(sparse.csr_matrix(X), y, bytes=(8,))
    rows = [each for each in advice.rows if each.encoder == "rows"]
    assert [each.settings["as"] for each in rows] == ["CSR"]
    assert rows[0].item_bytes == pytest.approx(8 * 12, rel=0.1)  # half of 24 columns; of a sample of the rows


def test_budget_binds_items_and_models():
    X, y = slopes(80)
    advice = lt.advise(X, y, {"item": 20, "model": 4000}, bytes=(8, 64))
    assert {each.item_bytes for each in advice.rows if each.encoder == "random"} == {8, 16}
    for each in advice.rows:
        assert each.within_budget is (each.item_bytes <= 20 and each.model_bytes <= 4000)
    assert advice.best.within_budget
    assert "over the budget" in str(advice)
    with pytest.raises(ParameterError, match="budget must leave the model [0-9]+ bytes at least, got 8"):
        lt.advise(X, y, {"model": 8}, bytes=(8,))


def test_regression_of_two_targets():
    X = RNG(4).standard_normal((100, 6))
    Y = np.stack([X[:, 0] + X[:, 1], X[:, 2] ** 2], axis=1)
    advice = lt.advise(X, Y, bytes=(8,), random_state=1)
    assert advice.task == "regression"
    assert isinstance(advice.model, lt.KernelRegressor)
    assert advice.rows[0].score > 0.5
    assert "R^2" in str(advice)


def test_score_and_error_of_regression_are_those_of_resampled_rows():
    rng = RNG(5)
    y = rng.standard_normal(400) * 3 + 10
    guess = y + rng.standard_normal(400) * (1 + np.abs(y - 10))
    sample = _Sample((None, y), (None, y), "regression")
    score, error = sample.score(sample.losses(guess, y))
    assert score == pytest.approx(r2_score(y, guess))
    draws = rng.integers(0, 400, (500, 400))
    spread = np.std([r2_score(y[rows], guess[rows]) for rows in draws])
    # A standard deviation of 500 draws is off by 1/sqrt(1000), three times that here, and the delta method a little.
    assert error == pytest.approx(spread, rel=0.15)


def test_error_of_accuracy_is_binomial():
    y = np.arange(100) % 2
    sample = _Sample((None, y), (None, y), "classification")
    wrong = np.where(np.arange(100) < 20, 1 - y, y)
    score, error = sample.score(sample.losses(wrong, y))
    assert (score, error) == (0.8, pytest.approx(0.04, rel=0.05))
    assert sample.score(sample.losses(y, y))[1] > 0.0


def test_one_wrong_answer_more_is_as_good_and_many_are_not():
    sample = _Sample((None, None), (None, None), "classification")
    least = np.zeros(100)
    assert sample.is_as_good(np.r_[1.0, np.zeros(99)], least)
    assert not sample.is_as_good(np.r_[np.ones(4), np.zeros(96)], least)
    # Twenty answers differ, eleven of them for the worse: two more where the error is the root of twenty.
    assert sample.is_as_good(np.r_[np.ones(11), np.zeros(89)], np.r_[np.zeros(11), np.ones(9), np.zeros(80)])


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (np.array(["a", "b"] * 50), "classification"),
        (np.arange(100) % 3, "classification"),
        (np.arange(100) % 40, "regression"),
        (np.arange(100) / 7, "regression"),
    ],
    ids=["names", "few whole numbers", "many whole numbers", "fractions"],
)
def test_task_is_read_from_y(values, task):
    assert _guessed(values) == task


def test_columns_of_other_units_are_said_once():
    X, y = slopes(80, d=30)
    X[:, 0] *= 1e3
    with pytest.warns(ScaleWarning, match="advise: 1 of 30 columns") as caught:
        lt.advise(X, y, bytes=(8,))
    scale = [each for each in caught if each.category is ScaleWarning]
    assert [each.filename for each in scale] == [__file__]


X, Y = blobs(60, 4)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((X[:30], Y[:30]), {}, "X must have at least 40 rows, got 30"),
        ((X, Y, "small"), {}, "budget must be None, bytes an item"),
        ((X, Y, 4), {}, "budget['item'] must be an integer of at least 8"),
        ((X, Y), {"bytes": (12,)}, "bytes must be multiples of 8"),
        ((X, Y), {"bytes": 16}, "bytes must be a tuple of sizes, got 16"),
        ((X, Y), {"bytes": ()}, "bytes must have at least one size"),
        ((X, Y), {"task": "ranking"}, "task must be one of 'classification', 'regression', got 'ranking'"),
        ((X, np.array(["a", "b"] * 30)), {"task": "regression"}, "y must be numbers for regression"),
        ((X, np.stack([Y, Y], axis=1)), {"task": "classification"}, "y must be one class a row"),
        ((X, np.zeros(60)), {}, "two different values of y"),
        ((np.ones((60, 2)), Y), {}, "at least two different rows"),
    ],
    ids=lambda value: re.sub("[^a-z0-9 ]", "", value)[:30] if isinstance(value, str) else "",
)
def test_bad_arguments_are_refused(arguments, settings, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        lt.advise(*arguments, **settings)


def test_codes_are_refused():
    codes = lt.RandomFeatures(gamma=1.0, n_components=64, random_state=0).fit(X).encode(X)
    with pytest.raises(ParameterError, match="X must be rows"):
        lt.advise(codes, Y)
