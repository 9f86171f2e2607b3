"""Connections: what is no HTTP, what is too long and what does not arrive is refused like everything else.

uvicorn answers malformed requests in plain text, and waits without end for headers and bodies. Here each connection
notes since when it waits and for what, and one sweep a second closes those that have waited too long: a timer for each
request would cost more than the request's own parsing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lowtide.serve.http.problem import Problem

if TYPE_CHECKING:
    from lowtide.serve.observe import Metrics
    from lowtide.serve.settings import Settings

__all__ = ["Connection", "close_late", "connection_class"]

_HEAD, _BODY, _ANSWER = "head", "body", "answer"


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits of its own; `connection_class` gives it settings."""

    settings: ClassVar[Settings]
    metrics: ClassVar[Metrics]

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        self.waits_for, self.since, self._head_bytes = _HEAD, self.loop.time(), 0
        self._unsent, self._unsent_since = 0, 0.0
        super().connection_made(transport)
        if len(self.connections) > self.settings.connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Take what has come, unless the head of a request grows too long."""
        self.metrics.received += len(data)
        super().data_received(data)
        if self.waits_for == _HEAD:
            self._head_bytes += len(data)
            if self._head_bytes > self.settings.head_bytes:
                self.refuse(431, f"request line and headers must have at most {self.settings.head_bytes} bytes.")
        elif self.waits_for == _ANSWER and self.cycle.response_complete:
            # An empty line between requests ends uvicorn's wait for the next one, and begins none.
            self.waits_for, self.since = _HEAD, self.loop.time()
        elif len(data) > self.settings.head_bytes:
            self._check_head()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of the head."""
        self.waits_for, self.since, self._head_bytes = _HEAD, self.loop.time(), 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to wait for the body."""
        self.waits_for, self.since = _BODY, self.loop.time()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait for nothing: uvicorn's own timer closes connections between requests."""
        self.waits_for = _ANSWER
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self.refuse(400, "this is no valid HTTP request.")

    def refuse(self, status: int, detail: str) -> None:
        """Answer without a request, and close."""
        self.metrics.refused(f"{status}")
        if not self.transport.is_closing():
            if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
                self.transport.write(Problem(status, detail).raw())
            self.transport.close()
        self._part()

    def _part(self) -> None:
        """Tell whoever still reads the body or writes the answer that there is nobody there."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def close_when_late(self, now: float) -> None:
        """Refuse a head or body that has not arrived in time; drop a caller who does not take the answer."""
        self._drop_when_stalled(now)
        if self.waits_for == _HEAD and now - self.since > self.settings.head_seconds:
            if self.timeout_keep_alive_task is None:
                self.refuse(408, f"headers must arrive within {self.settings.head_seconds:g} seconds.")
        elif self.waits_for == _BODY and now - self.since > self.settings.body_seconds:
            self.refuse(408, f"a body must arrive within {self.settings.body_seconds:g} seconds.")

    def _drop_when_stalled(self, now: float) -> None:
        """Close a connection whose unsent bytes have stayed as many for too long: their memory is the server's."""
        unsent = self.transport.get_write_buffer_size()
        if unsent != self._unsent:
            self._unsent, self._unsent_since = unsent, now
        elif unsent and now - self._unsent_since > self.settings.body_seconds:
            self.metrics.refused("stalled")
            self.transport.abort()
            self._part()

    def _check_head(self) -> None:
        """Refuse a long head that came in one piece with what follows it."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.settings.head_bytes:
            self.refuse(431, f"request line and headers must have at most {self.settings.head_bytes} bytes.")

    def _make_room(self) -> None:
        """Close the connection that has waited longest for a head."""
        waiting = [other for other in self.connections if isinstance(other, Connection) and other.waits_for == _HEAD]
        if waiting:
            min(waiting, key=lambda other: other.since).refuse(503, "there are too many connections.")


def connection_class(settings: Settings, metrics: Metrics) -> type[Connection]:
    """Return the protocol of a server with these settings."""
    return type("ServedConnection", (Connection,), {"settings": settings, "metrics": metrics})


def close_late(connections: set[Any], now: float) -> None:
    """Close the connections that have waited too long."""
    for connection in list(connections):
        connection.close_when_late(now)
