"""Report what a server does: logs as lines of JSON, and counts and times for Prometheus."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import IO, Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

_LOGGERS = ("lowtide.serve", "uvicorn.error")
# A write for each line would take as long as the answer itself.
_MOST_LINES = 256
_LONGEST = 200  # of a path
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class JsonFormatter(logging.Formatter):
    """Writes a record as one JSON object: time, level, event, and the fields it was given."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        content = {
            "time": _stamp(record.created),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            content["error"] = self.formatException(record.exc_info)
        return json.dumps(content, default=str)


class EventLog:
    """Logs what happens in a server; a request's line is written without the detours of `logging`.

    Parameters
    ----------
    stream : text stream, optional
        Where lines of requests go; None for nowhere.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._logger = logging.getLogger("lowtide.serve")
        self._stream = stream
        self._lines: list[str] = []

    def event(self, name: str, level: int = logging.INFO, **fields: Any) -> None:
        """Log something that happened to the server."""
        self._logger.log(level, name, extra={"fields": fields})

    def failure(self, name: str, **fields: Any) -> None:
        """Log an error with its traceback."""
        self._logger.exception(name, extra={"fields": fields})

    def request(self, method: str, path: str, status: int, seconds: float, size: tuple[int, int], caller: str) -> None:
        """Write the line of a request that was answered. No header, query or body is in it, so no key can be."""
        if self._stream is None:
            return
        self._lines.append(
            f'{{"time":"{_stamp(time.time())}","level":"info","event":"request",'
            f'"method":"{method}","path":{_quoted(path)},"status":{status},"ms":{seconds * 1e3:.3f},'
            f'"bytes_in":{size[0]},"bytes_out":{size[1]},"caller":{_quoted(caller)}}}\n'
        )
        if len(self._lines) >= _MOST_LINES:
            self.flush()

    def flush(self) -> None:
        """Write the lines of requests that are still in memory; the server does so once a second."""
        lines, self._lines = self._lines, []
        if self._stream is None or not lines:
            return
        try:
            self._stream.write("".join(lines))
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None  # whoever read the log is gone; requests go on


def configure_logging(stream: IO[str] | None = None) -> None:
    """Send the server's own log, and uvicorn's, to a stream (stderr) as lines of JSON."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name.startswith("lowtide") else logging.ERROR)


@lru_cache(maxsize=1024)
def _quoted(text: str) -> str:
    """Return a path or a caller as JSON; the same few come again and again."""
    return json.dumps(text[:_LONGEST])


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _stamp(seconds: float) -> str:
    return f"{_second(int(seconds))}.{int(seconds % 1 * 1000):03d}Z"


class Metrics:
    """Counts what a server has done since it started.

    A request costs two look-ups and some additions here; the client library makes its families of them when /metrics
    is read.
    """

    content_type = CONTENT_TYPE_LATEST.encode()

    def __init__(self) -> None:
        self._requests: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._seconds: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * (len(_SECONDS) + 2))
        self._bytes = {"in": 0, "out": 0}
        self._rows: defaultdict[str, int] = defaultdict(int)
        self._batches: defaultdict[str, int] = defaultdict(int)
        self._refused: defaultdict[str, int] = defaultdict(int)
        self._lock = threading.Lock()
        self.reloads = {"done": 0, "failed": 0}
        self.in_flight = 0
        self.memory: Callable[[], int] = int  # bytes that requests hold
        self.wrong_keys = 0
        self.received = 0
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def request(self, route: str, status: int, seconds: float, bytes_in: int, bytes_out: int) -> None:
        """Count a request that was answered."""
        self._requests[route, status] += 1
        times = self._seconds[route]
        times[bisect_left(_SECONDS, seconds)] += 1
        times[-1] += seconds
        self._bytes["in"] += bytes_in
        self._bytes["out"] += bytes_out

    def batch(self, name: str, n_rows: int) -> None:
        """Count a product for requests of one model or database; any thread may."""
        with self._lock:
            self._batches[name] += 1
            self._rows[name] += n_rows

    def refused(self, reason: str) -> None:
        """Count what was no request: malformed or late."""
        self._refused[reason] += 1

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return bytes(generate_latest(self._registry))

    def collect(self) -> Iterator[Any]:
        """Yield the metrics; what the client library calls."""
        requests = CounterMetricFamily("lowtide_requests", "Requests answered", labels=["route", "status"])
        for (route, status), count in list(self._requests.items()):
            requests.add_metric([route, str(status)], count)
        yield requests
        seconds = HistogramMetricFamily("lowtide_request_seconds", "Time to answer", labels=["route"])
        for route, times in list(self._seconds.items()):
            total, buckets = 0.0, []
            for bound, counted in zip((*_SECONDS, "+Inf"), times):
                total += counted
                buckets.append((str(bound), total))
            seconds.add_metric([route], buckets, sum_value=times[-1])
        yield seconds
        for name, words, counts, label in (
            ("lowtide_body_bytes", "Bytes of bodies", self._bytes, "direction"),
            ("lowtide_batches", "Products for requests that waited together", self._batches, "name"),
            ("lowtide_rows", "Rows answered", self._rows, "name"),
            ("lowtide_refused_connections", "Connections refused before a request", self._refused, "reason"),
            ("lowtide_reloads", "Reloads of models and keys", self.reloads, "result"),
        ):
            family = CounterMetricFamily(name, words, labels=[label])
            for key, count in list(counts.items()):
                family.add_metric([key], count)
            yield family
        yield CounterMetricFamily("lowtide_received_bytes", "Bytes of requests, headers included", value=self.received)
        yield CounterMetricFamily("lowtide_wrong_keys", "Requests with a key that is none", value=self.wrong_keys)
        yield GaugeMetricFamily("lowtide_memory_bytes", "Bytes of bodies, rows and answers", value=self.memory())
        yield GaugeMetricFamily("lowtide_requests_in_flight", "Requests not answered yet", value=self.in_flight)
