"""Argument checks. Each raises the one message form: owner, what must hold, what came, what to do."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from lowtide.errors import ParameterError


def fail(owner: str, must: str, got: Any, remedy: str = "") -> ParameterError:
    """Build the error `owner: must hold, got value. remedy`."""
    return ParameterError(f"{owner}: {must}, got {got!r}." + (f" {remedy}" if remedy else ""))


def check_integer(owner: str, name: str, value: Any, low: int, high: int | None = None, remedy: str = "") -> int:
    """Return value as int when it is an integer in [low, high]; bool is not an integer here."""
    valid = isinstance(value, Integral) and not isinstance(value, bool)
    if not valid or value < low or (high is not None and value > high):
        limits = f"from {low} to {high}" if high is not None else f"of at least {low}"
        raise fail(owner, f"{name} must be an integer {limits}", value, remedy)
    return int(value)


def check_positive(owner: str, name: str, value: Any, remedy: str = "") -> float:
    """Return value as float when it is a finite number above zero."""
    valid = isinstance(value, Real) and not isinstance(value, bool)
    if not valid or not math.isfinite(value) or value <= 0:
        raise fail(owner, f"{name} must be a finite number above 0", value, remedy)
    return float(value)


def check_interval(owner: str, name: str, value: Any, low: float, high: float, remedy: str = "") -> float:
    """Return value as float when low <= value <= high."""
    valid = isinstance(value, Real) and not isinstance(value, bool)
    if not valid or not low <= float(value) <= high:
        raise fail(owner, f"{name} must be a number from {low} to {high}", value, remedy)
    return float(value)


def check_option(owner: str, name: str, value: Any, options: tuple[str, ...]) -> str:
    """Return value when it is one of the options."""
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise fail(owner, f"{name} must be one of {listed}", value)
    return value
