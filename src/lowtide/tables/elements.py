"""Elements of a recipe: sources of features, categories of columns, elementary steps, and their form in JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from lowtide.tables.cells import TableError, listed, plain_cells, shown, text_of

_LONGEST = 80  # of a cell in a message
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
        column, cells, unknown, as_text, missing = _entries(
            entry, column=int, values=list, unknown=str, as_text=bool, missing=object
        )
        _check(unknown in ("ignore", "error"), unknown, "'ignore' or 'error'")
        values = tuple(map(_category, cells))
        _check(len(set(values)) == len(values), values, "different categories")
        return cls(_index(column, n_columns), values, unknown, as_text, _category(missing))

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
            got = got if len(got) <= _LONGEST else f"{got[:_LONGEST]}..."
            remedy = 'An encoder of categories with handle_unknown="ignore" takes others.'
            must = f"column {name!r} must hold one of {listed(self.values)}"
            raise TableError(f"{must}, got {got} in row {row + 1}. {remedy}")
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


def parse_elements(content: Any) -> tuple[tuple[str, ...], bool, tuple[Origin, ...], Steps, tuple[Categories, ...]]:
    """Return the fields of a recipe from JSON, or raise KeyError, TypeError or ValueError: it may be a stranger's."""
    columns, named, categories, sources, steps = _entries(
        content, columns=list, named=bool, categories=list, sources=list, steps=list
    )
    _check(all(isinstance(name, str) for name in columns), columns, "texts")
    _check(len(set(columns)) == len(columns), columns, "different columns")
    known = tuple(Categories.from_json(entry, len(columns)) for entry in categories)
    origins = tuple(_source(entry, len(columns), known) for entry in sources)
    operations = tuple(_step(entry, len(sources)) for entry in steps)
    return tuple(columns), named, origins, operations, known


def _source(entry: Any, n_columns: int, categories: tuple[Categories, ...]) -> Origin:
    match entry:
        case ["number", column]:
            return Number(_index(column, n_columns))
        case ["indicator", k, i]:
            return Indicator(_index(k, len(categories)), _index(i, len(categories[k].values)))
        case ["ordinal", k, unknown, missing]:
            return Ordinal(_index(k, len(categories)), _number(unknown), _number(missing))
    raise ValueError(f"{shown(entry)} in place of a source")


def _step(entry: Any, n_features: int) -> tuple[str, tuple[tuple[float | None, ...], ...]]:
    op, *arguments = entry
    known = isinstance(op, str) and len(arguments) == len(NEUTRAL.get(op, ())) > 0
    _check(known, op, f"one of {listed([*NEUTRAL])}, with its numbers")
    numbers = tuple(tuple(map(_number, values)) for values in arguments)
    _check(all(len(values) == n_features for values in numbers), op, f"a step with {n_features} numbers")
    _check(op != "divide" or 0.0 not in numbers[0], 0.0, "a divisor")
    return op, numbers


def _entries(content: Any, **kinds: type) -> list[Any]:
    """Return the entries of an object of JSON that must have just these, each of its kind."""
    _check(isinstance(content, dict) and set(content) == set(kinds), content, f"an object of {listed([*kinds])}")
    for name, kind in kinds.items():
        _check(isinstance(content[name], kind), content[name], f"{name}, a {kind.__name__}")
    return [content[name] for name in kinds]


def _check(holds: bool, value: Any, wanted: str) -> None:
    if not holds:
        raise ValueError(f"{shown(value)} in place of {wanted}")


def _index(value: Any, n: int) -> int:
    _check(type(value) is int and 0 <= value < n, value, f"a number below {n}")
    return int(value)


def _number(value: Any) -> float | None:
    if value is None:
        return None
    _check(type(value) in (int, float) and math.isfinite(value), value, "a finite number")
    return float(value)


def _category(value: Any) -> Category:
    return value if isinstance(value, (str, bool, int)) else _number(value)
