"""Class labels as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail

__all__ = ["labels_from_spec", "labels_to_spec"]

_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_NUMBERS = ("bool", *_INTEGERS, "float16", "float32", "float64")
_TEXTS: dict[str, Any] = {"str": np.str_, "StringDType": np.dtypes.StringDType(), "object": np.object_}
_PLAIN = (bool, int, float, str)
# An array of texts takes the longest one's room for each: 64 MB of them at the most.
_MOST_CHARACTERS = 1 << 24


def labels_to_spec(labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels as their type's name and plain values, exact for numbers of any width.

    Parameters
    ----------
    labels : ndarray (n_classes,)

    Examples
    --------
    >>> labels_to_spec(np.array(["cat", "dog"]))
    {'dtype': 'str', 'values': ['cat', 'dog']}
    """
    kind = {"U": "str", "T": "StringDType", "O": "object"}.get(labels.dtype.kind, labels.dtype.name)
    values = [value.item() if isinstance(value, np.generic) else value for value in labels.tolist()]
    if not _can_be_kept(kind, values):
        remedy = "Give the classes short names, or numbers, before fit."
        raise fail("save", "class labels must be numbers, booleans or texts", f"{labels.dtype} {labels[:3]}", remedy)
    return {"dtype": kind, "values": values}


def labels_from_spec(spec: dict[str, Any]) -> NDArray[Any]:
    """Return the labels that `labels_to_spec` described.

    Parameters
    ----------
    spec : dict

    Examples
    --------
    >>> labels_from_spec({"dtype": "int8", "values": [-1, 1]})
    array([-1,  1], dtype=int8)
    """
    kind, values = spec["dtype"], spec["values"]
    if not _can_be_kept(kind, values):
        raise fail("classes", "must be plain values of a known type", kind)
    labels = np.array(values, dtype=_TEXTS.get(kind, kind))
    if len(values) < 2 or len(set(values)) != len(values) or labels.tolist() != values:
        raise fail("classes", f"must be two or more different values of {kind}", values[:5])
    return labels


def _can_be_kept(kind: Any, values: Any) -> bool:
    """Whether a file can hold these values as this type."""
    if kind not in (*_NUMBERS, *_TEXTS) or not isinstance(values, list):
        return False
    plain = all(isinstance(value, _PLAIN) for value in values)
    return plain and (kind != "str" or max(len(str(v)) for v in values) * len(values) <= _MOST_CHARACTERS)
