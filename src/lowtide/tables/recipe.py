"""A recipe says what a row of a table goes through before it is encoded: the same in Python, on a server and in C."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowtide.spec import Part, State, take_parts
from lowtide.tables.cells import TableError, array_of_rows, columns_of, listed
from lowtide.tables.dates import Dates, part_of_days
from lowtide.tables.elements import (
    KIND_ORDER,
    KINDS,
    NEUTRAL,
    Categories,
    ColumnKind,
    DatePart,
    Feature,
    Indicator,
    Missing,
    Number,
    Ordinal,
    Origin,
    Step,
    Steps,
    Truth,
    align_steps,
    parse_elements,
    read_missing,
    read_numbers,
    read_truth,
    source_to_json,
)

Floats = NDArray[np.float64]

_VERSION = 2
_UFUNCS = {"subtract": np.subtract, "divide": np.divide, "multiply": np.multiply, "add": np.add}
_READERS: dict[type, Any] = {Number: read_numbers, Truth: read_truth, Missing: read_missing}
_HOLDS = {"number": "a finite number", "truth": "true or false", "date": "a date", "category": "a known category"}
_LARGEST = float(np.finfo(np.float32).max)  # features are made of float32
_ROWS_AT_ONCE = 8192


@dataclass(frozen=True)
class Recipe:
    """The steps that turn a row of a table into numbers: columns by name, scaling, missing values, categories, dates.

    Every feature has a source (the number or truth value in a raw column, whether it is missing, a part of a date, the
    indicator of a category, the place of a cell among categories) and goes through elementary operations in float64:
    fill, subtract, divide, multiply, add, clip. They are those of scikit-learn's transformers, in their order, so the
    results equal theirs to the bit.

    Parameters
    ----------
    columns : tuple of str
        The raw columns of a row, in order.
    named : bool
        Whether the names come from a table; otherwise they count its columns, "0", "1", ..., and tables are taken in
        order.
    sources : tuple of Number, Truth, Missing, DatePart, Indicator or Ordinal
        One a feature.
    steps : tuple of (str, tuple)
        Operations on all features, one after the other: the name, then for each of its arguments a tuple with a number
        a feature, None for a feature that is left as it is.
    categories : tuple of Categories
        What indicators and ordinals refer to.
    dates : tuple of Dates
        What parts of dates refer to.

    Attributes
    ----------
    n_features : int
        Columns out.
    is_identity : bool
        Whether numbers pass as they are, in order; such a recipe only names columns.
    feature_names : tuple of str
        A name a column out: that of its raw column, with "_category" for an indicator, "_missing", or a date's part.
    kinds : tuple of {"number", "truth", "category", "date", "unused"}
        What each raw column holds.

    Notes
    -----
    The JSON form, from which other languages compute the same (`to_json`, `from_json`)::

        {"columns": ["age", "city", "paid", "since"],
         "named": true,
         "categories": [{"column": 1, "values": ["Bern", "Oslo"], "unknown": "ignore", "as_text": false,
                         "missing": null}],
         "dates": [{"column": 3, "order": "ymd"}],
         "sources": [["number", 0], ["missing", 0], ["indicator", 0, 1], ["ordinal", 0, -1.0, null], ["truth", 2],
                     ["date", 0, "days"], ["date", 0, "week_sine"]],
         "steps": [["fill", [41.5, null, null, null, 0.5, 19000.0, 0.0]],
                   ["subtract", [40.0, null, null, null, null, 19000.0, null]],
                   ["divide", [12.0, null, null, null, null, 365.0, null]],
                   ["clip", [-3.0, null, null, null, null, null, null], [3.0, null, null, null, null, null, null]]]}

    columns
        Different texts. A row has a cell for each, in this order.
    categories
        `column` counts `columns`, from 0. `values` are different texts, truth values and finite numbers, and at most
        one null, which is a missing value. A cell is compared so: with `as_text` it is made a text (a whole number
        without point, other numbers as Python writes them, "True" and "False", blanks around a text removed, nothing as
        ""); otherwise a missing cell becomes `missing` unless that is null. Equal means the same text, or the same
        number; a truth value equals the numbers 1 and 0; a missing cell equals null. A cell that equals no value is
        unknown: with "error" the row is refused, with "ignore" it is in no category.
    dates
        How cells of `column` are read as days since 1970-01-01, float64: d + t / 86400000000, with d whole days and t
        the microseconds from 0 to a day's. A text is as `Dates` describes it, in the order "ymd", "dmy" or "mdy"; of
        a fraction of a second six digits count, and an offset is subtracted. Blanks (those of ASCII)
        around it do not count, a text of blanks alone is nothing, whose days are NaN.
    sources
        One a feature. ["number", column] is the number in the cell, as float64; truth values are 1 and 0, a missing
        cell is NaN, a text is refused. ["truth", column] is 1.0 for true, the number 1 and the texts true, yes, t, y
        and 1 in any case with blanks around, 0.0 for false, 0 and false, no, f, n, 0, NaN for a missing cell and a text
        of blanks; all else is refused. ["missing", column] is 1.0 for a missing cell and a text of blanks, else 0.0.
        ["indicator", categories, index] is 1.0 where the cell equals `values[index]`, else 0.0. ["ordinal", categories,
        unknown, missing] is the index of the value that the cell equals, `unknown` for an unknown cell, `missing` for a
        missing one (also where null is one of the values); null there is NaN. ["date", dates, part] is "days", or of
        t = days / period (365.2425 for "year_...", 7 for "week_...", 1 for "day_...") and f = t - floor(t) the
        "..._sine" or "..._cosine" of 2 pi f, so: q = floor(4 f + 0.5), x = (f - q / 4) * 6.283185307179586, s = x times
        the polynomial in x * x with the coefficients (-1)^k / (2 k + 1)!, c that with (-1)^k / (2 k)!, both from k = 7
        down to 0 by Horner's rule; the sine is s, c, -s, -c, s for q = 0 to 4, the cosine c, -s, -c, s, c.
    steps
        In order, each on all features: ["fill", v] replaces NaN by v, ["subtract", v] is x - v, ["divide", v] is x / v,
        ["multiply", v] is x * v, ["add", v] is x + v, ["clip", low, high] is min(max(x, low), high) with NaN kept. The
        arguments are lists with a number a feature, null where the feature is left as it is. Every operation is rounded
        to float64 by itself: no fused multiply and add.

    At the end every feature must be a number of at most 3.4e38 in size, and cells may not be infinite; a row with
    another one is refused, with its number and column.

    Cost: a pass over the matrix a step; plain numbers have no loop over rows in Python, categories one.

    Examples
    --------
    >>> recipe = Recipe.of_features(
    ...     ("age", "city"),
    ...     [(Number(0), (("subtract", 40.0), ("divide", 10.0))), (Indicator(0, 0), ()), (Indicator(0, 1), ())],
    ...     [Categories(1, ("Bern", "Oslo"))],
    ... )
    >>> recipe.apply([{"age": 50, "city": "Oslo"}, {"age": 35, "city": "Rome"}])
    array([[ 1. ,  0. ,  1. ],
           [-0.5,  0. ,  0. ]])
    >>> recipe.feature_names
    ('age', 'city_Bern', 'city_Oslo')
    >>> Recipe.from_json(recipe.to_json()) == recipe
    True
    """

    columns: tuple[str, ...]
    named: bool
    sources: tuple[Origin, ...]
    steps: Steps = ()
    categories: tuple[Categories, ...] = ()
    dates: tuple[Dates, ...] = ()

    @classmethod
    def plain(cls, columns: Iterable[str] | int) -> Self:
        """Return the recipe of numbers that are taken as they are; of a number of columns, they have no names.

        Examples
        --------
        >>> Recipe.plain(2).columns, Recipe.plain(["x", "y"]).is_identity
        (('0', '1'), True)
        """
        named = not isinstance(columns, int)
        names = tuple(str(name) for name in (range(columns) if isinstance(columns, int) else columns))
        return cls(names, named, tuple(Number(j) for j in range(len(names))))

    @classmethod
    def scaled(cls, columns: Iterable[str] | int, scale: Sequence[float]) -> Self:
        """Return the recipe of numbers that are multiplied by a scale, one per column.

        Examples
        --------
        >>> Recipe.scaled(2, [10.0, 0.5]).apply(np.array([[1.0, 4.0]]))
        array([[10.,  2.]])
        """
        plain = cls.plain(columns)
        factors = tuple(float(value) for value in scale)
        if len(factors) != len(plain.columns) or not all(map(math.isfinite, factors)):
            raise TableError(f"scale must have a finite number a column, {len(plain.columns)}, got {listed(factors)}.")
        return cls(plain.columns, plain.named, plain.sources, (("multiply", (factors,)),))

    @classmethod
    def of_features(
        cls,
        columns: Sequence[str],
        features: Iterable[Feature],
        categories: Iterable[Categories] = (),
        named: bool = True,
        dates: Iterable[Dates] = (),
    ) -> Self:
        """Return the recipe of features that are a source and steps each: ("subtract", 2.0), ("clip", 0.0, 1.0)."""
        made = list(features)
        sources, own = zip(*made) if made else ((), ())
        return cls(tuple(columns), named, sources, align_steps(own), tuple(categories), tuple(dates))

    @property
    def features(self) -> tuple[Feature, ...]:
        """The source of each feature and its own steps, as `of_features` takes them."""
        own: list[list[Step]] = [[] for _ in self.sources]
        for op, arguments in self.steps:
            for i, numbers in enumerate(zip(*arguments)):
                if None not in numbers:
                    own[i].append((op, *(float(number) for number in numbers)))
        return tuple((source, tuple(steps)) for source, steps in zip(self.sources, own))

    def then(self, other: Recipe) -> Self:
        """Return the recipe that does what this one does, and to its features what another does to numbers.

        Examples
        --------
        >>> Recipe.scaled(["x"], [10.0]).then(Recipe.scaled(1, [0.5])).apply([[3.0]])
        array([[15.]])
        """
        if len(other.columns) != self.n_features or not other._of_numbers:
            got = f"one of {len(other.columns)} columns" + ("" if other._of_numbers else ", not all of numbers")
            raise TableError(f"a recipe after another must take its {self.n_features} numbers, got {got}.")
        own = self.features
        after = [(own[s.column], steps) for s, steps in other.features if isinstance(s, Number)]
        features = [(source, (*before, *steps)) for (source, before), steps in after]
        return type(self).of_features(self.columns, features, self.categories, self.named, self.dates)

    def without_unused(self) -> Self:
        """Return the recipe for tables without the columns that no feature is made of."""
        used = sorted({*self._taken.tolist(), *(c.column for c in self.categories), *(d.column for d in self.dates)})
        return self.with_columns([self.columns[j] for j in used], {column: j for j, column in enumerate(used)})

    def with_columns(self, columns: Iterable[str], place: Mapping[int, int] | Sequence[int]) -> Self:
        """Return the recipe for tables of other columns, whose column place[j] is what column j is now."""
        known = tuple(replace(some, column=place[some.column]) for some in self.categories)
        dates = tuple(replace(some, column=place[some.column]) for some in self.dates)
        sources = tuple(
            replace(s, column=place[s.column]) if isinstance(s, (Number, Truth, Missing)) else s for s in self.sources
        )
        return replace(self, columns=tuple(columns), sources=sources, categories=known, dates=dates)

    @property
    def n_features(self) -> int:
        """Columns out."""
        return len(self.sources)

    @cached_property
    def is_identity(self) -> bool:
        """Whether numbers pass as they are, in order."""
        return not self.steps and self.sources == tuple(Number(j) for j in range(len(self.columns)))

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature."""
        return tuple(self.columns[j] + self._ending(source) for j, source in zip(self._taken, self.sources))

    def _ending(self, source: Origin) -> str:
        if isinstance(source, Indicator):
            return f"_{self.categories[source.categories].values[source.index]}"
        if isinstance(source, DatePart):
            return f"_{source.part}"
        return "_missing" if isinstance(source, Missing) else ""

    @cached_property
    def kinds(self) -> tuple[ColumnKind, ...]:
        """What each raw column holds; one that is only asked whether it is missing counts as a number."""
        kinds: dict[int, ColumnKind] = {}
        for j, source in zip(self._taken.tolist(), self.sources):
            kinds[j] = max(kinds.get(j, "unused"), KINDS[type(source)], key=KIND_ORDER.index)
        return tuple(kinds.get(j, "unused") for j in range(len(self.columns)))

    def unknown_columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names that are no column of a row, in their order; none where columns only count.

        Examples
        --------
        >>> Recipe.plain(["x", "y"]).unknown_columns(["x", "Y", "z"])
        ('Y', 'z')
        """
        return tuple(name for name in names if self.named and name not in self.columns)

    def apply(self, rows: Any, *, copy: bool = True) -> Floats:
        """Return the features of rows, float64 (n, n_features).

        Parameters
        ----------
        rows : data frame, dict of columns, list of dicts or of lists, or array (n, n_columns) of numbers or objects
            Tables with names have their columns found by name, in any order; columns that are not needed are passed
            over, as scikit-learn's ColumnTransformer does. Arrays and lists are taken in order. float32 is computed as
            float64. A table of numbers that nothing is done to may be returned as it is, without a copy.
        copy : bool, default=True
            Whether an array of float64 stays as it is; False lets the features take its place.

        Raises
        ------
        TableError
            Naming missing columns, or the row and column of a cell that cannot be taken.
        """
        if isinstance(rows, (list, tuple)):
            rows = array_of_rows(rows, self.columns)
        if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype.kind in "fiub" and self._of_numbers:
            if rows.shape[1] != len(self.columns):
                raise TableError(f"rows must have {len(self.columns)} columns, got {rows.shape[1]}.")
            taken = rows if self._in_order else rows[:, self._taken]
            fresh = copy and self.steps and taken is rows
            out = np.array(taken, dtype=np.float64) if fresh else np.asarray(taken, dtype=np.float64)
        else:
            out = self._read(columns_of(rows, self.columns, self.named))
        return self._finish(out)

    def apply_read(self, numbers: Floats, cells: Mapping[str, NDArray[Any]]) -> Floats:
        """Return the features of the columns `numeric`, float64 (n, n_numeric), and of those `by_cell`, cells by name.

        Cells are as `apply` takes them: None for nothing, texts, truth values, dates. The features may take the place
        of `numbers`.
        """
        if self._of_numbers and self.numeric == self.columns:
            return self.apply(numbers, copy=False)
        columns = {**dict(zip(self.numeric, numbers.T)), **cells}
        nothing = np.empty(len(numbers))  # of a column that no feature needs
        return self._finish(self._read([columns.get(name, nothing) for name in self.columns]))

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """Raw columns that numbers are taken from, in order."""
        used = {source.column for source in self.sources if isinstance(source, Number)}
        return tuple(name for j, name in enumerate(self.columns) if j in used)

    @cached_property
    def by_cell(self) -> tuple[str, ...]:
        """Raw columns of other cells than numbers, in order: categories, truth values, dates, or looked at for gaps."""
        used = {j for j, s in zip(self._taken.tolist(), self.sources) if not isinstance(s, (Number, Missing))}
        used |= {some.column for some in self.categories}
        used |= {
            s.column for s in self.sources if isinstance(s, Missing) and self.columns[s.column] not in self.numeric
        }
        return tuple(name for j, name in enumerate(self.columns) if j in used)

    @cached_property
    def filled(self) -> frozenset[str]:
        """Raw columns in which cells may be missing: no feature of them is NaN in the end, and no list refuses them."""
        fills = [values for op, (values, *_) in self.steps if op == "fill"]
        has = [any(values[i] is not None for values in fills) for i in range(self.n_features)]
        needed = {
            column
            for i, (column, s) in enumerate(zip(self._taken.tolist(), self.sources))
            if not has[i]
            and not isinstance(s, (Missing, Indicator))
            and not (isinstance(s, Ordinal) and self._places(s))
        }
        needed |= {some.column for some in self.categories if some.unknown == "error" and not some.takes_nothing}
        return frozenset(self.columns[j] for j in {*self._taken.tolist()} - needed)

    def _places(self, source: Ordinal) -> bool:
        """Whether a missing cell has a number among ordinals."""
        known = self.categories[source.categories]
        if not known.as_text and known.missing is None:
            return source.missing is not None
        return known.takes_nothing or source.unknown is not None

    @cached_property
    def _of_numbers(self) -> bool:
        """Whether all features are numbers of the raw columns."""
        return not self.categories and all(isinstance(source, Number) for source in self.sources)

    @cached_property
    def _taken(self) -> NDArray[np.intp]:
        """The raw column of each feature."""
        return np.array([self.column_of(source) for source in self.sources], dtype=np.intp)

    def column_of(self, source: Origin) -> int:
        """Return the raw column that a source is made of."""
        if isinstance(source, (Indicator, Ordinal)):
            return self.categories[source.categories].column
        return self.dates[source.dates].column if isinstance(source, DatePart) else source.column

    @cached_property
    def _in_order(self) -> bool:
        return np.array_equal(self._taken, np.arange(len(self.columns)))

    @cached_property
    def _vectors(self) -> list[tuple[str, list[Floats]]]:
        """The steps with an array an argument; features that are left as they are have the neutral number."""
        made = []
        for op, arguments in self.steps:
            vectors = [np.array(values, dtype=np.float64) for values in arguments]  # NaN for None
            made.append((op, [np.where(np.isnan(v), neutral, v) for v, neutral in zip(vectors, NEUTRAL[op])]))
        return made

    def _read(self, columns: Sequence[NDArray[Any]]) -> Floats:
        """Return the sources of columns of cells."""
        out = np.zeros((len(columns[0]) if columns else 0, self.n_features))
        found = [known.index(columns[known.column], self.columns[known.column]) for known in self.categories]
        for (index, _), spread in zip(found, self._spread):
            feature = spread[index]
            rows = np.flatnonzero(feature >= 0)
            # Some at a time: the first write to a page takes long, and other threads are to get Python's lock.
            for some in np.array_split(rows, range(_ROWS_AT_ONCE, len(rows), _ROWS_AT_ONCE)):
                out[some, feature[some]] = 1.0
        days = [known.read(columns[known.column], self.columns[known.column]) for known in self.dates]
        read: dict[Origin, Floats] = {}
        for j, source in enumerate(self.sources):
            if isinstance(source, (Number, Truth, Missing)):
                if source not in read:
                    read[source] = _READERS[type(source)](columns[source.column], self.columns[source.column])
                out[:, j] = read[source]
            elif isinstance(source, DatePart):
                out[:, j] = part_of_days(source.part, days[source.dates])
            if not isinstance(source, (Indicator, Ordinal)):
                continue
            index, absent = found[source.categories]
            if isinstance(source, Ordinal):
                unknown, missing = np.array([source.unknown, source.missing], dtype=np.float64)  # NaN for None
                out[:, j] = np.where(absent, missing, np.where(index < 0, unknown, index))
            elif self._spread[source.categories][source.index] != j:  # the category has another feature already
                np.equal(index, source.index, out=out[:, j])
        return out

    @cached_property
    def _spread(self) -> list[NDArray[np.intp]]:
        """The first feature that each category makes 1, -1 for none, by list of categories; unknown ones come last."""
        spread = [np.full(len(known.values) + 1, -1, dtype=np.intp) for known in self.categories]
        for j, source in enumerate(self.sources):
            if isinstance(source, Indicator) and spread[source.categories][source.index] < 0:
                spread[source.categories][source.index] = j
        return spread

    def _finish(self, out: Floats) -> Floats:
        """Run the steps in place, and refuse what is no number in the end."""
        with np.errstate(over="ignore", invalid="ignore"):
            for op, vectors in self._vectors:
                if op == "fill":
                    np.copyto(out, vectors[0], where=np.isnan(out))
                elif op == "clip":
                    if np.isinf(out).any():
                        raise self._refused(out)
                    np.clip(out, vectors[0], vectors[1], out=out)
                else:
                    _UFUNCS[op](out, vectors[0], out=out)
            flat = out.ravel("K")
            # No square is above the sum of all: one quick pass says that all is well.
            if not flat.dot(flat) <= _LARGEST**2 and not np.abs(out).max() <= _LARGEST:
                raise self._refused(out)
        return out

    def _refused(self, out: Floats) -> TableError:
        """Say which cell gives a feature that no number is."""
        absent = np.isnan(out)
        if absent.any():
            row, j = np.argwhere(absent)[0].tolist()
            name = self.columns[self._taken[j]]
            more = f" (and {int(absent.sum()) - 1} more like it)" if absent.sum() > 1 else ""
            got = f"a missing value or NaN in row {row + 1}, column {name!r}{more}"
            remedy = "Correct the cell or remove the row, or put a SimpleImputer before the model."
            return TableError(f"every cell must hold {_HOLDS[self.kinds[self._taken[j]]]}, got {got}. {remedy}")
        far = [self.columns[j] for j in self._taken[(np.abs(out) > _LARGEST).any(axis=0)]]
        scaled = "once they are standardized " if self.steps else ""
        must = f"columns must hold numbers of at most 3.4e38 in size {scaled}to be coded"
        return TableError(f"{must}, got larger ones in {listed([*dict.fromkeys(far)])}. Correct or rescale them.")

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as JSON has it; the form is described above."""
        return {
            "columns": list(self.columns),
            "named": self.named,
            "categories": [some.to_json() for some in self.categories],
            "dates": [asdict(some) for some in self.dates],
            "sources": [source_to_json(source) for source in self.sources],
            "steps": [[op, *map(list, arguments)] for op, arguments in self.steps],
        }

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Return the recipe that `to_json` described; the content may be a stranger's.

        Raises
        ------
        TableError
            Saying what is wrong with it.
        """
        try:
            return cls(*parse_elements(content))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise TableError(f"a table recipe must be what lowtide wrote, got {error!r}.") from error

    def to_state(self) -> State:
        """Return the recipe as the part "table" of what is kept."""
        return {"table": Part(_VERSION, self.to_json())}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the recipe of a kept part "table"."""
        take_parts("a table recipe", state, {"table": _VERSION})
        return cls.from_json(state["table"].spec)
