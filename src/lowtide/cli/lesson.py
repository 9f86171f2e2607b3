"""What there is to learn from: a table in memory, a larger one block by block, or a store of codes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lowtide as lt
from lowtide.cli import models
from lowtide.cli.models import FittedTable
from lowtide.cli.terminal import TableOptions, Voice, counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lowtide.tables import Choice, Source, Survey, Target, Task

    Index = NDArray[np.intp]

_SHOWN_NAMES = 12
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")


@dataclass(frozen=True)
class Lesson:
    """A target, and the rows to learn it from and to test on, wherever they are.

    `material` takes the numbers of both and returns what a learner takes of them; the encoder is None where it is not
    settled. Rows without a target are not counted.
    """

    file: str
    target: Target
    target_name: str
    encoder: Any
    material: Callable[[Index, Index], Material]


@dataclass(frozen=True)
class Material:
    """Rows to learn from and rows held out, as a learner takes them, and the table that they are of.

    Rows are an array where they are in memory, else a source of codes, or `Blocks` of a file.
    """

    rows: Any
    held: Any
    table: FittedTable

    def teach(self, learner: Any, values: NDArray[Any]) -> None:
        """Fit a learner on the rows to learn from, whose targets are `values`."""
        if isinstance(self.rows, Blocks):
            learner.verbose = 0  # the blocks show how far they are
            learner.fit(self.rows.with_values(values))
        else:
            learner.fit(self.rows, values)

    def answers(self, learner: Any) -> NDArray[Any]:
        """Return what a fitted learner predicts for the rows held out."""
        import numpy as np

        if isinstance(self.held, Blocks):
            return np.concatenate([learner.predict(rows) for rows, _ in self.held.parts()])
        predicted: NDArray[Any] = learner.predict(self.held)
        return predicted


@dataclass(frozen=True)
class Blocks:
    """Rows of a large file as a recipe makes them: some that stand for all first, then the others in their order.

    Attributes
    ----------
    source : Source
    table : FittedTable
    rows : ndarray of int (n,)
        Which of the file, in ascending order.
    first : ndarray of float (n_first, n_features)
        Those that come first.
    first_rows : ndarray of int (n_first,)
    what : str
        What is done with them, to be shown.
    voice : Voice
    """

    source: Source
    table: FittedTable
    rows: Index
    first: NDArray[Any]
    first_rows: Index
    what: str
    voice: Voice

    def parts(self) -> Iterator[tuple[NDArray[Any], Index]]:
        """Yield features of rows, with their places among these."""
        import numpy as np

        if len(self.first_rows):
            yield self.first, np.searchsorted(self.rows, self.first_rows)
        wanted = np.setdiff1d(self.rows, self.first_rows, assume_unique=True)
        names = self.source.names
        with self.voice.working(f"{self.what} {self.source.file}") as report:
            for block in self.source.blocks():
                start = block.first_row - 1
                begin, end = np.searchsorted(wanted, [start, start + block.n_rows])
                if begin < end:
                    here = wanted[begin:end]
                    yield self.table.rows(block, names)[here - start], np.searchsorted(self.rows, here)
                report(start + block.n_rows)

    def with_values(self, values: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield features with the values of their rows."""
        for rows, places in self.parts():
            yield rows, values[places]


def read_table(data: Path, target: str | None, table: TableOptions, task: Task | None, voice: Voice) -> Lesson:
    """Survey a table and read its target, a column of it or a file of its own.

    A table that is too large for memory stays where it is: its rows are read once more to learn from.
    """
    import numpy as np

    source = models.open_source(data, table.header, table.encoding, voice)
    if table.header:
        _note_numbers_as_names(source, voice)
    if target is None:
        columns = f"Name the column to learn: {source.file} has {_ends_of(source.names)}."
        raise click.MissingParameter(columns, param_hint="'--target'", param_type="option")
    reading: dict[str, Any] = {"header": table.header, "encoding": table.encoding}
    aside = lt.tables.target_in_file(target, source.names, source.file, **reading)
    choice = models.choose_columns(source, target if aside is None else None, table)
    with voice.working(f"reading {source.file}") as report:
        found = lt.tables.survey(source, choice, report=report)
    cells = found.target if aside is None else aside
    if cells is None or len(cells) != found.n_rows:
        got = 0 if cells is None else len(cells)
        raise lt.tables.TableError(f"{target}: a target must have a value a row, {found.n_rows}, got {got}.")
    name = target if choice.target is None else choice.target
    goal = lt.tables.read_target(cells, name, task)
    known = np.arange(found.n_rows)
    if goal.there is not None:
        known = np.flatnonzero(goal.there)
        voice.note(f"{source.file}: {counted(found.n_rows - len(known), 'row')} without a value in {name!r} left out.")
    read = _in_memory if found.is_whole else _in_blocks
    return Lesson(source.file, goal, name, None, read(source, found, choice, known, table.scale, voice))


