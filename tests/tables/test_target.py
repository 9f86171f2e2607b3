import numpy as np
import pytest

from lowtide.tables import TableError, comparable, read_target


def cells(*values):
    return np.array(values, dtype=object)


@pytest.mark.parametrize(
    ("column", "task", "kind"),
    [
        (cells("u", "v", "u"), "classification", "U"),
        (cells("True", "False", "True"), "classification", "U"),
        (np.array([True, False]), "classification", "U"),
        (cells("1", "2", "unknown"), "classification", "U"),
        (cells("1", "2", "1", "2.0"), "classification", "i"),
        (np.array([1.0, 0.0, 1.0, 0.0]), "classification", "i"),
        (cells("1.5", "2", "1", "2"), "regression", "f"),
        (np.arange(6), "regression", "f"),
        (np.repeat(np.arange(20), 2), "classification", "i"),
        (np.repeat(np.arange(21), 2), "regression", "f"),
    ],
)
def test_target_is_classes_for_text_truth_values_and_few_whole_numbers(column, task, kind):
    target = read_target(column, "y")
    assert target.task == task
    assert target.values.dtype.kind == kind
    assert len(target.values) == len(column)


def test_target_follows_the_wish():
    assert read_target(cells("1", "2", "1", "2"), "y", "regression").values.tolist() == [1.0, 2.0, 1.0, 2.0]
    assert read_target(cells("0.5", "1.5"), "y", "classification").values.tolist() == ["0.5", "1.5"]
    assert read_target(np.arange(6), "y", "classification").values.tolist() == list(range(6))


def test_target_of_text_is_no_regression():
    with pytest.raises(TableError, match="'unknown'"):
        read_target(cells("1", "unknown"), "y", "regression")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (cells("u", "", "v"), ["u", "v"]),
        (cells("u", None, "none"), ["u", "none"]),
        (cells("1.5", "", "2"), [1.5, 2.0]),
        (cells("1.5", "-", "2"), [1.5, 2.0]),
        (np.array([1.5, np.nan, 2.0]), [1.5, 2.0]),
    ],
)
def test_rows_without_a_target_are_left_out(column, values):
    target = read_target(column, "y")
    assert target.values.tolist() == values
    assert target.there.tolist() == [True, False, True]


def test_a_target_without_any_value_is_refused():
    with pytest.raises(TableError, match="rows with a value are needed"):
        read_target(cells("", None), "y")


def test_an_infinite_target_is_refused_by_row():
    with pytest.raises(TableError, match="got 'inf' in row 2"):
        read_target(np.array([1.5, np.inf]), "y")


def test_comparable_reads_true_values_as_the_classes_are():
    values, there = comparable(cells("1.0", "2", "", "x"), np.array([1, 2]))
    assert there.tolist() == [True, True, False, True]
    assert (values[there] == [1, 2, 0]).tolist() == [True, True, False]
    values, there = comparable(cells("u", "", "NA"), np.array(["NA", "u"]))
    assert values[there].tolist() == ["u", "NA"]
    values, there = comparable(cells("0.5", "x", ""), None)
    assert values[there].tolist() == [0.5]
