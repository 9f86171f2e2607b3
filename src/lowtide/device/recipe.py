"""A table's recipe as C: from the raw columns of a row to the features that are encoded, by the same arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from textwrap import indent
from typing import Any

import numpy as np

from lowtide._checks import fail
from lowtide.device.text import Part, Table, c_comment, c_number, c_string, filled, narrowed
from lowtide.tables import Categories, DatePart, Indicator, Missing, Number, Ordinal, Recipe, Truth

# How a step reads in C, on its numbers for a feature.
_STEPS = {
    "fill": "if (v != v) v = {0};",
    "subtract": "v = v - {0};",
    "divide": "v = v / {0};",
    "multiply": "v = v * {0};",
    "add": "v = v + {0};",
    # numpy's, for zeros of either sign too; what is infinite is refused, what is missing stays.
    "clip": "if (v == v && v - v != 0.0) return -1;\nif (v <= {0}) v = {0};\nif (v >= {1}) v = {1};",
}
_MOST_SHOWN = 20
_ORDERS = {"ymd": "YYYY-MM-DD", "dmy": "DD.MM.YYYY", "mdy": "MM/DD/YYYY"}
_PERIODS = {"year": "365.2425", "week": "7.0", "day": "1.0"}
# What a cell may be besides NaN: a truth value, or the days of a date that a text can be.
_TRUTH, _DAYS = "cell == 0.0 || cell == 1.0", "cell >= -719164.0 && cell <= 2932898.0"


@dataclass(frozen=True)
class RecipeSource:
    """What makes features of a row of a table, in C.

    A row holds the numbers of its columns, 1 and 0 for truth values, and NaN where one is missing. Of a column of texts
    it holds the place of the text in a list, of one of dates the days, which functions find out. A recipe that a device
    cannot follow is refused.
    """

    recipe: Recipe

    def __post_init__(self) -> None:
        for column, orders in self.dates.items():
            others = self._columns(Number, Truth, Indicator, Ordinal)
            if len(orders) > 1 or column in others:
                must = f"column {self.recipe.columns[column]!r} must hold dates of one order on a device"
                raise fail("export_c", must, "other cells too" if column in others else "several orders")
        for known in self._lists:
            name, values = self.recipe.columns[known.column], [value for value in known.values if value is not None]
            if None in known.values[:-1]:
                raise fail("export_c", f"of the categories of {name!r} a missing value must be the last", known.values)
            texts = [value for value in values if isinstance(value, str)]
            has_numbers = known.column in self._columns(Number, Truth) or not texts or len(texts) < len(values)
            if known.column in self.texts and has_numbers:
                raise fail("export_c", f"column {name!r} must hold texts or numbers on a device", "both")
            if any("\0" in text for text in texts):
                raise fail("export_c", f"categories of {name!r} must be texts of C", "one with a zero byte in it")
            if not texts and any(float(value) != value for value in values):
                raise fail("export_c", f"categories of {name!r} must be numbers of C's double", known.values)

    @property
    def refuses_unknown(self) -> bool:
        """Whether a category that is not known makes an error."""
        return any(known.unknown == "error" for known in self._lists)

    def describe(self, row: str, prefix: str) -> str:
        """Return what each column of a row is, for a comment, given the names of the row and of the functions."""
        parts = []
        for kind, group in groupby(range(len(self.recipe.columns)), lambda column: self._kind(column, prefix)):
            columns = list(group)
            if self.recipe.named:
                listed = ", ".join(f"{row}[{j}] {c_comment(self.recipe.columns[j])}" for j in columns)
            else:
                last = f" to {row}[{columns[-1]}]" if len(columns) > 1 else ""
                listed = f"{row}[{columns[0]}]{last}"
            parts.append(f"{listed}: {kind}.")
        return " ".join(parts)

    def part(self, names: dict[str, Any]) -> Part:
        """Return the tables and functions in C, for `names` that every template knows."""
        tables, steps = self._steps()
        sources, read, made = "", filled("in_order.c", **names), list[str]()
        as_held = [
            None if self._made(s) or isinstance(s, (Indicator, Ordinal)) else self.recipe.column_of(s)
            for s in self.recipe.sources
        ]
        if as_held != [*range(self.recipe.n_features)]:
            runs, styles, made = self._runs()
            check = filled("known.c", n_lists=len(self._lists)) if self.refuses_unknown else ""
            read = filled("by_runs.c", n_runs=len(runs), check=check)
            tables = [Table("runs", narrowed(runs), "What features come from, from where on, how many."), *tables]
            tables += self._list_tables()
            sources = self._sources(names, styles, made)
        texts = [text for column in self.texts.values() for text in column]
        n_pieces = len(self.recipe.steps) + (3 if sources else 0) + (1 if texts else 0)
        looking = self._looking(names)
        status = "is_held(row) ? make_features(row, x) : -1" if looking.source else "make_features(row, x)"
        return looking + Part(
            tuple(tables),
            filled("recipe.c", **names, sources=sources, steps=steps, read=read, status=status),
            code_bytes=140
            + 80 * n_pieces
            + 24 * len(made)
            + 500 * any("wave" in what for what in made)
            + sum(len(text.encode()) + 5 for text in texts),
            work_bytes=4 * self.recipe.n_features + 192,
        )

    def _looking(self, names: dict[str, Any]) -> Part:
        """Return what looks at the cells of truth values and dates, and reads texts as dates; nothing without them."""
        truths, dates = sorted(self._columns(Truth)), sorted(self.dates)
        if not truths and not dates:
            return Part((), "")
        both = f"i < {len(truths)} ? {_TRUTH} : {_DAYS}"
        test = both if truths and dates else _TRUTH if truths else _DAYS
        tables = [Table("held_columns", narrowed([*truths, *dates]), "Columns of truth values, then of dates.")]
        source = filled("held.c", **names, n_held=len(truths) + len(dates), test=test)
        if dates:
            orders = narrowed([[*_ORDERS].index(order) for column in dates for order in self.dates[column]])
            tables.append(Table("date_orders", orders, "Of each column of dates: 0 is year first, 1 day, 2 month."))
            source += filled("date.c", **names, n_dates=len(dates), n_truths=len(truths))
        return Part(tuple(tables), source, code_bytes=100 + 1150 * bool(dates), work_bytes=16 + 120 * bool(dates))

    @cached_property
    def dates(self) -> dict[int, set[str]]:
        """The orders in which the dates of each column that holds some are read: one, or a device cannot."""
        known = [self.recipe.dates[source.dates] for source in self.recipe.sources if isinstance(source, DatePart)]
        return {some.column: {other.order for other in known if other.column == some.column} for some in known}

    def _columns(self, *kinds: type) -> set[int]:
        """Return the columns that features of some kinds are made of."""
        return {self.recipe.column_of(source) for source in self.recipe.sources if isinstance(source, kinds)}

    @cached_property
    def _lists(self) -> list[Categories]:
        """The categories that features come from."""
        return [self.recipe.categories[k] for k in self._which]

    @cached_property
    def _which(self) -> list[int]:
        return sorted({source.categories for source in self.recipe.sources if isinstance(source, (Indicator, Ordinal))})

    @cached_property
    def texts(self) -> dict[int, list[str]]:
        """The texts of each column that holds some: a row has their places."""
        found: dict[int, dict[str, None]] = {}
        for known in sorted(self._lists, key=lambda known: known.column):
            texts = [value for value in known.values if isinstance(value, str)]
            if texts:
                found.setdefault(known.column, {}).update(dict.fromkeys(texts))
        for column in self._columns(Missing) & found.keys():
            found[column][""] = None  # is nothing
        return {column: list(texts) for column, texts in found.items()}

    def _kind(self, column: int, prefix: str) -> str:
        """Return what a column holds, in words."""
        gone = " or NaN" if self.recipe.columns[column] in self.recipe.filled else ""
        if column in self.dates:
            (order,) = self.dates[column]
            return f"{prefix}_date({column}, text), text a date as {_ORDERS[order]}{gone and ';' + gone}"
        if column in self._columns(Truth):
            return f"1 for true, 0 for false{gone}"
        if column in self.texts:
            listed = _shown([c_comment(text) for text in self.texts[column] if text])
            return f"{prefix}_category({column}, text), text one of {listed}{gone and ';' + gone}"
        lists = [known for known in self._lists if known.column == column]
        if lists:
            return f"one of {_shown([f'{float(v):g}' for c in lists for v in c.values if v is not None])}{gone}"
        if column in self._columns(Number):
            return f"a number{gone}"
        return "any number, or NaN where it is missing" if column in self._columns(Missing) else "not read"

    def _steps(self) -> tuple[list[Table], str]:
        """Return the numbers of the operations, and their lines."""
        tables: list[Table] = []
        lines = ""
        for number, (op, arguments) in enumerate(self.recipe.steps):
            given = [j for j, value in enumerate(arguments[0]) if value is not None]
            if not given:
                continue
            first, end = given[0], given[-1] + 1
            words = []
            for name, values in zip((f"{op}_{number}", f"{op}_{number}_high"), arguments):
                own = narrowed([values[j] for j in given])
                if len(set(own.tolist())) == 1:
                    words.append(c_number(np.float64(own[0])))
                    continue
                # A feature between two others that the step leaves alone has a place, and its number is not read.
                own = narrowed([0.0 if values[j] is None else values[j] for j in range(first, end)])
                tables.append(Table(name, own, f"Numbers of step {number + 1}: {op}."))
                words.append(f"(double){name}[j{f' - {first}' if first else ''}]")
            guards = [f"j >= {first}"] * (first > 0) + [f"j < {end}"] * (end < self.recipe.n_features)
            if len(given) < end - first:
                mask = np.packbits(np.isin(np.arange(end), given), bitorder="little")
                tables.append(Table(f"has_{number}", mask, f"Features that step {number + 1} is for."))
                guards = [f"j < {end}", f"((has_{number}[j >> 3] >> (j & 7)) & 1)"]
            line = indent(_STEPS[op].format(*words), "        " if guards else "    ")
            lines += f"    if ({' && '.join(guards)}) {{\n{line}\n    }}\n" if guards else f"{line}\n"
        return tables, lines

    def _runs(self) -> tuple[list[list[int]], list[str], list[str]]:
        """Return features that follow one another, (what they come from, from where on, how many), and what that is.

        0 is a column; 1 and more the indicators of a list, from a category on; beyond are styles of ordinals, from a
        list on, and then what is made of a column.
        """
        runs: list[list[int]] = []
        styles = [*dict.fromkeys(self._style(s) for s in self.recipe.sources if isinstance(s, Ordinal))]
        made = [*dict.fromkeys(self._made(s) for s in self.recipe.sources if self._made(s))]
        for source in self.recipe.sources:
            if isinstance(source, Indicator):
                origin, at = 1 + self._which.index(source.categories), source.index
            elif isinstance(source, Ordinal):
                origin = 1 + len(self._which) + styles.index(self._style(source))
                at = self._which.index(source.categories)
            else:
                what, at = self._made(source), self.recipe.column_of(source)
                origin = 1 + len(self._which) + len(styles) + made.index(what) if what else 0
            if runs and runs[-1][0] == origin and at == runs[-1][1] + runs[-1][2]:
                runs[-1][2] += 1
            else:
                runs.append([origin, at, 1])
        return runs, styles, made

    def _style(self, source: Ordinal) -> str:
        """Return the number of a place in C."""
        known = self.recipe.categories[source.categories]
        other = "(cell - cell) / (cell - cell)" if source.unknown is None else c_number(np.float64(source.unknown))
        gone = "cell" if source.missing is None else c_number(np.float64(source.missing))
        # Whether a cell may still hold nothing when it is compared.
        may_be_missing = not known.as_text and known.missing is None
        return (f"cell != cell ? {gone} : " if may_be_missing else "") + f"at < 0 ? {other} : (double)at"

    def _made(self, source: Any) -> str:
        """Return what is made of the cell of a row, in C; nothing where a feature is the cell itself, or a category."""
        if isinstance(source, Missing):
            texts = self.texts.get(source.column, [])
            return "cell != cell" + (f" || cell == {texts.index('')}.0" if texts else "")
        if isinstance(source, DatePart) and source.part != "days":
            period, _, wave = source.part.partition("_")
            return f"wave(cell, {_PERIODS[period]}, {int(wave == 'cosine')})"
        return ""

    def _list_tables(self) -> list[Table]:
        """Return the lists of categories, as the numbers that rows hold."""
        if not self._lists:
            return []
        values = [
            [self.texts[c.column].index(v) if isinstance(v, str) else float(v) for v in c.values if v is not None]
            for c in self._lists
        ]
        missing = [_missing_place(known) for known in self._lists]
        tables = [
            Table("category_columns", narrowed([c.column for c in self._lists]), "The column of each list."),
            Table(
                "category_starts",
                narrowed(np.cumsum([0, *map(len, values)])),
                "Where each list starts, and where the last ends.",
            ),
            Table("category_values", narrowed([*chain(*values), 0.0]), "Categories, as rows hold them."),
            Table("category_missing", narrowed(missing), "What is missing is, from 1; 0 for none."),
        ]
        if self.refuses_unknown:
            strict = narrowed([c.unknown == "error" for c in self._lists])
            tables.append(Table("category_strict", strict, "Whether all others are refused."))
        if self.texts:
            tables.append(Table("text_columns", narrowed(list(self.texts)), "Columns of texts."))
            starts = narrowed(np.cumsum([0, *map(len, self.texts.values())]))
            tables.append(Table("text_starts", starts, "Where the texts of each start."))
        return tables

    def _sources(self, names: dict[str, Any], styles: list[str], made: list[str]) -> str:
        """Return the functions that read a row."""
        n_lists, text = len(self._lists), ""
        lines = ["    if (from == 0) return (double)row[i];"]
        if styles or self.refuses_unknown:
            text += filled("place.c", **names)
        if any(isinstance(source, Indicator) for source in self.recipe.sources):
            text += filled("indicator.c", **names)
            cell = "(double)row[category_columns[from - 1]]"
            lines.append(f"    if (from <= {n_lists}) return indicator({cell}, from - 1, i);")
        if styles:
            cases = [f"    case {i}: return {style};" for i, style in enumerate(styles)]
            text += filled("ordinal.c", **names, styles="\n".join(cases).replace(f"case {len(cases) - 1}:", "default:"))
            cell = "(double)row[category_columns[i]]"
            lines.append(f"    if (from <= {n_lists + len(styles)}) return ordinal({cell}, from - {n_lists + 1}, i);")
        if made:
            cases = [f"    case {i}: return {what};" for i, what in enumerate(made)]
            text += filled("wave.c") if any("wave" in what for what in made) else ""
            text += filled("made.c", **names, made="\n".join(cases).replace(f"case {len(cases) - 1}:", "default:"))
            lines.append(f"    return made((double)row[i], from - {n_lists + len(styles) + 1});")
        # The last is all that is left.
        lines[-1] = "    return" + lines[-1].partition("return")[2]
        if self.texts:
            texts = [c_string(text) for column in self.texts.values() for text in column]
            listed = ",\n    ".join(texts)
            text += filled("category.c", **names, n_columns=len(self.texts), n_texts=len(texts), texts=listed)
        return text + filled("one_source.c", **names, body="\n".join(["    (void)from;"] * (len(lines) == 1) + lines))


def _missing_place(known: Categories) -> int:
    """Return the place of what a missing cell counts as, from 1 on; 0 for none."""
    value = "" if known.as_text else known.missing
    return known.values.index(value) + 1 if value in known.values else 0


def _shown(texts: Sequence[str]) -> str:
    """Return the first of many."""
    more = f" and {len(texts) - _MOST_SHOWN} more" if len(texts) > _MOST_SHOWN else ""
    return ", ".join(texts[:_MOST_SHOWN]) + more
