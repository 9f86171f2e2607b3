"""What a model and a database answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from lowtide.serve.catalog import Output, ServedDatabase, ServedModel
from lowtide.serve.http import Call, Problem, Reply

if TYPE_CHECKING:
    from lowtide.serve.service import Service

__all__ = ["DEFAULT_K", "MOST_K", "predict", "similar"]

DEFAULT_K, MOST_K = 10, 1000
_MADE_BY = b"lowtide-encoder"  # header


async def predict(service: Service, call: Call) -> Reply:
    """Answer with predictions, and with scores and probabilities where they are asked for."""
    current = service.current
    model = find_model(service, call)
    if not model.outputs:
        raise Problem(404, f"{model.name!r} is an encoder: it predicts nothing.")
    wanted = call.query(("return",)).get("return")
    outputs = ("predictions",) if wanted is None else _outputs(model, wanted)
    _check_made_by(call, [model])
    query = await service.read(model.reader, call)
    answer = await current.predict(model, query, cast("tuple[Output, ...]", outputs))
    content = {"model": model.name, **answer}
    if len(outputs) > 1 and model.classes is not None:
        content["classes"] = model.classes
    return await service.write(content, query.n_rows * len(outputs) * len(model.classes or (0,)))


async def similar(service: Service, call: Call) -> Reply:
    """Answer with the rows of a database that are most similar to each query."""
    current = service.current
    database = find_database(service, call)
    k = _k_of(call.query(("k",)).get("k", str(min(DEFAULT_K, database.rows.n_rows))), database)
    _check_made_by(call, database.made_by(current.catalog.models.values()))
    query = await service.read(database.reader, call)
    if query.n_rows * k > service.settings.rows * DEFAULT_K:
        raise Problem(413, f"queries times k must be at most {service.settings.rows * DEFAULT_K}.")
    found = await current.search(database, query, k)
    return await service.write({"database": database.name, "k": k, **found._asdict()}, 3 * query.n_rows * k)


def find_model(service: Service, call: Call) -> ServedModel:
    """Return the model of the path, the default one where it names none."""
    models = service.current.catalog.models
    name = call.path_params.get("name")
    if name is None:
        return service.current.catalog.default_model
    if name not in models:
        raise Problem(404, "no model of this name is served. GET /v1/models lists them.")
    return models[name]


def find_database(service: Service, call: Call) -> ServedDatabase:
    """Return the database of the path, the default one where it names none."""
    catalog = service.current.catalog
    name = call.path_params.get("name")
    found = catalog.default_database if name is None else catalog.databases.get(name)
    if found is None and not catalog.databases:
        raise Problem(404, "no database is served: the server was started without --codes.")
    if found is None:
        raise Problem(404, "no database of this name is served. GET /v1/models lists them.")
    return found


def _check_made_by(call: Call, models: Sequence[ServedModel]) -> None:
    """Refuse what a client made with an encoder, or with columns before it, that are others by now.

    A message names its encoder; columns that are scaled in another way before the same encoder it cannot know.
    """
    given = call.tags(_MADE_BY)
    if given and models and not any(model.tag in given for model in models):
        name = _MADE_BY.decode().title()
        raise Problem(
            409, f"{name} must be the ETag of the encoder as it is now, got another. Fetch the encoder again."
        )


def _outputs(model: ServedModel, text: str) -> tuple[str, ...]:
    """Return the outputs of a list with commas, predictions always first."""
    names = text.split(",")
    if not set(names) <= set(model.outputs) or len(set(names)) != len(names):
        raise Problem(400, f"return must list some of {', '.join(model.outputs)}, each once, got {text[:80]!r}.")
    return tuple(name for name in model.outputs if name == "predictions" or name in names)


def _k_of(text: str, database: ServedDatabase) -> int:
    most = min(MOST_K, database.rows.n_rows)
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= most):
        raise Problem(400, f"k must be a whole number from 1 to {most}, got {text[:20]!r}.")
    return int(text)
