"""A model that is served: it reads the bodies of requests, and answers many of them by one product."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.encoders import DrawnEncoder, Encoder
from lowtide.errors import FileFormatError, ParameterError
from lowtide.learners import Decision, as_model
from lowtide.persist import load, read_metadata
from lowtide.serve.exchange import Refusal
from lowtide.tables import Categories, Recipe, text_of
from lowtide.wire import (
    CODES_TYPE,
    ROWS_TYPE,
    CodesMessage,
    CodesReader,
    JsonReader,
    describe_encoder,
    media_type,
    summarize_encoder,
    unpack_rows,
)

Kind = Literal["codes", "rows", "features"]
Output = Literal["predictions", "scores", "probabilities"]
Answer = dict[str, Any]  # arrays by name
Buffer = bytes | bytearray
_CODES, _ROWS = (name.partition(";")[0] for name in (CODES_TYPE, ROWS_TYPE))
_CODES_HEADER = CODES_TYPE.encode()
_VERSION = media_type(CODES_TYPE)[1]["v"]
_JSON = "application/json"
_LARGEST = float(np.finfo(np.float32).max)
# A product of up to so many rows decodes; one of more builds tables, which pays from about the second number on (32 to
# 96 by bits and classes). Slices of the first size are faster in between.
_SLICE_ROWS, _TABLE_ROWS = 15, 48
# Of an answer's number: itself, and its text in pieces and whole.
ANSWER_BYTES = 8 + 2 * 24
# Multiplications that take about a millisecond: no more are done on the event loop.
SMALL_WORK = 1 << 22


class Query(NamedTuple):
    """Rows of one request, read and found to fit the encoder; of a search also how many rows it asks for, and of which.

    `where` is a text that the database reads, "" for all rows; `rescore` times k are scored again by finer codes.
    """

    kind: Kind
    n_rows: int
    content: CodesMessage | NDArray[Any]
    k: int = 0
    where: str = ""
    rescore: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes that the rows take."""
        return self.content.rows.nbytes if isinstance(self.content, CodesMessage) else self.content.nbytes


