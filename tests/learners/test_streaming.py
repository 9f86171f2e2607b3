"""Rows in blocks: partial_fit, and fit on an iterator."""

import numpy as np
import pytest
from learners.samples import classes, classifier, curve, encoder, regressor, weights
from sklearn.datasets import load_digits

from lowtide.errors import ParameterError

LOSSES = ["squared", "logistic", "squared_hinge", "hinge"]
# Gamma is fixed: "scale" looks at the first block only.
FIXED = {"n_components": 64, "gamma": 0.1, "random_state": 0}


def blocks_of(*arrays, size=31):
    return (tuple(array[i : i + size] for array in arrays) for i in range(0, len(arrays[0]), size))


def test_partial_fit_of_squared_loss_is_the_fit_on_all_rows():
    X, y = classes(n=200, k=4)
    s = weights(200)
    model = classifier(**FIXED)
    for rows, labels, weight in blocks_of(X, y, s):
        model.partial_fit(rows, labels, classes=np.arange(4), sample_weight=weight)
    whole = classifier(**FIXED).fit(X, y, sample_weight=s)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_targets", [None, 3])
def test_partial_fit_of_the_regressor_is_the_fit_on_all_rows(n_targets):
    X, y = curve(n=200)
    y = y if n_targets is None else np.column_stack([y, y**2, -y])
    model = regressor(**FIXED)
    for rows, values in blocks_of(X, y):
        model.partial_fit(rows, values)
    whole = regressor(**FIXED).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("loss", "bits"), [("squared", 1), ("squared", 2), ("squared", None), ("logistic", 1), ("squared_hinge", 2)]
)
def test_iterator_of_blocks_is_the_fit_on_all_rows(loss, bits):
    X, y = classes(n=200, k=3)
    parameters = {**FIXED, "loss": loss, "bits": bits, "max_iter": 3000}
    streamed = classifier(**parameters).fit(blocks_of(X, y))
    whole = classifier(**parameters).fit(X, y)
    tolerance = 1e-10 if loss == "squared" else 1e-6
    np.testing.assert_allclose(streamed.decision_function(X), whole.decision_function(X), rtol=0, atol=tolerance)
    assert "_stream" not in vars(streamed)


def test_iterator_takes_weights_codes_and_a_last_short_block():
    X, y = classes(n=100, k=2)
    s = weights(100)
    features = encoder(X, n_components=32)
    streamed = classifier(features).fit(blocks_of(features.encode(X), y, s, size=33))
    whole = classifier(features).fit(features.encode(X), y, sample_weight=s)
    np.testing.assert_allclose(streamed.decision_function(X), whole.decision_function(X), rtol=0, atol=1e-10)


def test_iterator_of_the_regressor_is_the_fit_on_all_rows():
    X, y = curve(n=150)
    s = weights(150)
    streamed = regressor(**FIXED).fit(blocks_of(X, y, s)).predict(X)
    np.testing.assert_allclose(streamed, regressor(**FIXED).fit(X, y, s).predict(X), rtol=0, atol=1e-10)


def test_classes_of_an_iterator_may_appear_late_and_have_longer_names():
    X, y = classes(n=120, k=4)
    names = np.array(["b", "a", "bee", "beetle"])[y]
    order = np.argsort(y, kind="stable")
    parts = [(X[order[i : i + 30]], np.array(names[order[i : i + 30]].tolist())) for i in range(0, 120, 30)]
    assert parts[0][1].dtype != parts[-1][1].dtype
    streamed = classifier(**FIXED).fit(iter(parts))
    whole = classifier(**FIXED).fit(X, names)
    assert streamed.classes_.tolist() == whole.classes_.tolist() == ["a", "b", "bee", "beetle"]
    np.testing.assert_allclose(streamed.decision_function(X), whole.decision_function(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.int8, np.float32, bool, object])
