"""One pass over a table of any size: what a recipe and an encoder must know of it, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.cli.recipe.choice import Choice
from lowtide.cli.recipe.gathering import Gathered
from lowtide.cli.recipe.recipe import TableRecipe, check_categories
from lowtide.cli.recipe.target import Kind, target_kind
from lowtide.cli.tables import Source, TableError, number_matrix

__all__ = ["Survey", "survey", "target_survey"]

Floats = NDArray[np.float64]

# Rows an encoder is fitted on: its gamma then moves by a fraction of a percent. Smaller tables are taken whole.
_SAMPLE_ROWS = 1 << 16
_ORDER: tuple[Kind, ...] = ("whole", "number", "text")


@dataclass(frozen=True)
class Survey:
    """What one pass has found.

    Attributes
    ----------
    n_rows : int
    recipe : TableRecipe
        Mean, deviation and categories of all rows.
    sample : ndarray (at most 65,536, n_features)
        Rows as the recipe makes them: all of them, or as many drawn by chance.
    kind : {"text", "whole", "number"} or None
        What the target holds.
    """

    n_rows: int
    recipe: TableRecipe
    sample: Floats
    kind: Kind | None


def survey(
    source: Source, choice: Choice, *, standardize: bool, seed: int, report: Callable[[int], None] = lambda n: None
) -> Survey:
    """Read a table once.

    Parameters
    ----------
    source : Source
    choice : Choice
    standardize : bool
    seed : int
        Of the sample.
    report : callable
        Told the number of rows so far.
    """
    moments, sample, kinds = _Moments(len(choice.numeric)), _Sample(choice, seed), set()
    categories: dict[str, set[str]] = {name: set() for name in choice.one_hot}
    for block in source.blocks():
        numbers = number_matrix(block, choice.numeric, "choose")
        texts = {name: block.texts(name) for name in choice.one_hot}
        moments.add(numbers)
        sample.add(numbers, texts)
        for name, known in categories.items():
            known.update(texts[name])
        check_categories(categories)
        if choice.target is not None:
            kinds.add(target_kind(block.column(choice.target), choice.target, block.first_row))
        report(moments.n_rows)
    if moments.n_rows == 0:
        raise TableError(f"{source.file}: a table must have rows to learn from, got only its header.")
    some = sample.gathered()
    recipe = TableRecipe.learn(choice, some.numbers, some.texts, standardize=standardize)
    if moments.n_rows > len(some.numbers):
        mean, scale = moments.result() if standardize else ((), ())
        recipe = TableRecipe.of_whole(choice, categories, mean, scale)
    return Survey(moments.n_rows, recipe, recipe.matrix(some.numbers, some.texts), _widest(kinds))


def target_survey(source: Source, name: str, report: Callable[[int], None] = lambda n: None) -> Kind | None:
    """Return what the target of a table holds, None for one without rows."""
    kinds, n_rows = set(), 0
    for block in source.blocks():
        kinds.add(target_kind(block.column(name), name, block.first_row))
        n_rows += block.n_rows
        report(n_rows)
    return _widest(kinds)


def _widest(kinds: set[Kind]) -> Kind | None:
    return max(kinds, key=_ORDER.index) if kinds else None


class _Moments:
    """Mean and deviation of columns, block by block (Chan, Golub and LeVeque's update)."""

    def __init__(self, n_columns: int) -> None:
        self.n_rows = 0
        self._mean, self._squares = np.zeros(n_columns), np.zeros(n_columns)
        self._low, self._high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)

    def add(self, numbers: Floats) -> None:
        n = len(numbers)
        if n == 0:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            mean = numbers.mean(axis=0)
            apart = mean - self._mean
            total = self.n_rows + n
            self._squares += ((numbers - mean) ** 2).sum(axis=0) + apart**2 * (self.n_rows * n / total)
            self._mean += apart * (n / total)
        self._low = np.minimum(self._low, numbers.min(axis=0))
        self._high = np.maximum(self._high, numbers.max(axis=0))
        self.n_rows = total

    def result(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        std = np.sqrt(self._squares / self.n_rows)
        if not np.isfinite(std).all():
            raise TableError("columns must have a finite variance, got too large numbers. Rescale them.")
        constant = (self._low == self._high) | (std == 0.0)
        return tuple(self._mean.tolist()), tuple(np.where(constant, 1.0, std).tolist())


class _Sample:
    """Rows drawn alike from all that came (reservoir sampling), in the table's order while all of them fit."""

    def __init__(self, choice: Choice, seed: int) -> None:
        self._draw = np.random.default_rng(seed)
        self._numbers: list[Floats] = []
        self._texts: dict[str, list[NDArray[Any]]] = {name: [] for name in choice.one_hot}
        self._kept: Gathered | None = None
        self._n_rows = 0

    def add(self, numbers: Floats, texts: dict[str, NDArray[Any]]) -> None:
        room = max(0, _SAMPLE_ROWS - self._n_rows)
        if room:
            self._numbers.append(numbers[:room].copy())
            for name, parts in self._texts.items():
                parts.append(texts[name][:room])
        rest = np.arange(self._n_rows + min(room, len(numbers)), self._n_rows + len(numbers))
        self._n_rows += len(numbers)
        if len(rest):
            kept = self.gathered()
            place = self._draw.integers(0, rest + 1)
            for row, i in zip((rest - rest[0] + len(numbers) - len(rest)).tolist(), place.tolist()):
                if i < _SAMPLE_ROWS:
                    kept.numbers[i] = numbers[row]
                    for name, values in kept.texts.items():
                        values[i] = texts[name][row]

    def gathered(self) -> Gathered:
        """Return the rows; from the first call on they are replaced, not added to."""
        if self._kept is None:
            if not self._numbers:
                return Gathered(np.empty((0, 0)), {}, None)
            texts = {name: np.concatenate(parts) for name, parts in self._texts.items()}
            self._kept = Gathered(np.concatenate(self._numbers), texts, None)
            self._numbers = []
        return self._kept
