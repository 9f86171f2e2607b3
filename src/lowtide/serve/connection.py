"""Requests, answers and refusals, and the connections they come over.

uvicorn answers malformed requests in plain text, and waits without end for headers and bodies. Here each connection
notes since when it waits and for what, and one sweep a second closes those that have waited too long: a timer for each
request would cost more than the request's own parsing. The clock is not the loop's: that one may stand still within a
turn, and then nobody has waited longest.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lowtide.wire import json_numbers

if TYPE_CHECKING:
    from lowtide.serve.budget import Budget, Lease
    from lowtide.serve.observe import Metrics
    from lowtide.serve.service import Settings

REFUSAL_TYPE = "application/problem+json"
Headers = list[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_encoded = json.JSONEncoder(separators=(",", ":")).encode  # made once: json.dumps would make it for every call
_finite = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_SMALL_ARRAY = 1 << 10
_LONGEST_ADDRESS = 64
# Of an answer that are given to a connection at a time: the rest waits where it is counted.
_SENT_BYTES = 1 << 18
# No answer is taken for what it does not say it is, and none is read by pages from elsewhere.
_ALWAYS: Headers = [(b"x-content-type-options", b"nosniff"), (b"cross-origin-resource-policy", b"same-origin")]


class Refusal(Exception):  # noqa: N818
    """A request that is refused, answered as problem+json (RFC 9457): status, reason and headers.

    The reason, `detail`, is for whoever sent the request: nothing of the server's inside, and nothing secret.
    """

    def __init__(self, status: int, detail: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(detail)
        self.status, self.detail, self.extra = status, detail, list(headers)

    def reply(self) -> Reply:
        """Return the answer that says why."""
        title = HTTPStatus(self.status).phrase
        content = {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail}
        headers = [(b"cache-control", b"no-store"), *self.extra]
        return Reply(self.status, REFUSAL_TYPE.encode(), _encoded(content).encode(), headers)

    def raw(self) -> bytes:
        """Return the whole answer, for where no request could be made of what came; the connection closes after it."""
        reply = self.reply()
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}".encode()]
        lines += [name + b": " + value for name, value in reply.all_headers() if name != b"connection"]
        return b"\r\n".join([*lines, b"connection: close", b"", reply.body])


class Call:
    """A request while it is answered: headers looked up in place, the body read under a limit, and what is logged."""

    __slots__ = ("_receive", "bytes_in", "bytes_out", "caller", "headers", "lease", "route", "scope", "status")

    def __init__(self, scope: Any, receive: Receive, lease: Lease) -> None:
        self.scope, self._receive, self.lease = scope, receive, lease
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        client = scope.get("client")
        self.caller: str = client[0] if client else "local"
        self.route, self.status, self.bytes_in, self.bytes_out = "none", 500, 0, 0

    def query(self, known: tuple[str, ...]) -> dict[str, str]:
        """Return the parameters after the question mark; refuse others, and one that comes twice."""
        text = self.scope["query_string"]
        if not text:
            return {}
        try:
            pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, max_num_fields=16, errors="strict")
        except ValueError:
            raise Refusal(400, "the query must be at most 16 parameters of valid text.") from None
        names = [name for name, _ in pairs]
        if len(set(names)) != len(names) or not set(names) <= set(known):
            raise Refusal(400, f"query parameters must be among {', '.join(known) or 'none'}, each given once.")
        return dict(pairs)

    def pass_proxy(self) -> bool:
        """Take the caller's address from the proxy that stands before the server; whether it was asked over https."""
        listed = self.headers.get(b"x-forwarded-for", b"").rpartition(b",")[2].strip().decode("latin-1")
        self.caller = listed[:_LONGEST_ADDRESS] or self.caller
        return self.headers.get(b"x-forwarded-proto") == b"https"

    def tags(self, name: bytes) -> list[bytes]:
        """Return the ETags that a header lists; who passed one on may have made it a weak one."""
        listed = self.headers.get(name)
        return [] if listed is None else [tag.strip().removeprefix(b"W/") for tag in listed.split(b",")]

    async def body(self, limit: int) -> bytes | bytearray:
        """Return the whole body; refuse it as soon as it is known to be longer than the limit."""
        if self.headers.get(b"content-encoding", b"identity") != b"identity":
            raise Refusal(415, "the body must not be compressed: no Content-Encoding is taken.")
        announced = self.headers.get(b"content-length")
        if announced is not None and announced.isdigit() and int(announced[:20]) > limit:
            raise _too_large(limit)
        # As one array that grows: pieces of a byte each would take forty times their size.
        body: bytes | bytearray = b""
        more = True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                raise Refusal(408, "the body must arrive whole; the connection was closed before.")
            part = message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) + len(part) > limit:
                raise _too_large(limit)
            self.lease.add(len(part))
            if not body:
                body = part if not more else bytearray(part)
            else:
                body += part
        self.bytes_in = len(body)
        return body

    async def left(self) -> None:
        """Wait until the caller has gone away; the body must have been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def answer(self, reply: Reply, send: Send) -> None:
        """Send an answer, as fast as the caller takes it."""
        body = reply.body
        self.status, self.bytes_out = reply.status, len(body)
        await send({"type": "http.response.start", "status": reply.status, "headers": reply.all_headers()})
        begin = 0
        if len(body) > _SENT_BYTES:
            view = memoryview(body)
            while begin + _SENT_BYTES < len(body):
                part = bytes(view[begin : begin + _SENT_BYTES])
                await send({"type": "http.response.body", "body": part, "more_body": True})
                begin += _SENT_BYTES
        await send({"type": "http.response.body", "body": body[begin:] if begin else body})


def _too_large(limit: int) -> Refusal:
    # Closed: the rest of the body would otherwise have to be read to find the next request.
    closing = [(b"connection", b"close")]
    return Refusal(413, f"a body must have at most {limit} bytes. Send fewer rows at a time.", closing)


@dataclass(slots=True)
class Reply:
    """An answer: status, body and headers."""

    status: int
    content_type: bytes
    body: bytes
    headers: Headers | tuple[()] = ()

    def all_headers(self) -> Headers:
        """Return the headers, those of the body included."""
        if self.status == 304:  # whose headers are those of what is not sent
            return [*_ALWAYS, *self.headers]
        length = (b"content-length", b"%d" % len(self.body))
        return [(b"content-type", self.content_type), length, *_ALWAYS, *self.headers]


def json_reply(content: Any) -> Reply:
    """Return content as JSON."""
    return Reply(200, b"application/json", _encoded(content).encode())


def answer_reply(content: Mapping[str, Any]) -> Reply:
    """Return an object as JSON whose values may be arrays; large ones of numbers are written without Python's lock."""
    small: dict[str, Any] = {}
    large = []
    for name, value in content.items():
        if not isinstance(value, np.ndarray):
            small[name] = value
        elif value.size <= _SMALL_ARRAY:
            small[name] = value.tolist()
        else:
            large.append(b'"%s":%s' % (name.encode(), _large_text(value)))
    text = _finite(small).encode()
    if large:
        text = text[:-1] + (b"," if small else b"") + b",".join(large) + b"}"
    return Reply(200, b"application/json", text)


