"""Cells of a table: what counts as a number, a text or a missing value, and what to say about the others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import LowtideError

Column = NDArray[Any]

# What people write for a value that is not there, in lower case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nil", "?", "-"})

_MOST_COMPARED = 100  # names among which one that was meant is looked for


class TableError(LowtideError, ValueError):
    """A table cannot be read, or does not hold what it must."""


class ChoiceError(TableError):
    """Columns were chosen that cannot be: `parameter` ("target", "one_hot", "drop", "data") has the `problem`."""

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
    is_frame = hasattr(rows, "columns")
    if is_frame or isinstance(rows, Mapping):
        known = {str(name): name for name in (rows.columns if is_frame else rows)}
        if is_frame and not named:
            if len(known) != len(names):
                raise TableError(f"rows must have {len(names)} columns, got a data frame with {len(known)}.")
            names = list(known)
        _check_names(known, names, "the table")
        columns = [_column(rows[known[name]], name) for name in names]
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


def _check_names(known: Any, names: Sequence[str], where: str) -> None:
    missing = [name for name in names if name not in known]
    if missing:
        needed = frozenset(names)
        raise TableError(lacking(where, missing, [str(name) for name in known if str(name) not in needed]))


def lacking(where: str, missing: Sequence[str], surplus: Sequence[str]) -> str:
    """Return what to say of rows without columns that are needed, and with surplus ones, which nothing needs.

    Examples
    --------
    >>> lacking("row 1", ["city"], ["City", "id"])
    "column 'city' is missing in row 1; it has 'City' and 'id', which are not known. Did you mean 'City'?"
    """
    lacks = f"column{'s' if len(missing) > 1 else ''} {listed(missing)} {_are(missing)} missing in {where}"
    if not surplus:
        return f"{lacks}."
    lower = {name.lower(): name for name in reversed(surplus[:_MOST_COMPARED])}
    near = [lower[match] for match in get_close_matches(missing[0].lower(), lower, n=1)]
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return f"{lacks}; it has {listed(surplus)}, which {_are(surplus)} not known.{meant}"


def _are(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"


def array_of_rows(rows: Sequence[Any], names: Sequence[str]) -> Column:
    """Return rows that are lists or dicts as an array (n_rows, n_names), of numbers where all cells are."""
    return _array([_in_order(row, names, i) for i, row in enumerate(rows)], (len(rows), len(names)))


def _in_order(row: Any, names: Sequence[str], i: int) -> Any:
    """Return the values of a row in the table's order."""
    if isinstance(row, Mapping):
        _check_names(row, names, f"row {i + 1}")
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
