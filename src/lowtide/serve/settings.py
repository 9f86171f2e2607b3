"""What a server is told: where to listen, and how much of anything it takes."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from lowtide._checks import check_integer, check_positive, fail

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Limits of a server.

    Parameters
    ----------
    host : str, default="127.0.0.1"
        Address to listen on. Keys are required unless it is a loopback address.
    port : int, default=8000
        0 takes a free one.
    body_bytes : int, default=16 MiB
        Largest body; a larger one is answered with 413.
    head_bytes : int, default=32 KiB
        Largest request line with headers; a larger one is answered with 431.
    rows : int, default=65536
        Most rows of a request.
    head_seconds, body_seconds : float, default=10 and 30
        Time for the headers, and for the body, to arrive; then 408.
    idle_seconds : float, default=75
        How long a connection may be silent between two requests.
    work_seconds : float, default=60
        Time for the answer to one request; then 503.
    stop_seconds : float, default=30
        How long requests in flight may go on when the server is asked to stop.
    connections : int, default=8192
        At most; beyond, the one that has waited longest for headers, body or its next request is closed.
    waiting_rows : int, default=262144
        Rows that may wait for one model; then 503.
    rate : float or None, default=None
        Requests a second for each key (or address, without keys), with bursts of two seconds' worth; then 429.
    batching : bool, default=True
        One product for requests that wait together.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    body_bytes: int = 16 << 20
    head_bytes: int = 32 << 10
    rows: int = 1 << 16
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 75.0
    work_seconds: float = 60.0
    stop_seconds: float = 30.0
    connections: int = 8192
    waiting_rows: int = 1 << 18
    rate: float | None = None
    batching: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.host, str) or not self.host:
            raise fail("serve", "host must be an address", self.host)
        check_integer("serve", "port", self.port, 0, 65535)
        for name in ("body_bytes", "head_bytes", "rows", "connections", "waiting_rows"):
            check_integer("serve", name, getattr(self, name), 1)
        for name in ("head_seconds", "body_seconds", "idle_seconds", "work_seconds", "stop_seconds"):
            check_positive("serve", name, getattr(self, name))
        if self.rate is not None:
            check_positive("serve", "rate", self.rate, "Or None for no limit.")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
