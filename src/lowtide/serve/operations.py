"""Every operation of the server in one table, its handlers, and the OpenAPI document that is made of it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

import lowtide
from lowtide.serve.catalog import ServedDatabase
from lowtide.serve.connection import REFUSAL_TYPE, Call, Refusal, Reply, json_reply
from lowtide.serve.model import Output, ServedModel
from lowtide.tables import Recipe
from lowtide.wire import CODES_TYPE, ROWS_TYPE

if TYPE_CHECKING:
    from lowtide.serve.service import Service

Json = dict[str, Any]
_DEFAULT_K, _MOST_K = 10, 1000
_MADE_BY = b"lowtide-encoder"  # header
# Statuses of every operation that needs a key, and of those that take a body.
_EVERY = (400, 401, 429)
_BODY = (408, 409, 413, 415, 422, 503)


async def predict(service: Service, call: Call) -> Reply:
    """Answer with predictions, and with scores and probabilities where they are asked for."""
    current = service.current
    model = _find_model(service, call)
    if not model.outputs:
        raise Refusal(404, f"{model.name!r} is an encoder: it predicts nothing.")
    wanted = call.query(("return",)).get("return")
    outputs: tuple[Output, ...] = ("predictions",) if wanted is None else _outputs(model, wanted)
    _check_made_by(call, [model])
    query = await service.read(model.reader, call)
    content = {"model": model.name, **await current.predict(model, query, outputs)}
    if len(outputs) > 1 and model.classes is not None:
        content["classes"] = model.classes
    return await service.write(content, query.n_rows * len(outputs) * len(model.classes or (0,)))


async def similar(service: Service, call: Call) -> Reply:
    """Answer with the rows of a database that are most similar to each query."""
    current = service.current
    database = _find_database(service, call)
    k = _k_of(call.query(("k",)).get("k", str(min(_DEFAULT_K, database.rows.n_rows))), database)
    _check_made_by(call, database.made_by(current.catalog.models.values()))
    query = await service.read(database.reader, call)
    if query.n_rows * k > service.settings.rows * _DEFAULT_K:
        raise Refusal(413, f"queries times k must be at most {service.settings.rows * _DEFAULT_K}.")
    found = await current.search(database, query, k)
    return await service.write({"database": database.name, "k": k, **found._asdict()}, 3 * query.n_rows * k)


def _find_model(service: Service, call: Call) -> ServedModel:
    """Return the model of the path, the default one where it names none."""
    catalog, name = service.current.catalog, call.path_params.get("name")
    found = catalog.default_model if name is None else catalog.models.get(name)
    if found is None:
        raise Refusal(404, "no model of this name is served. GET /v1/models lists them.")
    return found


def _find_database(service: Service, call: Call) -> ServedDatabase:
    """Return the database of the path, the default one where it names none."""
    catalog, name = service.current.catalog, call.path_params.get("name")
    found = catalog.default_database if name is None else catalog.databases.get(name)
    if found is None:
        none = "no database is served: the server was started without --codes."
        raise Refusal(
            404, "no database of this name is served. GET /v1/models lists them." if catalog.databases else none
        )
    return found


def _check_made_by(call: Call, models: Sequence[ServedModel]) -> None:
    """Refuse what a client made with an encoder, or with a recipe before it, that are others by now.

    A message names its encoder; columns that are scaled in another way before the same encoder it cannot know.
    """
    given = call.tags(_MADE_BY)
    if given and models and not any(model.tag in given for model in models):
        must = f"{_MADE_BY.decode().title()} must be the ETag of the encoder as it is now"
        raise Refusal(409, f"{must}, got another. Fetch the encoder again.")


def _outputs(model: ServedModel, text: str) -> tuple[Output, ...]:
    """Return the outputs of a list with commas, predictions always first."""
    names = text.split(",")
    if not set(names) <= set(model.outputs) or len(set(names)) != len(names):
        raise Refusal(400, f"return must list some of {', '.join(model.outputs)}, each once, got {text[:80]!r}.")
    return tuple(name for name in model.outputs if name == "predictions" or name in names)


def _k_of(text: str, database: ServedDatabase) -> int:
    most = min(_MOST_K, database.rows.n_rows)
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= most):
        raise Refusal(400, f"k must be a whole number from 1 to {most}, got {text[:20]!r}.")
    return int(text)


async def health(service: Service, call: Call) -> Reply:
    """Say that the process runs."""
    return json_reply({"status": "ok"})


async def ready(service: Service, call: Call) -> Reply:
    """Say whether requests are taken."""
    if not service.ready:
        raise Refusal(503, "the server is stopping.", [(b"retry-after", b"5")])
    return json_reply({"status": "ready", "models": list(service.current.catalog.models)})


async def metrics(service: Service, call: Call) -> Reply:
    """Give the metrics in Prometheus' text format."""
    return Reply(200, service.metrics.content_type, service.metrics.text())


