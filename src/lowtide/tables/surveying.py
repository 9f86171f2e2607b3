"""Choose the columns of a table in a file, learn its recipe, and gather its rows, whole or in one pass over many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowtide.tables.cells import MISSING, ChoiceError, TableError, listed, suggestion, text_of
from lowtide.tables.elements import Categories, Feature, Indicator, Number, Step
from lowtide.tables.reading import Block, Purpose, Source, number_matrix
from lowtide.tables.recipe import Recipe
from lowtide.tables.target import Kind, read_values

Floats = NDArray[np.float64]
Texts = Mapping[str, NDArray[Any]]

_MOST_CATEGORIES = 1000
# Rows an encoder is fitted on: its gamma then moves by a fraction of a percent. Smaller tables are taken whole.
_SAMPLE_ROWS = 1 << 16
_ORDER: tuple[Kind, ...] = ("whole", "number", "text")  # the wider later


@dataclass(frozen=True)
class Choice:
    """The part that each column of a table plays.

    Attributes
    ----------
    columns : tuple of str
        All columns of the table, in its order.
    named : bool
        Whether the names come from the table; otherwise they count its columns.
    target : str or None
    numeric, one_hot : tuple of str
        Features, in the table's order.
    """

    columns: tuple[str, ...]
    named: bool
    target: str | None
    numeric: tuple[str, ...]
    one_hot: tuple[str, ...] = ()

    @classmethod
    def of_recipe(cls, recipe: Recipe, content: Any = None) -> Self:
        """Return the choice that `to_json` described, which may be a stranger's; None: only the recipe is known."""
        entries = content if isinstance(content, dict) else {}
        columns, target = entries.get("columns", list(recipe.columns)), entries.get("target")
        texts = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
        if not texts or not set(recipe.columns) <= set(columns) or not isinstance(target, (str, type(None))):
            raise TableError("a table's columns must be those that lowtide wrote beside a recipe, got others.")
        one_hot = tuple(name for name in recipe.columns if name not in recipe.numeric)
        return cls(tuple(columns), recipe.named, target, recipe.numeric, one_hot)

    def to_json(self) -> dict[str, Any]:
        """Return what a recipe does not know of the table: all its columns, and the target."""
        return {"columns": list(self.columns), "target": self.target}


def choose_columns(source: Source, *, target: str | None, one_hot: Sequence[str], drop: Sequence[str]) -> Choice:
    """Return the choice that options make; what is neither target nor dropped is a feature."""
    goal = None if target is None else find_column(source, target, "target")
    categories = {find_column(source, name, "one_hot") for name in one_hot}
    dropped = {find_column(source, name, "drop") for name in drop}
    for option, names in (("one_hot", categories), ("drop", dropped)):
        if goal in names:
            raise ChoiceError(option, f"must not name the target, got {goal!r}.")
    if categories & dropped:
        both = listed(sorted(categories & dropped))
        raise ChoiceError("drop", f"must not name columns that are taken as categories, got {both}.")
    features = [name for name in source.names if name != goal and name not in dropped]
    if not features and dropped:
        raise ChoiceError("drop", "must leave a column to learn from, got all of them.")
    if not features:
        raise ChoiceError("data", f"must have a column besides the target, got {listed(source.names)} alone.")
    numeric, texts = (tuple(name for name in features if (name in categories) is which) for which in (False, True))
    return Choice(source.names, source.named, goal, numeric, texts)


def find_column(source: Source, name: str, parameter: str) -> str:
    """Return a column's name; where columns are counted, -1 is the last."""
    if name in source.names:
        return name
    n = len(source.names)
    if source.named:
        near = suggestion(name, source.names)
        raise ChoiceError(parameter, f"must name a column of {source.file}, got {name!r}. {near}")
    if name in map(str, range(-n, 0)):
        return source.names[int(name)]
    must = f"must be the number of a column of {source.file}, 0 to {n - 1} or -1 for the last"
    raise ChoiceError(parameter, f"{must}, got {name!r}.")


