"""Which columns of a table are features, categories and target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from lowtide.cli.tables import Source, listed, suggestion

__all__ = ["Choice", "choose_columns", "find_column"]


@dataclass(frozen=True)
class Choice:
    """The part that each column plays.

    Attributes
    ----------
    columns : tuple of str
        All columns of the table, in its order.
    named : bool
        Whether the names come from the table; otherwise they count its columns.
    target : str or None
    numeric, one_hot : tuple of str
        Features, in the table's order.
    """

    columns: tuple[str, ...]
    named: bool
    target: str | None
    numeric: tuple[str, ...]
    one_hot: tuple[str, ...]


def choose_columns(source: Source, *, target: str | None, one_hot: Sequence[str], drop: Sequence[str]) -> Choice:
    """Return the choice that options make; what is neither target nor dropped is a feature."""
    goal = None if target is None else find_column(source, target, "--target")
    categories = {find_column(source, name, "--one-hot") for name in one_hot}
    dropped = {find_column(source, name, "--drop") for name in drop}
    for option, names in (("--one-hot", categories), ("--drop", dropped)):
        if goal in names:
            raise _refused(option, f"must not name the target, got {goal!r}.")
    if categories & dropped:
        raise _refused("--drop", f"must not name columns of --one-hot, got {listed(sorted(categories & dropped))}.")
    features = [name for name in source.names if name != goal and name not in dropped]
    if not features and dropped:
        raise _refused("--drop", "must leave a column to learn from, got all of them.")
    if not features:
        raise _refused("DATA", f"must have a column besides the target, got {listed(source.names)} alone.")
    return Choice(
        columns=source.names,
        named=source.named,
        target=goal,
        numeric=tuple(name for name in features if name not in categories),
        one_hot=tuple(name for name in features if name in categories),
    )


def find_column(source: Source, name: str, option: str) -> str:
    """Return a column's name; where columns are counted, -1 is the last."""
    if name in source.names:
        return name
    if not source.named and name.startswith("-") and name[1:].isdigit() and 1 <= int(name[1:]) <= len(source.names):
        return source.names[int(name)]
    if source.named:
        raise _refused(option, f"must name a column of {source.file}, got {name!r}. {suggestion(name, source.names)}")
    most = len(source.names) - 1
    raise _refused(
        option, f"must be the number of a column of {source.file}, 0 to {most} or -1 for the last, got {name!r}."
    )


def _refused(option: str, problem: str) -> click.BadParameter:
    return click.BadParameter(problem, param_hint=f"'{option}'")
