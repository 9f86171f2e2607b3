import json
from datetime import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from lowtide.errors import FileFormatError
from lowtide.spec import Part
from lowtide.tables import Categories, DatePart, Dates, Indicator, Missing, Number, Ordinal, Recipe, TableError, Truth

RECIPE = Recipe.of_features(
    ("x", "city", "z"),
    [
        (Number(0), (("subtract", 1.0), ("divide", 2.0))),
        (Number(2), (("fill", 5.0), ("clip", 0.0, 6.0))),
        (Indicator(0, 0), ()),
        (Indicator(0, 1), ()),
        (Ordinal(1, -1.0, None), (("fill", 9.0),)),
    ],
    [Categories(1, ("Bern", "Oslo")), Categories(1, ("Oslo", "Bern", None))],
)
ROWS = [[3.0, "Oslo", 4.0], [2.0, None, None], [1.0, "Rome", 8.0]]
EXPECTED = [[1.0, 4.0, 0.0, 1.0, 0.0], [0.5, 5.0, 0.0, 0.0, 9.0], [0.0, 6.0, 0.0, 0.0, -1.0]]

# Every kind of column, each with what may be missing.
MIXED = Recipe.of_features(
    ("size", "city", "paid", "since", "note"),
    [
        (Number(0), (("fill", 7.0),)),
        (Missing(0), ()),
        (Indicator(0, 1), ()),
        (Missing(1), ()),
        (Truth(2), (("fill", 0.5),)),
        (Missing(2), ()),
        (DatePart(0, "days"), (("fill", -1.0),)),
        (DatePart(0, "day_cosine"), (("fill", 0.0),)),
        (Missing(3), ()),
    ],
    [Categories(1, ("Bern", "Oslo"))],
    dates=[Dates(3, "dmy")],
)


def as_dicts(rows=ROWS):
    return [dict(zip(RECIPE.columns, row)) for row in rows]


class PolarsLike:
    """A data frame that has columns and to_numpy, and nothing else of pandas."""

    def __init__(self, frame):
        self.columns, self._frame = list(frame.columns), frame

    def __getitem__(self, name):
        return self._frame[name]


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        [tuple(row) for row in ROWS],
        np.array(ROWS, dtype=object),
        as_dicts(),
        [as_dicts()[0], ROWS[1], {"more": 0, **as_dicts()[2]}],
        {"z": [4, None, 8.0], "city": ["Oslo", None, "Rome"], "x": np.array([3, 2, 1])},
        {"x": pd.Series([3, 2, 1]), "city": pd.Series(["Oslo", None, "Rome"]), "z": [4.0, np.nan, 8.0], "more": "?"},
        pd.DataFrame(as_dicts())[["z", "city", "x"]].assign(more=1),
        pd.DataFrame(as_dicts()).astype({"city": "category", "z": "Int64", "x": "float32"}),
        pd.DataFrame(as_dicts()).astype({"city": "string", "z": "Float64", "x": "int8"}),
        PolarsLike(pd.DataFrame(as_dicts())),
    ],
    ids=lambda table: type(table).__name__,
)
def test_recipe_reads_every_kind_of_table_alike(table):
    np.testing.assert_array_equal(RECIPE.apply(table), EXPECTED)


@pytest.mark.parametrize(
    "table",
    [[], {"x": [], "city": [], "z": []}, np.empty((0, 3)), pd.DataFrame({"x": [], "city": [], "z": []})],
    ids=lambda table: type(table).__name__,
)
def test_no_rows_give_no_rows(table):
    assert RECIPE.apply(table).shape == (0, 5)
    assert Recipe.plain(["x", "city", "z"]).apply(table).shape == (0, 3)


def test_categories_may_be_numbers_and_truth_values():
    known = [Categories(0, (1, 2.5)), Categories(1, (False, True))]
    recipe = Recipe.of_features(("a", "b"), [(Indicator(0, 0), ()), (Indicator(0, 1), ()), (Ordinal(1), ())], known)
    expected = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    for table in (np.array([[1.0, 1.0], [2.5, 0.0]]), [[1, True], [2.5, False]], [[np.float32(1), np.True_], [2.5, 0]]):
        np.testing.assert_array_equal(recipe.apply(table), expected)