@dataclass(frozen=True)
class Gathered:
    """The chosen columns of rows: numbers (n, n_numeric), texts by one-hot column, the target as the file has it."""

    numbers: Floats
    texts: dict[str, NDArray[Any]]
    target: NDArray[Any] | None = None

    def take(self, rows: NDArray[np.intp] | slice) -> Gathered:
        """Return some of the rows; the target stays behind."""
        return Gathered(self.numbers[rows], {name: values[rows] for name, values in self.texts.items()})

    def matrix(self, recipe: Recipe) -> Floats:
        """Return what a recipe learned from such rows makes of these; `numbers` may be overwritten."""
        return recipe.apply_read(self.numbers, self.texts)


def gather(
    source: Source, choice: Choice, report: Callable[[int], None] = lambda n: None, purpose: Purpose = "choose"
) -> Gathered:
    """Read a table block by block: the text of a CSV file is never there as a whole.

    Parameters
    ----------
    source : Source
    choice : Choice
    report : callable
        Told the number of rows so far.
    purpose : {"choose", "fit"}
        Whether messages speak of options of the command line, or of parameters.
    """
    return _joined([part for part, _ in _parts(source, choice, report, purpose)])


def _joined(parts: Sequence[Gathered]) -> Gathered:
    """Return the rows of all parts; those of one as they are."""
    if len(parts) == 1:
        return parts[0]
    texts = {name: np.concatenate([part.texts[name] for part in parts]) for name in parts[0].texts}
    targets = [part.target for part in parts if part.target is not None]
    numbers = np.concatenate([part.numbers for part in parts])
    return Gathered(numbers, texts, np.concatenate(targets) if targets else None)


def _parts(
    source: Source, choice: Choice, report: Callable[[int], None], purpose: Purpose
) -> Iterator[tuple[Gathered, int]]:
    """Yield the chosen columns of each block, with the number of its first row."""
    n_rows = 0
    for block in source.blocks():
        numbers = number_matrix(block, choice.numeric, purpose)
        texts = {name: block.texts(name) for name in choice.one_hot}
        yield Gathered(numbers, texts, None if choice.target is None else block.column(choice.target)), block.first_row
        n_rows += block.n_rows
        report(n_rows)
    if n_rows == 0:
        raise TableError(f"{source.file}: a table must have rows to learn from, got only its header.")


def learn_recipe(choice: Choice, numbers: Floats, texts: Texts, *, standardize: bool) -> Recipe:
    """Return the recipe of a table: categories as they come, mean and standard deviation of its numbers.

    Features are the numbers, (x - mean) / scale, then a column of 0 and 1 for each category. A category that was not
    there is none of them: all 0.

    Parameters
    ----------
    choice : Choice
    numbers : ndarray (n, n_numeric)
    texts : dict of ndarray (n,)
        The one-hot columns.
    standardize : bool

    Examples
    --------
    >>> choice = Choice(("x", "city"), True, None, ("x",), ("city",))
    >>> texts = {"city": np.array(["Oslo", "Bern"], dtype=object)}
    >>> recipe = learn_recipe(choice, np.array([[1.0], [3.0]]), texts, standardize=True)
    >>> recipe.apply([[1.0, "Oslo"], [3.0, "Bern"]])
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """
    moments = _Moments(choice.numeric, numbers) if standardize else None
    return _recipe(choice, {name: set(values) for name, values in texts.items()}, moments)


def _recipe(choice: Choice, categories: Mapping[str, set[str]], moments: _Moments | None) -> Recipe:
    """Return the recipe of a table whose categories, and moments where they are wanted, are known."""
    _check_categories(categories)
    used = {*choice.numeric, *categories}
    needed = [name for name in choice.columns if name in used]
    place = {name: j for j, name in enumerate(needed)}
    scaling = [()] * len(choice.numeric) if moments is None else moments.scaling()
    features: list[Feature] = [(Number(place[name]), steps) for name, steps in zip(choice.numeric, scaling)]
    known = [Categories(place[name], tuple(sorted(texts)), as_text=True) for name, texts in categories.items()]
    features += [(Indicator(k, i), ()) for k, some in enumerate(known) for i in range(len(some.values))]
    return Recipe.of_features(needed, features, known, choice.named)


def _check_categories(categories: Mapping[str, set[str]]) -> None:
    for name, known in categories.items():
        if len(known) > _MOST_CATEGORIES:
            must = f"column {name!r}: a one-hot column must have at most {_MOST_CATEGORIES} categories"
            remedy = f"Leave an identifier out: --drop {name}, or drop=[{name!r}] in Python."
            raise TableError(f"{must}, got {len(known)}. {remedy}")


