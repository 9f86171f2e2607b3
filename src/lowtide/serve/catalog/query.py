"""What a request asks about: codes, input rows or full features, of one body."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import FingerprintMismatchError, LowtideError
from lowtide.serve.http import Problem
from lowtide.wire import CODES_TYPE, ROWS_TYPE, CodesMessage, CodesReader, Columns, media_type, unpack_rows

__all__ = ["Kind", "Query", "QueryReader"]

Kind = Literal["codes", "rows", "features"]
_CODES, _ROWS = (name.partition(";")[0] for name in (CODES_TYPE, ROWS_TYPE))
_JSON = "application/json"
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Query:
    """Rows of one request, read and found to fit the encoder."""

    kind: Kind
    n_rows: int
    content: CodesMessage | NDArray[Any]


@dataclass(frozen=True)
class QueryReader:
    """Reads the bodies of requests for one encoder.

    Attributes
    ----------
    codes : CodesReader or None
        None where codes are not taken.
    columns : Columns or None
        What is done to the rows of a table; None when they are taken as they are.
    n_features : int or None
        Columns of an input row; None where rows are not taken.
    n_components : int or None
        Columns of full features; None where they are not taken.
    fingerprint : bytes
    """

    codes: CodesReader | None
    columns: Columns | None
    n_features: int | None
    n_components: int | None
    fingerprint: bytes

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What is taken."""
        given: dict[Kind, Any] = {"codes": self.codes, "rows": self.n_features, "features": self.n_components}
        return tuple(kind for kind, what in given.items() if what is not None)

    def read(self, content_type: bytes | None, body: bytes, most_rows: int) -> Query:
        """Return the query of a body, or refuse it with its reason."""
        if content_type == CODES_TYPE.encode() and self.codes is not None:
            name = _CODES
        else:
            name = self._check_type((content_type or b"").decode("latin-1"))
        try:
            query = self._query(name, body, most_rows)
        except FingerprintMismatchError as error:
            raise Problem(409, str(error)) from error
        except LowtideError as error:
            raise Problem(422, str(error)) from error
        if query.n_rows > most_rows:
            raise _too_many(query.n_rows, most_rows)
        return query

    def _query(self, name: str, body: bytes, most_rows: int) -> Query:
        if name == _CODES and self.codes is not None:
            message = self.codes.read(body)
            return Query("codes", message.n_rows, message)
        if name == _ROWS:
            return self._packed_rows(body)
        rows = self._matrix(_rows_of(body, most_rows))
        return Query("rows", len(rows), rows)

    def _check_type(self, header: str) -> str:
        """Return the media type of a body that can be taken."""
        name, parameters = media_type(header)
        if name in (_CODES, _ROWS) and parameters.get("v", "1") != "1":
            raise Problem(415, f"the version of {name} must be 1, got {parameters['v'][:20]!r}.")
        charset = parameters.get("charset", "utf-8").lower()
        taken = {_CODES: self.codes, _ROWS: self.n_features or self.n_components, _JSON: self.n_features}
        if taken.get(name) is None or charset not in ("utf-8", "us-ascii"):
            listed = ", ".join(kind for kind, what in taken.items() if what is not None)
            got = f"{name[:80]!r}" if name else "none"
            raise Problem(415, f"Content-Type must be one of {listed}, got {got}.", [(b"accept", listed.encode())])
        return name

    def _packed_rows(self, body: bytes) -> Query:
        rows, side, _ = unpack_rows(body, fingerprint=self.fingerprint)
        if side == "input":
            if self.n_features is None:
                raise Problem(422, "input rows cannot be read: the encoder is not known here. Send codes.")
            return Query("rows", len(rows), self._numbers(rows))
        if self.n_components is None:
            raise Problem(422, "full features are not what this model reads. Send codes or input rows.")
        if rows.shape[1] != self.n_components:
            raise Problem(422, f"features must have {self.n_components} columns, got {rows.shape[1]}.")
        return Query("features", len(rows), rows)

    def _matrix(self, rows: list[Any]) -> NDArray[Any]:
        """Return the rows of JSON as the encoder takes them."""
        if self.columns is not None and (self.columns.categories or any(isinstance(row, dict) for row in rows)):
            return _within_float32(self.columns.matrix(rows))
        for place, row in enumerate(rows):
            if type(row) is not list or len(row) != self._width:
                got = f"{len(row)}" if type(row) is list else "what is no list"
                raise Problem(422, f"each row must be a list of {self._width} numbers, got {got} for row {place}.")
            if not all(type(value) in (int, float) for value in row):
                raise Problem(422, f"values must be numbers, got others in row {place}.")
        try:
            numbers = np.array(rows, dtype=np.float64).reshape(len(rows), self._width)
        except OverflowError:
            raise Problem(422, f"values must be at most {_LARGEST:.3g} in size.") from None
        return self._numbers(numbers)

    @property
    def _width(self) -> int:
        return len(self.columns.names) if self.columns is not None else self.n_features or 0

    def _numbers(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return rows of numbers as the encoder takes them."""
        if self.columns is not None and self.columns.categories:
            raise Problem(422, f"columns {', '.join(self.columns.categories)[:200]} are texts: send JSON.")
        if values.shape[1] != self._width:
            raise Problem(422, f"rows must have {self._width} columns, got {values.shape[1]}.")
        return _within_float32(values if self.columns is None else self.columns.scaled(values))


def _within_float32(values: NDArray[Any]) -> NDArray[Any]:
    if not np.all(np.abs(values) <= _LARGEST):
        raise Problem(422, f"values must be finite and at most {_LARGEST:.3g} in size.")
    return values


def _rows_of(body: bytes, most: int) -> list[Any]:
    """Return the rows of JSON: a list of them, or an object with `rows`."""
    try:
        content = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # ValueError: also text that is no UTF-8, and integers of too many digits
        raise Problem(400, "the body must be JSON text in UTF-8.") from None
    if isinstance(content, dict):
        if set(content) != {"rows"}:
            raise Problem(422, "the object must have 'rows' and nothing else.")
        content = content["rows"]
    if not isinstance(content, list):
        raise Problem(422, "rows must be a list of rows.")
    if len(content) > most:
        raise _too_many(len(content), most)
    return content


def _too_many(n_rows: int, most: int) -> Problem:
    return Problem(413, f"a request must have at most {most} rows, got {n_rows}. Send several.")


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
