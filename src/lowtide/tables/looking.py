"""What a column of a table is taken as, by a look at its cells block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.tables.cells import ChoiceError, TableError, is_nothing, number_of, numbers_in, present, shown, text_of
from lowtide.tables.columns import Choice, Wish, date_order, is_truth
from lowtide.tables.dates import Dates
from lowtide.tables.reading import Block

Floats = NDArray[np.float64]
Array = NDArray[Any]
TakenAs = Literal["number", "truth", "category", "date", "left out"]

# Categories that are kept of a column, the most frequent ones; more where somebody asks for them.
MOST_CATEGORIES, _MOST_ASKED_FOR = 64, 1000
# Of more values than are kept, one that is kept comes so often, and so much of the column is kept.
_LEAST_COUNT, _LEAST_SHARE = 3, 0.5
# In fewer rows nothing is told to be an identifier.
_FEWEST_ROWS = 20
# A column called so counts rows when so many of its values differ.
_IDS, _MOSTLY_DIFFERENT = ("id", "ids", "uuid", "guid", "index", "key"), 0.9
# A column of numbers, but for some cells that are wrong.
_MOSTLY_NUMBERS = 0.9


@dataclass(frozen=True)
class Finding:
    """What a column of a table holds, and what it is taken as.

    Attributes
    ----------
    name : str
    taken_as : {"number", "truth", "category", "date", "left out"}
    missing : int
        Rows without a value.
    why : str
        What it is left out for, or taken as something for that is not plain to see; with what does otherwise.
    order : str or None
        Of year, month and day in dates.
    asked : bool
        Whether somebody asked for it.
    only_whether : bool
        Whether it only counts if there is a value, of a category.
    """

    name: str
    taken_as: TakenAs
    missing: int
    why: str = ""
    order: str | None = None
    asked: bool = False
    only_whether: bool = False


class Look:
    """What the cells of one column are, counted over all rows."""

    def __init__(self, name: str, choice: Choice) -> None:
        self.name, self._choice, self._file = name, choice, ""
        self._wish: Wish | None = choice.wishes.get(name)
        self.n_rows = self.n_missing = self._n_numbers = self._n_truths = self._n_dates = self._n_texts = 0
        self._low, self._high, self._is_whole, self._has_zeros = np.inf, -np.inf, True, False
        self._rises = self._falls = True
        self._last: float | None = None
        self._orders = list(date_order(self._wish))
        # Where the first cell is that is no number, no truth value and, of each order, no date.
        self._first: dict[str, tuple[str, str]] = {}

    def add(self, block: Block, column: Array) -> None:
        """Look at the cells of some more rows."""
        self._file, self.n_rows = block.file, self.n_rows + len(column)
        if column.dtype.kind == "b":
            self._n_truths += len(column)
            self._range(column.astype(np.float64))
        elif column.dtype.kind == "M":
            there = ~np.isnat(column)
            self.n_missing += int((~there).sum())
            self._n_dates += int(there.sum())
            self._range(column[there].astype("datetime64[us]").astype(np.float64))
            self._note(block, np.flatnonzero(there), column, ("number", "truth"))
        elif column.dtype.kind in "iuf":
            self._add_numbers(block, column, column.astype(np.float64))
        else:
            self._add_cells(block, column)

    def _add_numbers(self, block: Block, cells: Array, values: Floats) -> None:
        there = ~np.isnan(values)
        self.n_missing += int((~there).sum())
        values = values[there]
        self._n_numbers += len(values)
        if not np.isfinite(values).all():
            place = np.flatnonzero(there)[~np.isfinite(values)]
            self._note(block, place, cells, ("finite",))
        if len(values):
            ahead = values if self._last is None else np.append(self._last, values)
            change = np.diff(ahead)
            self._rises, self._falls = (
                self._rises and bool((change > 0).all()),
                self._falls and bool((change < 0).all()),
            )
            self._is_whole = self._is_whole and bool((values == np.rint(values)).all())
            self._last = float(values[-1])
            if "truth" not in self._first:
                self._note(block, np.flatnonzero(there)[~np.isin(values, (0, 1))], cells, ("truth",))
        self._range(values)

    def _range(self, values: Floats) -> None:
        self._low, self._high = min(self._low, values.min(initial=np.inf)), max(self._high, values.max(initial=-np.inf))

    def _add_cells(self, block: Block, column: Array) -> None:
        """Look at cells that may be texts; numbers among them are the usual case, and quick."""
        cells = column.tolist()
        are_bools = bool in {*map(type, cells)}
        values = None if are_bools or self._wants_dates else numbers_in(column)
        if values is not None:
            self._add_numbers(block, column, values)
            if self._is_whole and not self._has_zeros:
                self._has_zeros = any(_has_leading_zero(cell) for cell in cells)
            return
        try:
            counts = Counter(cells)
        except TypeError as error:
            must = f"column {self.name!r} must hold texts, numbers, truth values or dates"
            raise TableError(f"{block.file}: {must}, got {error}. Leave it out or flatten it.") from error
        kinds = {cell: self._kind(cell) for cell in counts}
        for cell, count in counts.items():
            match kinds[cell]:
                case "nothing":
                    self.n_missing += count
                case "number":
                    self._n_numbers += count
                    self._has_zeros = self._has_zeros or _has_leading_zero(cell)
                case "truth":
                    self._n_truths += count
                case "date":
                    self._n_dates += count
                case _:
                    self._n_texts += count
        self._rises = self._falls = False
        self._low, self._high = -np.inf, np.inf  # more than one value, until the sample says otherwise
        strange = {
            "number": [cell for cell, kind in kinds.items() if kind not in ("number", "nothing")],
            "truth": [cell for cell, kind in kinds.items() if kind != "nothing" and not is_truth(cell)],
        }
        texts = [cell for cell, kind in kinds.items() if isinstance(cell, str) and kind != "nothing"]
        undated = [cell for cell, kind in kinds.items() if kind in ("number", "truth") and not isinstance(cell, str)]
        for order in self._orders:
            readable = Dates(0, order).readable(texts)  # type: ignore[arg-type]
            strange[order] = undated + [text for text, holds in zip(texts, readable) if not holds]
        for name, bad in strange.items():
            if bad and name not in self._first:
                among = frozenset(bad)
                self._note(block, [next(i for i, cell in enumerate(cells) if cell in among)], column, (name,))
        self._orders = [order for order in self._orders if not strange[order]] if self._wish is None else self._orders

    @property
    def _wants_dates(self) -> bool:
        return self._wish in ("date", "ymd", "dmy", "mdy")

    def _kind(self, cell: object) -> str:
        if is_nothing(cell):
            return "nothing"
        if isinstance(cell, (bool, np.bool_)):
            return "truth"
        if isinstance(cell, (Real, Decimal)):
            return "number"
        if isinstance(cell, (date, np.datetime64)):
            return "date"
        if isinstance(cell, str):
            return "number" if number_of(cell) is not None else "truth" if is_truth(cell) else "text"
        return "text"

    def _note(self, block: Block, places: Any, cells: Array, kinds: Sequence[str]) -> None:
        for kind in kinds if len(places) else ():
            self._first.setdefault(kind, (block.where(int(places[0])), shown(cells[places[0]])))

    @property
    def plain_kind(self) -> TakenAs | None:
        """What a column is that is taken though it tells little: a number or a truth value."""
        n = self.n_rows - self.n_missing
        if n == 0 or self._wish == "drop":
            return None
        return "number" if self._n_numbers == n else "truth" if self._n_truths == n else None

    def finding(self, n_rows: int, sampled: Array) -> Finding:
        """Return what the column is taken as, by all rows and by the values of the sampled ones."""
        n = n_rows - self.n_missing
        if self._wish is not None:
            return self._asked(n)
        if n == 0:
            return self._left_out("empty", "category")
        if self._n_numbers == n:
            return self._of_numbers(sampled)
        if self._n_dates == n or (self._orders and self._n_numbers + self._n_dates + self._n_truths < n):
            return self._of_dates(n)
        counts = _counts(sampled)
        if len(counts) == 1 and len(sampled) == n_rows:
            return self._constant(next(iter(counts)))
        if self._n_truths == n:
            return Finding(self.name, "truth", self.n_missing)
        if self._n_numbers >= _MOSTLY_NUMBERS * n:
            return self._of_mostly_numbers(n, counts)
        return self._of_texts(counts)

    def _of_mostly_numbers(self, n: int, counts: Counter[str]) -> Finding:
        """Refuse a text among many different numbers; among few values, as in 1, 2, '3 or more', say where it is."""
        place, cell = self._first["number"]
        if len(counts) > MOST_CATEGORIES:
            ways = f"{self._choice.typed(self.name, 'drop')} or {self._choice.typed(self.name, 'category')}"
            raise TableError(
                f"{self._file}: column {self.name!r} must hold numbers, as it does in most rows, got {cell} in {place}"
                f"{self._more(n - self._n_numbers)}. Correct the cell or leave it empty, or add {ways}."
            )
        found = self._of_texts(counts)
        return replace(found, why=found.why or f"numbers, but {cell} in {place}: correct it if that is a mistake")

    def _more(self, n: int) -> str:
        return f" (and {n - 1:,} more like it)" if n > 1 else ""

    def _left_out(self, why: str, instead: Wish) -> Finding:
        """Leave a column out; where values are missing often enough to tell something, whether there is one stays."""
        if matters(self.n_missing, self.n_rows) and self.n_missing < self.n_rows:
            says = f"{why}: only whether there is one"
            flag = self._choice.typed(self.name, "drop")
            return Finding(
                self.name, "category", self.n_missing, f"{says} ({flag} to leave that out too)", only_whether=True
            )
        flag = self._choice.typed(self.name, instead)
        return Finding(self.name, "left out", self.n_missing, f"{why} ({flag} to take it)")

    def _constant(self, value: object) -> Finding:
        return self._left_out(f"always {shown(value)}", "category")

    def _of_numbers(self, sampled: Array) -> Finding:
        if "finite" in self._first:
            place, cell = self._first["finite"]
            raise TableError(
                f"{self._file}: every cell must hold a finite number, got {cell} in {place}, column {self.name!r}. "
                f"Correct the cell or leave it empty, or leave the column out: {self._choice.typed(self.name, 'drop')}."
            )
        if self._low == self._high and not self._has_zeros:
            return self._constant(text_of(float(self._low)))
        if self._has_zeros:  # 02134 is a code
            found = self._of_texts(_counts(sampled))
            why = found.why or f"written with leading zeros ({self._choice.typed(self.name, 'number')} for numbers)"
            return replace(found, why=why)
        values = numbers_in(sampled)
        assert values is not None
        values = values[~np.isnan(values)]
        if self._is_whole and len(values) >= _FEWEST_ROWS:
            share = len(np.unique(values)) / len(values)
            if self._rises or self._falls:
                return self._left_out("all different and in order, as identifiers are", "number")
            if share >= _MOSTLY_DIFFERENT and _is_called_id(self.name):
                return self._left_out(f"called so and {share:.0%} different, as identifiers are", "number")
        return Finding(self.name, "number", self.n_missing)

    def _of_dates(self, n: int) -> Finding:
        if self._n_dates == n:
            return Finding(self.name, "date", self.n_missing, order="ymd")
        both = {"dmy", "mdy"} <= set(self._orders)
        why = f"read as day/month ({self._choice.typed(self.name, 'mdy')} for month/day)" if both else ""
        return Finding(self.name, "date", self.n_missing, why, self._orders[0])

    def _of_texts(self, counts: Counter[str]) -> Finding:
        n = counts.total()
        if len(counts) <= MOST_CATEGORIES and (n < _FEWEST_ROWS or 2 * len(counts) <= n):
            return Finding(self.name, "category", self.n_missing)
        kept = kept_categories(counts, asked=False)
        share = sum(counts[text] for text in kept) / n
        if n < _FEWEST_ROWS or (2 * len(counts) <= n and share >= _LEAST_SHARE):
            why = f"{len(kept)} most frequent of {len(counts):,} ({self._choice.typed(self.name, 'category')} for more)"
            return Finding(self.name, "category", self.n_missing, why)
        return self._left_out(f"text of {len(counts):,} different values in {n:,} rows", "category")

    def _asked(self, n: int) -> Finding:
        """Return what somebody asked for, where the cells allow it."""
        wish, found = self._wish, Finding(self.name, "number", self.n_missing, asked=True)
        if wish == "category":
            return replace(found, taken_as="category")
        if n == 0:
            raise ChoiceError("column", f"must name a column with values to be taken as {wish!r}, got {self.name!r}.")
        if wish == "number" and "number" not in self._first:
            return self._of_numbers(np.empty(0)) if "finite" in self._first else found
        if wish == "truth" and "truth" not in self._first:
            return replace(found, taken_as="truth")
        if self._wants_dates and (self._n_dates == n or (left := [o for o in self._orders if o not in self._first])):
            return replace(found, taken_as="date", order="ymd" if self._n_dates == n else left[0])
        kind = self._orders[0] if self._wants_dates else str(wish)
        place, cell = self._first.get(kind, ("all rows", "numbers"))
        must = f"column {self.name!r} cannot be taken as {wish!r}"
        raise TableError(f"{self._file}: {must}: got {cell} in {place}. Correct the cell, or take it otherwise.")


def matters(n_missing: int, n_rows: int) -> bool:
    """Whether so many rows without a value can tell something: 5 at least, and one of a hundred."""
    return n_missing >= max(5, 0.01 * n_rows)


def kept_categories(counts: Mapping[str, int], *, asked: bool) -> list[str]:
    """Return the texts that become categories: all of a few, or else the most frequent ones that come often enough."""
    most = _MOST_ASKED_FOR if asked else MOST_CATEGORIES
    if len(counts) <= most:
        return sorted(counts)
    often = sorted((text for text in counts if counts[text] >= _LEAST_COUNT), key=lambda text: (-counts[text], text))
    return sorted(often[:most])


def _counts(column: Array) -> Counter[str]:
    """Return how often each value comes, as text; nothing does not count."""
    return Counter(text_of(cell) for cell in present(column).tolist() if text_of(cell))


def _has_leading_zero(cell: object) -> bool:
    return isinstance(cell, str) and cell[:1] == "0" and cell[1:2].isdigit()


def _is_called_id(name: str) -> bool:
    """Whether a name ends in a word for identifiers: "id", "user_id", "PassengerId", "PID"."""
    spaced = "".join(f" {c}" if c.isupper() and not name[i - 1 : i].isupper() else c for i, c in enumerate(name))
    last = spaced.replace("_", " ").replace("-", " ").replace(".", " ").lower().split()[-1:]
    return bool(last) and (last[0] in _IDS or (name.endswith("ID") and len(name) <= 4))
