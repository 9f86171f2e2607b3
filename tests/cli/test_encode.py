import json
import os

import numpy as np
import pytest
from cli.samples import FAST, flower_csv, flowers, lowtide, read_csv

import lowtide as lt
from lowtide.tables import reading


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flower_csv(tmp_path / "flowers.csv")
    return tmp_path


def fitted():
    lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", *FAST)
    return lt.load("m.lowtide")


def standardized():
    X, _ = flowers()
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_encode_with_a_model_writes_the_codes_that_it_reads(monkeypatch):
    model = fitted()
    monkeypatch.setattr(reading, "_TEXT_CELLS", 50)
    result = lowtide("encode", "flowers.csv", "--model", "m.lowtide", "-o", "c.lowtide", "--json")
    codes = lt.load("c.lowtide")
    assert codes == model.features_.encode(standardized())
    content = json.loads(result.stdout)
    assert content["bytes_per_row"] == 8
    assert content["bytes"] == codes.nbytes == 90 * 8
    assert content["fingerprint"] == codes.fingerprint.hex()


def test_encode_takes_an_array_for_a_model_of_a_table_with_names():
    model = fitted()
    np.save("X.npy", flowers()[0])
    result = lowtide("encode", "X.npy", "--model", "m.lowtide", "-o", "c.lowtide")
    assert "in order, as 'a', 'b', 'c' and 'd'" in result.stderr
    assert lt.load("c.lowtide") == model.features_.encode(standardized())


def test_predict_from_codes_says_what_predict_from_the_table_says():
    fitted()
    lowtide("encode", "flowers.csv", "--model", "m.lowtide", "-o", "c.lowtide")
    np.save("y.npy", flowers()[1])
    from_codes = lowtide("predict", "m.lowtide", "c.lowtide", "--scores", "--target", "y.npy")
    from_table = lowtide("predict", "m.lowtide", "flowers.csv", "--scores")
    assert from_codes.stdout == from_table.stdout
    assert len(read_csv(from_codes.stdout)) == 90
    assert from_codes.stderr.replace("y.npy", "species") == from_table.stderr


def test_encode_without_a_model_makes_an_encoder_that_can_be_used_again():
    options = ("--drop", "species", "--components", 64, "--bits", 2, "--seed", 3)
    result = lowtide("encode", "flowers.csv", "-o", "c.lowtide", "--save-encoder", "e.lowtide", *options)
    assert result.exit_code == 0
    assert "64 components of 2 bits: 16 bytes a row" in result.stdout
    expected = lt.RandomFeatures(n_components=64, bits=2, random_state=3).fit(standardized())
    assert lt.load("c.lowtide") == expected.encode(standardized())
    again = lowtide("encode", "flowers.csv", "-o", "d.lowtide", "--model", "e.lowtide")
    assert again.exit_code == 0
    assert lt.load("d.lowtide") == lt.load("c.lowtide")
    assert "'species'" not in again.stderr


def test_encode_to_npy_writes_the_packed_bytes():
    fitted()
    lowtide("encode", "flowers.csv", "--model", "m.lowtide", "-o", "c.npy")
    packed = np.load("c.npy")
    assert packed.dtype == np.uint8
    assert np.array_equal(packed, lt.load("m.lowtide").features_.encode(standardized()).packed)


def test_encode_of_a_header_alone_with_a_model_gives_no_rows(inside):
    fitted()
    (inside / "t.csv").write_text("a,b,c,d\n")
    assert lowtide("encode", "t.csv", "--model", "m.lowtide", "-o", "c.lowtide").exit_code == 0
    assert lt.load("c.lowtide").shape == (0, 64)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "c.csv"), "must end in .lowtide"),
        (("-o", "c.lowtide", "--bits", "none"), "1 to 8 for codes"),
        (("-o", "c.lowtide", "--kernel", "laplacian", "--projection", "hadamard", "--drop", "species"), "must be iid"),
        (("-o", "c.lowtide", "--model", "m.lowtide", "--bits", "2"), "without --bits"),
        (("-o", "c.lowtide", "--model", "m.lowtide", "--drop", "a", "--gamma", "1"), "without --gamma and --drop"),
        (("-o", "m.lowtide"), "--force"),
        (("-o", "c.lowtide", "--save-encoder", "no/e.lowtide"), "--save-encoder"),
    ],
)
def test_wrong_options_are_refused_before_any_work(options, message):
    fitted()
    before = set(os.listdir())
    result = lowtide("encode", "flowers.csv", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert set(os.listdir()) == before


def test_a_model_without_codes_is_refused():
    lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", "--bits", "none", *FAST)
    result = lowtide("encode", "flowers.csv", "--model", "m.lowtide", "-o", "c.lowtide")
    assert result.exit_code == 1
    assert "coded side" in result.stderr
