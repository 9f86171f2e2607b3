"""Weights of classes as weights of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail

__all__ = ["class_weights"]

Array = NDArray[Any]


def class_weights(
    class_weight: Any, classes: Array, index: Array, weight: Array | None, *, some: bool = False
) -> Array | None:
    """Return the rows' weights times their class's.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        "balanced" gives every class the same total weight.
    classes : ndarray (k,)
    index : ndarray of int (n,), class of each row
    weight : ndarray (n,) or None
    some : bool, default=False
        Whether more classes than these may exist; nothing can be balanced then.
    """
    if class_weight is None:
        return weight
    rows = np.ones(len(index)) if weight is None else weight
    if isinstance(class_weight, dict):
        unknown = set(class_weight) - set(classes.tolist())
        if unknown and not some:
            raise fail("KernelClassifier", f"class_weight must name classes of y, {classes.tolist()}", sorted(unknown))
        factor = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    elif class_weight == "balanced" and not some:
        total = np.bincount(index, rows, minlength=len(classes))
        factor = rows.sum() / (len(classes) * np.maximum(total, np.finfo(float).tiny))
    else:
        allowed = "a dict or None when rows come in blocks" if some else "a dict, 'balanced' or None"
        raise fail("KernelClassifier", f"class_weight must be {allowed}", class_weight)
    return np.asarray(rows * factor[index])
