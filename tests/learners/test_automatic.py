"""Settings that are left to the data: what is chosen, from which rows, and that it is the same however rows come."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowtide as lt
from lowtide.errors import ParameterError, ScaleWarning
from lowtide.learners.automatic import can_choose_loss, choose_loss
from lowtide.learners.borders import class_losses
from lowtide.learners.choice import Choice
from lowtide.learners.classes import ClassIndex
from lowtide.learners.dual import dense_design
from lowtide.learners.losses import LOSSES
from lowtide.learners.problem import Problem

FAST = {"n_components": 64, "random_state": 0}
PLAIN = {**FAST, "metric": None}


def rows(n=220, k=2, seed=0):
    """Rows whose class or value depends on the size of the first of five columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    size = np.abs(X[:, 0]) + 0.2 * rng.standard_normal(n)
    return X, size if k == 1 else np.searchsorted(np.quantile(size, np.arange(1, k) / k), size)


def learner(k, **settings):
    return lt.KernelRegressor(**settings) if k == 1 else lt.KernelClassifier(**settings)


def answers(model, X):
    return model.predict(X) if isinstance(model, lt.KernelRegressor) else model.decision_function(X)


def tried(model):
    return {trial.setting for trial in model.choice_.trials}


def assert_same_choice(one, other, X):
    assert one.choice_.settings == other.choice_.settings
    assert [trial.value for trial in one.choice_.trials] == [trial.value for trial in other.choice_.trials]
    losses = [[trial.loss for trial in model.choice_.trials] for model in (one, other)]
    # Sums over rows in another order, through factorizations and Newton's steps that end when the gain is rounding.
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    np.testing.assert_allclose(answers(one, X), answers(other, X), rtol=0, atol=1e-6)


@pytest.fixture(scope="module", params=[1, 2, 3], ids=["values", "two classes", "three classes"])
def fitted(request):
    X, y = rows(k=request.param)
    return request.param, X, y, learner(request.param, **FAST).fit(X, y)


def test_every_setting_is_chosen_and_in_the_table(fitted):
    k, _, _, model = fitted
    strength = {"alpha"} if k == 1 else {"C", "loss"}
    assert set(model.choice_.settings) == {"gamma", "n_components", "metric", "prune"} | strength
    assert model.choice_.settings["n_components"] == model.features_.n_components == 64
    assert model.choice_.settings["gamma"] == pytest.approx(model.features_.gamma_, rel=1e-9)
    assert {"gamma", "metric"} <= tried(model)
    assert "n_components" not in tried(model)
    for setting in tried(model) - {"alpha", "C"}:
        assert sum(trial.chosen for trial in model.choice_.trials if trial.setting == setting) == 1
    # One of five columns matters.
    assert model.choice_.settings["metric"] is not None
    assert json.loads(json.dumps(model.choice_.to_config())) == model.choice_.to_config()
    assert Choice.from_config(model.choice_.to_config()) == model.choice_


def test_choice_is_the_same_again_and_for_rows_in_another_order(fitted):
    k, X, y, model = fitted
    order = np.random.default_rng(1).permutation(len(X))
    assert_same_choice(model, learner(k, **FAST).fit(X[order], y[order]), X)


def test_repeated_rows_choose_as_weighted_ones_do(fitted):
    k, X, y, _ = fitted
    counts = np.random.default_rng(2).integers(0, 3, len(X))
    weighted = learner(k, **FAST).fit(X, y, sample_weight=counts)
    repeated = learner(k, **FAST).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_same_choice(weighted, repeated, X)


def test_sparse_rows_choose_as_dense_ones_do():
    X, y = rows(n=120)
    X[np.abs(X) < 0.5] = 0.0
    dense, thin = (lt.KernelClassifier(**PLAIN).fit(each, y) for each in (X, sparse.csr_matrix(X)))
    assert_same_choice(dense, thin, X)


