"""What a report is about: a model, rows as its encoder takes them, and the columns of the table they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from lowtide._checks import check_integer, fail
from lowtide.encoders import dense_rows
from lowtide.learners import Learner, as_model
from lowtide.reports.page import amount
from lowtide.tables import Recipe, comparable, listed, text_of

Array = NDArray[Any]
Task = Literal["classification", "regression"]

_OWNER = "report"
FEWEST_ROWS = 40
FLOAT_BITS = 32  # the width of a feature without codes
# Cells of features that are looked at: fewer rows where they are wide.
_MOST_CELLS = 1 << 26
_FLOAT_BYTES = 4
# What is done to a number, in the words of a card.
_STEP_WORDS = {
    "fill": "missing: {}",
    "subtract": "minus {}",
    "divide": "divided by {}",
    "multiply": "times {}",
    "add": "plus {}",
    "clip": "kept within {} and {}",
}
_NUMBERS = np.zeros(1)  # classes that are numbers: what else is no number is there, unless people write it for nothing


@dataclass(frozen=True)
class Column:
    """A column of the table, and what becomes of it.

    Attributes
    ----------
    name : str
    kind : str
        "number", "category" and so on, or "unused".
    treatment : str
        What the recipe does, in words.
    features : tuple of int
        Places of the features that are made of it.
    n_missing, n_different : int
        Of the rows that were looked at.
    """

    name: str
    kind: str
    treatment: str
    features: tuple[int, ...]
    n_missing: int
    n_different: int


@dataclass(frozen=True)
class Subject:
    """A model and rows with true values.

    Attributes
    ----------
    model : Learner
        Takes rows as the encoder does: its recipe has been applied.
    rows : ndarray of float64 (n, n_features)
    truth : ndarray (n,)
    columns : tuple of Column
    n_given : int
        Rows of the table; those looked at may be fewer.
    row_bytes, model_bytes : int
        Of a row of the table in float32, and of the model's file.
    n_unanswered : int
        Rows without a true value, left out.
    title : str
        What the rows are called: the name of a file, say.
    target : str
        What the true values are called.
    """

    model: Learner
    rows: Array
    truth: Array
    columns: tuple[Column, ...]
    n_given: int
    row_bytes: int
    model_bytes: int
    n_unanswered: int = 0
    title: str = "your data"
    target: str = "y"

    @property
    def task(self) -> Task:
        """What is learned."""
        return "classification" if self.model.decision_.task == "classification" else "regression"

    @property
    def code_bytes(self) -> int:
        """Bytes of an item in the form that the model reads."""
        return item_bytes(self.model)


def item_bytes(model: Learner) -> int:
    """Return the bytes of an item in the form that a model reads: packed codes, or float32 features."""
    decision = model.decision_
    if decision.code_bytes is not None:
        return decision.code_bytes
    assert decision.encoder is not None
    return _FLOAT_BYTES * decision.encoder.n_embedded


def checked_model(thing: Any) -> Learner:
    """Return a model that a report can be made of, or refuse it."""
    model = as_model(thing)
    decision = model.decision_
    if decision.task not in ("classification", "regression"):
        raise fail(_OWNER, "model must predict classes or numbers", f"a {type(model).__name__}")
    if decision.encoder is None:
        remedy = "Give the encoder that made them as `features` when you fit."
        raise fail(_OWNER, "model must have an encoder", "one that was fitted on Codes alone", remedy)
    if decision.task == "regression" and decision.weights.shape[1] > 1:
        remedy = "Fit and report one of them at a time."
        raise fail(_OWNER, "model must predict one number a row", f"{decision.weights.shape[1]} targets", remedy)
    return model


def subject_of(thing: Any, X: Any, y: Any, *, rows: int, model_bytes: int, seed: int) -> Subject:
    """Return the subject of a model and rows that are in memory, some of them drawn by chance where there are many.

    Parameters
    ----------
    thing : Learner or Pipeline
    X : array, CSR matrix, data frame or list of rows, as the model takes them
    y : array (n,)
    rows : int
        The most that are looked at.
    model_bytes : int
    seed : int
    """
    model = checked_model(thing)
    truth = np.asarray(y)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if truth.shape != (n,):
        raise fail(_OWNER, f"y must have a value a row, shape ({n},)", f"shape {truth.shape}")
    absent = np.array([text_of(value) == "" for value in truth.tolist()], dtype=bool)
    if absent.any():
        got = f"{int(absent.sum())} without"
        raise fail(_OWNER, "y must have a value in every row", got, "Remove those rows.")
    decision = model.decision_
    recipe = decision.recipe
    if recipe is None:
        recipe = Recipe.plain(decision.n_features if decision.columns is None else decision.columns)
    kept = np.arange(n)
    most = most_rows(rows, recipe.n_features)
    if n > most:
        kept = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
    some, title = _safe_indexing(X, kept), "your data"
    target = str(y.name) if isinstance(getattr(y, "name", None), str) else "y"
    cells = _cells(some, recipe)
    features = np.asarray(dense_rows(decision.check_rows(some)), dtype=np.float64)
    columns = describe_columns(recipe, cells)
    sizes = (decision.row_bytes, model_bytes)
    found = Subject(model.with_recipe(None), features, truth[kept], columns, n, *sizes, title=title, target=target)
    return checked_subject(found)


def most_rows(rows: int, n_features: int) -> int:
    """Return how many rows are looked at: as many as are asked for, fewer of very wide ones."""
    check_integer(_OWNER, "rows", rows, FEWEST_ROWS)
    return max(FEWEST_ROWS, min(rows, _MOST_CELLS // max(1, n_features)))


def checked_subject(subject: Subject) -> Subject:
    """Return a subject whose rows are enough, with true values as its task has them."""
    n = len(subject.truth)
    if n < FEWEST_ROWS:
        remedy = "A quarter of the rows is held out: of fewer there is nothing to say."
        raise fail(_OWNER, f"there must be at least {FEWEST_ROWS} rows with a true value", n, remedy)
    if subject.task == "regression":
        try:
            numbers = np.asarray(subject.truth, dtype=np.float64)
        except (TypeError, ValueError):
            raise fail(_OWNER, "y must be numbers for a regressor", subject.truth.dtype.name) from None
        if not np.isfinite(numbers).all():
            raise fail(_OWNER, "y must be finite", "NaN or infinity", "Remove those rows.")
        if numbers.min() == numbers.max():
            raise fail(_OWNER, "y must have different values", "one value in all rows")
        return replace(subject, truth=numbers)
    truth = subject.truth
    # Texts that are objects are compared as texts.
    classes = subject.model.classes_
    truth = truth.astype(str) if truth.dtype.kind == "O" and classes.dtype.kind in "UO" else truth
    if (truth.dtype.kind in "US") is not (np.array(classes.tolist()).dtype.kind in "US"):
        need = f"y must be classes as {classes.tolist()[:3]} are"
        raise fail(_OWNER, need, f"{truth.dtype.name}, {truth[0]!r} say")
    if not np.isin(truth, np.array(classes.tolist())).any():
        need = f"y must have classes that the model knows, {listed(classes.tolist())}"
        raise fail(_OWNER, need, f"{truth[0].item()!r} and the like", "Is it the right target?")
    if len(np.unique(truth)) < 2:
        raise fail(_OWNER, "y must have at least two classes", "one in all rows")
    return replace(subject, truth=truth)


def _cells(rows: Any, recipe: Recipe) -> list[Array]:
    """Return the raw columns of rows that are in memory, in the recipe's order."""
    if hasattr(rows, "toarray"):
        rows = dense_rows(rows)
    if hasattr(rows, "columns"):
        known = {str(name): name for name in rows.columns}
        names = recipe.columns if recipe.named and set(recipe.columns) <= set(known) else list(known)
        return [np.asarray(rows[known[name]]) for name in names]
    table = np.asarray(rows, dtype=None if isinstance(rows, np.ndarray) else object)
    if table.ndim != 2:
        raise fail(_OWNER, "X must be a table of rows", f"shape {table.shape}")
    return list(table.T)


