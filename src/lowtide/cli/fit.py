"""`lowtide fit` learns from a table, or from a store of codes, and writes a model file."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lowtide as lt
from lowtide.cli.models import (
    FittedTable,
    Score,
    choose_columns,
    encoder_summary,
    make_encoder,
    make_learner,
    name_of_y,
    score,
    stored_target,
    write_model,
)
from lowtide.cli.terminal import (
    EncoderOptions,
    TableOptions,
    Voice,
    WordOrNumber,
    amount,
    bytes_in_words,
    check_new,
    column_options,
    counted,
    encoder_options,
    options_beside,
    sheet,
    table_options,
    voice_options,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lowtide.tables import Choice, Gathered, Target, Task

    Index = NDArray[np.intp]

__all__ = ["Outcome", "StoreTraining", "Training", "fit", "split"]

# How the model learns and how the command speaks; what codes are made of is settled.
_WITH_A_STORE = ("data", "target", "output", "force", "task", "loss", "C", "share", "seed", "as_json", "quiet")

# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide fit flowers.csv --target species -o flowers.lowtide --validate 0.2
  lowtide fit rents.csv --target rent --one-hot city -o rents.lowtide
  lowtide fit X.npy --target y.npy -o model.lowtide --bits 2
  lowtide fit codes.zarr -o model.lowtide --validate 0.1
"""


@click.command(short_help="Learn from a table and write a model file.", epilog=_EXAMPLES)
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("--target", metavar="COLUMN", help="What to learn: a column, or a file with one column.  [store: y]")
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path), help="Model file to write.")
@click.option("--force", is_flag=True, help="Replace the model file if it is there.")
@click.option(
    "--classification",
    "task",
    flag_value="classification",
    help="Learn classes.  [default: for text, truth values and few whole numbers]",
)
@click.option("--regression", "task", flag_value="regression", help="Learn numbers.  [default: for other numbers]")
@click.option(
    "--loss",
    type=click.Choice(["squared", "logistic", "squared_hinge"]),
    help="Loss of a classifier.  [default: squared]",
)
@click.option(
    "--C",
    "C",
    type=WordOrNumber("auto"),
    default="auto",
    show_default=True,
    help="Inverse regularization; auto chooses it on rows left out.",
)
@click.option(
    "--validate",
    "share",
    type=click.FloatRange(0.0, 1.0, max_open=True),
    default=0.0,
    metavar="SHARE",
    help="Hold out this share of the rows, 0.1 say, and report the score on them.",
)
@encoder_options
@table_options
@voice_options
@click.pass_context
@column_options
def fit(
    context: click.Context,
    data: Path,
    target: str | None,
    output: Path,
    force: bool,
    task: Task | None,
    loss: str | None,
    C: Any,
    share: float,
    encoder: EncoderOptions,
    table: TableOptions,
    voice: Voice,
) -> None:
    """Learn from the table DATA (.csv, .tsv, .npy, .parquet), or from a store of codes, and write a model file.

    Every column but the target is a feature. The model file keeps the columns, their scale and their categories, so
    that 'lowtide predict' takes tables as they are. A store (.zarr) is read block by block, in memory that does not
    grow with its rows; its features are those it was encoded with.
    """
    place = _check_output(output, force=force)
    lesson: Lesson
    if data.is_dir():
        _check_store_options(context)
        lesson = StoreTraining.read(data, target or "y", task)
    elif target is None:
        raise click.MissingParameter(param_hint="'--target'", param_type="option")
    else:
        lesson = Training.read(data, target, table, task, voice)
    lesson.hold_out(share, encoder.seed)
    learner = make_learner(
        lesson.store.encoder if isinstance(lesson, StoreTraining) else make_encoder(encoder, len(lesson.train)),
        lesson.target.task,
        loss=loss,
        C=C,
        seed=encoder.seed,
        verbose=voice.shows_progress,
    )
    outcome = lesson.run(learner, standardize=table.scale, voice=voice)
    outcome.save(place)
    voice.say(outcome.summary(output))
    voice.result("fit", outcome.to_json(output))


def _check_output(output: Path, *, force: bool) -> Path:
    """Return where a model will be written, or refuse before any work."""
    place = check_new(output, "--output", force=force)
    if lt.tables.is_table_name(output):
        problem = f"must name a model file, {str(output.with_suffix('.lowtide'))!r} say, got {str(output)!r}."
        raise click.BadParameter(problem, param_hint="'--output'")
    return place


