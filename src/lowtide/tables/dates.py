"""Dates in the cells of a table: how they are read as days, and the numbers that are made of a day."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lowtide.tables.cells import TableError, is_missing, shown

Floats = NDArray[np.float64]
DateOrder = Literal["ymd", "dmy", "mdy"]
DatePartName = Literal["days", "year_sine", "year_cosine", "week_sine", "week_cosine", "day_sine", "day_cosine"]

DATE_ORDERS: tuple[DateOrder, ...] = get_args(DateOrder)
DATE_PARTS: tuple[DatePartName, ...] = get_args(DatePartName)
BLANKS = " \t\n\r\v\f"  # around a text, in every language that follows a recipe

# Days after which a part comes round again.
_PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}
_YEAR, _TWO = r"(?P<year>\d{4}|\d\d)", r"\d\d?"
_DAY = {
    "ymd": rf"{_YEAR}(?P<mark>[-/.])(?P<month>{_TWO})(?P=mark)(?P<day>{_TWO})",
    "dmy": rf"(?P<day>{_TWO})(?P<mark>[-/.])(?P<month>{_TWO})(?P=mark){_YEAR}",
    "mdy": rf"(?P<month>{_TWO})(?P<mark>[-/.])(?P<day>{_TWO})(?P=mark){_YEAR}",
}
_COMPACT = r"(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)"
_SECOND = r"(?P<{0}>\d\d)(?:\.(?P<{0}_part>\d+))?"
_CLOCK = rf"(?P<hour>{_TWO}):(?P<minute>\d\d)(?::{_SECOND.format('second')})?"
_COMPACT_CLOCK = rf"(?P<H>\d\d)(?P<M>\d\d)(?:{_SECOND.format('S')})?"
_ZONE = r"[ \t]*(?:Z|(?P<sign>[+-])(?P<zone_hour>\d\d)(?::?(?P<zone_minute>\d\d))?)"
_TIME = rf"(?:(?:T|[ \t]+)(?:{_CLOCK}|{_COMPACT_CLOCK})(?:{_ZONE})?)?"
_FORMS = {
    order: re.compile(f"(?:{day}{f'|{_COMPACT}' if order == 'ymd' else ''}){_TIME}", re.ASCII)
    for order, day in _DAY.items()
}
_EXAMPLES = {
    "ymd": "2024-03-31 or 2024-03-31T08:30",
    "dmy": "31.03.2024 or 31/03/2024 08:30",
    "mdy": "03/31/2024 08:30",
}
_MICROSECONDS = 86_400_000_000  # of a day
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Dates:
    """How the cells of a column are read as dates.

    Parameters
    ----------
    column : int
        The raw column.
    order : {"ymd", "dmy", "mdy"}
        The order of year, month and day in a text. They are separated by "-", "/" or ".", for "ymd" also compact,
        YYYYMMDD; a year of two digits is one of 1969 to 2068. A time may follow after "T" or blanks, as
        HH:MM[:SS[.ffffff]] or HHMM[SS], and after it "Z" or an offset, +HH:MM, which is subtracted.

    Notes
    -----
    What Python, numpy, pandas and pyarrow have for dates is taken whatever the order; with a time zone, as UTC. Time
    counts to the microsecond. Nothing, NaN, NaT and a text of blanks are NaN.

    Examples
    --------
    >>> Dates(0, "dmy").read(np.array(["02.01.1970", "2/1/70 12:00", None], dtype=object))
    array([1. , 1.5, nan])
    >>> Dates(0, "ymd").readable(["1970-01-02", "19700102T0630Z", "2.1.1970", "1970-13-01"]).tolist()
    [True, True, False, False]
    """

    column: int
    order: DateOrder = "ymd"

    def read(self, column: NDArray[Any], name: str | None = None) -> Floats:
        """Return the cells of a column as days since 1970-01-01, NaN for nothing.

        Parameters
        ----------
        column : ndarray (n,)
            Of datetime64, or of objects.
        name : str, optional
            The column's name, for messages.

        Raises
        ------
        TableError
            Naming the first row, from 1, with what is no date.
        """
        if column.dtype.kind == "M":
            return _days_of_datetime64(column)
        if column.dtype.kind == "f" and np.isnan(column).all():
            return column.astype(np.float64)
        known: dict[str, float | None] = {}
        out = np.empty(len(column))
        for i, cell in enumerate(column.tolist() if column.dtype.kind != "O" else column):
            if isinstance(cell, str):
                if cell not in known:
                    known[cell] = self._text(cell)
                days = known[cell]
            else:
                days = _days_of_object(cell)
            if days is None:
                which = f"column {self.column if name is None else repr(name)}"
                remedy = f"A date is written {_EXAMPLES[self.order]}."
                raise TableError(f"{which} must hold dates, {shown(cell)} in row {i + 1} is none. {remedy}")
            out[i] = days
        return out

    def readable(self, texts: Iterable[Any]) -> NDArray[np.bool_]:
        """Return which texts are dates in this order, (n,); what is no text is none, and neither is one of blanks."""
        days = (self._text(text) if isinstance(text, str) else None for text in texts)
        return np.array([value is not None and not math.isnan(value) for value in days], dtype=bool)

    def text(self, cell: Any) -> str | None:
        """Return a date of Python, numpy or pandas as a text that `read` reads as the same; None for anything else."""
        moment = _moment(cell)
        if moment is None:
            return None
        parts = {"y": f"{moment.year:04}", "m": f"{moment.month:02}", "d": f"{moment.day:02}"}
        return f"{'-'.join(parts[part] for part in self.order)}T{moment:%H:%M:%S.%f}"

    def _text(self, text: str) -> float | None:
        """Return the days of a text, NaN for one of blanks, None for one that is no date."""
        bare = text.strip(BLANKS)
        if not bare:
            return math.nan
        found = _FORMS[self.order].fullmatch(bare)
        if found is None:
            return None
        part = found.groupdict()
        year = int(part.get("y") or part["year"])
        if len(part["year"] or "") == 2:
            year += 1900 if year > 68 else 2000
        month, day = int(part.get("m") or part["month"]), int(part.get("d") or part["day"])
        hour, minute = int(part["hour"] or part["H"] or 0), int(part["minute"] or part["M"] or 0)
        second = int(part["second"] or part["S"] or 0)
        micro = int(f"{part['second_part'] or part['S_part'] or ''}000000"[:6])
        zone_hour, zone_minute = int(part["zone_hour"] or 0), int(part["zone_minute"] or 0)
        if hour > 23 or minute > 59 or second > 59 or zone_hour > 23 or zone_minute > 59:
            return None
        try:
            whole = date(year, month, day).toordinal() - _EPOCH
        except ValueError:
            return None
        ahead = (60 * zone_hour + zone_minute) * (-1 if part["sign"] == "-" else 1)
        return _days(whole, ((60 * hour + minute - ahead) * 60 + second) * 1_000_000 + micro)


def _days(whole: int, micro: int) -> float:
    """Return days and microseconds as days: one quotient and one sum in float64, in every language."""
    carry, micro = divmod(micro, _MICROSECONDS)
    return float(whole + carry) + micro / _MICROSECONDS


def _days_of_object(cell: Any) -> float | None:
    """Return the days of what Python and its libraries have for a date, NaN for nothing, None for anything else."""
    if hasattr(cell, "as_py"):  # pyarrow's
        cell = cell.as_py()
    if is_missing(cell) or (isinstance(cell, np.datetime64) and np.isnat(cell)):
        return math.nan
    moment = _moment(cell)
    if moment is None:
        return None
    passed = timedelta(hours=moment.hour, minutes=moment.minute, seconds=moment.second, microseconds=moment.microsecond)
    return _days(moment.toordinal() - _EPOCH, passed // timedelta(microseconds=1))


def _moment(cell: Any) -> datetime | None:
    """Return what Python and its libraries have for a date, in UTC where it has a time zone; None for anything else."""
    if isinstance(cell, np.datetime64):
        cell = cell.astype("datetime64[us]").item()
    if isinstance(cell, datetime):
        return cell if cell.tzinfo is None else cell.astimezone(UTC)
    return datetime(cell.year, cell.month, cell.day) if isinstance(cell, date) else None


def _days_of_datetime64(column: NDArray[Any]) -> Floats:
    micro = column.astype("datetime64[us]")
    whole, rest = np.divmod(micro.astype(np.int64), _MICROSECONDS)
    return np.where(np.isnat(micro), np.nan, whole.astype(np.float64) + rest / _MICROSECONDS)


def part_of_days(part: str, days: Floats) -> Floats:
    """Return a part of dates in days: these themselves, or the sine or cosine of where they are in a period.

    With t = days / period, a year of 365.2425 days counted from 1970-01-01, a week from that Thursday: the sine and
    cosine of 2 pi (t - floor(t)), within 1e-13.
    """
    if part == "days":
        return days
    period, _, wave = part.partition("_")
    turns = days / _PERIODS[period]
    turns = turns - np.floor(turns)
    # The nearest quarter of a turn, and the angle from there, at most an eighth.
    quarter = np.floor(4.0 * turns + 0.5)
    x = (turns - 0.25 * quarter) * (2.0 * math.pi)
    square = x * x
    sine, cosine = _polynomial(_SINE, square) * x, _polynomial(_COSINE, square)
    place = np.where(np.isnan(quarter), 0.0, quarter).astype(np.int64) + (wave == "cosine")
    value = np.where(place % 2 == 0, sine, cosine)
    return np.where(place % 4 >= 2, -value, value)


def _polynomial(coefficients: tuple[float, ...], x: Floats) -> Floats:
    """Return the polynomial with the highest coefficient first, each product and sum rounded by itself."""
    value: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return np.asarray(value)


def _series(first: int) -> tuple[float, ...]:
    """Return the coefficients of sine (from x) or cosine (from 1) in powers of x squared, the highest first."""
    return tuple((-1.0) ** k / math.factorial(2 * k + first) for k in reversed(range(8)))


# To x**15 and x**14: on an eighth of a turn the next term is below 1e-14.
_SINE, _COSINE = _series(1), _series(0)
