"""Weights of classes as factors of the weights of rows."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail

__all__ = ["class_weights"]

Array = NDArray[Any]


def class_weights(
    class_weight: Any, classes: Array, totals: Array | None, *, more: bool = False, owner: str = "KernelClassifier"
) -> Array | None:
    """Return the factor of each class (k,), None for ones.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        "balanced" gives every class the same total weight.
    classes : ndarray (k,)
    totals : ndarray (k,) or None
        Weight of each class; None when more rows may come, and nothing can be balanced.
    more : bool, default=False
        Whether more classes than these may come, so that a dict may name them.
    owner : str, default="KernelClassifier"
        Whose parameter it is.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        unknown = set(class_weight) - set(classes.tolist())
        if unknown and not more:
            got = sorted(unknown, key=str)
            raise fail(owner, f"class_weight must name classes of y, {classes.tolist()}", got)
        return _given_weights(class_weight, classes, totals, owner)
    if class_weight == "balanced" and totals is not None:
        return np.asarray(totals.sum() / (len(classes) * np.maximum(totals, np.finfo(float).tiny)))
    allowed = "a dict or None when rows come in blocks" if totals is None else "a dict, 'balanced' or None"
    raise fail(owner, f"class_weight must be {allowed}", class_weight)


def _given_weights(class_weight: dict[Any, Any], classes: Array, totals: Array | None, owner: str) -> Array:
    """Return the weights of a dict, 1 for a class that it does not name."""
    for weight in class_weight.values():
        if not isinstance(weight, Real) or not 0.0 <= float(weight) < math.inf:
            raise fail(owner, "each class_weight must be a finite number of at least 0", weight)
    factor = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    if totals is not None and not np.any(factor * totals > 0):
        raise fail(owner, "class_weight must leave some weight to the rows", class_weight)
    return factor
