"""A server for tests, and requests as a stranger would send them."""

from __future__ import annotations

import http.client
import json
import socket
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from lowtide.serve import Catalog, EventLog, KeyRing, Named, Service, Settings, running

CODES = "application/vnd.lowtide.codes; v=2"
ROWS = "application/vnd.lowtide.rows; v=2"
JSON = "application/json"


@dataclass
class Answered:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def is_refusal(self) -> bool:
        """Whether this is a refusal of the one form that refusals have."""
        kind = self.headers["content-type"] == "application/problem+json"
        return kind and self.json["status"] == self.status and set(self.json) == {"type", "title", "status", "detail"}


def ask(address, path, body=None, kind=CODES, method=None, headers=None) -> Answered:
    """Send a request over a connection of its own."""
    connection = http.client.HTTPConnection(urlsplit(address).hostname, urlsplit(address).port, timeout=60)
    sent = {**({} if kind is None or body is None else {"Content-Type": kind}), **(headers or {})}
    try:
        connection.request(method or ("GET" if body is None else "POST"), path, body=body, headers=sent)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answered(response.status, found, response.read())
    finally:
        connection.close()


def connect(address):
    return socket.create_connection((urlsplit(address).hostname, urlsplit(address).port), timeout=60)


def everything(connection):
    """Return what comes until the other side closes."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def until(condition, seconds=60.0):
    """Wait for what must come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end


@contextmanager
def serving(models, databases=(), *, finer=(), keys="", stream=None, keys_path=None, **settings):
    """Serve files from a thread; gives the address and the service."""
    catalog = Catalog.load(*([Named.parse(str(file)) for file in files] for files in (models, databases, finer)))
    ring = KeyRing.load(keys_path) if keys_path else KeyRing.from_text(keys)
    service = Service(catalog, Settings(port=0, **settings), ring, keys_path, EventLog(stream))
    with running(service) as address:
        yield address, service
