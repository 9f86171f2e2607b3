"""Columns of a table in a file: which are chosen, how those of a recipe are found, and what a recipe makes of them."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from lowtide.tables.cells import (
    ChoiceError,
    TableError,
    listed,
    number_of,
    numbers_in,
    present,
    shown,
    suggestion,
    text_of,
)
from lowtide.tables.dates import DATE_ORDERS, Dates
from lowtide.tables.elements import Categories, Missing, Truth, read_truth
from lowtide.tables.reading import Block, Source
from lowtide.tables.recipe import Recipe

Floats = NDArray[np.float64]
# What a column may be taken as: a date also by the order of its parts, and "drop" leaves it out.
Wish = Literal["number", "truth", "category", "date", "ymd", "dmy", "mdy", "drop"]

WISHES: tuple[Wish, ...] = get_args(Wish)
_TRUTH = {"true": 1.0, "false": 0.0}
# What a missing cell is taken as, by the kind of its column.
_FILLED_WITH = {"number": "the median at fit", "date": "the median at fit", "truth": "the more frequent one at fit"}
_TRUTH_WORDS = frozenset(("true", "false", "yes", "no", "t", "f", "y", "n", "1", "0"))


@dataclass(frozen=True)
class Choice:
    """The part that each column of a table plays, as far as somebody chose it.

    Attributes
    ----------
    columns : tuple of str
        All columns of the table, in its order.
    named : bool
        Whether the names come from the table; otherwise they count its columns.
    target : str or None
    wishes : dict of str
        What columns are to be taken as; the others as the survey finds them.
    in_python : bool
        Whether messages speak of parameters, or of options of the command line.
    """

    columns: tuple[str, ...]
    named: bool
    target: str | None = None
    wishes: Mapping[str, Wish] = field(default_factory=dict)
    in_python: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """All columns but the target."""
        return tuple(name for name in self.columns if name != self.target)

    def typed(self, name: str, wish: Wish) -> str:
        """Return how a column is asked to be taken as something: `--column 'first name=category'`, say."""
        if self.in_python:
            short = {"category": f"categories=[{name!r}]", "drop": f"drop=[{name!r}]"}
            return short.get(wish, f"columns={{{name!r}: {wish!r}}}")
        short = {"category": f"--categories {shlex.quote(name)}", "drop": f"--drop {shlex.quote(name)}"}
        return short.get(wish, f"--column {shlex.quote(f'{name}={wish}')}")

    @classmethod
    def of_recipe(cls, recipe: Recipe, content: Any = None) -> Self:
        """Return the choice that `to_json` described, which may be a stranger's; None: only the recipe is known."""
        entries = content if isinstance(content, dict) else {}
        columns, target = entries.get("columns", list(recipe.columns)), entries.get("target")
        texts = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
        if not texts or not set(recipe.columns) <= set(columns) or not isinstance(target, (str, type(None))):
            raise TableError("a table's columns must be those that lowtide wrote beside a recipe, got others.")
        return cls(tuple(columns), recipe.named, target)

    def to_json(self) -> dict[str, Any]:
        """Return what a recipe does not know of the table: all its columns, and the target."""
        return {"columns": list(self.columns), "target": self.target}


def choose_columns(
    source: Source,
    *,
    target: str | None = None,
    columns: Mapping[str, str] | None = None,
    categories: Sequence[str] = (),
    drop: Sequence[str] = (),
    in_python: bool = False,
) -> Choice:
    """Return the choice of a target, and of what columns are taken as, by their names or numbers.

    Examples
    --------
    >>> source = Source("t.csv", ("age", "city", "id"), True, lambda: iter(()))
    >>> choose_columns(source, target="age", drop=["id"]).wishes
    {'id': 'drop'}
    """
    goal = None if target is None else find_column(source, target, "target")
    wishes: dict[str, Wish] = {}
    asked = [("column", name, wish) for name, wish in (columns or {}).items()]
    asked += [("categories", name, "category") for name in categories] + [("drop", name, "drop") for name in drop]
    for option, given, wish in asked:
        name = find_column(source, given, option)
        if wish not in WISHES:
            raise ChoiceError(option, f"must be one of {listed(WISHES, most=8)}, got {wish!r} for {name!r}.")
        if name == goal:
            raise ChoiceError(option, f"must not name the target, got {goal!r}.")
        if wishes.setdefault(name, wish) != wish:
            raise ChoiceError(option, f"must not name a column that is taken as {wishes[name]!r}, got {name!r}.")
    features = [name for name in source.names if name != goal]
    if not features:
        raise ChoiceError("data", f"must have a column besides the target, got {listed(source.names)} alone.")
    if all(wishes.get(name) == "drop" for name in features):
        raise ChoiceError("drop", "must leave a column to learn from, got all of them.")
    return Choice(source.names, source.named, goal, wishes, in_python)


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
            lower = {name.lower(): name for name in source.names if name not in recipe.columns}
            alike = [name for name in missing if len(missing) > 1 and name.lower() in lower]
            has += f" If {lower[alike[0].lower()]!r} is {alike[0]!r}, rename it." if alike else ""
            raise TableError(f"{source.file}: {needs}, which the file does not have.{near}{has}")
        extra = [name for name in source.names if name not in fitted.columns]
        return source.names, [f"{source.file}: the model does not know {listed(extra)}; left out."] if extra else []
    # Columns are taken as they come: all those at fit, all but the target, or the features alone.
    candidates = {len(names): names for names in (recipe.columns, fitted.features, fitted.columns)}
    names = candidates.get(len(source.names))
    which = f"{source.file}: {'the file' if recipe.named else 'the table the model was fitted on'} has no column names"
    if names is None:
        widths = " or ".join(map(str, sorted(candidates)))
        must = f"so columns are taken in order and there must be {widths} of them"
        raise TableError(f"{which}, {must}, got {len(source.names)}.")
    known = source.named or recipe.named
    return names, [f"{which}; columns are taken in order, as {listed(names)}."] if known else []


