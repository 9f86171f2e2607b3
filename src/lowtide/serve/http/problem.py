"""Refusals as problem+json (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus

__all__ = ["PROBLEM_TYPE", "Headers", "Problem"]

PROBLEM_TYPE = "application/problem+json"
Headers = list[tuple[bytes, bytes]]


class Problem(Exception):  # noqa: N818
    """A request that is refused: status, a sentence that says why, and headers that belong to it.

    Attributes
    ----------
    status : int
    detail : str
        For whoever sent the request: nothing of the server's inside, and nothing secret.
    extra : list of (bytes, bytes)
        Headers.
    """

    def __init__(self, status: int, detail: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(detail)
        self.status, self.detail, self.extra = status, detail, list(headers)

    @property
    def body(self) -> bytes:
        """The JSON of the problem."""
        title = HTTPStatus(self.status).phrase
        content = {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail}
        return json.dumps(content, separators=(",", ":")).encode()

    def headers(self, body: bytes) -> Headers:
        """Return the headers of the answer with this body."""
        length = (b"content-length", str(len(body)).encode())
        return [(b"content-type", PROBLEM_TYPE.encode()), length, (b"cache-control", b"no-store"), *self.extra]

    def raw(self) -> bytes:
        """Return the whole answer, for where no request could be made of what came; the connection closes after it."""
        body = self.body
        phrase = HTTPStatus(self.status).phrase
        lines = [f"HTTP/1.1 {self.status} {phrase}".encode()]
        lines += [name + b": " + value for name, value in self.headers(body)]
        return b"\r\n".join([*lines, b"connection: close", b"", body])