def _check_store_options(context: click.Context) -> None:
    """Refuse options that a store has settled."""
    given = options_beside(context, _WITH_A_STORE)
    if given:
        problem = f"is a store of codes and must come without {' and '.join(given)}: its features are settled."
        raise click.BadParameter(problem, param_hint="'DATA'")


@dataclass
class Lesson(ABC):
    """A target, and the rows to learn it from and to test on, wherever they are."""

    file: str
    target: Target
    target_name: str
    read_seconds: float
    train: Index = field(init=False)
    held: Index = field(init=False)

    @abstractmethod
    def material(self, standardize: bool) -> tuple[Any, Any, FittedTable]:
        """Return what a learner takes of the rows to learn from, and of those held out, and the table they are of."""

    def hold_out(self, share: float, seed: int) -> None:
        """Keep a share of the rows from learning, to score on."""
        self.train, self.held = split(self.target, share, seed)

    def run(self, learner: Any, *, standardize: bool, voice: Voice) -> Outcome:
        """Fit on the rows to learn from, and score on the others."""
        start = time.perf_counter()
        values = self._learnable()
        rows, held, table = self.material(standardize)
        with voice.hearing():
            learner.fit(rows, values)
        learner.verbose = 0
        seconds, result = time.perf_counter() - start, None
        if len(self.held):
            classes = self.target.task == "classification"
            result = score(self.target.values[self.held], learner.predict(held), classes=classes)
        return Outcome(self, learner, table, result, seconds)

    def _learnable(self) -> NDArray[Any]:
        """Return what to learn from the rows that are not held out; one class is nothing to learn."""
        import numpy as np

        values = self.target.values[self.train] if len(self.held) else self.target.values
        if self.target.task == "classification" and len(np.unique(values)) < 2:
            raise lt.tables.TableError(
                f"target {self.target_name!r}: two classes or more are needed, got {values[0]!s} alone in "
                f"{counted(len(values), 'row')}. Choose another column."
            )
        return values


@dataclass
class Training(Lesson):
    """A table whose rows were read."""

    choice: Choice
    rows: Gathered

    @classmethod
    def read(cls, data: Path, target: str, table: TableOptions, task: Task | None, voice: Voice) -> Training:
        """Read a table and its target, a column of it or a file of its own."""
        start = time.perf_counter()
        source = lt.tables.open_table(data, header=table.header)
        aside = lt.tables.target_file(target, source.names, source.file)
        choice = choose_columns(source, None if aside else target, table, voice)
        with voice.working(f"reading {source.file}") as report:
            rows = lt.tables.gather(source, choice, report)
            cells = rows.target if aside is None else lt.tables.one_column(aside, header=table.header)
        n_rows, n_values = len(rows.numbers), 0 if cells is None else len(cells)
        if cells is None or n_values != n_rows:
            raise lt.tables.TableError(f"{target}: a target must have a value a row, {n_rows}, got {n_values}.")
        name = target if choice.target is None else choice.target
        goal = lt.tables.read_target(cells, name, task)
        return cls(source.file, goal, name, time.perf_counter() - start, choice, rows)

    def material(self, standardize: bool) -> tuple[Any, Any, FittedTable]:
        """Learn the recipe from the rows to learn from, and apply it to all."""
        some = self.rows.take(self.train) if len(self.held) else self.rows
        recipe = lt.tables.learn_recipe(self.choice, some.numbers, some.texts, standardize=standardize)
        held = self.rows.take(self.held).matrix(recipe)
        return some.matrix(recipe), held, FittedTable(recipe, self.choice)


@dataclass
class StoreTraining(Lesson):
    """A store of codes, which stay where they are."""

    store: lt.CodeStore

    @classmethod
    def read(cls, path: Path, target: str, task: Task | None) -> StoreTraining:
        """Open a store and read its target."""
        start = time.perf_counter()
        store = lt.CodeStore.open(path)
        if store.encoder is None:
            raise lt.tables.TableError(
                f"{path.name} must have the encoder of its codes, to predict from rows; it was made without."
            )
        if len(store) == 0:
            raise lt.tables.TableError(f"{path.name} must have rows to learn from, got none.")
        column = stored_target(store, target)
        if column not in store.columns:
            raise lt.tables.TableError(
                f"{path.name} must have a column {target!r} to learn, got {lt.tables.listed(store.columns) or 'none'}. "
                "Encode the table with --target, or name another column."
            )
        name = name_of_y(store) if column == "y" else column
        goal = lt.tables.read_target(store.column(column), name, task)
        return cls(path.name, goal, name, time.perf_counter() - start, store)

    def material(self, standardize: bool) -> tuple[Any, Any, FittedTable]:
        """Select the codes; how columns are scaled was settled when they were made."""
        import numpy as np

        table = FittedTable.of(self.store.encoder, self.store.metadata)
        if len(self.held) == 0:
            return self.store, None, table
        held = np.zeros(len(self.target.values), dtype=bool)
        held[self.held] = True
        select = lt.learners.SelectedSource
        return select(self.store, ~held), select(self.store, held), table


