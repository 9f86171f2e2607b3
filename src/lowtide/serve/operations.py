"""Every operation of the server in one table, its handlers, and the OpenAPI document that is made of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import lowtide
from lowtide.codes import spell_bits
from lowtide.serve.catalog import ServedDatabase
from lowtide.serve.exchange import REFUSAL_TYPE, Call, Refusal, Reply, json_reply
from lowtide.serve.model import Output, QueryReader, ServedModel
from lowtide.tables import Recipe
from lowtide.wire import CODES_TYPE, ROWS_TYPE

if TYPE_CHECKING:
    from lowtide.serve.service import Service

T = TypeVar("T")
Json = dict[str, Any]
_DEFAULT_K, _MOST_K, _MOST_RESCORE = 10, 1000, 100
_MADE_BY = b"lowtide-encoder"  # header
# All of the document that does not depend on what is loaded; `refusals` are the statuses that an operation may have.
_TEMPLATE = resources.files("lowtide.serve") / "openapi.json"


async def predict(service: Service, call: Call) -> Reply:
    """Answer with predictions, and with scores and probabilities where they are asked for."""
    current = service.current
    model = _find(current.catalog.models, "model", call)
    if not model.outputs:
        raise Refusal(404, f"{model.name!r} is an encoder: it predicts nothing.")
    wanted = call.query(("return",)).get("return")
    outputs: tuple[Output, ...] = ("predictions",) if wanted is None else _outputs(model, wanted)
    if _MADE_BY in call.headers:
        await _check_made_by(service, call, [model])
    query = await service.read(model.reader, call)
    call.lease.add(model.answer_bytes(query, len(outputs)))
    content = {"model": model.name, **await current.ask(call, model, query, outputs)}
    if len(outputs) > 1 and model.classes is not None:
        content["classes"] = model.classes
    return await service.write(content, query.n_rows * len(outputs) * len(model.classes or (0,)))


async def similar(service: Service, call: Call) -> Reply:
    """Answer with the rows of a database that are most similar to each query."""
    current = service.current
    database = _find(current.catalog.databases, "database", call)
    most, given = min(_MOST_K, database.rows.n_rows), call.query(("k", "where", "rescore"))
    k = _number("k", given.get("k", str(min(_DEFAULT_K, most))), most)
    rescore, where = 0, given.get("where")
    if where is not None:
        database.check_where(where)
    if "rescore" in given:
        rescore = _number("rescore", given["rescore"], _MOST_RESCORE)
        if database.finer is None:
            raise Refusal(400, "rescore needs finer codes: the server was started without --finer for this database.")
    await _check_made_by(service, call, database.made_by(current.catalog.models.values()))
    query = (await service.read(database.reader, call))._replace(k=k, where=where or "", rescore=rescore)
    if query.n_rows * k * max(1, rescore) > service.settings.rows * _DEFAULT_K:
        raise Refusal(413, f"queries times k, and rescore, must be at most {service.settings.rows * _DEFAULT_K}.")
    call.lease.add(database.answer_bytes(query))
    found = await current.ask(call, database, query)
    return await service.write({"database": database.name, "k": k, **found}, 3 * query.n_rows * k)


def _number(name: str, text: str, most: int) -> int:
    """Return the whole number of a parameter."""
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= most):
        raise Refusal(400, f"{name} must be a whole number from 1 to {most}, got {text[:20]!r}.")
    return int(text)


def _find(served: Mapping[str, T], what: str, call: Call) -> T:
    """Return the model or database of the path, the first where it names none."""
    name = call.scope.get("path_params", {}).get("name")
    found = next(iter(served.values()), None) if name is None else served.get(name)
    if found is None:
        none = f"no {what} is served: the server was started without {'--codes' if what == 'database' else 'any'}."
        raise Refusal(404, f"no {what} of this name is served. GET /v1/models lists them." if served else none)
    return found


async def _check_made_by(service: Service, call: Call, models: Sequence[ServedModel]) -> None:
    """Refuse what a client made with an encoder, or with a recipe before it, that are others by now.

    A message names its encoder; columns that are scaled in another way before the same encoder it cannot know.
    """
    given = call.tags(_MADE_BY)
    if given and models and not any([await _tag(service, model) in given for model in models]):
        must = f"{_MADE_BY.decode().title()} must be the ETag of the encoder as it is now"
        raise Refusal(409, f"{must}, got another. Fetch the encoder again.")


async def _tag(service: Service, model: ServedModel) -> bytes:
    """Return the ETag of a model's encoder, made in a thread the first time: a dense one has megabytes."""
    if not model.is_described:
        await service.in_thread(lambda: model.tag)
    return model.tag


