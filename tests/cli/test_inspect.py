import json
import os

import numpy as np
import pytest
from cli.samples import FAST, flower_csv, flowers, lowtide, rent_csv
from given import given_classifier

import lowtide as lt
from lowtide.cli.inspect import expected_errors, sizes_by_part


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flower_csv(tmp_path / "flowers.csv")
    return tmp_path


def fitted(*options):
    lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", *options, *FAST)
    return lt.load("m.lowtide")


def test_inspect_says_what_is_in_a_model():
    model = fitted("--validate", 0.2)
    said = lowtide("inspect", "m.lowtide").stdout
    for part in (
        "KernelClassifier, squared loss, C = 1",
        "'setosa', 'versicolor' and 'virginica'",
        "numbers 'a', 'b', 'c' and 'd' (standardized), target 'species'",
        "on 18 rows held out",
        "rbf kernel with gamma 0.25, 64 components of 1 bit: 8 bytes a row",
        "hadamard, cos_sin map, seed 0",
        model.features_.fingerprint_.hex(),
        "weights 1.56 kB",  # (64 + 1 intercept in float64) x 3 classes: 768 + 24
        "codes x full",
    ):
        assert part in said


def test_inspect_as_json_adds_up():
    fitted()
    content = json.loads(lowtide("inspect", "m.lowtide", "--json").stdout)
    assert sum(content["bytes_by_part"].values()) == content["content"]["bytes"] == os.path.getsize("m.lowtide")
    assert content["classes"] == ["setosa", "versicolor", "virginica"]
    errors = content["kernel_error"]["codes x full"]
    assert set(errors["at_kernel"]) == {"1.0", "0.75", "0.5", "0.25", "0.0"}
    assert errors["worst"] >= errors["at_kernel"]["0.5"] > 0


def test_inspect_says_what_is_in_codes_and_encoders():
    fitted()
    options = ("--drop", "species", "--save-encoder", "e.lowtide", "--components", 64, "--bits", 4)
    lowtide("encode", "flowers.csv", "-o", "c.lowtide", *options)
    codes = lowtide("inspect", "c.lowtide").stdout
    assert "codes: 90 rows of 64 levels of 4 bits, 32 bytes a row" in codes
    assert "packed rows 2.88 kB" in codes
    encoder = lowtide("inspect", "e.lowtide").stdout
    assert "RandomFeatures" in encoder
    fingerprint = lt.load("c.lowtide").fingerprint.hex()
    assert fingerprint in codes
    assert fingerprint in encoder


def test_inspect_says_what_is_in_a_regressor(inside):
    rent_csv(inside / "rents.csv")
    lowtide("fit", "rents.csv", "--target", "rent", "--categories", "city", "--drop", "since", "-o", "r.lowtide", *FAST)
    said = lowtide("inspect", "r.lowtide").stdout
    assert "KernelRegressor, alpha = 0.5" in said
    assert "categories 'city' (2), target 'rent'" in said


def test_inspect_of_a_model_from_python_counts_its_columns():
    X, y = flowers()
    lt.save(given_classifier(n_components=64, random_state=0).fit(X, y), "plain.lowtide")
    said = lowtide("inspect", "plain.lowtide").stdout
    assert "4 columns, as they are" in said


def test_inspect_says_what_is_in_ternary_features():
    rows = [[0, 3, 1], [2, 0, 4], [5, 1, 1]]
    lt.save(lt.TernaryFeatures("relu", n_components=64, sparsity=0.0, random_state=0).fit(rows), "t.lowtide")
    said = lowtide("inspect", "t.lowtide").stdout
    assert "TernaryFeatures(n_components=64, random_state=0, sparsity=0.0, target='relu')" in said
    assert "3 columns, as they are" in said
    assert "thresholds 1.08 kB" in said  # (2 x 64 + 3 + 4) x 8 bytes; W is a seed


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"metric": [0.0, 2.0, 0.5, 1.0]}, "seed 0, metric of factors"),
        ({"metric": np.eye(4, 3)}, "seed 0, metric of 4 x 3"),
        ({"kept": np.arange(1, 129, 4)}, "frequencies chosen by a task: 32 of 126 or more"),
    ],
    ids=["factors", "matrix", "kept"],
)
def test_inspect_says_what_an_encoder_was_fitted_to(settings, words):
    plain = lt.RandomFeatures(gamma=0.5, n_components=64, random_state=0).fit(np.eye(4))
    encoder = lt.RandomFeatures(gamma=0.5, n_components=64, random_state=0, **settings).fit(np.eye(4))
    lt.save(encoder, "e.lowtide")
    said = lowtide("inspect", "e.lowtide").stdout
    assert words in said
    assert ("metric " in said) is ("metric" in settings)
    if "kept" in settings:
        assert "Standard error" not in said
    else:
        # The kernel is that of the multiplied rows, so its errors are those of any encoder.
        errors, others = (expected_errors(each)["codes x full"]["at_kernel"] for each in (encoder, plain))
        np.testing.assert_allclose(list(errors.values()), list(others.values()), rtol=1e-3, atol=1e-6)


