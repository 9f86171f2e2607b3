"""What came of a fit, in words and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lowtide.cli.models import Score, encoder_summary, save_with_recipe
from lowtide.cli.recipe import TableRecipe
from lowtide.cli.tables import listed
from lowtide.cli.terminal import amount, bytes_in_words, counted, sheet

if TYPE_CHECKING:
    from lowtide.cli.training.stored import StoreTraining
    from lowtide.cli.training.training import Training

__all__ = ["Outcome"]


@dataclass(frozen=True)
class Outcome:
    """A fitted model with its recipe, and its score on the rows held out, if any."""

    training: Training | StoreTraining
    learner: Any
    recipe: TableRecipe
    score: Score | None
    fit_seconds: float

    def save(self, path: Path) -> None:
        """Write the model file."""
        save_with_recipe(self.learner, path, self.recipe, self.score.sentence("held out") if self.score else "")

    def summary(self, output: Path) -> str:
        """Say what was read, learned and written."""
        training = self.training
        unseen = "none held out; --validate 0.1 gives a score on rows the model has not seen"
        return sheet(
            [
                ("table", f"{training.file}: {counted(len(training.target.values), 'row')}, {self._columns()}"),
                ("task", self._task()),
                ("features", encoder_summary(self.learner.features_)),
                ("fit", self._fit()),
                ("score", self.score.sentence("held out") if self.score else unseen),
                ("model", f"{output}, {bytes_in_words(output.stat().st_size)}"),
            ]
        )

    def _columns(self) -> str:
        recipe = self.recipe
        parts = []
        if recipe.numeric:
            how = "standardized" if recipe.scale else "as they are"
            parts.append(f"{counted(len(recipe.numeric), 'column')} of numbers ({how})")
        if recipe.categories:
            n_categories = sum(map(len, recipe.categories.values()))
            parts.append(f"{counted(len(recipe.categories), 'column')} of {n_categories} categories")
        return ", ".join(parts)

    def _task(self) -> str:
        target, name = self.training.target, self.training.target_name
        if target.task == "regression":
            return f"regression of {name!r} ({target.why}; --classification for classes)"
        classes = self.learner.classes_.tolist()
        other = "" if target.why == "text" else "; --regression for numbers"
        return f"classification of {name!r} into {len(classes)}: {listed(classes)} ({target.why}{other})"

    def _fit(self) -> str:
        learner = self.learner
        loss = getattr(learner, "loss", "squared")
        name, value = ("C", learner.C_) if hasattr(learner, "C_") else ("alpha", learner.alpha_)
        chosen = (
            ", chosen on rows left out" if "auto" in (getattr(learner, "C", 0), getattr(learner, "alpha", 0)) else ""
        )
        rows = counted(len(self.training.train), "row")
        return f"{loss} loss, {name} = {amount(value)}{chosen}; {rows} in {self.fit_seconds:.1f} s"

    def to_json(self, output: Path) -> dict[str, Any]:
        """Return the same as plain values."""
        training, learner, recipe = self.training, self.learner, self.recipe
        encoder = learner.features_
        return {
            "model": str(output),
            "bytes": output.stat().st_size,
            "data": {
                "file": training.file,
                "rows": len(training.target.values),
                "train_rows": len(training.train),
                "held_out_rows": len(training.held),
                "numeric": list(recipe.numeric),
                "standardized": bool(recipe.scale),
                "one_hot": {name: len(known) for name, known in recipe.categories.items()},
                "target": training.target_name,
            },
            "task": training.target.task,
            "why": training.target.why,
            "classes": learner.classes_.tolist() if hasattr(learner, "classes_") else None,
            "kernel": getattr(encoder, "kernel", None),
            "gamma": getattr(encoder, "gamma_", None),
            "components": encoder.n_components,
            "bits": getattr(encoder, "bits", None),
            "projection": getattr(encoder, "projection", None),
            "fingerprint": encoder.fingerprint_.hex(),
            "loss": getattr(learner, "loss", "squared"),
            "C": learner.C_ if hasattr(learner, "C_") else 0.5 / learner.alpha_,
            "score": self.score and self.score.to_json(),
            "seconds": {"read": round(training.read_seconds, 3), "fit": round(self.fit_seconds, 3)},
        }
