"""Read rows of JSON text that a stranger sent, and write numbers as JSON, in the compiled core.

Python's own parser holds the interpreter's lock until it is done: 15 MB of brackets stop every other thread for
seconds. The core reads without the lock, makes no objects but those of the rows, and stops at the first fault.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowtide import _core
from lowtide._checks import check_option, fail
from lowtide.errors import WireFormatError
from lowtide.tables import lacking
from lowtide.wire.messages import Buffer

JsonColumn = Literal["numbers", "nullable", "categories", "unused"]
_COLUMNS: tuple[JsonColumn, ...] = ("numbers", "nullable", "categories", "unused")  # by the number the core knows
_LARGEST = float(np.finfo(np.float32).max)
_TAKEN = {
    "numbers": "a number",
    "nullable": "a number, true, false or null",
    "categories": "a text, a number, true, false or null",
}
_MOST_NAMED, _MOST_LETTERS = 1 << 16, 60  # bytes of a row whose names are said, and of each name


class JsonRowsError(WireFormatError):
    """A text is not JSON, or not the rows that are wanted.

    `fault` is "syntax" or "depth" for what is no JSON that can be read, "most_rows" for too many rows, and another word
    for rows that do not fit.
    """

    def __init__(self, fault: str, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class JsonRows(NamedTuple):
    """Rows that were read: all columns as float64, and the cells of those with categories as objects.

    `numbers` is (n, columns), NaN where a cell holds no number; `cells` has an array (n,) of texts, numbers, truth
    values and None for each column of categories, by its place.
    """

    numbers: NDArray[np.float64]
    cells: dict[int, NDArray[Any]]


class JsonReader:
    """Reads rows of one form from JSON: `[[1, 2], ...]` or `{"rows": [...]}`, a row a list or an object by name.

    Parameters
    ----------
    columns : sequence of {"numbers", "nullable", "categories", "unused"}
        What the cells of each column may be: numbers alone; also null, which is NaN, and truth values, which are 1 and
        0; also texts, such as categories and dates are; or anything, which is then passed over.
    names : sequence of str, optional
        Of the columns. Without them rows must be lists; with them a row may be an object, whose other members are
        passed over.
    largest : float, default=3.4e38
        Size beyond which numbers are refused; what float64 cannot hold always is.

    Notes
    -----
    Numbers are correctly rounded, as Python's are. NaN and Infinity are no JSON. A number may have 1,100 characters, a
    text of a category 65,536 bytes, and members that are passed over may be nested 32 deep. Without the interpreter's
    lock for more than 64 kB; some 200 MB of text a second, at most 8 bytes of memory a cell, and 12 more and its text
    for one of categories.

    Examples
    --------
    >>> reader = JsonReader(["numbers", "categories"], ["size", "city"])
    >>> reader.read(b'[[1.5, "Bern"], {"city": "Oslo", "size": 2}]', most_rows=10).numbers[:, 0]
    array([1.5, 2. ])
    >>> reader.read(b'[[1.5, "Bern"], [true, "Oslo"]]', most_rows=10)
    Traceback (most recent call last):
    ...
    lowtide.wire.json_rows.JsonRowsError: each cell of column 'size' must be a number, got another in row 2 ...
    """

    def __init__(self, columns: Sequence[JsonColumn], names: Sequence[str] = (), largest: float = _LARGEST) -> None:
        if not columns or len(names) not in (0, len(columns)):
            must = "columns must not be empty, and names as many or none"
            raise fail("JsonReader", must, f"{len(columns)} and {len(names)}")
        for column in columns:
            check_option("JsonReader", "columns", column, _COLUMNS)
        self._columns, self._names, self._largest = tuple(columns), tuple(names), float(largest)
        self._form = _core.JsonForm([_COLUMNS.index(column) for column in columns], list(names), self._largest)
        self._categories = [place for place, column in enumerate(columns) if column == "categories"]

    def bytes_needed(self, n_bytes: int, most_rows: int) -> int:
        """Return the most memory that rows of so many bytes of text take, with the objects of their cells.

        Parameters
        ----------
        n_bytes, most_rows : int

        Examples
        --------
        >>> JsonReader(["numbers"] * 8).bytes_needed(170, most_rows=65536)
        704
        """
        n_columns, n_objects = len(self._columns), len(self._categories)
        n_rows = min(most_rows, n_bytes // (2 * n_columns + 1) + 1)
        # An object array's entry and a float, or the head of a text; then the text, in the core and in Python.
        return n_rows * (8 * n_columns + (12 + 64) * n_objects) + (2 * n_bytes if n_objects else 0)

    def read(self, body: Buffer, most_rows: int) -> JsonRows:
        """Return the rows of a text, which may be anything.

        Parameters
        ----------
        body : bytes-like
        most_rows : int

        Raises
        ------
        JsonRowsError
            Also a ValueError: what must hold, and where in the text it does not.
        """
        table = self._form.read(body, most_rows)
        if table.problem is not None:
            fault, byte, row, place, count = table.problem
            if fault == "missing":
                raise JsonRowsError(fault, self._lacking(bytes(body[count:byte]), row, place, byte))
            raise self._error(fault, byte, row, place, count, most_rows)
        numbers = table.numbers
        cells = {}
        for category, place in enumerate(self._categories):
            column: NDArray[Any] = np.empty(len(numbers), dtype=object)
            begin = 0
            while begin < len(column):  # some at a time: what asks for the lock meanwhile gets it
                part = table.cells(place, category, begin)
                column[begin : begin + len(part)] = part
                begin += len(part)
            cells[place] = column
        return JsonRows(numbers, cells)

    def _error(self, fault: str, byte: int, row: int, column: int, count: int, most_rows: int) -> JsonRowsError:
        """Return the error that says a fault in words; rows and columns are counted from 1."""
        n = len(self._columns)
        where = f"row {row + 1} (byte {byte})"
        kind, or_object = ("row", " or an object") if self._names else ("row, a list,", "")
        name = "a column that is not asked for" if column >= n else f"column {column + 1}"
        if self._names and column < n:
            name = f"column {self._names[column]!r}"
        taken = _TAKEN.get(self._columns[column] if column < n else "", "no list or object")
        words = {
            "syntax": f"the body must be JSON text in UTF-8, got something else at byte {byte}.",
            "depth": f"the body must be nested at most 32 deep, got more at byte {byte}.",
            "size": "the body must have less than 4 GB.",
            "rows": "the body must be a list of rows, or an object with 'rows' and nothing else.",
            "row": f"each row must be a list of {n} values{or_object}, got another: {where}.",
            "few": f"each {kind} must have {n} values, got {count} in {where}.",
            "many": f"each {kind} must have {n} values, got more in {where}.",
            "twice": f"each row must have {name} once, got it twice in {where}.",
            "value": f"each cell of {name} must be {taken}, got another in {where}.",
            "number": f"numbers must have at most 1100 characters, got more in {where}, {name}.",
            "text": f"texts must have at most 65536 bytes, got more in {where}, {name}.",
            "large": f"values must be at most {self._largest:.3g} in size, got a larger one in {where}, {name}.",
            "most_rows": f"a request must have at most {most_rows} rows, got more. Send several.",
        }
        return JsonRowsError(fault, words[fault])

    def _lacking(self, text: bytes, row: int, column: int, byte: int) -> str:
        """Say which columns a row by name lacks, and which it has that are not known; of a long row only the first."""
        missing, given = [self._names[column]], dict[str, None]()
        if len(text) <= _MOST_NAMED:  # Python's parser holds the interpreter's lock
            given = dict.fromkeys(json.loads(text))
            missing = [name for name in self._names if name not in given]
        known = frozenset(self._names)
        surplus = [name[:_MOST_LETTERS] for name in given if name not in known]
        return lacking(f"row {row + 1} (byte {byte})", missing, surplus)


def json_numbers(values: NDArray[Any]) -> bytes:
    """Return an array of numbers as JSON, a list or a list of lists: the bytes that Python's own `json` writes.

    Parameters
    ----------
    values : array (n,) or (n, d)
        Of whole numbers that int64 holds, or floats.

    Raises
    ------
    WireFormatError
        Also a ValueError: a number is not finite.

    Notes
    -----
    Without the interpreter's lock, some 10 million numbers a second.

    Examples
    --------
    >>> json_numbers(np.array([[1.0, 2.5], [1e-7, 1e22]]))
    b'[[1.0,2.5],[1e-07,1e+22]]'
    """
    if values.ndim not in (1, 2) or values.dtype.kind not in "iuf" or values.dtype == np.uint64:
        raise fail("json_numbers", "values must be an array of numbers with 1 or 2 axes", values.dtype)
    if values.ndim == 2 and values.shape[1] == 0:
        return b"[" + b",".join([b"[]"] * len(values)) + b"]"
    kind = np.int64 if values.dtype.kind in "iu" else np.float32 if values.dtype == np.float32 else np.float64
    rows = np.ascontiguousarray(values.reshape(len(values), -1 if values.size else 1), dtype=kind)
    text = _core.json_numbers(rows, values.ndim == 2)
    if text is None:
        raise WireFormatError("json_numbers: numbers must be finite, got NaN or infinity.")
    return text