def test_categories_as_text_take_cells_as_a_file_has_them():
    recipe = Recipe.of_features(
        ("k",), [(Indicator(0, i), ()) for i in range(3)], [Categories(0, ("", "3", "b"), as_text=True)]
    )
    np.testing.assert_array_equal(recipe.apply([[3.0], [" b "], [None], ["3"], [4]]).argmax(axis=1), [1, 2, 0, 1, 0])
    assert recipe.apply([[4]]).sum() == 0


def test_a_missing_cell_may_count_as_a_category():
    known = [Categories(0, ("a", "b"), missing="b"), Categories(0, ("a", None))]
    recipe = Recipe.of_features(("k",), [(Indicator(0, 1), ()), (Indicator(1, 1), ())], known)
    np.testing.assert_array_equal(recipe.apply([[None], [float("nan")], ["b"]]), [[1, 1], [1, 1], [1, 0]])


def test_a_category_may_make_several_features():
    recipe = Recipe.of_features(
        ("k",), [(Indicator(0, 1), ()), (Indicator(0, 1), (("subtract", 0.5),))], [Categories(0, "ab")]
    )
    np.testing.assert_array_equal(recipe.apply([["b"], ["a"]]), [[1.0, 0.5], [0.0, -0.5]])


@pytest.mark.parametrize(("cell", "got"), [("Rome", "'Rome' in row 2"), (None, "nothing in row 2"), (3, "3 in row 2")])
def test_an_unknown_category_is_refused_where_the_recipe_says_so(cell, got):
    recipe = Recipe.of_features(("city",), [(Indicator(0, 0), ())], [Categories(0, ("Bern", "Oslo"), "error")])
    with pytest.raises(TableError, match=f"'city' must hold one of 'Bern' and 'Oslo', got {got}"):
        recipe.apply([["Oslo"], [cell]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0, "Oslo"]], "3 values, got 2 in row 1"),
        ([{"x": 1.0}], "columns 'city' and 'z' are missing in row 1\\.$"),
        (
            [{"x": 1.0, "z": 2.0, "City": "Oslo"}],
            "'city' is missing in row 1; it has 'City', which is not known. If 'City' is 'city', rename it",
        ),
        ({"x": [1.0], "city": ["Oslo"]}, "column 'z' is missing in the table"),
        ({"x": [1.0], "city": ["Oslo"], "z": [1, 2]}, "equal lengths"),
        (
            pd.DataFrame({"x": [1.0], "town": ["Oslo"], "z": [1]}),
            "'city' is missing in the table; it has 'town', which",
        ),
        ({"x": 1.0, "city": "Oslo", "z": 2.0}, "'x' must be a list of cells, got '1.0'"),
        ({"x": [1.0], "city": "Oslo", "z": [2.0]}, "'city' must be a list of cells"),
        (["abc"], "got 'abc' as row 1"),
        ([1.0], "got '1.0' as row 1"),
        ("abc", "got str"),
        (7, "got int"),
        (np.zeros(3), "3 columns"),
        (np.zeros((2, 2)), "3 columns"),
        ([[1.0, ["Oslo"], 2.0]], "column 'city' must hold texts"),
        ([["one", "Oslo", 2.0]], "column 'x' must hold numbers, got 'one' in row 1"),
        ([["1", "Oslo", 2.0]], "column 'x' must hold numbers, got '1' in row 1"),
        ([[2.0, "Oslo", 2.0], [None, "Oslo", 2.0]], "got a missing value or NaN in row 2, column 'x'"),
        ([[float("nan"), "Oslo", 2.0]], "row 1, column 'x'"),
        ([[float("inf"), "Oslo", 2.0]], "got larger ones in 'x'"),
        ([[1.0, "Oslo", -float("inf")]], "got larger ones in 'z'"),
        ([[10**400, "Oslo", 1.0]], "'x'"),
        ([[1 + 2j, "Oslo", 1.0]], "'x'"),
    ],
    ids=str,
)
def test_rows_that_do_not_fit_are_refused_with_their_place(rows, message):
    with pytest.raises(TableError, match=message):
        RECIPE.apply(rows)