def test_sizes_are_by_part_the_largest_first_and_the_header_last():
    arrays = {"decision/weights": {"bytes": 8}, "encoder/projection.signs": {"bytes": 24}}
    sizes = sizes_by_part({"arrays": arrays, "header_bytes": 100})
    assert list(sizes.items()) == [("frequencies", 24), ("weights", 8), ("header", 100)]


@pytest.mark.parametrize("name", ["flowers.csv", "cut.lowtide"])
def test_inspect_of_another_file_is_one_line(inside, name):
    fitted()
    (inside / "cut.lowtide").write_bytes((inside / "m.lowtide").read_bytes()[:-8])
    result = lowtide("inspect", name)
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(result.stderr.splitlines()) == 1
    assert name in result.stderr


def test_inspect_shows_no_text_of_a_stranger_that_could_move_the_cursor():
    model = fitted()
    lt.save(model, "m.lowtide", metadata={"score": "\x1b[2Jperfect"})
    said = lowtide("inspect", "m.lowtide").stdout
    assert "perfect" not in said
    assert "\x1b" not in said


def test_inspect_says_what_is_in_files_of_kernels_with_a_direction(inside):
    rows, classes = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    encoder = lt.AsymmetricFeatures("sinh", n_components=64, random_state=0).fit(rows)
    machine = lt.AsymmetricLSSVC(encoder, C=0.5, system="ridge").fit(rows, classes)
    for name, thing in (("e", encoder), ("c", encoder.encode(rows)), ("m", machine)):
        lt.save(thing, f"{name}.lowtide")
    said = {name: lowtide("inspect", f"{name}.lowtide").stdout for name in "ecm"}
    assert "AsymmetricFeatures(kernel='sinh', n_components=64, random_state=0)" in said["e"]
    assert "codes: 20 rows of 64 levels of 1 bit" in said["c"]
    assert "column factors 256 bytes" in said["c"]
    assert "AsymmetricLSSVC, system ridge, C = 0.5" in said["m"]


def curves(**kwargs):
    encoder = lt.RandomFeatures(gamma=0.3, n_components=1024, random_state=0, **kwargs).fit(np.zeros((2, 5)))
    return expected_errors(encoder)


def test_expected_errors_are_the_closed_forms_of_independent_frequencies():
    found = curves(projection="iid")
    n_frequencies = 512
    for value, doubled in ((0.75, 0.75**4), (0.5, 0.5**4), (0.25, 0.25**4)):
        full = (1 + doubled - 2 * value**2) / 2
        coded = np.pi**2 / 16 + np.pi / 8 * doubled - value**2
        # The curves are tabulated to four digits.
        assert found["full x full"]["at_kernel"][str(value)] == pytest.approx(np.sqrt(full / n_frequencies), rel=1e-3)
        assert found["codes x full"]["at_kernel"][str(value)] == pytest.approx(np.sqrt(coded / n_frequencies), rel=1e-3)
    # Far apart, a normalized product of one-bit codes is a mean of 1024 signs.
    assert found["codes x codes"]["worst"] == pytest.approx(1 / np.sqrt(1024), rel=1e-3)
    assert found["codes x full"]["worst"] == pytest.approx(np.pi / 4 / np.sqrt(n_frequencies), rel=1e-3)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern"])
def test_worst_error_is_no_less_than_any_other(kernel):
    projection = "iid" if kernel == "laplacian" else "hadamard"
    for curve in curves(kernel=kernel, projection=projection).values():
        assert curve["worst"] >= max(curve["at_kernel"].values()) > 0


def test_an_encoder_without_codes_has_one_pair_of_sides():
    assert list(curves(bits=None)) == ["full x full"]


@pytest.mark.parametrize("command", ["inspect", "verify"])
def test_a_table_is_refused_as_one(command, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    result = lowtide(command, tmp_path / "t.csv")
    assert result.exit_code == 1
    assert "must be a model file, got the name of a table. 'lowtide fit' writes model files.\n" in result.stderr
