"""Elements of a recipe: sources of features, categories of columns, elementary steps, and their form in JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from lowtide.tables.cells import TableError, listed, plain_cells, shown, text_of

__all__ = [
    "NEUTRAL",
    "Categories",
    "Category",
    "Feature",
    "Indicator",
    "Number",
    "Ordinal",
    "Origin",
    "Step",
    "Steps",
    "parse_elements",
]

Category = str | bool | int | float | None  # None is a missing value
Step = tuple[str, *tuple[float, ...]]  # of one feature: the name of an operation and its numbers
# Of all features: the name, and for each argument a number a feature, None for one that is left as it is.
Steps = tuple[tuple[str, tuple[tuple[float | None, ...], ...]], ...]

# The operations, with the numbers that leave a value as it is, to the bit.
NEUTRAL: dict[str, tuple[float, ...]] = {
    "fill": (math.nan,),
    "subtract": (0.0,),
    "divide": (1.0,),
    "multiply": (1.0,),
    "add": (-0.0,),
    "clip": (-math.inf, math.inf),
}


@dataclass(frozen=True)
class Categories:
    """The categories of a column, as an encoder of categories was fitted with them.

    Parameters
    ----------
    column : int
        The raw column.
    values : tuple of str, bool, int, float or None
        All different; None is a missing value that counts as a category.
    unknown : {"ignore", "error"}
        What a cell that is none of them does: it is no category, or the row is refused.
    as_text : bool, default=False
        Whether cells are made texts first: whole numbers without a point, no blanks around, "" for nothing.
    missing : str, bool, int, float or None, default=None
        What a missing cell is replaced by; None leaves it missing.
    """

    column: int
    values: tuple[Category, ...]
    unknown: Literal["ignore", "error"] = "ignore"
    as_text: bool = False
    missing: Category = None

    @cached_property
    def _place(self) -> dict[Category, int]:
        return {value: i for i, value in enumerate(self.values)}

    def to_json(self) -> dict[str, Any]:
        """Return the categories as JSON has them."""
        return {**asdict(self), "values": list(self.values)}

    @classmethod
    def from_json(cls, entry: Any, n_columns: int) -> Self:
        """Return the categories of a recipe of so many columns."""
        _check(set(entry) == set(cls.__dataclass_fields__), list(entry), "categories")
        _check(entry["unknown"] in ("ignore", "error"), entry["unknown"], "'ignore' or 'error'")
        values = tuple(_category(value) for value in _list(entry["values"]))
        _check(len(set(values)) == len(values), values, "different categories")
        column, missing = _index(entry["column"], n_columns), _category(entry["missing"])
        return cls(column, values, entry["unknown"], _truth(entry["as_text"]), missing)

    def cells(self, column: NDArray[Any]) -> list[Any]:
        """Return the cells of a raw column as they are compared."""
        if self.as_text:
            return [text_of(cell) for cell in column.tolist()]
        cells = plain_cells(column)
        return cells if self.missing is None else [self.missing if cell is None else cell for cell in cells]

    def index(self, column: NDArray[Any], name: str) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the place of each cell among the categories, -1 for none, and which cells hold nothing."""
        cells = self.cells(column)
        try:
            found = np.array([self._place.get(cell, -1) for cell in cells], dtype=np.intp)
        except TypeError as error:
            raise TableError(f"column {name!r} must hold texts, numbers or truth values, got {error}.") from error
        if self.unknown == "error" and (found < 0).any():
            row = int(np.argmax(found < 0))
            got = "nothing" if cells[row] is None else repr(cells[row])
            raise TableError(
                f"column {name!r} must hold one of {listed(self.values)}, got {got} in row {row + 1}. An encoder of "
                'categories with handle_unknown="ignore" takes others.'
            )
        return found, np.array([cell is None for cell in cells], dtype=bool)


@dataclass(frozen=True)
class Number:
    """The number in a raw column; NaN where there is nothing."""

    column: int


@dataclass(frozen=True)
class Indicator:
    """1.0 where a cell is one category, 0.0 elsewhere: the category at `index` of a recipe's list of categories."""

    categories: int
    index: int


@dataclass(frozen=True)
class Ordinal:
    """The place of a cell among the categories, from 0.0 on; `unknown` for none of them, `missing` for nothing.

    None stands for NaN, which a later "fill" replaces; without one the row is refused.
    """

    categories: int
    unknown: float | None = None
    missing: float | None = None


Origin = Number | Indicator | Ordinal
Feature = tuple[Origin, tuple[Step, ...]]


def parse_elements(content: Any) -> dict[str, Any]:
    """Return the fields of a recipe from JSON, or raise KeyError, TypeError or ValueError: it may be a stranger's."""
    _check(set(content) == {"columns", "named", "categories", "sources", "steps"}, list(content), "a recipe's entries")
    columns = tuple(_text(name) for name in _list(content["columns"]))
    _check(len(set(columns)) == len(columns), columns, "different columns")
    categories = [Categories.from_json(entry, len(columns)) for entry in _list(content["categories"])]
    sources = tuple(_source(entry, len(columns), categories) for entry in _list(content["sources"]))
    steps = tuple(_step(entry, len(sources)) for entry in _list(content["steps"]))
    named = _truth(content["named"])
    return {"columns": columns, "named": named, "sources": sources, "steps": steps, "categories": tuple(categories)}


def _source(entry: Any, n_columns: int, categories: list[Categories]) -> Origin:
    match _list(entry):
        case ["number", column]:
            return Number(_index(column, n_columns))
        case ["indicator", k, i]:
            return Indicator(_index(k, len(categories)), _index(i, len(categories[k].values)))
        case ["ordinal", k, unknown, missing]:
            numbers = (None if value is None else _finite(value) for value in (unknown, missing))
            return Ordinal(_index(k, len(categories)), *numbers)
    raise ValueError(f"{shown(entry)} in place of a source")


def _step(entry: Any, n_features: int) -> tuple[str, tuple[tuple[float | None, ...], ...]]:
    op, *arguments = _list(entry)
    _check(len(arguments) == len(NEUTRAL.get(_text(op), ())) > 0, op, f"one of {listed([*NEUTRAL])}, with its numbers")
    numbers = tuple(tuple(None if v is None else _finite(v) for v in _list(values)) for values in arguments)
    _check(all(len(values) == n_features for values in numbers), op, f"a step with {n_features} numbers")
    _check(op != "divide" or 0.0 not in numbers[0], 0.0, "a divisor")
    return op, numbers


def _check(holds: bool, value: Any, wanted: str) -> Any:
    """Return a value for which something holds."""
    if not holds:
        raise ValueError(f"{shown(value)} in place of {wanted}")
    return value


def _list(value: Any) -> list[Any]:
    return list(_check(isinstance(value, list), value, "a list"))


def _text(value: Any) -> str:
    return str(_check(isinstance(value, str), value, "a text"))


def _truth(value: Any) -> bool:
    return bool(_check(isinstance(value, bool), value, "true or false"))


def _finite(value: Any) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(_check(number, value, "a finite number"))


def _index(value: Any, n: int) -> int:
    return int(_check(type(value) is int and 0 <= value < n, value, f"a number below {n}"))


def _category(value: Any) -> Category:
    return value if value is None or isinstance(value, (str, bool, int)) else _finite(value)