@pytest.mark.parametrize(
    "table",
    [
        [
            [1, "Oslo", True, "2.1.1970 12:00", 0],
            [None, None, None, None, None],
            [2.0, "Bern", " No ", "01/01/70", "x"],
        ],
        pd.DataFrame(
            {
                "size": [1.0, np.nan, 2.0],
                "city": ["Oslo", None, "Bern"],
                "paid": pd.array([True, None, False], dtype="boolean"),
                "since": pd.to_datetime(["1970-01-02T12:00", None, "1970-01-01T00:00"]),
                "note": 0,
            }
        ),
        {
            "size": [1, None, 2],
            "city": ["Oslo", " ", "Bern"],
            "paid": ["Y", "", "f"],
            "since": ["02-01-1970T1200", " ", datetime(1970, 1, 1)],
            "note": [1, 2, 3],
        },
    ],
    ids=lambda table: type(table).__name__,
)
def test_truth_values_dates_and_missing_cells_are_read_from_every_kind_of_table(table):
    expected = [[1, 0, 1, 0, 1, 0, 1.5, -1, 0], [7, 1, 0, 1, 0.5, 1, -1, 0, 1], [2, 0, 0, 0, 0, 0, 0, 1, 0]]
    np.testing.assert_array_equal(MIXED.apply(table), expected)


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("paid", "maybe", "column 'paid' must hold true or false .*, got 'maybe' in row 2"),
        ("paid", 2, "got '2' in row 2"),
        ("paid", [], "got '\\[\\]' in row 2"),
        (
            "since",
            "1970-01-02",
            "column 'since' must hold dates, '1970-01-02' in row 2 is none. A date is written 31.03",
        ),
        ("since", 5.0, "'5.0' in row 2"),
        ("since", True, "'True' in row 2"),
    ],
    ids=str,
)
def test_cells_that_are_no_truth_value_or_date_are_refused_with_their_place(column, cell, message):
    rows = [dict.fromkeys(MIXED.columns) for _ in range(2)]
    rows[1][column] = cell
    with pytest.raises(TableError, match=message):
        MIXED.apply(rows)


@pytest.mark.parametrize(
    ("source", "message"),
    [(Truth(0), "hold true or false, got a missing"), (DatePart(0), "hold a date, got a missing")],
)
def test_missing_cells_that_nothing_fills_are_refused(source, message):
    with pytest.raises(TableError, match=f"{message} value or NaN in row 1, column 'k'"):
        Recipe.of_features(("k",), [(source, ())], dates=[Dates(0)]).apply([[None]])


def test_recipe_says_what_each_column_is():
    assert MIXED.kinds == ("number", "category", "truth", "date", "unused")
    assert MIXED.numeric == ("size",)
    assert MIXED.by_cell == ("city", "paid", "since")
    assert MIXED.filled == {"size", "city", "paid", "since"}
    assert MIXED.feature_names[1:8] == (
        "size_missing",
        "city_Oslo",
        "city_missing",
        "paid",
        "paid_missing",
        "since_days",
        "since_day_cosine",
    )
    assert RECIPE.filled == {"z", "city"}
    assert MIXED.unknown_columns(["City", "size", "id"]) == ("City", "id")
    assert Recipe.plain(2).unknown_columns(["a"]) == ()
    moved = MIXED.without_unused().with_columns("abcde", [4, 3, 2, 1])
    assert moved.kinds == ("unused", "date", "truth", "category", "number")


@pytest.mark.parametrize(
    ("source", "known", "may_miss"),
    [
        (Indicator(0, 0), Categories(0, ("a",)), True),
        (Indicator(0, 0), Categories(0, ("a",), "error"), False),
        (Indicator(0, 0), Categories(0, ("a", None), "error"), True),
        (Indicator(0, 0), Categories(0, ("a",), "error", as_text=True), False),
        (Ordinal(0), Categories(0, ("a",)), False),
        (Ordinal(0, None, -1.0), Categories(0, ("a",)), True),
        (Ordinal(0, -1.0), Categories(0, ("a",), as_text=True), True),
        (Ordinal(0), Categories(0, ("a",), missing="a"), True),
        (Ordinal(0), Categories(0, ("a",), missing="b"), False),
    ],
    ids=str,
)
def test_recipe_knows_where_cells_may_be_missing(source, known, may_miss):
    recipe = Recipe.of_features(("k",), [(source, ())], [known])
    assert (recipe.filled == {"k"}) is may_miss
    if may_miss:
        assert np.isfinite(recipe.apply([[None]])).all()
    else:
        with pytest.raises(TableError, match="'k'"):
            recipe.apply([[None]])


