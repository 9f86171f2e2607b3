import json
import os

import click
import numpy as np
import pandas as pd
import pytest
from cli.samples import FAST, flowers, lowtide, read_csv, write_csv
from given import given_classifier

import lowtide as lt
from lowtide.cli.predict import check_output, write_table
from lowtide.tables import open_table, reading
from lowtide.tables.cells import numbers_in

PARTS = [
    {"prediction": np.array(["a, b", "c"]), "share": np.array([0.123456789, 1e-9])},
    {"prediction": np.array(["longer"]), "share": np.array([1.0])},
]


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_predict_prints_what_the_model_says_of_the_rows(made):
    result = lowtide("predict", made / "f.lowtide", made / "flowers.csv", "--probabilities", "--scores")
    assert result.exit_code == 0
    rows, model = read_csv(result.stdout), lt.load(made / "f.lowtide")
    assert list(rows[0]) == [
        "prediction",
        *(f"{kind}_{name}" for kind in ("probability", "score") for name in model.classes_),
    ]
    X, _ = flowers()
    assert [row["prediction"] for row in rows] == model.predict(X).tolist()
    shares = np.array([[float(row[f"probability_{name}"]) for name in model.classes_] for row in rows])
    scores = np.array([[float(row[f"score_{name}"]) for name in model.classes_] for row in rows])
    # Six digits are written.
    assert np.allclose(shares, model.predict_proba(X), rtol=1e-5)
    assert np.allclose(scores, model.decision_function(X), rtol=1e-5, atol=1e-8)


def test_predict_scores_where_the_target_is_there(made):
    result = lowtide("predict", made / "f.lowtide", made / "flowers.csv", "-o", "out.csv", "--json")
    content = json.loads(result.stdout)
    model = lt.load(made / "f.lowtide")
    X, y = flowers()
    assert content["score"]["value"] == np.mean(model.predict(X) == y)
    assert (content["rows"], content["output"], content["columns"]) == (90, "out.csv", None)
    said = lowtide("predict", made / "f.lowtide", made / "flowers.csv")
    assert said.stderr.startswith("Score: accuracy ")


def test_predict_leaves_rows_without_a_true_value_out_of_the_score(made, inside):
    X, y = flowers(6)
    y = np.where(np.arange(6) < 2, "", y)
    write_csv(inside / "t.csv", ["a", "b", "c", "d", "species"], [(*row, name) for row, name in zip(X.tolist(), y)])
    result = lowtide("predict", made / "f.lowtide", "t.csv")
    assert "2 rows without a true value" in result.stderr
    assert "on 4 rows with 'species'" in result.stderr


def test_predict_does_not_depend_on_order_of_columns_blocks_or_format(made, inside, monkeypatch):
    reference = lowtide("predict", made / "f.lowtide", made / "flowers.csv", "--scores").stdout
    X, _ = flowers()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame[["d", "b", "a", "c"]].to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    np.save("t.npy", X)
    for name in ("t.csv", "t.parquet", "t.npy"):
        assert lowtide("predict", made / "f.lowtide", name, "--scores").stdout == reference
    monkeypatch.setattr(reading, "_TEXT_CELLS", 20)
    assert lowtide("predict", made / "f.lowtide", "t.csv", "--scores").stdout == reference


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_predict_writes_the_same_predictions_in_every_format(made, ending):
    assert lowtide("predict", made / "r.lowtide", made / "rents.csv", "-o", f"out.{ending}").exit_code == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}
    values = np.load("out.npy") if ending == "npy" else read[ending](f"out.{ending}")["prediction"].to_numpy()
    printed = lowtide("predict", made / "r.lowtide", made / "rents.csv", "--json")
    whole = json.loads(printed.stdout)["columns"]["prediction"]
    assert np.allclose(values, whole, rtol=1e-8)
    assert os.listdir() == [f"out.{ending}"]


def test_predict_of_a_header_alone_is_a_header_alone(made, inside):
    (inside / "t.csv").write_text("a,b,c,d\n")
    result = lowtide("predict", made / "f.lowtide", "t.csv")
    assert (result.stdout, result.exit_code) == ("prediction\n", 0)


def test_predict_notes_columns_and_categories_it_does_not_know(made, inside):
    write_csv(inside / "t.csv", ["area", "city", "balcony", "cat"], [(50, "Rome", "True", 1), (60, "Bern", "False", 2)])
    result = lowtide("predict", made / "r.lowtide", "t.csv", "--quiet")
    assert (len(read_csv(result.stdout)), result.stderr) == (2, "")
    notes = lowtide("predict", made / "r.lowtide", "t.csv").stderr
    assert "'cat'; left out" in notes
    assert "column 'city': 1 row with categories that the model does not have, 'Rome'; they count as none." in notes