def describe_columns(recipe: Recipe, cells: Sequence[Array]) -> tuple[Column, ...]:
    """Return what is known of the raw columns of a recipe, and of some of their cells.

    Parameters
    ----------
    recipe : Recipe
    cells : sequence of ndarray (n,)
        One a raw column.
    """
    made: list[list[int]] = [[] for _ in recipe.columns]
    for place, source in enumerate(recipe.sources):
        made[recipe.column_of(source)].append(place)
    features, found = recipe.features, []
    for name, kind, places, column in zip(recipe.columns, recipe.kinds, made, cells):
        _, there = comparable(column, _NUMBERS)
        n_different = len({text_of(value) for value in column[there].tolist()})
        treatment = "; ".join(dict.fromkeys(_in_words(recipe, features[place]) for place in places)) or "left out"
        found.append(Column(name, kind, treatment, tuple(places), int((~there).sum()), n_different))
    return tuple(found)


def _in_words(recipe: Recipe, feature: Any) -> str:
    """Say what a feature is made of."""
    source, steps = feature
    kind = type(source).__name__.lower()
    if kind == "indicator":  # what is done to each of many would be a list without end
        n = len(recipe.categories[source.categories].values)
        return f"{n} categories, a column of 0 and 1 for each"
    words = {
        "number": "number",
        "ordinal": "place among the categories",
        "truth": "1 for true, 0 for false",
        "missing": "1 where it is missing",
        "datepart": f"date: {str(getattr(source, 'part', '')).replace('_', ' ')}",
    }
    done = [_STEP_WORDS.get(op, op).format(*map(amount, values)) for op, *values in steps]
    return ", ".join([words.get(kind, kind), *done])
