import json
import os

import numpy as np
import pytest
from cli.samples import FAST, flower_csv, flowers, lowtide, rent_csv, write_csv
from given import given_classifier
from sklearn.preprocessing import StandardScaler

import lowtide as lt
from lowtide.cli import fit, models
from lowtide.cli.fit import split
from lowtide.tables import Target


@pytest.fixture
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_work(monkeypatch):
    monkeypatch.setattr(fit, "read_table", lambda *a: pytest.fail("worked for nothing"))


def refused(*arguments, code=2):
    """Run a command that must fail without leaving a file; return what it said."""
    before = set(os.listdir())
    result = lowtide(*arguments)
    assert result.exit_code == code
    assert result.stdout == ""
    assert set(os.listdir()) == before
    return result.stderr


def test_fit_gives_the_model_that_the_library_gives_on_standardized_columns(inside):
    flower_csv(inside / "flowers.csv")
    result = lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", "--seed", 5, *FAST)
    assert result.exit_code == 0
    X, y = flowers()
    Z = StandardScaler().fit_transform(X)
    encoder = lt.RandomFeatures("rbf", n_components=64, bits=1, random_state=5)
    expected = given_classifier(encoder, C=1.0, random_state=5).fit(Z, y)
    model = lt.load("m.lowtide")
    assert model.features_.fingerprint_ == expected.features_.fingerprint_
    # A column of a table is scaled in steps of our own, whose rounding is not scikit-learn's.
    assert np.allclose(model.coef_, expected.coef_, rtol=2**-23, atol=1e-12)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]


def test_fit_says_what_it_took_and_what_it_made(inside):
    flower_csv(inside / "flowers.csv")
    said = lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", "--validate", 0.2, *FAST).stdout
    for part in (
        "90 rows, 4 columns: 4 of numbers",
        "classification of 'species' into 3: 'setosa', 'versicolor' and 'virginica' (text)",
        "64 components of 1 bit: 8 bytes a row",
        "squared loss, C = 1; 72 rows",
        "on 18 rows held out",
        "m.lowtide",
    ):
        assert part in said


def test_fit_without_held_out_rows_gives_no_score(inside):
    flower_csv(inside / "flowers.csv")
    said = lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", *FAST).stdout
    assert "none held out" in said
    assert "accuracy" not in said


def test_fit_result_as_json_has_the_documented_fields(inside):
    flower_csv(inside / "flowers.csv")
    arguments = ("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", "--validate", 0.2, "--json", *FAST)
    content = json.loads(lowtide(*arguments).stdout)
    assert (content["format"], content["command"], content["lowtide"]) == (1, "fit", lt.__version__)
    assert content["bytes"] == os.path.getsize("m.lowtide")
    assert content["task"] == "classification"
    assert content["score"]["rows"] == content["data"]["held_out_rows"] == 18
    # Three clusters four standard deviations apart: chance is a third.
    assert content["score"]["value"] > 0.8
    assert content["fingerprint"] == lt.load("m.lowtide").features_.fingerprint_.hex()


def test_fit_scores_rows_that_had_no_part_in_scale_or_model(inside):
    # One held-out value so large that it would move the mean, were it looked at.
    X, y = flowers(60)
    rows = [(*row, name) for row, name in zip(X.tolist(), y)]
    command = ("fit", "t.csv", "--target", "species", "-o", "m.lowtide", "--validate", 0.2, "--force", "--json", *FAST)
    write_csv(inside / "t.csv", ["a", "b", "c", "d", "species"], rows)
    first = json.loads(lowtide(*command).stdout)
    weights = lt.load("m.lowtide").coef_
    _, held = split(Target("classification", y, "text"), 0.2, seed=0)
    rows[held[0]] = (1e6, *rows[held[0]][1:])
    write_csv(inside / "t.csv", ["a", "b", "c", "d", "species"], rows)
    second = json.loads(lowtide(*command).stdout)
    assert first["data"]["held_out_rows"] == second["data"]["held_out_rows"] == 12
    assert np.array_equal(weights, lt.load("m.lowtide").coef_)


