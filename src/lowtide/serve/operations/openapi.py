"""The OpenAPI document of what is served: the table of operations, with the sizes of each model filled in."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import lowtide
from lowtide.serve.catalog import ServedDatabase, ServedModel
from lowtide.serve.http import PROBLEM_TYPE
from lowtide.serve.operations.answers import MOST_K
from lowtide.serve.operations.schemas import SCHEMAS, row_schema
from lowtide.serve.operations.table import OPERATIONS, Operation
from lowtide.wire import CODES_TYPE, ROWS_TYPE

if TYPE_CHECKING:
    from lowtide.serve.service import Service

__all__ = ["openapi_bytes", "openapi_document"]

Json = dict[str, Any]
_EVERY = (400, 401, 429)


def openapi_bytes(service: Service) -> bytes:
    """Return the document of what is loaded now, made once."""
    current = service.current
    if current.openapi is None:
        current.openapi = json.dumps(openapi_document(service)).encode()
    return current.openapi


def openapi_document(service: Service) -> Json:
    """Return the OpenAPI 3.1 document; a path with a name is written out for every name."""
    catalog = service.current.catalog
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        subjects: list[Any] = [None]
        if operation.about == "model":
            named = list(catalog.models.values())
            subjects = named if "{name}" in operation.path else [catalog.default_model]
        elif operation.about == "database":
            found = list(catalog.databases.values())
            subjects = found if "{name}" in operation.path else found[:1]
        for subject in subjects:
            if operation.handler.__name__ == "predict" and not subject.outputs:
                continue
            path = operation.path if subject is None else operation.path.replace("{name}", subject.name)
            paths.setdefault(path, {})[operation.method.lower()] = _operation(service, operation, subject)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lowtide",
            "version": lowtide.__version__,
            "description": "Kernel machines on a few bits per feature.",
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


def _operation(service: Service, operation: Operation, subject: Any) -> Json:
    """Return the entry of an operation on one model or database."""
    name = operation.id if subject is None or "{name}" not in operation.path else f"{operation.id}_{subject.name}"
    entry: Json = {"operationId": name, "summary": operation.summary, "responses": _responses(operation)}
    if not operation.open and len(service.keys):
        entry["security"] = [{"bearer": []}, {"header": []}]
    if operation.method == "POST":
        entry["parameters"] = [_parameter(subject)]
        entry["requestBody"] = {"required": True, "content": _bodies(subject, service.settings.rows)}
    return entry


def _responses(operation: Operation) -> Json:
    is_json = "/" not in operation.answer
    schema: Json = {"$ref": f"#/components/schemas/{operation.answer}"} if is_json else {"type": "string"}
    media = "application/json" if is_json else operation.answer
    responses: Json = {"200": {"description": "The answer", "content": {media: {"schema": schema}}}}
    problem = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status in sorted({*operation.refusals, *(() if operation.open else _EVERY)}):
        responses[str(status)] = {"description": HTTPStatus(status).phrase, "content": problem}
    if operation.answer == "Encoder":
        responses["304"] = {"description": "The encoder is the one that If-None-Match names"}
    return responses


def _parameter(subject: ServedModel | ServedDatabase) -> Json:
    if isinstance(subject, ServedDatabase):
        most = min(MOST_K, subject.rows.n_rows)
        schema: Json = {"type": "integer", "minimum": 1, "maximum": most, "default": min(10, most)}
        return {"name": "k", "in": "query", "required": False, "description": "How many rows", "schema": schema}
    items = {"type": "string", "enum": list(subject.outputs)}
    return {
        "name": "return",
        "in": "query",
        "required": False,
        "description": "What to give besides predictions, with commas between",
        "style": "form",
        "explode": False,
        "schema": {"type": "array", "items": items, "minItems": 1, "uniqueItems": True},
    }


def _bodies(subject: ServedModel | ServedDatabase, most_rows: int) -> Json:
    """Return the bodies that a model or database takes."""
    reader = subject.reader
    content: Json = {}
    if reader.codes is not None:
        template = reader.codes.template
        what = f"Codes of {template.n_levels} levels of {template.bits} bits, encoder {template.fingerprint.hex()}"
        content[CODES_TYPE] = {"schema": {"description": what, "contentMediaType": CODES_TYPE}}
    if reader.n_features is not None or reader.n_components is not None:
        what = f"float32 rows of {reader.n_features} columns, or full features of {reader.n_components}"
        content[ROWS_TYPE] = {"schema": {"description": what, "contentMediaType": ROWS_TYPE}}
    if reader.n_features is not None:
        rows: Json = {"type": "array", "items": row_schema(reader.columns, reader.n_features), "maxItems": most_rows}
        wrapped: Json = {
            "type": "object",
            "properties": {"rows": rows},
            "required": ["rows"],
            "additionalProperties": False,
        }
        content["application/json"] = {"schema": {"anyOf": [wrapped, rows]}}
    return content
