"""The commands on stores: encode to one and go on after a kill, learn from one, predict, verify, inspect."""

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cli.samples import FAST, flower_csv, flowers, lowtide, rent_csv, write_csv

import lowtide as lt
from lowtide.store import layout, writing
from lowtide.tables import Recipe, reading, surveying


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    """Small chunks, shards and blocks: 8 rows of 8 bytes, 16 rows, 10 rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(layout, "_CHUNK_BYTES", 64)
    monkeypatch.setattr(layout, "_SHARD_CHUNKS", 2)
    monkeypatch.setattr(reading, "_TEXT_CELLS", 50)
    flower_csv(tmp_path / "flowers.csv")
    return tmp_path


ENCODE = ("encode", "flowers.csv", "-o", "s.zarr", "--target", "species", "--components", 64)


TARGETS = ((), ("--target", "y"), ("--target", "species"))


def shards(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("c.*"))}


def test_encode_to_a_store_gives_the_codes_of_encode_to_a_file():
    result = lowtide(*ENCODE, "--json")
    assert result.exit_code == 0, result.stderr
    lowtide("encode", "flowers.csv", "-o", "c.lowtide", "--drop", "species", "--components", 64)
    store = lt.CodeStore.open("s.zarr")
    store.verify()
    assert store[:] == lt.load("c.lowtide")
    assert store.y.tolist() == flowers()[1].tolist()
    content = json.loads(result.stdout)
    assert (content["rows"], content["bytes_per_row"], content["resumed_rows"]) == (90, 8, 0)
    assert content["fingerprint"] == store.fingerprint.hex()


def test_encode_to_a_store_says_what_it_wrote():
    printed = lowtide(*ENCODE).stdout
    assert "codes       90 rows, 720 bytes; fingerprint" in printed
    assert "target      'species', column 'y'" in printed
    assert "written     s.zarr, store" in printed


def test_encode_with_a_model_to_a_store_gives_what_the_model_reads():
    lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", *FAST)
    result = lowtide("encode", "flowers.csv", "--model", "m.lowtide", "--target", "species", "-o", "s.zarr")
    assert result.exit_code == 0, result.stderr
    from_store = lowtide("predict", "m.lowtide", "s.zarr", "--scores")
    from_table = lowtide("predict", "m.lowtide", "flowers.csv", "--scores")
    assert from_store.stdout == from_table.stdout
    assert from_store.stderr.replace("'y'", "'species'") == from_table.stderr


class _Stop(KeyboardInterrupt):
    pass


@pytest.mark.parametrize("n_commits", [0, 1, 3, 5])
def test_interrupted_encode_goes_on_where_it_stopped_with_the_same_bytes(n_commits, inside, monkeypatch):
    lowtide(*ENCODE)
    whole = shards(inside / "s.zarr")
    shutil.rmtree("s.zarr")
    append, left = lt.CodeStore.append, [n_commits]

    def stopping(self, *arguments, **columns):
        if left[0] == 0:
            raise _Stop
        left[0] -= 1
        append(self, *arguments, **columns)

    with monkeypatch.context() as patch:
        patch.setattr(lt.CodeStore, "append", stopping)
        assert lowtide(*ENCODE).exit_code == 130
    assert lt.CodeStore.open("s.zarr").n_rows == 16 * n_commits
    assert "not complete" in lowtide("inspect", "s.zarr").stdout
    result = lowtide(*ENCODE)
    assert result.exit_code == 0, result.stderr
    assert f"was begun before: going on after {16 * n_commits} rows" in result.stderr
    assert shards(inside / "s.zarr") == whole
    assert "not complete" not in lowtide("inspect", "s.zarr").stdout


_CHILD = """
import os, signal, sys
from lowtide.cli.main import main
from lowtide.store import layout, writing
from lowtide.tables import reading

commit = writing.commit

def deadly(root, manifest):
    if manifest.n_rows > 64:
        os.kill(os.getpid(), signal.SIGKILL)
    commit(root, manifest)