def test_fit_of_numbers_is_a_regression_with_categories_and_truth_values(inside):
    rent_csv(inside / "rents.csv")
    columns = ("--categories", "city", "--drop", "since")
    arguments = ("fit", "rents.csv", "--target", "rent", "-o", "m.lowtide", "--json", *columns, *FAST)
    content = json.loads(lowtide(*arguments, "--components", 256, "--C", "auto", "--validate", 0.25).stdout)
    assert content["task"] == "regression"
    taken = {column["name"]: column["taken_as"] for column in content["data"]["columns"]}
    assert taken == {"area": "number", "city": "category", "balcony": "truth", "since": "left out"}
    assert content["data"]["features"] == 4
    assert content["score"]["value"] > 0.9  # the target is smooth and has no noise


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_fit_passes_its_options_on(inside, loss):
    flower_csv(inside / "flowers.csv")
    options = ("--loss", loss, "--bits", 2, "--kernel", "matern", "--gamma", 0.3, "--no-scale", "--budget", "32B")
    options += ("--budget", "model:0.1MB", "--budget", "2.5s", "--prune", "none")
    result = lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", *FAST, *options)
    assert result.exit_code == 0
    model = lt.load("m.lowtide")
    assert (model.loss, model.C_, model.verbose) == (loss, 1.0, 0)
    assert (model.kernel, model.gamma, model.bits, model.metric, model.prune) == ("matern", 0.3, 2, None, None)
    assert model.budget == {"item": 32, "model": 100_000, "seconds": 2.5}
    expected = lt.RandomFeatures("matern", gamma=0.3, n_components=64, bits=2, random_state=0)
    assert model.features_.fingerprint_ == expected.fit(flowers()[0]).fingerprint_


def test_fit_has_the_defaults_of_the_library(inside):
    names = {"components": "n_components"}
    own = {
        names.get(each.name, each.name): None if each.multiple or each.default == "none" else each.default
        for each in fit.fit.params
        if each.name in ("loss", "C", "kernel", "gamma", "components", "bits", "metric", "prune", "budget")
    }
    library = lt.KernelClassifier().get_params()
    assert {name: int(value) if name == "bits" else value for name, value in own.items()} == {
        name: library[name] for name in own
    }
    assert len(own) == 9


def test_fit_with_nothing_said_chooses_what_the_library_chooses_and_shows_it(inside):
    X, y = flowers(60)
    flower_csv(inside / "flowers.csv", n=60)
    arguments = ("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide")
    said = lowtide(*arguments).stdout
    expected = lt.KernelClassifier(random_state=0).fit(StandardScaler().fit_transform(X), y)
    model = lt.load("m.lowtide")
    assert model.features_.fingerprint_ == expected.features_.fingerprint_
    assert model.choice_ == expected.choice_
    table = said[said.index("Chosen by the left-out loss of 60 rows:") :].splitlines()[2:]
    assert [line.split()[0] for line in table] == [each.setting for each in expected.choice_.outcomes()]
    assert {"gamma", "n_components", "C"} <= {line.split()[0] for line in table}
    assert "Chosen by the left-out loss of 60 rows:" in lowtide("inspect", "m.lowtide").stdout
    as_json = json.loads(lowtide(*arguments, "--force", "--json").stdout)["choice"]
    assert as_json == {**expected.choice_.to_config(), "settings": expected.choice_.settings}
    assert json.loads(lowtide("inspect", "m.lowtide", "--json").stdout)["choice"] == as_json


def test_fit_with_all_settings_given_shows_no_choice(inside):
    flower_csv(inside / "flowers.csv")
    said = lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", *FAST).stdout
    assert "Chosen" not in said
    assert "Chosen" not in lowtide("inspect", "m.lowtide").stdout


def test_fit_keeps_within_bytes_an_item(inside):
    flower_csv(inside / "flowers.csv")
    arguments = ("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", "--gamma", "scale", "--metric", "none")
    said = lowtide(*arguments, "--C", 1, "--budget", "16B", "--prune", "none").stdout
    assert "128 components of 1 bit: 16 bytes a row" in said


