"""Columns of a block as numbers, and what to say when they are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.cli.tables.block import MISSING, Block, text_of
from lowtide.cli.tables.problem import TableError, listed, options_for

__all__ = ["Purpose", "as_numbers", "number_matrix"]

Floats = NDArray[np.float64]
# "choose": columns are chosen by options now; "reuse": the model says which columns it needs.
Purpose = Literal["choose", "reuse"]

_TRUTH = {"true": 1.0, "false": 0.0}


def number_matrix(block: Block, names: Sequence[str], purpose: Purpose) -> Floats:
    """Return columns as a matrix of finite numbers, (n_rows, n_names); booleans count as 0 and 1.

    Raises
    ------
    TableError
        Naming every column of text, or else the first cell that is not a number.
    """
    matrix = np.empty((block.n_rows, len(names)))
    wrong: list[_Fault] = []
    for j, name in enumerate(names):
        values = as_numbers(block.column(name))
        if values is None or not np.isfinite(values).all():
            wrong.append(_fault(name, block.column(name)))
        else:
            matrix[:, j] = values
    if any(fault.is_text for fault in wrong):
        raise _text_error(block, [fault for fault in wrong if fault.is_text], purpose)
    if wrong:
        raise _cell_error(block, min(wrong, key=lambda fault: fault.row), purpose)
    return matrix


def as_numbers(values: NDArray[Any]) -> Floats | None:
    """Return values as float64, NaN where there is nothing, or None when some are other text.

    Examples
    --------
    >>> as_numbers(np.array(["1", "2.5"], dtype=object)), as_numbers(np.array(["True", "false"], dtype=object))
    (array([1. , 2.5]), array([1., 0.]))
    """
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        truths = [_TRUTH.get(str(value).strip().lower()) for value in values]
        return None if None in truths else np.array(truths, dtype=np.float64)


@dataclass(frozen=True)
class _Fault:
    """What is wrong with a column: all of it, or `count` cells, the first of them in row `row`."""

    name: str
    is_text: bool
    row: int
    cell: object
    count: int


def _fault(name: str, values: NDArray[Any]) -> _Fault:
    """Look at each cell: a column is text when most of what it holds is."""
    cells = [_cell_number(value) for value in values.tolist()]
    text = [i for i, number in enumerate(cells) if number is None and not _is_missing(values[i])]
    bad = [i for i, number in enumerate(cells) if number is None or not np.isfinite(number)]
    there = sum(not _is_missing(value) for value in values)
    is_text = 2 * len(text) > there
    row = text[0] if is_text else bad[0]
    return _Fault(name, is_text, row, values[row], len(bad))


def _cell_number(value: object) -> float | None:
    """Return the number of a cell, None when it has none."""
    truth = _TRUTH.get(str(value).strip().lower())
    if truth is not None:
        return truth
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _is_missing(value: object) -> bool:
    return text_of(value).lower() in MISSING


def _text_error(block: Block, faults: list[_Fault], purpose: Purpose) -> TableError:
    names = [fault.name for fault in faults]
    examples = ", ".join(f"{fault.name!r} ({_shown(fault.cell)}, ...)" for fault in faults[:4])
    rest = f" and {len(faults) - 4} more" if len(faults) > 4 else ""
    remedy = "They held numbers when the model was fitted."
    if purpose == "choose":
        them = "them" if len(faults) > 1 else "it"
        remedy = (
            f"Take {them} as categories with {options_for('--one-hot', names)}, or leave {them} out with "
            f"{options_for('--drop', names)}."
        )
    plural = "s" if len(faults) > 1 else ""
    return TableError(f"{block.file}: columns must hold numbers, got text in column{plural} {examples}{rest}. {remedy}")


def _cell_error(block: Block, fault: _Fault, purpose: Purpose) -> TableError:
    got = "an empty cell" if text_of(fault.cell) == "" else _shown(fault.cell)
    more = f" (and {fault.count - 1} more like it)" if fault.count > 1 else ""
    remedy = "Correct the cell or remove the row"
    if purpose == "choose":
        remedy = f"Correct the cell, remove the row, or leave the column out with {options_for('--drop', [fault.name])}"
    place = f"{block.where(fault.row)}, column {listed([fault.name])}"
    return TableError(f"{block.file}: every cell must hold a finite number, got {got} in {place}{more}. {remedy}.")


def _shown(cell: object) -> str:
    """Return a cell in quotes, the beginning of a long one."""
    text = str(cell).strip()
    return repr(text if len(text) <= 24 else f"{text[:21]}...")
