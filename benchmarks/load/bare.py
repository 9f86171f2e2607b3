"""The least that a Starlette server does: read the body, answer as many bytes."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["app"]


async def read(request: Request) -> Response:
    await request.body()
    return Response(b'{"model":"model","predictions":[3]}', media_type="application/json")


app = Starlette(routes=[Route("/v1/predict", read, methods=["POST"])])