def test_cells_by_name_and_numbers_in_order_give_the_same_features():
    rows = [[1.0, "Oslo", "no", "2.1.1970", 0], [None, None, True, None, 0]]
    cells = {name: np.array([row[j] for row in rows], dtype=object) for j, name in enumerate(MIXED.columns)}
    numbers = np.array([[1.0], [np.nan]])
    made = MIXED.apply_read(numbers, {name: cells[name] for name in MIXED.by_cell})
    np.testing.assert_array_equal(made, MIXED.apply(rows))


def test_recipe_after_another_keeps_its_dates():
    after = MIXED.then(Recipe.scaled(9, [2.0] * 9))
    rows = [[1, "Oslo", True, "2.1.1970", 0]]
    np.testing.assert_array_equal(after.apply(rows), 2 * MIXED.apply(rows))
    with pytest.raises(TableError, match="not all of numbers"):
        MIXED.then(Recipe.of_features("abcdefghi", [(Truth(0), ())]))


def test_recipe_of_counted_columns_takes_tables_in_order():
    frame = pd.DataFrame({"b": [1.0], "a": [2.0]})
    assert Recipe.plain(2).apply(frame).tolist() == [[1.0, 2.0]]
    assert Recipe.plain(["a", "b"]).apply(frame).tolist() == [[2.0, 1.0]]
    with pytest.raises(TableError, match="2 columns, got a data frame with 1"):
        Recipe.plain(2).apply(frame[["a"]])


def test_numbers_may_be_decimals_and_truth_values():
    assert Recipe.plain(2).apply([[Decimal("1.5"), True]]).tolist() == [[1.5, 1.0]]


def test_sparse_rows_are_refused_with_the_way_out():
    from scipy.sparse import csr_matrix

    with pytest.raises(TableError, match="toarray"):
        RECIPE.apply(csr_matrix((2, 3)))


def test_only_a_recipe_that_changes_nothing_is_the_identity():
    assert Recipe.plain(["x", "y"]).is_identity
    assert not Recipe.scaled(["x", "y"], [1.0, 1.0]).is_identity
    assert not Recipe(("x", "y"), True, (Number(1), Number(0))).is_identity
    assert not Recipe(("x", "y"), True, (Number(0),)).is_identity


def test_apply_leaves_an_array_as_it_is_unless_told():
    X = np.array([[1.0, 2.0]])
    recipe = Recipe.scaled(2, [10.0, 100.0])
    assert recipe.apply(X).tolist() == [[10.0, 200.0]]
    assert X.tolist() == [[1.0, 2.0]]
    assert np.shares_memory(recipe.apply(X, copy=False), X)
    assert X.tolist() == [[10.0, 200.0]]


def test_steps_of_several_features_run_in_the_order_of_each():
    first = (("subtract", 1.0), ("multiply", 3.0), ("add", 1.0), ("subtract", 2.0))
    second = (("multiply", 2.0), ("subtract", 1.0), ("fill", 4.0))
    recipe = Recipe.of_features(("a", "b"), [(Number(0), first), (Number(1), second)])
    np.testing.assert_array_equal(recipe.apply(np.array([[5.0, 5.0], [0.0, np.nan]])), [[11.0, 9.0], [-4.0, 4.0]])


def test_numbers_that_no_step_changes_keep_their_bits():
    recipe = Recipe.of_features(
        ("a", "b"), [(Number(0), (("add", 1.0), ("clip", 0.0, 1.0), ("divide", 3.0))), (Number(1), ())]
    )
    assert np.signbit(recipe.apply(np.array([[1.0, -0.0]]))[0, 1])


def test_scale_must_have_a_number_a_column():
    with pytest.raises(TableError, match="a finite number a column, 2"):
        Recipe.scaled(["x", "y"], [1.0])


