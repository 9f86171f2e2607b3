"""What is refused: always 4xx, always problem+json, always with the reason."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from benchmarks.load.hostile import Attack, attack
from serve.serving import CODES, JSON, ROWS, ask, connect, everything, serving

import lowtide as lt
from lowtide.wire import pack, pack_rows

ROW = [0.0] * 64


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"", 400, "JSON"),
        (b"{", 400, "JSON"),
        (b"\xff\xfe", 400, "JSON"),
        (b"[" * 100_000, 422, "must be a number"),
        (b"[[NaN]]", 400, "JSON text in UTF-8, got something else at byte 2"),
        (b"[[" + b"9" * 6000 + b"]]", 422, "at most 1100 characters, got more in row 1 .*, column 1"),
        (b"3", 422, "list of rows"),
        (b"{}", 422, "'rows'"),
        (b'{"rows":[],"more":1}', 422, "nothing else"),
        (b'{"rows":{}}', 422, "list of rows"),
        (b"[[1,2]]", 422, "must have 64 values, got 2 in row 1"),
        (b"[[0" + b",0" * 64 + b"]]", 422, "must have 64 values, got more in row 1"),
        (b"[1]", 422, "list of 64 values, got another: row 1"),
        (b'[{"a":1}]', 422, "list of 64 values"),
        (json.dumps([[True, *ROW[1:]]]).encode(), 422, "column 1 must be a number, got another in row 1"),
        (json.dumps([ROW, ["1", *ROW[1:]]]).encode(), 422, "column 1 must be a number, got another in row 2"),
        (json.dumps([[0.0, None, *ROW[2:]]]).encode(), 422, "column 2 must be a number"),
        (json.dumps([[1e39, *ROW[1:]]]).encode(), 422, "3.4e\\+38"),
        (b"[[1e999" + b",0" * 63 + b"]]", 422, "at most 3.4e\\+38"),
        (b"[[1" + b"0" * 400 + b",0" * 63 + b"]]", 422, "at most"),
        (json.dumps([[3e38] * 64]).encode(), 422, "Scale the columns"),
        (json.dumps([ROW] * 301).encode(), 413, "at most 300 rows"),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else None,
)
def test_json_that_is_no_rows_is_refused(address, body, status, reason):
    answer = ask(address, "/v1/predict", body, JSON)
    assert answer.status == status
    assert answer.is_refusal
    assert re.search(reason, answer.json["detail"])


@pytest.mark.parametrize(
    ("kind", "headers"),
    [
        (None, {}),
        ("text/plain", {}),
        ("application/vnd.lowtide.codes; v=1", {}),
        ("application/json; charset=utf-16", {}),
        (CODES, {"Content-Encoding": "gzip"}),
        (";", {}),
        ("application/octet-stream", {}),
    ],
)
def test_other_media_types_are_refused(address, digits, kind, headers):
    answer = ask(address, "/v1/predict", pack(digits.codes[:1]), kind, headers=headers)
    assert answer.status == 415
    assert answer.is_refusal
    if kind in ("text/plain", None):
        assert f"got {kind!r}".lower() in answer.json["detail"]


@pytest.mark.parametrize("kind", ["application/vnd.lowtide.codes", 'APPLICATION/vnd.lowtide.CODES;v="2"', CODES])
def test_media_types_may_be_written_in_any_way(address, digits, kind):
    assert ask(address, "/v1/predict", pack(digits.codes[:1]), kind).status == 200


def test_codes_of_another_encoder_are_refused_with_both_fingerprints(address, digits):
    other = lt.RandomFeatures(n_components=500, random_state=5).fit(digits.X)
    answer = ask(address, "/v1/predict", pack(other.encode(digits.X[:1])))
    assert answer.status == 409
    assert answer.is_refusal
    assert digits.encoder.fingerprint_.hex() in answer.json["detail"]
    assert other.fingerprint_.hex() in answer.json["detail"]


def test_features_of_another_encoder_are_refused(address, digits):
    body = pack_rows(np.zeros((1, 500)), side="features", fingerprint=bytes(16))
    assert ask(address, "/v1/predict", body, ROWS).status == 409


@pytest.mark.parametrize("width", [63, 65])
def test_rows_of_another_width_are_refused(address, digits, width):
    assert ask(address, "/v1/predict", pack_rows(np.zeros((1, width))), ROWS).status == 422
    mark = digits.encoder.fingerprint_
    assert (
        ask(address, "/v1/predict", pack_rows(np.zeros((1, width)), side="features", fingerprint=mark), ROWS).status
        == 422
    )


def test_too_many_rows_are_refused(address, digits):
    rows = lt.concatenate([digits.codes, digits.codes])
    answer = ask(address, "/v1/predict", pack(rows))
    assert answer.status == 413
    assert answer.is_refusal


def test_large_body_is_refused_before_it_is_read(address):
    with connect(address) as connection:
        connection.sendall(b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n\r\n")
        answer = everything(connection)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"application/problem+json" in answer


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/predict", 405),
        ("PUT", "/v1/predict", 405),
        ("POST", "/v1/models", 405),
        ("DELETE", "/healthz", 405),
        ("POST", "/v1/models/digits/encoder", 405),
        ("GET", "/v1/models/none/encoder", 404),
        ("GET", "/v2", 404),
        ("GET", "/%00", 404),
        ("GET", "/..%2f..%2fapp.py", 404),
        ("GET", "/" + "a" * 3000, 404),
        ("POST", "/nothing", 404),
        ("GET", "/v1/databases/known/similar", 405),
    ],
)
def test_paths_and_methods_that_are_not_there_are_refused(address, method, path, status):
    answer = ask(address, path, method=method)
    assert answer.status == status
    assert answer.is_refusal
    assert ("allow" in answer.headers) == (status == 405)


@pytest.mark.parametrize(
    "query", ["return=all", "return=", "k=1", "return=scores&return=scores", "return=scores,scores", "return=%ff", "x"]
)
def test_queries_that_mean_nothing_are_refused(address, digits, query):
    answer = ask(address, f"/v1/predict?{query}", pack(digits.codes[:1]))
    assert answer.status == 400
    assert answer.is_refusal


def test_strangers_get_4xx_and_problem_json_whatever_they_send(address, digits):
    found = attack(address, Attack(pack(digits.codes[:1]), 1 << 20), 330, seed=1)
    assert not [verdict for verdict in found if verdict.startswith("wrong")]
    assert sum(found.values()) == 330


def test_failure_of_the_server_itself_says_nothing_of_its_inside(digits, monkeypatch, caplog):
    with serving([digits.path]) as (address, service):
        model = service.current.catalog.models["digits"]
        monkeypatch.setattr(type(model), "answer", lambda *_: 1 / 0)
        answer = ask(address, "/v1/predict", pack(digits.codes[:1]))
    assert answer.status == 500
    assert answer.is_refusal
    assert b"division" not in answer.body
    assert "ZeroDivisionError" in caplog.text
