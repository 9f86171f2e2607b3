"""A model with its recipe, and what it says of rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import click

from lowtide.cli.models import load_model
from lowtide.cli.recipe import TableRecipe
from lowtide.cli.tables import Columns, check_can_write
from lowtide.cli.whole_file import check_new

__all__ = ["Predictor", "check_output"]


@dataclass(frozen=True)
class Predictor:
    """A model, and the columns that were asked of it."""

    model: Any
    recipe: TableRecipe
    probabilities: bool = False
    scores: bool = False

    @classmethod
    def load(cls, path: Path, *, probabilities: bool, scores: bool) -> Self:
        """Return the model of a file; only classes have probabilities and scores."""
        model, recipe = load_model(path)
        for option, wanted in (("--probabilities", probabilities), ("--scores", scores)):
            method = {"--probabilities": "predict_proba", "--scores": "decision_function"}[option]
            if wanted and not hasattr(model, method):
                problem = f"needs a model that has them, got a {type(model).__name__}. Leave it out."
                raise click.BadParameter(problem, param_hint=f"'{option}'")
        return cls(model, recipe, probabilities, scores)

    @property
    def classes(self) -> Any:
        """Classes of the model, None when it predicts numbers."""
        return getattr(self.model, "classes_", None)

    def columns(self, rows: Any) -> Columns:
        """Return the prediction of rows, or of codes, and what else was asked for."""
        found: Columns = {"prediction": self.model.predict(rows)}
        if self.probabilities:
            shares = self.model.predict_proba(rows)
            found |= {f"probability_{name}": shares[:, j] for j, name in enumerate(self.classes)}
        if self.scores:
            values = self.model.decision_function(rows)
            if values.ndim == 1:
                found[f"score_{self.classes[1]}"] = values
            else:
                found |= {f"score_{name}": values[:, j] for j, name in enumerate(self.classes)}
        return found


def check_output(output: Path | None, *, force: bool, several: bool) -> Path | None:
    """Return where predictions will be written, or refuse before any work; None is stdout."""
    if output is None:
        return None
    place = check_new(output, "--output", force=force)
    problem = check_can_write(output, several=several)
    if problem:
        raise click.BadParameter(problem, param_hint="'--output'")
    return place