class _Moments:
    """Mean and deviation of columns, block by block (Chan, Golub and LeVeque's update)."""

    def __init__(self, names: Sequence[str], *blocks: Floats) -> None:
        self.n_rows, self._names, n = 0, names, len(names)
        self._mean, self._squares = np.zeros(n), np.zeros(n)
        self._low, self._high = np.full(n, np.inf), np.full(n, -np.inf)
        for numbers in blocks:
            self.add(numbers)

    def add(self, numbers: Floats) -> None:
        n = len(numbers)
        if n == 0:
            return
        total = self.n_rows + n
        with np.errstate(over="ignore", invalid="ignore"):
            mean = numbers.mean(axis=0)
            apart = mean - self._mean
            self._squares += ((numbers - mean) ** 2).sum(axis=0) + apart**2 * (self.n_rows * n / total)
            self._mean += apart * (n / total)
        self._low = np.minimum(self._low, numbers.min(axis=0))
        self._high = np.maximum(self._high, numbers.max(axis=0))
        self.n_rows = total

    def scaling(self) -> list[tuple[Step, ...]]:
        """Return the steps that standardize each column; a constant one keeps its scale."""
        std = np.sqrt(self._squares / self.n_rows)
        far = [name for name, spread in zip(self._names, std) if not np.isfinite(spread)]
        if far:
            got = f"too large numbers in {listed(far)}"
            raise TableError(f"columns must have a finite variance, got {got}. Rescale them.")
        # Rounding leaves a constant column a spread of some last digits, which must not become its unit.
        scale = np.where((self._low == self._high) | (std == 0.0), 1.0, std)
        return [(("subtract", m), ("divide", d)) for m, d in zip(self._mean.tolist(), scale.tolist())]


def align(recipe: Recipe, source: Source, choice: Choice | None = None) -> tuple[tuple[str, ...], list[str]]:
    """Find the columns that a recipe needs: by name where both sides have names, by order otherwise.

    Parameters
    ----------
    recipe : Recipe
    source : Source
    choice : Choice or None
        Of the table that the recipe was made for, where it is known.

    Returns
    -------
    names : tuple of str
        What the recipe calls the columns of the source.
    notes : list of str
        What to say about it.

    Raises
    ------
    TableError
        Naming the columns that are missing.
    """
    fitted = choice or Choice.of_recipe(recipe)
    if source.named and recipe.named:
        missing = [name for name in recipe.columns if name not in source.names]
        if missing:
            near = f" {suggestion(missing[0], source.names)}" if len(missing) == 1 else ""
            has = "" if near.endswith(".") else f" The file has {listed(source.names)}."
            needs = f"the model needs column{'s' if len(missing) > 1 else ''} {listed(missing, most=20)}"
            raise TableError(f"{source.file}: {needs}, which the file does not have.{near}{has}")
        extra = [name for name in source.names if name not in fitted.columns]
        return source.names, [f"{source.file}: the model does not know {listed(extra)}; left out."] if extra else []
    # Columns are taken as they come: all those at fit, all but the target, or the features alone.
    without_target = tuple(name for name in fitted.columns if name != fitted.target)
    candidates = {len(names): names for names in (recipe.columns, without_target, fitted.columns)}
    names = candidates.get(len(source.names))
    which = f"{source.file}: {'the file' if recipe.named else 'the table the model was fitted on'} has no column names"
    if names is None:
        widths = " or ".join(map(str, sorted(candidates)))
        must = f"so columns are taken in order and there must be {widths} of them"
        raise TableError(f"{which}, {must}, got {len(source.names)}.")
    known = source.named or recipe.named
    return names, [f"{which}; columns are taken in order, as {listed(names)}."] if known else []


def block_rows(recipe: Recipe, block: Block) -> Floats:
    """Return the rows that a recipe makes of a block of any table with the columns it needs."""
    numbers = number_matrix(block, recipe.numeric, "reuse", recipe.filled)
    cells = {name: _present(block, name) for name in recipe.by_cell}
    cells |= {recipe.columns[some.column]: _cells(some, block, recipe) for some in recipe.categories}
    return recipe.apply_read(numbers, cells)


