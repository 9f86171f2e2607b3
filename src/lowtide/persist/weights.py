"""Weights in fewer bytes."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option, fail

__all__ = ["WeightForm", "pack_weights", "unpack_weights"]

WeightForm = Literal["float64", "float32", "float16", "int8"]

_FORMS = ("float64", "float32", "float16", "int8")
# Forms that keep each column relative to its largest entry, and the number that stands for it.
_TOP = {"float16": 1.0, "int8": 127.0}

Arrays = dict[str, NDArray[Any]]


def pack_weights(weights: NDArray[Any], form: WeightForm) -> Arrays:
    """Return weights (m, k) as the arrays `weights` and, with a scale a column, `weights_scale`.

    float32 rounds each weight to 2^-24 of itself. float16 keeps w/s and int8 the integer nearest to 127 w/s, s the
    largest |w| of a column: errors are at most 2^-11 |w| (2^-25 s for tiny ones) and s/254.

    Parameters
    ----------
    weights : ndarray (m, k)
    form : {"float64", "float32", "float16", "int8"}

    Examples
    --------
    >>> stored = pack_weights(np.array([[0.5], [-1.0]]), "int8")
    >>> stored["weights"].ravel(), stored["weights_scale"]
    (array([  64, -127], dtype=int8), array([0.00787402]))
    """
    check_option("save", "weights", form, _FORMS)
    if not np.isfinite(weights).all():
        raise fail("save", "weights must be finite", "NaN or infinity", "Fit with stronger regularization.")
    if form not in _TOP:
        with np.errstate(over="ignore"):
            stored = weights.astype(form)
        if not np.isfinite(stored).all():
            raise fail("save", f"weights must fit {form}", f"{np.abs(weights).max():.3g}", "Use weights='float64'.")
        return {"weights": stored}
    largest = np.abs(weights).max(axis=0, initial=0.0).astype(np.float64)
    scale = np.where(largest > 0.0, largest, 1.0) / _TOP[form]
    scaled = weights / scale
    return {"weights": (np.rint(scaled) if form == "int8" else scaled).astype(form), "weights_scale": scale}


def unpack_weights(arrays: Arrays, dtype: str) -> Arrays:
    """Return the arrays with `weights` as they were fitted, float32 or float64, and without their scale.

    Parameters
    ----------
    arrays : dict of ndarray
    dtype : {"float32", "float64"}
    """
    check_option("weights", "dtype", dtype, ("float32", "float64"))
    stored, scale = arrays["weights"], arrays.get("weights_scale")
    if stored.ndim != 2 or (scale is not None and scale.shape != stored.shape[1:]):
        raise fail("weights", "must be a matrix with a scale a column", stored.shape)
    with np.errstate(all="ignore"):  # what is not finite is refused by the learner
        weights = stored.astype(dtype) if scale is None else (stored * scale).astype(dtype)
    rest = {name: array for name, array in arrays.items() if name != "weights_scale"}
    return {**rest, "weights": weights}
