"""How a text file is written: its packing, its encoding, what separates its cells, and its marks in numbers."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, TextIO

from lowtide._checks import missing_extra
from lowtide.tables.cells import COMMA, GROUPS, PLAIN, Marks, TableError

PACKED = (".gz", ".zst")
_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
# What is looked at before a file is read: bytes that may not be text, and characters of its first lines.
_BYTES, _CHARACTERS = 1 << 12, 1 << 17
_MAGIC = {
    b"\x1f\x8b": "gzip data",
    b"\x28\xb5\x2f\xfd": "Zstandard data",
    b"PK\x03\x04": "a ZIP archive, as workbooks are",
    b"PAR1": "a Parquet file",
    b"\x93NUMPY": "a .npy file",
    b"\xd0\xcf\x11\xe0": "an old workbook",
    b"%PDF": "a PDF file",
}
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Numbers that only one mark of decimals explains; "1,234" may have either, "1,234,567" has none.
_POINT = re.compile(r"[+-]?(\d+\.(\d{1,2}|\d{4,})|0\.\d+|\d{1,3}(,\d{3})+\.\d+|\d{4,}\.\d+)")
_COMMA = re.compile(rf"[+-]?(\d+,(\d{{1,2}}|\d{{4,}})|0,\d+|\d{{1,3}}([.{GROUPS}]\d{{3}})+,\d+|\d{{4,}},\d+)")
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_GROUPED = re.compile(rf"[+-]?\d{{1,3}}([.,{GROUPS}])\d{{3}}(\1\d{{3}})*([.,]\d+)?")


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    encoding : str
        As Python calls it.
    separator : str
        Between cells; "" for lines of JSON.
    marks : Marks
        Of decimals and thousands.
    packed : str
        Its last ending where it is compressed, else "".
    """

    encoding: str = "utf-8"
    separator: str = ""
    marks: Marks = PLAIN
    packed: str = ""

    def in_words(self) -> str:
        """Say what is not that of a plain CSV file: "separated by semicolon, decimal comma, UTF-16"."""
        parts = []
        if self.separator not in ("", ","):
            parts.append(f"separated by {_SEPARATORS[self.separator]}")
        if self.marks.decimal == ",":
            parts.append("decimal comma")
        if self.marks.thousands and self.marks != COMMA:
            parts.append(f"thousands marked by {self.marks.thousands!r}")
        if not self.encoding.startswith("utf-8"):
            parts.append(self.encoding.upper())
        return ", ".join(parts)


def wrong(path: Path, must: str, got: object, remedy: str = "") -> TableError:
    """Return the error of a file: what must hold, what came, what to do."""
    return TableError(f"{path.name}: {must}, got {got}. {remedy}".rstrip())


def check_encoding(name: str) -> str:
    """Return the name of an encoding of texts as Python has it.

    Examples
    --------
    >>> check_encoding("Windows-1252")
    'cp1252'
    """
    try:
        found = codecs.lookup(name)
        "".encode(found.name)
    except (LookupError, UnicodeError) as error:
        remedy = "Take 'utf-8', 'utf-16', 'latin-1' or 'windows-1252', say."
        raise TableError(f"encoding must be one that Python knows, got {name!r}. {remedy}") from error
    return found.name


def look(path: Path, packed: str, encoding: str | None, *, separated: bool) -> Dialect:
    """Return how a text file is written, by a look at its beginning; `encoding` is one that was given."""
    with reading(path, packed):
        with _unpacked(path, packed) as stream:
            start = stream.read(_BYTES)
        found = Dialect(_encoding(path, start, encoding), packed=packed)
        if not separated:
            return found
        with open_text(path, found) as text:
            head = text.read(_CHARACTERS)
    if len(head) == _CHARACTERS:  # the last line may be cut
        head = head[: head.rfind("\n") + 1] or head
    separator = _separator(head)
    rows = _rows(head, separator)
    return replace(
        found, separator=separator, marks=_marks((cell.strip() for row in rows[1:] for cell in row), separator)
    )


@contextmanager
def open_text(path: Path, dialect: Dialect) -> Iterator[TextIO]:
    """Open a text file as it is written, line ends as they are."""
    encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    with _unpacked(path, dialect.packed) as stream, io.TextIOWrapper(stream, encoding, newline="") as text:
        yield text


