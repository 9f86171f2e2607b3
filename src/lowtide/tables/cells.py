"""Cells of a table: what counts as a number, a text or a missing value, and what to say about the others."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import LowtideError

Column = NDArray[Any]

# Blanks, also those that do not break a line, and the apostrophe: what parts thousands beside point and comma.
GROUPS = " '\u00a0\u202f"
# What people write for a value that is not there, in lower case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nil", "?", "-"})

_MOST_COMPARED = 100  # names among which one that was meant is looked for


class TableError(LowtideError, ValueError):
    """A table cannot be read, or does not hold what it must."""


class ChoiceError(TableError):
    """Columns were chosen that cannot be; `parameter` is "target", "column", "categories", "drop" or "data"."""

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(f"{parameter} {problem}")
        self.parameter, self.problem = parameter, problem


def listed(names: Sequence[object], most: int = 6) -> str:
    """Return names in quotes, the first few of many.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=1)
    ("'a', 'b' and 'c'", "'a' and 2 more")
    """
    shown = [repr(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join([*filter(None, [", ".join(shown[:-1])]), *shown[-1:]])


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return the sentence that helps with a name that is not there: "Did you mean 'Species'?", or all names."""
    lower = {known.lower(): known for known in reversed(names)}
    near = [lower[match] for match in get_close_matches(name.lower(), lower, n=3)]
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return f"The columns are {listed(names, most=20)}."


def shown(cell: object) -> str:
    """Return a cell in quotes, the beginning of a long one."""
    text = str(cell).strip()
    return repr(text if len(text) <= 24 else f"{text[:21]}...")


def is_missing(value: object) -> bool:
    """Whether a cell holds nothing: None, NaN, or what pandas has for it."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def text_of(value: object) -> str:
    """Return a cell as text: whole numbers without a point, nothing as the empty text.

    Examples
    --------
    >>> text_of(3.0), text_of(" Bern "), text_of(None), text_of(float("nan"))
    ('3', 'Bern', '', '')
    """
    if is_missing(value):
        return ""
    if isinstance(value, (float, np.floating)) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def number_of(value: object) -> float | None:
    """Return the number that a cell of a file holds, as Python reads it, None when it has none."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


@dataclass(frozen=True)
class Marks:
    """How numbers are written in a text: what begins the decimals, and what parts thousands, "" for nothing.

    Examples
    --------
    >>> Marks(",", ".").plain("-1.234,5"), Marks(".", ",").plain("1,234"), Marks(",", ".").plain("31.12.2024")
    ('-1234.5', '1234', '31.12.2024')
    """

    decimal: str = "."
    thousands: str = ""

    @cached_property
    def _number(self) -> re.Pattern[str]:
        groups = rf"|\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+" if self.thousands else ""
        return re.compile(rf"\s*[+-]?(?:\d+{groups})?(?:{re.escape(self.decimal)}\d*)?(?:[eE][+-]?\d+)?\s*")

    def plain(self, text: str) -> str:
        """Return a number as Python writes it, without marks of thousands and with a point; other texts as they are."""
        if self._number.fullmatch(text) is None:
            return text
        return (text.replace(self.thousands, "") if self.thousands else text).replace(self.decimal, ".")


PLAIN, COMMA = Marks(), Marks(",", ".")


def present(column: Column) -> Column:
    """Return the cells of a column of a file, None for what people write where there is nothing."""
    if column.dtype.kind != "O":
        return column
    cells, out = column.tolist(), np.empty(len(column), dtype=object)
    if {*map(type, cells)} <= {str, type(None)}:  # of equal texts one is looked at
        known = {cell: None if is_nothing(cell) else cell for cell in {*cells}}
        out[:] = [*map(known.__getitem__, cells)]
    else:
        out[:] = [None if is_nothing(cell) else cell for cell in cells]
    return out


def is_nothing(cell: object) -> bool:
    """Whether a cell of a file holds nothing, or what people write for that."""
    if isinstance(cell, str):
        # No word for nothing is longer, but for blanks around it.
        return (len(cell) < 5 or cell[:1].isspace() or cell[-1:].isspace()) and cell.strip().lower() in MISSING
    return is_missing(cell)


def numbers_in(column: Column) -> NDArray[np.float64] | None:
    """Return the cells of a column of a file as float64, NaN where there is nothing; None when some are other text."""
    if column.dtype.kind == "M":
        return None
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = [math.nan if is_nothing(cell) else number_of(cell) for cell in column.tolist()]
        return None if None in numbers else np.array(numbers, dtype=np.float64)


def plain_cells(column: Column) -> list[Any]:
    """Return the cells of a column as Python has them, None where there is nothing."""
    cells = column.tolist()
    return cells if column.dtype.kind in "biu" else [None if is_missing(cell) else cell for cell in cells]


