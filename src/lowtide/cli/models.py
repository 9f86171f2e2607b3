"""Build, keep, load, describe and score the models behind the commands."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import lowtide as lt
from lowtide.cli.terminal import EncoderOptions, LearnerOptions, TableOptions, Voice, amount, counted, refuse
from lowtide.errors import FileFormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lowtide.learners import Decision
    from lowtide.tables import Block, Choice, Recipe, Sample, Source, Taken, Task

# What a file's metadata call the recipe, where there is no decision to keep it, and the columns at fit.
_RECIPE, _COLUMNS = "table", "fitted_on"
# Columns that get a line each.
_SHOWN_COLUMNS = 30


@dataclass(frozen=True)
class FittedTable:
    """Know what the rows of a model's table go through, and the part that each of its columns played at fit."""

    recipe: Recipe
    choice: Choice
    taken: tuple[Taken, ...] = ()

    @classmethod
    def of(cls, thing: Any, metadata: dict[str, Any]) -> Self:
        """Return the table of a learner, its decision or an encoder; one of Python takes columns as they are."""
        decision = getattr(thing, "decision_", thing if isinstance(thing, lt.learners.Decision) else None)
        if decision is not None:
            recipe, names = decision.recipe, decision.columns
        else:
            recipe = lt.tables.Recipe.from_json(metadata[_RECIPE]) if _RECIPE in metadata else None
            names = getattr(thing, "feature_names_in_", None)
        if recipe is None:
            width = thing.n_features_in_ if decision is None else decision.n_features
            recipe = lt.tables.Recipe.plain(width if names is None else names)
        return cls(recipe, lt.tables.Choice.of_recipe(recipe, metadata.get(_COLUMNS)))

    def to_metadata(self, *, with_recipe: bool = True) -> dict[str, Any]:
        """Return what a file or a store keeps of it; a model has the recipe itself."""
        recipe = {_RECIPE: self.recipe.to_json()} if with_recipe else {}
        return {**recipe, _COLUMNS: self.choice.to_json()}

    def align(self, source: Source, voice: Voice) -> tuple[str, ...]:
        """Return what this table calls the columns of another one, and say what is special about them."""
        names, notes = lt.tables.align(self.recipe, source, self.choice)
        for note in notes:
            voice.note(note)
        return names

    def rows(self, block: Block, names: tuple[str, ...]) -> NDArray[Any]:
        """Return the rows that the encoder takes of a block whose columns are called `names`."""
        return lt.tables.block_rows(self.recipe, block.renamed(names))

    @property
    def how(self) -> str:
        """Say what is done to the numbers."""
        steps = [name for name, *_ in self.recipe.steps if name != "fill"]
        return "standardized" if steps == ["subtract", "divide"] else ", ".join(steps) or "as they are"

    @property
    def n_categories(self) -> dict[str, int]:
        """How many categories each column of them has."""
        return {self.recipe.columns[some.column]: len(some.values) for some in self.recipe.categories}

    def in_words(self) -> str:
        """Say how many columns are taken as what: "3 columns of numbers, 1 of 2 categories"."""
        kinds, n_categories = Counter[str](self.recipe.kinds), sum(self.n_categories.values())
        names = {
            "number": "numbers",
            "truth": "truth values",
            "date": "dates",
            "category": f"{n_categories} categories",
        }
        parts = [f"{kinds[kind]} of {name}" for kind, name in names.items() if kinds[kind]]
        return f"{counted(len(self.recipe.columns), 'column')}: {', '.join(parts)}"

    def columns_in_words(self, most: int = _SHOWN_COLUMNS) -> str:
        """Return one line per column: what it is taken as, what is missing, what is done; many alike are folded."""
        taken = self.taken
        folded: list[tuple[str, str, str, str]] = []
        if len(taken) > most:
            taken = tuple(column for column in taken if column.is_special)[:most]
            folded = _folded([column for column in self.taken if column not in taken])
        lines = [(c.name, c.taken_as, f"{c.missing:,}" if c.missing else "", c.done) for c in taken] + folded
        if not lines:
            return ""
        head = ("column", "taken as", "missing", "what is done")
        widths = [max(len(line[j]) for line in (head, *lines)) for j in range(3)]
        name, kind, missing = widths[0] + 2, widths[1] + 2, widths[2]
        return "\n".join(f"{a:{name}}{b:{kind}}{c:>{missing}}  {d}".rstrip() for a, b, c, d in (head, *lines))


def _folded(columns: list[Taken]) -> list[tuple[str, str, str, str]]:
    """Return a line a kind of column that counts them."""
    folded = []
    for kind in dict.fromkeys(column.taken_as for column in columns):
        alike = [column for column in columns if column.taken_as == kind]
        n_missing = sum(column.missing > 0 for column in alike)
        also = f"; {counted(n_missing, 'column')} with missing values" if n_missing else ""
        names = lt.tables.listed([column.name for column in alike], most=3)
        folded.append((counted(len(alike), "column"), kind, "", f"{names}{also}"))
    return folded