def test_classes_keep_their_type(dtype):
    X, y = classes(n=60, k=2)
    y = np.array(["no", "yes"], dtype=object)[y] if dtype is object else y.astype(dtype)
    fits = [classifier(**FIXED).fit(X, y), classifier(**FIXED).fit(blocks_of(X, y))]
    fits.append(classifier(**FIXED).partial_fit(X, y, classes=np.unique(y)))
    for model in fits:
        assert model.classes_.dtype == np.dtype(dtype)
        assert model.predict(X).dtype == np.dtype(dtype)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_small_steps_come_near_the_fit(loss):
    X, y = load_digits(return_X_y=True)
    test = np.arange(len(X)) % 3 == 0
    train = ~test
    model = classifier(loss=loss, n_components=1024, random_state=0)
    for _ in range(4):
        for rows, labels in blocks_of(X[train], y[train], size=300):
            model.partial_fit(rows, labels, classes=np.arange(10))
    whole = classifier(loss=loss, n_components=1024, random_state=0).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > whole.score(X[test], y[test]) - 0.02


def test_small_steps_weigh_rows():
    X, y = classes(n=400, k=2)
    wrong = np.arange(400) % 4 < 2
    flipped, light = np.where(wrong, 1 - y, y), np.where(wrong, 1e-3, 1.0)
    model = classifier(loss="logistic", **FIXED)
    model.partial_fit(X, flipped, classes=[0, 1], sample_weight=light)
    assert model.score(X, y) > 0.8  # labels at equal weight cancel: one half
    # A block of almost weightless rows changes almost nothing.
    before = model.decision_function(X)
    moved = model.partial_fit(X[:64], 1 - y[:64], sample_weight=np.full(64, 1e-6)).decision_function(X)
    assert np.max(np.abs(moved - before)) < 0.01 * np.ptp(before)


@pytest.mark.parametrize("loss", LOSSES)
def test_partial_fit_takes_codes(loss):
    X, y = classes(n=120, k=3)
    features = encoder(X, n_components=64)
    from_codes = classifier(features, loss=loss, random_state=0)
    from_rows = classifier(features, loss=loss, random_state=0)
    for rows, labels in blocks_of(X, y):
        from_codes.partial_fit(features.encode(rows), labels, classes=[0, 1, 2])
        from_rows.partial_fit(rows, labels, classes=[0, 1, 2])
    np.testing.assert_allclose(from_codes.decision_function(X), from_rows.decision_function(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(from_codes.predict_proba(X), from_rows.predict_proba(X), rtol=0, atol=1e-9)


def test_partial_fit_after_fit_starts_anew_with_the_classes_known():
    X, y = classes(n=120, k=3)
    model = classifier(**FIXED).fit(X, y)
    model.partial_fit(X[:60], y[:60])
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    fresh = classifier(**FIXED).fit(X[:60], y[:60])
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"class_weight": "balanced"}, "class_weight must be a dict or None when rows come in blocks"),
        ({"loss": "logistic", "bits": None}, "blocks must be trained on as packed codes"),
        ({"loss": "squared_hinge", "train_on": "full"}, "blocks must be trained on as packed codes"),
    ],
)
def test_what_blocks_cannot_do_is_refused(parameters, sentence):
    X, y = classes()
    with pytest.raises(ParameterError, match=sentence):
        classifier(**{**FIXED, **parameters}).fit(blocks_of(X, y))


def test_smooth_losses_choose_and_balance_on_the_kept_codes():
    X, y = classes(n=120)
    parameters = {**FIXED, "loss": "logistic", "C": "auto", "class_weight": "balanced"}
    assert classifier(**parameters).fit(blocks_of(X, y)).C_ == classifier(**parameters).fit(X, y).C_


@pytest.mark.parametrize("model", [classifier(), classifier(loss="logistic"), regressor()])
def test_no_blocks_are_refused(model):
    with pytest.raises(ParameterError, match="blocks must hold at least one"):
        model.fit(iter([]))


@pytest.mark.parametrize("loss", LOSSES)
def test_iterator_with_one_class_or_with_numbers_is_refused(loss):
    X, _y = classes()
    with pytest.raises(ParameterError, match="at least two classes"):
        classifier(loss=loss, **FIXED).fit(blocks_of(X, np.zeros(len(X))))
    with pytest.raises(ValueError, match="Unknown label type"):
        classifier(loss=loss, **FIXED).fit(blocks_of(X, X[:, 0]))


