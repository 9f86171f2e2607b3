import numpy as np
import pytest

from lowtide.tables import (
    ChoiceError,
    TableError,
    choose_columns,
    looking,
    open_table,
    read_rows,
    reading,
    survey,
    surveying,
)

N = 60
COUNT = [*range(N)]


def surveyed(tmp_path, target=None, wishes=None, **columns):
    """Survey a file of these columns."""
    lines = [";".join(columns), *(";".join(map(str, row)) for row in zip(*columns.values()))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    source = open_table(tmp_path / "t.csv")
    return survey(source, choose_columns(source, target=target, columns=wishes))


def findings(tmp_path, **columns):
    return {finding.name: finding for finding in surveyed(tmp_path, **columns).sample.findings}


def cycle(*values):
    return [values[i % len(values)] for i in range(N)]


@pytest.mark.parametrize(
    ("cells", "taken_as", "missing"),
    [
        (cycle("1.5", "2", "-3e2"), "number", 0),
        (cycle("1", "0"), "number", 0),
        (cycle("1", "NA", "", "2"), "number", 30),
        (cycle("yes", "No", "YES"), "truth", 0),
        (cycle("true", "FALSE", "?"), "truth", 20),
        (cycle("t", "f"), "truth", 0),
        (cycle("F", "M"), "category", 0),
        (cycle("a", "b", ""), "category", 20),
        (cycle("1", "2", "3+"), "category", 0),
        (cycle("001", "002", "010"), "category", 0),
        (cycle("2024-01-31", "2024-02-01T10:30"), "date", 0),
        (cycle("31.1.2024", "1.2.2024", "-"), "date", 20),
        (cycle("20240131T000000", "20240201T000000"), "date", 0),
        (cycle("x"), "left out", 0),
        (cycle("7"), "left out", 0),
        (cycle("true"), "left out", 0),
        (cycle(""), "left out", 60),
        (COUNT, "left out", 0),
        (COUNT[::-1], "left out", 0),
        ([i + 0.5 for i in COUNT], "number", 0),
        ([f"name {i}" for i in COUNT], "left out", 0),
        ([f"name {i // 2}" for i in COUNT[:-1]] + ["name"], "left out", 0),
        ([f"00{i}" for i in COUNT], "left out", 0),
        # Whether there is a value is worth knowing where many have none.
        ([f"name {i}" if i % 3 else "" for i in COUNT], "category", 20),
        (cycle("x", "x", ""), "category", 20),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_column_is_taken_as_what_all_its_cells_are(tmp_path, cells, taken_as, missing):
    found = findings(tmp_path, c=cells, x=cycle("1", "2", "3"))["c"]
    assert (found.taken_as, found.missing) == (taken_as, missing)
    assert ("--" in found.why) == (taken_as == "left out" or found.only_whether or cells[0] == "001")


def test_a_number_called_an_identifier_is_one_when_nearly_all_differ(tmp_path):
    ids = [1000 + (37 * i) % 101 for i in COUNT]
    found = findings(tmp_path, PassengerId=ids, user_id=ids, width=ids, grid=ids, x=cycle(1, 2))
    assert [found[name].taken_as for name in ("PassengerId", "user_id", "width", "grid")] == [
        "left out",
        "left out",
        "number",
        "number",
    ]


def test_day_and_month_are_told_apart_where_they_can_be(tmp_path):
    found = findings(tmp_path, a=cycle("1/2/2024", "13/2/2024"), b=cycle("1/2/2024", "2/13/2024"), c=cycle("1/2/2024"))
    assert [found[name].order for name in "abc"] == ["dmy", "mdy", "dmy"]
    assert "--column c=mdy" in found["c"].why


def test_many_categories_keep_the_most_frequent(tmp_path, monkeypatch):
    monkeypatch.setattr(looking, "MOST_CATEGORIES", 4)
    cells = cycle(*"aaabbbbccccdddeeefghh")[:N]
    found = findings(tmp_path, c=cells, x=cycle(1, 2))["c"]
    assert (found.taken_as, found.why) == ("category", "4 most frequent of 8 (--categories c for more)")


def test_what_is_asked_for_is_taken_so_where_the_cells_allow_it(tmp_path):
    wishes = {"n": "category", "d": "ymd", "t": "truth", "i": "number"}
    found = surveyed(
        tmp_path, wishes=wishes, n=cycle(1, 2), d=cycle("20240131", "20240201"), t=cycle(1, 0), i=COUNT
    ).sample
    assert [f.taken_as for f in found.findings] == ["category", "date", "truth", "number"]
    assert found.columns["d"][0] == np.datetime64("2024-01-31")


@pytest.mark.parametrize(
    ("wish", "cells", "message"),
    [
        ("number", cycle("1", "2", "x"), r"t.csv: column 'c' cannot be taken as 'number': got 'x' in row 3 \(line 4\)"),
        ("truth", cycle("1", "2"), r"'truth': got '2' in row 2 \(line 3\)"),
        ("date", cycle("2024-01-01", "soon"), r"'date': got 'soon' in row 2 \(line 3\)"),
        ("mdy", cycle("31/12/2024"), r"'mdy': got '31/12/2024' in row 1 \(line 2\)"),
        ("number", cycle("1", "inf"), r"finite number, got 'inf' in row 2 \(line 3\), column 'c'"),
        ("number", cycle(""), "must name a column with values"),
    ],
)
def test_what_is_asked_for_and_cannot_be_is_refused_by_line(tmp_path, wish, cells, message):
    with pytest.raises(TableError, match=message):
        surveyed(tmp_path, wishes={"c": wish}, c=cells, x=cycle(1, 2))


def test_a_text_among_numbers_is_refused_by_line_with_the_ways_out(tmp_path):
    cells = [str(i * 1.5) for i in range(99)] + ["12 kg"]
    with pytest.raises(TableError) as caught:
        surveyed(tmp_path, w=cells, x=[*range(100)])
    assert "must hold numbers, as it does in most rows, got '12 kg' in row 100 (line 101)." in str(caught.value)
    assert "--drop w or --categories w" in str(caught.value)


def test_a_text_among_few_numbers_is_a_category_and_named_by_line(tmp_path):
    found = findings(tmp_path, w=[*cycle("1", "2", "3")[:39], "tall"], x=[*range(40)])["w"]
    assert (found.taken_as, found.why) == (
        "category",
        "numbers, but 'tall' in row 40 (line 41): correct it if that is a mistake",
    )


def test_an_infinite_number_is_refused_by_line(tmp_path):
    with pytest.raises(TableError, match=r"got 'inf' in row 2 \(line 3\), column 'w'.*--drop w"):
        surveyed(tmp_path, w=cycle("1", "inf"), x=cycle(1, 2))


def test_a_table_of_nothing_but_identifiers_keeps_its_numbers(tmp_path):
    found = findings(tmp_path, n=COUNT, c=cycle("7"), name=[f"name {i}" for i in COUNT])
    assert [f.taken_as for f in found.values()] == ["number", "number", "left out"]


def test_a_table_of_texts_alone_says_how_to_take_one(tmp_path):
    with pytest.raises(ChoiceError, match=r"none that can be taken \('name': text of 60 .*--categories name"):
        surveyed(tmp_path, name=[f"name {i}" for i in COUNT])


def test_a_table_without_rows_is_refused(tmp_path):
    with pytest.raises(TableError, match=r"t\.csv: a table must have rows to learn from"):
        surveyed(tmp_path, a=[], b=[])


@pytest.mark.parametrize("most", [20, 1000])
def test_survey_of_blocks_keeps_all_rows_or_some_drawn_by_chance(tmp_path, monkeypatch, most):
    monkeypatch.setattr(surveying, "_SAMPLE_ROWS", most)
    monkeypatch.setattr(surveying, "_FEWEST_SAMPLED", 1)
    monkeypatch.setattr(reading, "_TEXT_CELLS", 21)
    x = np.random.default_rng(0).standard_normal(100)
    found = surveyed(tmp_path, target="y", x=[*map(repr, x.tolist())], c=["u", "v"] * 50, y=[*range(100)])
    assert found.n_rows == 100
    assert found.is_whole == (most == 1000)
    assert [*map(int, found.target)] == [*range(100)]
    assert len(found.sample.rows) == len(set(found.sample.rows.tolist())) == min(100, most)
    assert np.array_equal(found.sample.columns["x"], x[found.sample.rows])
    assert found.sample.columns["c"].tolist() == [("u", "v")[row % 2] for row in found.sample.rows]
    rows = np.array([0, 3, 50, 99])
    again = read_rows(open_table(tmp_path / "t.csv"), found.sample, rows)
    assert np.array_equal(again.columns["x"], x[rows])


def test_columns_whose_type_changes_between_blocks_are_kept_as_they_are(tmp_path, monkeypatch):
    import pandas as pd

    monkeypatch.setattr(surveying, "_SAMPLE_ROWS", 4)
    monkeypatch.setattr(surveying, "_FEWEST_SAMPLED", 1)
    monkeypatch.setattr(reading, "_NUMBER_CELLS", 12)
    frame = pd.DataFrame({"n": pd.array([*range(30)], dtype="Int64"), "x": np.arange(30) % 7 / 2})
    frame.loc[20:, "n"] = pd.NA
    frame.to_parquet(tmp_path / "t.parquet")
    source = open_table(tmp_path / "t.parquet")
    found = survey(source, choose_columns(source, columns={"n": "number"})).sample
    expected = frame["n"].astype("float64").to_numpy()[found.rows]
    assert np.array_equal(found.columns["n"], expected, equal_nan=True)
