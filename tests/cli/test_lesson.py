import gzip
import json

import numpy as np
import pandas as pd
import pyarrow
import pytest
from cli.samples import FAST, lowtide, read_csv

import lowtide as lt
from lowtide.cli.lesson import Blocks, read_table
from lowtide.cli.terminal import TableOptions, Voice
from lowtide.tables import reading, surveying

N = 120


def flats():
    """Return a table as people have them: dates, missing values, truth values, identifiers, texts and constants."""
    rng = np.random.default_rng(1)
    area, city, balcony = rng.uniform(20, 1500, N).round(2), rng.choice(["Bern", "Oslo", "Åre"], N), rng.random(N) < 0.4
    return pd.DataFrame(
        {
            "id": np.arange(N) + 7000,
            "area": np.where(np.arange(N) % 9 == 0, np.nan, area),
            "city": np.where(np.arange(N) % 11 == 0, None, city),
            "balcony": np.where(balcony, "yes", "no"),
            "since": (np.datetime64("2021-01-05") + 9 * np.arange(N)).astype(str),
            "text": [f"flat {i}\nof many" for i in range(N)],
            "country": "Norway",
            "nothing": None,
            "rent": (12.5 * area * (1 + 0.5 * (city == "Oslo")) + 150 * balcony).round(2),
        }
    )


TAKEN = {
    "id": "left out",
    "area": "number",
    "city": "category",
    "balcony": "truth",
    "since": "date",
    "text": "left out",
    "country": "left out",
    "nothing": "left out",
}
FIT = ("--target", "rent", "--validate", 0.25, "--json", "--force", *FAST, "--components", 256, "--C", 10)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """Return what fit says of the table as plain CSV, and its weights."""
    folder = tmp_path_factory.mktemp("clean")
    flats().to_csv(folder / "t.csv", index=False)
    content = json.loads(lowtide("fit", folder / "t.csv", "-o", folder / "m.lowtide", *FIT).stdout)
    return content, lt.load(folder / "m.lowtide"), folder


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_comma(frame):
    return frame.to_csv(index=False, sep=";", decimal=",")


def with_thousands(frame):
    marked = frame.assign(rent=[f"{rent:,.2f}" for rent in frame["rent"]])
    return marked.to_csv(index=False)


def with_day_first(frame):
    return frame.assign(since=pd.to_datetime(frame["since"]).dt.strftime("%d.%m.%Y %H:%M")).to_csv(index=False)


def zstandard(content):
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


VARIANTS = {
    "utf-16": ("t.csv", lambda frame: frame.to_csv(index=False).encode("utf-16")),
    "bom": ("t.csv", lambda frame: frame.to_csv(index=False).encode("utf-8-sig")),
    "gzip": ("t.csv.gz", lambda frame: gzip.compress(frame.to_csv(index=False).encode())),
    "zstd": ("t.tsv.zst", lambda frame: zstandard(frame.to_csv(index=False, sep="\t").encode())),
    "pipe": ("t.txt", lambda frame: frame.to_csv(index=False, sep="|").encode()),
    "decimal comma": ("t.csv", lambda frame: with_comma(frame).encode()),
    "thousands": ("t.csv", lambda frame: with_thousands(frame).encode()),
    "day first": ("t.csv", lambda frame: with_day_first(frame).encode()),
    "words for nothing": ("t.csv", lambda frame: frame.to_csv(index=False, na_rep="N/A").encode()),
    "blank lines": ("t.csv", lambda frame: frame.to_csv(index=False).replace("Norway", "Norway ").encode() + b"\n\n"),
    "lines of json": ("t.jsonl", lambda frame: frame.to_json(orient="records", lines=True).encode()),
}


@pytest.mark.parametrize("variant", [*VARIANTS, "parquet"])
def test_the_same_table_written_otherwise_gives_the_same_model(clean, variant):
    expected, model, folder = clean
    if variant == "parquet":
        name = "t.parquet"
        flats().to_parquet(name)
    else:
        name, write = VARIANTS[variant]
        with open(name, "wb") as stream:
            stream.write(write(flats()))
    content = json.loads(lowtide("fit", name, "-o", "m.lowtide", *FIT).stdout)
    assert {column["name"]: column["taken_as"] for column in content["data"]["columns"]} == TAKEN
    assert content["score"] == expected["score"]
    assert np.array_equal(lt.load("m.lowtide").coef_, model.coef_)
    if variant == "day first":
        return  # a model reads dates in the order of its table
    said = lowtide("predict", folder / "m.lowtide", name, "--quiet").stdout
    assert said == lowtide("predict", folder / "m.lowtide", folder / "t.csv", "--quiet").stdout