def _large_text(values: NDArray[Any]) -> bytes:
    """Return an array as JSON; labels that are texts some at a time, so that others get Python's lock in between."""
    if values.dtype.kind in "if":
        return json_numbers(values)
    parts = range(0, len(values), _SMALL_ARRAY)
    return b"[" + b",".join([_finite(values[i : i + _SMALL_ARRAY].tolist())[1:-1].encode() for i in parts]) + b"]"


# Requests that may wait in line on one connection, and pieces of a body that may be shorter than this on average: more
# of them in one packet would hold up every other connection while they are taken apart.
_MOST_IN_LINE = 128
_MOST_PIECES, _SHORT_PIECE = 2048, 16

# What a connection waits for; between requests the next one, and nothing while it is being answered or closed.
_HEAD, _BODY, _NEXT, _NOTHING = "head", "body", "next", "nothing"


class _Flow(FlowControl):
    """uvicorn's flow control, which also reads nothing while requests wait in line: they would wait in memory."""

    def __init__(self, transport: Any, pipeline: Collection[Any]) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        """Read again, unless a request is in line."""
        if self.read_paused and not self._pipeline:
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits of its own; a server makes a class of it that has its settings."""

    settings: ClassVar[Settings]
    metrics: ClassVar[Metrics]
    budget: ClassVar[Budget]

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        self.waits_for, self.since, self._head_bytes = _HEAD, monotonic(), 0
        self._unsent, self._unsent_since = 0, 0.0
        self._answering: Any = None
        self._ended = False
        self._in_line: Lease | None = None  # bytes of requests that wait for the one before
        self._pieces = self._piece_bytes = 0
        self._why_not = "this is no valid HTTP request"
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        if len(self.connections) > self.settings.connections:
            _make_room(self.connections, self.settings.connections)

    def data_received(self, data: bytes) -> None:
        """Take what has come, unless the head of a request grows too long."""
        self.metrics.received += len(data)
        self._ended = False
        super().data_received(data)
        size, most = 0, self.settings.head_bytes
        if self.waits_for == _HEAD:
            # What came together with the end of an earlier request is mostly that.
            self._head_bytes += 0 if self._ended else len(data)
            size = self._head_bytes
        elif self.waits_for == _NEXT:
            # An empty line between requests ends uvicorn's wait for the next one, and begins none.
            self.waits_for, self.since = _HEAD, monotonic()
        elif len(data) > most:  # a long head may have come in one piece with what follows it
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > most:
            self.refuse(431, f"request line and headers must have at most {most} bytes.")
        elif self.pipeline:
            self._hold(len(data))

    def _hold(self, n_bytes: int) -> None:
        """Count what has come for requests that wait in line."""
        if self._in_line is None:
            self._in_line = self.budget.lease()
        try:
            self._in_line.add(n_bytes)
        except Refusal as refusal:
            self.refuse(refusal.status, refusal.detail, refusal.extra)

    def _let_go(self) -> None:
        if self._in_line is not None:
            self._in_line.close()
            self._in_line = None

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body, unless there are too many that are too short."""
        self._pieces += 1
        self._piece_bytes += len(body)
        if self._pieces > _MOST_PIECES and self._piece_bytes < _SHORT_PIECE * self._pieces:
            self._not_http("chunks of a body must be longer")
        super().on_body(body)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of the head; a first one is waited for since the connection was made."""
        if len(self.pipeline) >= _MOST_IN_LINE:
            self._not_http(f"at most {_MOST_IN_LINE} requests may wait in line on one connection")
        self._pieces = self._piece_bytes = 0
        if self.waits_for != _HEAD:
            self.waits_for, self.since = _HEAD, monotonic()
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to wait for the body."""
        self.waits_for, self.since = _BODY, monotonic()
        super().on_headers_complete()
        if not self.pipeline:
            self._answering = self.cycle

    def on_message_complete(self) -> None:
        """Wait for nothing while the request is being answered; it may have been refused before its body came."""
        self._ended = True
        self.waits_for, self.since = _NEXT if self.cycle.response_complete else _NOTHING, monotonic()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request, as long as uvicorn's own timer allows."""
        if self.pipeline:
            self._answering = self.pipeline[-1][0]
        else:
            self._let_go()
            if self.waits_for == _NOTHING:
                self.waits_for, self.since = _NEXT, monotonic()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell also the requests that came before the last one."""
        super().connection_lost(exc)
        self._let_go()
        self._part()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self.refuse(400, f"{self._why_not}.")

    def _not_http(self, why: str) -> NoReturn:
        """Stop the parser, which makes a 400 of it."""
        self._why_not = why
        raise ValueError(why)

    def refuse(self, status: int, detail: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Answer without a request, and close."""
        self.metrics.refused(f"{status}")
        self.waits_for = _NOTHING
        if not self.transport.is_closing():
            if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
                self.transport.write(Refusal(status, detail, headers).raw())
            self.transport.close()
        self._part()

    def _part(self) -> None:
        """Tell whoever still reads a body or writes an answer that there is nobody there."""
        for cycle in (self._answering, self.cycle, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def close_when_late(self, now: float) -> None:
        """Refuse a head or body that has not arrived in time; drop a caller who does not take the answer."""
        settings, unsent = self.settings, self.transport.get_write_buffer_size()
        if unsent != self._unsent:  # unsent bytes that stay as many for too long are the server's memory
            self._unsent, self._unsent_since = unsent, now
        elif unsent and now - self._unsent_since > settings.body_seconds:
            self.metrics.refused("stalled")
            self.transport.abort()
            self._part()
        if self.flow.read_paused:
            self.since = now  # not read from, so the wait is not the caller's
        elif self.waits_for == _HEAD and now - self.since > settings.head_seconds:
            if self.timeout_keep_alive_task is None:
                self.refuse(408, f"headers must arrive within {settings.head_seconds:g} seconds.")
        elif self.waits_for == _BODY and now - self.since > settings.body_seconds:
            self.refuse(408, f"a body must arrive within {settings.body_seconds:g} seconds.")

    def give_way(self) -> None:
        """Close to make room for another connection: with a word to whoever has begun a request."""
        if self.waits_for == _NEXT:
            self.metrics.refused("idle")
            self.transport.close()
        else:
            self.refuse(503, "there are too many connections.")


# Of bodies that are ended for want of memory: how long they have had to arrive, and how many at a time.
_PATIENCE, _MOST_ENDED = 1.0, 16


def end_slow_bodies(connections: Iterable[Any]) -> None:
    """Close those whose bodies have been waited for longest, for more than a second."""
    late = monotonic() - _PATIENCE
    slow = [each for each in connections if each.waits_for == _BODY and each.since < late]
    for each in heapq.nsmallest(_MOST_ENDED, slow, key=lambda each: each.since):
        each.refuse(503, "the server's memory is needed for other requests.", [(b"retry-after", b"1")])


def _make_room(connections: set[Any], most: int) -> None:
    """Close those that have waited longest when there are too many; none that is being answered."""
    # Those that are already closing stay in the set until the loop has come to them.
    there = [each for each in connections if not each.transport.is_closing()]
    if len(there) > most:
        waiting = [each for each in there if each.waits_for != _NOTHING]
        # Some at a time: to look through all of them for each new one would let a flood of those stop the server.
        for each in heapq.nsmallest(1 + most // 64, waiting, key=lambda each: each.since):
            each.give_way()
