"""`lowtide fit` learns from a table, or from a store of codes, and writes a model file."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lowtide as lt
from lowtide.cli import models
from lowtide.cli import terminal as term
from lowtide.cli.completion import complete_columns
from lowtide.cli.models import FittedTable, score_in_words
from lowtide.cli.settings import place_beside, settings_options, write_settings
from lowtide.cli.terminal import LearnerOptions, TableOptions, Voice, counted, refuse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lowtide.tables import Target, Task

    Index = NDArray[np.intp]

# How the model learns and how the command speaks; what codes are made of is settled.
_WITH_A_STORE = (
    "data",
    "target",
    "output",
    "force",
    "task",
    "loss",
    "C",
    "share",
    "n_folds",
    "seed",
    "save_settings",
    "as_json",
    "quiet",
)

# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide fit flowers.csv --target species -o flowers.lowtide --validate 0.2
  lowtide fit rents.csv --target rent --one-hot city -o rents.lowtide
  lowtide fit X.npy --target y.npy -o model.lowtide --bits 2
  lowtide fit codes.zarr -o model.lowtide --validate 0.1
"""


def task_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the two options that say what to learn."""
    classes = click.option(
        "--classification",
        "task",
        flag_value="classification",
        help="Learn classes.  [default: for text, truth values and few whole numbers]",
    )
    numbers = click.option(
        "--regression", "task", flag_value="regression", help="Learn numbers.  [default: for other numbers]"
    )
    return classes(numbers(command))


@click.command(cls=term.TableCommand, short_help="Learn from a table and write a model file.", epilog=_EXAMPLES)
@click.argument("data", type=term.FILE_OR_STORE)
@click.option(
    "--target",
    metavar="COLUMN",
    shell_complete=complete_columns,
    help="What to learn: a column, or a file with one column.  [store: y]",
)
@click.option("--output", "-o", required=True, type=term.NEW_FILE, help="Model file to write.")
@click.option("--force", is_flag=True, help="Replace the model file if it is there.")
@task_options
@click.option(
    "--validate",
    "share",
    type=click.FloatRange(0.0, 1.0, max_open=True),
    default=0.0,
    show_default=False,
    metavar="SHARE",
    help="Hold out this share of the rows, 0.1 say, and report the score on them.",
)
@click.option(
    "--cv",
    "n_folds",
    type=click.IntRange(2),
    metavar="FOLDS",
    help="Score so many models, each on a part of the rows that it has not seen; then fit on all rows.",
)
@term.learner_options
@term.table_options
@settings_options
@term.voice_options
def fit(
    data: Path,
    target: str | None,
    output: Path,
    force: bool,
    task: Task | None,
    share: float,
    n_folds: int | None,
    learner: LearnerOptions,
    table: TableOptions,
    save_settings: bool,
    voice: Voice,
) -> None:
    """Learn from the table DATA (.csv, .tsv, .npy, .parquet), or from a store of codes, and write a model file.

    Every column but the target is a feature. The model file keeps the columns, their scale and their categories, so
    that 'lowtide predict' takes tables as they are. What is "auto" is chosen by rows left out, within the budget, and
    said. A store (.zarr) is read block by block, in memory that does not
    grow with its rows; its features are those it was encoded with.
    """
    place = check_model_name(output, force=force)
    outputs = {"--output": output}
    if save_settings:
        outputs["--save-settings"] = place_beside(output, force=force)
    term.check_apart(outputs, [data, target])
    if n_folds is not None and share > 0.0:
        refuse("--cv", "must come without --validate: every row is held out once. Leave one of them out.")
    start = time.perf_counter()
    if data.is_dir():
        settled = "is a store of codes and must come without {}: its features are settled."
        term.check_alone("DATA", _WITH_A_STORE, settled)
        lesson = open_store(data, target or "y", task)
    elif target is None:
        raise click.MissingParameter(param_hint="'--target'", param_type="option")
    else:
        lesson = read_table(data, target, table, task, voice)
    seconds = {"read": time.perf_counter() - start}
    score = None
    if n_folds is not None:
        start = time.perf_counter()
        score = cross_validate(lesson, learner, n_folds, voice)
        seconds["cv"] = time.perf_counter() - start
    train, held = split(lesson.target, share, learner.seed)
    model = models.make_learner(learner, lesson.target.task, lesson.encoder, verbose=voice.shows_progress)
    fitted, on_held, seconds["fit"] = _learn(model, lesson, train, held, voice)
    score = score or on_held
    in_words = score_in_words(score, "held out") if score else ""
    metadata = {**fitted.to_metadata(with_recipe=False), "score": in_words}
    lt.save(model.with_recipe(fitted.recipe), place, metadata=metadata)
    if save_settings:
        write_settings(outputs["--save-settings"], models.chosen_settings(model))
    content = _content(lesson, model, fitted, len(train), output)
    voice.say(_summary(content, model, fitted, in_words, seconds["fit"]))
    rounded = {name: round(value, 3) for name, value in seconds.items()}
    voice.result("fit", {**content, "score": score, "seconds": rounded})


def check_model_name(output: Path, *, force: bool) -> Path:
    """Return where a model file will be written, or refuse before any work; no table has such a name."""
    place = term.check_new(output, "--output", force=force)
    if lt.tables.is_table_name(output):
        say = str(output.with_suffix(".lowtide"))
        refuse("--output", f"must name a model file, {say!r} say, got {str(output)!r}.")
    return place


@dataclass(frozen=True)
class Lesson:
    """A target, and the rows to learn it from and to test on, wherever they are.

    `material` takes the numbers of both and returns what a learner takes of them; the encoder is None where it is not
    settled.
    """

    file: str
    target: Target
    target_name: str
    encoder: Any
    material: Callable[[Index, Index], Material]


@dataclass(frozen=True)
class Material:
    """Rows to learn from and rows held out, as a learner takes them, and the table that they are of.

    Rows are an array where they are in memory, else a source of codes.
    """

    rows: Any
    held: Any
    table: FittedTable

    def teach(self, learner: Any, values: NDArray[Any]) -> None:
        """Fit a learner on the rows to learn from, whose targets are `values`."""
        learner.fit(self.rows, values)

    def answers(self, learner: Any) -> NDArray[Any]:
        """Return what a fitted learner predicts for the rows held out."""
        predicted: NDArray[Any] = learner.predict(self.held)
        return predicted


def read_table(data: Path, target: str, table: TableOptions, task: Task | None, voice: Voice) -> Lesson:
    """Read a table and its target, a column of it or a file of its own."""
    source = lt.tables.open_table(data, header=table.header)
    aside = lt.tables.target_in_file(target, source.names, source.file, header=table.header)
    choice = models.choose_columns(source, target if aside is None else None, table, voice)
    with voice.working(f"reading {source.file}") as report:
        rows = lt.tables.gather(source, choice, report)
    cells = rows.target if aside is None else aside
    n_rows, n_values = len(rows.numbers), 0 if cells is None else len(cells)
    if cells is None or n_values != n_rows:
        raise lt.tables.TableError(f"{target}: a target must have a value a row, {n_rows}, got {n_values}.")
    name = target if choice.target is None else choice.target

    def material(train: Index, held: Index) -> Material:
        some = rows if len(train) == n_rows else rows.take(train)
        recipe = lt.tables.learn_recipe(choice, some.numbers, some.texts, standardize=table.scale)
        others = rows.take(held).matrix(recipe)
        return Material(some.matrix(recipe), others, FittedTable(recipe, choice))

    return Lesson(source.file, lt.tables.read_target(cells, name, task), name, None, material)


def open_store(path: Path, target: str, task: Task | None) -> Lesson:
    """Open a store and read its target; the codes stay where they are."""
    store = lt.CodeStore.open(path)
    if store.encoder is None:
        raise lt.tables.TableError(
            f"{path.name} must have the encoder of its codes, to predict from rows; it was made without."
        )
    if len(store) == 0:
        raise lt.tables.TableError(f"{path.name} must have rows to learn from, got none.")
    column = models.stored_target(store, target)
    if column not in store.columns:
        raise lt.tables.TableError(
            f"{path.name} must have a column {target!r} to learn, got {lt.tables.listed(store.columns) or 'none'}. "
            "Encode the table with --target, or name another column."
        )
    name = models.name_of_y(store) if column == "y" else column

    def material(train: Index, held: Index) -> Material:
        import numpy as np

        table = FittedTable.of(store.encoder, store.metadata)
        if len(held) == 0:
            return Material(store, None, table)
        chosen = np.zeros(len(store), dtype=bool)
        chosen[held] = True
        select = lt.learners.SelectedSource
        return Material(select(store, ~chosen), select(store, chosen), table)

    return Lesson(path.name, lt.tables.read_target(store.column(column), name, task), name, store.encoder, material)


def split(target: Target, share: float, seed: int) -> tuple[Index, Index]:
    """Return rows to learn from and a share of rows held out, of every class alike where there are enough."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(target.values))
    if share == 0.0:
        return rows, rows[:0]
    n_held = max(1, round(share * len(rows)))
    if len(rows) - n_held < 2:
        refuse("--validate", f"must leave two rows or more to learn from, got {share} of {len(rows)} rows.")
    stratify = None
    if target.task == "classification":
        _, counts = np.unique(target.values, return_counts=True)
        if counts.min() >= 2 and len(counts) <= min(n_held, len(rows) - n_held):
            stratify = target.values
    train, held = train_test_split(rows, test_size=n_held, random_state=seed, stratify=stratify)
    return np.sort(train), np.sort(held)


