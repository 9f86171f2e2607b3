import numpy as np
import pytest

from lowtide.tables import (
    Block,
    Categories,
    Choice,
    ChoiceError,
    Gathered,
    Indicator,
    Number,
    Recipe,
    TableError,
    align,
    block_rows,
    choose_columns,
    learn_recipe,
    open_table,
    reading,
    survey,
    surveying,
    unseen_categories,
)


@pytest.fixture
def named(tmp_path):
    (tmp_path / "t.csv").write_text("Age,city,y\n1,Bern,2\n")
    return open_table(tmp_path / "t.csv")


@pytest.fixture
def counted(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    return open_table(tmp_path / "x.npy")


def choose(source, target=None, one_hot=(), drop=()):
    return choose_columns(source, target=target, one_hot=one_hot, drop=drop)


def align_with(columns, source, target=None, named=True, dropped=()):
    """Align a file with the recipe of a table of these columns."""
    numeric = tuple(name for name in columns if name not in (target, *dropped))
    choice = Choice(columns, named, target, numeric)
    recipe = learn_recipe(choice, np.zeros((1, len(numeric))), {}, standardize=True)
    return align(recipe, source, Choice.of_recipe(recipe, choice.to_json()))


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
    with pytest.raises(ChoiceError, match=message):
        choose(named, **kwargs)


@pytest.mark.parametrize("target", ["3", "-4", "y"])
def test_a_number_past_the_last_column_is_refused(counted, target):
    with pytest.raises(ChoiceError, match="0 to 2 or -1"):
        choose(counted, target)


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


CHOICE = Choice(("x", "city", "y", "z"), True, "y", ("x", "z"), ("city",))
NUMBERS = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])
TEXTS = {"city": np.array(["Oslo", "", "Bern"], dtype=object)}


def learned(**kwargs):
    return learn_recipe(CHOICE, NUMBERS, TEXTS, **{"standardize": True, **kwargs})


def rows(recipe, numbers=NUMBERS, texts=TEXTS):
    return Gathered(numbers.copy(), texts).matrix(recipe)


def test_learned_recipe_standardizes_numbers_and_leaves_a_constant_column_at_zero():
    matrix = rows(learned())
    assert matrix[:, 0].mean() == pytest.approx(0.0, abs=1e-15)
    assert matrix[:, 0].std() == pytest.approx(1.0, rel=1e-15)
    assert matrix[:, 1].tolist() == [0.0, 0.0, 0.0]


def test_learned_recipe_makes_a_column_a_category_with_nothing_a_category_of_its_own():
    recipe = learned()
    assert [some.values for some in recipe.categories] == [("", "Bern", "Oslo")]
    assert recipe.n_features == 5
    assert rows(recipe)[:, 2:].tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_learned_recipe_without_scale_takes_numbers_as_they_are():
    assert np.array_equal(rows(learned(standardize=False))[:, :2], NUMBERS)


def test_rows_of_another_table_use_the_scale_of_the_first():
    recipe = learned()
    columns = [np.array(["Rome", "Bern"], dtype=object), np.array(["1", "2"], dtype=object), np.array([5.0, 6.0])]
    block = Block("t.csv", ("city", "x", "z"), columns, 1)
    x = (np.array([1.0, 2.0]) - NUMBERS[:, 0].mean()) / NUMBERS[:, 0].std()
    assert np.allclose(
        block_rows(recipe, block), np.column_stack([x, [0, 1], [0, 0], [0, 1], [0, 0]]), rtol=1e-15, atol=0
    )
    assert unseen_categories(recipe, block) == {"city": ["Rome"]}
    assert recipe.columns == ("x", "city", "z")


def test_rows_of_a_file_may_miss_what_the_recipe_fills():
    recipe = Recipe.of_features(
        ("x", "k"), [(Number(0), (("fill", 7.0),)), (Indicator(0, 1), ())], [Categories(1, (1, 2))]
    )
    columns = [np.array(["1.5", "", "NA"], dtype=object), np.array(["2", "1.0", "2.0"], dtype=object)]
    block = Block("t.csv", ("x", "k"), columns, 1)
    assert block_rows(recipe, block).tolist() == [[1.5, 1.0], [7.0, 0.0], [7.0, 1.0]]
    bad = Block("t.csv", ("x", "k"), [np.array(["1", "inf", ""], dtype=object), columns[1]], 1)
    with pytest.raises(TableError, match="got 'inf' in row 2, column 'x'"):
        block_rows(recipe, bad)


def test_learned_recipe_refuses_an_identifier_as_categories():
    texts = {"city": np.array([str(i) for i in range(1001)], dtype=object)}
    with pytest.raises(TableError, match="--drop city"):
        learn_recipe(CHOICE, np.zeros((1001, 2)), texts, standardize=True)


def test_learned_recipe_refuses_numbers_without_a_finite_variance():
    with pytest.raises(TableError, match="'z'"):
        learn_recipe(CHOICE, np.array([[1.0, 1e300], [2.0, -1e300], [3.0, 0.0]]), TEXTS, standardize=True)


@pytest.mark.parametrize("standardize", [True, False])
def test_columns_whose_numbers_are_too_large_for_a_feature_are_named(standardize):
    recipe = learned(standardize=standardize)
    with pytest.raises(TableError, match=r"at most 3\.4e38 in size.*got larger ones in 'x'"):
        rows(recipe, np.array([[-1e300, 5.0]]), {"city": np.array(["Oslo"], dtype=object)})
    assert rows(recipe, np.empty((0, 2)), {"city": np.empty(0, dtype=object)}).shape == (0, 5)


@pytest.mark.parametrize("most", [20, 1000])
def test_survey_of_blocks_finds_what_the_whole_table_has(tmp_path, monkeypatch, most):
    monkeypatch.setattr(surveying, "_SAMPLE_ROWS", most)
    rng = np.random.default_rng(0)
    x, city = rng.standard_normal(100), rng.choice(["Bern", "Oslo", "Rome"], 100)
    (tmp_path / "t.csv").write_text(
        "x,city,y\n" + "".join(f"{a!r},{c},{i}\n" for i, (a, c) in enumerate(zip(x.tolist(), city)))
    )
    monkeypatch.setattr(reading, "_TEXT_CELLS", 30)
    source = open_table(tmp_path / "t.csv")
    choice = choose_columns(source, target="y", one_hot=["city"], drop=[])
    n_rows, recipe, sample, kind = survey(source, choice, standardize=True, seed=0)
    whole = learn_recipe(choice, x[:, None], {"city": city.astype(object)}, standardize=True)
    assert n_rows == 100
    assert kind == "whole"
    assert sample.shape == (min(100, most), 4)
    assert recipe.categories == whole.categories
    np.testing.assert_allclose(recipe.apply([[1.5, "Oslo"]]), whole.apply([[1.5, "Oslo"]]), rtol=1e-12)
