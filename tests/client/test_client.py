"""The client: encodes here, asks once for the encoder, and sends again what was not answered."""

from __future__ import annotations

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from sklearn.datasets import load_digits

pytest.importorskip("starlette")
from given import given_classifier

import lowtide as lt
from lowtide.errors import LowtideError, ParameterError, RequestError
from lowtide.wire import describe_encoder, pack

X = load_digits().data[:60]
MODEL = given_classifier(n_components=100, random_state=0).fit(X, np.arange(60) % 3)


class Script(BaseHTTPRequestHandler):
    """Answers as it is told, and remembers what was asked."""

    protocol_version = "HTTP/1.1"

    def _answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.asked.append((self.command, self.path, body, dict(self.headers), self.client_address))
        if self.path.endswith("/encoder"):
            status, content, headers = 200, describe_encoder(MODEL.features_), {}
        elif self.server.answers:
            status, content, headers = self.server.answers.pop(0)
        else:
            status, content, headers = 200, {"model": "m", "predictions": [0]}, {}
        if status == 0:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = _answer  # noqa: N815

    def log_message(self, *_):
        pass


@contextmanager
def scripted(*answers):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Script)
    server.daemon_threads, server.asked, server.answers = True, [], list(answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def no_pause(monkeypatch):
    """Return the seconds that the client would have waited."""
    pauses = []
    monkeypatch.setattr("lowtide.client.client.time.sleep", pauses.append)
    return pauses


def posts(server):
    return [asked for asked in server.asked if asked[0] == "POST"]


def test_client_sends_the_bits_that_the_encoder_makes_and_fetches_it_once():
    with scripted() as (url, server), lt.Client(url, "correct-horse-battery") as client:
        client.predict(X[:3])
        client.predict(X[3:5])
    assert [asked[:2] for asked in server.asked] == [
        ("GET", "/v1/encoder"),
        ("POST", "/v1/predict"),
        ("POST", "/v1/predict"),
    ]
    assert posts(server)[0][2] == pack(MODEL.features_.encode(X[:3]))
    assert posts(server)[0][3]["Content-Type"] == lt.wire.CODES_TYPE
    assert all(asked[3]["Authorization"] == "Bearer correct-horse-battery" for asked in server.asked)
    assert client.bytes_sent == 68 + 3 * 13 + 68 + 2 * 13


def test_codes_are_sent_without_asking_for_the_encoder():
    with scripted() as (url, server), lt.Client(url) as client:
        client.predict(MODEL.features_.encode(X[:1]))
    assert [asked[1] for asked in server.asked] == ["/v1/predict"]


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_request_is_sent_again_when_the_server_is_busy(no_pause, status):
    busy = (status, {"detail": "busy"}, {"Retry-After": "7"})
    with scripted(busy, busy) as (url, server), lt.Client(url) as client:
        assert client.predict(X[:1]).tolist() == [0]
    assert len(posts(server)) == 3
    assert len({asked[2] for asked in posts(server)}) == 1
    assert all(pause >= 7 for pause in no_pause)


def test_request_is_sent_again_when_the_connection_breaks(no_pause):
    with scripted((0, {}, {})) as (url, server), lt.Client(url) as client:
        assert client.predict(X[:1]).tolist() == [0]
    assert len(posts(server)) == 2


def test_pauses_grow_and_end(no_pause):
    busy = [(503, {"detail": "busy"}, {})] * 9
    refused = pytest.raises(RequestError, match="busy")
    with scripted(*busy) as (url, server), lt.Client(url, retries=3) as client, refused as error:
        client.predict(X[:1])
    assert error.value.status == 503
    assert len(posts(server)) == 4
    assert len(no_pause) == 3
    assert all(0.025 * 2**i <= pause <= 0.075 * 2**i for i, pause in enumerate(no_pause))


@pytest.mark.parametrize("status", [400, 401, 404, 413, 422, 500])
def test_refusal_is_raised_at_once_with_its_reason(no_pause, status):
    refused = pytest.raises(RequestError, match="the reason")
    with scripted((status, {"detail": "the reason"}, {})) as (url, server), lt.Client(url) as client, refused as error:
        client.predict(X[:1])
    assert error.value.status == status
    assert isinstance(error.value, OSError)
    assert len(posts(server)) == 1


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"\xff"])
def test_answer_that_is_no_json_is_an_error(content):
    refused = pytest.raises(RequestError, match="JSON")
    with scripted((200, content, {})) as (url, _), lt.Client(url) as client, refused:
        client.predict(X[:1])


