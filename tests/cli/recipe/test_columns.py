import click
import numpy as np
import pytest
from cli.samples import write_csv

from lowtide.cli.recipe import Choice, TableRecipe, align, choose_columns
from lowtide.cli.tables import TableError, open_table


@pytest.fixture
def named(tmp_path):
    return open_table(write_csv(tmp_path / "t.csv", ["Age", "city", "y"], [(1, "Bern", 2)]))


@pytest.fixture
def counted(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    return open_table(tmp_path / "x.npy")


def choose(source, target=None, one_hot=(), drop=()):
    return choose_columns(source, target=target, one_hot=one_hot, drop=drop)


def recipe(columns, target=None, named=True):
    numeric = tuple(name for name in columns if name != target)
    return TableRecipe.learn(
        Choice(columns, named, target, numeric, ()), np.zeros((1, len(numeric))), {}, standardize=True
    )


def test_every_column_but_target_and_dropped_is_a_feature(named):
    choice = choose(named, "y", one_hot=["city"])
    assert (choice.numeric, choice.one_hot, choice.target) == (("Age",), ("city",), "y")
    assert choose(named, "y", drop=["city"]).numeric == ("Age",)


def test_counted_columns_are_also_counted_from_the_end(counted):
    assert choose(counted, "-1").target == "2"
    assert choose(counted, "0").numeric == ("1", "2")


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"target": "age"}, "Did you mean 'Age'"),
        ({"target": "zzz"}, "The columns are 'Age', 'city' and 'y'"),
        ({"target": "y", "drop": ["cty"]}, "Did you mean 'city'"),
        ({"target": "y", "drop": ["y"]}, "target"),
        ({"target": "y", "one_hot": ["city"], "drop": ["city"]}, "'city'"),
        ({"target": "y", "drop": ["Age", "city"]}, "a column to learn from"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_with_a_way_out(named, kwargs, message):
    with pytest.raises(click.BadParameter, match=message):
        choose(named, **kwargs)


@pytest.mark.parametrize("target", ["3", "-4", "y"])
def test_a_number_past_the_last_column_is_refused(counted, target):
    with pytest.raises(click.BadParameter, match="0 to 2 or -1"):
        choose(counted, target)


def test_align_finds_columns_by_name_and_speaks_of_unknown_ones(named):
    found = align(recipe(("y", "Age"), target="y"), named)
    assert found.names == ("Age", "city", "y")
    assert found.has("y")
    assert "'city'" in found.notes[0]


def test_align_names_what_is_missing(named):
    with pytest.raises(TableError, match=r"needs column 'age'.*Did you mean 'Age'"):
        align(recipe(("age",)), named)
    with pytest.raises(TableError, match=r"needs columns 'p' and 'q'.*The file has 'Age', 'city' and 'y'"):
        align(recipe(("p", "q", "city")), named)


def test_align_takes_columns_without_names_in_order_with_or_without_target(counted):
    assert align(recipe(("0", "1", "2"), named=False), counted).names == ("0", "1", "2")
    assert align(recipe(("0", "1", "2", "3"), target="1", named=False), counted).names == ("0", "2", "3")
    dropped = TableRecipe(("0", "1", "2", "3"), False, "0", ("1", "3"))
    assert align(dropped, counted).names == ("1", "2", "3")
    found = align(recipe(("a", "b", "c")), counted)
    assert found.names == ("a", "b", "c")
    assert "in order, as 'a', 'b' and 'c'" in found.notes[0]


def test_align_refuses_another_number_of_columns_without_names(counted):
    with pytest.raises(TableError, match="there must be 4 or 5 of them, got 3"):
        align(recipe(("0", "1", "2", "3", "4"), target="4", named=False), counted)