def cross_validate(lesson: Lesson, options: LearnerOptions, n_folds: int, voice: Voice) -> dict[str, Any]:
    """Return the mean score of models that are each tested on a part of the rows, its standard error, and every score.

    Everything is learned anew from the other rows, the recipe of the table too. Classes are in every part alike.
    """
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    task, values = lesson.target.task, lesson.target.values
    n = len(values)
    if n_folds > n // 2:
        refuse("--cv", f"must leave two rows or more in a fold, got {n_folds} folds of {counted(n, 'row')}.")
    kind: Any = KFold
    if task == "classification":
        _, counts = np.unique(values, return_counts=True)
        kind = StratifiedKFold if counts.max() >= n_folds else KFold
        if counts.min() < n_folds:
            voice.note(f"a class has {counted(int(counts.min()), 'row')}, too few for each of the {n_folds} folds.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the same of scikit-learn
        folds = list(kind(n_folds, shuffle=True, random_state=options.seed).split(np.empty(n), values))
    scores: list[dict[str, Any]] = []
    for i, (train, held) in enumerate(folds, 1):
        with voice.working(f"fold {i} of {n_folds}"):
            learner = models.make_learner(options, task, lesson.encoder, verbose=False)
            _, score, _ = _learn(learner, lesson, train, held, Voice(quiet=True))
        scores.append(score or {})
    means = {name: float(np.mean([score[name] for score in scores])) for name in scores[0] if name != "measure"}
    error = float(np.std([score["value"] for score in scores], ddof=1) / np.sqrt(n_folds))
    return {**scores[0], **means, "error": error, "rows": n, "folds": scores}


def _learn(
    learner: Any, lesson: Lesson, train: Index, held: Index, voice: Voice
) -> tuple[FittedTable, dict[str, Any] | None, float]:
    """Fit on the rows to learn from, and return their table, the score on those held out, and the seconds."""
    import numpy as np

    start, values = time.perf_counter(), lesson.target.values
    known, classes = values[train] if len(held) else values, lesson.target.task == "classification"
    if classes and len(np.unique(known)) < 2:
        raise lt.tables.TableError(
            f"target {lesson.target_name!r}: two classes or more are needed, got {known[0]!s} alone in "
            f"{counted(len(known), 'row')}. Choose another column."
        )
    material = lesson.material(train, held)
    with voice.hearing():
        material.teach(learner, known)
    learner.verbose = 0
    seconds = time.perf_counter() - start
    score = models.score(values[held], material.answers(learner), classes=classes) if len(held) else None
    return material.table, score, seconds


def _content(lesson: Lesson, learner: Any, table: FittedTable, n_train: int, output: Path) -> dict[str, Any]:
    """Return what was read, learned and written, as plain values."""
    encoder, target = learner.features_, lesson.target
    return {
        "model": str(output),
        "bytes": output.stat().st_size,
        "data": {
            "file": lesson.file,
            "rows": len(target.values),
            "train_rows": n_train,
            "held_out_rows": len(target.values) - n_train,
            "numeric": list(table.recipe.numeric),
            "standardized": table.how == "standardized",
            "one_hot": table.n_categories,
            "target": lesson.target_name,
        },
        "task": target.task,
        "why": target.why,
        "classes": learner.classes_.tolist() if hasattr(learner, "classes_") else None,
        "kernel": getattr(encoder, "kernel", None),
        "gamma": getattr(encoder, "gamma_", None),
        "components": encoder.n_components,
        "bits": getattr(encoder, "bits", None),
        "projection": getattr(encoder, "projection", None),
        "fingerprint": encoder.fingerprint_.hex(),
        "loss": models.chosen_loss(learner),
        "C": learner.C_ if hasattr(learner, "C_") else 0.5 / learner.alpha_,
        "choice": models.choice_content(learner),
    }


def _summary(content: dict[str, Any], learner: Any, table: FittedTable, score: str, seconds: float) -> str:
    """Say what was read, learned and written."""
    data, numeric, categories, classes = content["data"], table.recipe.numeric, table.n_categories, content["classes"]
    parts = [f"{data['file']}: {counted(data['rows'], 'row')}"]
    if numeric:
        parts.append(f"{counted(len(numeric), 'column')} of numbers ({table.how})")
    if categories:
        parts.append(f"{counted(len(categories), 'column')} of {sum(categories.values())} categories")
    task, why = f"{content['task']} of {data['target']!r}", content["why"]
    if classes is None:
        task += f" ({why}; --classification for classes)"
    else:
        other = "" if why == "text" else "; --regression for numbers"
        task += f" into {len(classes)}: {lt.tables.listed(classes)} ({why}{other})"
    name, value = ("C", learner.C_) if hasattr(learner, "C_") else ("alpha", learner.alpha_)
    chosen = ", chosen on rows left out" if getattr(learner, name) == "auto" else ""
    rows = counted(data["train_rows"], "row")
    unseen = "none held out; --validate 0.1 or --cv 5 gives a score on rows the model has not seen"
    sheet = term.sheet(
        [
            ("table", ", ".join(parts)),
            ("task", task),
            ("features", models.encoder_summary(learner.features_)),
            ("fit", f"{content['loss']} loss, {name} = {term.amount(value)}{chosen}; {rows} in {seconds:.1f} s"),
            ("score", score or unseen),
            ("model", f"{content['model']}, {term.bytes_in_words(content['bytes'])}"),
        ]
    )
    table_of_choice = models.choice_table(learner)
    return f"{sheet}\n\n{table_of_choice}" if table_of_choice else sheet
