"""Vectors on a server: the best rows of those that a filter leaves, scored again by finer codes."""

import json

import numpy as np
import pytest
from serve.serving import CODES, JSON, ROWS, ask, serving

import lowtide as lt
from lowtide.errors import FileFormatError, ParameterError, RequestError
from lowtide.serve import Catalog, Named
from lowtide.wire import pack, pack_rows

RNG = np.random.default_rng(0)
X = (RNG.standard_normal((40, 24)).repeat(15, axis=0) + 0.4 * RNG.standard_normal((600, 24))).astype(np.float32)
Q = X[::100] + 0.1 * RNG.standard_normal((6, 24)).astype(np.float32)
KIND = np.array(["a", "b", "c"])[np.arange(600) % 3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store with columns beside two bits a column, the same rows in eight, and their encoder."""
    place = tmp_path_factory.mktemp("vectors")
    vectors, fine = (lt.VectorCodes(bits, random_state=0).fit(X) for bits in (2, 8))
    with lt.CodeStore.create(place / "texts.zarr", vectors) as store:
        store.append(X, kind=KIND, size=np.arange(600) / 4)
    lt.save(fine.encode(X), place / "fine.lowtide")
    lt.save(vectors, place / "vectors.lowtide")
    lt.save(vectors.encode(X), place / "codes.lowtide")
    return place


@pytest.fixture(scope="module")
def address(folder):
    """The address of a server that has a store, finer codes, and no model."""
    catalog = ([], [folder / "texts.zarr"])
    with serving(*catalog, finer=[f"texts={folder / 'fine.lowtide'}"], rows=300) as (url, _):
        yield url


def best(folder, **options):
    return lt.CodeStore.open(folder / "texts.zarr").top_k(Q, 5, return_std=True, **options)


def same(answer, found):
    assert answer["indices"] == found.indices.tolist()
    np.testing.assert_array_equal(np.float32(answer["estimates"]), found.scores)
    np.testing.assert_array_equal(np.float32(answer["standard_errors"]), found.std)


@pytest.mark.parametrize("kind", [ROWS, JSON])
def test_rows_find_what_the_store_finds(address, folder, kind):
    body = pack_rows(Q) if kind == ROWS else json.dumps({"rows": Q.astype(float).tolist()}).encode()
    same(ask(address, "/v1/similar?k=5", body, kind).json, best(folder))


def test_rows_are_chosen_by_a_column_or_by_number(address, folder):
    def found(where):
        return ask(address, f"/v1/databases/texts/similar?k=5&where={where}", pack_rows(Q), ROWS).json

    same(found("kind%3Db"), best(folder, where=KIND == "b"))
    same(found("size=3.5"), best(folder, where=[14]))
    same(found("0-99,205,598-599"), best(folder, where=[*range(100), 205, 598, 599]))
    assert found("kind=d")["indices"] == [[]] * 6


def test_the_best_are_scored_again_by_finer_codes(address, folder):
    answer = ask(address, "/v1/similar?k=5&rescore=4&where=0-299", pack_rows(Q), ROWS).json
    finer = lt.load(folder / "fine.lowtide")
    same(answer, best(folder, where=np.arange(600) < 300, rescore=4, finer=finer))


def test_client_searches_with_filters_and_rescoring(address, folder):
    with lt.Client(address, send="rows") as client:
        same(client.top_k(Q, 5)._asdict() | {"indices": client.top_k(Q, 5).indices.tolist()}, best(folder))
        by_column = client.top_k(Q, 5, where="kind=c", rescore=2)
        by_mask = client.top_k(Q, 5, where=KIND == "c", rescore=2)
        few = client.top_k(Q, 5, where=[7, 3, 8])
        np.testing.assert_array_equal(by_column.indices, by_mask.indices)
        assert few.indices.shape == few.standard_errors.shape == (6, 3)
        with pytest.raises(ParameterError, match="choose some rows"):
            client.top_k(Q, where=np.zeros(600, bool))
        with pytest.raises(ParameterError, match="must fit into"):
            client.top_k(Q, where=np.arange(0, 100_000, 2))
        with pytest.raises(RequestError, match="rows from 0 to 599"):
            client.top_k(Q, where=[600])


def test_client_with_an_encoder_sends_rows_and_not_their_codes(folder):
    with serving([folder / "vectors.lowtide"], [folder / "codes.lowtide"]) as (url, _), lt.Client(url) as client:
        np.testing.assert_array_equal(client.top_k(Q, 5).indices, best(folder).indices)
        assert client.models()["databases"][0] | {"fingerprint": ""} == {
            "name": "codes",
            "model": "vectors",
            "n_rows": 600,
            "fingerprint": "",
            "accepts": ["rows"],
            "metric": "cosine",
            "columns": [],
            "rescores": False,
        }
        assert ask(url, "/v1/similar", pack(lt.load(folder / "codes.lowtide")[:1]), CODES).status == 415
        refused = ask(url, "/v1/similar?rescore=2", pack_rows(Q), ROWS)
        assert (refused.status, refused.is_refusal) == (400, True)
        assert "without --finer" in refused.json["detail"]


def test_what_waits_together_is_answered_each_by_its_own_filter(folder):
    catalog = Catalog.load([], [Named.parse(str(folder / "texts.zarr"))])
    database = catalog.databases["texts"]
    query = database.reader.read(ROWS.encode(), pack_rows(Q), 300)._replace(k=5)
    wheres = ["kind=a", "", "kind=b", "kind=a"]
    answers = database.answer([query._replace(where=where) for where in wheres])
    masks = [KIND == "a", np.ones(600, bool), KIND == "b", KIND == "a"]
    for answer, mask in zip(answers, masks):
        np.testing.assert_array_equal(answer["indices"], best(folder, where=mask).indices)


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("where=color=red", "must name a column of the database (kind, size)"),
        ("where=5-2", "the first first"),
        ("where=0-600", "rows from 0 to 599"),
        ("where=", "must be column=value, or rows"),
        ("where=1,,2", "must be column=value, or rows"),
        ("where=size=large", "must give a number for the column 'size'"),
        ("rescore=0", "rescore must be a whole number from 1 to 100"),
        ("rescore=x", "rescore must be a whole number"),
        ("radius=1", "query parameters must be among k, where, rescore"),
    ],
)
def test_parameters_that_cannot_be_are_refused(address, query, detail):
    answer = ask(address, f"/v1/similar?{query}", pack_rows(Q), ROWS)
    assert (answer.status, answer.is_refusal) == (400, True)
    assert detail in answer.json["detail"]


def test_rows_without_a_direction_and_too_many_candidates_are_refused(address):
    zeros = ask(address, "/v1/similar", pack_rows(np.zeros((1, 24), np.float32)), ROWS)
    assert (zeros.status, zeros.is_refusal) == (422, True)
    assert "must not be all zeros" in zeros.json["detail"]
    many = ask(address, "/v1/similar?k=100&rescore=100", pack_rows(Q), ROWS)
    assert (many.status, many.is_refusal) == (413, True)
    assert ask(address, "/v1/similar", b"[]", JSON).json["indices"] == []


def test_document_says_what_can_be_asked(address, folder):
    path = ask(address, "/openapi.json").json["paths"]["/v1/similar"]["post"]
    assert [parameter["name"] for parameter in path["parameters"]] == ["k", "where", "rescore"]
    assert set(path["requestBody"]["content"]) == {ROWS, JSON}
    assert ask(address, "/v1/predict", pack_rows(Q), ROWS).status == 404
    with serving([], [folder / "texts.zarr"]) as (url, _):
        path = ask(url, "/openapi.json").json["paths"]["/v1/similar"]["post"]
    assert [parameter["name"] for parameter in path["parameters"]] == ["k", "where"]


def test_finer_codes_of_other_rows_are_refused(folder, tmp_path):
    other = lt.VectorCodes(8, random_state=1).fit(X)
    lt.save(other.encode(X), tmp_path / "other.lowtide")
    texts = [Named.parse(str(folder / "texts.zarr"))]
    with pytest.raises(FileFormatError, match="coded with the same rotation"):
        Catalog.load([], texts, [Named("texts", tmp_path / "other.lowtide")])
    with pytest.raises(ParameterError, match="name of a database"):
        Catalog.load([], texts, [Named("others", folder / "fine.lowtide")])
