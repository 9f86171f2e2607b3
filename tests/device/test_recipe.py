"""Exported C makes the features of a table's row itself: the bits of its codes, and its classes, are Python's."""

from __future__ import annotations

import re
import subprocess
from functools import cache

import numpy as np
import pandas as pd
import pytest
from device.harness import (
    HOST_C,
    STRICT,
    called_from_elsewhere,
    compiled,
    measured,
    needs_arm,
    needs_host,
    needs_qemu,
    run_on_arm,
    run_on_host,
)
from device.samples import as_c, model_of, trits
from given import given_classifier
from mixed_table import RECIPE as MIXED
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import lowtide as lt
from lowtide.device import export_c
from lowtide.tables import Categories, DatePart, Dates, Indicator, Missing, Number, Ordinal, Recipe, TableError, Truth

BERN, OSLO, ODD = "Bern", "Oslo", 'a"b */ \\ ü?'
FLAGS = [("-O0",), ("-O2", "-march=native", "-ffp-contract=fast")]
PROGRAM = """
#include <stdio.h>
#include "shop.h"
int main(void)
{
    double row[SHOP_COLUMNS];
    char city[100];
    uint8_t code[SHOP_CODE_BYTES];
    while (scanf("%lf %lf %lf %99s", &row[0], &row[1], &row[2], city) == 4) {
        row[3] = shop_category(3, city);
        if (shop_encode(row, code) != 0) return 1;
        printf("%s\\n", shop_classes[shop_decide(code)]);
    }
    return 0;
}
"""


