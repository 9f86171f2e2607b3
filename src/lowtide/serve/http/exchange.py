"""A request and its answer, no more than the server needs of them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from lowtide.serve.http.problem import Headers, Problem

__all__ = ["Call", "Reply", "json_reply", "send_problem", "send_reply"]

_ENCODE = json.JSONEncoder(separators=(",", ":")).encode  # made once: json.dumps would make it for every call
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Call:
    """A request: headers looked up in place, the body read under a limit."""

    __slots__ = ("_receive", "body_bytes", "headers", "path_params", "scope")

    def __init__(self, scope: Any, receive: Receive) -> None:
        self.scope, self._receive = scope, receive
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.path_params: dict[str, str] = scope.get("path_params", {})
        self.body_bytes = 0

    def query(self, known: tuple[str, ...]) -> dict[str, str]:
        """Return the parameters after the question mark; refuse others, and one that comes twice."""
        text = self.scope["query_string"]
        if not text:
            return {}
        try:
            pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, max_num_fields=16, errors="strict")
        except ValueError:
            raise Problem(400, "the query must be at most 16 parameters of valid text.") from None
        names = [name for name, _ in pairs]
        if len(set(names)) != len(names) or not set(names) <= set(known):
            raise Problem(400, f"query parameters must be among {', '.join(known) or 'none'}, each given once.")
        return dict(pairs)

    def tags(self, name: bytes) -> list[bytes]:
        """Return the ETags that a header lists; who passed one on may have made it a weak one."""
        listed = self.headers.get(name)
        return [] if listed is None else [tag.strip().removeprefix(b"W/") for tag in listed.split(b",")]

    async def body(self, limit: int) -> bytes:
        """Return the whole body; refuse it as soon as it is known to be longer than the limit."""
        if self.headers.get(b"content-encoding", b"identity") != b"identity":
            raise Problem(415, "the body must not be compressed: no Content-Encoding is taken.")
        announced = self.headers.get(b"content-length")
        if announced is not None and announced.isdigit() and int(announced[:20]) > limit:
            raise _too_large(limit)
        message = await self._receive()
        parts: list[bytes] = []
        size = 0
        while True:
            if message["type"] != "http.request":
                raise Problem(408, "the body must arrive whole; the connection was closed before.")
            part = message.get("body", b"")
            size += len(part)
            if size > limit:
                raise _too_large(limit)
            if not message.get("more_body", False):
                self.body_bytes = size
                return b"".join([*parts, part]) if parts else part
            parts.append(part)
            message = await self._receive()


def _too_large(limit: int) -> Problem:
    # Closed: the rest of the body would otherwise have to be read to find the next request.
    return Problem(
        413, f"a body must have at most {limit} bytes. Send fewer rows at a time.", [(b"connection", b"close")]
    )


@dataclass(slots=True)
class Reply:
    """An answer."""

    status: int
    content_type: bytes
    body: bytes
    headers: Headers | tuple[()] = ()


def json_reply(content: Any, status: int = 200, headers: Headers | tuple[()] = ()) -> Reply:
    """Return content as JSON."""
    return Reply(status, b"application/json", _ENCODE(content).encode(), headers)


async def send_reply(send: Send, reply: Reply) -> None:
    """Send an answer."""
    headers = [*reply.headers]
    if reply.status != 304:  # whose headers are those of what is not sent
        headers = [(b"content-type", reply.content_type), (b"content-length", b"%d" % len(reply.body)), *headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


async def send_problem(send: Send, problem: Problem) -> int:
    """Send a refusal; returns the bytes of its body."""
    body = problem.body
    await send({"type": "http.response.start", "status": problem.status, "headers": problem.headers(body)})
    await send({"type": "http.response.body", "body": body})
    return len(body)
