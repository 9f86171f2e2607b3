"""The connections that requests come over.

uvicorn answers malformed requests in plain text, and waits without end for headers and bodies. Here each connection
notes since when it waits and for what, and one sweep a second closes those that have waited too long: a timer for each
request would cost more than the request's own parsing. The clock is not the loop's: that one may stand still within a
turn, and then nobody has waited longest.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Collection, Iterable
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from lowtide.serve.exchange import Exchange, Heads, Refusal

if TYPE_CHECKING:
    from lowtide.serve.budget import Budget, Lease
    from lowtide.serve.observe import Metrics
    from lowtide.serve.service import Settings

# Requests that may wait in line on one connection, and pieces of a body that may be shorter than this on average: more
# of them in one packet would hold up every other connection while they are taken apart.
_MOST_IN_LINE = 128
_MOST_PIECES, _SHORT_PIECE = 2048, 16

# Of those that come again and again the parts are kept; a stranger's are not to fill the memory.
_LONG_URL, _MOST_URLS = 256, 256

# What a connection waits for; between requests the next one, and nothing while it is being answered or closed.
_HEAD, _BODY, _NEXT, _NOTHING = "head", "body", "next", "nothing"


@lru_cache(_MOST_URLS)
def _place(url: bytes) -> tuple[str, bytes, bytes]:
    """Return the path of a URL as text and as it came, and what follows the question mark."""
    parsed = httptools.parse_url(url)
    path = parsed.path.decode("ascii")
    return unquote(path) if "%" in path else path, parsed.path, parsed.query or b""


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
    heads: ClassVar[Heads] = Heads()

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
        """Begin to wait for the body, and to answer; as uvicorn does, but for upgrades, which there are none of."""
        self.waits_for, self.since = _BODY, monotonic()
        parser, scope, earlier = self.parser, self.scope, self.cycle
        version = parser.get_http_version()
        url = self.url
        path, raw_path, query = (_place if len(url) <= _LONG_URL else _place.__wrapped__)(url)
        scope["method"], scope["http_version"] = parser.get_method().decode("ascii"), version
        scope["path"], scope["raw_path"], scope["query_string"] = path, raw_path, query
        exchange = Exchange(
            self.heads,
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        self.cycle = exchange
        if earlier is None or earlier.response_complete:
            self._answer(exchange)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((exchange, self.app))

    def _answer(self, exchange: RequestResponseCycle) -> None:
        """Have the application answer a request."""
        self._answering = exchange
        task = self.loop.create_task(exchange.run_asgi(self.app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def on_message_complete(self) -> None:
        """Wait for nothing while the request is being answered; it may have been refused before its body came."""
        self._ended = True
        self.waits_for, self.since = _NEXT if self.cycle.response_complete else _NOTHING, monotonic()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Answer the next request or wait for it; the sweep ends the wait, for which uvicorn has a timer each."""
        self.server_state.total_requests += 1
        if self.pipeline:
            self._answering = self.pipeline[-1][0]
        else:
            self._let_go()
            if self.waits_for == _NOTHING:
                self.waits_for, self.since = _NEXT, monotonic()
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._answer(self.pipeline.pop()[0])

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
            self.refuse(408, f"headers must arrive within {settings.head_seconds:g} seconds.")
        elif self.waits_for == _NEXT and now - self.since > settings.idle_seconds:
            self.transport.close()
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