def _ends_of(names: Sequence[str]) -> str:
    """Return names in quotes; of many the first ones and the last, which is often the target."""
    if len(names) <= _SHOWN_NAMES:
        return lt.tables.listed(names, most=_SHOWN_NAMES)
    return ", ".join([*map(repr, names[: _SHOWN_NAMES - 1]), f"... and {names[-1]!r}"])


def _note_numbers_as_names(source: Source, voice: Voice) -> None:
    """Tell of a first line that looks like a row: most of its names are numbers, and they do not go up as years do."""
    numbers = [float(name.replace(",", ".")) for name in source.names if _NUMBER.fullmatch(name)]
    if 2 * len(numbers) > len(source.names) and numbers != sorted(set(numbers)):
        names = lt.tables.listed(source.names, most=4)
        voice.note(
            f"{source.file}: most columns are called by numbers, {names}. If its first line is a row, add --no-header."
        )


def _in_memory(
    source: Source, found: Survey, choice: Choice, known: Index, standardize: bool, voice: Voice
) -> Callable[[Index, Index], Material]:
    """Return the material of a table that the survey kept whole."""

    def material(train: Index, held: Index) -> Material:
        some = found.sample.take(known[train])
        table = models.learned_table(some, choice, standardize)
        return Material(some.matrix(table.recipe), found.sample.take(known[held]).matrix(table.recipe), table)

    return material


def _in_blocks(
    source: Source, found: Survey, choice: Choice, known: Index, standardize: bool, voice: Voice
) -> Callable[[Index, Index], Material]:
    """Return the material of a table that is read again; few rows of it are brought to memory."""
    import numpy as np

    sample, nothing = found.sample, np.empty(0, dtype=np.intp)

    def material(train: Index, held: Index) -> Material:
        rows, others = known[train], known[held]
        if len(rows) <= len(sample.rows):
            with voice.working(f"reading {source.file}") as report:
                some = lt.tables.read_rows(source, sample, rows, report)
        else:
            some = sample.take(np.isin(sample.rows, rows, assume_unique=True))
        table = models.learned_table(some, choice, standardize)
        first = some.matrix(table.recipe)
        aside = Blocks(source, table, others, first[:0], nothing, "predicting", voice)
        if len(some.rows) == len(rows):
            return Material(first, aside, table)
        return Material(Blocks(source, table, rows, first, some.rows, "learning from", voice), aside, table)

    return material


def open_store(path: Path, target: str, task: Task | None) -> Lesson:
    """Open a store and read its target; the codes stay where they are."""
    store = lt.CodeStore.open(path)
    if store.encoder is None:
        raise lt.tables.TableError(
            f"{path.name} must have the encoder of its codes, to predict from rows, got none. Make the store with "
            "'lowtide encode', which keeps it."
        )
    if len(store) == 0:
        raise lt.tables.TableError(f"{path.name} must have rows to learn from, got none. Encode some first.")
    column = models.stored_target(store, target)
    if column not in store.columns:
        raise lt.tables.TableError(
            f"{path.name} must have a column {target!r} to learn, got {lt.tables.listed(store.columns) or 'none'}. "
            "Encode the table with --target, or name another column."
        )
    name = models.name_of_y(store) if column == "y" else column
    goal = lt.tables.read_target(store.column(column), name, task)

    def material(train: Index, held: Index) -> Material:
        import numpy as np

        table = FittedTable.of(store.encoder, store.metadata)
        known = np.arange(len(store)) if goal.there is None else np.flatnonzero(goal.there)
        if len(train) == len(store):
            return Material(store, None, table)
        select = lt.learners.SelectedSource
        learned, chosen = np.zeros((2, len(store)), dtype=bool)
        learned[known[train]] = chosen[known[held]] = True
        return Material(select(store, learned), select(store, chosen), table)

    return Lesson(path.name, goal, name, store.encoder, material)
