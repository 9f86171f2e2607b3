"""Batches: one call for what waits, and each request its own result."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from serve.serving import CODES, ask, connect, serving, until

import lowtide as lt
from lowtide.cancel import poll
from lowtide.errors import CancelledError
from lowtide.serve import Catalog, Named
from lowtide.serve.exchange import Refusal
from lowtide.serve.service import Batcher
from lowtide.wire import pack


@pytest.fixture
def pool():
    with ThreadPoolExecutor(1) as executor:
        yield executor


def batcher(run, pool, *, small=100, most=1000, join=True):
    return Batcher(run, lambda item: item, small, most, pool, join)


def test_what_waits_is_answered_by_one_call(pool):
    calls = []

    def run(items):
        calls.append(list(items))
        return [10 * item for item in items]

    async def ask_three():
        b = batcher(run, pool)
        return await asyncio.gather(*(b.submit(i) for i in (1, 2, 3)))

    assert asyncio.run(ask_three()) == [10, 20, 30]
    assert calls == [[1, 2, 3]]


def test_without_joining_each_is_answered_alone(pool):
    calls = []

    async def ask_two():
        b = batcher(lambda items: calls.append(list(items)) or list(items), pool, join=False)
        return await asyncio.gather(b.submit(1), b.submit(2))

    assert asyncio.run(ask_two()) == [1, 2]
    assert calls == [[1], [2]]


@pytest.mark.parametrize("small", [100, -1])
def test_what_is_wrong_with_one_is_told_to_that_one(pool, small):
    def run(items):
        if 2 in items:
            raise ValueError("two")
        return list(items)

    async def ask_three():
        b = batcher(run, pool, small=small)
        return await asyncio.gather(*(b.submit(i) for i in (1, 2, 3)), return_exceptions=True)

    one, two, three = asyncio.run(ask_three())
    assert (one, three) == (1, 3)
    assert isinstance(two, ValueError)


def test_large_batch_runs_in_a_thread_and_what_comes_meanwhile_is_the_next(pool):
    calls, go = [], threading.Event()

    def run(items):
        calls.append((list(items), threading.current_thread() is threading.main_thread()))
        if len(calls) == 1:
            go.wait(60)
        return list(items)

    async def ask_many():
        b = batcher(run, pool, small=5)
        first = b.submit(50)
        while not calls:
            await asyncio.sleep(0)
        later = [b.submit(1), b.submit(2)]
        assert b.may_wait(1)
        go.set()
        return [await first, *await asyncio.gather(*later)]

    assert asyncio.run(ask_many()) == [50, 1, 2]
    assert calls == [([50], False), ([1, 2], True)]


def test_more_rows_than_may_wait_are_refused(pool):
    async def ask_much():
        b = batcher(list, pool, most=10)
        waiting = b.submit(8)
        with pytest.raises(Refusal) as refused:
            b.submit(3)
        assert refused.value.status == 503
        return await waiting

    assert asyncio.run(ask_much()) == 8


def test_caller_who_has_left_is_no_one_s_problem(pool):
    async def leave():
        b = batcher(list, pool)
        gone, stays = b.submit(1), b.submit(2)
        gone.cancel()
        return await stays

    assert asyncio.run(leave()) == 2


def test_what_was_given_up_while_it_waited_is_not_computed(pool):
    calls, go = [], threading.Event()

    def run(items):
        calls.append(list(items))
        if len(calls) == 1:
            go.wait(60)
        return list(items)

    async def give_up():
        b = batcher(run, pool, small=5)
        first = b.submit(50)
        while not calls:
            await asyncio.sleep(0)
        gone, stays = b.submit(60), b.submit(2)
        gone.cancel()
        go.set()
        await first
        answer = await stays
        b.submit(70).cancel()
        await asyncio.sleep(0)
        return answer, await b.submit(3)

    assert asyncio.run(give_up()) == (2, 3)
    assert calls == [[50], [2], [3]]


def test_rows_that_were_not_answered_are_not_counted(digits, monkeypatch):
    with serving([digits.path]) as (address, service):
        with monkeypatch.context() as patch:
            patch.setattr(type(service.current.catalog.models["digits"]), "answer", lambda *_: 1 / 0)
            assert ask(address, "/v1/predict", pack(digits.codes[:1])).status == 500
        assert ask(address, "/v1/predict", pack(digits.codes[:2])).status == 200
        assert b'lowtide_rows_total{name="digits"} 2.0' in service.metrics.text()


@pytest.mark.parametrize("batching", [True, False])
def test_many_callers_at_once_get_their_own_answers(digits, batching):
    expected = digits.model.predict(digits.X).tolist()
    with serving([digits.path], batching=batching) as (address, service), lt.Client(address) as client:
        client.predict(digits.X[:1])
        with ThreadPoolExecutor(8) as callers:
            found = list(callers.map(lambda i: client.predict(digits.X[i : i + 1])[0], range(100)))
        assert found == expected
        assert b'lowtide_rows_total{name="digits"} 101.0' in service.metrics.text()


def test_answer_that_takes_too_long_is_given_up(digits, monkeypatch):
    with serving([digits.path], work_seconds=0.05) as (address, service):
        model, go = service.current.catalog.models["digits"], threading.Event()
        monkeypatch.setattr(type(model), "small_rows", lambda *_: -1)
        monkeypatch.setattr(type(model), "answer", lambda self, *_: go.wait(60) and [{"predictions": []}])
        answer = ask(address, "/v1/predict", pack(digits.codes[:1]))
        go.set()
    assert answer.status == 503
    assert answer.is_refusal
    assert answer.headers["retry-after"] == "5"


def spin(stopped):
    """Work that has no end of its own, and says when it was stopped."""
    try:
        while True:
            poll()
    except CancelledError:
        stopped.set()
        raise


def test_work_is_stopped_once_nobody_waits_for_it(pool):
    stopped = threading.Event()

    def run(items):
        spin(stopped)

    async def leave():
        b = batcher(run, pool, small=0)
        one, other = b.submit(1), b.submit(2)
        await asyncio.sleep(0.05)
        one.cancel()
        await asyncio.sleep(0.05)
        assert not stopped.is_set()  # the other one still waits
        other.cancel()
        await asyncio.to_thread(stopped.wait, 60)
        b.run = list
        return await b.submit(3)

    assert asyncio.run(leave()) == 3


@pytest.mark.parametrize("leaves", [True, False])
def test_work_of_a_caller_who_left_or_waited_too_long_is_stopped(digits, monkeypatch, leaves):
    """Else a few callers who ask and leave would hold the threads of all others for as long as their work takes."""
    begun, stopped = threading.Event(), threading.Event()

    def answer(*_):
        begun.set()
        spin(stopped)

    with serving([digits.path], work_seconds=60.0 if leaves else 0.1) as (address, service):
        model, message = type(service.current.catalog.models["digits"]), pack(digits.codes[:1])
        with monkeypatch.context() as patch:
            patch.setattr(model, "small_rows", lambda *_: -1)
            patch.setattr(model, "answer", answer)
            head = f"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: {CODES}\r\n"
            with connect(address) as connection:
                connection.sendall(f"{head}content-length: {len(message)}\r\n\r\n".encode() + message)
                assert begun.wait(60)
                if not leaves:
                    assert connection.recv(100).startswith(b"HTTP/1.1 503")
            assert stopped.wait(60)
        until(lambda: service.budget.used == 0 and service.metrics.in_flight == 0)
        assert ask(address, "/v1/predict", message).status == 200


def test_rows_of_a_dense_encoder_are_not_encoded_on_the_event_loop(digits, tmp_path):
    dense = lt.RandomFeatures(projection="iid", n_components=65_536, gamma=0.001, random_state=0).fit(digits.X)
    quick = lt.RandomFeatures(n_components=128, gamma=0.001, random_state=0).fit(digits.X)
    for encoder, small in ((dense, False), (quick, True)):
        lt.save(encoder, tmp_path / "encoder.lowtide")
        lt.save(encoder.encode(digits.X[:20]), tmp_path / "codes.lowtide")
        catalog = Catalog.load(
            [Named.parse(str(tmp_path / "encoder.lowtide"))], [Named.parse(str(tmp_path / "codes.lowtide"))]
        )
        database = catalog.databases["codes"]
        assert (database.small_rows("rows") >= 1) == small
        assert database.small_rows("codes") >= 1


@pytest.mark.parametrize("n", [1, 2000])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_json_has_no_word_for_are_refused(digits, monkeypatch, n, bad):
    with serving([digits.path]) as (address, service):
        scores = {"predictions": np.zeros(n, dtype=np.int64), "scores": np.full((n, 10), bad)}
        monkeypatch.setattr(type(service.current.catalog.models["digits"]), "answer", lambda *_: [scores])
        answer = ask(address, "/v1/predict?return=scores", pack(digits.codes[:1]))
    assert answer.status == 422
    assert "not finite" in answer.json["detail"]


def test_large_request_is_answered_like_a_small_one(digits, monkeypatch):
    with serving([digits.path]) as (address, service):
        monkeypatch.setattr(type(service.current.catalog.models["digits"]), "small_rows", lambda *_: 10)
        monkeypatch.setattr("lowtide.serve.service._SMALL_BYTES", 100)
        monkeypatch.setattr("lowtide.serve.service._SMALL_ANSWER", 100)
        answer = ask(address, "/v1/predict?return=scores", pack(digits.codes))
    np.testing.assert_allclose(answer.json["scores"], digits.model.decision_function(digits.codes), rtol=1e-10)