async def models(service: Service, call: Call) -> Reply:
    """List what is loaded."""
    return json_reply({"lowtide": lowtide.__version__, **service.current.catalog.to_json()})


async def encoder(service: Service, call: Call) -> Reply:
    """Give all that a client needs to make the codes of a model's encoder."""
    model = _find_model(service, call)
    if model.document is None:
        raise Refusal(404, f"the encoder of {model.name!r} is not known: it was fitted on codes alone.")
    headers = [(b"etag", model.tag), (b"cache-control", b"no-cache")]
    if model.tag in call.tags(b"if-none-match"):
        return Reply(304, b"application/json", b"", headers)
    return Reply(200, b"application/json", model.document, headers)


async def document(service: Service, call: Call) -> Reply:
    """Give the OpenAPI document of what is loaded now, made once."""
    current = service.current
    if current.openapi is None:
        current.openapi = json.dumps(openapi_document(service)).encode()
    return Reply(200, b"application/json", current.openapi)


Handler = Callable[["Service", Call], Awaitable[Reply]]


@dataclass(frozen=True)
class Operation:
    """One method on one path, in which `{name}` is the name of a model or database.

    `answer` is the schema of the answer, or its media type where it is no JSON; `about` what the path names or, without
    a name, takes the first of; `open` whether it needs no key; `refusals` statuses besides those of every operation.
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
        words = (self.handler.__name__, "of") if "{name}" in self.path else (self.handler.__name__,)
        return "_".join(words)


_NAMED = (404, *_BODY)
_SIMILAR = "Rows of {} database most similar to each query"
# The one that is asked most comes first.
OPERATIONS: tuple[Operation, ...] = (
    Operation("POST", "/v1/predict", predict, "Predict with the default model", "Prediction", "model", False, _BODY),
    Operation(
        "POST", "/v1/models/{name}/predict", predict, "Predict with a model", "Prediction", "model", False, _NAMED
    ),
    Operation("POST", "/v1/similar", similar, _SIMILAR.format("the default"), "Neighbors", "database", False, _NAMED),
    Operation(
        "POST", "/v1/databases/{name}/similar", similar, _SIMILAR.format("a"), "Neighbors", "database", False, _NAMED
    ),
    Operation("GET", "/v1/models", models, "What is loaded", "Models"),
    Operation("GET", "/v1/encoder", encoder, "The encoder of the default model", "Encoder", "model", False, (404,)),
    Operation("GET", "/v1/models/{name}/encoder", encoder, "The encoder of a model", "Encoder", "model", False, (404,)),
    Operation("GET", "/healthz", health, "Whether the process runs", "Status", open=True),
    Operation("GET", "/readyz", ready, "Whether requests are taken", "Status", open=True, refusals=(503,)),
    Operation("GET", "/metrics", metrics, "Metrics for Prometheus", "text/plain"),
    Operation("GET", "/openapi.json", document, "This document", "Document"),
)


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _object(required: dict[str, Json], **optional: Json) -> Json:
    return {"type": "object", "properties": {**required, **optional}, "required": list(required)}


# Sums of a projection must stay within float32 too.
_NUMBER: Json = {"type": "number", "minimum": -1e30, "maximum": 1e30}
_ANY, _TEXT, _COUNT, _MARK, _LABEL = (
    {"type": "object"},
    {"type": "string"},
    {"type": "integer", "minimum": 0},
    {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    {"type": ["integer", "number", "string", "boolean"]},
)
_NUMBERS = _list({"type": "number"})
_ARRAYS: Json = {**_ANY, "additionalProperties": _object({"dtype": _TEXT, "shape": _list(_COUNT), "data": _TEXT})}
_PARTS: Json = {**_ANY, "additionalProperties": _object({"version": _COUNT, "spec": _ANY, "arrays": _ARRAYS})}
_LOADED = _list(_object({"name": _TEXT, "kind": _TEXT, "default": {"type": "boolean"}}))
_SEARCHED = _list(_object({"name": _TEXT, "n_rows": _COUNT, "fingerprint": _TEXT}))
_ERRORS = {"anyOf": [_list(_NUMBERS), {"type": "null"}]}
_ESTIMATES: dict[str, Json] = {"estimates": _list(_NUMBERS), "standard_errors": _ERRORS}
_SIZES: dict[str, Json] = {"format": {"const": 2}, "model": _TEXT, "kind": _TEXT, "n_features": _COUNT}
SCHEMAS: dict[str, Json] = {
    "Problem": _object({"type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT}),
    "Prediction": _object(
        {"model": _TEXT, "predictions": _list({"anyOf": [_LABEL, _NUMBERS]})},
        scores=_list({"anyOf": [{"type": "number"}, _NUMBERS]}),
        probabilities=_list(_NUMBERS),
        classes=_list(_LABEL),
    ),
    "Neighbors": _object({"database": _TEXT, "k": _COUNT, "indices": _list(_list(_COUNT)), **_ESTIMATES}),
    "Models": _object({"lowtide": _TEXT, "models": _LOADED, "databases": _SEARCHED}),
    "Encoder": _object({**_SIZES, "fingerprint": _MARK, "side": _MARK, "parts": _PARTS}),
    "Status": _object({"status": _TEXT}),
    "Document": _ANY,
}


def _row_schema(recipe: Recipe | None, n_features: int) -> Json:
    """Return the schema of one row as JSON: a list in order or, where columns have names, also an object."""
    if recipe is None:
        return {**_list(_NUMBER), "minItems": n_features, "maxItems": n_features}
    values = [_cell_schema(recipe, j, name) for j, name in enumerate(recipe.columns)]
    ordered = {**_list({}), "prefixItems": values, "items": False, "minItems": n_features, "maxItems": n_features}
    return {"anyOf": [ordered, _object(dict(zip(recipe.columns, values)))]}


def _cell_schema(recipe: Recipe, column: int, name: str) -> Json:
    """Return the schema of a cell: a number, null where missing ones are filled, or a category."""
    known = next((each for each in recipe.categories if each.column == column), None)
    if known is None or name in recipe.numeric:
        return {**_NUMBER, "type": ["number", "null"]} if name in recipe.filled else _NUMBER
    if known.unknown == "error":
        return {"enum": list(known.values)}
    return _TEXT if known.as_text or any(isinstance(value, str) for value in known.values) else _NUMBER


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
            if operation.handler is predict and not subject.outputs:
                continue
            path = operation.path if subject is None else operation.path.replace("{name}", subject.name)
            paths.setdefault(path, {})[operation.method.lower()] = _operation(service, operation, subject)
    words = "Kernel machines on a few bits per feature."
    keys = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "lowtide", "version": lowtide.__version__, "description": words},
        "paths": paths,
        "components": {"schemas": SCHEMAS, "securitySchemes": keys},
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
    schema, media = {"$ref": f"#/components/schemas/{operation.answer}"}, "application/json"
    if "/" in operation.answer:
        schema, media = {"type": "string"}, operation.answer
    responses: Json = {"200": {"description": "The answer", "content": {media: {"schema": schema}}}}
    refusal = {REFUSAL_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status in sorted({*operation.refusals, *(() if operation.open else _EVERY)}):
        responses[str(status)] = {"description": HTTPStatus(status).phrase, "content": refusal}
    if operation.answer == "Encoder":
        responses["304"] = {"description": "The encoder is the one that If-None-Match names"}
    return responses


def _parameter(subject: ServedModel | ServedDatabase) -> Json:
    if isinstance(subject, ServedDatabase):
        most = min(_MOST_K, subject.rows.n_rows)
        schema: Json = {"type": "integer", "minimum": 1, "maximum": most, "default": min(10, most)}
        return {"name": "k", "in": "query", "required": False, "description": "How many rows", "schema": schema}
    schema = {**_list({**_TEXT, "enum": list(subject.outputs)}), "minItems": 1, "uniqueItems": True}
    words = "What to give besides predictions, with commas between"
    place = {"name": "return", "in": "query", "required": False, "style": "form", "explode": False}
    return {**place, "description": words, "schema": schema}


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
        rows = {**_list(_row_schema(reader.recipe, reader.n_features)), "maxItems": most_rows}
        wrapped = {**_object({"rows": rows}), "additionalProperties": False}
        content["application/json"] = {"schema": {"anyOf": [wrapped, rows]}}
    return content