def _outputs(model: ServedModel, text: str) -> tuple[Output, ...]:
    """Return the outputs of a list with commas, predictions always first."""
    names = text.split(",")
    if not set(names) <= set(model.outputs) or len(set(names)) != len(names):
        raise Refusal(400, f"return must list some of {', '.join(model.outputs)}, each once, got {text[:80]!r}.")
    return tuple(name for name in model.outputs if name == "predictions" or name in names)


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
    catalog = service.current.catalog
    return await _made_once(service, "models", lambda: {"lowtide": lowtide.__version__, **catalog.to_json()})


async def encoder(service: Service, call: Call) -> Reply:
    """Give all that a client needs to make the codes of a model's encoder."""
    model = _find(service.current.catalog.models, "model", call)
    tag = await _tag(service, model)
    if model.document is None:
        raise Refusal(404, f"the encoder of {model.name!r} is not known: it was fitted on codes alone.")
    headers = [(b"etag", tag), (b"cache-control", b"no-cache")]
    if tag in call.tags(b"if-none-match"):
        return Reply(304, b"application/json", b"", headers)
    return Reply(200, b"application/json", model.document, headers)


async def document(service: Service, call: Call) -> Reply:
    """Give the OpenAPI document of what is loaded now, made once."""
    return await _made_once(service, "openapi", lambda: openapi_document(service))


async def _made_once(service: Service, name: str, make: Callable[[], Json]) -> Reply:
    """Return a document of what is loaded now, made in a thread the first time it is asked for."""
    documents = service.current.documents
    if name not in documents:
        documents[name] = await service.in_thread(lambda: json.dumps(make(), separators=(",", ":")).encode())
    return Reply(200, b"application/json", documents[name])


Handler = Callable[["Service", Call], Awaitable[Reply]]


class Operation(NamedTuple):
    """One method on one path, in which `{name}` is the name of a model or database.

    `about` is what the path names or, without a name, takes the first of; `open` whether it needs no key.
    """

    method: str
    path: str
    handler: Handler
    about: Literal["server", "model", "database"] = "server"
    open: bool = False


# The one that is asked most comes first.
OPERATIONS = (
    Operation("POST", "/v1/predict", predict, "model"),
    Operation("POST", "/v1/models/{name}/predict", predict, "model"),
    Operation("POST", "/v1/similar", similar, "database"),
    Operation("POST", "/v1/databases/{name}/similar", similar, "database"),
    Operation("GET", "/v1/models", models),
    Operation("GET", "/v1/encoder", encoder, "model"),
    Operation("GET", "/v1/models/{name}/encoder", encoder, "model"),
    Operation("GET", "/healthz", health, open=True),
    Operation("GET", "/readyz", ready, open=True),
    Operation("GET", "/metrics", metrics),
    Operation("GET", "/openapi.json", document),
)


def openapi_document(service: Service) -> Json:
    """Return the OpenAPI 3.1 document; a path with a name is written out for every name."""
    catalog = service.current.catalog
    served: Json = {"server": {"": None}, "model": catalog.models, "database": catalog.databases}
    content: Json = json.loads(_TEMPLATE.read_text(encoding="utf-8"))
    content["info"]["version"] = lowtide.__version__
    templates, content["paths"] = content["paths"], {}
    for operation in OPERATIONS:
        method, is_named = operation.method.lower(), "{name}" in operation.path
        subjects = list(served[operation.about].values())
        for subject in subjects if is_named else subjects[:1]:
            if operation.handler is predict and not subject.outputs:
                continue
            entry, path = copy.deepcopy(templates[operation.path][method]), operation.path
            if is_named:
                path = path.replace("{name}", subject.name)
                entry["operationId"] += f"_{subject.name}"
            if not operation.open and len(service.keys):
                entry["security"] = [{"bearer": []}, {"header": []}]
            _fill(entry, subject, service.settings.rows)
            content["paths"].setdefault(path, {})[method] = entry
    return content


