"""A small model of a table with every kind of column, and rows for it, on which all that predicts must agree."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

import numpy as np
from given import given_classifier

import lowtide as lt
from lowtide.tables import Categories, DatePart, Dates, Indicator, Missing, Number, Recipe, Truth

RECIPE = Recipe.of_features(
    ("price", "city", "rooms", "heated", "note", "sold", "built", "garden"),
    [
        (Number(0), (("fill", 250.0), ("subtract", 250.0), ("divide", 90.0))),
        (Missing(0), ()),
        (Number(2), (("subtract", 3.0), ("divide", 1.5))),
        *((Indicator(0, i), ()) for i in range(3)),
        (Truth(3), (("fill", 0.5),)),
        (Missing(3), ()),
        (Truth(7), (("subtract", 0.5),)),
        (DatePart(0, "days"), (("fill", 19900.0), ("subtract", 19900.0), ("divide", 200.0))),
        *(
            (DatePart(0, f"{period}_{wave}"), (("fill", 0.0),))
            for period in ("year", "week", "day")
            for wave in ("sine", "cosine")
        ),
        (Missing(5), ()),
        (DatePart(1, "days"), (("subtract", 3650.5), ("divide", 4000.0))),
    ],
    [Categories(1, ("Bern", "Oslo", "Zürich"), as_text=True)],
    dates=[Dates(5, "dmy"), Dates(6, "ymd")],
)
# As JSON has them: numbers, texts, truth values, dates, and nothing where that may be.
ROWS: list[dict[str, Any]] = [
    dict(zip(RECIPE.columns, row))
    for row in (
        [310.5, "Oslo", 4, True, "x", "31.03.2024 08:30", "1974-05-01", True],
        [None, "Bern", 2, "no", None, "01/12/23", "19991231", False],
        [99.9, "Rome", 1, None, 3, None, "2024-02-29", 1],
        [480, None, 6.5, " YES ", True, "5-6-2025T23:59:59.25+02:00", "1969-12-31T18:00", "f"],
        [250.0, "Zürich", 3, 0, "", " ", "2000/1/1", "true"],
    )
]


@cache
def mixed_classifier() -> lt.KernelClassifier:
    """Return a classifier of the table's rows, which the last two steps of a pipeline could have made."""
    X = np.random.default_rng(0).standard_normal((80, RECIPE.n_features))
    model = given_classifier(n_components=256, random_state=0).fit(
        X, np.array(["rent", "buy", "wait"])[np.arange(80) % 3]
    )
    return model.with_recipe(RECIPE)


def with_dates_of_python(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its dates as Python has them."""
    days = {
        name: RECIPE.dates[k].read(np.array([row[name]], dtype=object))[0] for k, name in enumerate(("sold", "built"))
    }
    moments = {
        name: None if value != value else datetime(1970, 1, 1) + (value * np.timedelta64(86_400_000_000, "us")).item()
        for name, value in days.items()
    }
    return {**row, **moments}
