"""Columns beside the codes are kept as numbers, texts as places in a list of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.errors import FileFormatError
from lowtide.store.layout import CODES, DTYPES, GROUP

# What codes have beside the packed bits, where they have it: the lengths of rows and their corrections.
NORMS, CORRECTIONS = BESIDE = ("norms", "corrections")
MOST_CATEGORIES = 1 << 20
_OWNER = "CodeStore"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
# Folders of a store that are not columns.
_RESERVED = (CODES, GROUP, "zarr")


@dataclass(frozen=True)
class Column:
    """A number a row; texts are kept once each, in the order in which they came, and stored as their places there."""

    dtype: str
    categories: tuple[str, ...] | None = None

    @classmethod
    def from_config(cls, name: str, entry: dict[str, Any]) -> Column:
        """Return the column of a manifest's entry, which may be anything."""
        dtype, categories = entry["dtype"], entry["categories"]
        if not _is_name(name) or dtype not in DTYPES:
            raise ValueError(f"a column {name[:80]!r} of {str(dtype)[:40]!r}")
        if categories is None:
            return cls(dtype)
        texts = isinstance(categories, list) and all(isinstance(text, str) for text in categories)
        if not texts or len(set(categories)) < len(categories) or len(categories) > MOST_CATEGORIES or dtype != "int32":
            raise ValueError(f"categories of {name[:80]!r}")
        return cls(dtype, tuple(categories))


def _is_name(name: object) -> bool:
    """Whether an array beside the codes may be called so: a name is a folder, so it has no dots and no slashes."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and name.lower() not in _RESERVED


def check_name(name: object) -> None:
    """Refuse a name that a column may not have."""
    if not _is_name(name) or name in BESIDE:
        must = "a column's name must be a letter, then letters, digits and underscores, and not one of the store's own"
        raise fail(_OWNER, must, name)


def encode_columns(
    given: Mapping[str, Any], known: Mapping[str, Column] | None, n_rows: int
) -> tuple[dict[str, Column], dict[str, NDArray[Any]]]:
    """Return what the columns are from now on, and their values as stored; `known` is None when there are none yet."""
    if known is not None and set(given) != set(known):
        names = ", ".join(sorted(known)) or "none"
        raise fail(_OWNER, f"the columns of all rows must be the same ({names})", sorted(given))
    columns, stored = {}, {}
    for name, values in given.items():
        check_name(name)
        array = np.asarray(values)
        if array.ndim != 1 or len(array) != n_rows:
            raise fail(_OWNER, f"{name} must have a value a row, {n_rows}", array.shape)
        encoded = _places if array.dtype.kind in "OUT" else _numbers
        columns[name], stored[name] = encoded(name, array, None if known is None else known[name])
    return columns, stored


def decode_column(owner: str, name: str, column: Column, stored: NDArray[Any]) -> NDArray[Any]:
    """Return values as they were given: texts for places in a list."""
    if column.categories is None:
        return stored
    if len(stored) and not 0 <= int(stored.min()) <= int(stored.max()) < len(column.categories):
        raise FileFormatError(f"{owner}: {name} must hold places of {len(column.categories)} categories, got others.")
    return np.array(column.categories, dtype=str)[stored]


def _numbers(name: str, array: NDArray[Any], known: Column | None) -> tuple[Column, NDArray[Any]]:
    """Return numbers in the type that the column has, or gets from them."""
    own = "float32" if array.dtype == np.float16 else array.dtype.newbyteorder("=").name
    column = Column(own) if known is None else known
    if array.dtype.kind not in "biuf" or column.dtype not in DTYPES:
        raise fail(_OWNER, f"{name} must hold numbers, truth values or texts", str(array.dtype), "Convert it first.")
    if column.categories is not None:
        raise fail(_OWNER, f"{name} must hold texts, as in the rows before", str(array.dtype))
    with np.errstate(invalid="ignore", over="ignore"):
        stored = array.astype(DTYPES[column.dtype])
        exact = known is None or _is_exact(stored, array)
    if not exact:
        raise fail(_OWNER, f"{name} must hold values of {column.dtype}, as in the rows before", str(array.dtype))
    return column, stored


def _is_exact(stored: NDArray[Any], array: NDArray[Any]) -> bool:
    """Whether values are the same in another type, there and back: a comparison alone may round both."""
    real = array.dtype.kind == "f"
    return all(np.array_equal(each, array, equal_nan=real) for each in (stored, stored.astype(array.dtype)))


def _places(name: str, array: NDArray[Any], known: Column | None) -> tuple[Column, NDArray[Any]]:
    """Return texts as places; a new one gets the next place, in the order of rows, whatever the blocks they come in."""
    others = [type(value).__name__ for value in array if not isinstance(value, str)] if array.dtype.kind == "O" else []
    if others:
        raise fail(_OWNER, f"{name} must hold numbers, truth values or texts", others[0], "Convert it first.")
    if known is not None and known.categories is None:
        raise fail(_OWNER, f"{name} must hold values of {known.dtype}, as in the rows before", "texts")
    place = {text: i for i, text in enumerate(known.categories or () if known is not None else ())}
    texts, first, inverse = np.unique(array.astype(str), return_index=True, return_inverse=True)
    for text in texts[np.argsort(first)].tolist():
        place.setdefault(text, len(place))
    if len(place) > MOST_CATEGORIES:
        must = f"{name} must have at most {MOST_CATEGORIES} different texts"
        raise fail(_OWNER, must, len(place), "Keep them elsewhere, and a number here.")
    places = np.array([place[text] for text in texts.tolist()], dtype=DTYPES["int32"])
    return Column("int32", tuple(place)), places[inverse]
