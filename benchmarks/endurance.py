"""`python -m benchmarks.endurance`: what grows over many requests, and what races between threads and forks.

`requests` sends many requests of every kind, good and bad, to a server in a process of its own and looks at its memory;
`threads` appends to a store from some threads while others read it; `forks` forks while threads are inside ops, and has
every child use the ops and the store. The exit code is 0 when nothing was lost, wrong or stuck.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import lowtide as lt
from benchmarks.crashes import LAYOUT, rows
from benchmarks.load.serving import memory_of, save_model, server

__all__ = ["forks", "requests", "threads"]

_FEATURES = 64
_CHILD_SECONDS = 30.0


def requests(number: int, folder: Path) -> dict[str, float]:
    """Send requests over one connection after the other, a hundred each; return memory after the first tenth and last.

    Four of five are answered: codes, rows, JSON and similar rows; every fifth is refused.
    """
    path = folder / "model.lowtide"
    save_model(path, n_components=1024)
    X = np.random.default_rng(0).standard_normal((8, _FEATURES))
    codes = lt.wire.pack(lt.load(path).features_.encode(X))
    body = json.dumps(X.tolist()).encode()
    bodies = [
        (lt.wire.CODES_TYPE, codes, 200),
        (lt.wire.ROWS_TYPE, lt.wire.pack_rows(X), 200),
        ("application/json", body, 200),
        ("application/json", b'{"rows": ' + body + b"}", 200),
        (lt.wire.CODES_TYPE, codes[:-1], 422),
    ]
    wrong, early = 0, 0
    with server(str(path), "--no-log") as (address, process):
        for i in range(number):
            if i % 100 == 0:
                connection = http.client.HTTPConnection(
                    urlsplit(address).hostname or "", urlsplit(address).port, timeout=60
                )
            kind, content, status = bodies[i % len(bodies)]
            connection.request("POST", "/v1/predict", body=content, headers={"Content-Type": kind})
            answer = connection.getresponse()
            answer.read()
            wrong += (answer.status == 200) != (status == 200) or answer.status >= 500
            if i == number // 10:
                early = memory_of(process)
            if i % 100 == 99:
                connection.close()
        late = memory_of(process)
    return {
        "requests": number,
        "wrong": wrong,
        "early_mb": early / 1e6,
        "late_mb": late / 1e6,
        "grown_mb": (late - early) / 1e6,
    }


def threads(seconds: float, folder: Path, writers: int = 2, readers: int = 4) -> dict[str, int]:
    """Append from threads, under a lock that says which rows are next, while others open and read all that is there."""
    path, end = folder / "threads.zarr", time.monotonic() + seconds
    next_rows, found = threading.Lock(), {"appends": 0, "rows": 0, "reads": 0, "wrong": 0}
    with lt.CodeStore.create(path, rows(0, 0), **LAYOUT) as store:

        def write() -> None:
            while time.monotonic() < end:
                with next_rows:
                    begin = store.n_rows
                    store.append(rows(begin, begin + 37), y=np.arange(begin, begin + 37))
                    found["appends"] += 1

        def read() -> None:
            known = store  # the writers' own object, and one that is opened anew in turn
            while time.monotonic() < end:
                n = known.n_rows
                good = known[:n] == rows(0, n)
                if n and known is not store:
                    good = good and np.array_equal(known.y[:n], np.arange(n))
                with count:
                    found["reads"] += 1
                    found["wrong"] += not good
                known = lt.CodeStore.open(path) if known is store else store

        count = threading.Lock()
        failures: list[BaseException] = []

        def guarded(body: Callable[[], None]) -> None:
            try:
                body()
            except BaseException as error:
                failures.append(error)

        running = [threading.Thread(target=guarded, args=(body,)) for body in [write] * writers + [read] * readers]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        store.verify()
        found["rows"], found["wrong"] = store.n_rows, found["wrong"] + len(failures)
        if failures:
            print(repr(failures[0]), file=sys.stderr)
    return found


def forks(number: int, folder: Path) -> dict[str, int]:
    """Fork while threads encode; each child encodes, and reads a store that was open before, and must get the same."""
    X = np.random.default_rng(0).standard_normal((600, _FEATURES))
    encoder = lt.RandomFeatures(n_components=1024, random_state=0).fit(X)
    expected = encoder.encode(X)
    with lt.CodeStore.create(folder / "forks.zarr", encoder) as writing:
        writing.append(expected)
    store = lt.CodeStore.open(folder / "forks.zarr")
    stop = threading.Event()

    def encode() -> None:
        while not stop.is_set():
            encoder.encode(X)

    busy = [threading.Thread(target=encode) for _ in range(2)]
    for thread in busy:
        thread.start()
    found = {"forks": number, "stuck": 0, "wrong": 0}
    try:
        for _ in range(number):
            child = os.fork()
            if child == 0:
                same = encoder.encode(X) == expected and store[:] == expected
                os._exit(0 if same else 1)
            end = time.monotonic() + _CHILD_SECONDS
            while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
                time.sleep(0.002)
            if done[0] == 0:
                found["stuck"] += 1
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            else:
                found["wrong"] += done[1] != 0
    finally:
        stop.set()
        for thread in busy:
            thread.join()
    return found


def main() -> int:
    """Run all three, print what was found as JSON, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="of threads on one store")
    parser.add_argument("--forks", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        found = {
            "requests": requests(given.requests, place),
            "threads": threads(given.seconds, place),
            "forks": forks(given.forks, place),
        }
    print(json.dumps(found, indent=2))
    return int(any(each["wrong"] or each.get("stuck", 0) for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