def open_source(data: Path, header: bool, encoding: str | None, voice: Voice) -> Source:
    """Open the table of a file, and say what is special about it."""
    source = lt.tables.open_table(data, header=header, encoding=encoding)
    written = source.dialect.in_words()
    for note in (*([f"{source.file}: {written}."] if written else []), *source.notes):
        voice.note(note)
    return source


def choose_columns(source: Source, target: str | None, options: TableOptions) -> Choice:
    """Return the part that each column of a table plays, as options have it."""
    wishes = dict(options.columns)
    return lt.tables.choose_columns(
        source, target=target, columns=wishes, categories=options.categories, drop=options.drop
    )


def learned_table(sample: Sample, choice: Choice, standardize: bool) -> FittedTable:
    """Return the table of rows to learn from: its recipe, and what that does."""
    recipe, taken = lt.tables.learn_recipe(sample, choice, standardize=standardize)
    return FittedTable(recipe, choice, taken)


def make_encoder(options: EncoderOptions) -> lt.RandomFeatures | lt.VectorCodes:
    """Return the encoder that options ask for."""
    if options.metric is not None:
        return lt.VectorCodes(options.bits or 0, metric=options.metric, random_state=options.seed)
    # Frequencies of the laplacian kernel are drawn coordinate by coordinate; no other layout carries them.
    if options.kernel == "laplacian" and options.projection not in (None, "iid"):
        refuse("--projection", f"must be iid for the laplacian kernel, got {options.projection!r}. Leave it out.")
    projection = options.projection or ("iid" if options.kernel == "laplacian" else "hadamard")
    return lt.RandomFeatures(
        options.kernel,
        gamma=options.gamma,
        n_components=options.components,
        projection=projection,
        bits=options.bits,
        random_state=options.seed,
    )


def make_learner(options: LearnerOptions, task: Task, encoder: Any, *, verbose: bool) -> Any:
    """Return a classifier or a regressor, on an encoder that is settled or on the features that options ask for.

    C is 1/(2 alpha) of ridge regression.
    """
    given: dict[str, Any] = {"random_state": options.seed, "verbose": int(verbose)}
    if encoder is not None:
        given["features"] = encoder
    else:
        names = ("kernel", "gamma", "bits", "metric", "prune")
        given |= {name: getattr(options, name) for name in names}
        given |= {"n_components": options.components, "budget": dict(options.budget) or None}
    if task == "classification":
        return lt.KernelClassifier(loss=options.loss, C=options.C, **given)
    if options.loss not in ("auto", "squared"):
        problem = f"must be squared for regression, got {options.loss!r}. Add --classification to learn classes."
        refuse("--loss", problem)
    return lt.KernelRegressor(alpha="auto" if options.C == "auto" else 0.5 / options.C, **given)


def chosen_loss(learner: Any) -> str:
    """Return the name of the loss that a learner has, whether it was given or chosen."""
    return str(learner.choice_.settings.get("loss", "squared"))


def choice_content(learner: Any) -> dict[str, Any] | None:
    """Return what was chosen and tried as plain values; None where nothing chooses."""
    choice = getattr(learner, "choice_", None)
    return None if choice is None else {**choice.to_config(), "settings": chosen_settings(learner)}


def chosen_settings(learner: Any) -> dict[str, Any]:
    """Return what a learner's settings came to, as plain values."""
    choice = getattr(learner, "choice_", None)
    return {} if choice is None else dict(choice.settings)


def choice_table(learner: Any) -> str:
    """Return one line per chosen setting, with its left-out loss and how many candidates were tried; "" for none.

    `print(model.choice_)` in Python shows each of them.
    """
    choice = getattr(learner, "choice_", None)
    if choice is None or not choice.trials:
        return ""
    lines = [f"Chosen by the left-out loss of {choice.judged_by:,} {choice.source}:"]
    lines.append(f"{'setting':16}{'value':>24}{'loss':>10}{'tried':>8}")
    for setting, value, loss, n_tried in choice.outcomes():
        shown = amount(value) if isinstance(value, float) else "none" if value is None else str(value)
        lines.append(f"{setting:16}{shown:>24}{loss:>10.5f}{n_tried:>8}")
    return "\n".join(lines)


def stored_target(store: lt.CodeStore, target: str) -> str:
    """Return the column of a store that holds a target: the one of that name, or "y", which had it in the table."""
    return "y" if target not in store.columns and target == name_of_y(store) else target


def name_of_y(store: lt.CodeStore) -> str:
    """Return what the column "y" of a store is called in its table; "y" where that is not known."""
    about = store.metadata.get("target")
    return str((isinstance(about, dict) and about.get("name")) or "y")


