"""What the server says of itself and of what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lowtide
from lowtide.serve.http import Call, Problem, Reply, json_reply
from lowtide.serve.operations.answers import find_model

if TYPE_CHECKING:
    from lowtide.serve.service import Service

__all__ = ["encoder", "health", "metrics", "models", "ready"]


async def health(service: Service, call: Call) -> Reply:
    """Say that the process runs."""
    return json_reply({"status": "ok"})


async def ready(service: Service, call: Call) -> Reply:
    """Say whether requests are taken."""
    if not service.ready:
        raise Problem(503, "the server is stopping.", [(b"retry-after", b"5")])
    return json_reply({"status": "ready", "models": list(service.current.catalog.models)})


async def metrics(service: Service, call: Call) -> Reply:
    """Give the metrics in Prometheus' text format."""
    return Reply(200, service.metrics.content_type, service.metrics.text())


async def models(service: Service, call: Call) -> Reply:
    """List what is loaded."""
    return json_reply({"lowtide": lowtide.__version__, **service.current.catalog.to_json()})


async def encoder(service: Service, call: Call) -> Reply:
    """Give all that a client needs to make the codes of a model's encoder."""
    model = find_model(service, call)
    if model.document is None:
        raise Problem(404, f"the encoder of {model.name!r} is not known: it was fitted on codes alone.")
    headers = [(b"etag", model.tag), (b"cache-control", b"no-cache")]
    if model.tag in call.tags(b"if-none-match"):
        return Reply(304, b"application/json", b"", headers)
    return Reply(200, b"application/json", model.document, headers)
