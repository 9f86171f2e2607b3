"""The ASGI application: it routes requests to operations, and counts, logs and refuses in one place."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

from starlette.exceptions import HTTPException
from starlette.routing import Route, Router
from starlette.staticfiles import StaticFiles

from lowtide.errors import LowtideError
from lowtide.serve.connection import Call, Receive, Refusal, Send
from lowtide.serve.operations import OPERATIONS, Operation
from lowtide.serve.service import Service

_PAGE = Path(__file__).parent / "page"
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


def create_app(service: Service) -> Gate:
    """Return the application of a service, for any ASGI server.

    Parameters
    ----------
    service : Service
    """
    endpoints = [(operation, _Endpoint(service, operation)) for operation in OPERATIONS]
    routes = [Route(operation.path, endpoint, methods=[operation.method]) for operation, endpoint in endpoints]
    direct = {(operation.method, operation.path): endpoint for operation, endpoint in endpoints}
    return Gate(Router(routes, redirect_slashes=False, default=_Page()), service, direct)


class _Endpoint:
    """An operation as an ASGI application."""

    def __init__(self, service: Service, operation: Operation) -> None:
        self._service, self._operation = service, operation

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        visit = scope["lowtide"]
        visit.route = self._operation.path
        if not self._operation.open:
            visit.admit(self._service)
        call = Call(scope, receive)
        try:
            reply = await self._operation.handler(self._service, call)
        finally:
            visit.bytes_in = call.body_bytes
        visit.status, visit.bytes_out = reply.status, len(reply.body)
        await reply.send(send)


class _Page:
    """Files of the page, with headers that let it load nothing from elsewhere."""

    def __init__(self) -> None:
        self._files = StaticFiles(directory=_PAGE, html=True, check_dir=False)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        visit = scope["lowtide"]

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_PAGE_HEADERS]
                visit.status = message["status"]
            else:
                visit.bytes_out += len(message.get("body", b""))
            await send(message)

        visit.route = "page"
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"}) if scope["path"] == "/" else HTTPException(404)
        try:
            await self._files(scope, receive, with_headers)
        except (OSError, ValueError):  # a path that no file system takes
            raise HTTPException(404) from None


class Visit:
    """What is known of a request while it is answered: for the log and the metrics."""

    __slots__ = ("bytes_in", "bytes_out", "caller", "headers", "route", "status")

    def __init__(self, scope: Any) -> None:
        client = scope.get("client")
        self.caller: str = client[0] if client else "local"
        self.headers = scope["headers"]
        self.route, self.status, self.bytes_in, self.bytes_out = "none", 500, 0, 0

    def admit(self, service: Service) -> None:
        """Let the caller in, or refuse: a wrong key and none get the same answer."""
        keys = service.keys
        name = None
        if len(keys):
            given = _key_in(self.headers)
            name = None if given is None else keys.name_of(given)
        if service.rate is not None:
            wait = service.rate.wait(name or self.caller)
            if wait:
                after = str(max(1, round(wait + 0.5))).encode()
                raise Refusal(429, "too many requests. Retry-After says when to come again.", [(b"retry-after", after)])
        if len(keys) and name is None:
            wanted = [(b"www-authenticate", b"Bearer")]
            raise Refusal(401, "a valid key is needed: Authorization: Bearer <key>.", wanted)
        self.caller = name or self.caller


class Gate:
    """The outermost application: every answer, also a refusal, is counted, logged and of one form.

    `direct` has applications by method and path: a path without a name in it needs no pattern to be matched.
    """

    def __init__(self, app: Any, service: Service, direct: dict[tuple[str, str], Any] | None = None) -> None:
        self._app, self.service, self._direct = app, service, direct or {}

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = perf_counter()
        service, visit = self.service, Visit(scope)
        scope["lowtide"] = visit
        scope["app"] = self  # Starlette's routes raise what they would otherwise answer in plain text
        metrics = service.metrics
        metrics.in_flight += 1
        try:
            await self._direct.get((scope["method"], scope["path"]), self._app)(scope, receive, send)
        except Exception as error:
            reply = self._refusal(error, scope).reply()
            visit.status, visit.bytes_out = reply.status, len(reply.body)
            await reply.send(send)
        finally:
            metrics.in_flight -= 1
            seconds = perf_counter() - start
            metrics.request(visit.route, visit.status, seconds, visit.bytes_in, visit.bytes_out)
            size = visit.bytes_in, visit.bytes_out
            service.log.request(scope["method"], scope["path"], visit.status, seconds, size, visit.caller)

    def _refusal(self, error: Exception, scope: Any) -> Refusal:
        """Return what is said of an error; of one that was not foreseen, nothing but that."""
        if isinstance(error, Refusal):
            return error
        if isinstance(error, HTTPException):
            headers = [(name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items()]
            return Refusal(error.status_code, _WORDS.get(error.status_code, str(error.detail)), headers)
        if isinstance(error, LowtideError):
            return Refusal(422, str(error))
        self.service.log.failure("request failed", method=scope["method"], path=scope["path"])
        return Refusal(500, "the server failed to answer; its log says why.")


def _key_in(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """Return the key that a request brings."""
    for name, value in headers:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return value[7:].strip()
        if name == b"x-api-key":
            return value.strip()
    return None