def _present(block: Block, name: str) -> NDArray[Any]:
    """Return the cells of a column as the file has them, None for what people write for a missing value."""
    column = block.column(name)
    if column.dtype.kind != "O":
        return column
    return np.array([None if text_of(cell).lower() in MISSING else cell for cell in column.tolist()], dtype=object)


def unseen_categories(recipe: Recipe, block: Block) -> dict[str, list[Any]]:
    """Return the cells of a block that are no category of the recipe, one a row, by column."""
    found = {}
    for some in recipe.categories:
        known = frozenset(some.values)
        found[recipe.columns[some.column]] = [c for c in some.cells(_cells(some, block, recipe)) if c not in known]
    return {name: cells for name, cells in found.items() if cells}


def _cells(some: Categories, block: Block, recipe: Recipe) -> NDArray[Any]:
    """Return cells of a file as categories are: numbers where these are, else texts; None where there is nothing."""
    name = recipe.columns[some.column]
    if some.as_text:
        return block.texts(name)
    if not any(isinstance(value, str) for value in some.values):
        return number_matrix(block, [name], "reuse", [name])[:, 0]
    return np.array([text or None for text in block.texts(name).tolist()], dtype=object)


def survey(
    source: Source, choice: Choice, *, standardize: bool, seed: int, report: Callable[[int], None] = lambda n: None
) -> tuple[int, Recipe, Floats, Kind | None]:
    """Read a table of any size once, in memory that does not grow: all that a recipe and an encoder must know of it.

    Parameters
    ----------
    source : Source
    choice : Choice
    standardize : bool
    seed : int
        Of the sample.
    report : callable
        Told the number of rows so far.

    Returns
    -------
    n_rows : int
    recipe : Recipe
        With mean, deviation and categories of all rows.
    sample : ndarray (at most 65,536, n_features)
        Rows as the recipe makes them: all of them, or as many drawn by chance.
    kind : {"text", "whole", "number"} or None
        What the target holds.
    """
    moments, sample, kinds = _Moments(choice.numeric), _Sample(seed), set()
    categories: dict[str, set[str]] = {name: set() for name in choice.one_hot}
    for part, first_row in _parts(source, choice, report, "choose"):
        moments.add(part.numbers)
        sample.add(part)
        for name, known in categories.items():
            known.update(part.texts[name])
        _check_categories(categories)
        if choice.target is not None and part.target is not None:
            kinds.add(read_values(part.target, choice.target, first_row)[0])
    some = sample.rows()
    if moments.n_rows == len(some.numbers):  # the whole table: the moments are those of `learn_recipe`, to the bit
        moments = _Moments(choice.numeric, some.numbers)
    recipe = _recipe(choice, categories, moments if standardize else None)
    return moments.n_rows, recipe, some.matrix(recipe), max(kinds, key=_ORDER.index, default=None)


def target_survey(source: Source, name: str, report: Callable[[int], None] = lambda n: None) -> Kind | None:
    """Return what the target of a table holds, None for one without rows."""
    kinds, n_rows = set(), 0
    for block in source.blocks():
        kinds.add(read_values(block.column(name), name, block.first_row)[0])
        n_rows += block.n_rows
        report(n_rows)
    return max(kinds, key=_ORDER.index, default=None)


class _Sample:
    """Rows drawn alike from all that came (reservoir sampling), in the table's order while all of them fit."""

    def __init__(self, seed: int) -> None:
        self._draw, self._n_rows = np.random.default_rng(seed), 0
        self._parts: list[Gathered] = []

    def add(self, part: Gathered) -> None:
        room = max(0, _SAMPLE_ROWS - self._n_rows)
        if room:
            self._parts.append(part.take(np.s_[:room]))
        rest = np.arange(room, len(part.numbers))
        if len(rest):
            place = self._draw.integers(0, self._n_rows + rest + 1)
            taken = place < _SAMPLE_ROWS
            place, new, kept = place[taken], part.take(rest[taken]), self.rows()
            # Of rows with the same place the last one stays, as if they came one by one.
            kept.numbers[place] = new.numbers
            for name, values in kept.texts.items():
                values[place] = new.texts[name]
        self._n_rows += len(part.numbers)

    def rows(self) -> Gathered:
        """Return the rows, in arrays that later rows are written into."""
        self._parts = [_joined(self._parts)]
        return self._parts[0]
