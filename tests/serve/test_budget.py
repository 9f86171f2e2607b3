"""Memory: bodies, rows and answers stay under one limit, whatever is asked, and it is all given back."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from contextlib import ExitStack

import numpy as np
import pytest
from benchmarks.load.freeze import ATTACKS, health_times, post, save_table
from benchmarks.load.serving import save_model
from serve.serving import CODES, JSON, ask, connect, everything, serving, until

from lowtide.errors import ParameterError
from lowtide.serve import Settings
from lowtide.serve.budget import Budget, return_memory
from lowtide.serve.exchange import Refusal
from lowtide.wire import pack

MB = 1 << 20
BODY = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"


def test_budget_counts_what_requests_hold():
    budget = Budget(100)
    one, other = budget.lease(), budget.lease()
    one.add(60)
    other.add(40)
    with pytest.raises(Refusal) as busy:
        other.add(1)
    assert (busy.value.status, dict(busy.value.extra)[b"retry-after"]) == (503, b"1")
    one.become(10)
    other.add(50)
    assert budget.used == 100
    other.close()
    other.close()
    assert budget.used == 10
    with pytest.raises(Refusal) as never:
        other.add(101)
    assert never.value.status == 413
    one.become(20)
    assert (one.size, budget.used) == (20, 20)


def test_an_eighth_is_left_to_small_requests():
    budget = Budget(8 * MB)
    large, small, rooms = budget.lease(), budget.lease(), []
    budget.make_room = lambda: rooms.append(budget.used)
    large.add(7 * MB)
    with pytest.raises(Refusal):
        budget.lease().add(100_000)
    assert rooms == [7 * MB]
    small.add(60_000)
    with pytest.raises(Refusal) as never:
        large.add(1000)
    assert never.value.status == 413


def test_bodies_that_stop_half_way_make_room_for_others(digits):
    rows = json.dumps([[0.25] * 64] * 1000).encode()
    with serving([digits.path], memory=4 * MB) as (address, service), ExitStack() as closing:
        stopped = [closing.enter_context(connect(address)) for _ in range(3)]
        for connection in stopped:
            connection.sendall(BODY % (15 * MB) + b"[" + b" " * MB)
        until(lambda: service.budget.used >= 3 * MB)
        until(lambda: ask(address, "/v1/predict", rows, JSON).status == 200)
        assert b"memory is needed for other requests" in everything(stopped[0])


def test_budget_is_a_share_of_what_there_is_unless_given(monkeypatch):
    monkeypatch.setattr("lowtide.serve.budget.available_memory", lambda: 4 << 30)
    assert Budget().limit == 1 << 30
    monkeypatch.setattr("lowtide.serve.budget.available_memory", lambda: 1000)
    assert Budget().limit == 64 * MB
    monkeypatch.setattr("lowtide.serve.budget.available_memory", lambda: None)
    assert Budget().limit == 1 << 30
    with pytest.raises(ParameterError, match="memory"):
        Budget(0)


def test_memory_is_worth_returning_once_after_a_load():
    budget = Budget(1 << 30)
    lease = budget.lease()
    assert not budget.is_worth_returning()
    lease.add(100 * MB)
    assert not budget.is_worth_returning()
    lease.close()
    assert budget.is_worth_returning()
    assert not budget.is_worth_returning()
    return_memory()


def test_unfinished_bodies_stay_within_the_memory_and_are_refused_beyond_it(digits):
    with serving([digits.path], memory=4 * MB) as (address, service), ExitStack() as closing:
        connections = [closing.enter_context(connect(address)) for _ in range(8)]
        for connection in connections[:3]:  # a body's length is not taken before it comes
            connection.sendall(BODY % (15 * MB) + b"[" + b" " * MB)
        until(lambda: service.budget.used >= 3 * MB)
        assert service.budget.used < 3.5 * MB
        assert ask(address, "/v1/predict", pack(digits.codes[:1])).status == 200
        for connection in connections[3:]:
            send_quietly(connection, BODY % (15 * MB) + b"[" + b" " * MB)
        until(lambda: b'status="503"} 5.0' in service.metrics.text())
        assert service.budget.used <= 4 * MB
        assert b"lowtide_memory_bytes" in service.metrics.text()
        assert ask(address, "/healthz").status == 200
        for connection in connections:
            connection.close()
        until(lambda: service.budget.used == 0)
        assert ask(address, "/v1/predict", pack(digits.codes)).status == 200


def send_quietly(connection, data):
    with contextlib.suppress(OSError):  # refused before all was sent
        connection.sendall(data)


def test_rows_and_answers_are_counted_before_they_are_made(digits):
    rows = json.dumps([[1] * 64] * 3000).encode()
    with serving([digits.path], memory=len(rows) + 3000 * 64 * 8 + 200_000) as (address, service):
        assert ask(address, "/v1/predict?return=scores", rows, JSON).status == 413  # the answer is more than is left
    with serving([digits.path], memory=len(rows) + 1000) as (address, service):
        answer = ask(address, "/v1/predict", rows, JSON)
        assert answer.status == 413
        assert answer.is_refusal
        until(lambda: service.budget.used == 0)
    with serving([digits.path], memory=32 * MB) as (address, service):
        assert ask(address, "/v1/predict?return=scores", rows, JSON).status == 200
        until(lambda: service.budget.used == 0)


def test_few_bytes_that_become_many_features_are_counted(tmp_path):
    save_table(tmp_path / "table.lowtide")
    body = b"[" + b",".join([b'[1,"c1"]'] * 5000) + b"]"
    with serving([tmp_path / "table.lowtide"], memory=4 * MB) as (address, _):
        assert ask(address, "/v1/predict", body, JSON).status == 413
    with serving([tmp_path / "table.lowtide"], memory=64 * MB) as (address, _):
        assert ask(address, "/v1/predict", body, JSON).status == 200


def test_answer_that_is_not_taken_holds_its_memory(digits):
    message = pack(digits.codes)
    head = f"POST /v1/predict?return=scores HTTP/1.1\r\nhost: localhost\r\ncontent-type: {CODES}\r\n"
    request = f"{head}content-length: {len(message)}\r\n\r\n".encode() + message
    with serving([digits.path], memory=8 * MB, body_seconds=600.0) as (address, service):
        connection = connect(address)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(0.5)
        for _ in range(200):
            try:
                connection.sendall(request)
            except OSError:
                break
        until(lambda: service.budget.used > 0)
        assert service.budget.used <= 8 * MB
        connection.close()
        until(lambda: service.budget.used == 0)


def test_requests_in_line_are_counted_and_not_too_many(digits):
    many = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n" * 500
    with serving([digits.path]) as (address, service):
        with connect(address) as connection:
            connection.sendall(many)
            answer = everything(connection)
        assert b"HTTP/1.1 400" in answer
        assert b"128 requests may wait in line" in answer
        until(lambda: service.budget.used == 0)


def test_body_of_tiny_chunks_is_refused(digits):
    head = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with serving([digits.path]) as (address, service), connect(address) as connection:
        send_quietly(connection, head + b"transfer-encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * 3000)
        answer = everything(connection)
        assert answer.startswith(b"HTTP/1.1 400")
        assert b"chunks of a body must be longer" in answer
        until(lambda: service.budget.used == 0)


@pytest.mark.parametrize("memory", [0, -1, 1.5])
def test_memory_that_cannot_be_is_refused(digits, memory):
    with pytest.raises(ParameterError, match="memory"), serving([digits.path], memory=memory):
        pass
    assert Settings(memory=None).memory is None


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    save_model(folder / "plain.lowtide", n_components=512)
    save_table(folder / "table.lowtide")
    with serving([folder / "plain.lowtide", folder / "table.lowtide"]) as (address, service):
        yield address, service


@pytest.mark.parametrize(
    "name",
    [
        "empty rows, 15 MB",
        "numbers of 4,200 digits, 15 MB",
        "honest rows, 7 MB",
        "table of 65,000 rows",
        "an object of 1.2 million names",
    ],
)
def test_health_is_told_while_another_request_is_read_and_answered(attacked, name):
    """Python's parser stopped the server for 6.6, 1.7 and 0.5 seconds; the rest is what a busy machine takes."""
    address, service = attacked
    request, answers = ATTACKS[name](), []

    def send():
        with connect(address) as connection:
            send_quietly(connection, request)
            try:
                answers.append(everything(connection))
            except ConnectionResetError:
                answers.append(b"")

    sender = threading.Thread(target=send)
    sender.start()
    slowest = 0.0
    while sender.is_alive():
        slowest = max(slowest, *health_times(address, 5))
    sender.join()
    assert slowest < 300.0
    if not name.startswith(("empty", "numbers")):
        assert answers[0].startswith(b"HTTP/1.1 200")
    until(lambda: service.budget.used == 0)


def test_large_answer_comes_whole(attacked):
    rows = np.random.default_rng(0).standard_normal((12_000, 64)).round(3)
    with connect(attacked[0]) as connection:
        connection.sendall(post("/v1/predict?return=scores,probabilities", json.dumps(rows.tolist()).encode()))
        time.sleep(0.2)
        head, _, body = everything(connection).partition(b"\r\n\r\n")
    assert int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]) == len(body) > MB
    content = json.loads(body)
    assert [len(content[name]) for name in ("predictions", "scores", "probabilities")] == [12_000] * 3
    assert np.argmax(content["scores"], axis=1).tolist() == content["predictions"]
