"""What was done to a table before learning: kept with the model, so that it can be done again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowtide.cli.recipe.choice import Choice
from lowtide.cli.tables import Block, TableError, listed, number_matrix

__all__ = ["TableRecipe", "check_categories"]

Floats = NDArray[np.float64]
Texts = Mapping[str, NDArray[Any]]

_FORMAT = 1
_MOST_CATEGORIES = 1000


@dataclass(frozen=True)
class TableRecipe:
    """Columns, their scale and their categories: a table's rows as the matrix that a model was fitted on.

    Numbers come first, (x - mean) / scale column by column, then a column of 0 and 1 for each category. A category that
    was not there at fit is none of them: all 0.

    Parameters
    ----------
    columns : tuple of str
        All columns of the table at fit.
    named : bool
        Whether their names came from the table, or count its columns.
    target : str or None
    numeric : tuple of str
    categories : dict of tuple of str
        The categories of each one-hot column, sorted.
    mean, scale : tuple of float
        Of the numeric columns; empty when they are taken as they are.

    Examples
    --------
    >>> choice = Choice(("x", "city"), True, None, ("x",), ("city",))
    >>> texts = {"city": np.array(["Oslo", "Bern"], dtype=object)}
    >>> recipe = TableRecipe.learn(choice, np.array([[1.0], [3.0]]), texts, standardize=True)
    >>> recipe.matrix(np.array([[1.0], [3.0]]), texts)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    >>> TableRecipe.from_json(recipe.to_json()) == recipe
    True
    """

    columns: tuple[str, ...]
    named: bool
    target: str | None
    numeric: tuple[str, ...]
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()

    @classmethod
    def learn(cls, choice: Choice, numbers: Floats, texts: Texts, *, standardize: bool) -> Self:
        """Return the recipe of a table: categories as they come, mean and standard deviation of its numbers.

        Parameters
        ----------
        choice : Choice
        numbers : ndarray (n, n_numeric)
        texts : dict of ndarray (n,)
            The one-hot columns.
        standardize : bool
        """
        mean, scale = _moments(numbers, choice.numeric) if standardize else ((), ())
        return cls.of_whole(choice, {name: set(values) for name, values in texts.items()}, mean, scale)

    @classmethod
    def of_whole(
        cls, choice: Choice, categories: Mapping[str, set[str]], mean: tuple[float, ...], scale: tuple[float, ...]
    ) -> Self:
        """Return the recipe of a table whose categories and moments are known.

        Parameters
        ----------
        choice : Choice
        categories : dict of set of str
        mean, scale : tuple of float
            Of the numeric columns; empty when they are taken as they are.
        """
        check_categories(categories)
        listed_alike = {name: tuple(sorted(known)) for name, known in categories.items()}
        return cls(choice.columns, choice.named, choice.target, choice.numeric, listed_alike, mean, scale)

    @classmethod
    def of_model(cls, model: Any) -> Self:
        """Return the recipe of a model that was saved without one: its columns as they are."""
        names = getattr(model, "feature_names_in_", None)
        columns = tuple(str(name) for name in (range(model.n_features_in_) if names is None else names))
        return cls(columns, names is not None, None, columns)

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that a table must have, in the order they had at fit."""
        used = {*self.numeric, *self.categories}
        return tuple(name for name in self.columns if name in used)

    @property
    def n_features(self) -> int:
        """Columns of the matrix."""
        return len(self.numeric) + sum(map(len, self.categories.values()))

    def matrix(self, numbers: Floats, texts: Texts) -> Floats:
        """Return the rows that the model takes, (n, n_features); `numbers` is overwritten when there is no category.

        Parameters
        ----------
        numbers : ndarray (n, n_numeric)
        texts : dict of ndarray (n,)
        """
        if self.scale:
            numbers -= self.mean
            numbers /= self.scale
        self._check_size(numbers)
        if not self.categories:
            return numbers
        return np.hstack([numbers, *(_one_hot(texts[name], known) for name, known in self.categories.items())])

    def _check_size(self, numbers: Floats) -> None:
        """Refuse numbers that a feature cannot be made of: they are taken as float32."""
        largest = np.maximum(numbers.max(axis=0, initial=0.0), -numbers.min(axis=0, initial=0.0))
        far = [name for name, size in zip(self.numeric, largest) if size > np.finfo(np.float32).max]
        if far:
            scaled = "once they are standardized " if self.scale else ""
            raise TableError(
                f"columns must hold numbers of at most 3.4e38 in size {scaled}to be coded, got larger ones in "
                f"{listed(far)}. Correct or rescale them."
            )

    def rows(self, block: Block) -> Floats:
        """Return the rows that the model takes of a block of any table with the needed columns."""
        texts = {name: block.texts(name) for name in self.categories}
        return self.matrix(number_matrix(block, self.numeric, "reuse"), texts)

    def unseen(self, block: Block) -> dict[str, list[str]]:
        """Return the categories of a block that were not there at fit, a text a row, by column."""
        found = {name: [text for text in block.texts(name) if text not in known] for name, known in self._known.items()}
        return {name: texts for name, texts in found.items() if texts}

    @property
    def _known(self) -> dict[str, frozenset[str]]:
        return {name: frozenset(known) for name, known in self.categories.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as JSON has it."""
        lists = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        lists["categories"] = {name: list(known) for name, known in self.categories.items()}
        return {"format": _FORMAT, **lists}

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Return the recipe that `to_json` described; the content may be a stranger's.

        Parameters
        ----------
        content : dict
        """
        try:
            version = int(content["format"])
            if version <= _FORMAT:
                return cls._parsed(content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TableError(f"a model's table recipe must be what 'lowtide fit' wrote, got {error!r}.") from error
        raise TableError(f"a table recipe must have format {_FORMAT}, got {version}. Update lowtide to use it.")

    @classmethod
    def _parsed(cls, content: Any) -> Self:
        categories = {str(name): _names(known) for name, known in content["categories"].items()}
        recipe = cls(
            columns=_names(content["columns"]),
            named=bool(content["named"]),
            target=None if content["target"] is None else str(content["target"]),
            numeric=_names(content["numeric"]),
            categories=categories,
            mean=tuple(float(value) for value in content["mean"]),
            scale=tuple(float(value) for value in content["scale"]),
        )
        widths = {len(recipe.mean), len(recipe.scale)}
        if widths not in ({0}, {len(recipe.numeric)}) or not {*recipe.numeric, *categories} <= set(recipe.columns):
            raise ValueError(f"columns {listed(recipe.columns)} that do not fit together")
        if not np.all(np.isfinite([*recipe.mean, *recipe.scale])) or 0.0 in recipe.scale:
            raise ValueError("scales that are not finite")
        return recipe


def check_categories(categories: Mapping[str, set[str]]) -> None:
    """Refuse columns that are no categories."""
    for name, known in categories.items():
        if len(known) > _MOST_CATEGORIES:
            raise TableError(
                f"--one-hot {name}: a column must have at most {_MOST_CATEGORIES} categories, got {len(known)}. "
                f"Leave an identifier out: --drop {name}."
            )


def _names(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("names that are no list of texts")
    return tuple(values)


def _moments(numbers: Floats, names: tuple[str, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of columns; a constant one keeps its scale."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = numbers.mean(axis=0), numbers.std(axis=0)
    far = [name for name, spread in zip(names, std) if not np.isfinite(spread)]
    if far:
        raise TableError(f"columns must have a finite variance, got too large numbers in {listed(far)}. Rescale them.")
    # Rounding leaves a constant column a spread of some last digits, which must not become its unit.
    constant = numbers.max(axis=0, initial=-np.inf) == numbers.min(axis=0, initial=np.inf)
    scale = np.where(constant | (std == 0.0), 1.0, std)
    return tuple(mean.tolist()), tuple(scale.tolist())


def _one_hot(texts: NDArray[Any], known: tuple[str, ...]) -> Floats:
    """Return a column of 0 and 1 a category, (n, n_categories)."""
    place = {text: j for j, text in enumerate(known)}
    index = np.array([place.get(text, -1) for text in texts], dtype=np.intp)
    out = np.zeros((len(texts), len(known)))
    seen = np.flatnonzero(index >= 0)
    out[seen, index[seen]] = 1.0
    return out
