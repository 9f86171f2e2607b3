"""Columns beside the codes are kept as numbers, texts as places in a list of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.errors import FileFormatError
from lowtide.store.layout import DTYPES
from lowtide.store.manifest import MOST_CATEGORIES, NORMS, Column, is_column_name

__all__ = ["decode_column", "encode_columns"]

_OWNER = "CodeStore"


def encode_columns(
    given: Mapping[str, Any], known: Mapping[str, Column] | None, n_rows: int
) -> tuple[dict[str, Column], dict[str, NDArray[Any]]]:
    """Return what the columns are from now on, and their values as they are stored.

    `known` are the columns of the rows before; None when there are no rows yet, and any will do.
    """
    if known is not None and set(given) != set(known):
        names = ", ".join(sorted(known)) or "none"
        raise fail(_OWNER, f"the columns of all rows must be the same ({names})", sorted(given))
    columns, stored = {}, {}
    for name, values in given.items():
        if not is_column_name(name) or name == NORMS:
            must = (
                "a column's name must be a letter, then letters, digits and underscores, and not one of the store's own"
            )
            raise fail(_OWNER, must, name)
        array = np.asarray(values)
        if array.ndim != 1 or len(array) != n_rows:
            raise fail(_OWNER, f"{name} must have a value a row, {n_rows}", array.shape)
        columns[name], stored[name] = _encoded(name, array, None if known is None else known[name])
    return columns, stored


def decode_column(owner: str, name: str, column: Column, stored: NDArray[Any]) -> NDArray[Any]:
    """Return values as they were given: texts for places in a list."""
    if column.categories is None:
        return stored
    if len(stored) and not 0 <= int(stored.min()) <= int(stored.max()) < len(column.categories):
        raise FileFormatError(f"{owner}: {name} must hold places of {len(column.categories)} categories, got others.")
    return np.array(column.categories, dtype=str)[stored]


def _encoded(name: str, array: NDArray[Any], known: Column | None) -> tuple[Column, NDArray[Any]]:
    if array.dtype.kind in "OUT":
        return _placed(name, array, known)
    dtype = array.dtype.newbyteorder("=").name if known is None else known.dtype
    if array.dtype == np.float16:
        dtype = "float32" if known is None else dtype
    if array.dtype.kind not in "biuf" or dtype not in DTYPES:
        raise fail(_OWNER, f"{name} must hold numbers, truth values or texts", str(array.dtype), "Convert it first.")
    if known is not None and known.categories is not None:
        raise fail(_OWNER, f"{name} must hold texts, as in the rows before", str(array.dtype))
    with np.errstate(invalid="ignore", over="ignore"):
        stored = array.astype(DTYPES[dtype])
    if known is not None and not _is_exact(stored, array):
        raise fail(_OWNER, f"{name} must hold values of {dtype}, as in the rows before", str(array.dtype))
    return known or Column(dtype), stored


def _is_exact(stored: NDArray[Any], array: NDArray[Any]) -> bool:
    """Whether values are the same in another type, there and back: a comparison alone may round both."""
    real = array.dtype.kind == "f"
    with np.errstate(invalid="ignore", over="ignore"):
        back = stored.astype(array.dtype)
    return np.array_equal(stored, array, equal_nan=real) and np.array_equal(back, array, equal_nan=real)


def _placed(name: str, array: NDArray[Any], known: Column | None) -> tuple[Column, NDArray[Any]]:
    """Return texts as places; a new one gets the next place, in the order of rows, whatever the blocks they come in."""
    if array.dtype.kind == "O" and not all(isinstance(value, str) for value in array):
        other = next(type(value).__name__ for value in array if not isinstance(value, str))
        raise fail(_OWNER, f"{name} must hold numbers, truth values or texts", other, "Convert it first.")
    if known is not None and known.categories is None:
        raise fail(_OWNER, f"{name} must hold values of {known.dtype}, as in the rows before", "texts")
    categories = list(known.categories or ()) if known is not None else []
    place = {text: i for i, text in enumerate(categories)}
    texts, first, inverse = np.unique(array.astype(str), return_index=True, return_inverse=True)
    for text in (str(texts[i]) for i in np.argsort(first)):
        place.setdefault(text, len(place))
    if len(place) > MOST_CATEGORIES:
        must = f"{name} must have at most {MOST_CATEGORIES} different texts"
        raise fail(_OWNER, must, len(place), "Keep them elsewhere, and a number here.")
    places = np.array([place[str(text)] for text in texts], dtype=DTYPES["int32"])
    return Column("int32", tuple(place)), places[inverse]
