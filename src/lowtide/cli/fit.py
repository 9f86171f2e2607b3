"""`lowtide fit` learns from a table, or from a store of codes, and writes a model file."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lowtide as lt
from lowtide.cli import models
from lowtide.cli import terminal as term
from lowtide.cli.completion import target_option
from lowtide.cli.lesson import Lesson, open_store, read_table
from lowtide.cli.models import FittedTable, score_in_words
from lowtide.cli.settings import place_beside, settings_options, write_settings
from lowtide.cli.terminal import LearnerOptions, TableOptions, Voice, counted, refuse
from lowtide.cli.values import Share

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
    "settings",
    "save_settings",
    "as_json",
    "quiet",
)

# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide fit flowers.csv --target species -o flowers.lowtide --validate 0.2
  lowtide fit rents.csv --target rent --categories zip -o rents.lowtide
  lowtide fit X.npy --target y.npy -o model.lowtide --bits 2
  lowtide fit codes.zarr -o model.lowtide --validate 0.1
"""


def task_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the two options that say what to learn."""
    classes = click.option(
        "--classification",
        "task",
        flag_value="classification",
        help="Learn classes.  [default: if the target is text, yes or no, or few whole numbers]",
    )
    numbers = click.option("--regression", "task", flag_value="regression", help="Learn numbers.  [default: otherwise]")
    return classes(numbers(command))


@click.command(cls=term.TableCommand, epilog=_EXAMPLES)
@click.argument("data", type=term.FILE_OR_STORE)
@target_option("What to learn: a column, or a file with one column.  [default for a store: y]")
@click.option("--output", "-o", required=True, type=term.NEW_FILE, help="Model file to write.")
@click.option("--force", is_flag=True, help="Replace the model file if it exists.")
@task_options
@click.option(
    "--validate",
    "share",
    type=Share(),
    default=0.0,
    show_default=False,
    help="Keep this share of the rows aside, 0.2 for example, and score the model on them.",
)
@click.option(
    "--cv",
    "n_folds",
    type=click.IntRange(2),
    metavar="FOLDS",
    help="Cross-validate: score this many models, each on rows it was not fitted on; then fit on all rows.",
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
    """Learn from the table DATA and write a model file.

    DATA is a .csv, .tsv, .jsonl, .parquet or .npy file (text files also as .gz or .zst), or a store of codes (.zarr).
    What each column holds is found out from all rows, and shown; --column, --categories and --drop change it. The
    model file keeps the columns, their scale and their categories, so 'lowtide predict' takes tables as they are.
    Settings that are "auto" are chosen by the loss on rows left out, within the budget, and shown. Large tables and
    stores are read block by block, in memory that does not grow with their rows.
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
    if classes:
        _note_alike(lesson.target_name, np.unique(known).tolist(), voice)
    material = lesson.material(train, held)
    with voice.hearing():
        material.teach(learner, known)
    learner.verbose = 0
    seconds = time.perf_counter() - start
    score = models.score(values[held], material.answers(learner), classes=classes) if len(held) else None
    return material.table, score, seconds


def _note_alike(target: str, classes: list[Any], voice: Voice) -> None:
    """Tell of classes that are probably one, spelled in two ways."""
    spellings: dict[str, list[str]] = {}
    for name in classes:
        if isinstance(name, str):
            spellings.setdefault(" ".join(name.casefold().split()), []).append(name)
    for alike in spellings.values():
        if len(alike) > 1:
            voice.note(
                f"{lt.tables.listed(alike)} of {target!r} differ only in capitals or blanks, and are learned as "
                f"{len(alike)} classes. Correct them if they are one."
            )


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
            "columns": [asdict(column) for column in table.taken],
            "features": table.recipe.n_features,
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
    data, classes = content["data"], content["classes"]
    parts = [f"{data['file']}: {counted(data['rows'], 'row')}", table.in_words()]
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
            *_larger_code(learner.with_recipe(table.recipe).decision_),
            ("fit", f"{content['loss']} loss, {name} = {term.amount(value)}{chosen}; {rows} in {seconds:.1f} s"),
            ("score", score or unseen),
            ("model", f"{content['model']}, {term.bytes_in_words(content['bytes'])}"),
        ]
    )
    return "\n\n".join(filter(None, [table.columns_in_words(), sheet, models.choice_table(learner)]))


def _larger_code(decision: Any) -> list[tuple[str, str]]:
    """Return a line where a code is larger than the row that it stands for, with what would help."""
    code, row = decision.code_bytes, decision.row_bytes
    if code is None or code <= row:
        return []
    smaller = f"--budget {row}B makes smaller codes" if row >= 8 else "--components makes smaller codes"
    return [("bytes", f"a code takes {code}, more than its row of {row}: store and send rows, or {smaller}")]
