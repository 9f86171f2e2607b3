"""From a table in a file to a fitted model."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lowtide.cli.models import score
from lowtide.cli.recipe import (
    Choice,
    Gathered,
    TableRecipe,
    Task,
    choose_columns,
    gather,
    one_column,
    read_target,
    target_file,
)
from lowtide.cli.tables import TableError, is_table_name, open_table
from lowtide.cli.terminal import TableOptions, Voice, counted
from lowtide.cli.training.lesson import Lesson
from lowtide.cli.training.outcome import Outcome
from lowtide.cli.whole_file import check_new

__all__ = ["Training", "check_output"]


@dataclass
class Training(Lesson):
    """A table that was read, its target, and the rows to learn from.

    Attributes
    ----------
    choice : Choice
    rows : Gathered
    """

    choice: Choice
    rows: Gathered

    @classmethod
    def read(cls, data: Path, target: str, table: TableOptions, task: Task | None, voice: Voice) -> Training:
        """Read a table and its target, a column of it or a file of its own."""
        start = time.perf_counter()
        source = open_table(data, header=table.header)
        aside = target_file(target, source.names, source.file)
        choice = choose_columns(source, target=None if aside else target, one_hot=table.one_hot, drop=table.drop)
        if source.unnamed:
            voice.note(f"{source.file}: {counted(source.unnamed, 'column')} without a name left out.")
        with voice.working(f"reading {source.file}") as report:
            rows = gather(source, choice, report)
            cells = rows.target if aside is None else one_column(aside, header=table.header)
        if cells is None or len(cells) != len(rows.numbers):
            n_values = 0 if cells is None else len(cells)
            raise TableError(f"{target}: a target must have a value a row, {len(rows.numbers)}, got {n_values}.")
        name = target if choice.target is None else choice.target
        goal = read_target(cells, name, task)
        return cls(source.file, goal, name, time.perf_counter() - start, choice, rows)

    def run(self, learner: Any, *, standardize: bool, voice: Voice) -> Outcome:
        """Fit the recipe and the learner on the rows to learn from, and score on the others."""
        start = time.perf_counter()
        values = self.learnable()
        some = self.rows.take(self.train) if len(self.held) else self.rows
        recipe = TableRecipe.learn(self.choice, some.numbers, some.texts, standardize=standardize)
        held = self.rows.take(self.held)
        with voice.hearing():
            learner.fit(recipe.matrix(some.numbers, some.texts), values)
        learner.verbose = 0
        seconds = time.perf_counter() - start
        predicted = learner.predict(recipe.matrix(held.numbers, held.texts))
        classes = self.target.task == "classification"
        result = score(self.target.values[self.held], predicted, classes=classes)
        return Outcome(self, learner, recipe, result, seconds)


def check_output(output: Path, *, force: bool) -> Path:
    """Return where a model will be written, or refuse before any work."""
    place = check_new(output, "--output", force=force)
    if is_table_name(output):
        problem = f"must name a model file, {str(output.with_suffix('.lowtide'))!r} say, got {str(output)!r}."
        raise click.BadParameter(problem, param_hint="'--output'")
    return place
