"""Weights of classes as factors of the weights of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail

__all__ = ["class_weights"]

Array = NDArray[Any]


def class_weights(class_weight: Any, classes: Array, totals: Array | None) -> Array | None:
    """Return the factor of each class (k,), None for ones.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        "balanced" gives every class the same total weight.
    classes : ndarray (k,)
    totals : ndarray (k,) or None
        Weight of each class; None when more classes than these may come, and nothing can be balanced.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        unknown = set(class_weight) - set(classes.tolist())
        if unknown and totals is not None:
            raise fail("KernelClassifier", f"class_weight must name classes of y, {classes.tolist()}", sorted(unknown))
        return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    if class_weight == "balanced" and totals is not None:
        return np.asarray(totals.sum() / (len(classes) * np.maximum(totals, np.finfo(float).tiny)))
    allowed = "a dict or None when rows come in blocks" if totals is None else "a dict, 'balanced' or None"
    raise fail("KernelClassifier", f"class_weight must be {allowed}", class_weight)
