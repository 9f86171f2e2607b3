"""`lowtide tune` gives the advice of the library on a table, as text, plot, JSON and model."""

import io
import json
import os

import numpy as np
import pytest
from cli.samples import flower_csv, lowtide, rent_csv, write_csv

import lowtide as lt
from lowtide.cli import tune
from lowtide.learners import Advice, AdvisedCode

SMALL = (
    "--target",
    "rent",
    "--drop",
    "city",
    "--drop",
    "since",
    "--rows",
    60,
    "--budget",
    "8B",
    "--budget",
    "model:20kB",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table, and all that a comparison on it writes."""
    folder = tmp_path_factory.mktemp("tuned")
    rent_csv(folder / "rents.csv")
    files = ("-o", folder / "m.lowtide", "--plot", folder / "p.svg", "--save-settings")
    result = lowtide("tune", folder / "rents.csv", *SMALL, *files, "--json")
    assert result.exit_code == 0, result.stderr
    return folder, json.loads(result.stdout)


@pytest.fixture
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def code(encoder, item_bytes, score, **marks):
    return AdvisedCode(encoder, {"gamma": 0.5}, item_bytes, 1000, 2000, score, 0.01, **marks)


def advised(*codes, task="classification"):
    return Advice([*codes], next(each for each in codes if each.is_best), None, task, 90, 30)


def test_the_result_is_the_advice_of_the_library(made):
    _, content = made
    assert {each["encoder"] for each in content["codes"]} == {"rows", "random", "sketch", "ternary", "learned"}
    assert all(each["item_bytes"] <= 8 for each in content["codes"] if each["within_budget"])
    assert (content["learned_rows"], content["held_out_rows"]) == (45, 15)
    assert content["task"] == "regression"
    assert content["budget"] == {"item": 8, "model": 20_000}
    assert content["recommendation"].endswith(".")
    assert "compared on 60 rows of 120, drawn at random." in content["notes"]


def test_the_model_is_fitted_on_all_rows_and_predicts_the_table(made):
    folder, content = made
    assert content["model"]["bytes"] == os.path.getsize(folder / "m.lowtide")
    found = json.loads(lowtide("evaluate", folder / "m.lowtide", folder / "rents.csv", "--json").stdout)
    assert found["n_rows"] == 120
    assert found["r2"] > 0.5
    assert "held out by tune" in lowtide("inspect", folder / "m.lowtide").stdout


def test_the_plot_and_the_settings_are_written(made):
    folder, _ = made
    assert (folder / "p.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
    assert 'command = "tune"' in (folder / "m.toml").read_text(encoding="utf-8")


def test_text_has_the_table_the_bars_and_the_recommendation(inside, monkeypatch):
    flower_csv(inside / "flowers.csv")
    asked = {}

    def advise(X, y, budget, **named):
        asked.update(named, budget=budget, shape=X.shape)
        named["on_trial"](None)
        rows, best = code("rows", 16, 0.9), code("random", 8, 0.88, is_best=True)
        return advised(rows, best, code("sketch", 8, 0.7), code("random", 512, 0.91, within_budget=False))

    monkeypatch.setattr(lt, "advise", advise)
    result = lowtide("tune", "flowers.csv", "--target", "species", "--budget", "64B", "--budget", "2s", "--seed", 3)
    assert result.exit_code == 0
    assert asked["budget"] == {"item": 64, "seconds": 2.0}
    assert (asked["shape"], asked["random_state"], asked["task"]) == ((90, 4), 3, "classification")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["column", "taken", "as", "missing", "what", "is", "done"]
    assert any(line.startswith("encoder  settings") for line in lines)
    assert "Best accuracy by bytes an item; bars begin at 0.70:" in lines
    assert [line.split()[:2] for line in lines if "█" in line] == [["8", "random"], ["16", "rows"], ["512", "random"]]
    reached = "Take random codes of 8 bytes an item: accuracy 0.880 +- 0.010"
    assert lines[-1] == f"{reached}, against 0.900 of the rows as they are (16 bytes)."


def test_bars_are_as_long_as_their_scores_are_above_the_least(monkeypatch):
    advice = advised(code("random", 8, 0.5, is_best=True), code("random", 16, 0.75), code("rows", 32, 1.0))
    lines = tune.bars(advice).splitlines()
    assert [line.count("█") for line in lines[1:]] == [0, 20, 40]
    assert lines[1].endswith("0.500  take this")
    monkeypatch.setattr(tune, "_can_draw", lambda: False)
    assert [line.count("#") for line in tune.bars(advice).splitlines()[1:]] == [0, 20, 40]
    alone = advised(code("rows", 4, 0.0, is_best=True), task="regression")
    assert tune.bars(alone).splitlines()[1].count("#") == 40


def test_a_terminal_gets_a_table_with_marks():
    from rich.console import Console

    advice = advised(code("random", 8, 0.5, is_best=True), code("rows", 640, 0.75, within_budget=False))
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(tune._table(advice))
    text = console.export_text()
    assert "take this" in text
    assert "over budget" in text
    assert "gamma 0.5" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "64"], "Invalid value for '--budget': must be bytes an item"),
        (["--plot", "p.gif"], "Invalid value for '--plot': must end in .svg or .png, got 'p.gif'."),
        (["--save-settings"], "'--save-settings': must come with --output"),
        (["-o", "m.csv"], "'--output': must name a model file, 'm.lowtide' say"),
        (["--rows", "10"], "Invalid value for '--rows'"),
        (["-o", "flowers.csv", "--force"], "'--output'"),
        (["--plot", "x.png", "-o", "x.png", "--force"], "must name another file than the other output"),
    ],
)
def test_wrong_options_are_refused_before_any_work(inside, monkeypatch, options, message):
    flower_csv(inside / "flowers.csv")
    monkeypatch.setattr(tune, "read_table", lambda *a: pytest.fail("worked for nothing"))
    result = lowtide("tune", "flowers.csv", "--target", "species", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert os.listdir() == ["flowers.csv"]


def test_a_missing_target_is_asked_for_by_the_names_of_the_columns(inside):
    flower_csv(inside / "flowers.csv")
    result = lowtide("tune", "flowers.csv")
    assert result.exit_code == 2
    asked = "Missing option '--target'. Name the column to learn: flowers.csv has 'a', 'b', 'c', 'd' and 'species'."
    assert asked in result.stderr


@pytest.mark.parametrize("name", ["codes.zarr", "codes.lowtide"])
def test_codes_are_refused(inside, name):
    (inside / name / "lowtide").mkdir(parents=True)  # as a store has
    result = lowtide("tune", name, "--target", "y")
    assert result.exit_code == 2
    assert f"must be a table: codes are what is compared, got '{name}'." in result.stderr


def test_few_rows_are_refused_with_the_way_out(inside):
    write_csv(inside / "few.csv", ["a", "y"], [(i, i % 2) for i in range(39)])
    result = lowtide("tune", "few.csv", "--target", "y")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "few.csv: 40 rows or more are needed to compare codes, got 39." in result.stderr


def test_rows_are_drawn_by_the_seed(inside, monkeypatch):
    rent_csv(inside / "rents.csv")
    drawn = []

    def advise(X, y, budget, **named):
        drawn.append(y)
        return advised(code("rows", 16, 0.9, is_best=True), task="regression")

    monkeypatch.setattr(lt, "advise", advise)
    monkeypatch.setattr(Advice, "recommendation", "Keep them.")
    for seed in (1, 1, 2):
        lowtide("tune", "rents.csv", *SMALL, "--seed", seed)
    assert [len(each) for each in drawn] == [60] * 3
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
