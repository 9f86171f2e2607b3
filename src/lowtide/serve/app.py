"""The ASGI application: it routes requests to operations, and counts, logs and refuses in one place."""

from __future__ import annotations

from dataclasses import dataclass
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
        self._direct = {(each.method, each.path): _Endpoint(service, each) for each in OPERATIONS}
        routes = [Route(path, endpoint, methods=[method]) for (method, path), endpoint in self._direct.items()]
        self._router = Router(routes, redirect_slashes=False, default=_page)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        start = perf_counter()
        service, call = self._service, Call(scope, receive)
        scope["lowtide"] = call
        scope["app"] = self  # Starlette's routes raise what they would otherwise answer in plain text
        metrics, method, path = service.metrics, scope["method"], scope["path"]
        metrics.in_flight += 1
        try:
            await self._direct.get((method, path), self._router)(scope, receive, send)
        except Exception as error:
            await call.answer(self._refusal(error, call).reply(), send)
        finally:
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
        if isinstance(error, LowtideError):
            return Refusal(422, str(error))
        self._service.log.failure("request failed", method=call.scope["method"], path=call.scope["path"])
        return Refusal(500, "the server failed to answer; its log says why.")


@dataclass(frozen=True)
class _Endpoint:
    """An operation as an ASGI application."""

    service: Service
    operation: Operation

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        call: Call = scope["lowtide"]
        call.route = self.operation.path
        if not self.operation.open:
            _admit(self.service, call)
        await call.answer(await self.operation.handler(self.service, call), send)


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


def _admit(service: Service, call: Call) -> None:
    """Let the caller in, or refuse: a wrong key and none get the same answer."""
    key = _key_in(call.scope["headers"]) if len(service.keys) else None
    name = None if key is None else service.keys.name_of(key)
    caller = name or call.caller
    wait = 0.0 if service.rate is None else service.rate.wait(caller)
    if wait:
        after = str(max(1, round(wait + 0.5))).encode()
        raise Refusal(429, "too many requests. Retry-After says when to come again.", [(b"retry-after", after)])
    if len(service.keys) and name is None:
        wanted = [(b"www-authenticate", b"Bearer")]
        raise Refusal(401, "a valid key is needed: Authorization: Bearer <key>.", wanted)
    call.caller = caller


def _key_in(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """Return the key that a request brings."""
    for name, value in headers:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return value[7:].strip()
        if name == b"x-api-key":
            return value.strip()
    return None