def test_fit_takes_arrays_with_the_target_in_a_file_or_in_a_column(inside):
    X, y = flowers()
    labels = np.unique(y, return_inverse=True)[1]
    np.save("X.npy", X)
    np.save("y.npy", labels)
    np.save("Xy.npy", np.column_stack([X, labels]))
    for data, target in (("X.npy", "y.npy"), ("Xy.npy", "-1"), ("Xy.npy", "4")):
        result = lowtide("fit", data, "--target", target, "-o", "m.lowtide", "--force", *FAST)
        assert result.exit_code == 0
        model = lt.load("m.lowtide")
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.n_features_in_ == 4


def test_fit_takes_a_projection_that_the_kernel_has(inside):
    flower_csv(inside / "flowers.csv")
    lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", "--kernel", "laplacian", *FAST)
    assert lt.load("m.lowtide").features_.projection == "iid"


def test_fit_makes_the_same_bytes_again_and_replaces_a_file_only_when_told(inside):
    flower_csv(inside / "flowers.csv")
    command = ("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", *FAST)
    lowtide(*command)
    first = (inside / "m.lowtide").read_bytes()
    assert "--force" in refused(*command)
    assert (inside / "m.lowtide").read_bytes() == first
    assert lowtide(*command, "--force").exit_code == 0
    assert (inside / "m.lowtide").read_bytes() == first


def test_fit_quietly_prints_nothing(inside):
    write_csv(inside / "t.csv", ["", "a", "y"], [(i, i % 7, "uv"[i % 2]) for i in range(20)])
    loud = lowtide("fit", "t.csv", "--target", "y", "-o", "a.lowtide", *FAST)
    assert "1 column without a name left out" in loud.stderr
    quiet = lowtide("fit", "t.csv", "--target", "y", "-o", "b.lowtide", "--quiet", *FAST)
    assert (quiet.stdout, quiet.stderr, quiet.exit_code) == ("", "", 0)


def test_wrong_target_names_the_near_one(inside):
    flower_csv(inside / "flowers.csv")
    assert "Did you mean 'species'?" in refused("fit", "flowers.csv", "--target", "Specie", "-o", "m.lowtide")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty file"),
        ("a,y\n", "only its header"),
        ("a,y\n1,u\ninf,v\n", "row 2 (line 3), column 'a'"),
        ("a,y\n1,u\n2,u\n", "two classes"),
        ("a,y\n1,u\n2\n", "line 3"),
    ],
)
def test_a_table_that_will_not_do_is_one_line_and_no_file(inside, content, message):
    (inside / "t.csv").write_text(content)
    said = refused("fit", "t.csv", "--target", "y", "-o", "m.lowtide", *FAST, code=1)
    assert message in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("-o", "no/m.lowtide"), "folder that exists"),
        (("-o", "m.csv"), "'m.lowtide' say"),
        (("-o", "."), "regular file"),
        (("-o", "m.lowtide", "--gamma", "wide"), "'auto' or 'scale' or 'median'"),
        (("-o", "m.lowtide", "--budget", "64"), "as in 64B"),
        (("-o", "m.lowtide", "--budget", "4B"), "8 or more"),
        (("-o", "m.lowtide", "--budget", "model:2s"), "seconds, as in 2s"),
        (("-o", "m.lowtide", "--budget", "0s"), "more than 0 seconds"),
        (("-o", "m.lowtide", "--prune", "1"), "from 2 to 64"),
        (("-o", "m.lowtide", "--metric", "round"), "'diagonal'"),
        (("-o", "m.lowtide", "--bits", "9"), "from 1 to 8"),
        (("-o", "m.lowtide", "--C", "0"), "above 0"),
        (("-o", "m.lowtide", "--validate", "1"), "--validate"),
        ((), "--output"),
    ],
)
def test_wrong_options_are_refused_before_any_work(inside, no_work, options, hint):
    flower_csv(inside / "flowers.csv")
    assert hint in refused("fit", "flowers.csv", "--target", "species", *options)


def test_a_share_that_leaves_no_rows_is_refused(inside):
    flower_csv(inside / "flowers.csv")
    said = refused("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", "--validate", "0.99")
    assert "two rows or more" in said


def test_a_loss_of_classes_is_refused_for_numbers(inside):
    rent_csv(inside / "rents.csv")
    columns = ("--categories", "city", "--drop", "since")
    said = refused("fit", "rents.csv", "--target", "rent", "-o", "m.lowtide", "--loss", "logistic", *columns)
    assert "--classification" in said


