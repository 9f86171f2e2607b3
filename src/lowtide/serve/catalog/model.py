"""A model that is served: what it takes, and its answers to many requests at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.codes import Codes
from lowtide.encoders import Encoder
from lowtide.errors import FileFormatError
from lowtide.persist import load, read_metadata
from lowtide.serve.catalog.query import Kind, Query, QueryReader
from lowtide.wire import CodesReader, Columns, describe_encoder, summarize_encoder

__all__ = ["Output", "ServedModel", "load_model"]

Output = Literal["predictions", "scores", "probabilities"]
Answer = dict[str, Any]

_METHODS = {"predictions": "predict", "scores": "decision_function", "probabilities": "predict_proba"}
_TABLE = "table"  # metadata in which 'lowtide fit' keeps what it did to the columns
# A product of fewer rows than these, times columns of weights up to the second, decodes; one of more builds tables,
# which pays from about the product of the two on. Slices of the first size are fast in between.
_SLICE_ROWS, _SLICE_COLUMNS = 15, 8
# Multiplications that take about a millisecond: no more are done on the event loop.
_SMALL_WORK = 1 << 22


@dataclass(frozen=True)
class ServedModel:
    """A model, or an encoder alone, under the name it is served by.

    Attributes
    ----------
    name : str
    path : Path
    thing : the object of the file, its columns without names: they are put in order before
    encoder : Encoder or None
    reader : QueryReader
    metadata : dict
    """

    name: str
    path: Path
    thing: Any
    encoder: Encoder | None
    reader: QueryReader
    metadata: dict[str, Any]

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """What can be asked for; nothing of an encoder."""
        names: tuple[Output, ...] = ("predictions", "scores", "probabilities")
        return tuple(name for name in names if hasattr(self.thing, _METHODS[name]))

    @cached_property
    def classes(self) -> list[Any] | None:
        """Labels in the order of scores and probabilities."""
        classes = getattr(self.thing, "classes_", None)
        return None if classes is None else np.asarray(classes).tolist()

    @cached_property
    def task(self) -> str | None:
        """What the model does."""
        if not self.outputs:
            return None
        tags = self.thing.__sklearn_tags__()
        return {"classifier": "classification", "regressor": "regression", "outlier_detector": "detection"}.get(
            tags.estimator_type, "regression"
        )

    def small_rows(self, kind: Kind) -> int:
        """Return how many rows of a kind are answered within about a millisecond."""
        coef, encoder = getattr(self.thing, "coef_", None), self.encoder
        work = 1 if coef is None else coef.size
        if kind == "rows" and encoder is not None and not encoder._ops_refuse_not_finite:
            work += encoder.n_features_in_ * encoder._n_features_out  # no fast transform
        return max(1, _SMALL_WORK // work)

    def answer(self, kind: Kind, outputs: Sequence[Output], queries: Sequence[Query]) -> list[Answer]:
        """Return the answers to queries of one kind, from one product of all their rows a wanted output."""
        X = self._joined(kind, queries)
        thing = self._on_features if kind == "features" else self.thing
        columns: Answer = {name: self._values(getattr(thing, _METHODS[name]), X).tolist() for name in outputs}
        if len(queries) == 1:
            return [columns]
        ends = np.cumsum([query.n_rows for query in queries]).tolist()
        return [
            {name: values[end - query.n_rows : end] for name, values in columns.items()}
            for query, end in zip(queries, ends)
        ]

    def _values(self, method: Any, X: Any) -> NDArray[Any]:
        n = X.shape[0]
        if not _SLICE_ROWS < n < _SLICE_ROWS * min(_SLICE_COLUMNS, len(self.classes or (0,))):
            return np.asarray(method(X))
        return np.concatenate([method(X[begin : begin + _SLICE_ROWS]) for begin in range(0, n, _SLICE_ROWS)])

    def _joined(self, kind: Kind, queries: Sequence[Query]) -> Any:
        """Return the rows of all queries."""
        contents: list[Any] = [query.content for query in queries]
        if kind == "codes" and self.reader.codes is not None:
            return self.reader.codes.codes(contents)
        return np.ascontiguousarray(contents[0] if len(contents) == 1 else np.concatenate(contents))

    @cached_property
    def _on_features(self) -> Any:
        """Return the model with features for rows: the weights are the same."""
        model = copy(self.thing)
        model.features_, model._predict_on = _GivenFeatures(self.encoder), "full"
        return model

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What is loaded, ready for JSON."""
        return {
            "name": self.name,
            "kind": type(self.thing).__name__,
            "task": self.task,
            "classes": self.classes,
            "n_features": self.reader.n_features,
            "columns": None if self.reader.columns is None else self.reader.columns.to_json(),
            "encoder": None if self.encoder is None else summarize_encoder(self.encoder),
            "accepts": list(self.reader.kinds),
            "outputs": list(self.outputs),
            "metadata": {name: value for name, value in self.metadata.items() if name != _TABLE},
        }

    @cached_property
    def document(self) -> bytes | None:
        """All that makes the encoder and the columns before it, as JSON; None without an encoder."""
        if self.encoder is None:
            return None
        columns = self.reader.columns
        content = {"model": self.name, "columns": columns and columns.to_json(), **describe_encoder(self.encoder)}
        return json.dumps(content, separators=(",", ":")).encode()

    @cached_property
    def tag(self) -> bytes:
        """The document's ETag: other columns before the same encoder have another."""
        return b'"' + hashlib.sha256(self.document or b"").hexdigest()[:32].encode() + b'"'


