"""From a store of codes to a fitted model."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import lowtide as lt
from lowtide.cli.models import recipe_in, score, split
from lowtide.cli.recipe import TableRecipe, Target, Task, read_target
from lowtide.cli.tables import TableError, listed
from lowtide.cli.terminal import Voice
from lowtide.cli.training.outcome import Outcome
from lowtide.learners import SelectedSource

__all__ = ["StoreTraining", "check_store_options"]

Index = NDArray[np.intp]

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
class StoreTraining:
    """A store, its target, and the rows to learn from; what `Training` is for a table.

    Attributes
    ----------
    file : str
    store : CodeStore
    target : Target
    target_name : str
    train, held : ndarray of int
        Rows to learn from and rows held out.
    read_seconds : float
    """

    file: str
    store: lt.CodeStore
    target: Target
    target_name: str
    read_seconds: float
    train: Index = field(init=False)
    held: Index = field(init=False)

    def __post_init__(self) -> None:
        self.train, self.held = np.arange(len(self.target.values)), np.arange(0)

    @classmethod
    def read(cls, path: Path, target: str, task: Task | None) -> StoreTraining:
        """Open a store and read its target; the codes stay where they are."""
        start = time.perf_counter()
        store = lt.CodeStore.open(path)
        if store.encoder is None:
            raise TableError(
                f"{path.name} must have the encoder of its codes, to predict from rows; it was made without."
            )
        if target not in store.columns:
            raise TableError(
                f"{path.name} must have a column {target!r} to learn, got {listed(store.columns) or 'none'}. Encode "
                "the table with --target, or name another column."
            )
        if len(store) == 0:
            raise TableError(f"{path.name} must have rows to learn from, got none.")
        about = store.metadata.get("target")
        name = about.get("name") if isinstance(about, dict) and target == "y" else None
        goal = read_target(store.column(target), target, task)
        return cls(path.name, store, goal, str(name or target), time.perf_counter() - start)

    @property
    def encoder(self) -> Any:
        """What the codes were made with."""
        return self.store.encoder

    def hold_out(self, share: float, seed: int) -> None:
        """Keep a share of the rows from learning, to score on."""
        self.train, self.held = split(self.target, share, seed)

    def run(self, learner: Any, *, standardize: bool, voice: Voice) -> Outcome:
        """Fit on the rows to learn from, and score on the others; `standardize` was settled with the codes."""
        start = time.perf_counter()
        values = self.target.values
        if self.target.task == "classification" and len(np.unique(values[self.train])) < 2:
            raise TableError(
                f"target {self.target_name!r}: two classes or more are needed, got {values[0]!s} alone in "
                f"{len(values)} rows."
            )
        source: Any = self.store
        held = np.zeros(len(values), dtype=bool)
        if len(self.held):
            held[self.held] = True
            source = SelectedSource(self.store, ~held)
        with voice.hearing():
            learner.fit(source, values[~held])
        learner.verbose = 0
        seconds = time.perf_counter() - start
        result = None
        if len(self.held):
            predicted = learner.predict(SelectedSource(self.store, held))
            result = score(values[held], predicted, classes=self.target.task == "classification")
        recipe = recipe_in(self.store.metadata) or TableRecipe.of_model(self.encoder)
        return Outcome(self, learner, recipe, result, seconds)
