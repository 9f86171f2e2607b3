"""Answer requests: the ASGI application, which counts, logs and refuses in one place, and the process that runs it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import queue
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import uvicorn
from starlette.exceptions import HTTPException
from starlette.routing import Route, Router
from starlette.staticfiles import StaticFiles
from threadpoolctl import threadpool_limits

from lowtide import _system
from lowtide._checks import fail
from lowtide.errors import FileAccessError, FingerprintMismatchError, LowtideError
from lowtide.serve.budget import return_memory
from lowtide.serve.connection import Connection, end_slow_bodies
from lowtide.serve.exchange import Call, Heads, Receive, Refusal, Send
from lowtide.serve.guard import HostList
from lowtide.serve.operations import OPERATIONS, Operation
from lowtide.serve.service import Service
from lowtide.wire import JsonRowsError

_CHORES_SECONDS = 1.0
# Objects that are made before garbage is looked for.
_OBJECTS = 20_000
_PAGE = StaticFiles(directory=Path(__file__).parent / "page", html=True, check_dir=False)
_PAGE_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
)
# What failed when no operation was found; its own words would name neither the path nor the remedy.
_WORDS = {
    404: "nothing is at this path. GET /openapi.json lists what there is.",
    405: "this path takes other methods; Allow names them.",
}
# Of JSON; rows that do not fit are 422.
_FAULTS = {"syntax": 400, "depth": 400, "most_rows": 413, "size": 413}


def create_app(service: Service) -> Gate:
    """Return the application of a service, for any ASGI server.

    Parameters
    ----------
    service : Service
    """
    return Gate(service)


class Gate:
    """The outermost application: every answer, also a refusal, is counted, logged and of one form."""

    def __init__(self, service: Service) -> None:
        self._service = service
        # By method and path: a path without a name in it needs no pattern to be matched.
        self._direct = {(each.method, each.path): each for each in OPERATIONS}
        routes = [Route(each.path, _Endpoint(service, each), methods=[each.method]) for each in OPERATIONS]
        self._router = Router(routes, redirect_slashes=False, default=_page)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        start = perf_counter()
        service = self._service
        call = Call(scope, receive, send, service.budget.lease())
        metrics, method, path = service.metrics, scope["method"], scope["path"]
        metrics.in_flight += 1
        if service.settings.proxy:
            call.pass_proxy()
        try:
            if service.hosts is not None:
                _check_host(service.hosts, call)
            operation = self._direct.get((method, path))
            if operation is not None:
                await _operate(service, operation, call)
            else:
                scope["lowtide"] = call
                scope["app"] = self  # Starlette's routes raise what they would otherwise answer in plain text
                await self._router(scope, receive, call.send)
        except Exception as error:
            refusal = self._refusal(error, call)
            _forget_frames(error)
            await call.answer(refusal.reply())
        finally:
            scope.pop("lowtide", None)  # else the two would hold each other until garbage is looked for
            call.lease.close()
            metrics.in_flight -= 1
            seconds = perf_counter() - start
            metrics.request(call.route, call.status, seconds, call.bytes_in, call.bytes_out)
            service.log.request(method, path, call.status, seconds, (call.bytes_in, call.bytes_out), call.caller)

    def _refusal(self, error: Exception, call: Call) -> Refusal:
        """Return what is said of an error; of one that was not foreseen, nothing but that."""
        if isinstance(error, Refusal):
            return error
        if isinstance(error, HTTPException):
            headers = [(name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items()]
            return Refusal(error.status_code, _WORDS.get(error.status_code, str(error.detail)), headers)
        if isinstance(error, JsonRowsError):
            return Refusal(_FAULTS.get(error.fault, 422), str(error))
        if isinstance(error, LowtideError):
            return Refusal(409 if isinstance(error, FingerprintMismatchError) else 422, str(error))
        self._service.log.failure("request failed", method=call.scope["method"], path=call.scope["path"])
        return Refusal(500, "the server failed to answer; its log says why.")


def _forget_frames(error: BaseException | None) -> None:
    """Cut an error that was answered off the frames it came through.

    One of them waits for a future that holds the error, and another has the body: a circle of megabytes that would stay
    until garbage is looked for, and then stop the server while all of them are given back.
    """
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


@dataclass(frozen=True)
class _Endpoint:
    """An operation as an ASGI application, for paths with a name in them."""

    service: Service
    operation: Operation

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        await _operate(self.service, self.operation, scope["lowtide"])


async def _operate(service: Service, operation: Operation, call: Call) -> None:
    """Answer a request for an operation."""
    call.route = operation.path
    if not operation.open:
        _admit(service, call)
    await call.answer(await operation.handler(service, call))


async def _page(scope: Any, receive: Receive, send: Send) -> None:
    """Answer with a file of the page, and with headers that let it load nothing from elsewhere."""
    call: Call = scope["lowtide"]
    call.route = "page"
    if scope["method"] not in ("GET", "HEAD"):
        raise HTTPException(405, headers={"Allow": "GET, HEAD"}) if scope["path"] == "/" else HTTPException(404)

    async def with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *_PAGE_HEADERS]
            call.status = message["status"]
        else:
            call.bytes_out += len(message.get("body", b""))
        await send(message)

    try:
        await _PAGE(scope, receive, with_headers)
    except (OSError, ValueError):  # a path that no file system takes
        raise HTTPException(404) from None


def _check_host(hosts: HostList, call: Call) -> None:
    """Refuse a request under a name that is not the server's, and one of a page from elsewhere."""
    host, origin = call.headers.get(b"host"), call.headers.get(b"origin")
    if host is None:
        raise Refusal(400, "a request must have a Host.")
    if not hosts.has(host):
        raise Refusal(421, "this server is not asked under this name. Start it with --allow-host to let it be.")
    if origin is not None and not hosts.is_own(origin, host):
        raise Refusal(403, "pages of other servers may not ask this one.")


