"""All rows of a table, for learning from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.cli.recipe.choice import Choice
from lowtide.cli.tables import Source, TableError, number_matrix

__all__ = ["Gathered", "gather"]


@dataclass(frozen=True)
class Gathered:
    """The chosen columns of all rows.

    Attributes
    ----------
    numbers : ndarray of float64 (n, n_numeric)
    texts : dict of ndarray of object (n,)
        The one-hot columns.
    target : ndarray (n,) or None
        As the file has it.
    """

    numbers: NDArray[np.float64]
    texts: dict[str, NDArray[Any]]
    target: NDArray[Any] | None

    def take(self, rows: NDArray[np.intp]) -> Gathered:
        """Return some of the rows; the target stays behind."""
        return Gathered(self.numbers[rows], {name: values[rows] for name, values in self.texts.items()}, None)


def gather(source: Source, choice: Choice, report: Callable[[int], None] = lambda n: None) -> Gathered:
    """Read a table block by block: the text of a CSV file is never there as a whole.

    Parameters
    ----------
    source : Source
    choice : Choice
    report : callable
        Told the number of rows so far.
    """
    numbers, texts, targets, n_rows = [], {name: [] for name in choice.one_hot}, [], 0  # type: ignore[var-annotated]
    for block in source.blocks():
        numbers.append(number_matrix(block, choice.numeric, "choose"))
        for name, parts in texts.items():
            parts.append(block.texts(name))
        if choice.target is not None:
            targets.append(block.column(choice.target))
        n_rows += block.n_rows
        report(n_rows)
    if n_rows == 0:
        raise TableError(f"{source.file}: a table must have rows to learn from, got only its header.")
    return Gathered(
        numbers=np.concatenate(numbers),
        texts={name: np.concatenate(parts) for name, parts in texts.items()},
        target=np.concatenate(targets) if targets else None,
    )