def shop(n, seed):
    """Return a table of two measures, a floor of few numbers and a city of few texts, and what it says of them."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "income": rng.lognormal(10, 0.5, n),
            "age": rng.integers(18, 90, n).astype(float),
            "floor": rng.choice([-1.0, 0.0, 1.0, 2.5], n),
            "city": rng.choice([BERN, OSLO, "Rome"], n),
        }
    )
    worth = np.log(table["income"]) - 10 + 0.02 * (table["age"] - 50) + 0.5 * (table["city"] == BERN)
    return table, np.where(worth + 0.3 * table["floor"] > 0.5, "buys", "leaves")


def shop_pipeline():
    table, answer = shop(400, seed=0)
    columns = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["income", "age"]),
            ("kinds", OneHotEncoder(handle_unknown="ignore"), ["city", "floor"]),
        ]
    )
    model = given_classifier(n_components=1024, C=1.0, random_state=0)
    return make_pipeline(columns, model).fit(table, answer)


@needs_host
def test_a_pipeline_of_scaled_numbers_and_categories_gives_python_s_classes(tmp_path):
    model = shop_pipeline()
    table, _ = shop(1000, seed=1)
    table.loc[::97, "city"] = "Paris"
    made = export_c(model, name="shop", rows=table)
    _, source = made.write(tmp_path)
    (tmp_path / "main.c").write_text(PROGRAM)
    program = tmp_path / "shop"
    subprocess.run([HOST_C, *STRICT, "-O2", tmp_path / "main.c", source, "-o", program], check=True)
    lines = "".join(f"{a!r} {b!r} {c!r} {d}\n" for a, b, c, d in table.itertuples(index=False))
    run = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    expected, found = model.predict(table), np.array(run.stdout.split())
    assert len(set(expected)) == 2
    # Rounding the weights moves a decision value by `error`: rows within five of it may fall on either side.
    sure = np.abs(model.decision_function(table)) > 5 * made.error
    assert np.array_equal(found[sure], expected[sure])
    assert sure.mean() > 0.9
    assert made.agreement == np.mean(found == expected)


CITIES = Categories(2, (BERN, OSLO, ODD))
FLOORS = Categories(3, (True, 2, -0.5, None))
RECIPES = {
    "scaled": Recipe.scaled(5, [0.1, 1 / 3, 2.0, 1e-3, 7.0]),
    "every step, with gaps": Recipe.of_features(
        ("a", "b", "c", "d"),
        [
            (Number(3), (("fill", 0.3), ("subtract", 0.1), ("divide", 0.7), ("multiply", 1.1), ("add", 0.3))),
            (Number(0), (("subtract", 1 / 3),)),
            (Number(1), (("clip", -1.5, 1 / 3), ("add", 0.1))),
            (Number(2), (("multiply", 0.1), ("add", 0.2), ("clip", 0.0, 0.7), ("fill", -1.0))),
            (Number(2), (("divide", 3.0), ("subtract", 0.1))),
        ],
    ),
    "categories": Recipe.of_features(
        ("a", "b", "city", "floor", "unused"),
        [
            (Number(1), (("divide", 0.7),)),
            *((Indicator(0, i), ()) for i in range(3)),
            *((Indicator(1, i), (("subtract", 0.2), ("divide", 0.3))) for i in range(4)),
            (Ordinal(0, -1.0, None), (("fill", 9.0), ("divide", 3.0))),
            (Ordinal(1, None, -2.0), (("fill", 5.0),)),
            (Ordinal(2, -3.0, None), ()),
            (Indicator(2, 1), ()),
            (Number(0), (("fill", 1.0),)),
        ],
        [CITIES, FLOORS, Categories(2, (OSLO, BERN, "other"), missing="other")],
    ),
    "texts of anything": Recipe.of_features(
        ("a", "b", "city"),
        [(Number(0), ()), (Number(1), ()), (Indicator(0, 0), ()), (Indicator(0, 2), ()), (Ordinal(0, -1.0), ())],
        [Categories(2, ("", "3", BERN), as_text=True)],
    ),
    "every kind of column": MIXED,
    "truth values and days in order": Recipe.of_features(
        ("a", "b"),
        [(Truth(0), (("subtract", 0.5),)), (DatePart(0), (("fill", 7.0), ("divide", 1e4)))],
        dates=[Dates(1)],
    ),
    "what is missing": Recipe.of_features(
        ("a", "city", "c"),
        [(Missing(0), ()), (Missing(1), ()), (Indicator(0, 0), ()), (Missing(2), ()), (Ordinal(1, -1.0), ())],
        [Categories(1, (BERN, OSLO)), Categories(1, (OSLO,), missing=OSLO)],
    ),
}


def rows_for(recipe, n, seed):
    """Return rows of a table, some cells of them missing where they may be, and the same as a device has them."""
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((n, len(recipe.columns))).astype(object)
    held = table.astype(np.float64)
    for j, name in enumerate(recipe.columns):
        lists = [known for known in recipe.categories if known.column == j]
        values = list(dict.fromkeys(value for known in lists for value in known.values))
        texts = [value for value in values if isinstance(value, str)]
        if values:
            choice = [*values, "nowhere" if texts else 77.0]
            cells = [choice[i] for i in rng.integers(0, len(choice), n)]
            table[:, j] = cells
            held[:, j] = [
                np.nan if cell is None else (texts.index(cell) if cell in texts else -1) if texts else float(cell)
                for cell in cells
            ]
        if recipe.kinds[j] == "truth":
            table[:, j] = held[:, j] = rng.integers(0, 2, n)
        if recipe.kinds[j] == "date":
            days = held[:, j] = np.round(rng.uniform(-30000, 30000, n), rng.integers(0, 8))
            table[:, j] = np.datetime64("1970-01-01", "us") + np.round(days * 86.4e9).astype("timedelta64[us]")
            held[:, j] = next(d for d in recipe.dates if d.column == j).read(table[:, j])
        if values or name in recipe.filled:
            gone = (rng.random(n) < 0.2) & (name in recipe.filled or bool(values))
            table[gone, j], held[gone, j] = None, np.nan
    return table, held


def assert_equal_bits(folder, run):
    models = {name: model_of(recipe) for name, recipe in RECIPES.items()}
    rows = [rows_for(recipe, 60, seed=i) for i, recipe in enumerate(RECIPES.values())]
    made = [export_c(model, name=f"r{i}") for i, model in enumerate(models.values())]
    answers = run(folder, [(one, held) for one, (_, held) in zip(made, rows)])
    for (name, model), (table, _), answer in zip(models.items(), rows, answers, strict=True):
        assert not answer.status.any(), name
        assert np.array_equal(answer.codes, model.decision_.encode(table).packed), name


@needs_host
@pytest.mark.parametrize("flags", FLAGS, ids=["plain", "contracted"])
def test_every_source_and_step_has_the_bits_of_python(tmp_path, flags):
    assert_equal_bits(tmp_path, lambda folder, jobs: run_on_host(folder, jobs, flags))


@needs_qemu
def test_every_source_and_step_has_the_bits_of_python_on_a_cortex_m4(tmp_path):
    assert_equal_bits(tmp_path, run_on_arm)


@needs_host
@pytest.mark.parametrize("input", ["float32", "int16", "uint8"])
def test_columns_may_be_of_a_narrower_type(tmp_path, input):
    rows = np.random.default_rng(0).integers(0, 200, (80, 12)).astype(input)
    model = make_pipeline(MinMaxScaler(), given_classifier(n_components=200, C=1.0, random_state=0))
    model.fit(rows, rows[:, 0] > rows[:, 1])
    (answer,) = run_on_host(tmp_path, [(export_c(model, input=input), rows)])
    codes = model[-1].features_.encode(model[0].transform(rows))
    assert np.array_equal(answer.codes, codes.packed)


@needs_host
def test_a_sketch_of_a_table_has_the_bits_of_python(tmp_path):
    rows = np.random.default_rng(0).standard_normal((90, 10)) * 7 + 3
    model = make_pipeline(StandardScaler(), given_classifier(lt.Sketch(n_components=128, random_state=0), C=1.0))
    model.fit(rows, rows[:, 0] > 3)
    (answer,) = run_on_host(tmp_path, [(export_c(model), rows)])
    assert np.array_equal(answer.codes, model[-1].features_.encode(model[0].transform(rows)).packed)


@needs_host
def test_rows_that_python_refuses_are_refused(tmp_path):
    recipe = Recipe.of_features(
        ("a", "city", "c"),
        [
            (Number(0), (("subtract", 1.0),)),
            (Indicator(0, 0), ()),
            (Number(2), (("clip", 0.0, 1.0), ("multiply", 1e10))),
        ],
        [Categories(1, (BERN, OSLO), unknown="error")],
    )
    model = model_of(recipe)
    table = np.array(
        [
            [0.5, BERN, 0.5],
            [np.nan, BERN, 0.5],
            [np.inf, BERN, 0.5],
            [1e39, BERN, 0.5],
            [0.5, BERN, np.inf],
            [0.5, BERN, np.nan],
            [0.5, "Rome", 0.5],
            [0.5, None, 0.5],
            [-3e30, OSLO, -9.0],
        ],
        dtype=object,
    )
    held = table.copy()
    held[:, 1] = [{BERN: 0, OSLO: 1, "Rome": -1, None: np.nan}[city] for city in table[:, 1]]
    (answer,) = run_on_host(tmp_path, [(export_c(model), held.astype(np.float64))])
    assert answer.status.tolist() == [0, -1, -1, -1, -1, -1, -2, -2, 0]
    for row, status in zip(table, answer.status):
        if status:
            with pytest.raises(TableError):
                recipe.apply(row[None])
            assert not answer.codes[answer.status != 0].any()
        else:
            recipe.apply(row[None])


@needs_host
def test_texts_are_looked_up_in_their_own_column(tmp_path):
    recipe = Recipe.of_features(
        ("a", "x", "y"),
        [(Number(0), ()), *((Indicator(0, i), ()) for i in range(3)), (Indicator(1, 0), ()), (Indicator(1, 1), ())],
        [Categories(1, (BERN, ODD, "Be")), Categories(2, ("Be", BERN))],
    )
    _, source = export_c(model_of(recipe), name="t").write(tmp_path)
    asked = [
        (1, BERN),
        (1, ODD),
        (1, "Be"),
        (1, "B"),
        (1, ""),
        (1, "Bernd"),
        (2, "Be"),
        (2, BERN),
        (0, BERN),
        (9, BERN),
    ]
    calls = "".join(f'    printf("%d\\n", t_category({c}, {as_c(text)}));\n' for c, text in asked)
    (tmp_path / "main.c").write_text(
        f'#include <stdio.h>\n#include "t.h"\nint main(void)\n{{\n{calls}    return 0;\n}}\n'
    )
    subprocess.run([HOST_C, *STRICT, tmp_path / "main.c", source, "-o", tmp_path / "t"], check=True)
    found = subprocess.run([tmp_path / "t"], capture_output=True, text=True, check=True).stdout.split()
    assert list(map(int, found)) == [0, 1, 2, -1, -1, -1, 0, 1, -1, -1]


@cache
def shop_header():
    return " ".join(export_c(shop_pipeline(), name="shop").header.split())


def test_the_header_says_what_the_columns_are():
    header = shop_header()
    assert 'row[0] "income", row[1] "age": a number.' in header
    assert "one of -1, 0, 1, 2.5" in header
    assert 'row[3] "city": shop_category(3, text), text one of "Bern", "Oslo", "Rome"' in header
    assert "#define SHOP_COLUMNS 4" in header
    assert "#define SHOP_FEATURES 9" in header


def test_columns_without_names_are_counted():
    model = make_pipeline(StandardScaler(), given_classifier(n_components=50, C=1.0))
    X = np.random.default_rng(0).standard_normal((30, 7))
    made = export_c(model.fit(X, X[:, 0] > 0))
    assert "row[0] to row[6]: a number." in made.header


@needs_host
def test_names_cannot_end_the_comment_they_stand_in(tmp_path):
    names = ("a */ int x;", "b /* c", "d\n*/", "é")
    recipe = Recipe.of_features(
        names, [(Number(0), ()), (Number(1), ()), (Indicator(0, 0), ())], [Categories(3, ("*/ #error", "/*"))]
    )
    made = export_c(model_of(recipe))
    assert len(run_on_host(tmp_path, [(made, np.zeros((1, 4)))])) == 1
    assert max(map(len, (made.header + made.source).splitlines())) <= 120


def test_names_alone_leave_the_row_as_it_is():
    X = np.random.default_rng(0).standard_normal((30, 2))
    model = given_classifier(n_components=50, C=1.0, random_state=0).fit(X, X[:, 0] > 0)
    plain = export_c(model)
    model.decision_ = model.decision_.with_recipe(Recipe.plain(["height", "weight"]))
    named = export_c(model)
    assert named.source == plain.source
    assert "const float x[MODEL_FEATURES]" in named.header
    assert 'x[0] "height", x[1] "weight": a number.' in named.header


@pytest.mark.parametrize(
    ("scale", "n_bytes"),
    [([0.5] * 6, 0), ([1, 2, 3, 4, 5, 6], 6), ([0.5, 1, 2, 3, 4, 5], 24), ([0.1, 1, 2, 3, 4, 5], 48)],
)
def test_scales_take_no_more_flash_than_they_need(scale, n_bytes):
    model = model_of(Recipe.scaled(6, scale))
    extra = sum(export_c(model).tables.values())
    model.decision_ = model.decision_.with_recipe(None)
    plain = export_c(model)
    assert extra - sum(plain.tables.values()) == n_bytes
    assert export_c(model_of(Recipe.scaled(6, scale))).code_bytes - plain.code_bytes < 400


@needs_arm
def test_stated_sizes_hold_for_tables(tmp_path):
    for model in (*map(model_of, RECIPES.values()), shop_pipeline()):
        made = export_c(model)
        flash, static, stack = measured(made, tmp_path)
        code_bytes = int(re.search(r"CODE_BYTES (\d+)", made.header)[1])
        assert sum(made.tables.values()) < flash <= made.flash_bytes
        assert static == 0
        assert code_bytes + stack <= made.ram_bytes


@needs_arm
@pytest.mark.parametrize("flag", ["-Os", "-O3"])
def test_tables_need_arithmetic_in_double_and_nothing_else(tmp_path, flag):
    for model in map(model_of, RECIPES.values()):
        called = called_from_elsewhere(compiled(export_c(model), tmp_path, flag))
        assert all(name.startswith("__aeabi_") for name in called)


@pytest.mark.parametrize(
    ("sources", "categories", "words"),
    [
        ([Number(0), Indicator(0, 0)], [Categories(0, (BERN,))], "texts or numbers"),
        ([Number(1), Indicator(0, 0)], [Categories(0, (BERN, 1))], "texts or numbers"),
        ([Indicator(0, 0), Indicator(1, 0)], [Categories(0, (BERN,)), Categories(0, (1,))], "texts or numbers"),
        ([Number(1), Indicator(0, 0)], [Categories(0, (None, BERN))], "must be the last"),
        ([Number(1), Indicator(0, 0)], [Categories(0, ("a\0b",))], "zero byte"),
        ([Number(1), Indicator(0, 0)], [Categories(0, (2**53 + 1, 3))], "double"),
        ([Truth(0), Indicator(0, 0)], [Categories(0, (BERN,))], "texts or numbers"),
        ([DatePart(0), Indicator(0, 0)], [Categories(0, (BERN,))], "'x' must hold dates of one order .*'other cells"),
        ([DatePart(0), DatePart(1)], [], "'x' must hold dates of one order .*'several orders"),
    ],
)
def test_tables_that_a_device_cannot_hold_are_refused(sources, categories, words):
    dates = [Dates(0, "ymd"), Dates(0, "dmy")]
    recipe = Recipe.of_features(("x", "y"), [(source, ()) for source in sources], categories, dates=dates)
    with pytest.raises(lt.errors.ParameterError, match=words):
        export_c(model_of(recipe))


def test_ternary_features_take_no_table():
    features = trits(3, 20)
    X = np.random.default_rng(0).integers(-99, 99, (40, 3)).astype(np.int16)
    model = given_classifier(features, C=1.0).fit(X, X[:, 0] > 0)
    model.decision_ = model.decision_.with_recipe(Recipe.scaled(3, [0.5, 1.0, 2.0]))
    with pytest.raises(lt.errors.ParameterError, match="integers"):
        export_c(model)


def test_rows_without_a_table_are_not_double():
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(lt.errors.ParameterError, match="must be one of"):
        export_c(lt.RandomFeatures(random_state=0).fit(X), input="float64")


def test_steps_are_numbered_as_they_are_done():
    source = export_c(model_of(RECIPES["every step, with gaps"])).source
    assert max(map(len, source.splitlines())) <= 120
    steps = re.findall(r"Numbers of step (\d)", source)
    assert steps == sorted(steps)