def _admit(service: Service, call: Call) -> None:
    """Let the caller in, or refuse: a wrong key and none get the same answer, too many wrong ones wait."""
    key = _key_in(call.scope["headers"]) if len(service.keys) else None
    if key is not None:
        if service.settings.proxy and call.headers.get(b"x-forwarded-proto") != b"https":
            raise Refusal(403, "keys are taken over https alone: the proxy's X-Forwarded-Proto must say so.")
        # Before the key is looked at: an address that has guessed too often learns nothing more.
        _make_wait(service.wrong_keys.wait_left(call.caller))
    name = None if key is None else service.keys.name_of(key)
    caller = name or call.caller
    if service.rate is not None:
        _make_wait(service.rate.wait(caller))
    if len(service.keys) and name is None:
        if key is not None:
            service.wrong_keys.wait(call.caller)
            service.metrics.wrong_keys += 1
        wanted = [(b"www-authenticate", b"Bearer")]
        raise Refusal(401, "a valid key is needed: Authorization: Bearer <key>.", wanted)
    call.caller = caller


def _make_wait(seconds: float) -> None:
    """Refuse who must wait so long."""
    if seconds > 0.0:
        after = str(max(1, round(seconds + 0.5))).encode()
        raise Refusal(429, "too many requests. Retry-After says when to come again.", [(b"retry-after", after)])


