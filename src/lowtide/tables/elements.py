"""Elements of a recipe: sources of features, categories of columns, elementary steps, and their form in JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from lowtide.tables.cells import TableError, is_missing, listed, plain_cells, shown, text_of
from lowtide.tables.dates import BLANKS, DATE_ORDERS, DATE_PARTS, DatePartName, Dates

Floats = NDArray[np.float64]

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
# What a truth value may be written as, in lower case.
_TRUTH = {
    **dict.fromkeys(("true", "yes", "t", "y", "1"), 1.0),
    **dict.fromkeys(("false", "no", "f", "n", "0"), 0.0),
    "": math.nan,
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

    @property
    def takes_nothing(self) -> bool:
        """Whether a cell that holds nothing is one of the categories."""
        return ("" if self.as_text else self.missing) in self.values

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
class Truth:
    """1.0 where a raw column holds true, 0.0 for false; NaN where there is nothing.

    A cell is a truth value, the number 1 or 0, or one of the texts true, false, yes, no, t, f, y, n, 1 and 0, in any
    case and with blanks around.
    """

    column: int


@dataclass(frozen=True)
class Missing:
    """1.0 where a raw column of any kind holds nothing, or a text of blanks; 0.0 elsewhere."""

    column: int


@dataclass(frozen=True)
class DatePart:
    """A number made of a date, which is read as a recipe's list of dates says at `dates`; NaN for nothing.

    "days" counts from 1970-01-01, with the fraction of the day; "year_sine", "year_cosine", "week_sine", "week_cosine",
    "day_sine" and "day_cosine" are the sine and cosine of the turn that a year of 365.2425 days, a week and a day make.
    """

    dates: int
    part: DatePartName = "days"


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


Origin = Number | Truth | Missing | DatePart | Indicator | Ordinal
Feature = tuple[Origin, tuple[Step, ...]]
ColumnKind = Literal["number", "truth", "category", "date", "unused"]
KIND_ORDER: tuple[ColumnKind, ...] = (
    "unused",
    "number",
    "category",
    "truth",
    "date",
)  # the later says more of a column
KINDS: dict[type, ColumnKind] = {
    Number: "number",
    Missing: "number",
    Truth: "truth",
    DatePart: "date",
    Indicator: "category",
    Ordinal: "category",
}
_NAMES: dict[type, str] = {
    Number: "number",
    Truth: "truth",
    Missing: "missing",
    DatePart: "date",
    Indicator: "indicator",
    Ordinal: "ordinal",
}


def read_numbers(column: NDArray[Any], name: str) -> Floats:
    """Return the cells of a column as float64, NaN where there is nothing; a text that looks like a number is none."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64, copy=False)
    cells = plain_cells(column)
    for i, cell in enumerate(cells):
        if cell is not None and not isinstance(cell, (Real, Decimal, np.bool_)):
            raise TableError(f"column {name!r} must hold numbers, got {shown(cell)} in row {i + 1}.")
    try:
        return np.array(cells, dtype=np.float64)  # NaN for None
    except OverflowError:
        raise TableError(f"column {name!r} must hold numbers of at most 3.4e38 in size, got larger ones.") from None


def read_truth(column: NDArray[Any], name: str) -> Floats:
    """Return the truth values in a column as 1.0 and 0.0, NaN where there is nothing."""
    if column.dtype.kind in "biuf":
        values = column.astype(np.float64)
        wrong = ~(np.isnan(values) | (values == 0.0) | (values == 1.0))
    else:
        found = [_truth(cell) for cell in column.tolist()]
        values, wrong = np.array(found, dtype=np.float64), np.array([value is None for value in found], dtype=bool)
    if wrong.any():
        row = int(np.argmax(wrong))
        must = f"column {name!r} must hold true or false (or yes or no, 1 or 0)"
        raise TableError(f"{must}, got {shown(column[row])} in row {row + 1}.")
    return values


def _truth(cell: Any) -> float | None:
    if is_missing(cell):
        return math.nan
    if isinstance(cell, str):
        return _TRUTH.get(cell.strip(BLANKS).lower())
    if isinstance(cell, (Real, Decimal, np.bool_)) and cell in (0, 1):
        return float(cell)
    return None


def read_missing(column: NDArray[Any], _name: str = "") -> Floats:
    """Return 1.0 for the cells of a column that hold nothing, or a text of blanks, 0.0 for the others."""
    if column.dtype.kind in "biufM":
        return (column != column).astype(np.float64)  # NaN and NaT alone differ from themselves
    cells = column.tolist()
    return np.array([c.strip(BLANKS) == "" if isinstance(c, str) else is_missing(c) for c in cells], dtype=np.float64)


def align_steps(features: Sequence[Sequence[Step]]) -> Steps:
    """Return operations on all features that do to each its own steps, in order: one for all that have it alike."""
    rows: list[tuple[str, dict[int, tuple[float, ...]]]] = []
    for i, steps in enumerate(features):
        at = 0
        for op, *numbers in steps:
            at = next((k for k in range(at, len(rows)) if rows[k][0] == op), len(rows))
            if at == len(rows):
                rows.append((op, {}))
            rows[at][1][i] = tuple(map(float, numbers))
            at += 1
    n = len(features)
    return tuple(
        (op, tuple(tuple(given[i][k] if i in given else None for i in range(n)) for k in range(len(NEUTRAL[op]))))
        for op, given in rows
    )


def source_to_json(source: Origin) -> list[Any]:
    """Return a source as JSON has it: its name and its numbers."""
    return [_NAMES[type(source)], *astuple(source)]


def parse_elements(
    content: Any,
) -> tuple[tuple[str, ...], bool, tuple[Origin, ...], Steps, tuple[Categories, ...], tuple[Dates, ...]]:
    """Return the fields of a recipe from JSON, or raise KeyError, TypeError or ValueError: it may be a stranger's."""
    columns, named, categories, dates, sources, steps = _entries(
        content, columns=list, named=bool, categories=list, dates=list, sources=list, steps=list
    )
    _check(all(isinstance(name, str) for name in columns), columns, "texts")
    _check(len(set(columns)) == len(columns), columns, "different columns")
    known = tuple(Categories.from_json(entry, len(columns)) for entry in categories)
    read = tuple(_dates(entry, len(columns)) for entry in dates)
    origins = tuple(_source(entry, len(columns), known, len(read)) for entry in sources)
    operations = tuple(_step(entry, len(sources)) for entry in steps)
    return tuple(columns), named, origins, operations, known, read


def _dates(entry: Any, n_columns: int) -> Dates:
    column, order = _entries(entry, column=int, order=str)
    _check(order in DATE_ORDERS, order, f"one of {listed(DATE_ORDERS)}")
    return Dates(_index(column, n_columns), order)


def _source(entry: Any, n_columns: int, categories: tuple[Categories, ...], n_dates: int) -> Origin:
    match entry:
        case ["number", column]:
            return Number(_index(column, n_columns))
        case ["truth", column]:
            return Truth(_index(column, n_columns))
        case ["missing", column]:
            return Missing(_index(column, n_columns))
        case ["date", k, str(part)]:
            _check(part in DATE_PARTS, part, f"one of {listed(DATE_PARTS, most=7)}")
            return DatePart(_index(k, n_dates), part)  # type: ignore[arg-type]
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