def block_rows(recipe: Recipe, block: Block) -> Floats:
    """Return the rows that a recipe makes of a block of any table with the columns it needs; see `block_cells`."""
    return recipe.apply_read(*block_cells(recipe, block))


def block_cells(recipe: Recipe, block: Block) -> tuple[Floats, dict[str, NDArray[Any]]]:
    """Return the columns of a block as `Recipe.apply_read` takes them: those of numbers, and others by their names.

    What people write for nothing is nothing, in columns of every kind.

    Raises
    ------
    TableError
        Naming the row, its line in the file and the column of what the recipe cannot take.
    """
    numbers = np.empty((block.n_rows, len(recipe.numeric)))
    for j, name in enumerate(recipe.numeric):
        numbers[:, j] = _numbers(block, name, may_miss=name in recipe.filled)
    cells = {name: present(block.column(name)) for name in recipe.by_cell}
    for dates in recipe.dates:
        _check_dates(block, recipe.columns[dates.column], dates)
    for source in recipe.sources:
        if isinstance(source, Truth):
            _check_truth(block, recipe.columns[source.column])
    for some in recipe.categories:
        name = recipe.columns[some.column]
        cells[name] = _category_cells(some, block, name)
        _check_categories(some, block, name, cells[name])
    for name in {*recipe.by_cell} - recipe.filled:
        if recipe.kinds[recipe.columns.index(name)] in ("date", "truth"):
            _check_there(block, name)
    return numbers, cells