def test_server_that_is_not_there_is_an_error(no_pause):
    with lt.Client("http://127.0.0.1:9", retries=2) as client, pytest.raises(RequestError, match="Refused") as error:
        client.predict(X[:1])
    assert error.value.status is None
    assert len(no_pause) == 2


def test_encoder_that_is_not_what_it_says_is_refused(monkeypatch):
    monkeypatch.setitem(
        globals(), "describe_encoder", lambda encoder: {**describe_encoder_(encoder), "fingerprint": "00"}
    )
    with scripted() as (url, _), lt.Client(url) as client, pytest.raises(LowtideError, match="fingerprint"):
        client.predict(X[:1])


describe_encoder_ = describe_encoder


def test_threads_share_a_client():
    with scripted() as (url, server), lt.Client(url) as client, ThreadPoolExecutor(4) as callers:
        list(callers.map(lambda i: client.predict(X[i : i + 1]), range(20)))
    assert len(posts(server)) == 20
    assert len([asked for asked in server.asked if asked[0] == "GET"]) == 1


def test_client_that_was_closed_sends_nothing():
    with scripted() as (url, _):
        with lt.Client(url) as client:
            client.predict(X[:1])
        with pytest.raises(RequestError, match=r"^Client: must be open .* closed"):
            client.predict(X[:1])


def test_connections_are_as_many_as_requests_at_once_however_many_threads():
    with scripted() as (url, server), lt.Client(url) as client:
        for _ in range(5):
            with ThreadPoolExecutor(1) as caller:
                caller.submit(client.predict, X[:1]).result()
        assert len({asked[4] for asked in server.asked}) == 1


def test_reason_of_a_refusal_is_read_though_the_body_was_not_taken(no_pause):
    """A server that refuses a long body closes the connection while it is still being sent."""
    answer = b'HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 26\r\n\r\n{"detail": "at most 1 MB"}'
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse():
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(answer)

        thread = threading.Thread(target=refuse)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        codes = MODEL.features_.encode(X[:1]).with_rows(np.zeros((1_500_000, 16), np.uint8))
        with lt.Client(url, retries=0) as client, pytest.raises(RequestError, match="at most 1 MB") as error:
            client.predict(codes)
        thread.join()
    assert error.value.status == 413


def test_answer_of_another_kind_of_server_is_an_error():
    with scripted((200, {"hello": "world"}, {}), (200, {}, {})) as (url, _), lt.Client(url) as client:
        with pytest.raises(RequestError, match="must answer with predictions"):
            client.predict(X[:1])
        with pytest.raises(RequestError, match="must answer with indices"):
            client.top_k(X[:1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "ftp://x"},
        {"url": "127.0.0.1:8000"},
        {"url": "http://"},
        {"url": "http://me:secret@x"},
        {"url": "http://me:secret@x:99999"},
        {"url": "http://me:secret@x?a=1"},
        {"url": "http://x?a=1"},
        {"url": "http://x:99999"},
        {"url": "http://x:port"},
        {"url": "http://[::1"},
        {"url": 8000},
        {"key": "two words"},
        {"key": "ä"},
        {"key": "new\nline"},
        {"send": "bits"},
        {"timeout": 0},
        {"retries": -1},
    ],
    ids=str,
)
def test_client_refuses_what_cannot_be(wrong):
    with pytest.raises(ParameterError) as error:
        lt.Client(**{"url": "http://127.0.0.1", **wrong})
    assert "secret" not in str(error.value)
    assert "two words" not in str(error.value)


def test_top_k_gives_arrays():
    found = {"database": "d", "k": 2, "indices": [[3, 1]], "estimates": [[1.0, 0.5]], "standard_errors": None}
    with scripted((200, found, {})) as (url, server), lt.Client(url) as client:
        similar = client.top_k(X[:1], 2, database="my rows")
    assert posts(server)[0][1] == "/v1/databases/my%20rows/similar?k=2"
    assert similar.indices.tolist() == [[3, 1]]
    assert similar.standard_errors is None
    with pytest.raises(ParameterError, match="k must be"):
        client.top_k(X[:1], 0)
