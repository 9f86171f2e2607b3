"""From the columns of a table to the rows that an encoder takes: what a client must do before it encodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.errors import WireFormatError

__all__ = ["Columns"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """Numbers first, (x - mean) / scale in float64, then a column of 0 and 1 for each category.

    Parameters
    ----------
    names : tuple of str
        Columns of the table that are needed, numbers and categories, in the table's order.
    mean, scale : tuple of float
        A value a column of numbers; empty when they are taken as they are.
    categories : dict of tuple of str
        By column; a text that is none of them is 0 in all.

    Examples
    --------
    >>> columns = Columns(("x", "city"), mean=(1.0,), scale=(2.0,), categories={"city": ("Bern", "Oslo")})
    >>> columns.matrix([{"x": 3.0, "city": "Oslo"}])
    array([[1., 0., 1.]])
    >>> columns.matrix([[3.0, "Rome"]])
    array([[1., 0., 0.]])
    """

    names: tuple[str, ...]
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def numeric(self) -> tuple[str, ...]:
        """Columns of numbers."""
        return tuple(name for name in self.names if name not in self.categories)

    @property
    def n_features(self) -> int:
        """Columns of the matrix."""
        return len(self.numeric) + sum(map(len, self.categories.values()))

    def matrix(self, rows: Any) -> Floats:
        """Return the rows that the encoder takes.

        Parameters
        ----------
        rows : array (n, columns), or list of lists in the table's order, or list of dicts by column
            Texts only for categories.
        """
        if isinstance(rows, np.ndarray) and not self.categories:
            return self.scaled(rows)
        table = [self._in_order(row) for row in rows]
        place = {name: j for j, name in enumerate(self.names)}
        numbers = [[_number(row[place[name]], name) for name in self.numeric] for row in table]
        values = self.scaled(np.array(numbers, dtype=np.float64).reshape(len(table), len(self.numeric)))
        hot = [
            [float(row[place[name]] == known) for name, texts in self.categories.items() for known in texts]
            for row in table
        ]
        return np.hstack([values, np.array(hot).reshape(len(table), self.n_features - len(self.numeric))])

    def scaled(self, numbers: Any) -> Floats:
        """Return the columns of numbers, (n, numeric), centered and scaled."""
        values = np.asarray(numbers, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.numeric):
            raise fail("rows", f"rows must have {len(self.numeric)} numbers", values.shape)
        return (values - self.mean) / self.scale if self.scale else values

    def _in_order(self, row: Any) -> Any:
        """Return a row's values in the table's order."""
        if isinstance(row, Mapping):
            missing = [name for name in self.names if name not in row]
            if missing:
                raise fail("rows", f"a row must have the columns {', '.join(self.names)[:200]}", missing[:5])
            return [row[name] for name in self.names]
        if isinstance(row, str) or not isinstance(row, (Sequence, np.ndarray)) or len(row) != len(self.names):
            counted = isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, str)
            raise fail("rows", f"a row must have {len(self.names)} values", len(row) if counted else row)
        return row

    def to_json(self) -> dict[str, Any]:
        """Return the columns as JSON has them."""
        known = {name: list(texts) for name, texts in self.categories.items()}
        return {"names": list(self.names), "mean": list(self.mean), "scale": list(self.scale), "categories": known}

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Return the columns that `to_json` described; the content may be a stranger's."""
        try:
            categories = {str(name): tuple(map(str, known)) for name, known in dict(content["categories"]).items()}
            mean, scale = (tuple(float(value) for value in content[key]) for key in ("mean", "scale"))
            columns = cls(tuple(map(str, content["names"])), mean, scale, categories)
        except (KeyError, TypeError, ValueError) as error:
            raise WireFormatError(f"columns must have names, mean, scale and categories, got {error!r}.") from error
        fit = {len(mean), len(scale)} in ({0}, {len(columns.numeric)}) and set(categories) <= set(columns.names)
        if not fit or not np.all(np.isfinite([*mean, *scale])) or 0.0 in scale:
            raise WireFormatError("columns must fit together, with finite scales, got others.")
        return columns

    @classmethod
    def of_table(cls, recipe: Mapping[str, Any]) -> Self:
        """Return the columns of a table recipe, as 'lowtide fit' keeps it beside a model."""
        try:
            used = {*recipe["numeric"], *recipe["categories"]}
            return cls.from_json({**recipe, "names": [name for name in recipe["columns"] if name in used]})
        except (KeyError, TypeError) as error:
            raise WireFormatError(f"a table recipe must be what 'lowtide fit' wrote, got {error!r}.") from error


def _number(value: Any, name: str) -> float:
    """Return a finite number; a text that looks like one is none."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise fail("rows", f"column {name!r} must be finite numbers", value)
    return float(value)
