"""Budgets, and the table of what was chosen."""

import json

import numpy as np
import pytest

from lowtide.errors import ParameterError
from lowtide.learners.choice import Budget, Choice, Trial, trials_of
from lowtide.learners.strength import Walk

ROWS = {"n_rows": 1000, "n_outputs": 10}
CHOICE = Choice(
    {"gamma": 0.25, "n_components": 1024, "metric": None, "loss": "squared"},
    (Trial("gamma", 0.5, 0.21), Trial("gamma", 0.25, 0.2, 0.003, True), Trial("metric", None, 0.2, 0.0, True)),
    300,
    "rows of the first block",
)


@pytest.mark.parametrize(
    ("budget", "bits", "most"),
    [(64, 1, 512), (64, 2, 256), (64, 8, 64), (64, 5, 64), (64, None, 16), (71, 1, 512), (np.int64(8), 1, 64)],
)
def test_bytes_an_item_bound_the_components_by_what_is_stored(budget, bits, most):
    assert Budget.of(budget).n_components(bits=bits, **ROWS) == most


def test_the_smallest_of_several_limits_binds():
    alone = [Budget.of(each).n_components(bits=1, **ROWS) for each in ({"item": 4096}, {"model": 50_000})]
    both = Budget.of({"item": 4096, "model": 50_000}).n_components(bits=1, **ROWS)
    assert both == min(alone)
    assert alone[0] == 8 * 4096
    assert alone[1] % 64 == 0
    assert alone[1] * 8 * 10 < 50_000


def test_no_budget_binds_nothing():
    assert Budget.of(None).n_components(bits=1, **ROWS) is None
    assert Budget.of({}).n_components(bits=1, **ROWS) is None
    assert Budget.of(Budget(item=8)) == Budget(item=8)


def test_more_seconds_and_fewer_rows_allow_more_components():
    def most(seconds, n_rows):
        return Budget.of({"seconds": seconds}).n_components(bits=1, n_rows=n_rows, n_outputs=10)

    assert most(1e-9, 1000) == 64
    assert most(0.1, 100_000) < most(10.0, 100_000) <= most(10.0, 1000)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("64", "budget must be None, bytes an item, or a dictionary with some of 'item', 'model', 'seconds', got '64'"),
        (64.0, "budget must be None"),
        ({"bytes": 64}, "budget must be None"),
        (7, r"budget\['item'\] must be an integer of at least 8, got 7"),
        (True, r"budget\['item'\] must be an integer"),
        ({"model": 1.5}, r"budget\['model'\] must be an integer of at least 8, got 1.5"),
        ({"seconds": 0.0}, r"budget\['seconds'\] must be a finite number above 0, got 0.0"),
        ({"seconds": np.nan}, r"budget\['seconds'\] must be a finite number above 0"),
    ],
)
def test_budget_refuses(given, sentence):
    with pytest.raises(ParameterError, match=sentence):
        Budget.of(given)


def test_table_has_a_line_a_trial_and_says_what_was_chosen():
    first, empty, head, *lines = str(CHOICE).splitlines()
    assert first == (
        "Chosen: gamma=0.25, n_components=1024, metric=None, loss=squared; "
        "by the left-out loss of 300 rows of the first block."
    )
    assert empty == ""
    assert head.split() == ["setting", "value", "left-out", "loss"]
    assert [line.split() for line in lines] == [
        ["gamma", "0.5", "0.21000"],
        ["gamma", "0.25", "0.20000", "+-", "0.00300", "chosen"],
        ["metric", "None", "0.20000", "chosen"],
    ]
    assert str(Choice({"C": 1.0})) == "Given: C=1."


def test_more_is_added_to_a_choice():
    more = CHOICE.with_more({"C": 2.0}, [Trial("C", 2.0, 0.1)], 200)
    assert more.settings == {**CHOICE.settings, "C": 2.0}
    assert (len(more.trials), more.judged_by, more.source) == (4, 300, CHOICE.source)
    assert more.without("C").settings == CHOICE.settings


def test_choice_survives_json():
    assert Choice.from_config(json.loads(json.dumps(CHOICE.to_config()))) == CHOICE


@pytest.mark.parametrize(
    "change",
    [
        {"settings": [1]},
        {"settings": {"gamma": [1.0]}},
        {"settings": {"gamma": {"a": 1}}},
        {"trials": "gamma"},
        {"trials": [["gamma", 0.5, 0.2, 0.0]]},
        {"trials": [["gamma", 0.5, 0.2, 0.0, True, 1]]},
        {"trials": [["gamma", [0.5], 0.2, 0.0, True]]},
        {"trials": [["gamma", 0.5, "low", 0.0, True]]},
        {"trials": [["gamma", 0.5, 0.2, 0.0, "yes"]]},
        {"trials": [[7, 0.5, 0.2, 0.0, True]]},
        {"trials": [7]},
        {"judged_by": -1},
        {"judged_by": 1.5},
        {"source": 3},
        {"more": 1},
    ],
    ids=str,
)
def test_a_hostile_config_is_refused(change):
    with pytest.raises(ParameterError, match="^Choice: "):
        Choice.from_config({**CHOICE.to_config(), **change})


def test_a_config_that_lacks_something_is_refused():
    for config in ([], {"settings": {}}):
        with pytest.raises(ParameterError, match="must have settings, trials, judged_by and source"):
            Choice.from_config(config)


def test_trials_of_a_walk_have_errors_of_their_difference_to_the_chosen():
    noise = np.random.default_rng(0).normal(1.0, 0.1, (500, 1))
    walk = Walk(lambda a: noise * (1.0 + np.log2(a / 4.0) ** 2), np.ones(500), 1.0, 2.0)
    trials = trials_of("gamma", walk, lambda a: 2.0 * a)
    assert [trial.value for trial in trials] == [2.0 * each for each in walk.tried]
    assert [trial.value for trial in trials if trial.chosen] == [2.0 * walk.chosen] == [8.0]
    for trial in trials:
        gains = (walk.tried[walk.chosen] - walk.tried[trial.value / 2.0])[:, 0]
        assert trial.error == pytest.approx(gains.std(ddof=1) / np.sqrt(500), rel=1e-9)
        assert trial.loss == pytest.approx(walk.tried[trial.value / 2.0].mean(), rel=1e-12)


def test_a_metric_takes_its_bytes_of_the_model():
    def most(**metric):
        return Budget.of({"model": 100_000}).n_components(bits=1, **ROWS, n_columns=100, **metric)

    # A scale a column; or a matrix, and frequencies of half a component in 100 columns.
    assert most() * 88.5 <= 100_000 < (most() + 64) * 88.5
    assert most(metric="auto") * 88.5 + 400 <= 100_000 < (most(metric="auto") + 64) * 88.5 + 400
    assert most(metric="full") * 288.5 + 40_000 <= 100_000 < (most(metric="full") + 64) * 288.5 + 40_000
