"""The OpenAPI document: of the routes there are, and true."""

from __future__ import annotations

import json

import pytest
from serve.serving import CODES, JSON, ROWS, ask, serving

import lowtide as lt
from lowtide.serve.operations import OPERATIONS


@pytest.fixture(scope="module")
def document(address):
    return ask(address, "/openapi.json").json


def test_document_has_every_operation_written_out_for_every_name(document):
    expected = {
        (
            operation.method.lower(),
            operation.path.replace("databases/{name}", "databases/known").replace("{name}", "digits"),
        )
        for operation in OPERATIONS
    }
    found = {(method, path) for path, methods in document["paths"].items() for method in methods}
    assert found == expected
    assert document["openapi"] == "3.1.0"


def test_operations_have_names_of_their_own(document):
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(set(names)) == len(names)


def test_references_lead_somewhere(document):
    def references(part):
        if isinstance(part, dict):
            yield from ([part["$ref"]] if "$ref" in part else [])
            part = list(part.values())
        if isinstance(part, list):
            for inner in part:
                yield from references(inner)

    for reference in references(document):
        assert reference.rsplit("/", 1)[1] in document["components"]["schemas"]


def test_refusals_are_problems(document):
    for methods in document["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                if status[0] in "45":
                    assert list(response["content"]) == ["application/problem+json"]


def test_body_has_the_sizes_of_the_model(document):
    body = document["paths"]["/v1/predict"]["post"]["requestBody"]["content"]
    assert set(body) == {CODES, ROWS, JSON}
    row = body[JSON]["schema"]["anyOf"][1]["items"]
    assert (row["minItems"], row["maxItems"]) == (64, 64)
    assert "500 levels of 1 bits" in body[CODES]["schema"]["description"]


def test_keys_are_in_the_document_where_they_are_needed(digits):
    with serving([digits.path], keys="one: correct-horse-battery") as (address, _):
        paths = ask(address, "/openapi.json", headers={"X-API-Key": "correct-horse-battery"}).json["paths"]
    assert "security" in paths["/v1/predict"]["post"]
    assert "security" not in paths["/healthz"]["get"]


def test_encoder_alone_has_no_predict(tmp_path, digits):
    lt.save(digits.encoder, tmp_path / "encoder.lowtide")
    with serving([tmp_path / "encoder.lowtide"]) as (address, _):
        paths = ask(address, "/openapi.json").json["paths"]
    assert "/v1/predict" not in paths
    assert "/v1/encoder" in paths


def test_rows_that_the_schema_allows_are_taken(address, document):
    schema = document["paths"]["/v1/predict"]["post"]["requestBody"]["content"][JSON]["schema"]
    largest = schema["anyOf"][1]["items"]["items"]["maximum"]
    for value in (0, -largest, largest, 1e-300, 12345678901234567890):
        assert ask(address, "/v1/predict", json.dumps([[value] * 64]).encode(), JSON).status == 200
