import dataclasses

import numpy as np
import pytest

import lowtide as lt
from lowtide.reports import Column, Subject, paired_difference
from lowtide.reports.trials import Split, Workshop


def test_split_keeps_equal_rows_together_and_does_not_mind_their_order():
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(50, 2)), 4, axis=0)
    truth = np.tile([0, 1], 100)
    split = Split.of(rows, truth, is_classes=True, seed=0)
    assert len(split.held) == pytest.approx(50, abs=8)
    assert sorted([*split.held, *split.learned]) == list(range(200))
    held, learned = ({tuple(row) for row in rows[part]} for part in (split.held, split.learned))
    assert not held & learned
    order = rng.permutation(200)
    again = Split.of(rows[order], truth[order], is_classes=True, seed=0)
    assert {tuple(row) for row in rows[order][again.held]} == held


def test_split_learns_from_every_class():
    rows = np.random.default_rng(0).normal(size=(200, 2))
    truth = np.array([0] * 199 + [1])
    for seed in range(8):
        split = Split.of(rows, truth, is_classes=True, seed=seed)
        assert 1 in truth[split.learned]


def test_difference_is_paired_and_positive_for_lower_losses():
    ones, half = np.ones(100), np.repeat([1.0, 0.0], 50)
    assert paired_difference(half, ones) == pytest.approx((0.5, np.std(ones - half, ddof=1) / 10))
    assert paired_difference(ones, ones) == (0.0, 0.0)


@pytest.fixture(scope="module")
def subject():
    """Three features of which the first two are one column; the class is the sign of their difference."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(160, 3))
    truth = rows[:, 0] > rows[:, 1]
    given = {"gamma": 0.3, "n_components": 128, "loss": "squared", "C": 3.0, "metric": None}
    model = lt.KernelClassifier(**given, random_state=0).fit(rows, truth)
    columns = (Column("both", "number", "", (0, 1), 0, 9), Column("none", "number", "", (2,), 0, 9))
    return Subject(model, rows, truth, columns, n_given=160, row_bytes=8, model_bytes=1000)


def test_features_of_a_column_are_shuffled_together(subject):
    shop = Workshop(subject, seed=0)
    both, none = shop.importances(shop.refit())
    assert (both.column, none.column) == ("both", "none")
    assert both.drop > 0.25
    assert none.drop < 0.1


def test_refit_has_the_parameters_of_the_model_and_other_rows(subject):
    refitted = Workshop(subject, seed=0).refit()
    assert refitted.get_params() == {**subject.model.get_params(), "verbose": 0, "warm_start": False}
    assert not np.array_equal(refitted.coef_, subject.model.coef_)


def test_refit_keeps_the_size_that_was_chosen_for_the_model(subject):
    model = lt.KernelClassifier(loss="squared", C=1.0, gamma=0.3, metric=None, random_state=0)
    model.fit(subject.rows, subject.truth)
    refitted = Workshop(dataclasses.replace(subject, model=model), seed=0).refit()
    assert refitted.n_components == model.features_.n_components


def test_sizes_begin_with_the_model_and_have_each_number_of_bytes_once(subject):
    shop = Workshop(subject, seed=0)
    sizes = shop.sizes(shop.refit())
    assert sizes[0] == ({}, True)
    changes = [tuple(sorted(change.items(), key=str)) for change, _ in sizes]
    assert len(set(changes)) == len(changes)
    assert ({"bits": None, "n_components": 128}, False) in sizes
