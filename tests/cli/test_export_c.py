import json

import numpy as np
import pandas as pd
import pytest
from cli.samples import FAST, flower_csv, flowers, lowtide, rent_csv
from mixed_table import ROWS, mixed_classifier

import lowtide as lt


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flower_csv(tmp_path / "flowers.csv")
    lowtide("fit", "flowers.csv", "--target", "species", "-o", "my-flowers.lowtide", *FAST, "--no-scale")
    return tmp_path


def test_export_c_writes_a_header_and_a_source(inside):
    result = lowtide("export-c", "my-flowers.lowtide", "-o", "firmware/new", "--check", "flowers.csv")
    assert result.exit_code == 0
    assert "of the classes are the model's" in result.stdout
    assert sorted(path.name for path in (inside / "firmware/new").iterdir()) == ["my_flowers.c", "my_flowers.h"]
    expected = lt.device.export_c(lt.load("my-flowers.lowtide"), name="my_flowers", rows=flowers()[0])
    assert (inside / "firmware/new/my_flowers.c").read_text() == expected.source
    assert (inside / "firmware/new/my_flowers.h").read_text() == expected.header


def test_export_c_says_as_json_what_it_takes():
    result = lowtide("export-c", "my-flowers.lowtide", "-o", ".", "--weights", "int4", "--name", "iris", "--json")
    content = json.loads(result.stdout)
    assert content["name"] == "iris"
    assert content["tables"]["weights"] == 64 * 2 // 2 + 1
    assert content["flash_bytes"] == sum(content["tables"].values()) + content["code_bytes"]
    assert content["agreement"] is None
    assert content["error"] > 0


def test_export_c_of_an_encoder_has_no_decision(inside):
    lowtide(
        "encode", "flowers.csv", "-o", "c.lowtide", "--save-encoder", "e.lowtide", "--drop", "species", "--no-scale"
    )
    result = lowtide("export-c", "e.lowtide", "-o", ".")
    assert result.exit_code == 0
    assert "decide" not in (inside / "e.h").read_text()
    refused = lowtide("export-c", "e.lowtide", "-o", "other", "--check", "flowers.csv")
    assert refused.exit_code == 2
    assert "--check" in refused.stderr


def test_export_c_of_a_standardized_table_does_the_scaling_itself(inside):
    lowtide("fit", "flowers.csv", "--target", "species", "-o", "scaled.lowtide", *FAST)
    result = lowtide("export-c", "scaled.lowtide", "-o", ".", "--check", "flowers.csv", "--json")
    assert result.stderr == ""
    expected = lt.device.export_c(lt.load("scaled.lowtide"), name="scaled", rows=flowers()[0])
    assert (inside / "scaled.c").read_text() == expected.source
    assert json.loads(result.stdout)["agreement"] == expected.agreement


def test_export_c_of_an_encoder_says_what_rows_must_be():
    options = ("-o", "c.lowtide", "--save-encoder", "e.lowtide", "--drop", "species")
    lowtide("encode", "flowers.csv", *options)
    assert "are taken standardized by the encoder" in lowtide("export-c", "e.lowtide", "-o", ".").stderr


def test_export_c_does_not_replace_files_unless_told_to():
    assert lowtide("export-c", "my-flowers.lowtide", "-o", ".").exit_code == 0
    again = lowtide("export-c", "my-flowers.lowtide", "-o", ".")
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert lowtide("export-c", "my-flowers.lowtide", "-o", ".", "--force").exit_code == 0


def test_export_c_refuses_codes_and_bad_names(inside):
    lowtide("encode", "flowers.csv", "--model", "my-flowers.lowtide", "-o", "c.lowtide")
    refused = lowtide("export-c", "c.lowtide", "-o", "new")
    assert refused.exit_code == 1
    assert "encoder" in refused.stderr
    assert lowtide("export-c", "my-flowers.lowtide", "-o", "new", "--name", "1st").exit_code == 2
    assert not (inside / "new").exists()


def test_export_c_takes_ternary_features():
    X = np.random.default_rng(0).integers(0, 255, (40, 30), dtype=np.uint8)
    lt.save(lt.TernaryFeatures(n_components=64, sparsity="auto", random_state=0).fit(X), "t.lowtide")
    result = lowtide("export-c", "t.lowtide", "-o", ".", "--input", "uint8", "--favor", "time")
    assert "columns" in result.stdout
    assert lowtide("export-c", "t.lowtide", "-o", "f", "--input", "float32").exit_code == 2


def test_export_c_checks_a_table_with_categories(inside):
    rent_csv(inside / "rents.csv")
    columns = ("--categories", "since", "--drop", "rent")
    lowtide("fit", "rents.csv", "--target", "city", *columns, "-o", "cities.lowtide", *FAST)
    result = lowtide("export-c", "cities.lowtide", "-o", ".", "--check", "rents.csv", "--json")
    assert result.exit_code == 0
    model, table = lt.load("cities.lowtide"), pd.read_csv("rents.csv")
    expected = lt.device.export_c(model, name="cities", rows=table[list(model.decision_.recipe.columns)])
    assert (inside / "cities.c").read_text() == expected.source
    assert json.loads(result.stdout)["agreement"] == expected.agreement


def test_export_c_without_weights_still_does_what_the_model_does_to_its_columns(inside):
    lowtide("fit", "flowers.csv", "--target", "species", "-o", "scaled.lowtide", *FAST)
    result = lowtide("export-c", "scaled.lowtide", "-o", ".", "--weights", "none")
    assert (result.exit_code, result.stderr) == (0, "")
    expected = lt.device.export_c(lt.load("scaled.lowtide"), name="scaled", weights=None)
    assert (inside / "scaled.c").read_text() == expected.source


def test_export_c_checks_a_table_with_every_kind_of_column(inside):
    lt.save(mixed_classifier(), "houses.lowtide")
    pd.DataFrame(ROWS).to_csv("houses.csv", index=False)
    result = lowtide("export-c", "houses.lowtide", "-o", ".", "--check", "houses.csv", "--json")
    assert result.exit_code == 0
    expected = lt.device.export_c(lt.load("houses.lowtide"), name="houses", rows=ROWS)
    assert json.loads(result.stdout)["agreement"] == expected.agreement
    assert (inside / "houses.c").read_text() == expected.source
    told = lowtide("predict", "houses.lowtide", "houses.csv", "-o", "told.csv")
    assert told.exit_code == 0
    assert pd.read_csv("told.csv")["prediction"].tolist() == mixed_classifier().predict(ROWS).tolist()
