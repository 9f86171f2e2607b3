"""Keys: wrong, missing and revoked ones are refused, and told to no one."""

from __future__ import annotations

import asyncio
import hashlib
import io
import time

import pytest
from serve.serving import ask, serving

from lowtide.errors import FileAccessError, FileFormatError, ParameterError
from lowtide.serve import Catalog, KeyRing, Named, Service, Settings
from lowtide.serve.guard import RateLimit
from lowtide.wire import pack

KEY, OTHER = "correct-horse-battery", "another-horse-battery"


@pytest.fixture(scope="module")
def guarded(digits):
    stream = io.StringIO()
    with serving([digits.path], keys=f"laptop: {KEY}\n# a comment\n\n{OTHER}", stream=stream, wrong_keys=10_000) as (
        address,
        service,
    ):
        yield address, service, stream


@pytest.mark.parametrize(
    "headers", [{"Authorization": f"Bearer {KEY}"}, {"X-API-Key": OTHER}, {"authorization": f"bearer {OTHER}"}]
)
def test_right_key_is_let_in(guarded, digits, headers):
    assert ask(guarded[0], "/v1/predict", pack(digits.codes[:1]), headers=headers).status == 200


WRONG = [
    {},
    {"Authorization": f"Bearer {KEY}x"},
    {"Authorization": f"Bearer {KEY[:-1]}"},
    {"Authorization": "Bearer "},
    {"Authorization": f"Basic {KEY}"},
    {"Authorization": KEY},
    {"X-API-Key": "laptop"},
    {"X-API-Key": "\xff\xfe"},
]


@pytest.mark.parametrize(
    "path", ["/v1/predict", "/v1/models", "/v1/encoder", "/metrics", "/openapi.json", "/v1/similar"]
)
@pytest.mark.parametrize("headers", WRONG, ids=str)
def test_wrong_key_and_none_get_the_same_answer(guarded, digits, path, headers):
    address, service, stream = guarded
    body = pack(digits.codes[:1]) if path in ("/v1/predict", "/v1/similar") else None
    answer = ask(address, path, body, headers=headers)
    assert answer.status == 401
    assert answer.is_refusal
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json == ask(address, "/v1/models").json
    service.log.flush()
    for secret in (KEY[:-1], OTHER, "\xff\xfe"):
        assert secret.encode("latin-1") not in answer.body
        assert secret not in stream.getvalue()


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_needs_no_key(guarded, path):
    assert ask(guarded[0], path).status == 200


def test_log_names_the_key_but_does_not_hold_it(guarded, digits):
    address, service, stream = guarded
    ask(address, "/v1/models", headers={"X-API-Key": KEY})
    service.log.flush()
    assert '"caller":"laptop"' in stream.getvalue()
    assert KEY not in stream.getvalue()


def test_revoked_key_is_refused_after_a_reload(digits, tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"one: {KEY}\ntwo: {OTHER}\n")
    with serving([digits.path], keys_path=path) as (address, service):
        assert ask(address, "/v1/models", headers={"X-API-Key": OTHER}).status == 200
        path.write_text(f"one: {KEY}\n")
        assert asyncio.run(service.reload())
        assert ask(address, "/v1/models", headers={"X-API-Key": OTHER}).status == 401
        assert ask(address, "/v1/models", headers={"X-API-Key": KEY}).status == 200
        path.write_text("")
        assert not asyncio.run(service.reload())
        assert ask(address, "/v1/models").status == 401


def test_memory_holds_no_key():
    ring = KeyRing.from_text(f"one: {KEY}")
    assert KEY not in repr(vars(ring))


@pytest.mark.parametrize(
    ("line", "name"),
    [("one: sha256:{}", "one"), ("one:SHA256:{}", "one"), ("sha256:{}", "key-1"), ("SHA256:{}", "key-1")],
)
def test_key_may_be_given_by_its_hash(line, name):
    given = hashlib.sha256(KEY.encode()).hexdigest()
    ring = KeyRing.from_text(line.format(given))
    assert ring.name_of(KEY.encode()) == name
    assert ring.name_of(OTHER.encode()) is None
    assert ring.name_of(given.encode()) is None


@pytest.mark.parametrize("line", ["{}", "one: {}", "one:{}"])
@pytest.mark.parametrize("key", ["c2VjcmV0LXNlY3JldA==", "c2VjcmV0LXNlY3JldC1=", "a=b=c=d=e=f=g=h=i"])
def test_key_may_hold_equals_signs(line, key):
    assert KeyRing.from_text(line.format(key)).name_of(key.encode()) is not None


@pytest.mark.parametrize(
    "text",
    [
        "short",
        "one: " + KEY + "\none: " + OTHER,
        "two words here and more",
        "a b: " + KEY,
        "sha256:" + 63 * "a",
        "sha256 : " + 64 * "a",
        "one: sha256:" + 62 * "a",
        "one: sha256:" + 64 * "x",
    ],
)
def test_keys_that_cannot_be_are_refused_without_being_repeated(text):
    with pytest.raises(FileFormatError) as error:
        KeyRing.from_text(text)
    assert KEY not in str(error.value)
    assert "short" not in str(error.value)


def test_keys_come_from_the_environment_and_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("LOWTIDE_KEYS", f"ci: {KEY}")
    path = tmp_path / "keys"
    path.write_text(OTHER)
    ring = KeyRing.load(path)
    assert ring.name_of(KEY.encode()) == "environment-ci"
    assert ring.name_of(OTHER.encode()) == "key-1"
    with pytest.raises(FileAccessError):
        KeyRing.load(tmp_path / "none")


@pytest.mark.parametrize("text", ["", "\n# laptop: not yet\n"])
def test_file_without_a_key_is_refused(tmp_path, text):
    path = tmp_path / "keys"
    path.write_text(text)
    with pytest.raises(FileFormatError, match="must hold a key"):
        KeyRing.load(path)


def test_file_of_keys_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"laptop: {KEY}\r\n", encoding="utf-8-sig")
    assert KeyRing.load(path).name_of(KEY.encode()) == "laptop"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_server_that_others_can_reach_needs_keys(digits, host):
    catalog = Catalog.load([Named("digits", digits.path)])
    with pytest.raises(ParameterError, match="keys must be given"):
        Service(catalog, Settings(host=host, port=0), KeyRing({}))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_needs_none(host):
    assert Settings(host=host).is_loopback


def test_callers_beyond_the_rate_wait(digits):
    with serving([digits.path], rate=0.001) as (address, _):
        answers = [ask(address, "/v1/models") for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 429, 429, 429]
    assert all(answer.is_refusal and 1 <= int(answer.headers["retry-after"]) <= 1001 for answer in answers[1:])


def test_rate_is_for_each_caller_and_comes_back():
    now = 0.0
    limit = RateLimit(2.0, clock=lambda: now)
    assert [limit.wait("a") for _ in range(5)] == [0.0, 0.0, 0.0, 0.0, 0.5]
    assert limit.wait("b") == 0.0
    now = 0.5
    assert limit.wait("a") == 0.0
    assert limit.wait("a") == pytest.approx(0.5)


def test_callers_that_are_forgotten_are_the_oldest(monkeypatch):
    monkeypatch.setattr("lowtide.serve.guard._MOST_CALLERS", 2)
    limit = RateLimit(1.0, clock=time.monotonic)
    for name in "abcb":
        limit.wait(name)
    assert set(limit._tokens) == {"b", "c"}