def columns_of(rows: Any, names: Sequence[str], named: bool) -> list[Column]:
    """Return the columns of whatever `Recipe.apply` takes, one array (n_rows,) each, in the order of `names`.

    A table with names has them found, in any order, and may have more; a data frame is taken in order like the others
    where `names` only count the columns.
    """
    if hasattr(rows, "toarray"):
        raise TableError(f"rows must be dense, got a {type(rows).__name__}. Convert it: rows.toarray().")
    known = names_of(rows)
    if known is not None:
        if not named and not isinstance(rows, Mapping):
            if len(known) != len(names):
                raise TableError(f"rows must have {len(names)} columns, got a data frame with {len(known)}.")
            names = list(known)
        check_names(known, names, "the table")
        columns = [*named_columns(rows, names).values()]
        lengths = [len(column) for column in columns]
        if len(set(lengths)) > 1:
            raise TableError(f"columns must have equal lengths, got {listed(lengths)}.")
        return columns
    if not isinstance(rows, np.ndarray):
        kind = type(rows).__name__
        raise TableError(f"rows must be a table: a data frame, an array or a list of rows, got {kind}.")
    if rows.ndim != 2 or rows.shape[1] != len(names):
        which = f", {listed(names)}" if named else ""
        raise TableError(f"rows must have {len(names)} columns{which}, got shape {rows.shape}.")
    return list(rows.T)


def names_of(rows: Any) -> list[str] | None:
    """Return the names of the columns of a data frame, a dict of columns, or what Arrow can read; None for others."""
    if hasattr(rows, "toarray"):
        return None
    if isinstance(rows, Mapping):
        return [*map(str, rows)]
    if hasattr(rows, "columns") and not hasattr(rows, "column_names"):
        return [*map(str, rows.columns)]
    return list(_arrow_table(rows).column_names) if hasattr(rows, "__arrow_c_stream__") else None


def named_columns(rows: Any, names: Sequence[str]) -> dict[str, Column]:
    """Return columns, by their names, of a table that has names."""
    if isinstance(rows, Mapping) or (hasattr(rows, "columns") and not hasattr(rows, "column_names")):
        known = {str(name): name for name in (rows if isinstance(rows, Mapping) else rows.columns)}
        return {name: _column(rows[known[name]], name) for name in names}
    import pyarrow

    table = _arrow_table(rows)
    return {name: arrow_values(pyarrow, table.column(name).combine_chunks()) for name in names}


def _arrow_table(rows: Any) -> Any:
    import pyarrow

    return pyarrow.table(rows)


def arrow_values(arrow: Any, column: Any) -> Column:
    """Return an Arrow column as it is: numbers, booleans, dates in UTC, NaN for nothing, anything else as objects."""
    types = arrow.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if any(is_kind(column.type) for is_kind in kinds):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if types.is_timestamp(column.type):
        column = column.cast(arrow.timestamp("us", column.type.tz), safe=False)
        return np.asarray(column.cast(arrow.timestamp("us")).to_numpy(zero_copy_only=False))
    if types.is_date(column.type):
        return np.asarray(column.cast(arrow.date32()).to_numpy(zero_copy_only=False))
    return np.array([None if value is None else str(value) for value in column.to_pylist()], dtype=object)


def check_names(known: Any, names: Sequence[str], where: str) -> None:
    """Refuse rows of known columns without those that are needed."""
    missing = [name for name in names if name not in known]
    if missing:
        needed = frozenset(names)
        raise TableError(lacking(where, missing, [str(name) for name in known if str(name) not in needed]))


def lacking(where: str, missing: Sequence[str], surplus: Sequence[str]) -> str:
    """Return what to say of rows without columns that are needed, and with surplus ones, which nothing needs.

    Examples
    --------
    >>> lacking("row 1", ["city"], ["City", "id"])
    "column 'city' is missing in row 1; it has 'City' and 'id', which are not known. If 'City' is 'city', rename it."
    """
    lacks = f"column{'s' if len(missing) > 1 else ''} {listed(missing)} {_are(missing)} missing in {where}"
    if not surplus:
        return f"{lacks}."
    lower = {name.lower(): name for name in reversed(surplus[:_MOST_COMPARED])}
    near = [lower[match] for match in get_close_matches(missing[0].lower(), lower, n=1)]
    meant = f" If {near[0]!r} is {missing[0]!r}, rename it." if near else ""
    return f"{lacks}; it has {listed(surplus)}, which {_are(surplus)} not known.{meant}"


def _are(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"


def array_of_rows(rows: Sequence[Any], names: Sequence[str]) -> Column:
    """Return rows that are lists or dicts as an array (n_rows, n_names), of numbers where all cells are."""
    return _array([_in_order(row, names, i) for i, row in enumerate(rows)], (len(rows), len(names)))


def _in_order(row: Any, names: Sequence[str], i: int) -> Any:
    """Return the values of a row in the table's order."""
    if isinstance(row, Mapping):
        check_names(row, names, f"row {i + 1}")
        return [row[name] for name in names]
    counted = isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, str)
    if not counted or len(row) != len(names):
        got = f"{len(row)} in" if counted else f"{shown(row)} as"
        raise TableError(f"a row must have {len(names)} values, got {got} row {i + 1}.")
    return row


def _column(values: Any, name: str) -> Column:
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise TableError(f"column {name!r} must be a list of cells, got {shown(values)}. Put a single row in a list.")
    array = values.to_numpy() if hasattr(values, "to_numpy") else values
    return array if isinstance(array, np.ndarray) else _array(list(array), (len(array),))


def _array(cells: list[Any], shape: tuple[int, ...]) -> Column:
    """Return Python's cells as numbers where all of them are, else as objects: numpy would make texts of a mixture."""
    try:
        array = np.array(cells)
    except (ValueError, OverflowError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biuf" and array.size == math.prod(shape):
        return array.reshape(shape)
    out = np.empty(shape, dtype=object)
    for i, cell in enumerate(cells):
        out[i] = cell
    return out