def split(target: Target, share: float, seed: int) -> tuple[Index, Index]:
    """Return rows to learn from and a share of rows held out, of every class alike where there are enough."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(target.values))
    if share == 0.0:
        return rows, rows[:0]
    n_held = max(1, round(share * len(rows)))
    if len(rows) - n_held < 2:
        problem = f"must leave two rows or more to learn from, got {share} of {len(rows)} rows."
        raise click.BadParameter(problem, param_hint="'--validate'")
    stratify = None
    if target.task == "classification":
        _, counts = np.unique(target.values, return_counts=True)
        if counts.min() >= 2 and len(counts) <= min(n_held, len(rows) - n_held):
            stratify = target.values
    train, held = train_test_split(rows, test_size=n_held, random_state=seed, stratify=stratify)
    return np.sort(train), np.sort(held)


@dataclass(frozen=True)
class Outcome:
    """A fitted model with the table it was fitted on, and its score on the rows held out, if any."""

    lesson: Lesson
    learner: Any
    table: FittedTable
    score: Score | None
    fit_seconds: float

    def save(self, path: Path) -> None:
        """Write the model file; the model in it takes rows of the table."""
        model = self.learner.with_recipe(self.table.recipe)
        write_model(model, path, self.table, self.score.sentence("held out") if self.score else "")

    def summary(self, output: Path) -> str:
        """Say what was read, learned and written."""
        lesson = self.lesson
        unseen = "none held out; --validate 0.1 gives a score on rows the model has not seen"
        return sheet(
            [
                ("table", f"{lesson.file}: {counted(len(lesson.target.values), 'row')}, {self._columns()}"),
                ("task", self._task()),
                ("features", encoder_summary(self.learner.features_)),
                ("fit", self._fit()),
                ("score", self.score.sentence("held out") if self.score else unseen),
                ("model", f"{output}, {bytes_in_words(output.stat().st_size)}"),
            ]
        )

    def _columns(self) -> str:
        numeric, categories = self.table.recipe.numeric, self.table.n_categories
        parts = []
        if numeric:
            parts.append(f"{counted(len(numeric), 'column')} of numbers ({self.table.how})")
        if categories:
            parts.append(f"{counted(len(categories), 'column')} of {sum(categories.values())} categories")
        return ", ".join(parts)

    def _task(self) -> str:
        target, name = self.lesson.target, self.lesson.target_name
        if target.task == "regression":
            return f"regression of {name!r} ({target.why}; --classification for classes)"
        classes = self.learner.classes_.tolist()
        other = "" if target.why == "text" else "; --regression for numbers"
        return f"classification of {name!r} into {len(classes)}: {lt.tables.listed(classes)} ({target.why}{other})"

    def _fit(self) -> str:
        learner = self.learner
        loss = getattr(learner, "loss", "squared")
        name, value = ("C", learner.C_) if hasattr(learner, "C_") else ("alpha", learner.alpha_)
        chosen = (
            ", chosen on rows left out" if "auto" in (getattr(learner, "C", 0), getattr(learner, "alpha", 0)) else ""
        )
        rows = counted(len(self.lesson.train), "row")
        return f"{loss} loss, {name} = {amount(value)}{chosen}; {rows} in {self.fit_seconds:.1f} s"

    def to_json(self, output: Path) -> dict[str, Any]:
        """Return the same as plain values."""
        lesson, learner, table = self.lesson, self.learner, self.table
        encoder = learner.features_
        return {
            "model": str(output),
            "bytes": output.stat().st_size,
            "data": {
                "file": lesson.file,
                "rows": len(lesson.target.values),
                "train_rows": len(lesson.train),
                "held_out_rows": len(lesson.held),
                "numeric": list(table.recipe.numeric),
                "standardized": table.how == "standardized",
                "one_hot": table.n_categories,
                "target": lesson.target_name,
            },
            "task": lesson.target.task,
            "why": lesson.target.why,
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
            "seconds": {"read": round(lesson.read_seconds, 3), "fit": round(self.fit_seconds, 3)},
        }
