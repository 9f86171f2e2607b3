"""Requests as bytes, into the protocol of a connection that has no socket: as fast as it parses them."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np
import uvicorn
from uvicorn.server import ServerState

import lowtide as lt
from benchmarks.fuzz.changes import changed_bytes
from benchmarks.fuzz.model import DATA
from benchmarks.fuzz.running import WrongError
from lowtide.errors import RequestError
from lowtide.serve import Catalog, EventLog, KeyRing, Named, Service, Settings, create_app
from lowtide.serve.connection import Connection

__all__ = ["Requests"]

_CORPUS = Path(__file__).with_name("corpus") / "http"
_SECONDS = 5.0
_TOKENS = (
    *(b"\r\n", b"\n", b"\r", b"\0", b": ", b" ", b"\t", b"\x80", b"HTTP/1.1", b"HTTP/9.9", b"0", b"-1", b"chunked"),
    *(b"content-length: 5\r\n", b"transfer-encoding: chunked\r\n", b"expect: 100-continue\r\n", b"upgrade: h2c\r\n"),
    *(b"connection: close\r\n", b"connection: upgrade\r\n", b"host: a\r\n", b"x: " + b"a" * 40_000 + b"\r\n"),
    *(
        b"ffffffffffffffff\r\n",
        b"0\r\n\r\n",
        b"5\r\n12345\r\n",
        b"%00",
        b"%ff",
        b"..",
        b"//",
        b"?k=1",
        b"#",
        b"[",
        b"{}",
    ),
)


class _Transport(asyncio.Transport):
    """Keeps what is written, and closes when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self._closing = io.BytesIO(), False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)}.get(name, default)

    def write(self, data: Any) -> None:
        self.sent.write(data)

    def writelines(self, pieces: Any) -> None:
        self.sent.write(b"".join(pieces))

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._closing = True

    abort = close

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def set_protocol(self, protocol: Any) -> None: ...


class Requests:
    """Requests that are right, changed byte by byte, token by token, put together, and cut into pieces."""

    kinds: ClassVar[Mapping[str, int]] = {"bytes": 40, "tokens": 40, "pipeline": 20}

    def __init__(self) -> None:
        model = lt.load(DATA / "classifier.lowtide")
        message = lt.wire.pack(model.features_.encode(np.zeros((1, 5))))
        head = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: " + lt.wire.CODES_TYPE.encode()
        self._requests = [file.read_bytes() for file in sorted(_CORPUS.iterdir())]
        self._requests += [head + b"\r\ncontent-length: %d\r\n\r\n" % len(message) + message]

    def open(self, folder: Path) -> None:
        """Load the model that is asked, and begin a loop."""
        self._loop = asyncio.new_event_loop()
        catalog = Catalog.load([Named.parse(str(DATA / "classifier.lowtide"))], [])
        self._log = io.StringIO()
        settings = Settings(port=0, body_bytes=1 << 16)
        self._service = Service(catalog, settings, KeyRing.from_text(""), None, EventLog(self._log))
        # A server's connections have of the service what their class declares.
        shared = {
            name: getattr(self._service, name) for name in Connection.__annotations__ if hasattr(self._service, name)
        }
        served = type("ServedConnection", (Connection,), shared)
        self._config = uvicorn.Config(create_app(self._service), http=served, lifespan="off", log_config=None)
        self._config.load()

    def make(self, kind: str, draw: Random) -> bytes:
        """Return bytes, the first of which says into how many pieces the rest is cut."""
        data = draw.choice(self._requests)
        if kind == "pipeline":
            data = b"".join(draw.choice(self._requests) for _ in range(draw.randrange(2, 5)))
        if kind == "bytes" or (kind == "pipeline" and draw.random() < 0.7):
            data = changed_bytes(data, draw, self._requests)
        elif kind == "tokens":
            for _ in range(draw.choice((1, 1, 2, 3))):
                at = draw.choice([i for i in range(len(data) + 1) if i == 0 or data[i - 1 : i] in b" \r\n:/;=?"])
                data = data[:at] + draw.choice(_TOKENS) + data[at + draw.choice((0, 0, 1, 4)) :]
        return bytes([draw.choice((1, 1, 1, 2, 7, 200))]) + data

    def seeds(self) -> list[bytes]:
        """Return the requests, each in one piece."""
        return [b"\1" + each for each in self._requests]

    def sealed(self, data: bytes) -> tuple[str, bytes]:
        """Return the request as it is."""
        return "bytes", data or b"\1"

    def judge(self, kind: str, data: bytes) -> None:
        """Give a connection the pieces, and look at all that it answers."""
        pieces, rest = max(1, data[0]), data[1:]
        size = -(-max(1, len(rest)) // pieces)
        parts = [rest[begin : begin + size] for begin in range(0, len(rest), size)]
        sent = self._loop.run_until_complete(asyncio.wait_for(self._converse(parts), _SECONDS))
        log = self._log.getvalue()
        self._log.seek(0)
        self._log.truncate()
        if '"level": "error"' in log or "failed" in log:
            raise WrongError(f"the server noted a failure of its own: {log[-1000:]}")
        statuses = _statuses(sent)
        if any(status >= 500 for status in statuses):
            raise WrongError(f"the server answered {statuses}")
        if not any(status < 400 for status in statuses):
            raise RequestError(f"refused: {statuses}")

    async def _converse(self, parts: list[bytes]) -> bytes:
        state, transport = ServerState(), _Transport()
        protocol: Any = self._config.http_protocol_class(
            config=self._config, server_state=state, app_state={}, _loop=self._loop
        )
        protocol.connection_made(transport)
        for part in parts:
            if transport.is_closing():
                break
            protocol.data_received(part)
            await asyncio.sleep(0)
        while state.tasks and protocol.waits_for == "nothing" and not transport.is_closing():
            await asyncio.wait(state.tasks, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)
        protocol.connection_lost(None)
        if state.tasks:
            await asyncio.wait(state.tasks)
        return transport.sent.getvalue()


def _statuses(sent: bytes) -> list[int]:
    """Return the statuses of answers one after the other, each of which must be whole."""
    found = []
    while sent:
        head, gap, rest = sent.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in lines)
        if not gap or not first.startswith(b"HTTP/1.1 "):
            raise WrongError(f"the server sent what is no answer: {sent[:100]!r}")
        status = int(first.split(b" ")[1])
        # The answer to HEAD has the length of what it leaves out.
        left_out = status in (100, 304) or rest[:5] == b"HTTP/"
        size = 0 if left_out else int(fields.get(b"content-length", b"0"))
        body = rest[:size]
        if status >= 400 and body:
            try:
                json.loads(body)
            except ValueError as error:
                raise WrongError(f"a refusal must be JSON, got {body[:100]!r}") from error
        found.append(status)
        if b"transfer-encoding" in fields:  # files of the page
            return found
        sent = rest[size:]
    return found