def _key_in(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """Return the key that a request brings."""
    for name, value in headers:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return value[7:].strip()
        if name == b"x-api-key":
            return value.strip()
    return None


def run(service: Service, started: Callable[[str], None] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are then answered. SIGHUP loads models and keys again.

    Parameters
    ----------
    service : Service
    started : callable, optional
        Called with the address once connections are taken.
    """
    _system.raise_file_limit(service.settings.connections + 256)
    # What is loaded stays: without this, looking through it for garbage stops the server for tens of milliseconds.
    gc.collect()
    gc.freeze()
    # A request leaves a few dozen objects and no circles of them: to look for some every 700 would take a tenth of it.
    gc.set_threshold(_OBJECTS)
    with _listen(service) as listener:
        _Server(service, listener, started).serve_until_stopped()


@contextlib.contextmanager
def running(service: Service) -> Iterator[str]:
    """Serve from a thread while the context lasts; gives the address.

    Parameters
    ----------
    service : Service
    """
    ready: queue.SimpleQueue[str] = queue.SimpleQueue()
    with _listen(service) as listener:
        server = _Server(service, listener, ready.put)
        thread = threading.Thread(target=server.serve_until_stopped, name="lowtide-serve", daemon=True)
        thread.start()
        try:
            yield ready.get(timeout=60)
        finally:
            server.should_exit = True
            thread.join(timeout=2 * service.settings.stop_seconds)


class _Server(uvicorn.Server):
    """uvicorn's server, with a sweep of late connections, and a reload on SIGHUP and of files that changed."""

    def __init__(self, service: Service, listener: socket.socket, started: Callable[[str], None] | None) -> None:
        settings = service.settings
        config = uvicorn.Config(
            create_app(service),
            http=type(
                "ServedConnection",
                (Connection,),
                {"settings": settings, "metrics": service.metrics, "budget": service.budget, "heads": Heads()},
            ),
            ws="none",
            lifespan="off",
            loop="auto",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # of the addresses in X-Forwarded-For uvicorn takes the first that it does not trust
            timeout_graceful_shutdown=max(1, round(settings.stop_seconds)),
        )
        super().__init__(config)
        self._service, self._listener, self._started = service, listener, started

    def serve_until_stopped(self) -> None:
        """Serve the connections of the socket until asked to stop."""
        try:
            # Requests run side by side, not the sums of one: threads of BLAS would only wait for each other.
            with threadpool_limits(1, user_api="blas"):
                self.run(sockets=[self._listener])
        finally:
            self._service.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        self._chores = loop.create_task(self._do_chores())
        self._service.budget.make_room = partial(end_slow_bodies, self.server_state.connections)
        # Only the main thread has signals, and not every system has this one: there a changed file is what reloads.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError, AttributeError):
            loop.add_signal_handler(signal.SIGHUP, self._reload)
        host, port = self._listener.getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        log, catalog, keys = self._service.log, self._service.current.catalog, len(self._service.keys)
        log.event("started", address=address, models=[*catalog.models], databases=[*catalog.databases], keys=keys)
        if self._started is not None:
            self._started(address)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.ready = False
        self._service.log.event("stopping", in_flight=self._service.metrics.in_flight)
        await super().shutdown(sockets)
        self._chores.cancel()
        self._service.log.flush()
        self._service.log.event("stopped")

    async def _do_chores(self) -> None:
        """Close late connections, load what changed and write the log, every second, or as often as one may be late."""
        settings = self._service.settings
        every = min(_CHORES_SECONDS, settings.head_seconds, settings.body_seconds)
        watching: asyncio.Task[None] | None = None
        while True:
            await asyncio.sleep(every)
            if watching is None or watching.done():  # loading may take longer than a turn
                watching = asyncio.get_running_loop().create_task(self._service.reload_when_changed())
            now = monotonic()
            for connection in list(self.server_state.connections):
                connection.close_when_late(now)  # type: ignore[union-attr]
            self._service.log.flush()
            if self._service.budget.is_worth_returning():
                await asyncio.to_thread(return_memory)

    def _reload(self) -> None:
        self._reloading = asyncio.get_running_loop().create_task(self._service.reload())


def _listen(service: Service) -> socket.socket:
    """Return a socket that listens."""
    settings = service.settings
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        socket.getaddrinfo(settings.host, settings.port, family)  # its errors are those of the host alone
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            must, remedy = "host must be an address of this machine", "Give 127.0.0.1 or ::1, say, or 0.0.0.0 for all."
            raise fail("serve", must, settings.host, remedy) from error
        refusal = FileAccessError(
            f"serve: {settings.host}, port {settings.port}, must be free to listen on, got: "
            f"{os.strerror(error.errno or 0)}. Give another --port, or 0 for any."
        )
        refusal.errno = error.errno
        raise refusal from error
