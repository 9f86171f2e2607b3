"""Requests over connections that stay open, each for one request at a time, repeated where that is safe."""

from __future__ import annotations

import contextlib
import email.utils
import http.client
import random
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from lowtide._checks import fail
from lowtide.errors import RequestError

__all__ = ["Answer", "Transport"]

_URL = "url must be http://host:port or https://host:port"
_AGAIN = (429, 502, 503, 504)
_LONGEST_WAIT = 30.0


@dataclass(frozen=True)
class Answer:
    """Status, headers by lower-case name, and body."""

    status: int
    headers: dict[str, str]
    body: bytes


class Transport:
    """HTTP/1.1 to one server, from any number of threads.

    Parameters
    ----------
    url : str
        http or https, with host and, where it is not the usual one, port.
    key : str or None
    timeout : float
        Seconds for each step of a request.
    retries : int
        How often a request is sent again. All requests here only read, so that is safe.
    """

    def __init__(self, url: str, key: str | None, *, timeout: float, retries: int) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except (AttributeError, TypeError, ValueError) as error:  # no text, or a host or port that cannot be one
            raise fail("Client", _URL, "one with a password" if "@" in str(url) else url) from error
        if parts.username is not None or parts.password is not None:
            raise fail("Client", "url must hold no password", "one that does", "Give the key as key=.")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise fail("Client", _URL, url)
        if key is not None and (not key.isascii() or not key.isprintable() or " " in key):
            raise fail("Client", "key must be printable characters without spaces", "others")
        self._secure = parts.scheme == "https"
        self._host, self._port, self._base = parts.hostname, port, parts.path.rstrip("/")
        self._key, self._timeout, self._retries = key, timeout, retries
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._closed = False

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Return the answer of the server, after as many attempts as it takes and is allowed."""
        sent = {"Accept": "application/json", **(headers or {})}
        if self._key is not None:
            sent["Authorization"] = f"Bearer {self._key}"
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            connection = self._taken()
            try:
                answer = self._once(connection, method, self._base + path, body, sent)
            except (OSError, http.client.HTTPException) as error:
                if last or self._closed:
                    raise RequestError(f"{self._where} must answer, got {type(error).__name__}: {error}.") from error
                self._pause(attempt, None)
                continue
            if answer.status not in _AGAIN or last:
                return answer
            self._pause(attempt, answer.headers.get("retry-after"))
        raise AssertionError("a request has at least one attempt")

    def close(self) -> None:
        """Close every connection; one that is in use, when its answer is there."""
        with self._lock:
            self._closed = True
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    @property
    def _where(self) -> str:
        return f"{'https' if self._secure else 'http'}://{self._host}:{self._port or (443 if self._secure else 80)}"

    def _once(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: dict[str, str],
    ) -> Answer:
        """Send a request over a connection; one that fails is not used again."""
        whole = True
        try:
            try:
                connection.request(method, path, body=body, headers=headers)
            except (BrokenPipeError, ConnectionResetError):
                if connection.sock is None:
                    raise
                whole = False  # who refuses a long body closes before it is read, and may have said why
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            with contextlib.suppress(OSError):
                connection.close()
            raise
        self._give_back(connection, usable=whole and not response.will_close)
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def _taken(self) -> http.client.HTTPConnection:
        with self._lock:
            if self._closed:
                raise RequestError("Client: must be open to send a request, got one that was closed.")
            if self._idle:
                return self._idle.pop()
        kind: Any = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        made: http.client.HTTPConnection = kind(self._host, self._port, timeout=self._timeout)
        return made

    def _give_back(self, connection: http.client.HTTPConnection, *, usable: bool) -> None:
        with self._lock:
            if usable and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    @staticmethod
    def _pause(attempt: int, wish: str | None) -> None:
        """Wait as long as the server wishes, or longer each time, by chance so that clients do not come together."""
        seconds = min(_LONGEST_WAIT, 0.05 * 2**attempt) * (0.5 + random.random())
        if wish is not None:
            seconds = max(seconds, min(_LONGEST_WAIT, _seconds_of(wish)))
        time.sleep(seconds)


def _seconds_of(header: str) -> float:
    """Return the seconds of a Retry-After: a number, or a date."""
    if header.isascii() and header.strip().isdigit():
        return float(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0
