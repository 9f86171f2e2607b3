"""Run a service until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import queue
import resource
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from time import monotonic

import uvicorn
from threadpoolctl import threadpool_limits

from lowtide._checks import fail
from lowtide.errors import FileAccessError
from lowtide.serve.app import create_app
from lowtide.serve.connection import Connection
from lowtide.serve.service import Service

_CHORES_SECONDS = 1.0


def run(service: Service, started: Callable[[str], None] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are then answered. SIGHUP loads models and keys again.

    Parameters
    ----------
    service : Service
    started : callable, optional
        Called with the address once connections are taken.
    """
    _raise_file_limit(service.settings.connections)
    # What is loaded stays: without this, looking through it for garbage stops the server for tens of milliseconds.
    gc.collect()
    gc.freeze()
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
    """uvicorn's server, with a sweep of late connections and a reload on SIGHUP."""

    def __init__(self, service: Service, listener: socket.socket, started: Callable[[str], None] | None) -> None:
        settings = service.settings
        config = uvicorn.Config(
            create_app(service),
            http=type("ServedConnection", (Connection,), {"settings": settings, "metrics": service.metrics}),
            ws="none",
            lifespan="off",
            loop="auto",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=max(1, round(settings.idle_seconds)),
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
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # only the main thread has signals
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
        """Close late connections and write the log, once a second, or as often as connections may be late."""
        settings = self._service.settings
        every = min(_CHORES_SECONDS, settings.head_seconds, settings.body_seconds)
        while True:
            await asyncio.sleep(every)
            now = monotonic()
            for connection in list(self.server_state.connections):
                connection.close_when_late(now)  # type: ignore[union-attr]
            self._service.log.flush()

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


def _raise_file_limit(connections: int) -> None:
    """Let the process have a file for every connection, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 256
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
