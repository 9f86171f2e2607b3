"""Connections that never finish their request: service goes on, and they are closed.

python -m benchmarks.load.half_open --number 1000
"""

from __future__ import annotations

import argparse
import selectors
import socket
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import lowtide as lt
from benchmarks.load.serving import save_model, server

__all__ = ["closed_within", "half_open"]

_STARTS = (
    b"",
    b"POST /v1/predict HT",
    b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\nx-slow: ",
    b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n[[",
)


def half_open(address: str, number: int) -> list[socket.socket]:
    """Return so many connections that have sent nothing, part of a head, or part of a body."""
    place = urlsplit(address).hostname, urlsplit(address).port
    connections = []
    for i in range(number):
        connection = socket.create_connection(place, timeout=60)
        connection.sendall(_STARTS[i % len(_STARTS)])
        connections.append(connection)
    return connections


def closed_within(connections: list[socket.socket], seconds: float) -> int:
    """Return how many of the connections the server has closed after at most so many seconds."""
    waiting, end = selectors.DefaultSelector(), time.monotonic() + seconds
    for connection in connections:
        connection.setblocking(False)
        waiting.register(connection, selectors.EVENT_READ)
    closed = 0
    while closed < len(connections) and time.monotonic() < end:
        for key, _ in waiting.select(timeout=1.0):
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            try:
                rest = connection.recv(65536)
            except ConnectionResetError:
                rest = b""
            if not rest:
                closed += 1
                waiting.unregister(connection)
    return closed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load.half_open", description=__doc__)
    parser.add_argument("--number", type=int, default=1000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lowtide"
        save_model(path)
        with server(str(path), "--no-log") as (address, _), lt.Client(address) as client:
            rows = np.zeros((1, 64))
            client.predict(rows)
            connections = half_open(address, given.number)
            start, times = time.monotonic(), []
            while time.monotonic() - start < 5.0:
                begin = time.perf_counter()
                client.predict(rows)
                times.append(1e3 * (time.perf_counter() - begin))
            closed = closed_within(connections, 60)
            took = time.monotonic() - start
            client.predict(rows)
    for connection in connections:
        connection.close()
    print(
        f"{given.number} half-open connections: {len(times)} requests answered meanwhile, "
        f"{statistics.median(times):.2f} ms each, {max(times):.1f} ms at most; {closed} closed after {took:.0f} s"
    )


if __name__ == "__main__":
    main()
