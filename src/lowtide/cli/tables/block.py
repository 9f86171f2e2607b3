"""Some rows of a table, and the values of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MISSING", "Block", "text_of"]

# What people write for a value that is not there, in lower case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nil", "?", "-"})


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a table.

    Attributes
    ----------
    file : str
        The table's name, for messages.
    names : tuple of str
    columns : sequence of ndarray (n_rows,)
        Numbers or booleans as such; anything else as objects: texts, None where there is nothing.
    first_row : int
        Number of the first row, counted from 1.
    lines : sequence of int or None
        The line of the file in which each row begins, where rows have one.
    """

    file: str
    names: tuple[str, ...]
    columns: Sequence[NDArray[Any]]
    first_row: int
    lines: Sequence[int] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0])

    def column(self, name: str) -> NDArray[Any]:
        """Return the values of a column as the file has them."""
        return self.columns[self.names.index(name)]

    def texts(self, name: str) -> NDArray[Any]:
        """Return the values of a column as texts, empty where there is nothing."""
        return np.array([text_of(value) for value in self.column(name).tolist()], dtype=object)

    def where(self, i: int) -> str:
        """Say which row of the file row i is."""
        row = f"row {self.first_row + i}"
        return row if self.lines is None else f"{row} (line {self.lines[i]})"

    def after(self, n_rows: int) -> Block:
        """Return the rows past the first ones."""
        lines = None if self.lines is None else self.lines[n_rows:]
        columns = [column[n_rows:] for column in self.columns]
        return Block(self.file, self.names, columns, self.first_row + n_rows, lines)

    def renamed(self, names: Sequence[str]) -> Block:
        """Return the same rows under other names of the columns."""
        return Block(self.file, tuple(names), self.columns, self.first_row, self.lines)


def text_of(value: object) -> str:
    """Return a cell as text: whole numbers without a point, nothing as the empty text.

    Examples
    --------
    >>> text_of(3.0), text_of(" Bern "), text_of(None), text_of(float("nan"))
    ('3', 'Bern', '', '')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
