import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from lowtide.cli.main import main

N_ROWS = 200


def run(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with a category and a class, some rows without one, and a model of it."""
    place = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    area, city = rng.normal(50, 10, N_ROWS).round(2), rng.choice(["Bern", "Oslo"], N_ROWS)
    kind = np.where(area + 8 * (city == "Oslo") > 54, "large", "small")
    with open(place / "rents.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["area", "city", "kind"])
        writer.writerows(zip(area.tolist(), city, kind))
    given = ["--components", 64, "--gamma", 0.5, "--C", 10, "--loss", "squared", "--metric", "none"]
    fitted = run("fit", place / "rents.csv", "--target", "kind", *given, "-o", place / "rents.lowtide", "--quiet")
    assert fitted.exit_code == 0, fitted.output
    with open(place / "new.csv", "w") as file:
        text = (place / "rents.csv").read_text().splitlines()
        file.write("\n".join([*text, "40.0,Oslo,", "60.0,Bern,"]))
    return place


@pytest.fixture(scope="module")
def result(folder):
    """The report with its numbers and its page beside the model."""
    return run("report", folder / "rents.lowtide", folder / "rents.csv", "--json")


def test_report_writes_the_page_beside_the_model_and_prints_the_numbers(folder, result):
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["command"] == "report"
    assert content["output"] == str(folder / "rents.html")
    found = content["report"]
    assert (found["title"], found["target"], found["n_rows"], found["n_held"]) == ("rents.csv", "kind", N_ROWS, 50)
    assert found["score"] > 0.8
    assert found["row_bytes"] == 8
    assert [(c["name"], c["kind"]) for c in found["columns"]] == [("area", "number"), ("city", "category")]
    assert {each["column"] for each in found["importances"]} == {"area", "city"}
    page = (folder / "rents.html").read_text(encoding="utf-8")
    assert "report on <bdi>rents.csv</bdi>" in page
    assert str(folder) not in page


def test_page_is_replaced_only_with_force(folder, result):
    refused = run("report", folder / "rents.lowtide", folder / "rents.csv")
    assert refused.exit_code == 2
    assert "Add --force" in refused.output


def test_rows_without_a_true_value_are_left_out_and_said(folder):
    found = run("report", folder / "rents.lowtide", folder / "new.csv", "--no-html", "--rows", 60, "--unseen")
    assert found.exit_code == 0, found.output
    assert "Note: 2 rows without a true value left out." in found.stderr
    assert "The model tells 2 classes apart: it predicts 'kind' from 2 columns." in found.stdout
    assert "measured on all 60 rows, which it has not seen" in found.stdout
    assert "What to hold against it:" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rents.lowtide", "rents.lowtide"], "must be a table"),
        (["rents.csv", "rents.csv"], "must be a model file"),
        (["rents.lowtide", "no_target.csv"], "must name the column with the true values"),
        (["rents.lowtide", "rents.csv", "--target", "city"], "must have classes that the model knows"),
        (["rents.lowtide", "few.csv"], "at least 40 rows"),
        (["rents.lowtide", "rents.csv", "--rows", "10"], "40<=x<=1000000"),
        (["rents.lowtide", "rents.csv", "-o", "rents.csv", "--force"], "must not be, hold or be in what is read"),
    ],
)
def test_what_cannot_be_reported_on_is_refused_in_a_line(folder, arguments, words):
    lines = (folder / "rents.csv").read_text().splitlines()
    (folder / "few.csv").write_text("\n".join(lines[:30]))
    (folder / "no_target.csv").write_text("\n".join(line.rsplit(",", 1)[0] for line in lines))
    named = [str(folder / each) if each.endswith((".csv", ".lowtide")) else each for each in arguments]
    page = [] if "-o" in named else ["-o", str(folder / "other.html")]
    found = run("report", *named, *page)
    assert found.exit_code in (1, 2), found.output
    assert "Traceback" not in found.output
    assert words in found.output
    assert not (folder / "other.html").exists()
