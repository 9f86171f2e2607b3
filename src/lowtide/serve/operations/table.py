"""Every operation of the server, in one place: routes, keys and the OpenAPI document come from here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lowtide.serve.http import Call, Reply
from lowtide.serve.operations.about import encoder, health, metrics, models, ready
from lowtide.serve.operations.answers import predict, similar

if TYPE_CHECKING:
    from lowtide.serve.service import Service

__all__ = ["OPERATIONS", "Operation", "document"]

Handler = Callable[["Service", Call], Awaitable[Reply]]


@dataclass(frozen=True)
class Operation:
    """One method on one path.

    Attributes
    ----------
    method, path : str
        `{name}` in a path is the name of a model or database.
    handler : coroutine function
    summary : str
    answer : str
        The schema of the answer, or its media type where it is no JSON.
    about : {"server", "model", "database"}
        What the path names or, without a name, takes the first of.
    open : bool
        Whether it needs no key.
    refusals : tuple of int
        Statuses besides those that every operation has.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    answer: str
    about: Literal["server", "model", "database"] = "server"
    open: bool = False
    refusals: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        """A name of its own."""
        name = self.handler.__name__
        return f"{name}_of" if "{name}" in self.path else name


async def document(service: Service, call: Call) -> Reply:
    """Give the OpenAPI document."""
    from lowtide.serve.operations.openapi import openapi_bytes

    return Reply(200, b"application/json", openapi_bytes(service))


_BODY = (408, 409, 413, 415, 422, 503)

# The one that is asked most comes first.
OPERATIONS: tuple[Operation, ...] = (
    Operation("POST", "/v1/predict", predict, "Predict with the default model", "Prediction", "model", False, _BODY),
    Operation(
        "POST",
        "/v1/models/{name}/predict",
        predict,
        "Predict with a model",
        "Prediction",
        "model",
        False,
        (404, *_BODY),
    ),
    Operation(
        "POST",
        "/v1/similar",
        similar,
        "Rows of the default database most similar to each query",
        "Neighbors",
        "database",
        False,
        (404, *_BODY),
    ),
    Operation(
        "POST",
        "/v1/databases/{name}/similar",
        similar,
        "Rows of a database most similar to each query",
        "Neighbors",
        "database",
        False,
        (404, *_BODY),
    ),
    Operation("GET", "/v1/models", models, "What is loaded", "Models"),
    Operation("GET", "/v1/encoder", encoder, "The encoder of the default model", "Encoder", "model", False, (404,)),
    Operation("GET", "/v1/models/{name}/encoder", encoder, "The encoder of a model", "Encoder", "model", False, (404,)),
    Operation("GET", "/healthz", health, "Whether the process runs", "Status", open=True),
    Operation("GET", "/readyz", ready, "Whether requests are taken", "Status", open=True, refusals=(503,)),
    Operation("GET", "/metrics", metrics, "Metrics for Prometheus", "text/plain"),
    Operation("GET", "/openapi.json", document, "This document", "Document"),
)
