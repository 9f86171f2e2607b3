"""Requests a second of one-bit predictions, against a bare Starlette endpoint that only reads the body.

    python -m benchmarks.load --seconds 30

One row of 4096 components a request, from wrk (Debian's package) in another process. The bare endpoint runs half its
time before and half after, so that a machine that slows down or speeds up meanwhile does the comparison no harm.
"""

from __future__ import annotations

import argparse
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import lowtide as lt
from benchmarks.load.serving import memory_of, save_model, server
from benchmarks.peers.__main__ import machine_told
from benchmarks.roofline.page import put_into_page

_LUA = """
local file = io.open("{message}", "rb")
wrk.body = file:read("*a")
file:close()
wrk.method = "POST"
wrk.headers["Content-Type"] = "{kind}"
"""


@dataclass(frozen=True)
class Outcome:
    """What wrk saw."""

    rate: float
    median_ms: float
    p99_ms: float
    failed: int
    cpu_us: float


def press(address: str, script: Path, process: int, *, connections: int, seconds: int) -> Outcome:
    """Let wrk send as much as it can."""
    before = _cpu_seconds(process)
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds}s",
        "--latency",
        "-s",
        str(script),
        f"{address}/v1/predict",
    ]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    number = int(_found(r"(\d+) requests in", text))
    errors = [int(n) for n in re.findall(r"(?:connect|read|write|timeout) (\d+)", text)]
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return Outcome(
        rate=float(_found(r"Requests/sec:\s+([\d.]+)", text)),
        median_ms=_milliseconds(_found(r"50%\s+([\d.]+\w+)", text)),
        p99_ms=_milliseconds(_found(r"99%\s+([\d.]+\w+)", text)),
        failed=sum(errors) + (int(refused[1]) if refused else 0),
        cpu_us=1e6 * (_cpu_seconds(process) - before) / number,
    )


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise RuntimeError(f"wrk must print what matches {pattern!r}, got:\n{text}")
    return match[1]


def _milliseconds(text: str) -> float:
    unit = text.lstrip("0123456789.")
    return float(text.removesuffix(unit)) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


@contextmanager
def bare_server() -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    options = [
        "--port",
        str(port),
        "--no-access-log",
        "--log-level",
        "warning",
        "--loop",
        "uvloop",
        "--http",
        "httptools",
    ]
    process = subprocess.Popen([sys.executable, "-m", "uvicorn", "benchmarks.load.bare:app", *options])
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument(
        "--log", action=argparse.BooleanOptionalAction, default=True, help="a line a request, to a file"
    )
    parser.add_argument("--batching", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--page", type=Path, help="page whose sentence on speed is written anew")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("needs wrk: apt-get install wrk")
    with tempfile.TemporaryDirectory() as folder:
        path, message, script = (Path(folder) / name for name in ("model.lowtide", "one.ltw", "post.lua"))
        save_model(path)
        message.write_bytes(lt.wire.pack(lt.load(path).features_.encode(np.ones((1, 64)))))
        script.write_text(_LUA.format(message=message, kind=lt.wire.CODES_TYPE))
        options = {"connections": given.connections, "seconds": given.seconds}
        half = {**options, "seconds": max(1, given.seconds // 2)}
        switches = ["--log" if given.log else "--no-log", "--batching" if given.batching else "--no-batching"]
        served = server(str(path), *switches, log=Path(folder) / "log")
        with bare_server() as (bare, bare_pid), served as (ours, our_pid):
            press(ours, script, our_pid, connections=given.connections, seconds=2)
            memory = memory_of(our_pid)
            first = press(bare, script, bare_pid, **half)
            outcome = press(ours, script, our_pid, **options)
            second = press(bare, script, bare_pid, **half)
            grown = memory_of(our_pid) - memory
    base = (first.rate + second.rate) / 2
    print(f"bare Starlette   {base:9.0f} requests/s, {(first.cpu_us + second.cpu_us) / 2:.0f} us of processor each")
    print(f"lowtide serve    {outcome.rate:9.0f} requests/s, {outcome.cpu_us:.0f} us of processor each")
    print(
        f"ratio            {outcome.rate / base:9.2f} of requests/s, "
        f"{(first.cpu_us + second.cpu_us) / 2 / outcome.cpu_us:.2f} by processor time"
    )
    print(f"failed           {outcome.failed:9d}")
    # A machine that is taken away for a while shows in the tails of both.
    for name, found in (("bare latency", first), ("latency", outcome), ("bare latency", second)):
        print(
            f"{name:<17}{found.median_ms:9.2f} ms median, {found.p99_ms:.2f} ms p99, "
            f"{found.p99_ms / found.median_ms:.1f} times"
        )
    print(f"memory           {memory / 1e6:9.1f} MB, {grown / 1e6:+.1f} MB after {given.seconds} s")
    if given.page is not None:
        text = (
            f"lowtide answered {outcome.rate:,.0f} requests a second and the bare endpoint {base:,.0f}, a ratio of "
            f"{outcome.rate / base:.2f}. A request took {outcome.cpu_us:.0f} us of the server's processor time and a "
            f"bare one {(first.cpu_us + second.cpu_us) / 2:.0f}; {outcome.failed} failed. (`python -m benchmarks.load "
            f"--seconds {given.seconds} --page docs/guide/serve.md`, on {machine_told()}.)"
        )
        put_into_page(given.page, text + "\n")


if __name__ == "__main__":
    main()
