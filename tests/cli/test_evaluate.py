"""`lowtide evaluate` gives the scores of `lowtide.evaluate`, wherever the rows and their true values come from."""

import json

import pytest
from cli.samples import flowers, lowtide, write_csv

import lowtide as lt
from lowtide.tables import reading


@pytest.fixture
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scores(*arguments):
    result = lowtide("evaluate", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_scores_are_those_of_the_library(made):
    X, y = flowers()
    expected = json.loads(json.dumps(lt.evaluate(lt.load(made / "f.lowtide"), X, y).to_config()))
    found = scores(made / "f.lowtide", made / "flowers.csv")
    assert {name: found[name] for name in expected} == expected
    assert (found["command"], found["target"]) == ("evaluate", "species")


def test_scores_of_numbers_have_no_classes(made):
    found = scores(made / "r.lowtide", made / "rents.csv")
    assert found["task"] == "regression"
    assert 0.9 < found["r2"] <= 1.0
    assert "confusion" not in found


def test_text_has_the_scores_the_classes_the_confusions_and_the_calibration(made):
    text = lowtide("evaluate", made / "f.lowtide", made / "flowers.csv").stdout
    X, y = flowers()
    assert text == f"f.lowtide on flowers.csv, 'species'\n\n{lt.evaluate(lt.load(made / 'f.lowtide'), X, y)}\n"
    assert [line.split()[0] for line in text.splitlines() if line.startswith(("class ", "true ", "probability "))] == [
        *("class", "true", "probability"),
    ]


def test_small_blocks_give_the_same(made, monkeypatch):
    whole = scores(made / "f.lowtide", made / "flowers.csv")
    monkeypatch.setattr(reading, "_TEXT_CELLS", 35)
    parts = scores(made / "f.lowtide", made / "flowers.csv")
    assert parts["confusion"] == whole["confusion"]
    assert parts["log_loss"] == pytest.approx(whole["log_loss"])


def test_codes_and_stores_give_what_their_table_gives(made, inside):
    expected = scores(made / "f.lowtide", made / "flowers.csv")["confusion"]
    table, model = made / "flowers.csv", made / "f.lowtide"
    lowtide("encode", table, "--model", model, "--target", "species", "-o", "codes.zarr")
    assert scores(model, "codes.zarr")["confusion"] == expected
    assert scores(model, "codes.zarr", "--target", "species")["confusion"] == expected
    lowtide("encode", table, "--model", model, "-o", "codes.lowtide")
    write_csv(inside / "y.csv", ["kind"], [(name,) for name in flowers()[1]])
    assert scores(model, "codes.lowtide", "--target", "y.csv")["confusion"] == expected
    refused = lowtide("evaluate", model, "codes.lowtide")
    assert refused.exit_code == 2
    assert "must name a file with the true values: codes.lowtide has codes alone." in refused.stderr


def test_missing_and_unknown_true_values_are_said(made, inside):
    X, y = flowers()
    y = y.astype("U20")
    y[:2], y[2] = "", "rosa"
    write_csv(inside / "odd.csv", ["a", "b", "c", "d", "species"], [(*row, name) for row, name in zip(X.tolist(), y)])
    result = lowtide("evaluate", made / "f.lowtide", "odd.csv", "--json")
    found = json.loads(result.stdout)
    assert (found["n_rows"], found["n_unknown"]) == (88, 1)
    assert "2 rows without a true value left out of the score." in found["notes"]
    assert "1 row of classes that the model does not know" in result.stderr


def test_a_table_without_the_target_is_refused_with_the_way_out(made, inside):
    write_csv(inside / "x.csv", ["a", "b", "c", "d"], flowers()[0].tolist())
    result = lowtide("evaluate", made / "f.lowtide", "x.csv")
    assert result.exit_code == 2
    assert "must name the column with the true values, or a file of them." in result.stderr
    assert "x.csv has no column 'species', the model's target." in result.stderr


@pytest.mark.parametrize("rows", [[], [(1, 2, 3, 4, "")]])
def test_a_table_without_true_values_is_one_line(made, inside, rows):
    write_csv(inside / "none.csv", ["a", "b", "c", "d", "species"], rows)
    result = lowtide("evaluate", made / "f.lowtide", "none.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "none.csv: 'species' must have true values to score with, got no" in result.stderr


def test_model_and_table_the_wrong_way_round_are_told_apart(made):
    result = lowtide("evaluate", made / "flowers.csv", made / "f.lowtide")
    assert result.exit_code == 1
    assert "must be a model file, got the name of a table." in result.stderr


def test_a_target_of_other_classes_is_one_line(made):
    result = lowtide("evaluate", made / "f.lowtide", made / "flowers.csv", "--target", "a")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "flowers.csv: 'a' must have classes that the model knows, 'setosa'" in result.stderr
