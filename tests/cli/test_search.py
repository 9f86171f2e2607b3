"""Vector codes on the command line: made by `encode --metric`, searched by `search`."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli.samples import flower_csv, lowtide, read_csv

import lowtide as lt

RNG = np.random.default_rng(0)
X = (RNG.standard_normal((40, 24)).repeat(15, axis=0) + 0.4 * RNG.standard_normal((600, 24))).astype(np.float32)
Q = X[::100] + 0.1 * RNG.standard_normal((6, 24)).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store by cosines, codes by squared distances with their encoder, rows and queries."""
    place = tmp_path_factory.mktemp("vectors")
    np.save(place / "rows.npy", X)
    np.save(place / "queries.npy", Q)
    np.save(place / "even.npy", np.arange(600) % 2 == 0)
    encode = ("encode", place / "rows.npy", "--quiet")
    assert lowtide(*encode, "-o", place / "db.zarr", "--metric", "cosine", "--bits", 2).exit_code == 0
    assert lowtide(*encode, "-o", place / "fine.zarr", "--metric", "cosine", "--bits", 8).exit_code == 0
    with_encoder = ("--metric", "l2", "--save-encoder", place / "encoder.lowtide")
    assert lowtide(*encode, "-o", place / "codes.lowtide", *with_encoder).exit_code == 0
    return place


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_encode_keeps_rows_as_vectors_of_four_bits(folder):
    codes, vectors = lt.load("codes.lowtide"), lt.load("encoder.lowtide")
    expected = lt.VectorCodes(4, metric="l2", random_state=0).fit(X)
    assert codes == expected.encode(X)
    assert vectors.encode(X) == codes
    summary = lowtide("inspect", "db.zarr").stdout
    assert "vectors by cosine, 24 columns of 2 bits: 16 bytes a row" in summary
    assert "600 rows of 24 levels of 2 bits, 9.6 kB" in summary


def test_search_prints_what_top_k_finds():
    store = lt.CodeStore.open("db.zarr")
    found = store.top_k(Q, 3, return_std=True)
    lines = read_csv(lowtide("search", "db.zarr", "queries.npy", "-k", 3, "--std").stdout)
    assert [int(line["row"]) for line in lines] == found.indices.ravel().tolist()
    assert [int(line["query"]) for line in lines] == np.repeat(np.arange(6), 3).tolist()
    for name, values in (("score", found.scores), ("std", found.std)):
        np.testing.assert_allclose([float(line[name]) for line in lines], values.ravel(), rtol=1e-5)


def test_search_of_codes_takes_their_encoder_and_writes_numbers_of_rows():
    result = lowtide("search", "codes.lowtide", "queries.npy", "--model", "encoder.lowtide", "-k", 4, "-o", "n.npy")
    assert result.stdout.startswith("24 rows for 6 queries in n.npy")
    vectors = lt.load("encoder.lowtide")
    np.testing.assert_array_equal(np.load("n.npy"), vectors.top_k(lt.load("codes.lowtide"), Q, 4).indices)


@pytest.mark.parametrize("finer", ["rows.npy", "fine.zarr"])
def test_search_rescores_and_chooses_rows(finer):
    result = lowtide("search", "db.zarr", "queries.npy", "--finer", finer, "--where", "even.npy", "--json")
    content = json.loads(result.stdout)
    source = X if finer == "rows.npy" else lt.CodeStore.open(finer)
    mask = np.arange(600) % 2 == 0
    found = lt.CodeStore.open("db.zarr").top_k(Q, 10, where=mask, rescore=4, finer=source)
    assert content["columns"]["row"] == found.indices.ravel().tolist()
    assert (content["queries"], content["rows"], content["metric"]) == (6, 600, "cosine")


def test_search_within_a_radius_gives_all_rows_up_to_it():
    vectors = lt.load("encoder.lowtide")
    expected = vectors.within(lt.load("codes.lowtide"), Q, 8.0)
    options = ("--model", "encoder.lowtide", "--radius", 8, "-o", "near.csv")
    assert lowtide("search", "codes.lowtide", "queries.npy", *options).exit_code == 0
    lines = read_csv(Path("near.csv").read_text(encoding="utf-8"))
    assert [int(line["row"]) for line in lines] == [row for one in expected for row in one.indices]


def test_search_names_and_chooses_rows_by_a_column(tmp_path):
    table = flower_csv(tmp_path / "flowers.csv")
    db = tmp_path / "flowers.zarr"
    options = ("--target", "species", "--metric", "l2", "--scale", "--bits", 8)
    assert lowtide("encode", table, "-o", db, *options, "--quiet").exit_code == 0
    result = lowtide("search", db, table, "-k", 2, "--ids", "species", "--where", "species=setosa")
    lines = read_csv(result.stdout)
    assert {line["row"] for line in lines} == {"setosa"}
    plain = read_csv(lowtide("search", db, table, "-k", 1).stdout)
    assert [int(line["row"]) for line in plain] == list(range(90))


def test_no_queries_find_nothing(tmp_path):
    np.save(tmp_path / "none.npy", X[:0])
    assert lowtide("search", "db.zarr", tmp_path / "none.npy").stdout.strip() == "query"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("codes.lowtide", "queries.npy"), "must name the encoder"),
        (("db.zarr", "queries.npy", "--model", "encoder.lowtide"), "a store has its encoder"),
        (("db.zarr", "queries.npy", "--rescore", 3), "must come with --finer"),
        (("db.zarr", "queries.npy", "--radius", 0.5, "--std", "-k", 3), "must come without --std and --k"),
        (("db.zarr", "queries.npy", "--radius", 0.5, "-o", "x.npy"), "with --radius"),
        (("db.zarr", "queries.npy", "--where", "color=red"), "must name a column beside the codes"),
        (("db.zarr", "queries.npy", "--where", "none.npy"), "must be COLUMN=VALUE, or a .npy file"),
        (("db.zarr", "queries.npy", "--ids", "name"), "must name a column beside the codes"),
        (("db.zarr", "queries.npy", "-k", 0), "x>=1"),
    ],
)
def test_options_that_cannot_be_are_refused(arguments, message):
    result = lowtide("search", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_features_of_a_kernel_are_no_vectors(tmp_path):
    assert lowtide("encode", "rows.npy", "-o", tmp_path / "k.zarr", "--quiet").exit_code == 0
    result = lowtide("search", tmp_path / "k.zarr", "queries.npy")
    assert result.exit_code == 1
    assert "must hold vector codes to be searched, got codes of RandomFeatures" in result.stderr
    result = lowtide("encode", "rows.npy", "-o", tmp_path / "v.zarr", "--metric", "l2", "--gamma", 2)
    assert result.exit_code == 2
    assert "must come without --gamma" in result.stderr
