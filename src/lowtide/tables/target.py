"""The target of a table is what is to be learned: classes or numbers, a column of the table or a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.tables.cells import MISSING, ChoiceError, TableError, number_of, text_of
from lowtide.tables.reading import Source, is_table_name, open_table

Array = NDArray[Any]
Task = Literal["classification", "regression"]
Kind = Literal["text", "whole", "number"]

_MOST_WHOLE_NUMBERS = 20
# What people write for no class; "none" and "-" may be classes.
_NO_CLASS = frozenset({"", "na", "n/a", "nan", "null", "?"})
_ORDER: tuple[Kind, ...] = ("whole", "number", "text")  # the wider later


@dataclass(frozen=True)
class Target:
    """Values to learn.

    Attributes
    ----------
    task : {"classification", "regression"}
    values : ndarray (n,)
        Classes as texts or integers, or float64.
    why : str
        What the choice of the task rests on.
    there : ndarray of bool (n_rows,) or None
        Which rows of the table have a value, one of `values` each; None for all.
    """

    task: Task
    values: Array
    why: str
    there: NDArray[np.bool_] | None = None


def read_target(cells: Array, name: str, wish: Task | None = None) -> Target:
    """Return the target of a column: text, truth values and few whole numbers are classes, other numbers are not.

    Rows without a value are left out.

    Parameters
    ----------
    cells : ndarray (n,)
        As the file has them.
    name : str
        What to call the column in messages.
    wish : {"classification", "regression"} or None
        The task, when it was asked for.

    Examples
    --------
    >>> read_target(np.array(["a", "b", "a"], dtype=object), "y").task
    'classification'
    >>> read_target(np.array([0.5, 1.25, 3.0]), "y").why
    'numbers'
    >>> read_target(np.array([0.5, np.nan, 3.0]), "y").values
    array([0.5, 3. ])
    """
    there = _there(cells)
    if not there.any():
        raise TableError(f"target {name!r}: rows with a value are needed to learn from, got none.")
    cells, mask = (cells, None) if there.all() else (cells[there], there)
    kind, values = read_values(cells, name)
    if kind == "text":
        if wish == "regression":
            text = next((text for text in values if number_of(text) is None), "nan")
            raise TableError(f"target {name!r}: regression needs numbers, got {str(text)!r}. Leave out --regression.")
        return Target("classification", values, "text" if cells.dtype.kind != "b" else "truth values", mask)
    n_different = len(np.unique(values))
    few = kind == "whole" and n_different <= _MOST_WHOLE_NUMBERS and 2 * n_different <= len(values)
    task: Task = wish or ("classification" if few else "regression")
    why = f"{n_different} different whole numbers" if few else "numbers"
    if task == "regression":
        return Target(task, values, why, mask)
    return Target(task, values.astype(np.int64) if kind == "whole" else _texts(cells), why, mask)


def read_values(cells: Array, name: str, first_row: int = 1) -> tuple[Kind, Array]:
    """Return what cells of a target hold, and their values: texts, or float64; every row from `first_row` has one."""
    numbers = _numbers(cells)
    values: Array = _texts(cells) if numbers is None else numbers
    absent = values == "" if numbers is None else ~np.isfinite(values)
    if absent.any():
        row = int(np.argmax(absent))
        got = repr(text_of(cells[row])) if text_of(cells[row]) else "nothing"
        more = f" (and {int(absent.sum()) - 1} more like it)" if absent.sum() > 1 else ""
        place = f"row {first_row + row}{more}"
        raise TableError(f"target {name!r}: every row must have a value, got {got} in {place}. Remove those rows.")
    if numbers is None:
        return "text", values
    is_whole = np.all(values == np.rint(values)) and np.abs(values).max(initial=0.0) < 2**53
    return "whole" if is_whole else "number", values


def target_survey(source: Source, name: str, report: Callable[[int], None] = lambda n: None) -> Kind | None:
    """Return what the target of a table holds, None for one without rows."""
    kinds, n_rows = set(), 0
    for block in source.blocks():
        kinds.add(read_values(block.column(name), name, block.first_row)[0])
        n_rows += block.n_rows
        report(n_rows)
    return max(kinds, key=_ORDER.index, default=None)


def target_values(cells: Array, kind: Kind) -> Array:
    """Return cells as a target of that kind, or of a wider one."""
    if kind == "text":
        return _texts(cells)
    numbers = _numbers(cells)
    if numbers is None:
        raise TableError("a target must hold numbers in all rows, got text.")
    return numbers.astype(np.int64) if kind == "whole" else numbers


def comparable(cells: Array, classes: Array | None) -> tuple[Array, NDArray[np.bool_]]:
    """Return true values as a model gives them, and which rows have one.

    Parameters
    ----------
    cells : ndarray (n,)
        As the file has them.
    classes : ndarray or None
        The model's classes; None for numbers.
    """
    texts = _texts(cells)
    if classes is not None and classes.dtype.kind not in "biuf":
        known = frozenset(classes.tolist())
        return texts, np.array([text in known or text.lower() not in _NO_CLASS for text in texts], dtype=bool)
    values = np.array([number_of(text) for text in texts], dtype=np.float64)  # NaN for None
    there = np.array([text.lower() not in MISSING for text in texts], dtype=bool)
    # A class that is no number is wrong, not absent; a number that is none cannot be compared.
    return values, there if classes is not None else there & np.isfinite(values)


def target_in_file(
    target: str, columns: Sequence[str], file: str, *, header: bool, encoding: str | None = None
) -> Array | None:
    """Return the cells of a target that names a file with one column; None when it is a column of `file` itself."""
    path = Path(target)
    if target in columns or not is_table_name(path):
        return None
    if not path.is_file():
        raise ChoiceError("target", f"must name a column of {file} or a file, got {target!r}, which is neither.")
    source = open_table(path, header=header, encoding=encoding)
    if len(source.names) != 1:
        raise TableError(f"{path.name}: a target file must have one column, got {len(source.names)}.")
    blocks = [block.columns[0] for block in source.blocks()]
    return np.concatenate(blocks) if blocks else np.empty(0)


def _there(cells: Array) -> NDArray[np.bool_]:
    """Return which cells hold a value: a number, or what may be a class."""
    if cells.dtype.kind != "O":
        return np.asarray(cells == cells)  # NaN alone differs from itself
    texts = [text_of(cell).lower() for cell in cells.tolist()]
    are_numbers = all(text in MISSING or number_of(text) is not None for text in texts)
    nothing = MISSING if are_numbers else _NO_CLASS
    return np.array([text not in nothing for text in texts], dtype=bool)


def _numbers(cells: Array) -> NDArray[np.float64] | None:
    """Return numbers, NaN where there is nothing; None for truth values and when some cells are other text."""
    if cells.dtype.kind == "b":
        return None
    if cells.dtype.kind in "iuf":
        return cells.astype(np.float64)
    texts = _texts(cells)
    numbers = [number_of(text) for text in texts]
    if any(number is None and text.lower() not in MISSING for number, text in zip(numbers, texts)):
        return None
    values = np.array(numbers, dtype=np.float64)  # NaN for None
    return None if np.isnan(values).all() else values


def _texts(cells: Array) -> Array:
    return np.array([text_of(cell) for cell in cells.tolist()], dtype=str)
