"""The columns of another table in the order of the one that a model was fitted on."""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.cli.recipe.recipe import TableRecipe
from lowtide.cli.tables import Source, TableError, listed, suggestion

__all__ = ["Alignment", "align"]


@dataclass(frozen=True)
class Alignment:
    """What the columns of a table are called by the recipe, and what to say about it.

    Attributes
    ----------
    names : tuple of str
        A name a column of the table.
    notes : tuple of str
    """

    names: tuple[str, ...]
    notes: tuple[str, ...]

    def has(self, name: str | None) -> bool:
        """Whether the table has a column of that name."""
        return name is not None and name in self.names


def align(recipe: TableRecipe, source: Source) -> Alignment:
    """Find the needed columns: by name where both sides have names, by order otherwise.

    Raises
    ------
    TableError
        Naming the columns that are missing.
    """
    if not (source.named and recipe.named):
        return _in_order(recipe, source)
    missing = [name for name in recipe.needed if name not in source.names]
    if missing:
        near = f" {suggestion(missing[0], source.names)}" if len(missing) == 1 else ""
        has = "" if near.endswith(".") else f" The file has {listed(source.names)}."
        plural = "s" if len(missing) > 1 else ""
        raise TableError(
            f"{source.file}: the model needs column{plural} {listed(missing, most=20)}, which the file does not have."
            f"{near}{has}"
        )
    extra = [name for name in source.names if name not in recipe.columns]
    notes = [f"{source.file}: the model does not know {listed(extra)}; left out."] if extra else []
    return Alignment(source.names, tuple(notes))


def _in_order(recipe: TableRecipe, source: Source) -> Alignment:
    """Take columns as they come: all those at fit, all but the target, or the features alone."""
    without_target = tuple(name for name in recipe.columns if name != recipe.target)
    candidates = {len(names): names for names in (recipe.needed, without_target, recipe.columns)}
    names = candidates.get(len(source.names))
    which = "the file" if recipe.named else "the table the model was fitted on"
    if names is None:
        widths = " or ".join(map(str, sorted(candidates)))
        raise TableError(
            f"{source.file}: {which} has no column names, so columns are taken in order and there must be {widths} of "
            f"them, got {len(source.names)}."
        )
    notes = []
    if source.named or recipe.named:
        notes.append(f"{source.file}: {which} has no column names; columns are taken in order, as {listed(names)}.")
    return Alignment(names, tuple(notes))
