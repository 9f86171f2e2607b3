"""A learner's weights may be kept in fewer bytes than they were fitted in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option, fail
from lowtide.spec import Part, State, take_parts

__all__ = ["WeightForm", "pack_weights", "small_weights", "unpack_weights"]

WeightForm = Literal["float64", "float32", "float16", "int8"]

_FORMS = ("float64", "float32", "float16", "int8")
# Forms that keep each column relative to its largest entry, and the number that stands for it.
_TOP = {"float16": 1.0, "int8": 127.0}
# Arrays of the part "decision" that have a form; asymmetric kernels have weights of two maps.
_WEIGHTS = ("weights", "right_weights")


def pack_weights(state: State, kind: str, form: WeightForm) -> State:
    """Return a state with its weights in a form, and a part "weights" that says how they were: type and scales."""
    if "decision" not in state:
        if form != "float32":
            raise fail("save", f"weights must be left out for {kind}, which has none", form)
        return state
    decision = state["decision"]
    arrays, dtype = dict(decision.arrays), decision.arrays["weights"].dtype.name
    scales: dict[str, NDArray[Any]] = {}
    for name in [name for name in _WEIGHTS if name in arrays]:
        arrays[name], scale = small_weights(arrays[name], form)
        scales |= {} if scale is None else {name: scale}
    return {**state, "decision": replace(decision, arrays=arrays), "weights": Part(1, {"dtype": dtype}, scales)}


def unpack_weights(state: State) -> State:
    """Return a state with its weights as they were fitted, float32 or float64; it may be anything that a file holds."""
    rest = {name: part for name, part in state.items() if name != "weights"}
    if len(rest) == len(state) and "decision" not in state:
        return state
    take_parts("weights", {name: part for name, part in state.items() if name == "weights"}, {"weights": 1})
    form, decision = state["weights"], state["decision"]
    dtype = check_option("weights", "dtype", form.spec["dtype"], ("float32", "float64"))
    arrays = dict(decision.arrays)
    for name in [name for name in _WEIGHTS if name in arrays]:
        stored, scale = arrays[name], form.arrays.get(name)
        if stored.ndim != 2 or (scale is not None and scale.shape != stored.shape[1:]):
            raise fail("weights", "must be a matrix with a scale a column", stored.shape)
        with np.errstate(all="ignore"):  # what is not finite is refused by the learner
            arrays[name] = stored.astype(dtype) if scale is None else (stored * scale).astype(dtype)
    return {**rest, "decision": replace(decision, arrays=arrays)}


def small_weights(weights: NDArray[Any], form: WeightForm) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Return weights (m, k) in a form and, where it keeps them relative to their largest, a scale a column.

    float32 rounds each weight to 2^-24 of itself. float16 keeps w/s and int8 the integer nearest to 127 w/s, s the
    largest |w| of a column: errors are at most 2^-11 |w| (2^-25 s for tiny ones) and s/254.

    Parameters
    ----------
    weights : ndarray (m, k)
    form : {"float64", "float32", "float16", "int8"}

    Examples
    --------
    >>> stored, scale = small_weights(np.array([[0.5], [-1.0]]), "int8")
    >>> stored.ravel(), scale
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
        return stored, None
    largest = np.abs(weights).max(axis=0, initial=0.0).astype(np.float64)
    scale = np.where(largest > 0.0, largest, 1.0) / _TOP[form]
    scaled = weights / scale
    return (np.rint(scaled) if form == "int8" else scaled).astype(form), scale