def test_a_warm_start_keeps_features_and_why_they_were_chosen():
    X, y = rows(n=100)
    model = lt.KernelClassifier(n_components=64, metric=None, warm_start=True, random_state=0).fit(X, y)
    before, features = model.choice_.of_features(), model.features_
    assert set(before.settings) == {"gamma", "n_components", "metric", "prune"}
    assert {trial.setting for trial in before.trials} == {"gamma"}
    model.fit(X, y)
    assert model.features_ is features
    assert model.choice_.of_features() == before
    assert {"loss", "C"} <= set(model.choice_.settings)


def test_what_is_given_is_taken_and_not_tried():
    X, y = rows(n=100)
    given = {"gamma": 0.3, "n_components": np.int64(64), "metric": None, "C": 2.0, "loss": "squared"}
    model = lt.KernelClassifier(**given, random_state=0).fit(X, y)
    assert (model.features_.gamma_, model.C_, model.choice_.trials) == (0.3, 2.0, ())
    assert str(model.choice_).startswith("Given: ")
    model = lt.KernelClassifier(**given | {"gamma": "auto"}, random_state=0).fit(X, y)
    assert tried(model) == {"gamma"}
    assert model.C_ == 2.0
    json.dumps(model.choice_.to_config())
    model = lt.KernelClassifier(**given | {"C": "auto"}, random_state=0).fit(X, y)
    assert tried(model) == {"C"}


def test_components_are_doubled_or_halved_while_it_is_worth_it():
    X, y = rows(n=100)
    model = lt.KernelClassifier(gamma=0.1, metric=None, C=1.0, loss="squared", random_state=0).fit(X, y)
    values = [trial.value for trial in model.choice_.trials]
    # Twice as many as at the start gain nothing, so fewer are tried, until they lose or are few.
    assert values == [8192, 16_384, 4096, 2048, 1024][: len(values)]
    assert model.features_.n_components == model.choice_.settings["n_components"]
    assert model.choice_.settings["n_components"] in (values[-1], values[-2])


@pytest.mark.parametrize("kernel", ["laplacian", "matern", lt.kernels.Gaussian(2.0)], ids=["l1", "matern", "object"])
def test_kernels_by_name_and_as_objects(kernel):
    X, y = rows(n=150)
    model = lt.KernelClassifier(kernel=kernel, **PLAIN | {"n_components": 256}).fit(X, y)
    assert ("gamma" in model.choice_.settings) == ("gamma" in tried(model)) == isinstance(kernel, str)
    # Chance is 0.5 with a standard error of 0.04.
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize(("metric", "shape"), [("diagonal", (5,)), ("full", (5, 5)), (None, None)], ids=str)
def test_a_metric_that_is_asked_for_is_learned(metric, shape):
    X, y = rows(n=60)
    model = lt.KernelClassifier(gamma=0.2, metric=metric, C=1.0, loss="squared", **FAST).fit(X, y)
    assert model.choice_.settings["metric"] == metric
    learned = model.features_.metric
    assert (None if learned is None else np.shape(learned)) == shape


def test_pruning_under_a_budget_keeps_the_best_of_more_frequencies():
    X, y = rows(n=100)
    model = lt.KernelClassifier(gamma=0.2, metric=None, prune=4, budget=32, random_state=0).fit(X, y)
    assert (model.features_.n_components, model.choice_.settings["prune"]) == (256, 4)
    assert len(model.features_.kept) == 128
    assert 128 < model.features_.kept[-1] < 512
    assert model.features_.encode(X).nbytes == 32 * len(X)


@pytest.mark.parametrize("budget", [40, {"model": 20_000}, {"item": 64, "model": 8_000}], ids=str)
def test_a_model_keeps_within_its_budget(budget):
    X, y = rows(n=100, k=3)
    model = lt.KernelClassifier(budget=budget, prune=None, random_state=0).fit(X, y)
    limits = {"item": budget} if isinstance(budget, int) else budget
    assert model.features_.encode(X).nbytes <= limits.get("item", np.inf) * len(X)
    assert model.decision_.nbytes <= limits.get("model", np.inf)


