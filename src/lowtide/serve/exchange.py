"""Requests and answers: what came, and what is said to it as JSON, numbers or a refusal, at once where it can be."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from lowtide.wire import json_numbers

if TYPE_CHECKING:
    from lowtide.serve.budget import Lease

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
_STRICT = (b"strict-transport-security", b"max-age=31536000")


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


class Heads:
    """Beginnings of answers with all headers that are the same in each, made again when the date in them changes."""

    def __init__(self) -> None:
        self._shared: Headers = []
        self._made: dict[tuple[int, bytes], bytes] = {}

    def of(self, status: int, content_type: bytes, shared: Headers) -> bytes:
        """Return the beginning of an answer of a status and a type, with the headers that uvicorn shares out."""
        if shared is not self._shared:
            self._shared, self._made = shared, {}
        head = self._made.get((status, content_type))
        if head is None:
            line = b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode())
            headers = [*shared, (b"content-type", content_type), *_ALWAYS]
            head = b"\r\n".join([line, *(name + b": " + value for name, value in headers), b""])
            self._made[status, content_type] = head
        return head


class Exchange(RequestResponseCycle):
    """A request and its answer on a connection: uvicorn's, which also gives a body and takes an answer at once.

    An answer in two messages, as applications send it, would be two calls of the system and twice the checks; of a
    short one these take longer than all else.
    """

    def __init__(self, heads: Heads, **given: Any) -> None:
        super().__init__(**given)
        self._heads = heads

    def take_body(self) -> bytes | None:
        """Return the body, None while it is not there as a whole or where nobody is there any more."""
        if self.more_body or self.disconnected or self.response_complete:
            return None
        self.flow.resume_reading()
        self.message_event.clear()
        body, self.body = bytes(self.body), bytearray()
        return body

    def take_answer(self, reply: Reply) -> bool:
        """Write a whole answer; False for one that has more to it, or that must wait for the caller to read."""
        special = reply.headers or len(reply.body) > _SENT_BYTES or self.scope["method"] == "HEAD"
        if special or self.flow.write_paused or self.response_started:
            return False
        if self.disconnected:
            return True
        head = self._heads.of(reply.status, reply.content_type, self.default_headers)
        end = b"" if self.keep_alive else b"connection: close\r\n"
        self.response_started = self.response_complete = True
        self.transport.write(b"%bcontent-length: %d\r\n%b\r\n%b" % (head, len(reply.body), end, reply.body))
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True


class Call:
    """A request while it is answered: headers looked up in place, the body read under a limit, and what is logged."""

    __slots__ = (
        "_exchange",
        "_receive",
        "_send",
        "bytes_in",
        "bytes_out",
        "caller",
        "headers",
        "is_strict",
        "lease",
        "route",
        "scope",
        "status",
    )

    def __init__(self, scope: Any, receive: Receive, send: Send, lease: Lease) -> None:
        self.scope, self._receive, self._send, self.lease = scope, receive, send, lease
        # What any other server than this one's gives is only what applications get.
        exchange = getattr(send, "__self__", None)
        self._exchange = exchange if isinstance(exchange, Exchange) else None
        self.is_strict = False  # whether browsers are told to come over https from now on
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

    def pass_proxy(self) -> None:
        """Take the caller's address from the proxy that stands before the server, and whether it came over https."""
        listed = self.headers.get(b"x-forwarded-for", b"").rpartition(b",")[2].strip().decode("latin-1")
        self.caller = listed[:_LONGEST_ADDRESS] or self.caller
        self.is_strict = self.headers.get(b"x-forwarded-proto") == b"https"

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
        whole = None if self._exchange is None else self._exchange.take_body()
        if whole is not None:
            if len(whole) > limit:
                raise _too_large(limit)
            self.lease.add(len(whole))
            self.bytes_in = len(whole)
            return whole
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

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Send a message of an answer."""
        if self.is_strict and message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], _STRICT]
        await self._send(message)

    async def answer(self, reply: Reply) -> None:
        """Send an answer, as fast as the caller takes it."""
        body = reply.body
        self.status, self.bytes_out = reply.status, len(body)
        if not self.is_strict and self._exchange is not None and self._exchange.take_answer(reply):
            return
        await self.send({"type": "http.response.start", "status": reply.status, "headers": reply.all_headers()})
        begin = 0
        if len(body) > _SENT_BYTES:
            view = memoryview(body)
            while begin + _SENT_BYTES < len(body):
                part = bytes(view[begin : begin + _SENT_BYTES])
                await self.send({"type": "http.response.body", "body": part, "more_body": True})
                begin += _SENT_BYTES
        await self.send({"type": "http.response.body", "body": body[begin:] if begin else body})


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
    members = [f'"{name}":{_text(value)}' for name, value in content.items()]
    return Reply(200, b"application/json", f"{{{','.join(members)}}}".encode("ascii"))


def _text(value: Any) -> str:
    """Return a value of an answer as JSON."""
    if type(value) is str:
        return encode_basestring_ascii(value)
    if not isinstance(value, np.ndarray):
        return _finite(value)
    if value.dtype.kind not in "if":
        return _texts(value)
    if value.size > _SMALL_ARRAY:
        return json_numbers(value).decode("ascii")
    # Lists of numbers are written by Python as by JSON, but for spaces and for what is not finite.
    text = repr(value.tolist()).replace(" ", "")
    if "n" in text:
        raise ValueError("numbers must be finite")
    return text


def _texts(values: NDArray[Any]) -> str:
    """Return labels that are texts as JSON, some at a time, so that others get Python's lock in between."""
    parts = range(0, len(values), _SMALL_ARRAY)
    return "[" + ",".join([_finite(values[i : i + _SMALL_ARRAY].tolist())[1:-1] for i in parts]) + "]"
