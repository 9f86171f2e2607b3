import datetime

import numpy as np
import pytest

from lowtide.reports import describe_columns
from lowtide.tables import Categories, DatePart, Dates, Indicator, Missing, Number, Recipe, Truth


@pytest.fixture(scope="module")
def columns():
    """What is said of a column of each kind, and of one that nothing is made of."""
    recipe = Recipe.of_features(
        ("age", "city", "is_new", "born", "note"),
        [
            (Number(0), (("fill", 40.0), ("subtract", 40.0), ("divide", 12.5))),
            (Missing(0), ()),
            (Indicator(0, 0), ()),
            (Indicator(0, 1), ()),
            (Truth(2), ()),
            (DatePart(0, "year_sine"), ()),
        ],
        [Categories(1, ("Bern", "Oslo"))],
        dates=[Dates(3, "ymd")],
    )
    cells = [
        np.array([30.0, np.nan, 30.0]),
        np.array(["Bern", None, "Oslo"], dtype=object),
        np.array([True, False, True]),
        np.array([datetime.date(2000, 1, 2), None, datetime.date(1990, 5, 6)], dtype=object),
        np.array(["a", "NA", ""], dtype=object),
    ]
    return {column.name: column for column in describe_columns(recipe, cells)}


def test_each_column_has_its_kind_and_its_features(columns):
    found = {name: (column.kind, column.features) for name, column in columns.items()}
    assert found == {
        "age": ("number", (0, 1)),
        "city": ("category", (2, 3)),
        "is_new": ("truth", (4,)),
        "born": ("date", (5,)),
        "note": ("unused", ()),
    }


def test_recipe_is_said_in_words(columns):
    assert columns["age"].treatment == "number, missing: 40, minus 40, divided by 12.5; 1 where it is missing"
    assert columns["city"].treatment == "2 categories, a column of 0 and 1 for each"
    assert columns["is_new"].treatment == "1 for true, 0 for false"
    assert columns["born"].treatment == "date: year sine"
    assert columns["note"].treatment == "left out"


def test_missing_and_different_cells_are_counted(columns):
    assert {name: (column.n_missing, column.n_different) for name, column in columns.items()} == {
        "age": (1, 1),
        "city": (1, 2),
        "is_new": (0, 2),
        "born": (1, 2),
        "note": (2, 1),
    }