@dataclass(frozen=True)
class QueryReader:
    """Reads the bodies of requests for one encoder: codes, rows of a table, or full features.

    What is not taken is None: `codes`, `n_features` (columns of a row) or `n_components` (columns of full features).
    `recipe` is what rows go through, None when they are taken as they are.
    """

    codes: CodesReader | None
    recipe: Recipe | None
    n_features: int | None
    n_components: int | None
    fingerprint: bytes

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What is taken."""
        given: dict[Kind, Any] = {"codes": self.codes, "rows": self.n_features, "features": self.n_components}
        return tuple(kind for kind, what in given.items() if what is not None)

    @cached_property
    def json(self) -> JsonReader:
        """Reads rows of JSON: of numbers alone or, where a recipe says so, of cells that may be missing or texts."""
        recipe = self.recipe
        if recipe is None:
            return JsonReader(["numbers"] * (self.n_features or 1))
        named = dict.fromkeys(recipe.by_cell, "categories")
        kinds: dict[str, Any] = dict.fromkeys(recipe.columns, "unused") | dict.fromkeys(recipe.numeric, "nullable")
        return JsonReader([*(kinds | named).values()], recipe.columns, sys.float_info.max)

    def bytes_needed(self, content_type: bytes | None, n_bytes: int, most_rows: int) -> int:
        """Return the most memory that rows of a body of so many bytes take, next to the body itself."""
        if self.n_features is None or content_type == _CODES_HEADER:
            return 0
        n_out = 0 if self.recipe is None else self.recipe.n_features
        if (content_type or b"").startswith(_JSON.encode()):
            least, rows = 2 * self.n_features + 1, self.json.bytes_needed(n_bytes, most_rows)
        else:
            least, rows = 4 * self.n_features, 2 * n_bytes
        return rows + 8 * n_out * min(most_rows, n_bytes // least + 1)

    def read(self, content_type: bytes | None, body: Buffer, most_rows: int) -> Query:
        """Return the query of a body; what cannot be taken raises a Refusal or a LowtideError."""
        if content_type == _CODES_HEADER and self.codes is not None:
            name = _CODES
        else:
            name = self._check_type((content_type or b"").decode("latin-1"))
        if name == _CODES and self.codes is not None:
            message = self.codes.read(body)
            query = Query("codes", message.n_rows, message)
        elif name == _ROWS:
            query = self._packed_rows(body)
        else:
            rows = self._matrix(body, most_rows)
            query = Query("rows", len(rows), rows)
        if query.n_rows > most_rows:
            raise Refusal(413, f"a request must have at most {most_rows} rows, got {query.n_rows}. Send several.")
        return query

    def joined(self, queries: Sequence[Query]) -> Any:
        """Return the rows of queries of one kind, one after the other."""
        contents: list[Any] = [query.content for query in queries]
        if queries[0].kind == "codes" and self.codes is not None:
            return self.codes.codes(contents)
        return np.ascontiguousarray(contents[0] if len(contents) == 1 else np.concatenate(contents))

    def _check_type(self, header: str) -> str:
        """Return the media type of a body that can be taken."""
        name, parameters = media_type(header)
        if name in (_CODES, _ROWS) and parameters.get("v", _VERSION) != _VERSION:
            raise Refusal(415, f"the version of {name} must be {_VERSION}, got {parameters['v'][:20]!r}.")
        charset = parameters.get("charset", "utf-8").lower()
        taken = {_CODES: self.codes, _ROWS: self.n_features or self.n_components, _JSON: self.n_features}
        if taken.get(name) is None or charset not in ("utf-8", "us-ascii"):
            listed = ", ".join(kind for kind, what in taken.items() if what is not None)
            got = f"{name[:80]!r}" if name else "none"
            raise Refusal(415, f"Content-Type must be one of {listed}, got {got}.", [(b"accept", listed.encode())])
        return name

    def _packed_rows(self, body: Buffer) -> Query:
        rows, side, _ = unpack_rows(body, fingerprint=self.fingerprint)
        if side == "input":
            if self.n_features is None:
                raise Refusal(422, "input rows cannot be read: the encoder is not known here. Send codes.")
            kinds = {} if self.recipe is None else dict(zip(self.recipe.columns, self.recipe.kinds))
            texts = [name for name, kind in kinds.items() if kind in ("category", "date")]
            if texts:
                raise Refusal(422, f"columns {', '.join(texts)[:200]} hold categories or dates: send JSON.")
            return Query("rows", len(rows), self._numbers(rows))
        if self.n_components is None:
            raise Refusal(422, "full features are not what this model reads. Send codes or input rows.")
        if rows.shape[1] != self.n_components:
            raise Refusal(422, f"features must have {self.n_components} columns, got {rows.shape[1]}.")
        return Query("features", len(rows), rows)

    def _matrix(self, body: Buffer, most_rows: int) -> NDArray[Any]:
        """Return the rows of JSON as the encoder takes them."""
        numbers, cells = self.json.read(body, most_rows)
        recipe = self.recipe
        if recipe is None:
            return numbers
        if recipe.numeric != recipe.columns:
            numbers = numbers[:, [j for j, name in enumerate(recipe.columns) if name in recipe.numeric]]
        named = {recipe.columns[j]: column for j, column in cells.items()}
        for known in recipe.categories:
            _with_numbers(known, named[recipe.columns[known.column]])
        return recipe.apply_read(numbers, named)

    def _numbers(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return rows of numbers as the encoder takes them."""
        if values.shape[1] != self.n_features:
            raise Refusal(422, f"rows must have {self.n_features} columns, got {values.shape[1]}.")
        if not np.all(np.abs(values) <= _LARGEST):
            raise Refusal(422, f"values must be finite and at most {_LARGEST:.3g} in size.")
        return values if self.recipe is None else self.recipe.apply(values)


def _with_numbers(known: Categories, cells: NDArray[Any]) -> None:
    """Make categories that are numbers and came as texts numbers again."""
    if known.as_text or any(isinstance(value, str) for value in known.values):
        return  # a text may be a category itself
    spelled = {text_of(value): value for value in known.values if type(value) in (int, float)}
    for i, cell in enumerate(cells):
        if isinstance(cell, str):
            cells[i] = spelled.get(cell, cell)


