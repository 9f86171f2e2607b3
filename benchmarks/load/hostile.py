"""Malformed, truncated, oversized and random requests: every answer must be 4xx in problem+json, none late or 5xx.

python -m benchmarks.load.hostile --number 10000
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import lowtide as lt
from benchmarks.load.serving import save_model, server
from lowtide.checksum import crc32c

__all__ = ["Attack", "attack"]

_SECONDS = 20.0
_CODES, _ROWS, _JSON = lt.wire.CODES_TYPE, lt.wire.ROWS_TYPE, "application/json"
Rng = np.random.Generator


class Attack:
    """Makes requests that no server should take, from one that it would.

    Parameters
    ----------
    message : bytes
        A message that the server answers with 200.
    limit : int
        Its largest body.
    """

    def __init__(self, message: bytes, limit: int) -> None:
        self._message, self._limit = message, limit
        self.kinds: dict[str, Callable[[Rng], bytes]] = {
            "cut": self._cut,
            "flipped": self._flipped,
            "resealed": self._resealed,
            "random": self._random,
            "json": self._json,
            "oversized": self._oversized,
            "type": self._type,
            "path": self._path,
            "header": self._header,
            "line": self._line,
            "noise": self._noise,
        }

    def request(self, kind: str, rng: Rng) -> bytes:
        """Return the bytes of one request of a kind."""
        return self.kinds[kind](rng)

    def _post(self, body: bytes, kind: str = _CODES, path: str = "/v1/predict", more: bytes = b"") -> bytes:
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n"
        return head.encode("latin-1") + more + b"connection: close\r\n\r\n" + body

    def _cut(self, rng: Rng) -> bytes:
        return self._post(self._message[: rng.integers(len(self._message))])

    def _flipped(self, rng: Rng) -> bytes:
        damaged = bytearray(self._message)
        damaged[rng.integers(len(damaged))] ^= 1 << int(rng.integers(8))
        return self._post(bytes(damaged))

    def _resealed(self, rng: Rng) -> bytes:
        """A head with other fields, and a checksum that is right."""
        damaged = bytearray(self._message[:-4])
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(4, 64)] = (damaged[rng.integers(4, 64)] + int(rng.integers(1, 256))) % 256
        if bytes(damaged) == self._message[:-4]:
            damaged[4] = 1
        return self._post(bytes(damaged) + crc32c(bytes(damaged)).to_bytes(4, "little"))

    def _random(self, rng: Rng) -> bytes:
        kind = str(rng.choice([_CODES, _ROWS, _JSON]))
        return self._post(b"\xff" + rng.bytes(int(rng.integers(2000))), kind)

    def _json(self, rng: Rng) -> bytes:
        bodies = (
            b"",
            b"{",
            b"[[1,2]]",
            b'{"rows":1}',
            b'{"rows":[["a"]]}',
            b"[[NaN]]",
            b"[" * 5000,
            b"[[1e999]]",
            b"nul",
            b'{"rows":[],"rows":[]}x',
            b'[{"a":1}]',
            b"\xff\xfe",
            b"[[" + b"9" * 5000 + b"]]",
            b"[true]",
            b"[[[1]]]",
            b"[[" + b",".join([b"true"] * 64) + b"]]",
            b"[[" + b",".join([b"1e300"] * 64) + b"]]",
            b'"text"',
            b"3",
        )
        return self._post(bodies[rng.integers(len(bodies))], _JSON)

    def _oversized(self, rng: Rng) -> bytes:
        """A body that is announced, or sent in chunks, beyond the limit."""
        head = f"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: {_CODES}\r\n"
        if rng.random() < 0.8:
            length = self._limit + int(rng.integers(1, 1 << 40))
            return f"{head}content-length: {length}\r\n\r\n".encode()
        return (
            f"{head}transfer-encoding: chunked\r\n\r\n".encode()
            + b"%x\r\n" % (self._limit + 1)
            + bytes(self._limit + 1)
            + b"\r\n0\r\n\r\n"
        )

    def _type(self, rng: Rng) -> bytes:
        kinds = ("", "text/plain", "application/vnd.lowtide.codes; v=1", "multipart/form-data", ";;;", "a" * 3000)
        kind = kinds[rng.integers(len(kinds))]
        more = b"content-encoding: gzip\r\n" if rng.random() < 0.2 else b""
        return self._post(self._message, kind, more=more)

    def _path(self, rng: Rng) -> bytes:
        paths = (
            "/v1/predict?return=all",
            "/v1/predict?k=1",
            "/v1/predict?return=scores&return=scores",
            "/v2/predict",
            "/%00",
            "/v1/models/none/predict",
            "/v1/models/%2e%2e/predict",
            "/../../etc/passwd",
            "/v1/similar?k=0",
            "/" + "a" * 5000,
            "/v1/predict?" + "&".join(f"a{i}=1" for i in range(50)),
            "/v1/predict?return=%ff",
            "/v1/encoder",
            "/v1/predict/",
        )
        return self._post(self._message, path=paths[rng.integers(len(paths))])

    def _header(self, rng: Rng) -> bytes:
        headers = (
            b"content-length: -1\r\n",
            b"content-length: 1\r\ncontent-length: 2\r\n",
            b"transfer-encoding: nonsense\r\n",
            b"bad header\r\n",
            b": empty\r\n",
            b"x: " + b"a" * 40_000 + b"\r\n",
            b"x\0y: 1\r\n",
            b"a: b\r\n" * 10_000,
            b"content-length: 99999999999999999999999\r\n",
            b"content-length: abc\r\n",
        )
        line = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\n"
        return line + headers[rng.integers(len(headers))] + b"connection: close\r\n\r\n"

    def _line(self, rng: Rng) -> bytes:
        lines = (
            b"PUT /v1/predict HTTP/1.1",
            b"DELETE /v1/models HTTP/1.1",
            b"GET /v1/predict HTTP/1.1",
            b"BREW / HTTP/1.1",
            b"POST /v1/predict HTTP/9.9",
            b"POST",
            b"GET  /nowhere HTTP/1.1",
            b"POST v1 HTTP/1.1",
            b"PRI * HTTP/2.0",
            b"CONNECT a:1 HTTP/1.1",
            b"OPTIONS * HTTP/1.1",
            b"GET /nowhere HTTP/1.1",
            b"GET /%ff%fe HTTP/1.1",
        )
        return lines[rng.integers(len(lines))] + b"\r\nhost: localhost\r\nconnection: close\r\n\r\n"

    def _noise(self, rng: Rng) -> bytes:
        return b"\x16\x03\x01" + rng.bytes(int(rng.integers(1, 500))) + b"\r\n\r\n"


def attack(address: str, requests: Attack, number: int, seed: int = 0) -> Counter[str]:
    """Send so many requests and count the answers; what is not as it must be is counted as "wrong: ..."."""
    rng = np.random.default_rng(seed)
    host, port = urlsplit(address).hostname, urlsplit(address).port
    found: Counter[str] = Counter()
    kinds = list(requests.kinds)
    for i in range(number):
        kind = kinds[i % len(kinds)]
        found[_verdict(host or "", port or 0, requests.request(kind, rng), kind)] += 1
    return found


def _verdict(host: str, port: int, request: bytes, kind: str) -> str:
    try:
        answer = _exchange(host, port, request)
    except TimeoutError:
        return f"wrong: {kind}: no answer within {_SECONDS:g} s"
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b" ")[1].decode() if head.startswith(b"HTTP/1.1 ") else "none"
    if not status.startswith("4"):
        return f"wrong: {kind}: status {status} for {request[:200]!r}"
    try:
        problem = b"content-type: application/problem+json" in head.lower() and json.loads(body)["status"] == int(
            status
        )
    except (ValueError, KeyError):
        problem = False
    return status if problem else f"wrong: {kind}: {status} is no problem+json"


def _exchange(host: str, port: int, request: bytes) -> bytes:
    """Return all that the server sends until it closes, or until its answer is whole."""
    with socket.create_connection((host, port), timeout=_SECONDS) as connection:
        parts = b""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent
            connection.sendall(request)
        while True:
            try:
                part = connection.recv(65536)
            except ConnectionResetError:
                return parts
            parts += part
            if not part or _is_whole(parts):
                return parts


def _is_whole(answer: bytes) -> bool:
    head, gap, body = answer.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return bool(gap and lengths) and len(body) >= int(lengths[0])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load.hostile", description=__doc__)
    parser.add_argument("--number", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder) / "model.lowtide", Path(folder) / "log"
        save_model(path)
        message = lt.wire.pack(lt.load(path).features_.encode(np.zeros((1, 64))))
        with server(str(path), "--max-body", "1", log=log) as (address, _):
            found = attack(address, Attack(message, 1 << 20), given.number)
            with lt.Client(address) as client:
                client.predict(np.zeros((1, 64)))
        failures = sum('"level": "error"' in line for line in log.read_text().splitlines())
    for verdict, count in sorted(found.items()):
        print(f"{count:7} {verdict}")
    print(
        f"{sum(found.values())} requests, {sum(n for v, n in found.items() if v.startswith('wrong'))} wrong answers, "
        f"{failures} errors in the log; the server goes on"
    )


if __name__ == "__main__":
    main()
