"""Values of options that are a word or a number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

__all__ = ["WordOrNumber"]


if TYPE_CHECKING:
    _Value = click.ParamType[Any]
else:
    _Value = click.ParamType  # became generic in a later version than the oldest one that will do


class WordOrNumber(_Value):
    """One of some words, or a number above 0; whole and within a range where one is given.

    Parameters
    ----------
    words : str
        Each maps to itself, "none" to None.
    whole : tuple of int, optional
        Least and largest whole number.

    Examples
    --------
    >>> WordOrNumber("scale").convert("0.5", None, None), WordOrNumber("none", whole=(1, 8)).convert("none", None, None)
    (0.5, None)
    """

    name = "word or number"

    def __init__(self, *words: str, whole: tuple[int, int] | None = None) -> None:
        self._words, self._whole = words, whole

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return what help shows for a value."""
        return f"[{'|'.join((*self._words, 'NUMBER'))}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word or the number of a text."""
        if not isinstance(value, str):
            return value
        if value.lower() in self._words:
            return None if value.lower() == "none" else value.lower()
        number = self._number(value)
        if number is None:
            words = " or ".join(repr(word) for word in self._words)
            low, high = self._whole or (0, 0)
            wanted = f"a whole number from {low} to {high}" if self._whole else "a number above 0"
            self.fail(f"must be {wanted}, or {words}, got {value!r}.", param, ctx)
        return number

    def _number(self, text: str) -> float | int | None:
        try:
            if self._whole:
                low, high = self._whole
                return int(text) if low <= int(text) <= high else None
            return float(text) if 0 < float(text) < math.inf else None
        except ValueError:
            return None