def _fill(entry: Json, subject: Any, most_rows: int) -> None:
    """Put its refusals into the entry of an operation, and what its parameter and body may be."""
    refusal = {REFUSAL_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status in entry.pop("refusals"):
        entry["responses"][str(status)] = {"description": HTTPStatus(status).phrase, "content": refusal}
    if isinstance(subject, ServedDatabase) and subject.finer is None:
        entry["parameters"] = [each for each in entry["parameters"] if each["name"] != "rescore"]
    for parameter in entry.get("parameters", ()):
        if parameter["name"] == "k":
            most = min(_MOST_K, subject.rows.n_rows)
            parameter["schema"] |= {"maximum": most, "default": min(_DEFAULT_K, most)}
        elif parameter["name"] == "return":
            parameter["schema"]["items"]["enum"] = list(subject.outputs)
        entry["requestBody"] = {"required": True, "content": _bodies(subject.reader, most_rows)}


def _bodies(reader: QueryReader, most_rows: int) -> Json:
    """Return the bodies that a model or database takes."""
    content: Json = {}
    if reader.codes is not None:
        template = reader.codes.template
        levels = f"{template.n_levels} levels of {spell_bits(template.bits)} bits"
        what = f"Codes of {levels}, encoder {template.fingerprint.hex()}"
        content[CODES_TYPE] = {"schema": {"description": what, "contentMediaType": CODES_TYPE}}
    if reader.n_features is not None or reader.n_components is not None:
        what = f"float32 rows of {reader.n_features} columns, or full features of {reader.n_components}"
        content[ROWS_TYPE] = {"schema": {"description": what, "contentMediaType": ROWS_TYPE}}
    if reader.n_features is not None:
        rows = {"type": "array", "items": _row_schema(reader.recipe, reader.n_features), "maxItems": most_rows}
        wrapped = {"type": "object", "properties": {"rows": rows}, "required": ["rows"], "additionalProperties": False}
        content["application/json"] = {"schema": {"anyOf": [wrapped, rows]}}
    return content


# Sums of a projection must stay within float32 too.
_MOST_NAMED = 200  # letters of the categories of a column
_NUMBER: Json = {"type": "number", "minimum": -1e30, "maximum": 1e30}


def _row_schema(recipe: Recipe | None, n_features: int) -> Json:
    """Return the schema of one row as JSON: a list in order or, where columns have names, also an object."""
    ordered = {"type": "array", "items": _NUMBER, "minItems": n_features, "maxItems": n_features}
    if recipe is None:
        return ordered
    cells = {name: _cell_schema(recipe, j, name) for j, name in enumerate(recipe.columns)}
    ordered |= {"prefixItems": list(cells.values()), "items": False}
    return {"anyOf": [ordered, {"type": "object", "properties": cells, "required": list(cells)}]}


def _cell_schema(recipe: Recipe, column: int, name: str) -> Json:
    """Return the schema of a cell, by what its column holds; null is one where it may be missing."""
    kind = recipe.kinds[column]
    if kind == "unused":
        return {"type": ["string", "number", "boolean", "null"], "description": "not used"}
    schema = _category_schema(recipe, column) if kind == "category" else dict(_CELLS[kind])
    if kind == "date":
        order = next(dates.order for dates in recipe.dates if dates.column == column)
        schema["description"] = f"a date, {_DATE_FORMS[order]}, as is or with a time"
    if name not in recipe.filled:
        return schema
    if "enum" in schema:
        return schema if None in schema["enum"] else {**schema, "enum": [*schema["enum"], None]}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*types, "null"]}


_CELLS: Json = {
    "number": _NUMBER,
    "truth": {"enum": [True, False, 1, 0, "true", "false", "yes", "no"], "description": "true or false"},
    "date": {"type": "string"},
}
_DATE_FORMS = {"ymd": "YYYY-MM-DD", "dmy": "DD.MM.YYYY", "mdy": "MM/DD/YYYY"}


def _category_schema(recipe: Recipe, column: int) -> Json:
    known = next(each for each in recipe.categories if each.column == column)
    if known.unknown == "error":
        return {"enum": list(known.values)}
    is_text = known.as_text or any(isinstance(value, str) for value in known.values)
    named = ", ".join(str(value) for value in known.values if value is not None)
    what = {"description": f"a category: {named if len(named) <= _MOST_NAMED else named[:_MOST_NAMED] + ' ...'}"}
    return {"type": "string", **what} if is_text else {**_NUMBER, **what}