@pytest.mark.parametrize("loss", LOSSES)
def test_partial_fit_refuses_what_it_cannot_use(loss):
    X, y = classes(n=60)
    model = classifier(loss=loss, **FIXED)
    with pytest.raises(ParameterError, match="classes must be given in the first call"):
        model.partial_fit(X, y)
    with pytest.raises(ParameterError, match="at least two classes"):
        model.partial_fit(X, y, classes=[0])
    with pytest.raises(ParameterError, match=r"y must hold the classes \[0, 1\], got \[2\]"):
        model.partial_fit(X, y, classes=[0, 1])
    model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)


def test_regressor_refuses_another_number_of_targets():
    X, y = curve(n=40)
    model = regressor(**FIXED).partial_fit(X, y)
    with pytest.raises(ParameterError, match="y must have 1 targets, got 2"):
        model.partial_fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights_of_no_class_are_refused_in_blocks_too(loss):
    X, y = classes(n=60)
    model = classifier(loss=loss, class_weight={"1": 5.0}, **FIXED)
    with pytest.raises(ParameterError, match=r"class_weight must name classes of y, \[0, 1, 2\], got \['1'\]"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ParameterError, match=r"class_weight must name classes of y, \[0, 1, 2\], got \['1'\]"):
        model.fit(blocks_of(X, y))


def test_class_weight_may_name_a_class_that_comes_in_a_later_block():
    X, y = classes(n=60)
    order = np.argsort(y, kind="stable")
    streamed = classifier(class_weight={2: 5.0}, **FIXED).fit(blocks_of(X[order], y[order]))
    at_once = classifier(class_weight={2: 5.0}, **FIXED).fit(X, y)
    np.testing.assert_allclose(streamed.coef_, at_once.coef_, rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_partial_fit_refuses_other_classes_than_those_of_the_first_call(loss):
    X, y = classes(n=60)
    model = classifier(loss=loss, **FIXED).partial_fit(X, y, classes=[2, 1, 0])
    model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ParameterError, match=r"classes must stay those of the first call of partial_fit, \[0, 1, 2\]"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])


@pytest.mark.parametrize("model", [classifier(**FIXED), regressor(**FIXED)])
def test_labels_and_weights_beside_an_iterator_are_refused(model):
    X, y = classes(n=60)
    with pytest.raises(ParameterError, match="y must come with the rows of each block"):
        model.fit(blocks_of(X, y), y)
    with pytest.raises(ParameterError, match="sample_weight must come with the rows of each block"):
        model.fit(blocks_of(X, y), sample_weight=weights(60))


@pytest.mark.parametrize("model", [classifier(**FIXED), regressor(**FIXED)])
@pytest.mark.parametrize("extra", [0, 3], ids=["rows alone", "too many"])
def test_blocks_that_are_not_rows_with_labels_are_refused(model, extra):
    X, y = classes(n=60)
    block = (X, y, *[np.ones(60)] * (extra - 1)) if extra else X[:3]
    with pytest.raises(ParameterError, match=r"a block must be \(rows, y\) or \(rows, y, sample_weight\), got"):
        model.fit(iter([block]))


def test_regressor_forgets_the_sums_of_a_fit_that_failed():
    X, y = curve(n=60)
    model = regressor(**FIXED)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(iter([(X, y), (X, np.full(60, np.nan))]))
    np.testing.assert_array_equal(model.partial_fit(X, y).predict(X), regressor(**FIXED).fit(X, y).predict(X))


def test_rows_without_any_weight_are_refused_until_others_come():
    X, y = classes(n=60)
    order = np.argsort(y, kind="stable")
    model = classifier(class_weight={0: 0.0}, **FIXED)
    with pytest.raises(ParameterError, match="class_weight must leave some weight to the rows"):
        model.partial_fit(X[order[:20]], y[order[:20]], classes=[0, 1, 2])
    model.partial_fit(X[order[20:]], y[order[20:]])
    whole = classifier(class_weight={0: 0.0}, **FIXED).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=0, atol=1e-10)
