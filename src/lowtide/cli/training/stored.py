"""From a store of codes to a fitted model."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

import lowtide as lt
from lowtide.cli.models import name_of_y, recipe_in, score, stored_target
from lowtide.cli.recipe import TableRecipe, Task, read_target
from lowtide.cli.tables import TableError, listed
from lowtide.cli.terminal import Voice
from lowtide.cli.training.lesson import Lesson
from lowtide.cli.training.outcome import Outcome
from lowtide.learners import SelectedSource

__all__ = ["StoreTraining", "check_store_options"]

# How the model learns and how the command speaks; what codes are made of is settled.
_WITH_A_STORE = ("data", "target", "output", "force", "task", "loss", "C", "share", "seed", "as_json", "quiet")


def check_store_options(context: click.Context) -> None:
    """Refuse options that a store has settled."""
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in _WITH_A_STORE
        and context.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        problem = f"is a store of codes and must come without {' and '.join(given)}: its features are settled."
        raise click.BadParameter(problem, param_hint="'DATA'")


@dataclass
class StoreTraining(Lesson):
    """A store, its target, and the rows to learn from; what `Training` is for a table.

    Attributes
    ----------
    store : CodeStore
    """

    store: lt.CodeStore

    @classmethod
    def read(cls, path: Path, target: str, task: Task | None) -> StoreTraining:
        """Open a store and read its target; the codes stay where they are."""
        start = time.perf_counter()
        store = lt.CodeStore.open(path)
        if store.encoder is None:
            raise TableError(
                f"{path.name} must have the encoder of its codes, to predict from rows; it was made without."
            )
        if len(store) == 0:
            raise TableError(f"{path.name} must have rows to learn from, got none.")
        column = stored_target(store, target)
        if column not in store.columns:
            raise TableError(
                f"{path.name} must have a column {target!r} to learn, got {listed(store.columns) or 'none'}. Encode "
                "the table with --target, or name another column."
            )
        name = name_of_y(store) if column == "y" else column
        goal = read_target(store.column(column), name, task)
        return cls(path.name, goal, name, time.perf_counter() - start, store)

    @property
    def encoder(self) -> Any:
        """What the codes were made with."""
        return self.store.encoder

    def run(self, learner: Any, *, standardize: bool, voice: Voice) -> Outcome:
        """Fit on the rows to learn from, and score on the others; `standardize` was settled with the codes."""
        start = time.perf_counter()
        values = self.learnable()
        source: Any = self.store
        held = np.zeros(len(self.target.values), dtype=bool)
        if len(self.held):
            held[self.held] = True
            source = SelectedSource(self.store, ~held)
        with voice.hearing():
            learner.fit(source, values)
        learner.verbose = 0
        seconds = time.perf_counter() - start
        result = None
        if len(self.held):
            predicted = learner.predict(SelectedSource(self.store, held))
            result = score(self.target.values[held], predicted, classes=self.target.task == "classification")
        recipe = recipe_in(self.store.metadata) or TableRecipe.of_model(self.encoder)
        return Outcome(self, learner, recipe, result, seconds)
