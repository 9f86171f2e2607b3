"""JSON schemas of what goes in and out."""

from __future__ import annotations

from typing import Any

from lowtide.wire import Columns

__all__ = ["SCHEMAS", "row_schema"]

Json = dict[str, Any]
# Sums of a projection must stay within float32 too.
_LARGEST = 1e30
_TEXT: Json = {"type": "string"}
_COUNT: Json = {"type": "integer", "minimum": 0}
_LABEL: Json = {"type": ["integer", "number", "string", "boolean"]}
_NUMBERS: Json = {"type": "array", "items": {"type": "number"}}
_TABLE: Json = {"type": "array", "items": _NUMBERS}
_ARRAY: Json = {
    "type": "object",
    "properties": {"dtype": _TEXT, "shape": {"type": "array", "items": _COUNT}, "data": _TEXT},
    "required": ["dtype", "shape", "data"],
}


def _object(required: dict[str, Json], **optional: Json) -> Json:
    return {"type": "object", "properties": {**required, **optional}, "required": list(required)}


SCHEMAS: dict[str, Json] = {
    "Problem": _object({"type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT}),
    "Prediction": _object(
        {"model": _TEXT, "predictions": {"type": "array", "items": {"anyOf": [_LABEL, _NUMBERS]}}},
        scores={"type": "array", "items": {"anyOf": [{"type": "number"}, _NUMBERS]}},
        probabilities=_TABLE,
        classes={"type": "array", "items": _LABEL},
    ),
    "Neighbors": _object(
        {
            "database": _TEXT,
            "k": _COUNT,
            "indices": {"type": "array", "items": {"type": "array", "items": _COUNT}},
            "estimates": _TABLE,
            "standard_errors": {"anyOf": [_TABLE, {"type": "null"}]},
        }
    ),
    "Models": _object(
        {
            "lowtide": _TEXT,
            "models": {
                "type": "array",
                "items": _object({"name": _TEXT, "kind": _TEXT, "default": {"type": "boolean"}}),
            },
            "databases": {"type": "array", "items": _object({"name": _TEXT, "n_rows": _COUNT, "fingerprint": _TEXT})},
        }
    ),
    "Encoder": _object(
        {
            "format": {"const": 1},
            "model": _TEXT,
            "kind": _TEXT,
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "n_features": _COUNT,
            "spec": {"type": "object"},
            "arrays": {"type": "object", "additionalProperties": _ARRAY},
        }
    ),
    "Status": _object({"status": _TEXT}),
    "Document": {"type": "object"},
}


def row_schema(columns: Columns | None, n_features: int) -> Json:
    """Return the schema of one row as JSON: a list in order or, where columns have names, also an object."""
    number = {"type": "number", "minimum": -_LARGEST, "maximum": _LARGEST}
    if columns is None:
        return {"type": "array", "items": number, "minItems": n_features, "maxItems": n_features}
    values = [{"type": "string"} if name in columns.categories else number for name in columns.names]
    size = len(columns.names)
    ordered: Json = {"type": "array", "prefixItems": values, "items": False, "minItems": size, "maxItems": size}
    named = {"type": "object", "properties": dict(zip(columns.names, values)), "required": list(columns.names)}
    return {"anyOf": [ordered, named]}
