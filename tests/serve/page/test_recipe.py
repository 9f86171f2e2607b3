"""The page makes numbers of a table's rows as Python does, bit by bit."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from serve.page.node import NODE, PAGE, needs_node

from lowtide.errors import LowtideError
from lowtide.tables import Categories, Indicator, Number, Ordinal, Recipe

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