class Surprises:
    """Counts cells that were not as at fit: texts that are no category, and missing values where there were none."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._unseen: dict[str, Counter[str]] = {}
        self._missing: Counter[str] = Counter()
        # Where a missing cell has no column or category of its own, none was common at fit.
        own = {recipe.columns[s.column] for s in recipe.sources if isinstance(s, Missing)}
        filled = [*recipe.filled - own]
        self._filled = {name: kind for name, kind in zip(recipe.columns, recipe.kinds) if name in filled}

    def add(self, block: Block) -> None:
        """Count those of a block whose columns are called as the recipe calls them."""
        for some in self._recipe.categories:
            name, known = self._recipe.columns[some.column], frozenset(some.values)
            if known == {""}:
                continue  # only whether there is a text counts, whatever it is
            odd = [c for c in some.cells(_category_cells(some, block, name)) if c not in known]
            texts = [text_of(cell) for cell in odd]
            self._missing[name] += texts.count("")
            self._unseen.setdefault(name, Counter()).update(text for text in texts if text)
        for name, kind in self._filled.items():
            if kind == "number":
                numbers = numbers_in(block.column(name))
                self._missing[name] += 0 if numbers is None else int(np.isnan(numbers).sum())
            elif kind in _FILLED_WITH:
                cells = present(block.column(name))
                absent = np.isnat(cells) if cells.dtype.kind == "M" else [cell is None for cell in cells.tolist()]
                self._missing[name] += int(np.sum(absent))

    def notes(self) -> list[str]:
        """Return a sentence for each column that has some."""
        unseen = [
            f"column {name!r}: {texts.total():,} row{'s' if texts.total() > 1 else ''} with categories that the model "
            f"does not have, {listed([*texts])}; they count as none."
            for name, texts in self._unseen.items()
            if texts
        ]
        return unseen + [
            f"column {name!r}: {count:,} missing value{'s' if count > 1 else ''}, taken as "
            f"{_FILLED_WITH.get(self._filled.get(name, ''), 'no category')}."
            for name, count in self._missing.items()
            if count
        ]


def _numbers(block: Block, name: str, *, may_miss: bool) -> Floats:
    """Return a column as finite numbers, true and false as 1 and 0, NaN where a cell may be missing."""
    column = block.column(name)
    values = numbers_in(column)
    if values is None:
        words = [_TRUTH.get(text_of(cell).lower(), cell) for cell in column.tolist()]
        values = numbers_in(np.array(words, dtype=object))
    if values is not None and np.isfinite(values).all(where=~np.isnan(values) if may_miss else True):
        return values
    cells = present(column).tolist()
    numbers = [_TRUTH.get(text_of(cell).lower(), number_of(cell)) for cell in cells]
    texts = [i for i, cell in enumerate(cells) if cell is not None and numbers[i] is None]
    if 2 * len(texts) > sum(cell is not None for cell in cells):  # most of what it holds
        must = f"column {name!r} must hold numbers, as it did when the model was fitted"
        raise TableError(f"{block.file}: {must}, got text, {shown(cells[texts[0]])} in {block.where(texts[0])}.")
    bad = [
        i
        for i, (cell, number) in enumerate(zip(cells, numbers))
        if (cell is None and not may_miss) or (cell is not None and (number is None or not math.isfinite(number)))
    ]
    raise _fault(block, name, bad, "a finite number")


def _fault(block: Block, name: str, bad: Sequence[int], must: str) -> TableError:
    """Say which cell is not what it must be."""
    cell = present(block.column(name))[bad[0]]
    got = "an empty cell" if cell is None else shown(cell)
    place = f"{block.where(bad[0])}, column {name!r}" + (f" (and {len(bad) - 1} more like it)" if len(bad) > 1 else "")
    return TableError(
        f"{block.file}: every cell must hold {must}, got {got} in {place}. Correct the cell or remove the row."
    )


def _check_there(block: Block, name: str) -> None:
    bad = [i for i, cell in enumerate(present(block.column(name)).tolist()) if cell is None]
    if bad:
        raise _fault(block, name, bad, "a value")


def _check_dates(block: Block, name: str, dates: Dates) -> None:
    cells = present(block.column(name))
    try:
        dates.read(cells, name)
    except TableError:
        bad = [i for i, cell in enumerate(cells) if isinstance(cell, str) and not dates.readable([cell])[0]]
        others = [i for i, cell in enumerate(cells) if not (cell is None or isinstance(cell, str))]
        order = {"ymd": "2024-03-31", "dmy": "31.03.2024", "mdy": "03/31/2024"}[dates.order]
        raise _fault(block, name, bad or others, f"a date such as {order}") from None


def _check_truth(block: Block, name: str) -> None:
    cells = present(block.column(name))
    try:
        read_truth(cells, name)
    except TableError:
        bad = [i for i, cell in enumerate(cells) if not is_truth(cell) and cell is not None]
        raise _fault(block, name, bad, "true or false, yes or no") from None


def is_truth(cell: object) -> bool:
    """Whether a cell is a truth value, however it is written.

    Examples
    --------
    >>> [is_truth(cell) for cell in (True, " Yes", "f", 1, "0", "maybe", 2, None)]
    [True, True, True, True, True, False, False, False]
    """
    if isinstance(cell, str):
        return cell.strip().lower() in _TRUTH_WORDS
    return isinstance(cell, (Real, Decimal, np.bool_)) and cell in (0, 1)


def _check_categories(some: Categories, block: Block, name: str, cells: NDArray[Any]) -> None:
    if some.unknown == "error":
        known = frozenset(some.values)
        bad = [i for i, cell in enumerate(some.cells(cells)) if cell not in known]
        if bad:
            raise _fault(block, name, bad, f"one of {listed(some.values)}")


def _category_cells(some: Categories, block: Block, name: str) -> NDArray[Any]:
    """Return cells of a file as categories are: numbers where these are, else texts; None where there is nothing."""
    cells = present(block.column(name))
    if not some.as_text and not any(isinstance(value, str) for value in some.values):
        return _numbers(block, name, may_miss=True)
    return np.array([text_of(cell) or None for cell in cells.tolist()], dtype=object)


def date_order(wish: Wish | None) -> tuple[str, ...]:
    """Return the orders of dates that a wish allows."""
    return (wish,) if wish in DATE_ORDERS else DATE_ORDERS
