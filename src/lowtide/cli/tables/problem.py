"""What is wrong with a table, in words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from difflib import get_close_matches

from lowtide.errors import LowtideError

__all__ = ["TableError", "listed", "options_for", "suggestion"]

_MOST_NAMES = 6


class TableError(LowtideError, ValueError):
    """A table cannot be read, or does not hold what it must."""


def listed(names: Sequence[object], most: int = _MOST_NAMES) -> str:
    """Return names in quotes, the first few of many.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=1)
    ("'a', 'b' and 'c'", "'a' and 2 more")
    """
    shown = [repr(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join([*filter(None, [", ".join(shown[:-1])]), *shown[-1:]])


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return the sentence that helps with a name that is not there: the nearest ones, or all.

    Examples
    --------
    >>> suggestion("specie", ["length", "Species"])
    "Did you mean 'Species'?"
    """
    lower = {known.lower(): known for known in reversed(names)}
    near = [lower[match] for match in get_close_matches(name.lower(), lower, n=3)]
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return f"The columns are {listed(names, most=20)}."


def options_for(option: str, names: Sequence[str], most: int = 4) -> str:
    """Return an option repeated for columns, as one would type it.

    Examples
    --------
    >>> options_for("--drop", ["id", "first name"])
    "--drop id --drop 'first name'"
    """
    typed = " ".join(f"{option} {shlex.quote(name)}" for name in names[:most])
    return typed if len(names) <= most else f"{typed} and so on"