writing.commit = deadly
layout._CHUNK_BYTES, layout._SHARD_CHUNKS, reading._TEXT_CELLS = 64, 2, 50
main(sys.argv[1:])
"""


def test_killed_encode_goes_on_where_it_stopped_with_the_same_bytes(inside):
    lowtide(*ENCODE[:3], "whole.zarr", *ENCODE[4:])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    child = subprocess.run([sys.executable, "-c", _CHILD, *map(str, ENCODE)], env=environment, check=False)
    assert child.returncode == -signal.SIGKILL
    begun = lt.CodeStore.open("s.zarr")
    begun.verify()
    assert begun.n_rows == 64
    assert (inside / "s.zarr" / "codes" / "c.4.0").exists()
    result = lowtide(*ENCODE)
    assert "going on after 64 rows" in result.stderr
    assert shards(inside / "s.zarr") == shards(inside / "whole.zarr")
    lt.CodeStore.open("s.zarr").verify()


def test_encode_killed_while_the_store_is_made_begins_again(inside, monkeypatch):
    def stopping(root, manifest):
        raise _Stop

    with monkeypatch.context() as patch:
        patch.setattr(writing, "commit", stopping)
        assert lowtide(*ENCODE).exit_code == 130
    assert (inside / "s.zarr" / "zarr.json").exists()
    assert lowtide(*ENCODE).exit_code == 0
    assert len(lt.CodeStore.open("s.zarr")) == 90


def test_encode_does_not_replace_a_store_that_has_a_writer():
    lowtide(*ENCODE)
    with lt.CodeStore.open("s.zarr", "a") as store:
        result = lowtide(*ENCODE, "--force")
        assert result.exit_code == 1
        assert f"one writer at a time; process {os.getpid()} has it" in result.stderr
        store.verify()
    assert lowtide(*ENCODE, "--force").exit_code == 0


def test_inspect_reads_no_rows_of_a_store(monkeypatch):
    lowtide(*ENCODE)
    monkeypatch.setattr(lt.CodeStore, "column", lambda self, name: pytest.fail("no row must be read"))
    assert "columns        'y' (texts)" in lowtide("inspect", "s.zarr").stdout


@pytest.mark.parametrize(("name", "message"), [("no/s.zarr", "folder that exists"), ("f.zarr", "must name a store")])
def test_encode_refuses_a_place_for_no_store_before_it_reads(name, message, inside, monkeypatch):
    (inside / "f.zarr").write_text("mine")
    monkeypatch.setattr(reading.Source, "blocks", lambda self: pytest.fail("no row must be read"))
    for options in ((), ("--force",)):
        result = lowtide("encode", "flowers.csv", "-o", name, "--target", "species", *options)
        assert result.exit_code == 2
        assert message in result.stderr
    assert (inside / "f.zarr").read_text() == "mine"


@pytest.mark.parametrize("model", [(), ("--model", "m.lowtide")])
def test_encode_names_the_row_without_a_target_by_its_number_in_the_table(model, inside):
    lowtide("fit", "flowers.csv", "--target", "species", "-o", "m.lowtide", *FAST)
    X, y = flowers()
    y = y.astype(object)
    y[[46, 48]] = ""
    write_csv(inside / "holes.csv", ["a", "b", "c", "d", "species"], [(*x, name) for x, name in zip(X.tolist(), y)])
    result = lowtide("encode", "holes.csv", *model, "-o", "s.zarr", "--target", "species")
    assert result.exit_code == 1
    assert "got nothing in row 47 (and 1 more like it)" in result.stderr


def test_target_of_a_store_goes_by_its_name_in_the_table():
    lowtide(*ENCODE)
    fits = [lowtide("fit", "s.zarr", "-o", f"{i}.lowtide", "--C", 1, *name) for i, name in enumerate(TARGETS)]
    assert ["classification of 'species'" in fit.stdout for fit in fits] == [True] * 3
    scores = [lowtide("predict", "0.lowtide", "s.zarr", *name).stderr for name in TARGETS]
    assert ["on 90 rows with" in score for score in scores] == [True] * 3
    for wrong in ("specie", "specie.csv"):
        result = lowtide("predict", "0.lowtide", "s.zarr", "--target", wrong)
        assert result.exit_code == 2
        assert "must name a column of s.zarr" in result.stderr


def test_predict_blames_the_store_for_a_shard_that_cannot_be_read(inside):
    lowtide(*ENCODE)
    lowtide("fit", "s.zarr", "-o", "m.lowtide", "--C", 1)
    shard = inside / "s.zarr" / "codes" / "c.1.0"
    shard.rename(inside / "elsewhere")
    shard.symlink_to(inside / "elsewhere")
    result = lowtide("predict", "m.lowtide", "s.zarr", "-o", "p.csv")
    assert result.exit_code == 1
    assert "c.1.0' must be a file that can be read" in result.stderr
    assert "p.csv" not in result.stderr
    assert not list(inside.glob("*p.csv*"))


def test_encode_goes_on_only_with_the_store_of_the_same_command(inside, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(lt.CodeStore, "append", lambda *_, **__: (_ for _ in ()).throw(_Stop()))
        lowtide(*ENCODE)
    for other in ((*ENCODE, "--bits", 2), (*ENCODE[:-2], "--components", 128), ENCODE[:-4]):
        result = lowtide(*other)
        assert result.exit_code == 2
        assert "complete or made by another command" in result.stderr
    flower_csv(inside / "flowers.csv", n=91)
    assert lowtide(*ENCODE).exit_code == 2
    assert lowtide(*ENCODE, "--force").exit_code == 0
    assert lowtide(*ENCODE).exit_code == 2
    assert len(lt.CodeStore.open("s.zarr")) == 91


def test_encode_does_not_remove_what_is_no_store(inside):
    (inside / "s.zarr").mkdir()
    (inside / "s.zarr" / "mine").write_text("mine")
    result = lowtide(*ENCODE, "--force")
    assert result.exit_code == 2
    assert "must name a store or nothing" in result.stderr
    assert (inside / "s.zarr" / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "c.lowtide", "--target", "species"), "must go with a store"),
        (("-o", "s.zarr", "--save-encoder", "e.lowtide"), "a store has its encoder"),
        (("-o", "s.zarr", "--target", "specie"), "Did you mean 'species'?"),
        (("-o", "s.zarr", "--bits", "none"), "must be 1 to 8"),
    ],
)
def test_encode_refuses_what_does_not_go_with_a_store(arguments, message):
    result = lowtide("encode", "flowers.csv", *arguments)
    assert result.exit_code in (1, 2)
    assert message in result.stderr


@pytest.mark.parametrize("kind", ["whole", "number", "text"])
def test_target_of_a_store_is_what_all_its_rows_are(kind, inside):
    last = {"whole": "7", "number": "0.5", "text": "x"}[kind]
    write_csv(inside / "t.csv", ["a", "y"], [(i, str(i % 3)) for i in range(40)] + [(40, last)])
    lowtide("encode", "t.csv", "-o", "t.zarr", "--target", "y", "--components", 64)
    y = lt.CodeStore.open("t.zarr").y
    assert y.dtype.kind == {"whole": "i", "number": "f", "text": "U"}[kind]
    assert str(y[-1]) == last


def test_encode_of_a_table_larger_than_its_sample_learns_from_rows_that_stand_for_all(inside, monkeypatch):
    monkeypatch.setattr(surveying, "_SAMPLE_ROWS", 60)
    monkeypatch.setattr(surveying, "_FEWEST_SAMPLED", 1)
    rent_csv(inside / "rents.csv")
    lowtide("encode", "rents.csv", "--target", "rent", "--drop", "since", "--components", 64, "-o", "s.zarr")
    found = Recipe.from_json(lt.CodeStore.open("s.zarr").metadata["table"])
    assert [some.values for some in found.categories] == [("Bern", "Oslo")]
    area = pd.read_csv("rents.csv")["area"]
    steps = {name: values[0] for name, (values,) in found.steps}
    # Half of the rows: a mean and a deviation within four standard errors of those of all.
    assert abs(steps["subtract"] - area.mean()) < 4 * area.std() / 60**0.5
    assert abs(steps["divide"] - area.std()) < 4 * area.std() / 120**0.5
    assert steps["subtract"] != area.mean()


def test_fit_on_a_store_learns_what_fit_on_the_table_learns():
    lowtide(*ENCODE)
    lowtide("fit", "s.zarr", "-o", "a.lowtide", "--C", 1)
    lowtide("fit", "flowers.csv", "--target", "species", "-o", "b.lowtide", *FAST)
    a, b = lt.load("a.lowtide"), lt.load("b.lowtide")
    assert a.features_.fingerprint_ == b.features_.fingerprint_
    assert np.allclose(a.coef_, b.coef_, rtol=1e-5, atol=1e-7)
    assert (
        lowtide("predict", "a.lowtide", "flowers.csv").stdout == lowtide("predict", "b.lowtide", "flowers.csv").stdout
    )


def test_fit_on_a_store_holds_rows_out_as_fit_on_a_table_does():
    lowtide(*ENCODE)
    content = json.loads(lowtide("fit", "s.zarr", "-o", "m.lowtide", "--validate", 0.2, "--C", 1, "--json").stdout)
    assert content["data"]["held_out_rows"] == content["score"]["rows"] == 18
    assert content["data"]["target"] == "species"
    assert content["task"] == "classification"
    assert content["score"]["value"] > 0.9


def test_fit_on_a_store_refuses_what_does_not_go_with_it(inside):
    lowtide(*ENCODE[:4], "--drop", "species", "--components", 64)
    result = lowtide("fit", "s.zarr", "-o", "m.lowtide")
    assert result.exit_code == 1
    assert "must have a column 'y' to learn" in result.stderr
    result = lowtide("fit", "s.zarr", "-o", "m.lowtide", "--bits", 2, "--no-scale")
    assert result.exit_code == 2
    assert "must come without --bits and --scale" in " ".join(result.stderr.split())
    assert lowtide("fit", "flowers.csv", "-o", "m.lowtide").exit_code == 2
    (inside / "folder").mkdir()
    result = lowtide("fit", "folder", "-o", "m.lowtide")
    assert "must be a file, or a store of codes, got 'folder'" in result.stderr


def test_verify_names_what_is_damaged_and_ends_with_one(inside):
    lowtide(*ENCODE)
    result = lowtide("verify", "s.zarr")
    assert result.exit_code == 0
    assert result.stdout == "s.zarr is as it was written: 90 rows in 6 shards, 720 bytes.\n"
    assert json.loads(lowtide("verify", "s.zarr", "--json").stdout)["shards"] == 6
    file = inside / "s.zarr" / "codes" / "c.3.0"
    data = bytearray(file.read_bytes())
    data[100] ^= 16
    file.write_bytes(data)
    result = lowtide("verify", "s.zarr")
    assert result.exit_code == 1
    assert "codes, shard 3, chunk 0" in result.stderr


def test_verify_of_a_file_is_its_checksum(inside):
    lowtide("encode", "flowers.csv", "-o", "c.lowtide", "--drop", "species", "--components", 64)
    assert "c.lowtide is as it was written: Codes" in lowtide("verify", "c.lowtide").stdout
    data = bytearray((inside / "c.lowtide").read_bytes())
    data[-1] ^= 1
    (inside / "c.lowtide").write_bytes(data)
    assert lowtide("verify", "c.lowtide").exit_code == 1


def test_inspect_says_what_is_in_a_store():
    lowtide(*ENCODE)
    printed = lowtide("inspect", "s.zarr").stdout
    assert "codes          90 rows of 64 levels of 1 bit, 720 bytes" in printed
    assert "columns        'y' (texts)" in printed
    assert "6 shards; 16 rows a shard, 8 rows under a checksum" in printed
    assert json.loads(lowtide("inspect", "s.zarr", "--json").stdout)["columns"] == {"y": "texts"}


def test_folds_of_a_store_are_of_its_codes():
    lowtide(*ENCODE)
    content = json.loads(lowtide("fit", "s.zarr", "-o", "m.lowtide", "--cv", 3, "--C", 1, "--json").stdout)
    assert [fold["rows"] for fold in content["score"]["folds"]] == [30] * 3
    assert content["data"]["train_rows"] == 90
