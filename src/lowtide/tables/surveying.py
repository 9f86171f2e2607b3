"""Survey a table in one pass: what its columns hold, whatever its size, and rows that stand for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.tables.cells import ChoiceError, TableError, numbers_in, present, text_of
from lowtide.tables.columns import Choice
from lowtide.tables.dates import Dates
from lowtide.tables.elements import read_truth
from lowtide.tables.looking import Finding, Look, TakenAs
from lowtide.tables.reading import Source
from lowtide.tables.recipe import Recipe

Floats = NDArray[np.float64]
Array = NDArray[Any]

# Rows that stand for all: mean and gamma then move by a fraction of a percent. Smaller tables are kept whole.
_SAMPLE_ROWS, _FEWEST_SAMPLED = 1 << 16, 1 << 12
# Cells of them, half a gigabyte: of text, which Python holds one by one, and of numbers.
_TEXT_CELLS, _NUMBER_CELLS = 1 << 23, 1 << 26


@dataclass(frozen=True)
class Sample:
    """Rows of a table as the survey takes its columns, and their numbers in the table, in its order.

    Attributes
    ----------
    findings : tuple of Finding
        Of all columns but the target, in the table's order.
    columns : dict of ndarray (n,)
        Of the columns that are not left out: numbers and truth values as float64 with NaN for nothing, dates as
        datetime64, categories as texts, "" for nothing.
    rows : ndarray of int (n,)
    """

    findings: tuple[Finding, ...]
    columns: Mapping[str, Array]
    rows: NDArray[np.intp]

    def take(self, places: Any) -> Sample:
        """Return some of the rows, by their places among these."""
        columns = {name: column[places] for name, column in self.columns.items()}
        return replace(self, columns=columns, rows=self.rows[places])

    def matrix(self, recipe: Recipe) -> Floats:
        """Return what a recipe learned from such rows makes of these."""
        names = recipe.numeric
        numbers = np.empty((len(self.rows), len(names)))
        for j, name in enumerate(names):
            numbers[:, j] = self.columns[name]
        return recipe.apply_read(numbers, {name: self.columns[name] for name in recipe.by_cell})


@dataclass(frozen=True)
class Survey:
    """All that is known of a table after one pass.

    Attributes
    ----------
    n_rows : int
    sample : Sample
        All rows, or as many drawn by chance.
    target : ndarray (n_rows,) or None
        Cells of the target as the file has them.
    """

    n_rows: int
    sample: Sample
    target: Array | None

    @property
    def is_whole(self) -> bool:
        """Whether the sample has all rows of the table."""
        return len(self.sample.rows) == self.n_rows


def survey(
    source: Source,
    choice: Choice,
    *,
    seed: int = 0,
    report: Callable[[int], None] = lambda n: None,
    whole: bool = False,
) -> Survey:
    """Read a table of any size once, in memory that grows by its target alone, and say what its columns hold.

    Parameters
    ----------
    source : Source
    choice : Choice
        The target, and what columns are to be taken as.
    seed : int
        Of the sample.
    report : callable
        Told the number of rows so far.
    whole : bool
        Whether all rows are kept, however many.

    Raises
    ------
    TableError
        Naming line and column of a cell that is not what its column holds or was to be taken as.
    """
    names = [name for name in choice.features if choice.wishes.get(name) != "drop"]
    looks = [Look(name, choice) for name in names]
    kept, targets, known, n_rows = _Reservoir(seed, whole), [], dict[Any, Any](), 0
    for block in source.blocks():
        columns = [block.column(name) for name in names]
        for look, column in zip(looks, columns):
            look.add(block, column)
        kept.add(columns)
        if choice.target is not None:
            cells = block.column(choice.target)
            if cells.dtype.kind == "O":  # of equal cells one stays in memory
                cells = np.array([known.setdefault(cell, cell) for cell in cells.tolist()], dtype=object)
            targets.append(cells)
        n_rows += block.n_rows
        report(n_rows)
    if n_rows == 0:
        raise TableError(f"{source.file}: a table must have rows to learn from, got only its header.")
    rows, columns = kept.result()
    drops = {name: Finding(name, "left out", 0, asked=True) for name in choice.features if name not in names}
    found = {look.name: look.finding(n_rows, column) for look, column in zip(looks, columns)}
    found = _with_something(found, choice, looks)
    taken = {
        look.name: _as_taken(column, found[look.name])
        for look, column in zip(looks, columns)
        if found[look.name].taken_as != "left out"
    }
    findings = tuple({**found, **drops}[name] for name in choice.features)
    target = np.concatenate(targets) if targets else None
    return Survey(n_rows, Sample(findings, taken, rows), target)


def _with_something(found: dict[str, Finding], choice: Choice, looks: Sequence[Look]) -> dict[str, Finding]:
    """Return the findings, with columns of numbers or truth values that tell little where nothing else is left."""
    if any(finding.taken_as != "left out" for finding in found.values()):
        return found
    kinds: dict[str, TakenAs] = {look.name: look.plain_kind for look in looks if look.plain_kind is not None}
    if not kinds:
        reasons = "; ".join(f"{name!r}: {finding.why.partition(' (')[0]}" for name, finding in [*found.items()][:4])
        example = choice.typed(next(iter(found)), "category")
        must = f"must have a column to learn from, got none that can be taken ({reasons})"
        raise ChoiceError("data", f"{must}. Say what one is to be taken as: {example}.")
    return {name: replace(f, taken_as=kinds.get(name, "left out"), why="") for name, f in found.items()}


def _as_taken(column: Array, finding: Finding) -> Array:
    """Return cells of a file as a `Sample` has them."""
    if finding.taken_as != "number":
        column = present(column)
    match finding.taken_as:
        case "number":
            numbers = numbers_in(column)
            assert numbers is not None
            return numbers
        case "truth":
            return read_truth(column, finding.name)
        case "date":
            days = Dates(0, finding.order).read(column, finding.name)  # type: ignore[arg-type]
            # Days of float64 tell microseconds apart for some thousand years.
            micro = np.rint(np.where(np.isnan(days), 0.0, days) * 86_400_000_000).astype("datetime64[us]")
            return np.where(np.isnan(days), np.datetime64("NaT", "us"), micro)
    texts = [text_of(cell) for cell in column.tolist()]
    return np.array([text and "..." for text in texts] if finding.only_whether else texts, dtype=object)


def read_rows(
    source: Source, sample: Sample, rows: NDArray[np.intp], report: Callable[[int], None] = lambda n: None
) -> Sample:
    """Return other rows of a surveyed table, by their numbers, in another pass over it.

    Parameters
    ----------
    source : Source
    sample : Sample
        What the survey kept.
    rows : ndarray of int
        In ascending order.
    report : callable
        Told the number of rows so far.
    """
    parts: dict[str, list[Array]] = {name: [] for name in sample.columns}
    for block in source.blocks():
        first, last = np.searchsorted(rows, [block.first_row - 1, block.first_row - 1 + block.n_rows])
        here = rows[first:last] - (block.first_row - 1)
        for finding in sample.findings:
            if finding.name in parts:
                parts[finding.name].append(_as_taken(block.column(finding.name)[here], finding))
        report(block.first_row - 1 + block.n_rows)
    columns = {name: np.concatenate(pieces) for name, pieces in parts.items()}
    return replace(sample, columns=columns, rows=rows)


class _Reservoir:
    """Rows drawn alike from all that came, with their numbers; all of them while they fit."""

    def __init__(self, seed: int, whole: bool) -> None:
        self._draw, self._whole, self._n_rows = np.random.default_rng(seed), whole, 0
        self._most: int | None = None
        self._parts: list[list[Array]] = []
        self._rows = np.empty(0, dtype=np.intp)

    def add(self, columns: Sequence[Array]) -> None:
        """Take some of more rows."""
        n = len(columns[0])
        if self._most is None and not self._whole:
            has_texts = any(column.dtype.kind == "O" for column in columns)
            n_cells = _TEXT_CELLS if has_texts else _NUMBER_CELLS
            self._most = max(min(_SAMPLE_ROWS, n_cells // len(columns)), _FEWEST_SAMPLED)
        room = n if self._most is None else max(0, min(n, self._most - self._n_rows))
        if room:
            self._parts.append([column[:room] for column in columns])
            self._rows = np.append(self._rows, np.arange(self._n_rows, self._n_rows + room))
        rest = np.arange(room, n)
        if len(rest) and self._most is not None:
            place = self._draw.integers(0, self._n_rows + rest + 1)
            taken = place < self._most
            place, new = place[taken], rest[taken]
            # Of rows with the same place the last one stays, as if they came one by one.
            joined = self._joined()
            for j, column in enumerate(columns):
                if joined[j].dtype != column.dtype:
                    numbers = {joined[j].dtype.kind, column.dtype.kind} <= set("iuf")
                    joined[j] = joined[j].astype(np.float64 if numbers else object)
                joined[j][place] = column[new]
            self._rows[place] = self._n_rows + new
        self._n_rows += n

    def _joined(self) -> list[Array]:
        if len(self._parts) > 1:
            self._parts = [[np.concatenate(columns) for columns in zip(*self._parts)]]
        elif not all(column.flags.writeable and column.base is None for column in self._parts[0]):
            self._parts = [[column.copy() for column in self._parts[0]]]
        return self._parts[0]

    def result(self) -> tuple[NDArray[np.intp], list[Array]]:
        """Return the numbers of the rows, in the table's order, and their columns."""
        order = np.argsort(self._rows)
        return self._rows[order], [column[order] for column in self._joined()]
