"""Bodies of JSON for the compiled reader of rows; what it takes, Python's own reader must take for the same rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from benchmarks.fuzz.changes import changed_bytes, changed_json
from benchmarks.fuzz.running import WrongError
from lowtide.wire import JsonReader

__all__ = ["Bodies", "expected_rows"]

_CORPUS = Path(__file__).with_name("corpus") / "json"
_NAMES = ("a", "b", "c", "d")
_COLUMNS = ("numbers", "nullable", "categories", "unused")
_TOKENS = (
    *("[", "]", "{", "}", ",", ":", '"', "null", "true", "false", "NaN", "-Infinity", "1e999", "-0", "0.1", "1e-400"),
    *("01", "1.", ".5", "+1", "0x1", "1e", "9" * 30, "9" * 1200, "0." + "1" * 1090, "[" * 40, "[" * 3000, '{"a":' * 40),
    *('"\\ud800"', '"\\u0000"', '"\\x"', '"é"', '"a', "\\", " ", "\n", "\0", '"rows"', '"a":1,', "/**/"),
)
_MOST_ROWS = 50


class Bodies:
    """Rows of numbers, and rows by name with cells of every kind; byte 0 of an input says which are asked for."""

    kinds: ClassVar[Mapping[str, int]] = {"bytes": 40, "tokens": 30, "values": 30}

    def __init__(self) -> None:
        self._bodies = [file.read_bytes() for file in sorted(_CORPUS.iterdir())]

    def open(self, folder: Path) -> None:
        """Make a reader of each form."""
        self._readers = [JsonReader(["numbers"] * 4), JsonReader(_COLUMNS, _NAMES)]

    def make(self, kind: str, draw: Random) -> bytes:
        """Return the number of a reader and a changed body."""
        body = draw.choice(self._bodies)
        if kind == "bytes":
            body = changed_bytes(body, draw, self._bodies)
        elif kind == "values":
            body = json.dumps(changed_json(body.decode(), draw), ensure_ascii=draw.random() < 0.5).encode(
                "utf-8", "surrogatepass"
            )
        else:
            text = body.decode()
            for _ in range(draw.choice((1, 1, 2, 3))):
                at = draw.randrange(len(text) + 1)
                text = text[:at] + draw.choice(_TOKENS) + text[at + draw.choice((0, 1, 3)) :]
            body = text.encode()
        return bytes([draw.randrange(2)]) + body

    def seeds(self) -> list[bytes]:
        """Return the bodies for both readers."""
        return [bytes([i]) + each for each in self._bodies for i in (0, 1)]

    def sealed(self, data: bytes) -> tuple[str, bytes]:
        """Return the body as it is."""
        return "bytes", bytes([data[0] % 2 if data else 0]) + data[1:]

    def judge(self, kind: str, data: bytes) -> None:
        """Read a body, and compare what was taken with what Python's reader makes of it."""
        found = self._readers[data[0]].read(data[1:], _MOST_ROWS)
        kinds, names = (("numbers",) * 4, ()) if data[0] == 0 else (_COLUMNS, _NAMES)
        rows = expected_rows(data[1:], names)
        if len(rows) != len(found.numbers):
            raise WrongError(f"{len(found.numbers)} rows were read of {len(rows)}")
        for i, row in enumerate(rows):
            for j, (column, value) in enumerate(zip(kinds, row)):
                if column == "categories":
                    same = _same(found.cells[j][i], value)
                else:
                    same = column == "unused" or _same_number(float(found.numbers[i, j]), value, column == "nullable")
                if not same:
                    raise WrongError(f"row {i}, column {j} was read as another value than {value!r}")


def _same(cell: Any, value: Any) -> bool:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not isinstance(cell, bool):
        return isinstance(cell, (int, float)) and float(cell) == float(value)
    return type(cell) is type(value) and cell == value


def _same_number(number: float, value: Any, nullable: bool) -> bool:
    if value is None:
        return nullable and math.isnan(number)
    if isinstance(value, bool) and not nullable:
        return False
    return isinstance(value, (int, float)) and math.isfinite(number) and number == float(value)


def expected_rows(body: bytes, names: tuple[str, ...]) -> list[list[Any]]:
    """Return the cells of a body row by row, by Python's reader; WrongError for one that has no such rows."""

    def refuse(constant: str) -> float:
        raise ValueError(constant)

    try:
        content = json.loads(body.decode("utf-8", "strict"), parse_constant=refuse)
        rows = content["rows"] if isinstance(content, dict) and [*content] == ["rows"] else content
        if not isinstance(rows, list):
            raise ValueError("no list")
        found = [[row[name] for name in names] if isinstance(row, dict) else row for row in rows]
        if not all(isinstance(row, list) and len(row) == 4 for row in found):
            raise ValueError("rows of another length")
        return found
    except (ValueError, KeyError, RecursionError) as error:
        raise WrongError(f"a body was taken that Python's reader does not take so: {error!r}") from error