def test_predict_takes_a_model_that_was_saved_from_python(inside):
    X, y = flowers()
    lt.save(given_classifier(n_components=64, random_state=0).fit(X, y), "plain.lowtide")
    frame = pd.DataFrame(X, columns=list("abcd"))
    lt.save(given_classifier(n_components=64, random_state=0).fit(frame, y), "named.lowtide")
    frame[["b", "a", "d", "c"]].to_csv("t.csv", index=False)
    np.save("X.npy", X)
    predicted = lt.load("plain.lowtide").predict(X).tolist()
    for model, data in (("plain.lowtide", "X.npy"), ("named.lowtide", "t.csv"), ("named.lowtide", "X.npy")):
        rows = read_csv(lowtide("predict", model, data).stdout)
        assert [row["prediction"] for row in rows] == predicted


def test_predict_scores_with_a_target_file(inside, monkeypatch):
    monkeypatch.setattr(reading, "_NUMBER_CELLS", 40)
    X, y = flowers()
    np.save("X.npy", X)
    np.save("y.npy", y)
    lowtide("fit", "X.npy", "--target", "y.npy", "-o", "m.lowtide", *FAST)
    content = json.loads(lowtide("predict", "m.lowtide", "X.npy", "--target", "y.npy", "--json").stdout)
    assert content["score"]["value"] == np.mean(np.array(content["columns"]["prediction"]) == y)
    np.save("y.npy", y[:-1])
    result = lowtide("predict", "m.lowtide", "X.npy", "--target", "y.npy", "-o", "out.csv")
    assert (result.exit_code, os.path.exists("out.csv")) == (1, False)


def test_missing_columns_are_named(made, inside):
    (inside / "t.csv").write_text("a,B,c\n1,2,3\n")
    result = lowtide("predict", made / "f.lowtide", "t.csv")
    assert result.exit_code == 1
    assert "needs columns 'b' and 'd'" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("model", "data", "message"),
    [
        ("flowers.csv", "f.lowtide", "takes the model first"),
        ("not.lowtide", "flowers.csv", "must be a file of lowtide.save"),
        ("cut.lowtide", "flowers.csv", "damaged or cut short"),
        ("codes.lowtide", "flowers.csv", "'lowtide fit' writes models"),
        ("f.lowtide", "codes.lowtide", "fingerprint"),
        ("f.lowtide", "f.lowtide", "must hold Codes"),
    ],
)
def test_files_that_are_something_else_are_refused_with_a_reason(made, model, data, message):
    (made / "not.lowtide").write_text("{}")
    (made / "cut.lowtide").write_bytes((made / "f.lowtide").read_bytes()[:-100])
    lt.save(lt.RandomFeatures(n_components=64, random_state=1).fit(np.eye(4)).encode(np.eye(4)), made / "codes.lowtide")
    result = lowtide("predict", made / model, made / data)
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "out.xlsx"), "must end in .csv"),
        (("-o", "out.npy", "--probabilities"), "several columns"),
        (("-o", "no/out.csv"), "folder that exists"),
        (("-o", "there.csv"), "--force"),
        (("--target", "speces"), "Did you mean 'species'"),
    ],
)
def test_wrong_options_are_usage_errors(made, inside, options, message):
    (inside / "there.csv").touch()
    result = lowtide("predict", made / "f.lowtide", made / "flowers.csv", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize("option", ["--probabilities", "--scores"])
def test_numbers_have_no_probabilities_or_scores(made, option):
    result = lowtide("predict", made / "r.lowtide", made / "rents.csv", option)
    assert result.exit_code == 2
    assert option in result.stderr


def test_csv_goes_to_stdout_without_a_path(capsys):
    write_table(None, PARTS)
    assert capsys.readouterr().out == 'prediction,share\n"a, b",0.123457\nc,1e-09\nlonger,1\n'


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_written_table_reads_back(tmp_path, ending):
    write_table(tmp_path / f"t.{ending}", PARTS)
    (block,) = open_table(tmp_path / f"t.{ending}").blocks()
    assert block.column("prediction").tolist() == ["a, b", "c", "longer"]
    assert numbers_in(block.column("share")) == pytest.approx([0.123456789, 1e-9, 1.0], rel=1e-5)


def test_npy_holds_the_one_column(tmp_path):
    write_table(tmp_path / "t.npy", [{"prediction": np.array([1.5, 2.5])}, {"prediction": np.array([3.5])}])
    assert np.load(tmp_path / "t.npy").tolist() == [1.5, 2.5, 3.5]


@pytest.mark.parametrize("ending", ["csv", "npy", "parquet"])
def test_a_table_that_cannot_be_finished_leaves_the_old_file(tmp_path, ending):
    def parts():
        yield PARTS[0]
        raise KeyboardInterrupt

    path = tmp_path / f"t.{ending}"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_table(path, parts())
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_check_output_refuses_other_endings_and_several_columns_in_npy(tmp_path):
    for name, several in (("t.csv", True), ("t.npy", False)):
        assert check_output(tmp_path / name, force=False, several=several) == tmp_path / name
    for name, several, problem in (("t.npy", True, ".parquet"), ("t.xlsx", False, "must end in")):
        with pytest.raises(click.BadParameter, match=problem):
            check_output(tmp_path / name, force=False, several=several)
