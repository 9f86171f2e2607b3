"""Read what options take: words, numbers, limits, kinds of columns and encodings of texts."""

from __future__ import annotations

import math
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

import lowtide
from lowtide.errors import LowtideError

_LEAST_BYTES = 8  # a code is stored in words of as many

if TYPE_CHECKING:
    _Value = click.ParamType[Any]
    _Choice = click.Choice[str]
else:  # they became generic in a later version than the oldest one that will do
    _Value = click.ParamType
    _Choice = click.Choice


class WordOrNumber(_Value):
    """Accept one of some words, "none" for None, or a number above 0; whole and within a range where one is given."""

    name = "word or number"

    def __init__(self, *words: str, whole: tuple[int, int] | None = None) -> None:
        self._words, self._kind = words, int if whole else float
        self._range: tuple[float, float] = whole or (math.ulp(0.0), sys.float_info.max)
        self._wanted = f"a whole number from {whole[0]} to {whole[1]}" if whole else "a number above 0"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return what help shows for a value."""
        return f"[{'|'.join((*self._words, 'NUMBER'))}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word or the number of a text."""
        if not isinstance(value, str):
            return value
        if value.lower() in self._words:
            return None if value.lower() == "none" else value.lower()
        try:
            number: float = self._kind(value)
        except ValueError:
            number = math.nan
        if not self._range[0] <= number <= self._range[1]:
            words = " or ".join(repr(word) for word in self._words)
            self.fail(f"must be {self._wanted}, or {words}, got {value!r}.", param, ctx)
        return number


class Existing(click.Path):
    """Accept the path of a file that is there, or of a store; for one that is not, name those that are almost it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        wanted, said = Path(value), repr(str(value))
        if self.exists and not wanted.exists():
            if not wanted.parent.is_dir():
                place = f"There is no folder {str(wanted.parent)!r}: look at its name, or give the whole path"
                self.fail(f"{said} does not exist. {place}.", param, ctx)
            near = get_close_matches(wanted.name, sorted(path.name for path in wanted.parent.iterdir()), n=2)
            names = " or ".join(repr(str(wanted.with_name(name))) for name in near)
            where = f"Nothing in {str(wanted.parent.resolve())!r} has such a name"
            remedy = f"Did you mean {names}?" if near else f"{where}: look at it, or give the whole path."
            self.fail(f"{said} does not exist. {remedy}", param, ctx)
        if self.dir_okay and wanted.is_dir() and not (wanted / "lowtide").is_dir():
            problem = f"must be a file, or a store of codes, got {said}, a folder without one"
            self.fail(f"{problem}. Name a file in it.", param, ctx)
        return super().convert(value, param, ctx)


class OneOf(_Choice):
    """Accept one of some words, "none" for None."""

    def __init__(self, *words: str) -> None:
        super().__init__(words)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word of a text."""
        word = super().convert(value, param, ctx)
        return None if word == "none" else word


class Share(_Value):
    """Accept a share of the rows, 0.2 say: a number from 0 to less than 1."""

    name = "share"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return what help shows for a value."""
        return "SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of a text."""
        try:
            share = float(value)
        except ValueError:
            share = math.nan
        if not 0.0 <= share < 1.0:
            self.fail(f"must be a number from 0 to less than 1, got {value!r}. For a fifth write 0.2.", param, ctx)
        return share


class Limit(_Value):
    """Accept a part of a budget: 64B an item, model:100kB, or 2s of a fit; it becomes a name and a number."""

    name = "limit"
    _FORM = re.compile(r"(?:(item|model):)?(\d+(?:\.\d+)?)(B|kB|MB|GB|s)")
    _UNITS: ClassVar[dict[str, int]] = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return what help shows for a value."""
        return "[64B|model:100kB|2s]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name and the number of a text."""
        if not isinstance(value, str):
            return value
        found = self._FORM.fullmatch(value)
        of, number, unit = found.groups() if found else (None, "0", "")
        size = float(number) * self._UNITS.get(unit, 1)
        is_time = unit == "s" and of is None
        if not is_time and (unit not in self._UNITS or not size.is_integer() or size < _LEAST_BYTES):
            need = (
                f"must be bytes an item, {_LEAST_BYTES} or more, as in 64B, those of the model, as in model:100kB, or"
            )
            self.fail(f"{need} seconds, as in 2s, got {value!r}.", param, ctx)
        if is_time and size == 0.0:
            self.fail(f"must be more than 0 seconds, got {value!r}.", param, ctx)
        return ("seconds", size) if is_time else (of or "item", int(size))


class ColumnAs(_Value):
    """Accept what a column is to be taken as, age=number say; it becomes a pair."""

    name = "column"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return what help shows for a value."""
        return "NAME=KIND"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name and the kind of a text."""
        if not isinstance(value, str):
            return value
        name, equals, kind = value.rpartition("=")
        if not equals or not name or kind not in lowtide.tables.WISHES:
            kinds = "|".join(lowtide.tables.WISHES)
            self.fail(f"must be a column's name, = and one of {kinds}, got {value!r}.", param, ctx)
        return name, kind


class Encoding(_Value):
    """Accept the name of an encoding of texts."""

    name = "encoding"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name as Python has it."""
        try:
            return lowtide.tables.check_encoding(value)
        except LowtideError as error:
            self.fail(str(error), param, ctx)
