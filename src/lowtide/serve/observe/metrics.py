"""Counts and times for Prometheus: plain numbers while requests run, families when they are asked for."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

__all__ = ["Metrics"]

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What a server has done since it started.

    A request costs two look-ups and some additions here; the client library makes its families of them when /metrics
    is read.
    """

    content_type = CONTENT_TYPE_LATEST.encode()

    def __init__(self) -> None:
        self._requests: dict[tuple[str, int], int] = {}
        self._seconds: dict[str, list[float]] = {}
        self._bytes = {"in": 0, "out": 0}
        self._rows: dict[str, int] = {}
        self._batches: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._lock = threading.Lock()
        self.reloads = {"done": 0, "failed": 0}
        self.in_flight = 0
        self.received = 0
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def request(self, route: str, status: int, seconds: float, bytes_in: int, bytes_out: int) -> None:
        """Count a request that was answered."""
        key = route, status
        self._requests[key] = self._requests.get(key, 0) + 1
        times = self._seconds.get(route)
        if times is None:
            times = self._seconds[route] = [0.0] * (len(_SECONDS) + 2)
        times[bisect_left(_SECONDS, seconds)] += 1
        times[-1] += seconds
        self._bytes["in"] += bytes_in
        self._bytes["out"] += bytes_out

    def batch(self, name: str, n_rows: int) -> None:
        """Count a product for requests of one model or database; any thread may."""
        with self._lock:
            self._batches[name] = self._batches.get(name, 0) + 1
            self._rows[name] = self._rows.get(name, 0) + n_rows

    def refused(self, reason: str) -> None:
        """Count what was no request: malformed or late."""
        self._refused[reason] = self._refused.get(reason, 0) + 1

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
        yield GaugeMetricFamily("lowtide_requests_in_flight", "Requests not answered yet", value=self.in_flight)
