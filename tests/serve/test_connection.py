"""Connections: what is no HTTP, what is too long, and what never comes."""

from __future__ import annotations

import contextlib
import json
import time
from contextlib import ExitStack

import pytest
from benchmarks.load.half_open import closed_within, half_open
from serve.serving import ask, connect, everything, serving

from lowtide.wire import pack

HEAD = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/vnd.lowtide.codes; v=2\r\n"


STARTS = {
    "nothing": b"",
    "line": b"GET / HT",
    "header": b"GET / HTTP/1.1\r\nhost: ",
    "body": HEAD + b"content-length: 100\r\n\r\n123",
    "no body": HEAD + b"content-length: 100\r\n\r\n",
}


@pytest.fixture(scope="module")
def impatient(digits):
    """Serve with little time for heads and bodies, but more than a busy machine may stand still."""
    with serving([digits.path], head_seconds=3.0, body_seconds=3.0) as (address, service):
        yield address, service


@pytest.fixture(scope="module")
def unfinished(impatient):
    """Return connections by what they have sent, opened together so that they are waited for together."""
    with ExitStack() as closing:
        connections = {name: closing.enter_context(connect(impatient[0])) for name in STARTS}
        for name, start in STARTS.items():
            connections[name].sendall(start)
        yield connections


def refusal(answer):
    """Return the status of an answer that is a problem and closes the connection."""
    head, body = answer.split(b"\r\n\r\n", 1)
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    assert json.loads(body)["status"] == int(head.split()[1])
    return int(head.split()[1])


def healthy(connection):
    """Ask for the server's health, and return whether the whole answer is that it is well."""
    connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
    answer = b""
    while not answer.endswith(b"}"):
        part = connection.recv(65536)
        if not part:
            return False
        answer += part
    return answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01", 400),
        (b"GET / HTTP/1.1\r\nbad header\r\n\r\n", 400),
        (HEAD + b"content-length: abc\r\n\r\n", 400),
        (HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"GET http://[ HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nx: " + b"a" * 40_000, 431),
        (b"GET / HTTP/1.1\r\nx: " + b"a" * 40_000 + b"\r\n\r\n", 431),
        (b"GET /" + b"a" * 40_000, 431),
    ],
)
def test_what_is_no_request_is_answered_as_a_problem(address, sent, status):
    with connect(address) as connection:
        connection.sendall(sent)
        assert refusal(everything(connection)) == status