@contextmanager
def reading(path: Path, packed: str) -> Iterator[None]:
    """Turn what can go wrong with the bytes of a file into errors that say what, where and what to do."""
    try:
        yield
    except UnicodeDecodeError as error:
        byte = f"byte {error.object[error.start]:#04x} in line {_undecodable_line(path, packed, error.encoding)}"
        remedy = "Name its encoding: --encoding windows-1252, say."
        raise wrong(path, f"it must be text in {error.encoding.upper()}", byte, remedy) from error
    except UnicodeError as error:
        raise wrong(path, "it must be text in the encoding it begins with", error) from error
    except EOFError as error:
        raise wrong(path, "it must be whole", "gzip data that are cut short", "Copy it once more.") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        remedy = "Rename it to what it is, or pack it once more."
        raise wrong(path, "it must be gzip data, as its name says", str(error), remedy) from error
    except OSError as error:
        must = "it must be readable" if error.errno else "it must be the packed data that its name says"
        raise wrong(path, must, error.strerror or str(error).splitlines()[0]) from error


def _undecodable_line(path: Path, packed: str, encoding: str) -> int:
    """Return the line of the first byte that is no text in an encoding."""
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    with _unpacked(path, packed) as stream:
        while piece := stream.read(1 << 16):
            try:
                line += decoder.decode(piece).count("\n")
            except UnicodeDecodeError as error:
                return line + error.object[: error.start].count(b"\n")
    return line


@contextmanager
def _unpacked(path: Path, packed: str) -> Iterator[IO[bytes]]:
    """Open the bytes of a file, unpacked."""
    if packed == ".gz":
        with gzip.open(path, "rb") as stream:
            yield stream  # type: ignore[misc]
    elif packed == ".zst":
        arrow = _arrow_for_zstd()
        with arrow.input_stream(str(path), compression="zstd") as stream:
            yield stream
    else:
        with path.open("rb") as stream:
            yield stream


def _arrow_for_zstd() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        need = "Zstandard files need pyarrow, which is not installed"
        raise missing_extra(need, "io", ". Or unpack the file with zstd -d") from error
    return pyarrow


def _encoding(path: Path, start: bytes, given: str | None) -> str:
    """Return the encoding that was given, or that the first bytes tell: a mark, or zeros as UTF-16 has them."""
    for magic, name in _MAGIC.items():
        if start.startswith(magic):
            remedy = "Rename it to what it is, or save it as CSV."
            raise wrong(path, "it must be text, as its name says", name, remedy)
    if given is not None:
        return check_encoding(given)
    for mark, encoding in _BOMS.items():
        if start.startswith(mark):
            return encoding
    even, odd = start[0::2].count(0), start[1::2].count(0)
    if not even and not odd:
        return "utf-8"
    # Of UTF-16 most letters of a table have a zero byte on one side, and none on the other.
    if min(even, odd) * 8 <= max(even, odd) and max(even, odd) * 4 >= len(start) // 2:
        return "utf-16-be" if even > odd else "utf-16-le"
    remedy = "Save it as CSV, or name its encoding: --encoding utf-16, say."
    raise wrong(path, "it must be text", "binary data", remedy)


def _separator(head: str) -> str:
    """Return what parts most lines into as many cells, more than one, as the first has."""

    def agreement(separator: str) -> tuple[float, int]:
        rows = _rows(head, separator)
        width = len(rows[0]) if rows else 0
        if width < 2:
            return 0.0, 0
        return sum(len(row) == width for row in rows) / len(rows), width

    return max(_SEPARATORS, key=agreement)


def _rows(head: str, separator: str) -> list[list[str]]:
    """Return the rows of the first lines of a file, as far as they are CSV."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(head, newline=""), delimiter=separator, skipinitialspace=True):
            if len(row) > 1 or (row and row[0].strip()):
                rows.append(row)
    except csv.Error:
        pass  # said where the file is read
    return rows


def _marks(cells: Iterable[str], separator: str) -> Marks:
    """Return the marks that explain the most cells: of decimals, and of thousands where there are any."""
    votes, grouped, either = Counter[str](), Counter[str](), 0
    for cell in cells:
        if cell[-1:].isdigit():
            votes["."] += _POINT.fullmatch(cell) is not None
            votes[","] += _COMMA.fullmatch(cell) is not None
            either += _EITHER.fullmatch(cell) is not None
            if found := _GROUPED.fullmatch(cell):
                grouped[found[1]] += 1
    # Where nothing else tells, commas are of decimals beside semicolons, which are there because of them.
    only_either = not votes.total() and either and either == grouped[","] and separator == ";"
    if votes[","] > votes["."] or only_either:
        others = {mark: count for mark, count in grouped.items() if mark != ","}
        return Marks(",", max(others, key=others.__getitem__, default="."))
    others = {mark: count for mark, count in grouped.items() if mark != "."}
    return Marks(".", max(others, key=others.__getitem__, default=""))
