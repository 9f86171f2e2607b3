"""The most similar rows of a database."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from given import given_classifier
from serve.serving import CODES, JSON, ROWS, ask, connect, everything, serving, until

import lowtide as lt
from lowtide.serve.catalog import top_k
from lowtide.wire import pack, pack_rows


def test_coded_queries_find_what_top_k_finds(address, digits):
    answer = ask(address, "/v1/similar?k=7", pack(digits.encoder.encode(digits.X))).json
    indices, scores = digits.codes.top_k(digits.encoder.encode(digits.X), 7)
    assert answer["indices"] == indices.tolist()
    np.testing.assert_array_equal(np.float32(answer["estimates"]), scores)
    K, std = digits.encoder.kernel_estimate(
        digits.encoder.encode(digits.X[:1]), digits.codes[indices[0]], return_std=True
    )
    np.testing.assert_allclose(answer["estimates"][0], K[0], rtol=1e-6)
    np.testing.assert_allclose(answer["standard_errors"][0], std[0], rtol=1e-5)


@pytest.mark.parametrize("side", ["input", "features"])
def test_full_queries_are_unbiased_against_codes(address, digits, side):
    Z = digits.encoder.transform(digits.X)
    mark = {"side": "features", "fingerprint": digits.encoder.fingerprint_} if side == "features" else {}
    answer = ask(address, "/v1/databases/known/similar?k=3", pack_rows(Z if mark else digits.X, **mark), ROWS).json
    indices, scores = digits.codes.top_k(Z, 3)
    assert answer["indices"] == indices.tolist()
    np.testing.assert_allclose(answer["estimates"], scores, rtol=1e-6)
    assert np.all(np.array(answer["standard_errors"]) > 0)


def test_ten_rows_are_the_default(address, digits):
    answer = ask(address, "/v1/similar", pack(digits.codes[:2])).json
    assert (answer["k"], np.shape(answer["indices"])) == (10, (2, 10))
    assert [row[0] for row in answer["indices"]] == [0, 1]


@pytest.mark.parametrize("k", ["0", "201", "-1", "1.5", "x", "", "9999999999"])
def test_k_that_cannot_be_is_refused(address, digits, k):
    answer = ask(address, f"/v1/similar?k={k}", pack(digits.codes[:1]))
    assert answer.status == 400
    assert answer.is_refusal
    assert f"from 1 to 200, got '{k}'" in answer.json["detail"]


def test_no_queries_find_nothing(address, digits):
    answer = ask(address, "/v1/similar?k=2", b"[]", JSON)
    assert answer.json["indices"] == []


@pytest.mark.parametrize("gamma", [None, 0.5])
def test_sketch_gives_cosines_or_kernel_values_with_errors(tmp_path, digits, gamma):
    sketch = lt.Sketch(n_components=128, gamma=gamma, random_state=0).fit(digits.X)
    codes = sketch.encode(digits.X)
    lt.save(sketch, tmp_path / "sketch.lowtide")
    lt.save(codes, tmp_path / "codes.lowtide")
    with serving([tmp_path / "sketch.lowtide"], [tmp_path / "codes.lowtide"]) as (address, _):
        answer = ask(address, "/v1/similar?k=3", pack(codes[:2])).json
    assert [row[0] for row in answer["indices"]] == [0, 1]
    assert np.shape(answer["standard_errors"]) == (2, 3)
    assert answer["estimates"][0][0] == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("kept", [None, np.arange(1, 257, 4)], ids=["all", "kept"])
def test_encoders_with_a_metric_find_rows_and_errors_unless_frequencies_were_chosen(tmp_path, digits, kept):
    factors = np.linspace(0.2, 1.5, digits.X.shape[1])
    encoder = lt.RandomFeatures(n_components=128, metric=factors, kept=kept, random_state=0).fit(digits.X)
    codes = encoder.encode(digits.X)
    lt.save(encoder, tmp_path / "encoder.lowtide")
    lt.save(codes, tmp_path / "codes.lowtide")
    with serving([tmp_path / "encoder.lowtide"], [tmp_path / "codes.lowtide"]) as (address, _):
        for message in (
            ask(address, "/v1/similar?k=3", pack(codes[:2])),
            ask(address, "/v1/similar?k=3", pack_rows(digits.X[:2]), ROWS),
        ):
            assert [row[0] for row in message.json["indices"]] == [0, 1]
            assert (message.json["standard_errors"] is None) is (kept is not None)


def test_database_of_no_served_encoder_takes_codes_alone(tmp_path, digits):
    other = lt.RandomFeatures(n_components=64, random_state=1).fit(digits.X)
    lt.save(other.encode(digits.X), tmp_path / "other.lowtide")
    with serving([digits.path], [tmp_path / "other.lowtide"]) as (address, _):
        answer = ask(address, "/v1/similar?k=1", pack(other.encode(digits.X[:2]))).json
        assert answer["indices"] == [[0], [1]]
        assert answer["standard_errors"] is None
        assert ask(address, "/v1/similar?k=1", pack(digits.codes[:1])).status == 409
        assert ask(address, "/v1/similar?k=1", pack_rows(digits.X[:1]), ROWS).status == 415


def test_server_without_a_database_says_so(digits):
    with serving([digits.path]) as (address, _):
        answer = ask(address, "/v1/similar", pack(digits.codes[:1]))
    assert answer.status == 404
    assert answer.is_refusal
    assert "--codes" in answer.json["detail"]


def test_features_whose_products_are_not_finite_are_refused(address, digits):
    body = pack_rows(np.full((1, 500), 3e38), side="features", fingerprint=digits.encoder.fingerprint_)
    answer = ask(address, "/v1/similar?k=1", body, ROWS)
    assert answer.status == 422
    assert "moderate size" in answer.json["detail"]


@pytest.mark.parametrize("served", [True, False], ids=["model's encoder", "store's encoder"])
def test_store_is_searched_like_codes_in_memory(tmp_path, digits, served):
    with lt.CodeStore.create(tmp_path / "known.zarr", digits.encoder, chunk_rows=16) as store:
        store.append(digits.codes)
    other = given_classifier(n_components=64, random_state=1).fit(digits.X, np.arange(100) % 3)
    lt.save(other, tmp_path / "other.lowtide")
    model = digits.path if served else tmp_path / "other.lowtide"
    expected = digits.codes.top_k(digits.encoder.encode(digits.X), 5)
    with serving([model], [tmp_path / "known.zarr"]) as (address, _):
        for body, kind in ((pack(digits.encoder.encode(digits.X)), CODES), (pack_rows(digits.X), ROWS)):
            answer = ask(address, "/v1/similar?k=5", body, kind).json
            assert np.shape(answer["standard_errors"]) == (100, 5)
            if kind == CODES:
                assert answer["indices"] == expected[0].tolist()


def test_rows_appended_to_a_store_are_found_after_a_reload(tmp_path, digits):
    with lt.CodeStore.create(tmp_path / "known.zarr", digits.encoder) as store:
        store.append(digits.codes[:50])
    with serving([digits.path], [tmp_path / "known.zarr"]) as (address, service):
        with lt.CodeStore.open(tmp_path / "known.zarr", "a") as store:
            store.append(digits.codes[50:60])
        assert asyncio.run(service.reload())
        assert ask(address, "/v1/similar?k=1", pack(digits.codes[57:58])).json["indices"] == [[57]]


def test_query_that_began_before_a_reload_leaves_no_old_rows_behind(tmp_path, digits):
    path = tmp_path / "known.lowtide"
    lt.save(digits.codes[:50], path)
    message = pack(digits.codes[120:121])
    head = f"POST /v1/similar?k=1 HTTP/1.1\r\nhost: localhost\r\ncontent-type: {CODES}\r\n"
    head += f"content-length: {len(message)}\r\n"
    with serving([digits.path], [path]) as (address, service), connect(address) as connection:
        connection.sendall(f"{head}connection: close\r\n\r\n".encode() + message[:20])
        until(lambda: service.metrics.in_flight)
        lt.save(digits.codes[100:150], path)
        assert asyncio.run(service.reload())
        connection.sendall(message[20:])
        assert b'"indices":[[20]]' not in everything(connection)
        assert ask(address, "/v1/similar?k=1", message).json["indices"] == [[20]]


class Blocks:
    """Codes in blocks, from elsewhere."""

    def __init__(self, codes):
        self._codes, self.n_rows, self.shape = codes, len(codes), codes.shape

    def blocks(self, size):
        yield from self._codes.blocks(7)


@pytest.mark.parametrize("k", [1, 5, 30])
def test_top_k_of_blocks_is_that_of_all_rows(digits, k):
    rows = lt.concatenate([digits.codes[:20], digits.codes[:20]])  # each twice: ties
    found = top_k(Blocks(rows), digits.codes[:3], k)
    expected = rows.top_k(digits.codes[:3], k)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
