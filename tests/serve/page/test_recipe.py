"""The page makes numbers of a table's rows as Python does, bit by bit."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from serve.page.node import NODE, PAGE, needs_node

from lowtide.errors import LowtideError
from lowtide.tables import Categories, DatePart, Dates, Indicator, Missing, Number, Ordinal, Recipe, Truth

pytestmark = needs_node

SCRIPT = Path(__file__).with_name("apply_recipe.mjs")


def by_javascript(recipe, rows):
    content = json.dumps({"recipe": recipe.to_json(), "rows": rows}).encode()
    run = subprocess.run([NODE, SCRIPT, PAGE], input=content, capture_output=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.decode(errors="replace"))
    return np.frombuffer(run.stdout, dtype="<f8").reshape(len(rows), recipe.n_features)


def scaled(rng):
    mean, scale = rng.standard_normal(2) * 10.0 ** rng.integers(-3, 4)
    return [("subtract", mean), ("divide", scale)]


def ranged(rng):
    return [("multiply", rng.uniform(0.01, 3)), ("add", rng.standard_normal()), ("clip", -0.5, 0.75)]


def test_numbers_go_through_the_same_operations():
    rng = np.random.default_rng(0)
    steps = [[], scaled(rng), ranged(rng), [("fill", 0.1), *scaled(rng)], [("fill", -7.0), *ranged(rng)]]
    recipe = Recipe.of_features("abcde", [(Number(j), tuple(each)) for j, each in enumerate(steps)])
    rows = (rng.standard_normal((200, 5)) * 10.0 ** rng.integers(-6, 7, (200, 1))).tolist()
    for i, row in enumerate(rows):
        row[3 + i % 2] = None if i % 3 == 0 else row[3 + i % 2]
    np.testing.assert_array_equal(by_javascript(recipe, rows), recipe.apply(rows))


def test_categories_are_spread_and_counted_alike():
    known = [
        Categories(0, ("Bern", "Oslo", None)),
        Categories(1, (1, 2.5, 3)),
        Categories(2, ("1", "x", ""), as_text=True),
        Categories(3, (False, True), missing=True),
    ]
    sources = [
        *(Indicator(c, i) for c, each in enumerate(known) for i in range(len(each.values))),
        *(Ordinal(c, -1.0, -2.0) for c in range(len(known))),
    ]
    features = [(source, (("multiply", 0.3),) if i % 2 else ()) for i, source in enumerate(sources)]
    recipe = Recipe.of_features(("city", "size", "code", "new"), features, known)
    rows = [
        ["Bern", 1, "1", True],
        ["Oslo", 2.5, 1.0, False],
        [None, 3.0, " x ", None],
        ["Rome", None, None, 0],
        ["bern", "3", "y", 1],
        ["", True, True, "no"],
    ]
    np.testing.assert_array_equal(by_javascript(recipe, rows), recipe.apply(rows))


PARTS = ("days", "year_sine", "year_cosine", "week_sine", "week_cosine", "day_sine", "day_cosine")


@pytest.mark.parametrize("order", ["ymd", "dmy", "mdy"])
def test_dates_are_read_and_turned_alike(order):
    rng = np.random.default_rng(1)
    form = {"ymd": "{y:04}{0}{m}{0}{d:02}", "dmy": "{d}{0}{m:02}{0}{y:04}", "mdy": "{m}{0}{d}{0}{y:04}"}[order]
    ends = [
        "",
        "T{H:02}:{M:02}",
        " {H}:{M:02}:{S:02}.{f}",
        " {H:02}{M:02}{S:02}Z",
        "T{H:02}:{M:02} +{Z:02}:30",
        "T0000-{Z:02}",
    ]
    rows = [[None], [" "], ["01/01/01"], ["11-11-11T23:59:59.9999999"]]
    rows += [["69.12.12"], ["68.12.12"]] if order == "ymd" else [["12.12.69"], ["12.12.68"]]
    if order == "ymd":
        rows += [["19700101"], ["20240229T235959.5+2359"], ["00010101"], ["99991231T2359"]]
    for i in range(300):
        y, m, d = int(rng.integers(1, 10000)), int(rng.integers(1, 13)), int(rng.integers(1, 29))
        H, M, S, Z, f = (int(rng.integers(0, high)) for high in (24, 60, 60, 24, 10**7))
        rows.append([f" {form}{ends[i % 6]}\t".format("-/."[i % 3], y=y, m=m, d=d, H=H, M=M, S=S, Z=Z, f=f)])
    features = [(DatePart(0, part), (("fill", -7.0),)) for part in PARTS]
    recipe = Recipe.of_features(("when",), [*features, (Missing(0), ())], dates=[Dates(0, order)])
    np.testing.assert_array_equal(by_javascript(recipe, rows), recipe.apply(rows))


def test_truth_values_and_missing_cells_are_read_alike():
    recipe = Recipe.of_features(
        ("a", "b"), [(Truth(0), (("fill", 0.5),)), (Missing(0), ()), (Missing(1), ()), (Number(1), (("fill", 2.0),))]
    )
    cells = [True, False, None, 1, 0, 1.0, "true", "FALSE", " Yes ", "no", "t", "F", "y", "N", "1", "0", "", "\t"]
    rows = [[cell, None if i % 3 else i] for i, cell in enumerate(cells)]
    np.testing.assert_array_equal(by_javascript(recipe, rows), recipe.apply(rows))


@pytest.mark.parametrize(
    "row",
    [
        [2, None],
        ["maybe", None],
        ["constructor", None],
        [True, "2024-02-30"],
        [True, "1900-02-29"],
        [True, "29.02.2024"],
        [True, 19000],
        [True, "0000-01-01"],
        [True, "2024-01-01T24:00"],
        [None, "2024-01-01"],
        [True, None],
    ],
    ids=str,
)
def test_truth_values_and_dates_that_python_refuses_are_refused(row):
    recipe = Recipe.of_features(("a", "b"), [(Truth(0), ()), (DatePart(0), ())], dates=[Dates(1)])
    with pytest.raises(LowtideError):
        recipe.apply([row])
    with pytest.raises(RuntimeError, match="must hold (true|a date)"):
        by_javascript(recipe, [row])


def test_source_that_is_not_known_is_refused_by_its_name():
    with pytest.raises(RuntimeError, match="source logarithm"):
        by_javascript(SimpleNamespace(to_json=lambda: {**Recipe.plain(1).to_json(), "sources": [["logarithm", 0]]}), [])


@pytest.mark.parametrize("row", [["1", "a"], [None, "a"], [1e39, "a"], [1.0, "c"], [1.0, None]], ids=str)
def test_rows_that_python_refuses_are_refused(row):
    recipe = Recipe.of_features(
        ("x", "kind"), [(Number(0), ()), (Ordinal(0), ())], [Categories(1, ("a", "b"), unknown="error")]
    )
    with pytest.raises(LowtideError):
        recipe.apply([row])
    with pytest.raises(RuntimeError, match="must hold"):
        by_javascript(recipe, [row])


def test_step_that_is_not_known_is_refused_by_its_name():
    content = {**Recipe.plain(1).to_json(), "steps": [["logarithm", [1.0]]]}
    run = subprocess.run(
        [NODE, SCRIPT, PAGE], input=json.dumps({"recipe": content, "rows": []}), capture_output=True, text=True
    )
    assert run.returncode != 0
    assert "logarithm" in run.stderr
