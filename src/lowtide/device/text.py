"""Numbers, names, tables and packed levels as C."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail

_LINE = 116
_C_TYPES = {"u1": "uint8_t", "i1": "int8_t", "u2": "uint16_t", "i2": "int16_t", "i4": "int32_t"}
_C_TYPES |= {"f4": "float", "f8": "double"}
# Words of C99 and C++ that no function may be called by; the generated names get endings, so few could clash.
_WORDS = {"int", "char", "auto", "main", "float", "double", "const", "static", "struct", "union", "void", "template"}
# Levels of one, two, four and eight bits never lie across two bytes.
_ACROSS = 3


@dataclass(frozen=True)
class Table:
    """A constant array of the generated source, in flash."""

    name: str
    values: NDArray[Any]
    what: str

    def declaration(self) -> str:
        """Return the definition in C, with a comment above."""
        kind = _C_TYPES[self.values.dtype.str[1:]]
        words = ", ".join(map(c_number, self.values.ravel())) + ","
        texts = fill(words, _LINE, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
        return f"\n/* {self.what} */\nstatic const {kind} {self.name}[{self.values.size}] = {{\n{texts}\n}};\n"


@dataclass(frozen=True)
class Part:
    """A piece of the generated source: its tables, its code, and what it takes besides them."""

    tables: tuple[Table, ...]
    source: str
    code_bytes: int = 0  # machine code on a Cortex-M4 with -Os, rounded up
    work_bytes: int = 0  # stack

    def __add__(self, other: Part) -> Part:
        """Return both, one after the other."""
        sizes = self.code_bytes + other.code_bytes, self.work_bytes + other.work_bytes
        return Part(self.tables + other.tables, self.source + other.source, *sizes)

    def text(self) -> str:
        """Return tables, then code."""
        return "".join(table.declaration() for table in self.tables) + self.source


def filled(template: str, **values: object) -> str:
    """Return a template of this package with its names filled in."""
    return _template(template).substitute({name: str(value) for name, value in values.items()})


def c_number(value: Any) -> str:
    """Return a number of numpy as a literal that reads back to the same bits.

    Examples
    --------
    >>> c_number(np.float32(0.1)), c_number(np.float32(2)), c_number(np.float64(0.1)), c_number(np.uint8(7))
    ('0.1f', '2.0f', '0.1', '7')
    """
    if value.dtype.kind != "f":
        return str(int(value))
    text = str(value)
    text = text if any(mark in text for mark in ".e") else f"{text}.0"
    return text + "f" * (value.dtype == np.float32)


def narrowed(values: Any) -> NDArray[Any]:
    """Return numbers in the least of the types uint8, uint16, int16, float and double that holds them all.

    Examples
    --------
    >>> narrowed([0, 255]).dtype, narrowed([-1.0]).dtype, narrowed([0.5]).dtype, narrowed([0.1]).dtype
    (dtype('uint8'), dtype('int16'), dtype('float32'), dtype('float64'))
    """
    wide = np.array(values, dtype=np.float64)
    for kind in (np.uint8, np.uint16, np.int16, np.float32):
        with np.errstate(all="ignore"):
            narrow = wide.astype(kind)
        # By their bits: -0.0 is not 0.
        if np.array_equal(narrow.astype(np.float64).view(np.uint64), wide.view(np.uint64)):
            return narrow
    return wide


def c_string(text: str) -> str:
    r"""Return a string literal; what is not plain ASCII becomes octal bytes of UTF-8, which every compiler reads alike.

    Examples
    --------
    >>> print(c_string('a"b\\'), c_string("é?"))
    "a\042b\134" "\303\251\077"
    """
    plain = set(range(0x20, 0x7F)) - {ord(c) for c in '"\\?'}
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'


def c_comment(text: str) -> str:
    r"""Return a text in quotes that does not end the comment it stands in.

    Examples
    --------
    >>> print(c_comment("km/h"), c_comment("a*/b"))
    "km/h" "a*\057b"
    """
    return c_string(text).replace("*/", "*\\057").replace("/*", "\\057*")


def check_name(name: Any) -> str:
    """Return a name that C takes as a prefix of its own, or refuse it."""
    good = isinstance(name, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,30}", name) is not None
    if not good or name in _WORDS or keyword.iskeyword(name):
        need = "name must be a C identifier of at most 31 letters, digits and underscores that starts with a letter"
        raise fail("export_c", need, name, "It becomes the file's name and the prefix of every function.")
    return str(name)


def name_from(text: str) -> str:
    """Return the nearest name that `check_name` takes.

    Examples
    --------
    >>> name_from("my-model.v2"), name_from("8x8")
    ('my_model_v2', 'model_8x8')
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    name = name if name[:1].isalpha() and name not in _WORDS and not keyword.iskeyword(name) else f"model_{name}"
    return name[:31].rstrip("_")


def put_source(names: dict[str, Any]) -> str:
    """Return the functions that zero a code and write a level into it."""
    across = "\n    if ((bit & 7) > 5) code[(bit >> 3) + 1] = (uint8_t)(level >> (8 - (bit & 7)));"
    return filled("put.c", **names, across=across if names["stored_bits"] == _ACROSS else "")


def get_source(bits: int) -> str:
    """Return the function that reads a level; the last one ends within the row, so no byte past it is read."""
    window = "(uint32_t)code[bit >> 3]"
    if bits == _ACROSS:
        window = "(code[bit >> 3] | ((bit & 7) > 5 ? (uint32_t)code[(bit >> 3) + 1] << 8 : 0u))"
    return filled("get.c", stored_bits=bits, window=window, mask=(1 << bits) - 1)


@cache
def _template(name: str) -> Template:
    return Template(resources.files("lowtide.device").joinpath("templates", name).read_text(encoding="utf-8"))
