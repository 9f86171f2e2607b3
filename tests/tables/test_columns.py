import numpy as np
import pytest

from lowtide.tables import (
    Block,
    Categories,
    Choice,
    ChoiceError,
    DatePart,
    Dates,
    Indicator,
    Number,
    Recipe,
    Surprises,
    TableError,
    Truth,
    align,
    block_rows,
    choose_columns,
    open_table,
)


@pytest.fixture
def named(tmp_path):
    (tmp_path / "t.csv").write_text("Age,city,y\n1,Bern,2\n")
    return open_table(tmp_path / "t.csv")


@pytest.fixture
def counted(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    return open_table(tmp_path / "x.npy")


def align_with(columns, source, target=None, named=True, dropped=()):
    """Align a file with the recipe of a table of these columns."""
    used = [name for name in columns if name not in (target, *dropped)]
    recipe = Recipe.of_features(used, [(Number(j), ()) for j in range(len(used))], named=named)
    return align(recipe, source, Choice.of_recipe(recipe, Choice(columns, named, target).to_json()))


def block(**columns):
    values = [np.asarray(values, dtype=object if isinstance(values, list) else None) for values in columns.values()]
    return Block("t.csv", tuple(columns), values, first_row=11, lines=[*range(12, 12 + len(values[0]))])


def test_every_column_but_the_target_is_a_feature(named):
    choice = choose_columns(named, target="y", columns={"Age": "category"}, drop=["city"])
    assert (choice.features, choice.target, choice.wishes) == (
        ("Age", "city"),
        "y",
        {"Age": "category", "city": "drop"},
    )


def test_counted_columns_are_also_counted_from_the_end(counted):
    assert choose_columns(counted, target="-1").target == "2"
    assert choose_columns(counted, target="0").features == ("1", "2")


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"target": "age"}, "Did you mean 'Age'"),
        ({"target": "zzz"}, "The columns are 'Age', 'city' and 'y'"),
        ({"target": "y", "drop": ["cty"]}, "Did you mean 'city'"),
        ({"target": "y", "drop": ["y"]}, "target"),
        ({"target": "y", "categories": ["city"], "drop": ["city"]}, "drop must not name .* 'category', got 'city'"),
        ({"target": "y", "columns": {"city": "text"}}, "column must be one of 'number', .* got 'text' for 'city'"),
        ({"target": "y", "drop": ["Age", "city"]}, "a column to learn from"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_with_a_way_out(named, kwargs, message):
    with pytest.raises(ChoiceError, match=message):
        choose_columns(named, **kwargs)


@pytest.mark.parametrize("target", ["3", "-4", "y"])
def test_a_number_past_the_last_column_is_refused(counted, target):
    with pytest.raises(ChoiceError, match="0 to 2 or -1"):
        choose_columns(counted, target=target)


def test_a_choice_says_what_to_type():
    options, python = Choice(("a b",), True), Choice(("a b",), True, in_python=True)
    assert [options.typed("a b", wish) for wish in ("number", "category", "drop")] == [
        "--column 'a b=number'",
        "--categories 'a b'",
        "--drop 'a b'",
    ]
    assert [python.typed("a b", wish) for wish in ("number", "category", "drop")] == [
        "columns={'a b': 'number'}",
        "categories=['a b']",
        "drop=['a b']",
    ]


def test_align_finds_columns_by_name_and_speaks_of_unknown_ones(named):
    names, notes = align_with(("y", "Age"), named, target="y")
    assert names == ("Age", "city", "y")
    assert "'city'" in notes[0]


def test_align_names_what_is_missing(named):
    with pytest.raises(TableError, match=r"needs column 'age'.*Did you mean 'Age'"):
        align_with(("age",), named)
    with pytest.raises(TableError, match=r"needs columns 'p' and 'q'.*The file has 'Age', 'city' and 'y'"):
        align_with(("p", "q", "city"), named)


def test_align_takes_columns_without_names_in_order_with_or_without_target(counted):
    assert align_with(("0", "1", "2"), counted, named=False)[0] == ("0", "1", "2")
    assert align_with(("0", "1", "2", "3"), counted, target="1", named=False)[0] == ("0", "2", "3")
    names, _ = align_with(("0", "1", "2", "3"), counted, target="0", named=False, dropped=["2"])
    assert names == ("1", "2", "3")
    names, notes = align_with(("a", "b", "c"), counted)
    assert names == ("a", "b", "c")
    assert "in order, as 'a', 'b' and 'c'" in notes[0]


def test_align_refuses_another_number_of_columns_without_names(counted):
    with pytest.raises(TableError, match="there must be 4 or 5 of them, got 3"):
        align_with(("0", "1", "2", "3", "4"), counted, target="4", named=False)


def test_align_without_a_choice_knows_the_columns_of_the_recipe(counted):
    assert align(Recipe.plain(["a", "b", "c"]), counted)[0] == ("a", "b", "c")


@pytest.mark.parametrize("content", [{"columns": ["a"]}, {"columns": "ab"}, {"columns": [1, 2]}, {"target": 3}])
def test_a_choice_of_a_stranger_is_refused(content):
    with pytest.raises(TableError, match="columns"):
        Choice.of_recipe(Recipe.plain(["a", "b"]), content)


MIXED = Recipe.of_features(
    ("x", "flag", "day", "city"),
    [
        (Number(0), (("fill", 7.0),)),
        (Truth(1), (("fill", 0.0),)),
        (DatePart(0, "days"), (("fill", 0.0),)),
        (Indicator(0, 0), ()),
        (Indicator(0, 1), ()),
    ],
    [Categories(3, ("", "Oslo"), as_text=True)],
    dates=[Dates(2, "dmy")],
)
CELLS = {"x": ["1.5", "NA", " 2"], "flag": ["yes", "F", "-"], "day": ["2.1.1970", "", "03/01/70"]}


def test_rows_of_a_file_are_what_the_recipe_makes_of_them():
    made = block_rows(MIXED, block(**CELLS, city=["Oslo", "n/a", "Rome"]))
    assert made.tolist() == [[1.5, 1, 1, 0, 1], [7.0, 0, 0, 1, 0], [2.0, 0, 2, 0, 0]]


@pytest.mark.parametrize(
    ("name", "cells", "message"),
    [
        ("x", ["1", "2", "inf"], "a finite number, got 'inf' in row 13 (line 14), column 'x'"),
        ("x", ["1", "2", "3 kg"], "a finite number, got '3 kg' in row 13 (line 14), column 'x'"),
        ("x", ["a", "b", "3"], "column 'x' must hold numbers, as it did when the model was fitted, got text, 'a'"),
        ("flag", ["1", "maybe", "0"], "true or false, yes or no, got 'maybe' in row 12 (line 13), column 'flag'"),
        ("day", ["", "1970-01-02", "1970-01-03"], "a date such as 31.03.2024, got '1970-01-02' in row 12 (line 13), "),
        ("day", ["", 5, 6], "got '5' in row 12 (line 13), column 'day' (and 1 more like it)"),
    ],
)
def test_a_cell_that_the_recipe_cannot_take_is_named_by_line_and_column(name, cells, message):
    with pytest.raises(TableError) as caught:
        block_rows(MIXED, block(**{**CELLS, "city": ["", "", ""], name: cells}))
    assert message in str(caught.value)


def test_a_missing_cell_that_nothing_fills_is_named():
    with pytest.raises(TableError, match=r"got an empty cell in row 12 \(line 13\), column 'x' \(and 1 more"):
        block_rows(Recipe.plain(["x"]), block(x=["1", "", "-"]))
    recipe = Recipe.of_features(("t",), [(Truth(0), ())])
    with pytest.raises(TableError, match="a value, got an empty cell in row 11"):
        block_rows(recipe, block(t=["", "yes"]))
    refusing = Recipe.of_features(("c",), [(Indicator(0, 0), ())], [Categories(0, ("a",), "error")])
    with pytest.raises(TableError, match="one of 'a', got 'b' in row 12"):
        block_rows(refusing, block(c=["a", "b"]))


def test_plain_numbers_may_be_written_as_truth_values():
    made = block(t=["True", "false"], b=np.array([True, False]), n=np.array([1, 2]))
    assert block_rows(Recipe.plain(["t", "b", "n"]), made).tolist() == [[1, 1, 1], [0, 0, 2]]
    assert block_rows(Recipe.plain(["x"]), block(x=["1", "true", "2.5"]))[:, 0].tolist() == [1.0, 1.0, 2.5]


def test_categories_of_numbers_are_compared_as_numbers():
    recipe = Recipe.of_features(("k",), [(Indicator(0, 1), ())], [Categories(0, (1, 2))])
    assert block_rows(recipe, block(k=["2", "1.0", "2.0"]))[:, 0].tolist() == [1.0, 0.0, 1.0]


def test_what_was_not_there_at_fit_is_counted():
    found = Surprises(MIXED)
    found.add(block(**CELLS, city=["Oslo", "n/a", "Rome"]))
    found.add(block(x=["", "3"], flag=["y", "n"], day=["", ""], city=["Rome", "Kyiv"]))
    assert found.notes() == [
        "column 'city': 3 rows with categories that the model does not have, 'Rome' and 'Kyiv'; they count as none.",
        "column 'x': 2 missing values, taken as the median at fit.",
        "column 'flag': 1 missing value, taken as the more frequent one at fit.",
        "column 'day': 3 missing values, taken as the median at fit.",
    ]
    without = Recipe.of_features(("c",), [(Indicator(0, 0), ())], [Categories(0, ("a",), as_text=True)])
    found = Surprises(without)
    found.add(block(c=["a", None]))
    assert found.notes() == ["column 'c': 1 missing value, taken as no category."]
