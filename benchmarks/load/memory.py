"""Connections that send part of a body and stop: the server's memory stays within its limit, and comes back.

    python -m benchmarks.load.memory --number 8192 --kilobytes 256 --memory 256

Prints the resident memory before, the most while the connections are there, and after they are closed.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import selectors
import socket
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import lowtide as lt
from benchmarks.load.serving import memory_of, save_model, server

__all__ = ["unfinished"]

_HEAD = "POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n"


def unfinished(address: str, number: int, n_bytes: int, announced: int) -> list[socket.socket]:
    """Return connections that have each begun a body of a size that was announced; some may have been refused."""
    place = urlsplit(address).hostname, urlsplit(address).port
    waiting, rest = selectors.DefaultSelector(), {}
    connections = []
    for _ in range(number):
        connection = socket.create_connection(place, timeout=60)
        connection.setblocking(False)
        connections.append(connection)
        rest[connection] = memoryview(_HEAD.format(announced).encode() + b"[" * n_bytes)
        waiting.register(connection, selectors.EVENT_WRITE)
        _send(waiting, rest, 0.0)
    end = time.monotonic() + 60
    while rest and time.monotonic() < end:
        _send(waiting, rest, 0.1)
    return connections


def _send(waiting: selectors.BaseSelector, rest: dict[socket.socket, memoryview], timeout: float) -> None:
    """Send what can be sent; who is done, or refused, stays as it is."""
    for key, _ in waiting.select(timeout):
        connection = key.fileobj
        assert isinstance(connection, socket.socket)
        try:
            rest[connection] = rest[connection][connection.send(rest[connection][: 1 << 16]) :]
        except BlockingIOError:
            continue
        except OSError:
            rest[connection] = memoryview(b"")
        if not rest[connection]:
            del rest[connection]
            waiting.unregister(connection)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load.memory", description=__doc__)
    parser.add_argument("--number", type=int, default=8192)
    parser.add_argument("--kilobytes", type=int, default=256, help="that each connection sends of its body")
    parser.add_argument("--memory", type=int, default=256, help="the server's limit, in MB")
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, given.number + 100), hard))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lowtide"
        save_model(path)
        with (
            server(str(path), "--no-log", "--memory", str(given.memory)) as (address, process),
            lt.Client(address) as client,
        ):
            rows = np.zeros((1, 64))
            client.predict(rows)
            before = memory_of(process)
            connections = unfinished(address, given.number, given.kilobytes << 10, 15 << 20)
            most, times = memory_of(process), []
            for _ in range(100):
                begin = time.perf_counter()
                client.predict(rows)
                times.append(1e3 * (time.perf_counter() - begin))
                most = max(most, memory_of(process))
            for connection in connections:
                connection.close()
            time.sleep(8.0)
            client.predict(rows)
            after = memory_of(process)
    print(
        f"{given.number} connections with {given.kilobytes} kB of an unfinished body each, limit {given.memory} MB: "
        f"{before / 1e6:.0f} MB before, {most / 1e6:.0f} MB at most, {after / 1e6:.0f} MB after; "
        f"{len(times)} predictions meanwhile, {max(times):.1f} ms at most"
    )


if __name__ == "__main__":
    main()