def test_recipe_comes_back_from_json_and_state_exactly():
    for recipe in (RECIPE, MIXED):
        again = Recipe.from_json(json.loads(json.dumps(recipe.to_json(), allow_nan=False)))
        assert again == recipe
        assert hash(again) == hash(recipe)
        assert Recipe.from_state(recipe.to_state()) == recipe


def test_json_of_a_recipe_is_what_other_languages_read():
    recipe = Recipe.of_features(
        ("age", "city"),
        [(Number(0), (("subtract", 40.0), ("divide", 12.0))), (Indicator(0, 1), ()), (Ordinal(0, -1.0), ())],
        [Categories(1, ("Bern", "Oslo"))],
    )
    known = {"column": 1, "values": ["Bern", "Oslo"], "unknown": "ignore", "as_text": False, "missing": None}
    assert recipe.to_json() == {
        "columns": ["age", "city"],
        "named": True,
        "categories": [known],
        "dates": [],
        "sources": [["number", 0], ["indicator", 0, 1], ["ordinal", 0, -1.0, None]],
        "steps": [["subtract", [40.0, None, None]], ["divide", [12.0, None, None]]],
    }


@pytest.mark.parametrize(
    "change",
    [
        {"columns": [1, 2, 3]},
        {"columns": "xyz"},
        {"columns": ["x", "x", "z"]},
        {"named": 1},
        {"sources": [["number", 3]] * 5},
        {"sources": [["number", -1]] * 5},
        {"sources": [["number", True]] * 5},
        {"sources": [["text", 0]] * 5},
        {"sources": [["indicator", 0, 2]] * 5},
        {"sources": [["indicator", 2, 0]] * 5},
        {"sources": [["ordinal", 0, "a", None]] * 5},
        {"sources": [7] * 5},
        {"steps": [["subtract", [1.0]]]},
        {"steps": [["divide", [0.0] * 5]]},
        {"steps": [["add", [float("nan")] * 5]]},
        {"steps": [["add", ["1"] * 5]]},
        {"steps": [["add", [10**400] * 5]]},
        {"steps": [["power", [1.0] * 5]]},
        {"steps": [["clip", [1.0] * 5]]},
        {"steps": [[["add"], [1.0] * 5]]},
        {"sources": [["truth", 3]] * 5},
        {"sources": [["missing", "x"]] * 5},
        {"sources": [["date", 0, "days"]] * 5},
        {"dates": [{"column": 0, "order": "ymd"}], "sources": [["date", 0, "month"]] * 5},
        {"dates": [{"column": 0, "order": "ymd"}], "sources": [["date", 0, ["days"]]] * 5},
        {"dates": [{"column": 0, "order": "ymd"}], "sources": [["date", 1, "days"]] * 5},
        {"dates": [{"column": 3, "order": "ymd"}]},
        {"dates": [{"column": 0, "order": "ydm"}]},
        {"dates": [{"column": 0}]},
        {"dates": ["x"]},
        {"categories": ["city"]},
        {"categories": [{"column": 1}]},
        {"categories": [{**RECIPE.to_json()["categories"][0], "values": ["a", "a"]}] * 2},
        {"categories": [{**RECIPE.to_json()["categories"][0], "values": [["a"], "b"]}] * 2},
        {"categories": [{**RECIPE.to_json()["categories"][0], "values": "ab"}] * 2},
        {"categories": [{**RECIPE.to_json()["categories"][0], "unknown": "guess"}] * 2},
        {"categories": [{**RECIPE.to_json()["categories"][0], "column": 9}] * 2},
        {"more": 1},
    ],
    ids=str,
)
def test_recipe_of_a_stranger_is_refused_with_a_reason(change):
    with pytest.raises(TableError, match="recipe"):
        Recipe.from_json({**RECIPE.to_json(), **change})


@pytest.mark.parametrize("content", [None, [], {}, "recipe", 3])
def test_recipe_that_is_none_is_refused(content):
    with pytest.raises(TableError, match="recipe"):
        Recipe.from_json(content)


@pytest.mark.parametrize(
    "state", [{}, {"table": Part(99, RECIPE.to_json())}, {**RECIPE.to_state(), "tables": Part(1, {})}], ids=str
)
def test_a_state_of_another_version_or_name_is_refused(state):
    with pytest.raises(FileFormatError, match="table"):
        Recipe.from_state(state)