class _GivenFeatures:
    """An encoder's place for rows that are its features already."""

    _has_codes = False

    def __init__(self, encoder: Any) -> None:
        self._n_embedded = self._n_features_out = encoder._n_embedded

    def _is_plain(self, X: Any) -> bool:
        return True

    def _embed(self, rows: Any) -> Any:
        return rows


def load_model(name: str, path: Path) -> ServedModel:
    """Return the model of a file, or refuse what cannot be served."""
    thing = load(path)
    is_encoder = isinstance(thing, Encoder)
    if not is_encoder and not hasattr(thing, "predict"):
        raise FileFormatError(
            f"{str(path)!r} must hold a model or an encoder, got {type(thing).__name__}. Give codes with --codes."
        )
    encoder: Encoder | None = thing if is_encoder else thing.features_
    metadata = read_metadata(path)
    columns = _columns_of(thing, encoder, metadata)
    for owner in (thing, encoder):
        if owner is not None:
            owner.__dict__.pop("feature_names_in_", None)
    if hasattr(thing, "scale_"):
        thing.scale_ = None  # now the columns' own
    return ServedModel(name, path, thing, encoder, _reader_of(thing, encoder, columns), metadata)


def _reader_of(thing: Any, encoder: Encoder | None, columns: Columns | None) -> QueryReader:
    """Return what reads the bodies for a model."""
    template = getattr(thing, "_trained_codes", None)
    takes_codes = getattr(thing, "_predict_on", "codes") == "codes"
    codes = None
    if takes_codes and encoder is not None and encoder._has_codes:
        none = encoder._encode(np.zeros((0, encoder.n_features_in_), dtype=np.float32))
        codes = CodesReader(none) if isinstance(none, Codes) else None
    elif takes_codes and template is not None:
        codes = CodesReader(template)
    # The weights fit the full side where it has as many columns as they have, and is what `transform` gives.
    coef, full = getattr(thing, "coef_", None), None if encoder is None else encoder._n_features_out
    fits = encoder is not None and full == encoder._n_embedded and (coef is None or coef.shape[-1] == full)
    fingerprint = encoder.fingerprint_ if encoder is not None else thing._fingerprint
    n_features = None if encoder is None else encoder.n_features_in_
    return QueryReader(codes, columns, n_features, full if fits else None, fingerprint)


def _columns_of(thing: Any, encoder: Encoder | None, metadata: dict[str, Any]) -> Columns | None:
    """Return what is done to the columns of a table before they are encoded; None for nothing."""
    columns = Columns.of_table(metadata[_TABLE]) if _TABLE in metadata else None
    names = getattr(thing, "feature_names_in_", getattr(encoder, "feature_names_in_", None))
    if columns is None and names is not None:
        columns = Columns(tuple(map(str, names)))
    if encoder is not None and columns is not None and columns.n_features != encoder.n_features_in_:
        raise FileFormatError(f"a model must have a recipe for {encoder.n_features_in_} columns, got another.")
    scale = getattr(thing, "scale_", None)
    if scale is None:
        return columns
    return _with_scale(columns, np.asarray(scale, dtype=np.float64))


def _with_scale(columns: Columns | None, scale: NDArray[np.float64]) -> Columns:
    """Return columns that are divided by a compressed model's length scales."""
    if columns is not None and (columns.scale or columns.categories):
        raise FileFormatError("a compressed model with a scale a column must have no other recipe, got one.")
    names = tuple(str(j) for j in range(len(scale))) if columns is None else columns.names
    return Columns(names, (0.0,) * len(scale), tuple(scale.tolist()))
