"""How long /healthz takes at most while another connection sends what should stop the server.

    python -m benchmarks.load.freeze --number 1000

Each attack is sent again and again from a process of its own until so many health checks have been answered.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import tempfile
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import lowtide as lt
from benchmarks.load.serving import memory_of, save_model, server
from benchmarks.peers.__main__ import machine_told
from benchmarks.roofline.page import put_into_page
from lowtide.tables import Categories, Indicator, Number, Recipe

__all__ = ["ATTACKS", "health_times", "post", "save_table"]

_JSON = "application/json"
_BYTES = 15 << 20
_HEALTH = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"


def post(path: str, body: bytes, kind: str = _JSON) -> bytes:
    """Return the bytes of a request."""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"connection: close\r\n\r\n" + body


def save_table(path: Path, n_cities: int = 200) -> None:
    """Write a model of a table: a number that may be missing, and a text out of many."""
    columns = [(Number(0), (("fill", 0.0),)), *((Indicator(0, i), ()) for i in range(n_cities))]
    recipe = Recipe.of_features(("size", "city"), columns, [Categories(1, tuple(f"c{i}" for i in range(n_cities)))])
    X = np.random.default_rng(0).standard_normal((200, n_cities + 1))
    model = lt.KernelClassifier(gamma="scale", n_components=256, C=1.0, metric=None, random_state=0)
    lt.save(model.fit(X, np.arange(200) % 3).with_recipe(recipe), path)


def _rows(n: int) -> list[list[float]]:
    return np.random.default_rng(0).standard_normal((n, 64)).tolist()


def _of(text: bytes, n_bytes: int = _BYTES) -> bytes:
    """Return a list of as many of the same as have so many bytes."""
    return b"[" + b",".join([text] * (n_bytes // (len(text) + 1))) + b"]"


def _table(n: int) -> bytes:
    return json.dumps([{"size": i / 7, "city": f"c{i % 200}"} for i in range(n)]).encode()


def _many_keys() -> bytes:
    members = b",".join(b'"k%d":1' % i for i in range(1_200_000))
    return b'[{"size":1,"city":"c1",' + members + b"}]"


def _tiny_chunks() -> bytes:
    head = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return head + b"transfer-encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * 500_000


def _packed() -> bytes:
    return post("/v1/predict", lt.wire.pack_rows(np.ones((60_000, 64))), lt.wire.ROWS_TYPE)


# By what is sent. The first model takes 64 numbers; `table` a number and a text; `dense` 784 numbers, by a matrix.
ATTACKS: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: _HEALTH.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"),
    "empty rows, 15 MB": lambda: post("/v1/predict", _of(b"[]")),
    "numbers of 4,200 digits, 15 MB": lambda: post("/v1/predict", _of(b"[" + b"7" * 4200 + b"]")),
    "rows of 1,000 digits a number, 15 MB": lambda: post("/v1/predict", _of(_of(b"7." + b"1" * 998, 64 * 1001))),
    "open brackets, 15 MB": lambda: post("/v1/predict", b"[" * _BYTES),
    "a number, 15 MB": lambda: post("/v1/predict", b"[[" + b"1" * _BYTES),
    "honest rows, 7 MB": lambda: post("/v1/predict?return=scores", json.dumps(_rows(5_500)).encode()),
    "honest rows, 16,000 with scores": lambda: post(
        "/v1/predict?return=scores", _of(b"[1" + b",1" * 63 + b"]", 2 << 20)
    ),
    "packed rows, 15 MB": _packed,
    "table of 65,000 rows": lambda: post("/v1/models/table/predict", _table(65_000)),
    "a text, 15 MB": lambda: post("/v1/models/table/predict", b'[[1,"' + b"x" * _BYTES + b'"]]'),
    "a text with a wide character, 15 MB": lambda: post(
        "/v1/models/table/predict", b'[[1,"' + b"x" * _BYTES + "\U00010348".encode() + b'"]]'
    ),
    "texts with escapes, 15 MB": lambda: post("/v1/models/table/predict", _of(b'[1,"' + b"\\u00e4" * 35 + b'"]')),
    "an object of 1.2 million names": lambda: post("/v1/models/table/predict", _many_keys()),
    "deep members, 15 MB": lambda: post("/v1/models/table/predict", b'[{"x":' + b'{"x":' * (_BYTES // 5)),
    "rows of a dense encoder": lambda: post(
        "/v1/models/dense/predict", json.dumps(np.ones((40, 784)).tolist()).encode()
    ),
    "chunks of a byte": _tiny_chunks,
    "requests in line": lambda: _HEALTH * 50_000,
}


def attack(address: str, request: bytes, stop: Event, sent: multiprocessing.Queue[int]) -> None:
    """Send a request again and again until told to stop."""
    place, count = (urlsplit(address).hostname, urlsplit(address).port), 0
    while not stop.is_set():
        with socket.create_connection(place, timeout=60) as connection:
            try:
                connection.sendall(request)
                while connection.recv(65536):
                    pass
            except OSError:  # refused before all was sent
                pass
        count += 1
    sent.put(count)


def health_times(address: str, number: int, pause: float = 0.002) -> list[float]:
    """Return how many milliseconds each of so many health checks took, over one connection."""
    times = []
    with socket.create_connection((urlsplit(address).hostname, urlsplit(address).port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(number):
            begin = time.perf_counter()
            connection.sendall(_HEALTH)
            answer = connection.recv(65536)
            while not answer.endswith(b"}"):
                answer += connection.recv(65536)
            times.append(1e3 * (time.perf_counter() - begin))
            if not answer.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"/healthz must be answered with 200, got {answer[:40]!r}")
            time.sleep(pause)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load.freeze", description=__doc__)
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--attack", help="only those with this in their name")
    parser.add_argument("--page", type=Path, help="page whose sentence on health checks is written anew")
    given = parser.parse_args()
    slowest, largest = {}, 0.0
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.lowtide" for name in ("plain", "table", "dense")]
        save_model(paths[0])
        save_table(paths[1])
        save_model(paths[2], n_features=784, n_components=8192, projection="iid")
        with server(*map(str, paths), "--no-log") as (address, process):
            for name, make in ATTACKS.items():
                if given.attack and given.attack not in name:
                    continue
                stop, sent = context.Event(), context.Queue()
                attacker = context.Process(target=attack, args=(address, make(), stop, sent))
                attacker.start()
                time.sleep(1.0)
                times = health_times(address, given.number)
                stop.set()
                count = sent.get(timeout=60)
                attacker.join()
                slowest[name], largest = max(times), max(largest, memory_of(process))
                print(
                    f"{name:<38}{count:5d} sent, /healthz {np.median(times):6.2f} ms median, "
                    f"{np.quantile(times, 0.99):6.2f} ms p99, {max(times):6.1f} ms slowest, "
                    f"{memory_of(process) / 1e6:5.0f} MB",
                    flush=True,
                )
    attacks = len(slowest) - ("nothing" in slowest)
    text = (
        f"{attacks} attacks, {given.number:,} health checks under each: the slowest check took "
        f"{min(slowest.values()):.0f} to {max(slowest.values()):.0f} ms, whichever attack ran, and the server had "
        f"{largest / 1e6:.0f} MB at most (`python -m benchmarks.load.freeze --number {given.number} "
        f"--page docs/guide/reliability.md`, on {machine_told()})."
    )
    print(text)
    if given.page is not None:
        put_into_page(given.page, text + "\n", "freeze")


if __name__ == "__main__":
    main()