def test_target_file_of_another_length_is_refused(inside):
    np.save("X.npy", np.zeros((5, 2)))
    np.save("y.npy", np.array([0, 1, 0, 1]))
    assert "5, got 4" in refused("fit", "X.npy", "--target", "y.npy", "-o", "m.lowtide", code=1)
    assert "neither" in refused("fit", "X.npy", "--target", "z.npy", "-o", "m.lowtide")


def test_split_holds_out_its_share_of_every_class():
    values = np.repeat(["u", "v"], [80, 20])
    train, held = split(Target("classification", values, "text"), 0.25, seed=0)
    assert np.array_equal(np.sort(np.concatenate([train, held])), np.arange(100))
    assert np.unique(values[held], return_counts=True)[1].tolist() == [20, 5]


def test_split_takes_classes_of_one_row_as_they_come():
    train, held = split(Target("classification", np.array(["u"] * 9 + ["v"]), "text"), 0.2, seed=0)
    assert (len(train), len(held)) == (8, 2)


def test_cross_validation_scores_every_row_once_and_keeps_a_model_of_all(inside):
    flower_csv(inside / "flowers.csv")
    content = json.loads(
        lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", "--cv", 3, "--json", *FAST).stdout
    )
    score = content["score"]
    values = [fold["value"] for fold in score["folds"]]
    assert [fold["rows"] for fold in score["folds"]] == [30] * 3
    # Classes are in every fold alike.
    assert [fold["baseline"] for fold in score["folds"]] == pytest.approx([1 / 3] * 3)
    assert score["value"] == pytest.approx(np.mean(values))
    assert score["error"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))
    assert (score["rows"], content["data"]["train_rows"]) == (90, 90)
    fresh = lowtide("fit", "flowers.csv", "--target", "species", "-o", "again.lowtide", *FAST)
    assert fresh.exit_code == 0
    again, kept = lt.load("again.lowtide"), lt.load("m.lowtide")
    assert np.array_equal(again.coef_, kept.coef_)
    assert f"accuracy {np.mean(values):.3f} ± " in lowtide("inspect", "m.lowtide").stdout


def test_every_fold_learns_its_own_recipe(inside, monkeypatch):
    rent_csv(inside / "rents.csv")
    learned, real = [], models.learned_table

    def learn(sample, choice, standardize):
        learned.append(len(sample.rows))
        return real(sample, choice, standardize)

    monkeypatch.setattr(models, "learned_table", learn)
    result = lowtide("fit", "rents.csv", "--target", "rent", "--cv", 4, "-o", "m.lowtide", *FAST)
    assert result.exit_code == 0
    assert learned == [90] * 4 + [120]
    assert "over 4 folds of 120 rows" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cv", 1), "Invalid value for '--cv'"),
        (("--cv", 60), "must leave two rows or more in a fold, got 60 folds of 90 rows."),
        (("--cv", 5, "--validate", 0.2), "must come without --validate"),
    ],
)
def test_folds_that_cannot_be_are_refused(inside, options, message):
    flower_csv(inside / "flowers.csv")
    assert message in refused("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", *options)


def test_a_class_too_small_for_the_folds_is_said(inside):
    rows = [(i, i % 2, "rare" if i == 0 else "even" if i % 2 else "odd") for i in range(20)]
    write_csv(inside / "rare.csv", ["a", "b", "y"], rows)
    result = lowtide("fit", "rare.csv", "--target", "y", "-o", "m.lowtide", "--cv", 3, *FAST)
    assert result.exit_code == 0
    assert "Note: a class has 1 row, too few for each of the 3 folds." in result.stderr


def test_fit_tells_of_classes_that_differ_only_in_capitals_or_blanks(inside):
    rows = [[str(i % 7), ("yes", "Yes", "no")[i % 3]] for i in range(30)]
    write_csv(inside / "answers.csv", ["a", "answer"], rows)
    result = lowtide("fit", "answers.csv", "--target", "answer", "-o", "m.lowtide", *FAST)
    assert "Note: 'Yes' and 'yes' of 'answer' differ only in capitals or blanks" in result.stderr
    assert result.exit_code == 0
