"""A server's life: reloads without a lost request, a stop that answers what has come, logs, metrics and the page."""

from __future__ import annotations

import asyncio
import gc
import io
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from types import FrameType

import numpy as np
import pytest
from given import given_classifier
from serve.serving import CODES, JSON, ask, connect, everything, serving, until
from starlette.staticfiles import StaticFiles

import lowtide as lt
from lowtide.errors import FileAccessError, FileFormatError, LowtideError, ParameterError
from lowtide.serve import Catalog, KeyRing, Named, Service, Settings, running
from lowtide.tables import Recipe
from lowtide.wire import pack


def fitted(X, shift):
    return given_classifier(n_components=64, random_state=0).fit(X, np.arange(len(X)) % 3 + shift)


def test_reload_changes_the_model_and_loses_no_request(tmp_path, digits):
    path = tmp_path / "m.lowtide"
    lt.save(fitted(digits.X, 0), path)
    with serving([path]) as (address, service), lt.Client(address) as client:
        found, stop = [], threading.Event()

        def go_on():
            while not stop.is_set():
                found.append(set(client.predict(digits.X).tolist()))

        caller = threading.Thread(target=go_on)
        caller.start()
        for shift in (10, 20, 30):
            lt.save(fitted(digits.X, shift), path)
            assert asyncio.run(service.reload())
        stop.set()
        caller.join()
        found.append(set(client.predict(digits.X).tolist()))
    assert all(labels <= {shift, shift + 1, shift + 2} for labels in found for shift in [min(labels) // 10 * 10])
    assert found[-1] <= {30, 31, 32}


def test_reloads_under_many_requests_give_no_half_answer(tmp_path, digits):
    """Predictions, scores and classes of every answer are those of one and the same model."""
    path = tmp_path / "m.lowtide"
    models = [fitted(digits.X, shift) for shift in (0, 10, 20, 30)]
    rows = json.dumps(digits.X[:5].tolist()).encode()
    lt.save(models[0], path, weights="float64")
    expected = {}
    for shift, model in zip((0, 10, 20, 30), models):
        expected[shift] = (model.predict(digits.X[:5]).tolist(), model.decision_function(digits.X[:5]))
    found, stop = [], threading.Event()

    def go_on(address):
        while not stop.is_set():
            found.append(ask(address, "/v1/predict?return=scores", rows, "application/json"))

    with serving([path]) as (address, service):
        callers = [threading.Thread(target=go_on, args=(address,)) for _ in range(8)]
        for caller in callers:
            caller.start()
        number = 0
        while len(found) < 400:
            number += 1
            lt.save(models[number % 4], path, weights="float64")
            assert asyncio.run(service.reload())
        stop.set()
        for caller in callers:
            caller.join()
    seen = set()
    for answer in found:
        assert answer.status == 200
        content = answer.json
        shift = content["classes"][0]
        seen.add(shift)
        assert content["classes"] == [shift, shift + 1, shift + 2]
        assert content["predictions"] == expected[shift][0]
        np.testing.assert_allclose(content["scores"], expected[shift][1], rtol=1e-9, atol=1e-12)
    assert len(seen) > 1


def test_reload_of_a_damaged_file_keeps_what_there_was(tmp_path, digits, caplog):
    path = tmp_path / "m.lowtide"
    lt.save(fitted(digits.X, 0), path)
    with serving([path]) as (address, service), lt.Client(address) as client:
        path.write_bytes(b"nonsense")
        assert not asyncio.run(service.reload())
        assert set(client.predict(digits.X)) <= {0, 1, 2}
        assert b'lowtide_reloads_total{result="failed"} 1.0' in service.metrics.text()


def test_reload_that_fails_unforeseen_keeps_what_there_was_and_is_logged(digits, monkeypatch, caplog):
    with serving([digits.path]) as (address, service):
        monkeypatch.setattr(Catalog, "reload", lambda self: 1 / 0)
        assert not asyncio.run(service.reload())
        assert ask(address, "/v1/predict", pack(digits.codes[:1])).status == 200
        assert b'lowtide_reloads_total{result="failed"} 1.0' in service.metrics.text()
    assert "ZeroDivisionError" in caplog.text


def test_reloads_come_one_after_the_other(digits, monkeypatch):
    """An earlier reload that takes longer must not bring back what a later one has replaced."""
    service = Service(Catalog.load([Named("digits", digits.path)]), Settings(port=0), KeyRing({}))
    numbers, begun, go = itertools.count(), threading.Event(), threading.Event()

    def load(catalog):
        number = next(numbers)
        if number == 0:
            begun.set()
            go.wait(60)
        return Catalog({str(number): next(iter(catalog.models.values()))}, {})

    async def reload_twice():
        first = asyncio.create_task(service.reload())
        while not begun.is_set():
            await asyncio.sleep(0)
        second = asyncio.create_task(service.reload())
        await asyncio.sleep(0.1)  # enough for it to overtake, were it not for the lock
        go.set()
        return await asyncio.gather(first, second)

    monkeypatch.setattr(Catalog, "reload", load)
    assert asyncio.run(reload_twice()) == [True, True]
    assert list(service.current.catalog.models) == ["1"]
    service.close()


def test_keys_that_came_from_no_file_stay_at_a_reload(digits, monkeypatch):
    monkeypatch.setenv("LOWTIDE_KEYS", "another-horse-battery")
    with serving([digits.path], keys="one: correct-horse-battery") as (address, service):
        assert asyncio.run(service.reload())
        assert ask(address, "/v1/models", headers={"X-API-Key": "correct-horse-battery"}).status == 200
        assert ask(address, "/v1/models", headers={"X-API-Key": "another-horse-battery"}).status == 401


def test_client_fetches_an_encoder_that_has_changed(tmp_path, digits):
    path = tmp_path / "m.lowtide"
    lt.save(fitted(digits.X, 0), path)
    with serving([path]) as (address, service), lt.Client(address) as client:
        client.predict(digits.X)
        other = given_classifier(n_components=128, random_state=7).fit(digits.X, np.arange(100) % 3)
        lt.save(other, path)
        asyncio.run(service.reload())
        np.testing.assert_array_equal(client.predict(digits.X), other.predict(digits.X))
        assert client.encoder.fingerprint == other.features_.fingerprint_


@pytest.mark.parametrize("send", ["codes", "features", "rows"])
def test_client_fetches_columns_that_have_changed_before_the_same_encoder(tmp_path, digits, send):
    """Fitted again on other rows, a table is scaled in another way; the encoder's fingerprint may be the same."""
    path, codes_path = tmp_path / "m.lowtide", tmp_path / "known.lowtide"
    model = fitted(digits.X, 0)
    lt.save(model.features_.encode(digits.X), codes_path)

    def save(scale):
        lt.save(model.with_recipe(Recipe.scaled(64, [1 / scale] * 64)), path)

    save(1.0)
    with (
        serving([path], [codes_path]) as (address, service),
        lt.Client(address, send=send) as client,
        lt.Client(address, send=send) as other,
    ):
        labels, similar = client.predict(digits.X), other.top_k(digits.X, 3)
        save(4.0)
        assert asyncio.run(service.reload())
        np.testing.assert_array_equal(client.predict(4 * digits.X), labels)
        np.testing.assert_array_equal(other.top_k(4 * digits.X, 3).indices, similar.indices)


def test_stop_answers_the_requests_in_flight(digits):
    message = pack(digits.codes[:1])
    service = Service(Catalog.load([Named("digits", digits.path)]), Settings(port=0), KeyRing({}))
    head = f"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: {CODES}\r\n"
    head += f"content-length: {len(message)}\r\n\r\n"
    finished = threading.Event()
    with connect_after_start(service, finished) as connection:
        connection.sendall(head.encode() + message[:50])
        until(lambda: service.metrics.in_flight)
        finished.set()
        until(lambda: not service.ready)
        connection.sendall(message[50:])
        answer = everything(connection)
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in answer


def connect_after_start(service, finished):
    """Return a connection to a server that stops when the event is set."""
    place = []
    started = threading.Event()

    def live():
        with running(service) as address:
            place.append(address)
            started.set()
            finished.wait(60)

    threading.Thread(target=live, daemon=True).start()
    started.wait(60)
    return connect(place[0])


@pytest.fixture
def process(digits, tmp_path):
    command = [
        sys.executable,
        "-c",
        "from lowtide.cli.main import main; main()",
        "serve",
        str(digits.path),
        "--port",
        "0",
    ]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = running.stdout.readline()
    yield running, line.split()[-1]
    running.kill()
    running.wait()
    running.stdout.close()
    running.stderr.close()


def test_command_serves_reloads_on_sighup_and_stops_on_sigterm(process, digits):
    running, address = process
    assert ask(address, "/v1/predict", pack(digits.codes[:1])).status == 200
    os.kill(running.pid, signal.SIGHUP)
    until(lambda: b'result="done"} 0.0' not in ask(address, "/metrics").body)
    assert ask(address, "/v1/predict", pack(digits.codes[:1])).status == 200
    running.terminate()
    assert running.wait(timeout=60) in (0, -signal.SIGTERM)
    events = [json.loads(line) for line in running.stderr.read().splitlines()]
    assert [event["event"] for event in events if event["event"] != "request"] == [
        "started",
        "reloaded",
        "stopping",
        "stopped",
    ]
    asked = [event for event in events if event["event"] == "request" and event["path"] == "/v1/predict"]
    assert [event["status"] for event in asked] == [200, 200]
    assert set(asked[0]) == {
        "time",
        "level",
        "event",
        "method",
        "path",
        "status",
        "ms",
        "bytes_in",
        "bytes_out",
        "caller",
    }


def test_several_models_are_served_by_name(tmp_path, digits):
    models = {"a": fitted(digits.X, 0), "b": fitted(digits.X, 10)}
    for name, model in models.items():
        lt.save(model, tmp_path / f"{name}.lowtide")
    with serving([tmp_path / "a.lowtide", f"other={tmp_path / 'b.lowtide'}"]) as (address, _):
        listed = ask(address, "/v1/models").json
        assert [(m["name"], m["default"]) for m in listed["models"]] == [("a", True), ("other", False)]
        for name, model in (("a", models["a"]), ("other", models["b"])):
            with lt.Client(address, model=name) as client:
                np.testing.assert_array_equal(client.predict(digits.X), model.predict(digits.X))


@pytest.mark.parametrize("text", ["", "=x", "a b=x.lowtide", "../=x", "ä=x", "a" * 65 + "=x"])
def test_names_that_a_path_cannot_have_are_refused(text):
    with pytest.raises(ParameterError, match="name"):
        Named.parse(text)


def test_files_that_cannot_be_served_are_refused(tmp_path, digits):
    named = Named("digits", digits.path)
    with pytest.raises(FileAccessError):
        Catalog.load([Named("none", tmp_path / "none.lowtide")])
    with pytest.raises(FileFormatError, match="--codes"):
        Catalog.load([Named("codes", digits.codes_path)])
    lt.save(lt.CodePCA(2).fit(digits.codes), tmp_path / "pca.lowtide")
    with pytest.raises(FileFormatError, match=r"pca\.lowtide.* must hold a model or an encoder, got CodePCA"):
        Catalog.load([Named("pca", tmp_path / "pca.lowtide")])
    with pytest.raises(FileFormatError, match="Codes"):
        Catalog.load([named], [named])
    with pytest.raises(ParameterError, match="differ"):
        Catalog.load([named, named])
    with pytest.raises(ParameterError, match="model"):
        Catalog.load([])
    lt.save(digits.codes[:0], tmp_path / "empty.lowtide")
    with pytest.raises(FileFormatError, match="rows to search"):
        Catalog.load([named], [Named("empty", tmp_path / "empty.lowtide")])


def test_port_that_is_taken_is_an_error_with_a_remedy(digits, address):
    port = int(address.rsplit(":", 1)[1])
    service = Service(Catalog.load([Named("digits", digits.path)]), Settings(port=port), KeyRing({}))
    with pytest.raises(FileAccessError, match="--port"), running(service):
        pass
    service.close()


@pytest.mark.parametrize("host", ["[::1]", "nowhere.invalid", "192.0.2.1"])
def test_host_that_is_no_address_of_this_machine_is_an_error_that_says_so(digits, host):
    keys = KeyRing.from_text("correct-horse-battery")
    service = Service(Catalog.load([Named("digits", digits.path)]), Settings(host, port=0, plain_http=True), keys)
    with pytest.raises(ParameterError, match="host must be an address of this machine"), running(service):
        pass
    service.close()


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="needs the loopback address of IPv6")
def test_server_listens_on_ipv6(digits):
    with serving([digits.path], host="::1") as (address, _), lt.Client(address) as client:
        assert address.startswith("http://[::1]:")
        assert client.predict(digits.X[:5]).tolist() == digits.model.predict(digits.X[:5]).tolist()


@pytest.mark.parametrize(
    "wrong", [{"port": -1}, {"host": ""}, {"rate": 0}, {"body_bytes": 0}, {"head_seconds": 0.0}, {"rows": 1.5}]
)
def test_settings_that_cannot_be_are_refused(wrong):
    with pytest.raises(LowtideError):
        Settings(**wrong)


def test_metrics_count_requests_bytes_and_rows(digits):
    with serving([digits.path]) as (address, _):
        answered = [ask(address, "/v1/predict", pack(digits.codes[:4])).body for _ in range(3)]
        answered.append(ask(address, "/v1/nothing").body)
        text = ask(address, "/metrics").body.decode()
    assert 'lowtide_requests_total{route="/v1/predict",status="200"} 3.0' in text
    assert 'lowtide_requests_total{route="page",status="404"} 1.0' in text
    assert 'lowtide_rows_total{name="digits"} 12.0' in text
    assert f'lowtide_body_bytes_total{{direction="out"}} {float(sum(map(len, answered)))}' in text
    assert f'lowtide_body_bytes_total{{direction="in"}} {3.0 * len(pack(digits.codes[:4]))}' in text
    assert 'lowtide_request_seconds_bucket{le="+Inf",route="/v1/predict"} 3.0' in text


def test_log_survives_a_reader_who_leaves(digits):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    with serving([digits.path], stream=Gone()) as (address, service):
        ask(address, "/healthz")
        service.log.flush()
        assert ask(address, "/healthz").status == 200


def test_encoder_is_fetched_once_when_it_has_not_changed(address):
    first = ask(address, "/v1/encoder")
    again = ask(address, "/v1/encoder", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status, again.status, again.body) == (200, 304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert "content-length" not in again.headers  # it would be that of the encoder
    weak = ask(address, "/v1/encoder", headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    assert weak.status == 304


@pytest.mark.parametrize("path", ["/v1/models", "/", "/nothing"])
def test_head_has_the_headers_of_get(address, path):
    get, head = ask(address, path), ask(address, path, method="HEAD")
    assert (head.status, head.body) == (get.status, b"")
    assert {**head.headers, "date": ""} == {**get.headers, "date": ""}


def test_page_loads_nothing_from_elsewhere(digits, monkeypatch, tmp_path):
    (tmp_path / "index.html").write_text("<title>page</title>")
    monkeypatch.setattr("lowtide.serve.server._PAGE", StaticFiles(directory=tmp_path, html=True))
    with serving([digits.path], keys="one: correct-horse-battery") as (address, _):
        answer = ask(address, "/")
        assert (answer.status, answer.body) == (200, b"<title>page</title>")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert ask(address, "/", b"", method="POST").status == 405
        assert ask(address, "/app.js").is_refusal


def test_a_refused_body_is_not_kept_by_a_circle_of_frames(address):
    body = b'{"rows":[' + b"[]," * 100_000  # read in a thread, whose future holds the error
    assert ask(address, "/v1/predict", body, JSON).is_refusal
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        assert ask(address, "/v1/predict", body, JSON).is_refusal
        gc.collect()
        held = [frame for frame in gc.garbage if isinstance(frame, FrameType) and "body" in frame.f_locals]
        assert not held
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