def test_fit_shows_what_each_column_is_taken_as(clean):
    content, _, folder = clean
    said = lowtide("fit", folder / "t.csv", "-o", "m.lowtide", *(each for each in FIT if each != "--json")).stdout
    head, *lines = said.split("\n\n")[0].splitlines()
    assert head.split() == ["column", "taken", "as", "missing", "what", "is", "done"]
    assert [line.split()[0] for line in lines] == [*TAKEN]
    assert "--column id=number to take it" in said
    assert (
        "table       t.csv: 120 rows, 4 columns: 1 of numbers, 1 of truth values, 1 of dates, 1 of 4 categories" in said
    )
    assert content["score"]["value"] > 0.5  # a ninth of the areas are missing, and the mean alone has 0


def test_many_columns_are_folded(inside):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.standard_normal((40, 50)), columns=[f"x{j}" for j in range(50)])
    wide.assign(id=range(40), y=rng.choice(["u", "v"], 40)).to_csv("t.csv", index=False)
    said = lowtide("fit", "t.csv", "--target", "y", "-o", "m.lowtide", *FAST).stdout.split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in said] == ["column", "id", "50"]
    assert "'x0', 'x1', 'x2' and 47 more" in said[2]


def test_columns_are_taken_as_options_say(inside):
    flats().to_csv("t.csv", index=False)
    options = ("--column", "id=number", "--categories", "balcony", "--drop", "since", "--column", "area=drop")
    content = json.loads(lowtide("fit", "t.csv", "-o", "m.lowtide", *FIT, *options).stdout)
    taken = {column["name"]: column["taken_as"] for column in content["data"]["columns"]}
    assert taken == {**TAKEN, "id": "number", "balcony": "category", "since": "left out", "area": "left out"}


def test_rows_without_a_target_are_left_out_and_counted(inside):
    flats().assign(rent=lambda t: t["rent"].where(np.arange(N) % 10 != 0)).to_csv("t.csv", index=False)
    result = lowtide("fit", "t.csv", "-o", "m.lowtide", *FIT)
    content = json.loads(result.stdout)
    assert content["notes"][0] == "t.csv: 12 rows without a value in 'rent' left out."
    assert content["data"]["rows"] == 108


def test_names_that_come_twice_are_told_apart_in_fit_and_predict(inside):
    text = flats().to_csv(index=False).replace("area,city", "area,area", 1)
    (inside / "t.csv").write_text(text)
    result = lowtide("fit", "t.csv", "-o", "m.lowtide", *FIT)
    assert "names that come again are told apart, 'area' as 'area.1'" in json.loads(result.stdout)["notes"][0]
    assert lowtide("predict", "m.lowtide", "t.csv").exit_code == 0


def test_latin_1_is_read_when_it_is_named(inside):
    flats().to_csv("t.csv", index=False, encoding="latin-1")
    refused = lowtide("fit", "t.csv", "-o", "m.lowtide", *FIT)
    assert refused.exit_code == 1
    assert "byte 0xc5 in line 8. Name its encoding: --encoding windows-1252, say." in refused.stderr
    assert lowtide("fit", "t.csv", "-o", "m.lowtide", "--encoding", "latin-1", *FIT).exit_code == 0
    assert lowtide("predict", "m.lowtide", "t.csv", "--encoding", "latin-1").exit_code == 0
    assert "'windows-1252', say" in lowtide("predict", "m.lowtide", "t.csv", "--encoding", "latin-99").stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.replace("7005,", "7005,9 kg,", 1),
            "every line must have 9 cells, as the first has, got 10 in line",
        ),
        (lambda t: t[: t.rindex("of many")], "must be CSV, got unexpected end of data"),
    ],
)
def test_a_damaged_table_is_one_sentence_and_no_file(inside, change, message):
    (inside / "t.csv").write_text(change(flats().to_csv(index=False)))
    result = lowtide("fit", "t.csv", "-o", "m.lowtide", *FIT)
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert not (inside / "m.lowtide").exists()


def test_missing_values_and_categories_that_are_new_are_counted_in_predict(clean):
    _, _, folder = clean
    new = flats().head(6)
    new.loc[:, "city"] = ["Rome", "Oslo", "Kyiv", "Rome", None, "Bern"]
    new.loc[2, "balcony"] = None
    new.to_csv("new.csv", index=False)
    result = lowtide("predict", folder / "m.lowtide", "new.csv")
    assert len(read_csv(result.stdout)) == 6
    assert "column 'city': 3 rows with categories that the model does not have, 'Rome' and 'Kyiv'" in result.stderr
    new.loc[3, "since"] = "soon"
    new.to_csv("new.csv", index=False)
    result = lowtide("predict", folder / "m.lowtide", "new.csv")
    assert result.exit_code == 1
    assert "a date such as 2024-03-31, got 'soon' in row 4 (line 8), column 'since'" in result.stderr