def load_model(path: Path) -> tuple[Any, FittedTable]:
    """Return a learner and the table that it was fitted on."""
    thing = _load(path)
    if not hasattr(thing, "predict"):
        raise FileFormatError(
            f"{str(path)!r} must hold a model, got {type(thing).__name__}. 'lowtide fit' writes models."
        )
    return thing, FittedTable.of(thing, lt.persist.read_metadata(path))


def load_decision(path: Path) -> tuple[Decision, FittedTable]:
    """Return what a learner decides by, which needs no scikit-learn, and the table that it was fitted on."""
    check_no_table(path)
    decision = lt.persist.load_decision(path)
    if not decision.outputs:
        kind = lt.persist.describe(path)["kind"]
        raise FileFormatError(f"{str(path)!r} must hold a model, got {kind}. 'lowtide fit' writes models.")
    return decision, FittedTable.of(decision, lt.persist.read_metadata(path))


def load_encoder(path: Path) -> tuple[Any, FittedTable]:
    """Return the encoder of a file, or of the model in it, and the table that it was fitted on."""
    thing = _load(path)
    encoder = encoder_of(thing)
    if encoder is None:
        raise FileFormatError(
            f"{str(path)!r} must hold an encoder or a model with one, got {type(thing).__name__}. 'lowtide fit' and "
            "'lowtide encode --save-encoder' write them."
        )
    table = FittedTable.of(thing, lt.persist.read_metadata(path))
    if table.recipe.n_features != encoder.drawn_.n_features:
        raise FileFormatError(
            f"{str(path)!r} must hold a recipe for {encoder.drawn_.n_features} columns, got one for "
            f"{table.recipe.n_features}."
        )
    return encoder, table


def encoder_of(thing: Any) -> Any:
    """Return an encoder itself, or that of a model; None where there is none."""
    return thing if hasattr(thing, "drawn_") else getattr(thing, "features_", None)


def _load(path: Path) -> Any:
    check_no_table(path)
    return lt.load(path)


def check_no_table(path: Path, also: str = "; 'lowtide predict' takes the model first") -> None:
    """Refuse the name of a table where a model file is wanted; `also` says what may have been meant."""
    if lt.tables.is_table_name(path):
        raise FileFormatError(
            f"{str(path)!r} must be a model file, got the name of a table. 'lowtide fit' writes model files{also}."
        )


def score(truth: NDArray[Any], predicted: NDArray[Any], *, classes: bool) -> dict[str, Any] | None:
    """Return accuracy and that of the most common class, or R² and root mean square error; None without rows.

    R² of rows with one value is that of scikit-learn: 1 when all are met, else 0.
    """
    import numpy as np

    n = len(truth)
    if n == 0:
        return None
    if classes:
        _, counts = np.unique(truth, return_counts=True)
        shares = {"value": float(np.mean(truth == predicted)), "rows": n, "baseline": float(counts.max() / n)}
        return {"measure": "accuracy", **shares}
    square = float(np.sum((truth - predicted) ** 2))
    spread = float(np.sum((truth - truth.mean()) ** 2))
    r2 = 1.0 - square / spread if spread > 0 else float(square == 0)
    return {"measure": "r2", "value": r2, "rows": n, "rmse": float(np.sqrt(square / n))}


def score_in_words(score: dict[str, Any], of_rows: str) -> str:
    """Say a score; `of_rows` tells which rows they are."""
    rows, value = f"on {counted(score['rows'], 'row')} {of_rows}", f"{score['value']:.3f}"
    if "folds" in score:
        rows, value = (
            f"over {len(score['folds'])} folds of {counted(score['rows'], 'row')}",
            f"{value} ± {score['error']:.3f}",
        )
    if score["measure"] == "accuracy":
        return f"accuracy {value} {rows} (always the most common class: {score['baseline']:.3f})"
    return f"R² {value}, root mean square error {amount(score['rmse'])} {rows}"


def encoder_summary(encoder: Any) -> str:
    """Say kernel, gamma, components, bits and bytes a row; encoders of other kernels show their parameters."""
    if isinstance(encoder, lt.VectorCodes):
        vectors = encoder.drawn_
        size = vectors.template.packed.shape[1] + 2 * 4  # the length and the correction
        width = f"{counted(vectors.n_features, 'column')} of {counted(vectors.bits, 'bit')}"
        return f"vectors by {vectors.metric}, {width}: {counted(size, 'byte')} a row"
    if not isinstance(encoder, lt.RandomFeatures):
        return " ".join(repr(encoder).split())
    drawn, template = encoder.drawn_, encoder.drawn_.template
    gamma = "" if encoder.gamma_ is None else f" with gamma {amount(encoder.gamma_)}"
    kernel = encoder.kernel if isinstance(encoder.kernel, str) else repr(encoder.kernel_)
    width = "as float32" if encoder.quantizer_ is None else f"of {counted(encoder.quantizer_.bits, 'bit')}"
    size = counted(4 * drawn.n_outputs if template is None else template.packed.shape[1], "byte")
    return f"{kernel} kernel{gamma}, {counted(drawn.n_outputs, 'component')} {width}: {size} a row"