@pytest.mark.parametrize("metric", ["auto", "full"])
def test_what_a_metric_and_kept_frequencies_take_is_within_the_budget(metric):
    # One of 30 columns matters, so a metric is worth its bytes.
    X = np.random.default_rng(0).standard_normal((400, 30))
    y = np.sin(2.0 * X[:, 0]) > 0
    model = lt.KernelClassifier(budget={"item": 64, "model": 10_000}, metric=metric, prune=4, random_state=0).fit(X, y)
    assert model.choice_.settings["metric"] == ("diagonal" if metric == "auto" else "full")
    assert model.decision_.nbytes <= 10_000


@pytest.mark.parametrize(
    ("budget", "limit"), [(32, "256 to keep within 32 bytes an item"), ({"model": 8_000}, "a model of 8000 bytes")]
)
def test_a_number_of_components_above_the_budget_is_refused(budget, limit):
    X, y = rows(n=60)
    with pytest.raises(ParameterError, match=f"n_components must be at most .*{limit}, got 2048. Give one"):
        lt.KernelClassifier(n_components=2048, budget=budget).fit(X, y)


@pytest.mark.parametrize(
    "sides",
    [
        {"bits": None},
        {"bits": 2, "predict_on": "full"},
        {"train_on": "full"},
        {"train_on": "full", "predict_on": "full"},
    ],
    ids=str,
)
def test_candidates_are_judged_on_the_sides_that_are_asked_for(sides):
    X, y = rows(n=120)
    model = lt.KernelClassifier(**PLAIN, **sides).fit(X, y)
    assert {"gamma", "loss"} <= tried(model)
    assert model.score(X, y) > 0.7


def test_regressor_of_two_targets():
    X, y = rows(n=120, k=1)
    model = lt.KernelRegressor(**PLAIN).fit(X, np.column_stack([y, -2.0 * y]))
    assert model.predict(X).shape == (120, 2)
    assert model.score(X, np.column_stack([y, -2.0 * y])) > 0.5


@pytest.mark.parametrize("n", [2, 3, 19])
@pytest.mark.parametrize("k", [1, 2])
def test_a_few_rows_take_what_choices_start_from(k, n):
    X, y = rows(n=n, k=k)
    model = learner(k, random_state=0).fit(X, y)
    assert tried(model) <= {"C", "alpha"}
    settings = model.choice_.settings
    assert settings["gamma"] == pytest.approx(0.5 / (5 * X.var()), rel=1e-6)
    assert (settings["n_components"], settings["metric"], settings["prune"]) == (1024, None, None)
    assert settings.get("loss", "squared") == "squared"


@pytest.mark.parametrize("kind", ["one column", "constant columns", "all constant"])
def test_columns_that_say_little(kind):
    X, y = rows(n=210)
    X = {"one column": X[:, :1], "constant columns": X * [1, 0, 0, 1, 0] + 3.0, "all constant": np.ones((210, 2))}[kind]
    model = lt.KernelClassifier(**FAST).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert kind == "all constant" or model.score(X, y) > 0.8


def test_one_class_is_refused_before_anything_is_chosen():
    X, _ = rows(n=30)
    with pytest.raises(ParameterError, match="KernelClassifier: y must have at least two classes"):
        lt.KernelClassifier().fit(X, np.ones(30))


def test_weights_of_classes_move_the_answers():
    X, y = rows(n=150)
    X[:, 0] *= 0.2  # so that classes overlap
    shares = [np.mean(lt.KernelClassifier(**PLAIN, class_weight=w).fit(X, y).predict(X)) for w in (None, {1: 20.0})]
    assert shares[1] > shares[0] + 0.1


@pytest.mark.parametrize("parameters", [{"metric": "best"}, {"metric": 3}, {"prune": "best"}, {"prune": 1}], ids=str)
def test_settings_that_are_none_are_refused(parameters):
    X, y = rows(n=30)
    with pytest.raises(ParameterError, match=f"KernelClassifier: {next(iter(parameters))} must be"):
        lt.KernelClassifier(**parameters).fit(X, y)