@dataclass(frozen=True)
class ServedModel:
    """A model, or an encoder alone, under the name it is served by; `kind` is the class of its estimator.

    `decision` is on rows as the encoder takes them, since the reader applies the recipe; None for an encoder alone.
    `encoder` is None for a model that was fitted on codes alone.
    """

    name: str
    kind: str
    decision: Decision | None
    encoder: DrawnEncoder | None
    reader: QueryReader
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, thing: Any, metadata: Mapping[str, Any] | None = None) -> ServedModel:
        """Return a fitted encoder or learner, or a Pipeline of known steps and a learner, as it is served."""
        if isinstance(thing, Encoder):
            drawn, names = thing.drawn_, vars(thing).get("feature_names_in_")
            recipe = None if names is None else Recipe.plain(map(str, names))
            full = drawn.n_outputs if drawn.n_outputs == drawn.n_embedded else None
            codes = None if drawn.template is None else CodesReader(drawn.template)
            reader = QueryReader(codes, recipe, drawn.n_features, full, drawn.fingerprint)
            return cls(name, type(thing).__name__, None, drawn, reader, metadata or {})
        model = as_model(thing)
        decision: Decision = model.decision_
        if not decision.outputs:
            raise fail("serve", "a model must predict", type(thing).__name__)
        encoder, recipe = decision.encoder, decision.recipe
        if recipe is None and decision.columns is not None:
            recipe = Recipe.plain(decision.columns)
        # An encoder's own template says whether norms come with its codes.
        template = decision.template if encoder is None else encoder.template
        codes = CodesReader(template) if decision.takes_codes and template is not None else None
        full = encoder.n_outputs if encoder is not None and decision.takes_features else None
        n_features = None if encoder is None else decision.n_features
        reader = QueryReader(codes, recipe, n_features, full, decision.fingerprint)
        return cls(name, type(model).__name__, decision.with_recipe(None), encoder, reader, metadata or {})

    @classmethod
    def load(cls, name: str, path: Path) -> ServedModel:
        """Return the model of a file, or refuse what cannot be served."""
        thing = load(path)
        try:
            return cls.of(name, thing, read_metadata(path))
        except ParameterError as error:
            must = f"{str(path)!r} must hold a model or an encoder"
            raise FileFormatError(f"{must}, got {type(thing).__name__}. Give codes with --codes.") from error

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """What can be asked for; nothing of an encoder."""
        return () if self.decision is None else self.decision.outputs

    @cached_property
    def classes(self) -> list[Any] | None:
        """Labels in the order of scores and probabilities."""
        classes = None if self.decision is None else self.decision.classes
        return None if classes is None else np.asarray(classes).tolist()

    def small_rows(self, kind: Kind) -> int:
        """Return how many rows of a kind are answered within about a millisecond, 0 where one takes longer."""
        encoder, encoding = self.encoder, 0
        # Codes that are expanded take about as long as rows.
        if encoder is not None and (kind == "rows" or (kind == "codes" and encoder.expands)):
            encoding = encoder.row_cost
        product = 1 if self.decision is None else self.decision.weights.size
        sides = 1 if self.decision is None or self.decision.right is None else 2
        return SMALL_WORK // (sides * (encoding + product))

    def answer_bytes(self, query: Query, n_outputs: int) -> int:
        """Return the memory that the answer to a query takes: rows as float32 and as codes, numbers, and their text."""
        coded = 0 if self.encoder is None or query.kind != "rows" else 4 * self.encoder.n_features + self._row_bytes
        return query.n_rows * (coded + ANSWER_BYTES * n_outputs * len(self.classes or (0,)))

    @cached_property
    def _row_bytes(self) -> int:
        template = None if self.encoder is None else self.encoder.template
        return 0 if template is None else int(template.packed.shape[1])

    def answer(self, queries: Sequence[Query], outputs: Sequence[Output]) -> list[Answer]:
        """Return the answers to queries of one kind, from one product of all their rows."""
        if self.decision is None:
            raise Refusal(404, f"{self.name!r} is an encoder: it predicts nothing.")
        decision, kind, X = self.decision, queries[0].kind, self.reader.joined(queries)
        columns: Answer
        if kind != "features" and tuple(outputs) == ("predictions",):
            columns = {"predictions": self._sliced(decision.predict, X)}
        else:
            scores = decision.scores_of_features(X) if kind == "features" else self._sliced(decision.scores, X)
            columns = {name: decision.answer(name, scores) for name in outputs}
        if len(queries) == 1:
            return [columns]
        ends = np.cumsum([query.n_rows for query in queries]).tolist()
        return [
            {name: values[end - query.n_rows : end] for name, values in columns.items()}
            for query, end in zip(queries, ends)
        ]

    def _sliced(self, method: Callable[..., NDArray[Any]], X: Any) -> NDArray[Any]:
        """Return method(X), in slices where their products take less time."""
        n = X.shape[0]
        if not _SLICE_ROWS < n < _TABLE_ROWS:
            return method(X, checked=True)
        parts = [method(X[begin : begin + _SLICE_ROWS], checked=True) for begin in range(0, n, _SLICE_ROWS)]
        return np.concatenate(parts)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What is loaded, ready for JSON."""
        recipe = self.reader.recipe
        return {
            "name": self.name,
            "kind": self.kind,
            "task": None if self.decision is None else self.decision.task,
            "classes": self.classes,
            "n_features": self.reader.n_features,
            "recipe": None if recipe is None else recipe.to_json(),
            "encoder": None if self.encoder is None else summarize_encoder(self.encoder),
            "accepts": list(self.reader.kinds),
            "outputs": list(self.outputs),
            "metadata": dict(self.metadata),
        }

    @cached_property
    def document(self) -> bytes | None:
        """All that makes the encoder and the recipe before it, as JSON; None without an encoder."""
        if self.encoder is None:
            return None
        recipe = self.reader.recipe
        content = {"model": self.name, "recipe": recipe and recipe.to_json(), **describe_encoder(self.encoder)}
        return json.dumps(content, separators=(",", ":")).encode()

    @property
    def is_described(self) -> bool:
        """Whether document and tag have been made."""
        return "tag" in vars(self)

    @cached_property
    def tag(self) -> bytes:
        """The document's ETag: another recipe before the same encoder has another."""
        return b'"' + hashlib.sha256(self.document or b"").hexdigest()[:32].encode() + b'"'