def test_predictions_of_file_and_python_agree_on_categories_and_missing_values(clean):
    _, model, folder = clean
    rows = read_csv(lowtide("predict", folder / "m.lowtide", folder / "t.csv").stdout)
    said = np.array([float(row["prediction"]) for row in rows])
    for table in (flats(), pd.read_csv(folder / "t.csv"), pyarrow.Table.from_pandas(flats()), flats().to_dict("list")):
        assert np.allclose(model.predict(table), said, rtol=1e-8)


@pytest.fixture
def small_blocks(monkeypatch):
    """Make every table one that is too large for memory."""
    monkeypatch.setattr(surveying, "_SAMPLE_ROWS", 80)
    monkeypatch.setattr(surveying, "_FEWEST_SAMPLED", 1)
    monkeypatch.setattr(reading, "_TEXT_CELLS", 200)


OPTIONS = TableOptions((), (), (), scale=True, header=True, encoding=None)


def test_a_large_table_gives_every_row_once_with_its_target(inside, small_blocks):
    frame = flats().assign(rent=lambda t: t["rent"].where(np.arange(N) % 10 != 0))
    frame.to_csv("t.csv", index=False)
    lesson = read_table(inside / "t.csv", "rent", OPTIONS, None, Voice(quiet=True))
    values = lesson.target.values
    assert len(values) == 108
    held = np.arange(5, 108, 7)
    train = np.setdiff1d(np.arange(108), held)
    material = lesson.material(train, held)
    assert isinstance(material.rows, Blocks)
    parts = [*material.rows.with_values(values[train])]
    rows, answers = np.concatenate([rows for rows, _ in parts]), np.concatenate([y for _, y in parts])
    whole = frame[frame["rent"].notna()].iloc[train]
    expected = material.table.recipe.apply(whole)
    assert len(rows) == len(train)
    order, known = np.lexsort(rows.T), np.lexsort(expected.T)
    assert np.array_equal(rows[order], expected[known])
    assert np.array_equal(answers[order], values[train][known])
    few = lesson.material(train[:20], held)
    assert few.rows.shape == (20, few.table.recipe.n_features)


@pytest.mark.parametrize("target", ["rent", "balcony"])
def test_a_large_table_is_learned_in_blocks_and_scored_on_rows_held_out(inside, small_blocks, target):
    flats().to_csv("t.csv", index=False)
    arguments = ("fit", "t.csv", "--target", target, "-o", "m.lowtide", "--validate", 0.25, "--json", *FAST)
    content = json.loads(lowtide(*arguments, "--components", 256, "--C", 10).stdout)
    assert content["data"]["train_rows"] == 90
    assert content["score"]["rows"] == 30
    if target == "rent":
        assert content["score"]["value"] > 0.5
    assert lowtide("predict", "m.lowtide", "t.csv").exit_code == 0


@pytest.mark.parametrize(
    ("header", "is_noted"),
    [
        ("5.1,3.5,1.4,0.2,setosa", True),
        ('"5,1","3,5","1,4","0,2",setosa', True),
        ("8,8,3,setosa,1", True),
        ("0,1,2,3,4", False),  # what a data frame without names writes
        ("2021,2022,2023,2024,kind", False),
        ("length,width,3,7,kind", False),
    ],
)
def test_a_first_line_that_looks_like_a_row_is_noted(header, is_noted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 7}.5,{i % 5},{i % 3},{i % 2},{i}\n" for i in range(40))
    (tmp_path / "t.csv").write_text(f"{header}\n{rows}")
    result = lowtide("fit", "t.csv", "--target", "nowhere", "-o", "m.lowtide")
    assert ("If its first line is a row, add --no-header." in result.stderr) == is_noted


@pytest.mark.parametrize(("n_columns", "shown"), [(12, "'c9', 'c10' and 'c11'."), (30, "'c9', 'c10', ... and 'c29'.")])
def test_a_table_without_a_target_shows_its_columns_of_many_the_first_and_the_last(
    n_columns, shown, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    names = [f"c{i}" for i in range(n_columns)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * n_columns) + "\n")
    result = lowtide("fit", "t.csv", "-o", "m.lowtide")
    assert result.exit_code == 2
    assert "Missing option '--target'. Name the column to learn: t.csv has 'c0', 'c1', " in result.stderr
    assert shown in result.stderr