def test_columns_of_very_different_units_are_warned_of_where_fit_is_called():
    X, y = rows(n=60)
    X[:, 4] *= 1000.0
    with pytest.warns(ScaleWarning, match="KernelClassifier: 1 of 5 columns have 99% of the variance") as caught:
        lt.KernelClassifier(**PLAIN, C=1.0, loss="squared").fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    # Warnings are errors here.
    make_pipeline(StandardScaler(), lt.KernelClassifier(**PLAIN, C=1.0, loss="squared")).fit(X, y)
    lt.KernelClassifier(gamma=0.1, **PLAIN, C=1.0, loss="squared").fit(X, y)


def test_codes_and_given_features_leave_the_loss_and_its_strength():
    X, y = rows(n=80)
    encoder = lt.RandomFeatures(n_components=64, random_state=0).fit(X)
    on_codes, on_rows = lt.KernelClassifier().fit(encoder.encode(X), y), lt.KernelClassifier(encoder).fit(X, y)
    assert set(on_codes.choice_.settings) == set(on_rows.choice_.settings) == {"C", "loss"}
    assert (on_codes.choice_.source, on_rows.choice_.source) == ("codes", "rows")
    values = lt.KernelRegressor().fit(encoder.encode(X), X[:, 0])
    assert set(values.choice_.settings) == {"alpha"}


@pytest.mark.parametrize("settings", [{}, {"loss": "logistic"}], ids=["auto", "logistic"])
def test_blocks_choose_by_the_first_and_say_so(settings):
    X, y = rows(n=160)
    first = lt.KernelClassifier(**PLAIN, loss="squared").fit(X[:100], y[:100])
    blocks = lt.KernelClassifier(**PLAIN, **settings).fit(iter([(X[:100], y[:100]), (X[100:], y[100:])]))
    steps = lt.KernelClassifier(**PLAIN, **settings).partial_fit(X[:100], y[:100], classes=[0, 1])
    steps.partial_fit(X[100:], y[100:])
    for model in (blocks, steps):
        assert model.choice_.source == "rows of the first block"
        assert model.choice_.settings["gamma"] == first.choice_.settings["gamma"]
        assert model.choice_.settings["loss"] == settings.get("loss", "squared")
    if not settings:
        assert blocks.C_ == steps.C_ == first.C_


def test_regressor_of_blocks_chooses_by_the_first_and_says_so():
    X, y = rows(n=160, k=1)
    first = lt.KernelRegressor(**PLAIN).fit(X[:100], y[:100])
    blocks = lt.KernelRegressor(**PLAIN).fit(iter([(X[:100], y[:100]), (X[100:], y[100:])]))
    steps = lt.KernelRegressor(**PLAIN).partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    for model in (blocks, steps):
        assert model.choice_.source == "rows of the first block"
        assert model.choice_.settings == first.choice_.settings


def linear_problem(X, y):
    design = dense_design(X.astype(np.float32))
    problem = Problem(design, design, y, None, True)
    return problem.relabel(ClassIndex(np.array([0, 1])), LOSSES.resolve("squared").targets(2))


@pytest.mark.parametrize("is_far", [False, True])
def test_another_loss_is_taken_where_rows_far_from_the_border_pull_least_squares(is_far):
    rng = np.random.default_rng(0)
    n = 400
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 2)) * [1.0, 0.4] + np.outer(2 * y - 1, [0.0, 0.8])
    if is_far:  # a part of the second class lies far on its own side, and turns the line of least squares
        X[y == 1] += np.outer(rng.uniform(size=n // 2) < 0.3, [12.0, 3.0])
    rows = linear_problem(X, y)
    found = choose_loss(rows, rows.keys(), 1.0, lambda s, r: class_losses(s, r.labels, r.weights), walks=True)
    assert (found.name == "squared") != is_far
    assert [trial.value for trial in found.trials] == ["squared", "squared_hinge", "logistic"]
    assert [trial.value for trial in found.trials if trial.chosen] == [found.name]


def test_losses_are_chosen_by_enough_rows_of_both_classes_in_both_halves():
    keys, labels = np.arange(40, dtype=np.uint64), np.arange(40) // 2 % 2
    assert can_choose_loss(labels, keys)
    assert not can_choose_loss(labels[:18], keys[:18])
    assert not can_choose_loss(np.arange(40) % 2, keys)  # odd keys have one class
