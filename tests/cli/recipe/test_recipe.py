import json

import numpy as np
import pytest

from lowtide.cli.recipe import Choice, TableRecipe
from lowtide.cli.tables import Block, TableError

CHOICE = Choice(("x", "city", "y", "z"), True, "y", ("x", "z"), ("city",))
NUMBERS = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])
TEXTS = {"city": np.array(["Oslo", "", "Bern"], dtype=object)}


def learned(**kwargs):
    return TableRecipe.learn(CHOICE, NUMBERS, TEXTS, **{"standardize": True, **kwargs})


def test_recipe_standardizes_numbers_and_leaves_a_constant_column_at_zero():
    matrix = learned().matrix(NUMBERS.copy(), TEXTS)
    assert matrix[:, 0].mean() == pytest.approx(0.0, abs=1e-15)
    assert matrix[:, 0].std() == pytest.approx(1.0, rel=1e-15)
    assert matrix[:, 1].tolist() == [0.0, 0.0, 0.0]


def test_recipe_makes_a_column_a_category_with_nothing_a_category_of_its_own():
    recipe = learned()
    assert recipe.categories == {"city": ("", "Bern", "Oslo")}
    assert recipe.n_features == 5
    assert recipe.matrix(NUMBERS.copy(), TEXTS)[:, 2:].tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_recipe_without_scale_takes_numbers_as_they_are():
    assert np.array_equal(learned(standardize=False).matrix(NUMBERS.copy(), TEXTS)[:, :2], NUMBERS)


def test_recipe_rows_of_another_table_use_the_scale_of_the_first():
    recipe = learned()
    columns = [np.array(["Rome", "Bern"], dtype=object), np.array(["1", "2"], dtype=object), np.array([5.0, 6.0])]
    block = Block("t.csv", ("city", "x", "z"), columns, 1)
    x = (np.array([1.0, 2.0]) - NUMBERS[:, 0].mean()) / NUMBERS[:, 0].std()
    assert np.allclose(recipe.rows(block), np.column_stack([x, [0, 1], [0, 0], [0, 1], [0, 0]]), rtol=1e-15, atol=0)
    assert recipe.unseen(block) == {"city": ["Rome"]}
    assert recipe.needed == ("x", "city", "z")


def test_recipe_comes_back_from_json_exactly():
    recipe = TableRecipe.learn(CHOICE, np.random.default_rng(0).standard_normal((50, 2)), TEXTS, standardize=True)
    assert TableRecipe.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe


@pytest.mark.parametrize(
    "change",
    [
        {"numeric": "x"},
        {"numeric": ["x", "nowhere"]},
        {"columns": [1, 2]},
        {"mean": [0.0]},
        {"scale": [1.0, 0.0]},
        {"scale": [1.0, float("nan")]},
        {"scale": ["wide", 1.0]},
        {"categories": ["city"]},
        {"categories": {"city": "Bern"}},
        {"format": 2},
        {"format": None},
    ],
)
def test_recipe_of_a_stranger_is_refused_with_a_reason(change):
    with pytest.raises(TableError, match="recipe"):
        TableRecipe.from_json({**learned().to_json(), **change})


@pytest.mark.parametrize("content", [None, [], {}, "recipe"])
def test_recipe_that_is_none_is_refused(content):
    with pytest.raises(TableError, match="recipe"):
        TableRecipe.from_json(content)


def test_recipe_refuses_an_identifier_as_categories():
    texts = {"city": np.array([str(i) for i in range(1001)], dtype=object)}
    with pytest.raises(TableError, match="--drop city"):
        TableRecipe.learn(CHOICE, np.zeros((1001, 2)), texts, standardize=True)


def test_recipe_refuses_numbers_without_a_finite_variance():
    with pytest.raises(TableError, match="'z'"):
        TableRecipe.learn(CHOICE, np.array([[1.0, 1e300], [2.0, -1e300], [3.0, 0.0]]), TEXTS, standardize=True)


@pytest.mark.parametrize("standardize", [True, False])
def test_recipe_names_columns_whose_numbers_are_too_large_for_a_feature(standardize):
    recipe = learned(standardize=standardize)
    with pytest.raises(TableError, match=r"at most 3\.4e38 in size.*got larger ones in 'x'"):
        recipe.matrix(np.array([[-1e300, 5.0]]), {"city": np.array(["Oslo"], dtype=object)})
    assert recipe.matrix(np.empty((0, 2)), {"city": np.empty(0, dtype=object)}).shape == (0, 5)