def test_many_small_pieces_of_a_head_are_too_long_together(address):
    with connect(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(40):
            try:
                connection.sendall(b"x: " + b"a" * 1000 + b"\r\n")
            except OSError:
                break
        with contextlib.suppress(ConnectionResetError):  # closed while more was on its way
            assert refusal(everything(connection)) == 431


def test_body_in_pieces_and_chunks_is_joined(address, digits):
    message = pack(digits.codes[:2])
    with connect(address) as connection:
        connection.sendall(HEAD + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n")
        for begin in range(0, len(message), 50):
            part = message[begin : begin + 50]
            connection.sendall(b"%x\r\n" % len(part) + part + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        answer = everything(connection)
    assert answer.startswith(b"HTTP/1.1 200")


def test_requests_one_after_the_other_share_a_connection(address, digits):
    message = pack(digits.codes[:1])
    request = HEAD + b"content-length: %d\r\n\r\n" % len(message) + message
    with connect(address) as connection:
        connection.sendall(request + request + b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        answer = everything(connection)
    assert answer.count(b"HTTP/1.1 200") == 3


def test_a_head_that_begins_behind_long_requests_is_not_too_long(address, digits):
    message = pack(digits.codes)
    request = HEAD + b"content-length: %d\r\n\r\n" % len(message) + message
    count = 1 + 40_000 // len(request)
    with connect(address) as connection:
        connection.sendall(count * request + b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconn")
        connection.sendall(b"ection: close\r\n\r\n")
        assert everything(connection).count(b"HTTP/1.1 200") == count + 1


@pytest.mark.parametrize("start", STARTS)
def test_what_never_comes_is_not_waited_for(impatient, unfinished, start):
    assert refusal(everything(unfinished[start])) == 408
    assert b'reason="408"' in impatient[1].metrics.text()


def test_half_open_connections_do_not_stop_service(digits):
    with serving([digits.path], head_seconds=2.0, body_seconds=2.0) as (address, _), ExitStack() as closing:
        connections = [closing.enter_context(each) for each in half_open(address, 60)]
        assert ask(address, "/v1/predict", pack(digits.codes[:1])).status == 200
        assert closed_within(connections, 60) == 60
        assert ask(address, "/healthz").status == 200


def test_connections_beyond_the_limit_take_the_place_of_the_longest_waiting(digits):
    patient = {"head_seconds": 600.0, "body_seconds": 600.0}
    with serving([digits.path], connections=5, **patient) as (address, service), ExitStack() as closing:
        connections = [closing.enter_context(each) for each in half_open(address, 8)]
        assert ask(address, "/v1/predict", pack(digits.codes[:1])).status == 200
        assert [refusal(everything(connection)) for connection in connections[:3]] == [503] * 3
        assert b'reason="503"} 4.0' in service.metrics.text()


def test_an_idle_connection_gives_way_without_a_word(digits):
    with serving([digits.path], connections=2) as (address, _), ExitStack() as closing:
        idle = closing.enter_context(connect(address))
        assert healthy(idle)
        closing.enter_context(connect(address))
        assert ask(address, "/healthz").status == 200
        assert everything(idle) == b""


def test_an_idle_connection_is_closed_after_its_time(digits):
    with serving([digits.path], idle_seconds=0.05) as (address, _), connect(address) as idle:
        assert healthy(idle)
        assert everything(idle) == b""


def test_an_answer_without_its_body_keeps_the_connection(address):
    with connect(address) as connection:
        connection.sendall(b"HEAD /v1/models/digits/encoder HTTP/1.1\r\nhost: localhost\r\n\r\n")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(65536)
        assert head.startswith(b"HTTP/1.1 200")
        assert b"content-length: 0" not in head
        assert healthy(connection)


def test_a_short_answer_comes_in_one_piece_with_every_header(address, digits):
    message = pack(digits.codes[:1])
    request = HEAD + b"content-length: %d\r\n\r\n" % len(message) + message
    with connect(address) as connection:
        connection.sendall(request)
        head, body = connection.recv(65536).split(b"\r\n\r\n")
    line, *lines = head.split(b"\r\n")
    headers = dict(each.split(b": ", 1) for each in lines)
    assert line == b"HTTP/1.1 200 OK"
    assert json.loads(body)["predictions"] == digits.model.predict(digits.codes[:1]).tolist()
    assert int(headers.pop(b"content-length")) == len(body)
    assert headers.pop(b"date").endswith(b"GMT")
    assert headers == {
        b"content-type": b"application/json",
        b"x-content-type-options": b"nosniff",
        b"cross-origin-resource-policy": b"same-origin",
    }


def test_caller_who_leaves_does_no_harm(address, digits):
    message = pack(digits.codes[:1])
    for _ in range(5):
        with connect(address) as connection:
            connection.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(message) + message[:-3])
    assert ask(address, "/v1/predict", message).status == 200


def test_empty_lines_between_requests_keep_no_connection_open(impatient):
    with connect(impatient[0]) as connection:
        assert healthy(connection)
        connection.sendall(b"\r\n")
        assert refusal(everything(connection)) == 408


def test_caller_who_does_not_take_the_answer_is_dropped(impatient, digits, caplog):
    address, service = impatient
    message = pack(digits.codes)
    request = HEAD.replace(b"predict", b"predict?return=scores") + b"content-length: %d\r\n\r\n" % len(message)
    with connect(address) as connection:
        connection.settimeout(1)
        end = time.monotonic() + 60
        while b'reason="stalled"' not in service.metrics.text():
            assert time.monotonic() < end
            with contextlib.suppress(OSError):
                connection.sendall(request + message)
    assert "request failed" not in caplog.text


def test_caller_who_leaves_with_requests_in_line_is_no_error(address, digits, caplog):
    message = pack(digits.codes)
    request = HEAD + b"content-length: %d\r\n\r\n" % len(message) + message
    for _ in range(20):
        with connect(address) as connection:
            connection.sendall(3 * request)
    assert ask(address, "/v1/predict", message).status == 200
    assert "failed" not in caplog.text
